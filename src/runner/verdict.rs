//! What the steps of a case come to.

use crate::event::{Finding, Outcome};

/// The verdict before the scans had their say.
pub(super) struct Verdict {
    pub(super) outcome: Outcome,
    pub(super) reason: Option<String>,
    pub(super) findings: Vec<Finding>,
}

impl Verdict {
    pub(super) fn passed() -> Self {
        Self { outcome: Outcome::Passed, reason: None, findings: Vec::new() }
    }

    pub(super) fn because(outcome: Outcome, reason: impl Into<String>) -> Self {
        Self { outcome, reason: Some(reason.into()), findings: Vec::new() }
    }

    pub(super) fn found(outcome: Outcome, findings: Vec<Finding>) -> Self {
        Self { outcome, reason: None, findings }
    }
}
