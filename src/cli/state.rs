//! The failures of the last run, remembered under `.mcprove`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::exit::Exit;
use crate::files::{Access, Folder, FolderPlace, real_path};
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

/// The time for which a lock is waited for, 5 s: writing takes milliseconds.
const LOCK_ATTEMPTS: usize = 100;
const LOCK_INTERVAL: Duration = Duration::from_millis(50);

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
    let last = folder.open().map_err(|_| missing(folder)).and_then(|opened| load(&opened, folder))?;
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

/// The option that names the folder for state.
pub(crate) const STATE_OPTION: Option<&str> = Some("--state-dir FOLDER");

/// Remembers the failures of a run.
pub(crate) fn remember(folder: &FolderPlace, ran: &Ran<'_>) -> Result<(), SinkError> {
    let write = || -> io::Result<()> {
        let opened = prepare(folder)?;
        // Held until the end of this function. Where a file system knows no locks, the last run wins.
        let lock = opened.open_lock(LOCK, Access::Private)?;
        take(&lock)?;
        let mut last = load(&opened, folder).unwrap_or_default();
        last.take_in(folder, ran);
        let text = serde_json::to_string_pretty(&last).unwrap_or_default();
        opened.replace(FILE, format!("{text}\n").as_bytes(), Access::Private)
    };
    write().map_err(|reason| SinkError { path: folder.to_path_buf(), reason, option: STATE_OPTION })
}

/// Waits until nobody else writes; fails where somebody holds the lock for too long, such as a server that was given it.
fn take(lock: &File) -> io::Result<()> {
    for _ in 0..LOCK_ATTEMPTS {
        match lock.try_lock() {
            Err(TryLockError::WouldBlock) => pause(),
            Ok(()) | Err(TryLockError::Error(_)) => return Ok(()),
        }
    }
    let holder = holder(lock).map(|id| format!(" by the process {id}")).unwrap_or_default();
    Err(io::Error::new(io::ErrorKind::ResourceBusy, format!("`{LOCK}` beside it has been locked for 5 s{holder}")))
}

#[expect(clippy::disallowed_methods, reason = "the system tells nobody when a lock is free without waiting for ever")]
fn pause() {
    std::thread::sleep(LOCK_INTERVAL);
}

/// The process that holds the lock of a file, where the system says so.
fn holder(lock: &File) -> Option<u32> {
    #[cfg(target_os = "linux")]
    {
        let inode = std::os::unix::fs::MetadataExt::ino(&lock.metadata().ok()?);
        holder_in(&std::fs::read_to_string("/proc/locks").ok()?, inode)
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = lock;
        None
    }
}

/// Reads `1: FLOCK  ADVISORY  WRITE 4711 fe:00:1234 0 EOF`, a line for each lock.
#[cfg(target_os = "linux")]
fn holder_in(locks: &str, inode: u64) -> Option<u32> {
    let end = format!(":{inode}");
    locks.lines().find_map(|line| {
        let mut words = line.split_whitespace().skip(4);
        let (process, file) = (words.next()?, words.next()?);
        file.ends_with(&end).then(|| process.parse().ok()).flatten()
    })
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

fn load(opened: &Folder, folder: &Path) -> Result<LastRun, String> {
    let text = opened.read(FILE, WRITTEN).map_err(|_| missing(folder))?;
    serde_json::from_slice(&text).map_err(|_| format!("`{}` is no record of a run", folder.join(FILE).display()))
}

/// A path without links and `..`, if it exists; the empty path is the current folder.
pub(crate) fn whole(path: &Path) -> PathBuf {
    let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    real_path(path).unwrap_or_else(|_| path.to_owned())
}

/// One name for all spellings of a file: its path from where the folder for state stands.
fn key(file: &Path, folder: &Path) -> String {
    let (file, beside) = (whole(file), whole(folder.parent().unwrap_or(Path::new(""))));
    file.strip_prefix(&beside).unwrap_or(&file).display().to_string()
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_lock_names_its_holder() {
        let locks = "1: POSIX  ADVISORY  WRITE 12 fe:00:77 0 EOF\n2: FLOCK  ADVISORY  WRITE 4711 fe:00:1234 0 EOF\n";
        let check = |inode, expected| assert_eq!(holder_in(locks, inode), expected, "{inode}");
        check(1234, Some(4711));
        check(77, Some(12));
        check(34, None);
        assert_eq!(holder_in("1: -> FLOCK", 1), None);
    }
}
