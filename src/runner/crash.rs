//! Attributes what happened in a session that several cases share: the server ended, or did not answer in time.

use std::future::Future;
use std::sync::Arc;

use super::opening::OpenSession;
use super::resolve::Starts;
use super::sessions::TargetSessions;
use super::target::RunTarget;
use super::{hang, silence};
use crate::event::{CheckResult, FailureClass, Finding, Outcome, Reason, RequirementLevel};
use crate::plan::Case;
use crate::transport::{Owner, TransportKind};

/// The result of a case after an attempt in a shared session; where another case may be the reason for a failure, the
/// case runs again alone with a fresh server.
///
/// A case has crashed the server only if it crashes the fresh one too. If no case does, the exit of the shared server
/// is reported by itself, so that the run does not pass. One slow call holds up all others of a session, so no answer
/// in time is a failure only if there is none alone either; a session that stays silent is judged by itself
/// ([`silence`]). Suites with a setup are left as they are: it ran in the
/// shared server.
pub(crate) async fn rerun_to_attribute(
    sessions: &TargetSessions,
    case: &Case,
    opened: &Arc<OpenSession>,
    attempted: CheckResult,
    alone: impl Future<Output = CheckResult>,
) -> CheckResult {
    let (target, session) = (sessions.target.as_ref(), &opened.session);
    let can_start_again = session.server.transport == TransportKind::Stdio && target.suite().setup.is_empty();
    if !can_start_again || target.stop.is_set() {
        return attempted;
    }
    if timed_out(&attempted) && may_be_repeated(target, &attempted) {
        let silent = hang::tool_without_answer(target, case, &attempted);
        if silent.is_some_and(|tool| {
            target.answered.as_ref().is_some_and(|known| known.is_silent(&tool, &Owner::Session, || true))
        }) {
            sessions.shared.note_slow_call();
            sessions.shared.retire_if_silent(target, opened).await;
            return attempted;
        }
        let resolved = resolve_timeout(attempted, alone.await);
        match resolved.outcome {
            Outcome::Failed => {
                sessions.shared.note_slow_call();
                if hang::tool_without_answer(target, case, &resolved).is_some() {
                    sessions.shared.retire_if_silent(target, opened).await;
                }
            }
            Outcome::Warned if sessions.shared.retire_if_silent(target, opened).await => {
                let found = Box::pin(silence::confirm(target, opened, case)).await;
                target.report(&session.server.revision.to_string(), found);
            }
            Outcome::Passed | Outcome::Warned | Outcome::Skipped | Outcome::Inconclusive | Outcome::Errored => {}
        }
        return resolved;
    }
    if !(has_ended_server(&attempted) && session.has_several_pending_at_exit()) {
        return attempted;
    }
    let AttributedResult { result, attribution } = attribute_exit(attempted, alone.await);
    match attribution {
        ExitAttribution::ThisCase => session.attribute_exit(true),
        ExitAttribution::OtherCase => session.attribute_exit(false),
        ExitAttribution::Unknown => {}
    }
    result
}

/// The case to which the exit of a shared server belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ExitAttribution {
    ThisCase,
    OtherCase,
    Unknown,
}

/// The result of a case, and the attribution of the exit.
struct AttributedResult {
    result: CheckResult,
    attribution: ExitAttribution,
}

/// The result of a case whose shared server ended, given its result alone.
fn attribute_exit(attempted: CheckResult, again: CheckResult) -> AttributedResult {
    match again.outcome {
        Outcome::Failed if has_ended_server(&again) => {
            AttributedResult { result: again, attribution: ExitAttribution::ThisCase }
        }
        Outcome::Passed | Outcome::Warned => {
            let reason = Some(Reason::CrashNotReproduced);
            let result = CheckResult { outcome: Outcome::Inconclusive, reason, findings: Vec::new(), ..again };
            AttributedResult { result, attribution: ExitAttribution::OtherCase }
        }
        // What it does alone is its own: it may hang where another one ended the server. Where nothing is known of it, the
        // exit is not its to answer for.
        Outcome::Failed | Outcome::Inconclusive => {
            AttributedResult { result: again, attribution: ExitAttribution::OtherCase }
        }
        Outcome::Skipped | Outcome::Errored => {
            AttributedResult { result: attempted, attribution: ExitAttribution::Unknown }
        }
    }
}

