//! Files that runs themselves change: a log or a database among the sources of a server would have it started for ever.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

/// The number of runs in a row that must change a file before it is left out: anybody can save a file during two.
const RUNS: u32 = 3;

/// The number of runs in a row that changed a file.
#[derive(Debug, Default)]
pub(super) struct OwnChanges(BTreeMap<PathBuf, u32>);

impl OwnChanges {
    /// Takes note of the files that changed during a run; returns those that change with every run.
    pub(super) fn after_run(&mut self, changed: &BTreeSet<PathBuf>) -> Vec<PathBuf> {
        self.0.retain(|path, _| changed.contains(path));
        for path in changed {
            *self.0.entry(path.clone()).or_default() += 1;
        }
        let (own, others) = std::mem::take(&mut self.0).into_iter().partition(|(_, runs)| *runs >= RUNS);
        self.0 = others;
        let own: BTreeMap<PathBuf, u32> = own;
        own.into_keys().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_every_run_changes_is_left_out() {
        for (runs, expected) in [
            (&["log", "log"][..], &[][..]),
            (&["log", "log", "log"], &["log"]),
            (&["log", "", "log", "log"], &[]),
            (&["log main.py", "log", "log"], &["log"]),
            (&["log main.py", "log main.py", "log main.py"], &["log", "main.py"]),
        ] {
            let mut own = OwnChanges::default();
            let left_out: Vec<PathBuf> = runs
                .iter()
                .flat_map(|changed| own.after_run(&changed.split_whitespace().map(PathBuf::from).collect()))
                .collect();
            assert_eq!(left_out, expected.iter().map(PathBuf::from).collect::<Vec<_>>(), "{runs:?}");
        }
    }
}
