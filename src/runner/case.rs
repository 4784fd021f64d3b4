//! One case from its first attempt to its result.

use std::sync::Arc;
use std::time::Duration;

use super::attempt::{Bounds, attempt};
use super::lane::{Lane, NoSession};
use super::pool::Turn;
use super::rule::apply_level;
use super::{Emitter, Options, again, finding, isolation, micros, probing, snapshot};
use crate::event::{
    Attempt, CaseInfo, CaseResult, CaseStarted, CheckResult, Event, Exchange, FailureClass, Finding, Outcome, Reason,
    RuleInfo, RuleLevel, RunEnd,
};
use crate::plan::{Body, Case, Script, SessionNeed, SkipReason, SuitePlan};
use crate::source::{Sources, duration_text};
use crate::suite::{Hazard, Level, Order, Rule};

/// The time for a case where neither suite nor command line says anything.
pub(super) const CASE_TIMEOUT: Duration = Duration::from_secs(30);

/// Runs a case, again if it may be tried again or is to be repeated, and returns its result.
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
        Body::Skipped(reason) => return unrun(planned, &case, Outcome::Skipped, Some(skip_reason(reason)), Vec::new()),
        Body::Failed(mistake) => {
            let found = Finding { help: mistake.help.clone(), ..Finding::new(mistake.code, mistake.message.clone()) };
            let found = finding::at(found, &lane.plan.sources, mistake.span, "");
            return unrun(planned, &case, Outcome::Failed, None, vec![found]);
        }
        Body::Probe(probe) => {
            emitter.event(Event::CaseStarted(CaseStarted { id: case.id.clone(), attempt: 1 }));
            let attempted = Box::pin(probing::probed(&lane, &case, probe, &options.stop)).await;
            return held(&case, result(planned, &case, apply_level(&case, attempted), Vec::new()));
        }
        Body::Scan(codes) => {
            let attempted = lane.scanned.verdict(codes);
            return held(&case, result(planned, &case, apply_level(&case, attempted), Vec::new()));
        }
        Body::Template(_) => {
            return unrun(planned, &case, Outcome::Skipped, Some(Reason::NothingExpanded), Vec::new());
        }
    };
    snapshot::announce(&emitter, script);
    let timeout = options.timeout.or(planned.suite.options.timeout).unwrap_or(CASE_TIMEOUT);
    let retries = options.retries.unwrap_or(case.retries);
    let is_once = options.repeat <= 1 && retries == 0;
    let bounds = Bounds { timeout, left: timeout, stop: &options.stop, turn: Turn::First, is_once };
    let attempts = Attempts { lane: &lane, case: &case, script, bounds, emitter: &emitter };
    let mut decided = if options.repeat > 1 {
        Box::pin(attempts.repeated(planned, options.repeat)).await
    } else {
        attempts.retried(planned, retries).await
    };
    if case.session == SessionNeed::Shared && options.order_of(&planned.suite) == Order::Shuffled {
        decided.rerun_command = again::in_order(planned, options.seed);
    }
    held(&case, decided)
}

/// Holds a case that is known to fail to its word.
fn held(case: &Case, mut result: CaseResult) -> CaseResult {
    let Some(reason) = &case.known else { return result };
    match result.outcome {
        Outcome::Failed => result.findings.iter_mut().for_each(|found| found.baseline_reason = Some(reason.clone())),
        Outcome::Passed => {
            let rule = case.rule.as_ref().map(|rule| rule.id.clone()).unwrap_or_default();
            let message = format!("`{rule}` is in the baseline, and it holds after all");
            let help = format!("remove `{rule}` from `baseline:`, so that it is looked after from now on");
            result.outcome = Outcome::Failed;
            result.findings.push(Finding { help: Some(help), ..Finding::new("unexpected-pass", message) });
        }
        Outcome::Warned | Outcome::Skipped | Outcome::Inconclusive | Outcome::Errored => {}
    }
    result
}

/// What every attempt at a case needs.
struct Attempts<'a> {
    lane: &'a Arc<Lane>,
    case: &'a Case,
    script: &'a Script,
    bounds: Bounds<'a>,
    emitter: &'a Emitter,
}

