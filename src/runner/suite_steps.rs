//! The setup and the teardown of a suite, in a session of one of its targets.

use super::conversation::Conversation;
use super::ending::{SessionEndReason, end};
use super::exchange::CaseSpeaker;
use super::opening::OpenSession;
use super::target::{CASE_TIMEOUT, RunTarget};
use super::{case_result, finding};
use crate::event::{CheckResult, Event, FailureClass, Finding, Outcome, Phase};
use crate::session::Session;
use crate::source::duration_text;
use crate::source::template::Names;
use crate::transport::Owner;

/// Runs the setup of the suite in a session, and ends the session where it fails. `earlier` has the names after the setup of
/// an earlier server with the same data: what is there already may be refused.
pub(crate) async fn set_up(
    target: &RunTarget,
    session: Session,
    earlier: Option<Names>,
) -> Result<OpenSession, Finding> {
    let earlier = earlier.filter(|_| keeps_what_was_made(target));
    let may_be_there = earlier.is_some();
    let names = earlier.unwrap_or_else(|| target.names.clone().unwrap_or_default());
    let steps = &target.suite().setup;
    if steps.is_empty() {
        return Ok(OpenSession { session, names });
    }
    let speaker = CaseSpeaker { session: &session, owner: &Owner::Session, catalog: target.known_catalog() };
    let given = [target.names.as_ref().ok(), None, None];
    let mut conversation = Conversation { given, ..Conversation::new(speaker, names, target) };
    let mut failed = None;
    for step in steps {
        let failure = Box::pin(conversation.all(Phase::SuiteSetup, std::slice::from_ref(step))).await.err();
        let failure = failure.and_then(|found| found.into_iter().next());
        let is_there = |found: &Finding| may_be_there && session.is_open() && !finding::is_not_allowed(found);
        failed = failure.filter(|found| !is_there(found));
        if failed.is_some() {
            break;
        }
    }
    let names = conversation.captured_names();
    drop(conversation);
    let Some(found) = failed else { return Ok(OpenSession { session, names }) };
    let what = if finding::is_not_allowed(&found) { "was not run" } else { "failed" };
    end(target, &session, SessionEndReason::CasesOver).await;
    Err(Finding { message: format!("the suite's setup {what}: {}", found.message), ..found })
}

/// Returns true if a server may have what the setup made in an earlier one: both have one copy of the store, or the setup
/// was found by calling, and nobody knows where the data is.
fn keeps_what_was_made(target: &RunTarget) -> bool {
    target.stores.is_some() || !target.suite().found_arguments.is_empty()
}

/// Runs the teardown of the suite in a session; the result has a finding for each step that failed.
pub(crate) async fn tear_down(target: &RunTarget, session: &Session, names: Names) -> CheckResult {
    let steps = &target.suite().teardown;
    if steps.is_empty() || !session.is_open() {
        return CheckResult::new(Outcome::Passed);
    }
    let speaker = CaseSpeaker { session, owner: &Owner::Session, catalog: target.known_catalog() };
    let mut conversation = Conversation::new(speaker, names, target);
    let every = conversation.every(Phase::SuiteTeardown, steps);
    let mut found = target.stop.with_limit(CASE_TIMEOUT, every).await.unwrap_or_else(|limit| {
        vec![Finding::failure(FailureClass::Timeout, format!("it took longer than {}", duration_text(limit)))]
    });
    found.retain(|found| !finding::is_not_allowed(found));
    CheckResult { exchanges: conversation.exchanges, ..CheckResult::with_findings(Outcome::Errored, found) }
}

/// Runs the teardown of the suite and reports its failure, which hides nothing.
pub(crate) async fn tear_down_and_report(target: &RunTarget, opened: &OpenSession) {
    let check = tear_down(target, &opened.session, opened.names.clone()).await;
    if !check.findings.is_empty() {
        let result = case_result::of_suite_teardown(target, check);
        target.emitter.event(Event::CaseFinished(Box::new(result)));
    }
}
