//! What is remembered between runs, under `.mcprove`.

use std::collections::BTreeSet;
use std::path::Path;
use std::{fs, io};

use serde::{Deserialize, Serialize};

use crate::report::sink::SinkError;

/// The last run, as far as the next one may want to know.
#[derive(Debug, Serialize, Deserialize)]
struct LastRun {
    /// The version of this file.
    format: u32,
    /// The ids of the cases that did not pass.
    not_passed: BTreeSet<String>,
}

const FILE: &str = "last-run.json";

/// The ids of the cases that did not pass the last time; `Err` says why there are none to know.
pub(super) fn last_failed(folder: &Path) -> Result<BTreeSet<String>, String> {
    let path = folder.join(FILE);
    let text = fs::read_to_string(&path).map_err(|_| format!("`{}` is not there", path.display()))?;
    let last: LastRun =
        serde_json::from_str(&text).map_err(|_| format!("`{}` is no record of a run", path.display()))?;
    Ok(last.not_passed)
}

/// Remembers which cases did not pass. Losing this to a power cut costs nothing, so nobody waits for the disk.
pub(super) fn remember(folder: &Path, not_passed: &[String]) -> Result<(), SinkError> {
    let last = LastRun { format: 1, not_passed: not_passed.iter().cloned().collect() };
    let text = serde_json::to_string_pretty(&last).unwrap_or_default();
    let ignore = folder.join(".gitignore");
    let write = || -> io::Result<()> {
        if !ignore.exists() {
            fs::create_dir_all(folder)?;
            fs::write(&ignore, "*\n")?;
        }
        fs::write(folder.join(FILE), format!("{text}\n"))
    };
    write().map_err(|reason| SinkError { path: folder.to_owned(), reason })
}
