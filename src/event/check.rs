//! The result of one check.

use std::time::Duration;

use super::{Exchange, Finding, Outcome, Reason, StepProblem};

/// The result of one attempt at a case, decided by steps, a probe or a scan.
#[derive(Debug, Clone)]
pub struct CheckResult {
    /// The outcome.
    pub outcome: Outcome,
    /// Why it was skipped, inconclusive or errored, or a note on a case that passed.
    pub reason: Option<Reason>,
    /// The findings.
    pub findings: Vec<Finding>,
    /// The messages that were sent and answered, in order.
    pub exchanges: Vec<Exchange>,
    /// The negotiated revision; empty where nothing was sent.
    pub protocol_revision: String,
    /// The numbers of the frames that show it.
    pub frames: Vec<u32>,
    /// Without the start of the server; zero where that is not known.
    pub duration: Duration,
}

impl CheckResult {
    /// A result with nothing but an outcome.
    pub fn new(outcome: Outcome) -> Self {
        Self {
            outcome,
            reason: None,
            findings: Vec::new(),
            exchanges: Vec::new(),
            protocol_revision: String::new(),
            frames: Vec::new(),
            duration: Duration::ZERO,
        }
    }

    /// A result with a reason and no findings.
    pub fn because(outcome: Outcome, reason: Reason) -> Self {
        Self { reason: Some(reason), ..Self::new(outcome) }
    }

    /// The result where nothing can be said, and why.
    pub fn inconclusive(why: impl Into<String>) -> Self {
        Self::because(Outcome::Inconclusive, Reason::NotEvaluated(why.into()))
    }

    /// The result where there is nothing to check, and why.
    pub fn not_applicable(why: impl Into<String>) -> Self {
        Self::because(Outcome::Skipped, Reason::NotApplicable(why.into()))
    }

    /// The result where the suite gives less than the check needs; says what that is, and how to give it.
    pub fn not_given(why: impl Into<String>) -> Self {
        Self::because(Outcome::Skipped, Reason::NotGiven(why.into()))
    }

    /// The result where the server could not be started, reached or set up. A setup that may not run makes its cases
    /// inapplicable.
    pub fn unavailable(found: Finding) -> Self {
        match found.step_problem.as_deref() {
            Some(StepProblem::ReadOnly) => return Self::because(Outcome::Skipped, Reason::ReadOnly(found.message)),
            Some(StepProblem::ToolNotAllowed) => {
                return Self::because(Outcome::Skipped, Reason::ToolNotAllowed(found.message));
            }
            _ => {}
        }
        let reason = Reason::ServerUnavailable(found.message.clone());
        Self { findings: vec![found], ..Self::because(Outcome::Errored, reason) }
    }

    /// A result with findings and no reason.
    pub fn with_findings(outcome: Outcome, findings: Vec<Finding>) -> Self {
        Self { findings, ..Self::new(outcome) }
    }
}
