//! The targets of a suite that are open at a time: of many only some, so that a run on a thousand servers has no thousand
//! processes.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::sessions::TargetSessions;

/// The most targets of a suite that are open at a time, where it has more and no more cases run at a time.
const MOST_OPEN: usize = 16;

/// The targets that are open, by their indices; cases come target by target, so that those of an earlier one have all
/// begun.
#[derive(Default)]
pub(super) struct OpenTargets {
    /// The most that are open at a time; `None` if all stay open until the suite is over.
    most: Option<usize>,
    open: BTreeSet<usize>,
    /// Those that are needed until the end, which are not counted.
    kept: BTreeSet<usize>,
    ended: BTreeSet<usize>,
}

/// What decides how many targets of a suite are open at a time.
#[derive(Debug, Clone, Copy)]
pub(super) struct TargetCounts {
    /// The targets that start a process.
    pub(super) with_process: usize,
    /// The cases that run at a time.
    pub(super) parallel: usize,
    /// What a teardown does could change what the cases of other targets find.
    pub(super) has_teardown: bool,
}

impl TargetCounts {
    fn most(self) -> Option<usize> {
        let most = self.parallel.max(MOST_OPEN);
        (self.with_process > most && !self.has_teardown).then_some(most)
    }
}

impl OpenTargets {
    /// The targets of a suite, none of them open.
    pub(super) fn new(counts: TargetCounts) -> Self {
        Self { most: counts.most(), ..Self::default() }
    }

    /// Returns true if a target has to wait until others are ended.
    pub(super) fn is_full_for(&self, target: usize) -> bool {
        let is_known = self.open.contains(&target) || self.kept.contains(&target);
        self.most.is_some_and(|most| !is_known && self.open.len() >= most)
    }

    /// Marks a target as open.
    pub(super) fn mark(&mut self, target: usize) {
        if !self.kept.contains(&target) {
            self.open.insert(target);
        }
    }

    /// Marks a target as one that is needed until the suite is over.
    pub(super) fn keep(&mut self, target: usize) {
        self.open.remove(&target);
        self.kept.insert(target);
    }

    /// Returns true if a target was ended before the suite is over.
    pub(super) fn has_ended(&self, target: usize) -> bool {
        self.ended.contains(&target)
    }

    /// Ends an open target that is no longer needed, and waits for its end; `false` where there is none.
    ///
    /// One at a time: a server that ends while many others do may take longer than it is given, and would be accused of it.
    pub(super) async fn end_one(&mut self, needed: &BTreeSet<usize>, targets: &[Arc<TargetSessions>]) -> bool {
        let Some(index) = self.open.difference(needed).next().copied() else { return false };
        self.open.remove(&index);
        self.ended.insert(index);
        targets[index].finish().await;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_new_target_of_many_waits() {
        let many = TargetCounts { with_process: 40, parallel: 4, has_teardown: false };
        for (what, counts, open, target, expected) in [
            ("one of few", TargetCounts { with_process: 16, ..many }, 16, 16, false),
            ("one of many, with room", many, 15, 15, false),
            ("one of many, without room", many, 16, 16, true),
            ("one that is open", many, 16, 3, false),
            ("one that is kept", many, 16, 30, false),
            ("one of many with a teardown", TargetCounts { has_teardown: true, ..many }, 16, 16, false),
            ("as many cases at a time", TargetCounts { parallel: 20, ..many }, 16, 16, false),
            ("more than cases at a time", TargetCounts { parallel: 20, ..many }, 20, 20, true),
            ("more cases at a time than targets", TargetCounts { parallel: 64, ..many }, 39, 39, false),
        ] {
            let mut targets = OpenTargets::new(counts);
            for index in 0..open {
                targets.mark(index);
            }
            targets.keep(30);
            assert_eq!(targets.is_full_for(target), expected, "{what}");
        }
        let mut targets = OpenTargets::new(many);
        for index in 0..16 {
            targets.mark(index);
        }
        targets.keep(3);
        assert!(!targets.is_full_for(16), "what is kept leaves its room to others");
    }
}
