//! Kept findings on the disk: `findings/` in the folder for state, a file each.

use std::path::{Path, PathBuf};
use std::{fs, io};

use super::state;
use crate::files::{Access, Folder, FolderPlace};
use crate::findings::Stored;
use crate::report::sink::SinkError;
use crate::source::file::{WRITTEN, read_text};

/// The folder in the folder for state.
const FOLDER: &str = "findings";

/// Keeps what a run found beside what earlier runs found; returns how many there are of this run.
pub(crate) fn keep(state: &FolderPlace, found: Vec<Stored>) -> Result<usize, SinkError> {
    let folder = state.join(FOLDER);
    let failed = |reason: io::Error| SinkError { path: folder.clone(), reason, option: state::STATE_OPTION };
    let opened = prepare(state).map_err(failed)?;
    let (base, count) = (base(state), found.len());
    for mut stored in found {
        stored.start.folder = seen_from(&base, &stored.start.folder);
        let earlier = opened.read(file_name(&stored.id), WRITTEN).ok();
        let earlier = earlier.and_then(|text| Stored::parse(&String::from_utf8(text).ok()?).ok());
        let stored = match earlier {
            Some(earlier) => stored.met_again(&earlier),
            None => stored,
        };
        write_in(&opened, &stored).map_err(|reason| SinkError {
            path: folder.join(file_name(&stored.id)),
            reason,
            option: state::STATE_OPTION,
        })?;
    }
    Ok(count)
}

/// Writes one finding into its place.
pub(crate) fn write_to(state: &FolderPlace, stored: &Stored) -> Result<(), SinkError> {
    let place = state.below(FOLDER);
    let written = place.open().and_then(|folder| write_in(&folder, stored));
    written.map_err(|reason| SinkError { path: place.join(file_name(&stored.id)), reason, option: state::STATE_OPTION })
}

/// Arguments of calls may hold secrets that no suite names, so only their owner reads findings.
fn write_in(folder: &Folder, stored: &Stored) -> io::Result<()> {
    folder.replace(file_name(&stored.id), stored.text().as_bytes(), Access::Private)
}

/// Forgets one finding.
pub(crate) fn remove(state: &FolderPlace, id: &str) -> Result<(), SinkError> {
    let place = state.below(FOLDER);
    let removed = place.open().and_then(|folder| folder.remove_file(file_name(id)));
    removed.map_err(|reason| SinkError { path: place.join(file_name(id)), reason, option: state::STATE_OPTION })
}

/// Makes the place for findings, so that a run that found nothing can be compared with others.
fn prepare(state: &FolderPlace) -> io::Result<Folder> {
    state::prepare(state)?.open_or_create_folder(FOLDER, Access::Private)
}

/// Every kept finding of a folder for state, of a folder of findings, or of a file that was exported.
///
/// A file that cannot be read is represented by the reason.
pub(crate) fn load(place: &Path) -> Result<Vec<Result<Stored, String>>, String> {
    let unreadable = |error: io::Error| format!("`{}` cannot be read: {error}", place.display());
    if place.is_file() {
        let text = read_text(place, WRITTEN).map_err(unreadable)?;
        let found = read_exported(&text).map_err(|why| format!("`{}` cannot be read: {why}", place.display()))?;
        return Ok(found.into_iter().map(Ok).collect());
    }
    let inner = [place.join(FOLDER), place.join(".mcprove").join(FOLDER)].into_iter().find(|folder| folder.is_dir());
    let folder = inner.unwrap_or_else(|| place.to_owned());
    let mut files: Vec<PathBuf> =
        fs::read_dir(&folder).map_err(unreadable)?.flatten().map(|entry| entry.path()).collect();
    files.retain(|file| file.extension().is_some_and(|end| end == "json"));
    files.sort();
    Ok(files.iter().map(|file| read_one(file)).collect())
}

/// Every kept finding of a folder for state, as [`load`] loads them; none where nothing was ever kept.
pub(crate) fn read_all(state: &Path) -> Result<Vec<Result<Stored, String>>, String> {
    let folder = state.join(FOLDER);
    if folder.is_dir() { load(&folder) } else { Ok(Vec::new()) }
}

/// The folder from which the folders of suites are seen.
pub(crate) fn base(state: &Path) -> PathBuf {
    state::whole(state.parent().unwrap_or(Path::new("")))
}

fn seen_from(base: &Path, folder: &Path) -> PathBuf {
    let whole = state::whole(folder);
    whole.strip_prefix(base).map(Path::to_owned).unwrap_or(whole)
}

fn read_exported(text: &str) -> Result<Vec<Stored>, String> {
    let value: serde_json::Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let items = value.as_array().cloned().unwrap_or_else(|| vec![value]);
    items.iter().map(|item| Stored::parse(&item.to_string())).collect()
}

fn read_one(file: &Path) -> Result<Stored, String> {
    let text = read_text(file, WRITTEN).map_err(|error| error.to_string());
    let read = text.and_then(|text| Stored::parse(&text));
    read.map_err(|reason| format!("`{}` cannot be read: {reason}", file.display()))
}

/// Ids are made of digits; one that was not made here leads nowhere.
fn file_name(id: &str) -> String {
    let plain: String = id.chars().filter(char::is_ascii_alphanumeric).collect();
    format!("{plain}.json")
}
