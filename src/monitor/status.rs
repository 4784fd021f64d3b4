//! The status of a target after a run: up, or the one reason that explains the rest.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::event::{CaseResult, FailureClass, Finding, Outcome, Reason, RequirementLevel, SessionJudged};

/// The status of a target, the least pressing first: what comes later explains what comes before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TargetStatus {
    /// Everything is as it should be.
    #[default]
    Up,
    /// Everything passes, and the server offers something else than when it was first seen.
    Drift,
    /// A case failed, or could not be run.
    Failed,
    /// The server said something that is not the protocol.
    ProtocolError,
    /// An answer did not come in time, or the run did not end in time.
    Timeout,
    /// The server requires credentials, or refuses those that it got.
    AuthRequired,
    /// The secure connection could not be made.
    TlsError,
    /// No server listens, or its program does not start.
    ConnectionRefused,
}

impl TargetStatus {
    /// Every status but `up`: the reasons, in the order in which metrics list them.
    pub const REASONS: [Self; 7] = [
        Self::ConnectionRefused,
        Self::TlsError,
        Self::AuthRequired,
        Self::Timeout,
        Self::ProtocolError,
        Self::Failed,
        Self::Drift,
    ];

    /// The word in metrics, in webhooks and on the terminal.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Up => "up",
            Self::Drift => "drift",
            Self::Failed => "failed",
            Self::ProtocolError => "protocol_error",
            Self::Timeout => "timeout",
            Self::AuthRequired => "auth_required",
            Self::TlsError => "tls_error",
            Self::ConnectionRefused => "connection_refused",
        }
    }

    /// Returns true if the server serves what its probes ask for; one that drifted does.
    pub fn is_serving(self) -> bool {
        self <= Self::Drift
    }

    /// Returns true if nothing can be asked of the server at present, so that it is asked less often.
    pub fn is_unreachable(self) -> bool {
        matches!(self, Self::ConnectionRefused | Self::TlsError | Self::AuthRequired | Self::Timeout)
    }
}

impl fmt::Display for TargetStatus {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str(self.as_str())
    }
}

/// A status, and the sentence that explains it; empty for `up`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TargetVerdict {
    /// The status.
    pub status: TargetStatus,
    /// One lowercase sentence, as the server or the run wrote it.
    pub detail: String,
}

impl TargetVerdict {
    /// A status with its explanation.
    pub fn new(status: TargetStatus, detail: impl Into<String>) -> Self {
        Self { status, detail: detail.into() }
    }

    /// The more pressing of two; of equals, the first.
    #[must_use]
    pub fn or_worse(self, other: Self) -> Self {
        if other.status > self.status { other } else { self }
    }
}

/// The verdict that follows from one case.
pub fn of_case(result: &CaseResult) -> TargetVerdict {
    let is_unavailable = matches!(result.reason, Some(Reason::ServerUnavailable(_)));
    match result.outcome {
        // A warning is advice; what was not judged says nothing about the server.
        Outcome::Passed | Outcome::Warned | Outcome::Skipped | Outcome::Inconclusive => TargetVerdict::default(),
        Outcome::Failed | Outcome::Errored => {
            let reason = result.reason.as_ref().map(Reason::to_string).unwrap_or_default();
            let least = TargetVerdict::new(TargetStatus::Failed, reason);
            let worst = result.findings.iter().map(|found| of_finding(found, is_unavailable)).fold(least, worst_of);
            let detail = match worst.detail {
                detail if is_unavailable || detail.is_empty() => detail,
                detail => format!("`{}`: {detail}", result.case.name),
            };
            TargetVerdict { detail, ..worst }
        }
    }
}

/// The verdict that follows from frames that belong to no case.
pub fn of_session(judged: &SessionJudged) -> TargetVerdict {
    judged.findings.iter().map(|found| of_finding(found, false)).fold(TargetVerdict::default(), TargetVerdict::or_worse)
}

/// The worse of two; an explanation that has words goes before an equal one that has none.
fn worst_of(first: TargetVerdict, second: TargetVerdict) -> TargetVerdict {
    if first.detail.is_empty() && second.status == first.status { second } else { first.or_worse(second) }
}

