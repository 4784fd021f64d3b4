//! What can go wrong with a call, as findings that can be told apart.

use crate::event::{Exchange, FailureClass, Finding, FindingKind, ReproductionCheck, RequirementLevel};
use crate::session::{CallFailure, FailureReason, ReceivedLine};
use crate::wire::{ProtocolViolation, ReadLimit};

/// The code of calls that are served although the schema forbids them.
pub(super) const NOT_VALIDATED: &str = "input-not-validated";

/// One thing that went wrong.
#[derive(Debug, Clone)]
pub(super) struct Problem {
    pub(super) kind: FindingKind,
    /// What makes two of a kind the same: an exit status, a code, a place in a schema.
    pub(super) signature: String,
    /// What makes two the same that may be different in one tool: the last words of a server.
    pub(super) detail: String,
    pub(super) check: ReproductionCheck,
    pub(super) found: Finding,
    /// The exchange that shows it, where it was tried again.
    pub(super) exchange: Option<Exchange>,
}

impl Problem {
    /// Whether two are the same, whatever tool was called.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        self.kind == other.kind && self.signature == other.signature
    }

    /// Whether two are the same in all that is known of them.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.is_like(other) && self.detail == other.detail
    }

    /// The same with a weight that is not that of a broken MUST.
    pub(super) fn advised(mut self) -> Self {
        self.found.level = RequirementLevel::Should;
        self
    }
}

/// A rule of the protocol that was broken.
pub(super) fn broken(violation: &ProtocolViolation, told: &ReceivedLine) -> Problem {
    let line: String = String::from_utf8_lossy(&told.line).chars().take(300).collect();
    let found = Finding {
        class: Some(FailureClass::ProtocolError),
        frame: Some(violation.frame),
        ..Finding::new(violation.code, violation.message.clone())
    };
    Problem {
        kind: FindingKind::ProtocolError,
        signature: violation.code.to_owned(),
        detail: String::new(),
        check: ReproductionCheck::Scan(violation.code.to_owned()),
        found: found.with_evidence("the line", line),
        exchange: None,
    }
}

/// An answer that is not read: nothing is known of it, and nothing is wrong with it.
pub(super) fn not_read(beyond: ReadLimit, frame: Option<u32>) -> Problem {
    let found = Finding { frame, ..Finding::new(beyond.code(), format!("the answer to `tools/call` {beyond}")) };
    let (signature, check) = (beyond.code().to_owned(), ReproductionCheck::Scan(beyond.code().to_owned()));
    let problem =
        Problem { kind: FindingKind::ProtocolError, signature, detail: String::new(), check, found, exchange: None };
    problem.advised()
}

/// A call without a usable answer.
pub(super) fn failed(failure: &CallFailure) -> Problem {
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
            // What nobody sees end, but does not answer anybody any more, has ended.
            Some(FailureClass::ConnectionRefused | FailureClass::ConnectionLost) => {
                (FindingKind::Crash, found.code.clone(), ReproductionCheck::Ends)
            }
            _ => (
                FindingKind::ProtocolError,
                without_numbers(&found.message),
                ReproductionCheck::Scan(found.code.clone()),
            ),
        },
    };
    let detail = if kind == FindingKind::Crash { last_words(&found) } else { String::new() };
    Problem { kind, signature, detail, check, found, exchange: None }
}

/// A server that ended after its last answer.
pub(super) fn ended(found: Finding) -> Problem {
    let signature = found.exit().unwrap_or_default().to_owned();
    Problem {
        kind: FindingKind::Crash,
        signature,
        detail: last_words(&found),
        check: ReproductionCheck::Ends,
        found,
        exchange: None,
    }
}

/// What a server said last, up to what may differ from time to time.
fn last_words(found: &Finding) -> String {
    let stderr = found.evidence.iter().find(|(name, _)| name == "stderr");
    let last = stderr.and_then(|(_, text)| text.lines().rev().find(|line| !line.trim().is_empty()));
    without_numbers(last.unwrap_or_default().split(':').next().unwrap_or_default())
}

/// The first line of a text, with what differs from time to time left out.
pub(super) fn without_numbers(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    line.chars().filter(|c| !c.is_numeric()).take(120).collect()
}
