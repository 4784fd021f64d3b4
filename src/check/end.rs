//! The reasons for which a check stops before it has a verdict, and the result that follows from each.

use std::time::Duration;

use crate::event::{CheckResult, Finding, Outcome, Reason, RequirementLevel, StepProblem};
use crate::session::{CallFailure, FailureReason};

/// The time for calls of a tool that refuses valid ones for what the machine lacks: what they do before they fail may show
/// something, and each of them may wait for a network that is not there.
pub(crate) const LACKING_TIME: Duration = Duration::from_secs(2);

/// The reason for which a check stops.
#[derive(Debug, Clone)]
pub(crate) enum CheckEnd {
    /// A request got no answer that can be read: the server is at fault.
    Unanswered(Box<CallFailure>),
    /// The server is at fault in another way; findings that break no MUST are warnings.
    Failed(Vec<Finding>),
    /// The time or the calls of the check are spent.
    Spent(Reason),
    /// Nothing follows from the answers.
    Inconclusive(Reason),
    /// The check does not apply.
    Skipped(Reason),
    /// The server cannot be started or reached.
    Unavailable(Box<Finding>),
    /// The check has its result early.
    Decided(Box<CheckResult>),
}

impl CheckEnd {
    /// The end that an unanswered request is, with `left` of the time of the check: silence is the server's fault only if
    /// the request had its whole time.
    pub(crate) fn of(failure: CallFailure, left: Duration, spent: impl FnOnce() -> Self) -> Self {
        let is_timeout = failure.is_timeout();
        if is_timeout && left.is_zero() { spent() } else { Self::Unanswered(Box::new(failure)) }
    }

    pub(crate) fn inconclusive(why: impl Into<String>) -> Self {
        Self::Inconclusive(Reason::NotEvaluated(why.into()))
    }

    pub(crate) fn not_applicable(why: impl Into<String>) -> Self {
        Self::Skipped(Reason::NotApplicable(why.into()))
    }

    /// The end that a server is which exits by itself, or a step that it does not serve as it must.
    pub(crate) fn failed(found: Finding) -> Self {
        Self::Failed(vec![found])
    }

    pub(crate) fn unavailable(found: Finding) -> Self {
        Self::Unavailable(Box::new(found))
    }

    /// The end in words.
    pub(crate) fn sentence(&self) -> String {
        let of_findings =
            |findings: &[Finding]| findings.first().map(|found| found.message.clone()).unwrap_or_default();
        match self {
            Self::Unanswered(failure) => Finding::from(&**failure).message,
            Self::Failed(findings) => of_findings(findings),
            Self::Spent(why) | Self::Inconclusive(why) | Self::Skipped(why) => why.to_string(),
            Self::Unavailable(found) => found.message.clone(),
            Self::Decided(result) => match &result.reason {
                Some(reason) => reason.to_string(),
                None => of_findings(&result.findings),
            },
        }
    }

    /// The result of the check.
    pub(crate) fn into_result(self) -> CheckResult {
        match self {
            Self::Unanswered(failure) if failure.lack.is_some() => {
                let words = failure.lack.unwrap_or_default();
                CheckResult::because(Outcome::Inconclusive, Reason::SurroundingsLack(words))
            }
            Self::Unanswered(failure) => {
                let (found, frames) = (Finding::from(&*failure), failure.frame.into_iter().collect());
                let result = match found.step_problem.as_deref() {
                    Some(StepProblem::CallsLimited(words)) => {
                        CheckResult::because(Outcome::Inconclusive, Reason::CallsLimited(words.clone()))
                    }
                    _ => CheckResult::with_findings(Outcome::Failed, vec![found]),
                };
                CheckResult { frames, ..result }
            }
            Self::Failed(findings) => CheckResult::with_findings(outcome_of(&findings), findings),
            Self::Spent(why) | Self::Inconclusive(why) => CheckResult::because(Outcome::Inconclusive, why),
            Self::Skipped(why) => CheckResult::because(Outcome::Skipped, why),
            Self::Unavailable(found) => CheckResult::unavailable(*found),
            Self::Decided(result) => *result,
        }
    }
}

/// The result of a check whose server may have ended by itself: that fails it, unless it failed already.
pub(crate) fn with_exit(result: CheckResult, exit: Option<Finding>) -> CheckResult {
    match exit {
        Some(found) if result.outcome != Outcome::Failed => CheckResult::with_findings(Outcome::Failed, vec![found]),
        Some(_) | None => result,
    }
}

/// True if the server may serve further requests after one that got no answer that can be read: an answer that cannot be
/// read is one, silence and an exit are none.
pub(crate) fn goes_on(reason: &FailureReason, is_open: bool) -> bool {
    match reason {
        FailureReason::Timeout(_) | FailureReason::Exited(_) => false,
        FailureReason::Protocol(_)
        | FailureReason::NotRead(_)
        | FailureReason::RefusedWhole(_)
        | FailureReason::Http(_) => is_open,
    }
}

/// The outcome of findings: a warning, unless one of them breaks a MUST.
pub(crate) fn outcome_of(findings: &[Finding]) -> Outcome {
    let is_must = |found: &Finding| found.level == RequirementLevel::Must;
    if findings.iter().any(is_must) { Outcome::Failed } else { Outcome::Warned }
}

