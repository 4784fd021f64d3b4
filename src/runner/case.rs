//! One case from its first attempt to its result.

use std::sync::Arc;
use std::time::Duration;

use super::attempt::{Attempted, Bounds, INTERRUPTED, attempt};
use super::lane::{Lane, NoSession};
use super::{Emitter, Options, again, finding, micros};
use crate::event::{Attempt, CaseInfo, CaseResult, CaseStarted, Event, Exchange, FailureClass, Finding, Outcome};
use crate::plan::{Body, Case, SuitePlan};
use crate::source::Sources;

/// The time for a case where neither suite nor command line says anything.
pub(super) const CASE_TIMEOUT: Duration = Duration::from_secs(30);

/// How the reason of a case begins that was planned and not begun.
const NOT_RUN: &str = "not run: ";

/// Runs a case, again if it may be tried again, and returns its result.
pub(super) async fn run(
    lane: Arc<Lane>,
    suite: usize,
    case: Arc<Case>,
    options: Arc<Options>,
    emitter: Emitter,
) -> CaseResult {
    let planned = &lane.plan.suites[suite];
    let script = match &case.body {
        Body::Script(script) => script,
        Body::Skipped(reason) => return unrun(planned, &case, Outcome::Skipped, Some(reason.text()), Vec::new()),
        Body::Failed(mistake) => {
            let found = Finding { help: mistake.help.clone(), ..Finding::new(mistake.code, mistake.message.clone()) };
            let found = finding::at(found, &lane.plan.sources, mistake.span, "");
            return unrun(planned, &case, Outcome::Failed, None, vec![found]);
        }
        Body::Template(_) => {
            return unrun(planned, &case, Outcome::Skipped, Some("nothing was made of it".to_owned()), Vec::new());
        }
    };
    let timeout = options.timeout.or(planned.suite.options.timeout).unwrap_or(CASE_TIMEOUT);
    let bounds = Bounds { timeout, left: timeout, stop: &options.stop };
    let mut earlier = Vec::new();
    for number in 1.. {
        emitter.event(Event::CaseStarted(CaseStarted { id: case.id.clone(), attempt: number }));
        let attempted = attempt(&lane, &case, script, &bounds).await;
        let again = matches!(attempted.outcome, Outcome::Failed | Outcome::Errored) && number <= case.retries;
        if !again || options.stop.is_set() {
            return result(planned, &case, attempted, earlier);
        }
        earlier.push(Attempt {
            outcome: attempted.outcome,
            duration_us: micros(attempted.duration),
            findings: attempted.findings,
        });
    }
    unreachable!("attempts are counted up to a limit")
}

/// The result of a template whose server could not be asked what it offers.
pub(super) fn unexpanded(planned: &SuitePlan, case: &Case, none: NoSession) -> CaseResult {
    match none {
        NoSession::NotSpoken(reason) => unrun(planned, case, Outcome::Skipped, Some(reason), Vec::new()),
        NoSession::Interrupted => unreached(planned, case, INTERRUPTED),
        NoSession::Broken(found) => unrun(planned, case, Outcome::Errored, Some(found.message.clone()), vec![*found]),
    }
}

/// The result of a case that was not begun, since the run ended before.
pub(super) fn unreached(planned: &SuitePlan, case: &Case, why: &str) -> CaseResult {
    unrun(planned, case, Outcome::Skipped, Some(format!("{NOT_RUN}{why}")), Vec::new())
}

/// Whether a case was planned and not begun.
pub(super) fn is_unreached(result: &CaseResult) -> bool {
    result.outcome == Outcome::Skipped && result.reason.as_deref().is_some_and(|reason| reason.starts_with(NOT_RUN))
}

/// The result of a suite's teardown that failed: errored, beside the cases and hiding none.
pub(super) fn suite_teardown(
    planned: &SuitePlan,
    at: usize,
    sources: &Sources,
    (findings, exchanges): (Vec<Finding>, Vec<Exchange>),
) -> CaseResult {
    let suite = &planned.suite;
    let (server, revision) = (&planned.lanes[at].server, planned.lanes[at].protocol.as_str());
    let name = "teardown of the suite".to_owned();
    let (file, line, column) = sources.place(suite.teardown.first().map_or(suite.name.span, |step| step.span));
    let case = CaseInfo {
        id: format!("{}::{name}@{server}/{revision}", suite.file),
        file: file.to_owned(),
        line,
        column,
        suite: suite.name.value.clone(),
        name,
        row: None,
        server: server.clone(),
        revision: revision.to_owned(),
        tags: Vec::new(),
        probes: Vec::new(),
        variants: Vec::new(),
    };
    CaseResult {
        case,
        outcome: Outcome::Errored,
        reason: Some("the suite's teardown failed".to_owned()),
        duration_us: 0,
        earlier: Vec::new(),
        findings,
        exchanges,
        spoken: String::new(),
        again: format!("mcprove run {}", shell_words::quote(&suite.file)),
        judged: Vec::new(),
        frames: Vec::new(),
    }
}

/// The result of a case whose task panicked.
pub(super) fn panicked(planned: &SuitePlan, case: &Case, words: &str) -> CaseResult {
    let message = format!("mcprove broke while it ran this case: {words}");
    let help = "this is a mistake in mcprove, not in your server; please report it with this text".to_owned();
    let found = Finding { help: Some(help), ..Finding::failure(FailureClass::Internal, message.clone()) };
    unrun(planned, case, Outcome::Errored, Some(message), vec![found])
}

fn unrun(
    planned: &SuitePlan,
    case: &Case,
    outcome: Outcome,
    reason: Option<String>,
    findings: Vec<Finding>,
) -> CaseResult {
    let attempted = Attempted {
        outcome,
        reason,
        findings,
        exchanges: Vec::new(),
        spoken: String::new(),
        frames: Vec::new(),
        duration: Duration::ZERO,
    };
    result(planned, case, attempted, Vec::new())
}

fn result(planned: &SuitePlan, case: &Case, attempted: Attempted, earlier: Vec<Attempt>) -> CaseResult {
    // Only a case that said something to the server and came to a verdict judges anything.
    let judges = matches!(attempted.outcome, Outcome::Passed | Outcome::Failed) && !attempted.frames.is_empty();
    CaseResult {
        case: info(planned, case),
        outcome: attempted.outcome,
        reason: attempted.reason,
        duration_us: micros(attempted.duration),
        earlier,
        findings: attempted.findings,
        exchanges: attempted.exchanges,
        spoken: attempted.spoken,
        again: again::command(planned, case),
        judged: if judges { case.variants.iter().cloned().collect() } else { Vec::new() },
        frames: attempted.frames,
    }
}

fn info(planned: &SuitePlan, case: &Case) -> CaseInfo {
    let lane = &planned.lanes[case.lane];
    CaseInfo {
        id: case.id.clone(),
        file: case.place.file.clone(),
        line: case.place.line,
        column: case.place.column,
        suite: planned.suite.name.value.clone(),
        name: case.name.clone(),
        row: case.row.clone(),
        server: lane.server.clone(),
        revision: lane.protocol.as_str().to_owned(),
        tags: case.tags.clone(),
        probes: case.probes.iter().cloned().collect(),
        variants: case.variants.iter().cloned().collect(),
    }
}
