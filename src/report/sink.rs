//! Writes documents where the user wants them; apart from [`super::live`] the only file here that does.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::event::Event;
use crate::source::did_you_mean;

use super::{FORMATS, Format, format, ndjson};

/// A document that could not be written.
#[derive(Debug, Error)]
#[error("failed to write `{}`: {reason}; {}", path.display(), advice(reason.kind()))]
pub struct SinkError {
    /// The file or folder.
    pub path: PathBuf,
    /// Why.
    pub reason: io::Error,
}

/// Reads what follows `--report`: a format, `=`, and a file or `-` for standard output.
///
/// # Errors
///
/// Fails with a sentence where there is no such format or no file.
pub fn parse_target(typed: &str) -> Result<(Format, PathBuf), String> {
    let (name, path) = typed.split_once('=').unwrap_or((typed, ""));
    let Some(format) = format(name) else {
        let help = did_you_mean(name, FORMATS.iter().map(|format| format.name)).unwrap_or_default();
        return Err(format!("unknown report format `{name}`; {help}"));
    };
    if path.is_empty() {
        return Err(format!("`{typed}` names no file; write `{name}=FILE`, or `{name}=-` for standard output"));
    }
    Ok((format, PathBuf::from(path)))
}

/// Writes a document to a file or, for `-`, to standard output.
///
/// Folders are created; a file appears whole or not at all, since it is written beside its place and moved there.
///
/// # Errors
///
/// Fails where the system refuses.
pub fn write(path: &Path, document: &str) -> Result<(), SinkError> {
    let written = match place(path) {
        WriteTarget::Output if is_output_closed() => Err(io::Error::other("standard output is closed")),
        WriteTarget::Output => io::stdout().lock().write_all(document.as_bytes()),
        WriteTarget::Device => fs::write(path, document),
        WriteTarget::File(file) => write_file(&file, document),
    };
    written.map_err(|reason| SinkError { path: path.to_owned(), reason })
}

/// Writes a file among others of this program: it takes the place of whatever is there, and of a link that is there, not
/// of what the link points at.
///
/// # Errors
///
/// Fails where the system refuses.
pub fn replace(path: &Path, document: &str) -> Result<(), SinkError> {
    replace_file(path, document).map_err(|reason| SinkError { path: path.to_owned(), reason })
}

/// A recording that grows with the run, so that a run which is killed leaves what it saw.
#[derive(Debug)]
pub struct EventLog {
    path: PathBuf,
    /// `None` for standard output.
    file: Option<File>,
}

impl EventLog {
    /// Begins a recording in a file, whose folders are created, or, for `-`, on standard output.
    ///
    /// # Errors
    ///
    /// Fails where the system refuses.
    pub fn create(path: &Path) -> Result<Self, SinkError> {
        let create = || create_folder(path).and_then(|()| File::create(path));
        let file = if path == Path::new("-") { Ok(None) } else { create().map(Some) };
        let file = file.map_err(|reason| SinkError { path: path.to_owned(), reason })?;
        Ok(Self { path: path.to_owned(), file })
    }

    /// Adds an event.
    ///
    /// # Errors
    ///
    /// Fails where the system refuses.
    pub fn write(&mut self, event: &Event) -> Result<(), SinkError> {
        let line = ndjson::line(event);
        let written = match &mut self.file {
            Some(file) => file.write_all(line.as_bytes()),
            None => io::stdout().lock().write_all(line.as_bytes()),
        };
        written.map_err(|reason| SinkError { path: self.path.clone(), reason })
    }
}

/// Nothing can read standard output since it was closed when the program started.
///
/// The runtime opens `/dev/null` in its place, and that for reading as well, where whoever wants to hear nothing opens it
/// for writing.
#[cfg(unix)]
fn is_output_closed() -> bool {
    use std::io::Read as _;
    use std::os::fd::AsFd as _;
    use std::os::unix::fs::MetadataExt as _;
    let Ok(output) = io::stdout().as_fd().try_clone_to_owned() else { return true };
    let mut output = File::from(output);
    let device = |found: io::Result<fs::Metadata>| found.ok().map(|found| found.rdev()).filter(|device| *device != 0);
    let is_null = device(output.metadata()).is_some_and(|own| device(fs::metadata("/dev/null")) == Some(own));
    is_null && output.read(&mut [0]).is_ok()
}

#[cfg(not(unix))]
fn is_output_closed() -> bool {
    false
}

enum WriteTarget {
    Output,
    /// A pipe or `/dev/null`, which nothing may be moved onto.
    Device,
    File(PathBuf),
}

fn place(path: &Path) -> WriteTarget {
    if path == Path::new("-") {
        return WriteTarget::Output;
    }
    // A link stays a link; what it points at is written.
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    match fs::metadata(&target) {
        Ok(found) if !found.is_file() && !found.is_dir() => WriteTarget::Device,
        Ok(_) | Err(_) => WriteTarget::File(target),
    }
}

fn write_file(path: &Path, document: &str) -> io::Result<()> {
    if path.is_dir() {
        return Err(ErrorKind::IsADirectory.into());
    }
    let Err(reason) = replace_file(path, document) else { return Ok(()) };
    // A file that is mounted, or in a folder that may not be changed, can still be written in place.
    if path.is_file() && !matches!(reason.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded) {
        return fs::write(path, document);
    }
    Err(reason)
}

fn replace_file(path: &Path, document: &str) -> io::Result<()> {
    create_folder(path)?;
    let beside = beside(path);
    let written = write_beside(&beside, document).and_then(|()| fs::rename(&beside, path));
    // The error of writing is reported, not that of removing the file.
    written.inspect_err(|_| drop(fs::remove_file(&beside)))
}

fn write_beside(beside: &Path, document: &str) -> io::Result<()> {
    // Whatever an earlier run left there, or somebody put there for this one to write through.
    let _ = fs::remove_file(beside);
    let mut file = OpenOptions::new().write(true).create_new(true).open(beside)?;
    file.write_all(document.as_bytes())?;
    file.sync_all()
}

fn create_folder(path: &Path) -> io::Result<()> {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => fs::create_dir_all(folder),
        Some(_) | None => Ok(()),
    }
}

/// A name in the same folder that no other run uses.
fn beside(path: &Path) -> PathBuf {
    let mut name = OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(format!(".{}.part", std::process::id()));
    path.with_file_name(name)
}

fn advice(kind: ErrorKind) -> &'static str {
    #[expect(clippy::wildcard_enum_match_arm, reason = "the system has dozens of reasons, and new ones are added")]
    match kind {
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => "choose a folder that you may write to",
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => "free some space or choose another disk",
        ErrorKind::IsADirectory => "name a file in that folder",
        ErrorKind::NotADirectory | ErrorKind::AlreadyExists => "a part of the path is a file; choose another folder",
        ErrorKind::InvalidFilename => "choose a shorter name",
        ErrorKind::BrokenPipe => "the reader has closed standard output",
        _ => "choose another place with `--report NAME=FILE`",
    }
}
