//! Problems that a call shows, as findings that can be told apart.

use crate::event::{Exchange, FailureClass, Finding, FindingKind, ReproductionCheck, RequirementLevel};
use crate::session::{CallFailure, FailureReason};
use crate::wire::ReadLimit;

/// The code of calls that are served although the schema forbids them.
pub(crate) const NOT_VALIDATED: &str = "input-not-validated";

/// One thing that went wrong.
#[derive(Debug, Clone)]
pub(crate) struct FuzzProblem {
    pub(crate) kind: FindingKind,
    /// Tells two of a kind apart: an exit status, a code, a position in a schema.
    pub(crate) signature: String,
    /// Tells two crashes of one tool apart: the last line on standard error.
    pub(crate) detail: String,
    pub(crate) check: ReproductionCheck,
    pub(crate) found: Finding,
    /// The exchange that shows it, where it was tried again.
    pub(crate) exchange: Option<Exchange>,
}

impl FuzzProblem {
    pub(crate) fn new(
        kind: FindingKind,
        signature: impl Into<String>,
        check: ReproductionCheck,
        found: Finding,
    ) -> Self {
        Self { kind, signature: signature.into(), detail: String::new(), check, found, exchange: None }
    }

    /// A violation of the protocol.
    pub(crate) fn violation(found: Finding) -> Self {
        let (signature, check) =
            (found.signature(FindingKind::ProtocolError), ReproductionCheck::Scan(found.code.clone()));
        Self::new(FindingKind::ProtocolError, signature, check, found)
    }

    /// Two are the same, whatever tool was called.
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        self.kind == other.kind && self.signature == other.signature
    }

    /// Two are the same in all that is known of them.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        self.is_like(other) && self.detail == other.detail
    }

    /// The same with a weight that is not that of a broken MUST.
    pub(crate) fn into_advice(mut self) -> Self {
        self.found.level = RequirementLevel::Should;
        self
    }
}

/// An answer that exceeds a limit of the client and is not read; a warning, since it may be right.
pub(crate) fn not_read(beyond: ReadLimit, frame: Option<u32>) -> FuzzProblem {
    let found = Finding { frame, ..Finding::new(beyond.code(), format!("the answer to `tools/call` {beyond}")) };
    FuzzProblem::violation(found).into_advice()
}

/// A call without a usable answer.
pub(crate) fn of_failure(failure: &CallFailure) -> FuzzProblem {
    let found = Finding::from(failure);
    if let FailureReason::NotRead(beyond) = failure.reason {
        return not_read(beyond, found.frame);
    }
    let (kind, signature, check) = match &failure.reason {
        FailureReason::Exited(exit) => (FindingKind::Crash, exit.to_string(), ReproductionCheck::Ends),
        FailureReason::Timeout(limit) => {
            let limit = u64::try_from(limit.as_millis()).unwrap_or(u64::MAX);
            (FindingKind::Hang, String::new(), ReproductionCheck::Silent(limit))
        }
        FailureReason::Protocol(reason) => {
            (FindingKind::ProtocolError, without_numbers(reason), ReproductionCheck::Scan(found.code.clone()))
        }
        FailureReason::NotRead(_) | FailureReason::RefusedWhole(_) | FailureReason::Http(_) => match found.class {
            // A server without a process of ours has ended where nothing answers at its address.
            Some(FailureClass::ConnectionRefused) => {
                (FindingKind::Crash, found.code.to_string(), ReproductionCheck::Ends)
            }
            Some(FailureClass::ConnectionLost) => {
                (FindingKind::ConnectionLost, String::new(), ReproductionCheck::Scan(found.code.clone()))
            }
            _ => (
                FindingKind::ProtocolError,
                without_numbers(&found.message),
                ReproductionCheck::Scan(found.code.clone()),
            ),
        },
    };
    let detail = if kind == FindingKind::Crash { last_words(&found) } else { String::new() };
    FuzzProblem { detail, ..FuzzProblem::new(kind, signature, check, found) }
}

/// A server that ended after its last answer.
pub(crate) fn of_exit(found: Finding) -> FuzzProblem {
    let signature = found.exit().unwrap_or_default().to_owned();
    let detail = last_words(&found);
    FuzzProblem { detail, ..FuzzProblem::new(FindingKind::Crash, signature, ReproductionCheck::Ends, found) }
}

/// The last line on standard error, without parts that may differ from run to run.
fn last_words(found: &Finding) -> String {
    let stderr = found.evidence.iter().find(|(name, _)| name == "stderr");
    let last = stderr.and_then(|(_, text)| text.lines().rev().find(|line| !line.trim().is_empty()));
    without_numbers(last.unwrap_or_default().split(':').next().unwrap_or_default())
}

/// The first line of a text without digits, which may differ from run to run.
pub(crate) fn without_numbers(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    line.chars().filter(|c| !c.is_numeric()).take(120).collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::check::failure_of_test;
    use crate::transport::{ConnectionBreak, HttpFailure, ServerExit};

    fn failure(reason: FailureReason) -> CallFailure {
        let stderr = vec!["KeyError: 'a7'".to_owned(), String::new()];
        CallFailure { stderr, ..failure_of_test(reason) }
    }

    #[test]
    fn calls_without_an_answer_are_told_apart() {
        for (reason, kind, signature) in [
            (FailureReason::Exited(ServerExit::Status(3)), FindingKind::Crash, "exit status 3"),
            (FailureReason::Timeout(Duration::from_secs(2)), FindingKind::Hang, ""),
            (FailureReason::Protocol("no JSON at 17".to_owned()), FindingKind::ProtocolError, "no JSON at "),
            (FailureReason::Http(HttpFailure::Reset(ConnectionBreak::BeforeHeaders)), FindingKind::ConnectionLost, ""),
        ] {
            let text = format!("{reason:?}");
            let problem = of_failure(&failure(reason));
            assert_eq!((problem.kind, problem.signature.as_str()), (kind, signature), "{text}");
            let detail = if kind == FindingKind::Crash { "KeyError" } else { "" };
            assert_eq!(problem.detail, detail, "{text}");
        }
    }

    #[test]
    fn numbers_tell_no_problems_apart() {
        for (text, expected) in [("user 7 not found", "user  not found"), ("line 3\nmore", "line "), ("", "")] {
            assert_eq!(without_numbers(text), expected);
        }
        assert_eq!(without_numbers(&"x".repeat(500)).len(), 120);
    }
}
