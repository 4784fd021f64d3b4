//! Snapshots on the disk: read before a run, written after it, never outside their folder.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::{fs, io};

use crate::plan::{Plan, snapshot_files};
use crate::report::sink::{self, SinkError};
use crate::runner::{Purpose, Snapshots};

/// The folders of a run's snapshots, each with the folder of its suite.
pub(super) type Roots = BTreeMap<PathBuf, PathBuf>;

/// Everything that is recorded for the suites of a plan.
pub(super) fn read(plan: &Plan, purpose: Purpose) -> Snapshots {
    let mut known = BTreeMap::new();
    for (folder, suite) in roots(plan) {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let file = folder.join(entry.file_name());
            let is_ours = file.extension().is_some_and(|end| end == "json") && inside(&file, &suite).is_ok();
            if let Some(bytes) = Some(&file).filter(|_| is_ours).and_then(|file| fs::read(file).ok()) {
                known.insert(file, String::from_utf8_lossy(&bytes).into_owned());
            }
        }
    }
    Snapshots { known, purpose }
}

/// Where the suites of a plan keep snapshots.
pub(super) fn roots(plan: &Plan) -> Roots {
    plan.suites.iter().map(|planned| (snapshot_files(planned).folder, planned.suite.folder.clone())).collect()
}

/// Writes a snapshot.
pub(super) fn write(file: &Path, text: &str, roots: &Roots) -> Result<(), SinkError> {
    check(file, roots).map_err(|reason| SinkError { path: file.to_owned(), reason })?;
    sink::write(file, text)
}

/// Removes a snapshot, and its folder with the last one.
pub(super) fn remove(file: &Path, roots: &Roots) -> Result<(), SinkError> {
    let removed = check(file, roots).and_then(|()| fs::remove_file(file));
    removed.map_err(|reason| SinkError { path: file.to_owned(), reason })?;
    // A folder that is not empty stays; that is no failure.
    let mut folders = file.ancestors().skip(1).take(2);
    let _ = folders.try_for_each(fs::remove_dir);
    Ok(())
}

fn check(file: &Path, roots: &Roots) -> io::Result<()> {
    let suite = file.parent().and_then(|folder| roots.get(folder));
    inside(file, suite.ok_or_else(|| outside("it is in no folder of these suites"))?)
}

/// Refuses what a link leads out of the folder of a suite.
fn inside(file: &Path, suite: &Path) -> io::Result<()> {
    let suite = if suite.as_os_str().is_empty() { Path::new(".") } else { suite };
    let root = fs::canonicalize(suite)?;
    // What is not there yet stands in the nearest folder that is.
    let existing = file.ancestors().find(|path| fs::symlink_metadata(path).is_ok());
    let existing = existing.filter(|path| !path.as_os_str().is_empty()).unwrap_or(suite);
    let real = fs::canonicalize(existing).map_err(|_| outside("it is a link to nothing"))?;
    if real.starts_with(&root) { Ok(()) } else { Err(outside("a link leads out of the folder of its suite")) }
}

fn outside(words: &str) -> io::Error {
    io::Error::new(io::ErrorKind::PermissionDenied, words)
}
