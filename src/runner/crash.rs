//! Whether a case is to blame for what happened in a session that it shares: the server ended, or did not answer in time.

use std::future::Future;

use super::resolve::Starts;
use super::target::{OpenSession, TargetSessions};
use crate::event::{CheckResult, FailureClass, Finding, Outcome, Reason, RequirementLevel};
use crate::transport::TransportKind;

/// The attempt itself where it is clear what went wrong; elsewhere the case is tried again alone with a fresh server.
///
/// A case is only to blame if it ends the fresh server too. Where nobody does, the end of the shared server is told for
/// itself, so that the run does not pass. One slow call holds up all others of a session, so no answer in time is a
/// failure only if there is none alone either. Suites with a setup are left as they are: it ran in the shared server.
pub(crate) async fn rerun_to_attribute(
    target: &TargetSessions,
    opened: &OpenSession,
    attempted: CheckResult,
    alone: impl Future<Output = CheckResult>,
) -> CheckResult {
    let session = &opened.session;
    let can_start_again = session.server.transport == TransportKind::Stdio && target.planned().suite.setup.is_empty();
    if !can_start_again || target.stop.is_set() {
        return attempted;
    }
    if timed_out(&attempted) && may_be_repeated(target, &attempted) {
        return resolve_timeout(attempted, alone.await);
    }
    if !(ended_the_server(&attempted) && session.has_several_pending_at_exit()) {
        return attempted;
    }
    let again = alone.await;
    match again.outcome {
        Outcome::Failed if ended_the_server(&again) => {
            session.attribute_exit(true);
            again
        }
        Outcome::Passed | Outcome::Warned => {
            session.attribute_exit(false);
            let reason = Some(Reason::CrashNotReproduced);
            CheckResult { outcome: Outcome::Inconclusive, reason, findings: Vec::new(), ..again }
        }
        Outcome::Failed | Outcome::Skipped | Outcome::Inconclusive | Outcome::Errored => attempted,
    }
}

/// Whether an attempt tells that the server ended.
pub(crate) fn ended_the_server(attempted: &CheckResult) -> bool {
    attempted.findings.iter().any(|found| found.class == Some(FailureClass::ProcessExited))
}

fn timed_out(attempted: &CheckResult) -> bool {
    let is_late = |found: &Finding| found.class == Some(FailureClass::Timeout);
    attempted.outcome == Outcome::Failed && attempted.findings.iter().any(is_late)
}

/// Whether nobody minds that a case says everything again: what it called changes no data, or may, and a server is
/// really started.
fn may_be_repeated(target: &TargetSessions, attempted: &CheckResult) -> bool {
    let (planned, catalog) = (target.planned(), target.known_catalog());
    let server = &planned.lanes[target.index].server;
    let is_harmless = |tool: &str| catalog.tool(tool).is_none_or(|tool| planned.suite.hazard(server, tool).is_none());
    let mut called = attempted.exchanges.iter().filter_map(|exchange| exchange.tool.as_deref());
    target.starts() == Starts::WithStream && target.tamper.is_none() && called.all(is_harmless)
}

/// The attempt alone where it says more than the one in company.
fn resolve_timeout(attempted: CheckResult, mut again: CheckResult) -> CheckResult {
    match again.outcome {
        Outcome::Failed if timed_out(&again) => {
            let late = again.findings.iter_mut().find(|found| found.class == Some(FailureClass::Timeout));
            if let Some(late) = late {
                late.evidence
                    .push(("tried again".to_owned(), "alone with a fresh server: no answer in time either".to_owned()));
            }
            again
        }
        Outcome::Passed | Outcome::Warned => {
            let first = attempted.findings.into_iter().find(|found| found.class == Some(FailureClass::Timeout));
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
