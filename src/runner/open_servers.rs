//! The servers of a suite that are open at a time: of many servers only some, so that a run on a thousand of them has no
//! thousand processes.

use std::collections::BTreeSet;
use std::sync::Arc;

use tokio::task::JoinSet;

use super::sessions::TargetSessions;

/// The most servers of a suite that are open at a time, where it has more.
const MOST_OPEN: usize = 16;

/// The servers that are open, by the indices of their targets; cases come target by target, so that those of an earlier
/// target have all begun.
#[derive(Default)]
pub(super) struct OpenServers {
    /// True if servers are ended as soon as others need their room; otherwise all end with the suite.
    is_bounded: bool,
    open: BTreeSet<usize>,
    ended: BTreeSet<usize>,
    ending: JoinSet<()>,
}

impl OpenServers {
    /// The servers of a suite. Those of few targets stay until the end, and so do those whose teardown could change what
    /// the cases of others find.
    pub(super) fn new(targets: usize, has_teardown: bool) -> Self {
        Self { is_bounded: targets > MOST_OPEN && !has_teardown, ..Self::default() }
    }

    /// Returns true if a target has to wait until servers are ended.
    pub(super) fn is_full_for(&self, target: usize) -> bool {
        self.is_bounded && !self.open.contains(&target) && self.open.len() >= MOST_OPEN
    }

    /// Takes in that a case of a target begins.
    pub(super) fn begin(&mut self, target: usize) {
        self.open.insert(target);
    }

    /// Returns true if a target was ended before the suite is over.
    pub(super) fn has_ended(&self, target: usize) -> bool {
        self.ended.contains(&target)
    }

    /// Ends the servers of all targets but those that are still needed; `false` where there is none.
    pub(super) async fn end_others(&mut self, needed: &BTreeSet<usize>, targets: &[Arc<TargetSessions>]) -> bool {
        let idle: Vec<usize> = self.open.difference(needed).copied().collect();
        for index in &idle {
            self.open.remove(index);
            self.ended.insert(*index);
            let target = Arc::clone(&targets[*index]);
            self.ending.spawn(async move { target.finish().await });
        }
        // A server that takes its time to end is still a process.
        while self.open.len() + self.ending.len() >= MOST_OPEN && self.ending.join_next().await.is_some() {}
        !idle.is_empty()
    }

    /// Waits for those that are being ended.
    pub(super) async fn finish_ending(&mut self) {
        while self.ending.join_next().await.is_some() {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_new_target_of_many_waits() {
        for (what, targets, has_teardown, begun, target, expected) in [
            ("one of few", MOST_OPEN, false, MOST_OPEN, 16, false),
            ("one of many, with room", 40, false, MOST_OPEN - 1, 15, false),
            ("one of many, without room", 40, false, MOST_OPEN, 16, true),
            ("one that is open", 40, false, MOST_OPEN, 3, false),
            ("one of many with a teardown", 40, true, MOST_OPEN, 16, false),
        ] {
            let mut servers = OpenServers::new(targets, has_teardown);
            for index in 0..begun {
                servers.begin(index);
            }
            assert_eq!(servers.is_full_for(target), expected, "{what}");
        }
    }
}
