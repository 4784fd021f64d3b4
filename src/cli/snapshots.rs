//! Snapshots on the disk: written after a run, never outside their folder.

use std::fs;
use std::io;
use std::path::Path;

use crate::recorded::{self, Roots};
use crate::report::sink::{self, SinkError};

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
    recorded::inside(file, suite.ok_or_else(|| recorded::outside("it is in no folder of these suites"))?)
}
