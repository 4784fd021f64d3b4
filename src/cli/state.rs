//! The failures of the last run, remembered under `.mcprove`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::exit::Exit;
use crate::files::{Access, Folder, FolderPlace};
use crate::plan::{Failed, Selection};
use crate::redact::MASK;
use crate::report::sink::SinkError;
use crate::runner::Summary;
use crate::source::file::WRITTEN;

/// The last runs, as far as the next one may want to know.
#[derive(Debug, Default, Serialize, Deserialize)]
struct LastRun {
    /// The version of this file.
    format: u32,
    /// The cases that did not pass, by suite file: their ids without the file, whose spelling differs from run to run.
    not_passed: BTreeMap<String, BTreeSet<String>>,
    /// The suite files of which something failed that is no case.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    beyond_cases: BTreeSet<String>,
}

const FILE: &str = "last-run.json";
const LOCK: &str = "last-run.lock";
const FORMAT: u32 = 2;

/// A run that is to be remembered.
pub(crate) struct Ran<'a> {
    /// The suite files as they were named.
    pub(crate) files: &'a [&'a str],
    pub(crate) summary: &'a Summary,
    /// True if a case that passed only after a retry counts as failed.
    pub(crate) fails_on_flaky: bool,
    /// The selected cases; those that were not selected keep their state.
    pub(crate) selection: &'a Selection,
    pub(crate) exit: Exit,
}

/// The failures of the last run of these files; `Err` says why they are unknown.
pub(crate) fn last_failed(folder: &FolderPlace, files: &[PathBuf]) -> Result<Failed, String> {
    let last = folder.open().map_err(|_| missing(folder)).and_then(|opened| read(&opened, folder))?;
    let mut failed = Failed::default();
    for file in files {
        let (key, file) = (key(file, folder), file.display().to_string());
        let rest = last.not_passed.get(&key).into_iter().flatten();
        let (masked, whole): (Vec<_>, Vec<_>) =
            rest.map(|rest| format!("{file}::{rest}")).partition(|id| id.contains(MASK));
        failed.cases.extend(whole);
        failed.masked.extend(masked);
        if last.beyond_cases.contains(&key) {
            failed.files.insert(file);
        }
    }
    Ok(failed)
}

/// Remembers the failures of a run.
pub(crate) fn remember(folder: &FolderPlace, ran: &Ran<'_>) -> Result<(), SinkError> {
    let write = || -> io::Result<()> {
        let opened = prepare(folder)?;
        // Held until the end of this function. Where a file system knows no locks, the last run wins.
        let lock = opened.open_lock(LOCK, Access::Private)?;
        let _ = lock.lock();
        let mut last = read(&opened, folder).unwrap_or_default();
        last.take_in(folder, ran);
        let text = serde_json::to_string_pretty(&last).unwrap_or_default();
        opened.replace(FILE, format!("{text}\n").as_bytes(), Access::Private)
    };
    write().map_err(|reason| SinkError { path: folder.to_path_buf(), reason })
}

impl LastRun {
    fn take_in(&mut self, folder: &Path, Ran { files, summary, fails_on_flaky, selection, exit }: &Ran<'_>) {
        self.format = FORMAT;
        let flaky: &[String] = if *fails_on_flaky { &summary.flaky } else { &[] };
        for file in *files {
            let key = key(Path::new(file), folder);
            let prefix = format!("{file}::");
            let here = |ids: &[String]| -> BTreeSet<String> {
                ids.iter().filter_map(|id| id.strip_prefix(&prefix)).map(str::to_owned).collect()
            };
            let kept = self.not_passed.entry(key.clone()).or_default();
            if selection.is_all_of(file) {
                kept.clear();
                // Half a run says nothing of what shows in the whole.
                if *exit != Exit::Interrupted {
                    self.beyond_cases.remove(&key);
                }
            } else {
                let decided = here(&summary.decided);
                kept.retain(|id| !decided.contains(id));
            }
            kept.extend(here(&summary.not_passed));
            kept.extend(here(flaky));
            if summary.beyond_cases.contains(*file) {
                self.beyond_cases.insert(key);
            }
        }
        self.not_passed.retain(|_, ids| !ids.is_empty());
        // A threshold, or nothing that came to a verdict: no case and no server is to blame.
        let is_known = |file: &&str| {
            let key = key(Path::new(file), folder);
            self.not_passed.contains_key(&key) || self.beyond_cases.contains(&key)
        };
        if !matches!(exit, Exit::Passed | Exit::Interrupted) && !files.iter().any(is_known) {
            self.beyond_cases.extend(files.iter().map(|file| key(Path::new(file), folder)));
        }
    }
}

/// Makes the folder, and keeps it out of version control.
pub(crate) fn prepare(folder: &FolderPlace) -> io::Result<Folder> {
    const IGNORE: &str = ".gitignore";
    let opened = folder.create(Access::Shared)?;
    if opened.kind(IGNORE).is_none() {
        opened.replace(IGNORE, b"*\n", Access::Shared)?;
    }
    Ok(opened)
}

fn missing(folder: &Path) -> String {
    format!("`{}` is not there", folder.join(FILE).display())
}

fn read(opened: &Folder, folder: &Path) -> Result<LastRun, String> {
    let text = opened.read(FILE, WRITTEN).map_err(|_| missing(folder))?;
    serde_json::from_slice(&text).map_err(|_| format!("`{}` is no record of a run", folder.join(FILE).display()))
}

/// A path without links and `..`, if it exists; the empty path is the current folder.
pub(crate) fn whole(path: &Path) -> PathBuf {
    let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

/// One name for all spellings of a file: its path from where the folder for state stands.
fn key(file: &Path, folder: &Path) -> String {
    let (file, beside) = (whole(file), whole(folder.parent().unwrap_or(Path::new(""))));
    file.strip_prefix(&beside).unwrap_or(&file).display().to_string()
}
