//! Which case owns which frame, and what was broken in whose exchange.

use std::collections::BTreeSet;

use super::state::SessionState;
use crate::wire::{ProtocolViolation, Scanner};

/// How many violations of one session are kept; a server that floods its output would fill the memory.
pub(super) const MOST_VIOLATIONS: usize = 100;

/// A violation and the case in whose exchange it happened.
#[derive(Debug, Clone, PartialEq)]
pub struct OwnedViolation {
    /// The case; `None` where that cannot be told.
    pub owner: Option<String>,
    /// The violation.
    pub violation: ProtocolViolation,
}

impl SessionState {
    pub(super) fn own(&mut self, seq: u32, owner: Option<&str>) {
        if let Some(owner) = owner {
            match self.frames.get_mut(owner) {
                Some(frames) => frames.push(seq),
                None => drop(self.frames.insert(owner.to_owned(), vec![seq])),
            }
        }
    }

    /// Gives the frames that are still there, and nobody's, to an owner.
    pub(super) fn own_kept(&mut self, owner: &str) {
        let taken: BTreeSet<u32> = self.frames.values().flatten().copied().collect();
        for seq in self.transcript.kept().filter(|seq| !taken.contains(seq)) {
            self.frames.entry(owner.to_owned()).or_default().push(seq);
        }
    }

    pub(super) fn keep(&mut self, found: Vec<ProtocolViolation>, owner: Option<&str>) {
        for violation in found {
            if self.violations.len() < MOST_VIOLATIONS {
                self.violations.push(OwnedViolation { owner: owner.map(str::to_owned), violation });
            } else {
                self.violations_left_out += 1;
            }
        }
    }

    /// Hands out the violations of one owner, `None` for those of nobody.
    pub(super) fn take_violations(&mut self, owner: Option<&str>) -> Vec<OwnedViolation> {
        let (taken, kept) =
            std::mem::take(&mut self.violations).into_iter().partition(|violation| violation.owner.as_deref() == owner);
        self.violations = kept;
        taken
    }

    /// The violations that may explain why an answer did not come.
    pub(super) fn stray_output(&self) -> Vec<String> {
        let is_such = |owned: &&OwnedViolation| Scanner::JUDGES.contains(&owned.violation.variant);
        let mut last: Vec<String> =
            self.violations.iter().rev().filter(is_such).take(3).map(|owned| owned.violation.message.clone()).collect();
        last.reverse();
        last
    }

    /// The case to which a frame belongs.
    pub(super) fn owner_of(&self, frame: u32) -> Option<String> {
        self.frames.iter().find(|(_, frames)| frames.contains(&frame)).map(|(owner, _)| owner.clone())
    }

    /// The case that spoke last.
    pub(super) fn last_owner(&self) -> Option<String> {
        let cases = self.frames.iter().filter(|(owner, _)| !owner.is_empty());
        cases.max_by_key(|(_, frames)| frames.last().copied()).map(|(owner, _)| owner.clone())
    }

    pub(super) fn frames_of(&self, owner: &str) -> Vec<u32> {
        self.frames.get(owner).cloned().unwrap_or_default()
    }
}