/// A call of a local server that fails for this reason.
#[cfg(test)]
pub(crate) fn failure_of_test(reason: FailureReason) -> CallFailure {
    let (method, stderr, stray) = ("tools/call".to_owned(), Vec::new(), Vec::new());
    CallFailure {
        reason,
        method,
        frame: Some(3),
        violation: None,
        stderr,
        stray,
        alive: true,
        is_local: true,
        lack: None,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::transport::{HttpFailure, HttpRefusal, ServerExit};

    #[test]
    fn silence_is_the_servers_fault_only_with_time_left() {
        let late = FailureReason::Timeout(Duration::from_secs(1));
        for (reason, left, outcome) in [
            (late.clone(), 2, Outcome::Failed),
            (late, 0, Outcome::Inconclusive),
            (FailureReason::Exited(ServerExit::Unknown), 0, Outcome::Failed),
            (FailureReason::Protocol("no JSON".to_owned()), 0, Outcome::Failed),
        ] {
            let spent = || CheckEnd::inconclusive("no time");
            let end = CheckEnd::of(failure_of_test(reason.clone()), Duration::from_secs(left), spent);
            assert_eq!(end.into_result().outcome, outcome, "{reason:?} with {left} s left");
        }
    }

    #[test]
    fn every_end_has_its_outcome() {
        let found = |level| Finding { level, ..Finding::new("leak", "it leaks") };
        let (must, should) = (found(RequirementLevel::Must), found(RequirementLevel::Should));
        let decided = |result| CheckEnd::Decided(Box::new(result));
        for (end, outcome, sentence) in [
            (CheckEnd::failed(must.clone()), Outcome::Failed, "it leaks"),
            (CheckEnd::failed(should.clone()), Outcome::Warned, "it leaks"),
            (CheckEnd::Failed(vec![should, must.clone()]), Outcome::Failed, "it leaks"),
            (CheckEnd::inconclusive("unclear"), Outcome::Inconclusive, "unclear"),
            (CheckEnd::not_applicable("no tool"), Outcome::Skipped, "no tool"),
            (CheckEnd::unavailable(must.clone()), Outcome::Errored, "it leaks"),
            (decided(CheckResult::with_findings(Outcome::Failed, vec![must])), Outcome::Failed, "it leaks"),
            (decided(CheckResult::inconclusive("unclear")), Outcome::Inconclusive, "unclear"),
        ] {
            let text = format!("{end:?}");
            assert_eq!(end.sentence(), sentence, "{text}");
            assert_eq!(end.into_result().outcome, outcome, "{text}");
        }
    }

    #[test]
    fn a_limit_of_calls_fails_no_check() {
        let status = |code: u16, status: &str| {
            let refusal = HttpRefusal { code, status: status.to_owned(), ..HttpRefusal::default() };
            CheckEnd::Unanswered(Box::new(failure_of_test(FailureReason::Http(HttpFailure::Status(refusal)))))
        };
        for (end, expected) in [
            (status(500, "500 Internal Server Error"), Outcome::Failed),
            (status(429, "429 Too Many Requests"), Outcome::Inconclusive),
        ] {
            let text = format!("{end:?}");
            assert_eq!(end.into_result().outcome, expected, "{text}");
        }
    }

    #[test]
    fn only_answers_that_cannot_be_read_let_a_check_go_on() {
        for (reason, is_open, expected) in [
            (FailureReason::Timeout(Duration::ZERO), true, false),
            (FailureReason::Exited(ServerExit::Unknown), false, false),
            (FailureReason::Protocol("no JSON".to_owned()), true, true),
            (FailureReason::Protocol("no JSON".to_owned()), false, false),
            (FailureReason::RefusedWhole(Arc::default()), true, true),
        ] {
            assert_eq!(goes_on(&reason, is_open), expected, "{reason:?}, open: {is_open}");
        }
    }

    #[test]
    fn an_exit_fails_a_check_that_did_not_fail_already() {
        let exit = || Some(Finding::new("process-exited", "it ended"));
        let leak = |level| Finding { level, ..Finding::new("leak", "it leaks") };
        for (check, result, exit, outcome, code) in [
            ("passed", CheckResult::new(Outcome::Passed), None, Outcome::Passed, None),
            (
                "passed, and the server ended",
                CheckResult::new(Outcome::Passed),
                exit(),
                Outcome::Failed,
                Some("process-exited"),
            ),
            ("was skipped", CheckResult::not_applicable("no tool"), exit(), Outcome::Failed, Some("process-exited")),
            ("was inconclusive", CheckResult::inconclusive("unclear"), exit(), Outcome::Failed, Some("process-exited")),
            (
                "warned",
                CheckResult::with_findings(Outcome::Warned, vec![leak(RequirementLevel::Should)]),
                exit(),
                Outcome::Failed,
                Some("process-exited"),
            ),
            // The exit may well follow from what was found.
            (
                "failed",
                CheckResult::with_findings(Outcome::Failed, vec![leak(RequirementLevel::Must)]),
                exit(),
                Outcome::Failed,
                Some("leak"),
            ),
        ] {
            let result = with_exit(result, exit);
            let found = result.findings.first().map(|found| found.code.as_str());
            assert_eq!(
                (result.outcome, found, result.findings.len().min(2)),
                (outcome, code, usize::from(code.is_some())),
                "it {check}"
            );
        }
    }
}
