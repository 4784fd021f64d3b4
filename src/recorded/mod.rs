//! Recorded answers on the disk, read before a run.
//!
//! Knows where they are and never writes: whoever does asks [`inside`] first.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::{fs, io};

use crate::files::real_path;
use crate::plan::{Plan, snapshot_files};
use crate::source::file::{RECORDED, read_bytes};

/// The folders of a run's snapshots, each with the folder of its suite.
pub type Roots = BTreeMap<PathBuf, PathBuf>;

/// The texts of everything that is recorded for the suites of a plan, by file.
pub fn read_texts(plan: &Plan) -> BTreeMap<PathBuf, String> {
    let mut known = BTreeMap::new();
    for (folder, suite) in roots(plan) {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let file = folder.join(entry.file_name());
            let is_ours = file.extension().is_some_and(|end| end == "json") && inside(&file, &suite).is_ok();
            if let Some(bytes) = Some(&file).filter(|_| is_ours).and_then(|file| read_bytes(file, RECORDED).ok()) {
                known.insert(file, String::from_utf8_lossy(&bytes).into_owned());
            }
        }
    }
    known
}

/// The folders of the snapshots of a plan's suites.
pub fn roots(plan: &Plan) -> Roots {
    plan.suites
        .iter()
        .map(|planned| (snapshot_files(planned.snapshot_scope()).folder, planned.suite.folder.clone()))
        .collect()
}

/// The path from the folder of a suite to a file in it, links followed; refuses what a link leads out of it.
///
/// # Errors
///
/// Fails with the reason in words.
pub fn inside(file: &Path, suite: &Path) -> io::Result<PathBuf> {
    let suite = if suite.as_os_str().is_empty() { Path::new(".") } else { suite };
    let root = real_path(suite)?;
    // A file that does not exist yet stands in the nearest folder that does.
    let existing = file.ancestors().find(|path| fs::symlink_metadata(path).is_ok());
    let existing = existing.filter(|path| !path.as_os_str().is_empty()).unwrap_or(suite);
    let real = real_path(existing).map_err(|_| outside("it is a link to nothing"))?;
    let below = real.strip_prefix(&root).map_err(|_| outside("a link leads out of the folder of its suite"))?;
    Ok(below.join(file.strip_prefix(existing).unwrap_or(file)))
}

/// A refusal to leave a folder.
pub fn outside(words: &str) -> io::Error {
    io::Error::new(io::ErrorKind::PermissionDenied, words)
}
