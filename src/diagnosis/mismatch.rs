//! Failed expectations.

use crate::event::{Finding, RequirementLevel, StepProblem};
use crate::matching::{Mismatch, MismatchKind, MismatchWeight};
use crate::source::{Quote, Sources};

/// The code of a finding about a value that an answer lacks and a later step uses.
pub const MISSING: &str = "missing-value";

/// A failed expectation.
pub fn of_mismatch(mismatch: Mismatch, sources: &Sources, exchange: Option<usize>) -> Finding {
    let level = match mismatch.weight {
        MismatchWeight::Fails => RequirementLevel::Must,
        MismatchWeight::Warns | MismatchWeight::Unjudged => RequirementLevel::Should,
    };
    let step_problem = match mismatch.kind {
        MismatchKind::Unfilled => Some(StepProblem::Unfilled),
        MismatchKind::MissingValue => Some(StepProblem::MissingValue(None)),
        MismatchKind::Differs | MismatchKind::Unseen => None,
    };
    Finding {
        level,
        step_problem: step_problem.map(Box::new),
        quote: Some(Quote::new(sources, mismatch.span, mismatch.label)),
        path: mismatch.path,
        expected: mismatch.expected,
        actual: mismatch.actual,
        diff: mismatch.diff,
        exchange,
        ..Finding::new(mismatch.code, mismatch.message)
    }
}