impl Attempts<'_> {
    async fn one(&self, number: u32, turn: Turn) -> CheckResult {
        self.emitter.event(Event::CaseStarted(CaseStarted { id: self.case.id.clone(), attempt: number }));
        attempt(self.lane, self.case, self.script, &Bounds { turn, ..self.bounds }).await
    }

    /// Tries until it passes, as often as allowed.
    async fn retried(&self, planned: &SuitePlan, retries: u32) -> CaseResult {
        let mut earlier: Vec<Attempt> = Vec::new();
        let mut turn = Turn::First;
        let mut left = retries;
        loop {
            let number = u32::try_from(earlier.len()).unwrap_or(u32::MAX).saturating_add(1);
            let attempted = self.one(number, turn).await;
            let again = matches!(attempted.outcome, Outcome::Failed | Outcome::Errored) && left > 0;
            if !again || self.bounds.stop.is_set() {
                return result(planned, self.case, attempted, earlier);
            }
            earlier.push(told(&attempted));
            (left, turn) = (left - 1, Turn::Again);
        }
    }

    /// Runs it so many times, whatever comes of it; what is shown is the first of the worst.
    async fn repeated(&self, planned: &SuitePlan, times: u32) -> CaseResult {
        let mut shown = self.one(1, Turn::First).await;
        let mut runs = vec![told(&shown)];
        for number in 2..=times {
            if shown.outcome == Outcome::Skipped || self.bounds.stop.is_set() {
                break;
            }
            let next = self.one(number, Turn::First).await;
            runs.push(told(&next));
            if badness(next.outcome) > badness(shown.outcome) {
                shown = next;
            }
        }
        if shown.outcome == Outcome::Skipped {
            return result(planned, self.case, shown, Vec::new());
        }
        let mut result = CaseResult { repetitions: runs, ..result(planned, self.case, shown, Vec::new()) };
        if let Some((passed, of)) = result.passed_of().filter(|(passed, of)| passed < of) {
            let because = result.reason.map(Box::new);
            result.reason = Some(Reason::RepetitionsFailed { passed, of, because });
        }
        result
    }
}

fn told(attempted: &CheckResult) -> Attempt {
    Attempt {
        outcome: attempted.outcome,
        duration_us: micros(attempted.duration),
        findings: attempted.findings.clone(),
    }
}

/// Which of several outcomes counts.
fn badness(outcome: Outcome) -> u8 {
    match outcome {
        Outcome::Passed | Outcome::Skipped => 0,
        Outcome::Warned => 1,
        Outcome::Inconclusive => 2,
        Outcome::Errored => 3,
        Outcome::Failed => 4,
    }
}

/// The reason of a plan to skip a case, as events have it.
pub(super) fn skip_reason(reason: &SkipReason) -> Reason {
    match reason {
        SkipReason::Asked(text) => Reason::SkippedBySuite(text.clone()),
        SkipReason::NotAvailable(what) => Reason::NotAvailable(what.clone()),
        SkipReason::NotApplicable(text) => Reason::NotApplicable(text.clone()),
        SkipReason::ToolNotAllowed { hazard: Hazard::ReadOnly, text } => Reason::ReadOnly(text.clone()),
        SkipReason::ToolNotAllowed { hazard: Hazard::Destroys | Hazard::Writes, text } => {
            Reason::ToolNotAllowed(text.clone())
        }
    }
}

/// The result of a template of which it takes too long to find out what it stands for.
pub(super) fn underived(planned: &SuitePlan, case: &Case, limit: Duration) -> CaseResult {
    let reason = Reason::ExpansionTimedOut(duration_text(limit));
    unrun(planned, case, Outcome::Inconclusive, Some(reason), Vec::new())
}

/// The result of a template whose server could not be asked what it offers.
pub(super) fn unexpanded(planned: &SuitePlan, case: &Case, none: NoSession) -> CaseResult {
    match none {
        NoSession::NotApplicable(reason) => unrun(planned, case, Outcome::Skipped, Some(reason), Vec::new()),
        NoSession::Interrupted => unreached(planned, case, RunEnd::Interrupted),
        NoSession::Broken(found) => {
            let reason = Reason::ServerUnavailable(found.message.clone());
            unrun(planned, case, Outcome::Errored, Some(reason), vec![*found])
        }
    }
}

/// The result of a case that was not begun, since the run ended before.
pub(super) fn unreached(planned: &SuitePlan, case: &Case, end: RunEnd) -> CaseResult {
    unrun(planned, case, Outcome::Skipped, Some(Reason::NotRun(end)), Vec::new())
}

/// Whether a case was planned and not begun.
pub(super) fn is_unreached(result: &CaseResult) -> bool {
    result.outcome == Outcome::Skipped && matches!(result.reason, Some(Reason::NotRun(_)))
}

/// The result of a suite's teardown that failed: errored, beside the cases and hiding none.
pub(super) fn suite_teardown(
    planned: &SuitePlan,
    at: usize,
    sources: &Sources,
    (findings, exchanges): (Vec<Finding>, Vec<Exchange>),
) -> CaseResult {
    let steps = &planned.suite.teardown;
    let place = sources.place(steps.first().map_or(planned.suite.name.span, |step| step.span));
    let reason = Some(Reason::SuiteTeardownFailed);
    CaseResult {
        outcome: Outcome::Errored,
        reason,
        findings,
        exchanges,
        ..beside(planned, at, place, "teardown of the suite".to_owned())
    }
}

