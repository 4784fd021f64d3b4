//! The result of a case that several parts of a run have.

use crate::event::{CaseResult, Finding, Outcome};

/// Adds the result in another part: it ends as badly as it did anywhere, for the reasons of all.
pub(super) fn absorb(known: &mut CaseResult, mut more: CaseResult) {
    if weight(more.outcome) > weight(known.outcome) {
        std::mem::swap(known, &mut more);
    }
    add_findings(&mut known.findings, if more.outcome == known.outcome { more.findings } else { Vec::new() });
    known.duration_us = known.duration_us.saturating_add(more.duration_us);
    known.judged.extend(more.judged);
    known.judged.sort_unstable();
    known.judged.dedup();
}

/// Adds findings that say something new.
pub(super) fn add_findings(known: &mut Vec<Finding>, more: Vec<Finding>) {
    for finding in more {
        if !known.iter().any(|other| other.code == finding.code && other.message == finding.message) {
            known.push(finding);
        }
    }
}

/// What counts more than another outcome: a part that saw nothing takes nothing from one that did.
fn weight(outcome: Outcome) -> u8 {
    match outcome {
        Outcome::Skipped => 0,
        Outcome::Inconclusive => 1,
        Outcome::Passed => 2,
        Outcome::Warned => 3,
        Outcome::Errored => 4,
        Outcome::Failed => 5,
    }
}