/// Returns true if a result has a finding about the end of the server.
pub(crate) fn has_ended_server(result: &CheckResult) -> bool {
    result.findings.iter().any(|found| found.class == Some(FailureClass::ProcessExited))
}

fn timed_out(attempted: &CheckResult) -> bool {
    attempted.outcome == Outcome::Failed && attempted.findings.iter().any(Finding::is_timeout)
}

/// Returns true if a case may say everything again: what it called changes no data, or may, and a server is really
/// started.
fn may_be_repeated(target: &RunTarget, attempted: &CheckResult) -> bool {
    let catalog = target.known_catalog();
    let is_harmless =
        |tool: &str| catalog.tool(tool).is_none_or(|tool| target.suite().hazard(target.server_name(), tool).is_none());
    let mut called = attempted.exchanges.iter().filter_map(|exchange| exchange.tool.as_deref());
    target.starts() == Starts::WithStream && target.tamper.is_none() && called.all(is_harmless)
}

/// The result of a case without an answer in time, given its result alone.
fn resolve_timeout(attempted: CheckResult, mut again: CheckResult) -> CheckResult {
    match again.outcome {
        Outcome::Failed if timed_out(&again) => {
            if let Some(late) = again.findings.iter_mut().find(|found| found.is_timeout()) {
                late.evidence
                    .push(("tried again".to_owned(), "alone with a fresh server: no answer in time either".to_owned()));
            }
            again
        }
        Outcome::Passed | Outcome::Warned => {
            let first = attempted.findings.into_iter().find(Finding::is_timeout);
            let said = first.map(|found| found.message).unwrap_or_default();
            let message = format!("in the shared session: {said}; the case passes alone with a fresh server");
            let help =
                "one slow call may hold up those after it; look for the case that fails alone as well".to_owned();
            let found = Finding {
                level: RequirementLevel::Should,
                help: Some(help),
                ..Finding::new("late-in-company", message)
            };
            again.outcome = Outcome::Warned;
            again.findings.push(found);
            again
        }
        Outcome::Failed | Outcome::Skipped | Outcome::Inconclusive | Outcome::Errored => attempted,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn result(outcome: Outcome, class: Option<FailureClass>) -> CheckResult {
        let found = class.map(|class| Finding::failure(class, "it went wrong"));
        CheckResult::with_findings(outcome, found.into_iter().collect())
    }

    #[test]
    fn exits_of_shared_servers() {
        use FailureClass::{ProcessExited, Timeout};
        use Outcome::{Errored, Failed, Inconclusive, Passed, Skipped, Warned};
        let rows = [
            (Failed, Some(ProcessExited), ExitAttribution::ThisCase, Failed),
            (Passed, None, ExitAttribution::OtherCase, Inconclusive),
            (Warned, None, ExitAttribution::OtherCase, Inconclusive),
            (Failed, Some(Timeout), ExitAttribution::OtherCase, Failed),
            (Inconclusive, None, ExitAttribution::OtherCase, Inconclusive),
            (Skipped, None, ExitAttribution::Unknown, Failed),
            (Errored, None, ExitAttribution::Unknown, Failed),
        ];
        for (alone, class, attribution, outcome) in rows {
            let attempted = result(Failed, Some(ProcessExited));
            let found = attribute_exit(attempted, result(alone, class));
            let seen = found.result.findings.first().and_then(|found| found.class);
            assert_eq!(seen == Some(Timeout), class == Some(Timeout), "{alone:?} {class:?}: what it does alone counts");
            assert_eq!((found.attribution, found.result.outcome), (attribution, outcome), "{alone:?} {class:?}");
        }
    }

    #[test]
    fn late_answers_in_shared_sessions() {
        use FailureClass::{ProcessExited, Timeout};
        use Outcome::{Failed, Inconclusive, Passed, Warned};
        let rows = [
            (Passed, None, Warned, Some("late-in-company")),
            (Failed, Some(Timeout), Failed, Some("timeout")),
            (Failed, Some(ProcessExited), Failed, Some("timeout")),
            (Inconclusive, None, Failed, Some("timeout")),
        ];
        for (alone, class, outcome, code) in rows {
            let resolved = resolve_timeout(result(Failed, Some(Timeout)), result(alone, class));
            let found = resolved.findings.last().map(|found| found.code.as_str());
            assert_eq!((resolved.outcome, found), (outcome, code), "{alone:?} {class:?}");
        }
    }
}