/// A passed case of a lane that no test stands for.
fn beside(planned: &SuitePlan, at: usize, place: (&str, usize, usize), name: String) -> CaseResult {
    let suite = &planned.suite;
    let (server, revision) = (&planned.lanes[at].server, planned.lanes[at].protocol.as_str());
    let (file, line, column) = place;
    let case = CaseInfo {
        id: format!("{}::{name}@{server}/{revision}", suite.file),
        file: file.to_owned(),
        line,
        column,
        from_command_line: suite.asked.is_some() && *file == suite.file,
        position: Vec::new(),
        suite: suite.name.value.clone(),
        name,
        row: None,
        server: server.clone(),
        revision: revision.to_owned(),
        tags: Vec::new(),
        probes: Vec::new(),
        variants: Vec::new(),
        rule: None,
    };
    CaseResult::beside(case, Outcome::Passed, format!("mcprove run {}", shell_words::quote(&suite.file)))
}

/// The verdict on whether the cases of a lane depend on one another.
pub(super) fn of_lane(
    planned: &SuitePlan,
    at: usize,
    sources: &Sources,
    (findings, frames): (Vec<Finding>, Vec<u32>),
    seed: u32,
) -> CaseResult {
    let name = format!("isolation of the cases on {}", planned.lanes[at].server);
    let outcome = if findings.is_empty() { Outcome::Passed } else { Outcome::Failed };
    let mut result = beside(planned, at, sources.place(planned.suite.name.span), name);
    result.case.probes.push("test-isolation".to_owned());
    result.case.variants.push(isolation::JUDGES.to_owned());
    result.rerun_command = format!("{} --verify-isolation --shuffle={seed}", result.rerun_command);
    // Agreement proves little: what leaks between sessions may leak in all three ways alike.
    let judged = if findings.is_empty() { Vec::new() } else { result.case.variants.clone() };
    CaseResult { outcome, findings, judged, frames, ..result }
}

/// The result of a case whose task panicked.
pub(super) fn panicked(planned: &SuitePlan, case: &Case, words: &str) -> CaseResult {
    let message = format!("mcprove broke while it ran this case: {words}");
    let help = "this is a mistake in mcprove, not in your server; please report it with this text".to_owned();
    let found = Finding { help: Some(help), ..Finding::failure(FailureClass::Internal, message.clone()) };
    unrun(planned, case, Outcome::Errored, Some(Reason::Internal(message)), vec![found])
}

fn unrun(
    planned: &SuitePlan,
    case: &Case,
    outcome: Outcome,
    reason: Option<Reason>,
    findings: Vec<Finding>,
) -> CaseResult {
    let attempted = CheckResult { reason, findings, ..CheckResult::new(outcome) };
    result(planned, case, attempted, Vec::new())
}

fn result(planned: &SuitePlan, case: &Case, attempted: CheckResult, earlier: Vec<Attempt>) -> CaseResult {
    // Only a case that said something to the server and came to a verdict judges anything.
    let has_judged = matches!(attempted.outcome, Outcome::Passed | Outcome::Failed) && !attempted.frames.is_empty();
    // What an answer is to be compared with from now on was not compared with anything.
    let judges = has_judged && attempted.reason != Some(Reason::Recorded);
    CaseResult {
        case: info(planned, case),
        outcome: attempted.outcome,
        reason: attempted.reason,
        duration_us: micros(attempted.duration),
        earlier,
        repetitions: Vec::new(),
        findings: finding::written(&planned.suite, attempted.findings),
        exchanges: attempted.exchanges,
        protocol_revision: attempted.protocol_revision,
        rerun_command: again::command(planned, case),
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
        from_command_line: planned.suite.asked.is_some() && case.place.file == planned.suite.file,
        position: case.position.clone(),
        suite: planned.suite.name.value.clone(),
        name: case.name.clone(),
        row: case.row.clone(),
        server: lane.server.clone(),
        revision: lane.protocol.as_str().to_owned(),
        tags: case.tags.clone(),
        probes: case.probes.iter().cloned().collect(),
        variants: case.variants.iter().cloned().collect(),
        rule: case.rule.as_deref().map(|rule| Box::new(rule_info(rule))),
    }
}

fn rule_info(rule: &Rule) -> RuleInfo {
    RuleInfo {
        id: rule.id.clone(),
        level: if rule.level == Level::Must { RuleLevel::Must } else { RuleLevel::Should },
        section: rule.section.clone(),
        link: rule.link(),
        revision: rule.revisions.last().map(|newest| newest.as_str().to_owned()).unwrap_or_default(),
        quote: rule.quote.clone(),
    }
}
