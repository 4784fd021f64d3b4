//! What is remembered between runs, under `.mcprove`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::{fs, io};

use serde::{Deserialize, Serialize};

use crate::report::sink::SinkError;

/// The last runs, as far as the next one may want to know.
#[derive(Debug, Default, Serialize, Deserialize)]
struct LastRun {
    /// The version of this file.
    format: u32,
    /// What did not pass, by suite file: the ids without the file, whose spelling differs from run to run.
    not_passed: BTreeMap<String, BTreeSet<String>>,
}

const FILE: &str = "last-run.json";
const FORMAT: u32 = 2;

/// What a run is to be remembered for.
pub(super) struct Ran<'a> {
    /// The suite files as they were named.
    pub(super) files: &'a [&'a str],
    /// The ids of all cases that ended.
    pub(super) decided: &'a [String],
    /// The ids of those that did not pass, and of those that were not reached.
    pub(super) not_passed: &'a [String],
    /// Whether the cases were picked, so that what is known of the others still holds.
    pub(super) picked: Picked,
}

/// Whether a run was asked for some cases only.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Picked {
    /// Every case of the files was planned.
    All,
    /// Some were.
    Some,
}

/// The ids of the cases of these files that did not pass the last time; `Err` says why there are none to know.
pub(super) fn last_failed(folder: &Path, files: &[PathBuf]) -> Result<BTreeSet<String>, String> {
    let last = read(folder)?;
    let mut ids = BTreeSet::new();
    for file in files {
        let rest = last.not_passed.get(&key(file, folder)).into_iter().flatten();
        ids.extend(rest.map(|rest| format!("{}::{rest}", file.display())));
    }
    Ok(ids)
}

/// Remembers which cases did not pass. Losing this to a power cut costs nothing, so nobody waits for the disk.
pub(super) fn remember(folder: &Path, ran: &Ran<'_>) -> Result<(), SinkError> {
    let mut last = read(folder).unwrap_or_default();
    last.format = FORMAT;
    for file in ran.files {
        let kept = last.not_passed.entry(key(Path::new(file), folder)).or_default();
        let prefix = format!("{file}::");
        let here = |ids: &[String]| -> BTreeSet<String> {
            ids.iter().filter_map(|id| id.strip_prefix(&prefix)).map(str::to_owned).collect()
        };
        match ran.picked {
            Picked::All => kept.clear(),
            Picked::Some => {
                let decided = here(ran.decided);
                kept.retain(|id| !decided.contains(id));
            }
        }
        kept.extend(here(ran.not_passed));
    }
    last.not_passed.retain(|_, ids| !ids.is_empty());
    let text = serde_json::to_string_pretty(&last).unwrap_or_default();
    let write = || -> io::Result<()> {
        prepare(folder)?;
        fs::write(folder.join(FILE), format!("{text}\n"))
    };
    write().map_err(|reason| SinkError { path: folder.to_owned(), reason })
}

/// Makes the folder, and keeps it out of version control.
pub(super) fn prepare(folder: &Path) -> io::Result<()> {
    let ignore = folder.join(".gitignore");
    if !ignore.exists() {
        fs::create_dir_all(folder)?;
        fs::write(&ignore, "*\n")?;
    }
    Ok(())
}

fn read(folder: &Path) -> Result<LastRun, String> {
    let path = folder.join(FILE);
    let text = fs::read_to_string(&path).map_err(|_| format!("`{}` is not there", path.display()))?;
    serde_json::from_str(&text).map_err(|_| format!("`{}` is no record of a run", path.display()))
}

/// One name for all spellings of a file: its path from where the folder for state stands.
fn key(file: &Path, folder: &Path) -> String {
    let whole = |path: &Path| {
        let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
        fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
    };
    let file = whole(file);
    let beside = whole(folder.parent().unwrap_or(Path::new("")));
    file.strip_prefix(&beside).unwrap_or(&file).display().to_string()
}