/// The verdict that follows from a finding; `is_unavailable` says that no session could be opened.
fn of_finding(found: &Finding, is_unavailable: bool) -> TargetVerdict {
    if found.level == RequirementLevel::Should || found.baseline_reason.is_some() {
        return TargetVerdict::default();
    }
    let gone = if is_unavailable { TargetStatus::ConnectionRefused } else { TargetStatus::Failed };
    let status = match found.class {
        Some(FailureClass::ConnectionRefused) => TargetStatus::ConnectionRefused,
        Some(FailureClass::TlsError) => TargetStatus::TlsError,
        Some(FailureClass::AuthRequired) => TargetStatus::AuthRequired,
        Some(FailureClass::Timeout) => TargetStatus::Timeout,
        Some(FailureClass::ProtocolError | FailureClass::HttpStatus) => TargetStatus::ProtocolError,
        Some(FailureClass::CommandNotFound | FailureClass::ProcessExited | FailureClass::ConnectionLost) => gone,
        Some(FailureClass::Internal) | None => TargetStatus::Failed,
    };
    TargetVerdict::new(status, found.message.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(class: FailureClass) -> Finding {
        Finding::failure(class, class.as_str())
    }

    fn failed(findings: Vec<Finding>) -> CaseResult {
        CaseResult { findings, ..CaseResult::of_test("asks", Outcome::Failed) }
    }

    fn unavailable(class: FailureClass) -> CaseResult {
        let reason = Some(Reason::ServerUnavailable(class.as_str().to_owned()));
        CaseResult { reason, findings: vec![found(class)], ..CaseResult::of_test("lists", Outcome::Errored) }
    }

    #[test]
    fn a_session_that_cannot_be_opened() {
        use FailureClass as Class;
        for (class, expected) in [
            (Class::CommandNotFound, TargetStatus::ConnectionRefused),
            (Class::ProcessExited, TargetStatus::ConnectionRefused),
            (Class::ConnectionRefused, TargetStatus::ConnectionRefused),
            (Class::ConnectionLost, TargetStatus::ConnectionRefused),
            (Class::TlsError, TargetStatus::TlsError),
            (Class::AuthRequired, TargetStatus::AuthRequired),
            (Class::Timeout, TargetStatus::Timeout),
            (Class::ProtocolError, TargetStatus::ProtocolError),
            (Class::HttpStatus, TargetStatus::ProtocolError),
            (Class::Internal, TargetStatus::Failed),
        ] {
            assert_eq!(of_case(&unavailable(class)), TargetVerdict::new(expected, class.as_str()), "{class}");
        }
    }

    #[test]
    fn a_case_in_a_session() {
        use FailureClass as Class;
        let advice = Finding { level: RequirementLevel::Should, ..found(Class::ProtocolError) };
        let plain = || Finding::new("equals", "it differs");
        for (findings, expected, detail) in [
            (vec![], TargetStatus::Failed, ""),
            (vec![plain()], TargetStatus::Failed, "`asks`: it differs"),
            (vec![advice], TargetStatus::Failed, ""),
            (vec![found(Class::ProcessExited)], TargetStatus::Failed, "`asks`: process_exited"),
            (vec![plain(), found(Class::Timeout)], TargetStatus::Timeout, "`asks`: timeout"),
            (
                vec![found(Class::ConnectionRefused), found(Class::Timeout)],
                TargetStatus::ConnectionRefused,
                "`asks`: connection_refused",
            ),
        ] {
            assert_eq!(of_case(&failed(findings.clone())), TargetVerdict::new(expected, detail), "{findings:?}");
        }
    }

    #[test]
    fn what_was_not_judged_says_nothing() {
        for outcome in [Outcome::Passed, Outcome::Warned, Outcome::Skipped, Outcome::Inconclusive] {
            let result =
                CaseResult { findings: vec![found(FailureClass::Timeout)], ..CaseResult::of_test("a", outcome) };
            assert_eq!(of_case(&result), TargetVerdict::default(), "{outcome:?}");
        }
    }

    #[test]
    fn the_root_of_a_problem_goes_before_what_follows_from_it() {
        let order = TargetStatus::REASONS;
        assert!(order.windows(2).all(|two| two[0] > two[1]), "{order:?}");
        assert!(order.iter().all(|reason| *reason > TargetStatus::Up));
        let serving: Vec<&str> = order.iter().filter(|one| one.is_serving()).map(|one| one.as_str()).collect();
        assert_eq!(serving, ["drift"]);
    }
}
