//! Calls with generated arguments, several under way at a time, and what they show about a server.
//!
//! [`calls`] makes the call of a number from the seed alone, and from what earlier answers held ([`answer_pool`]); [`drive`]
//! sends them over the fastest way there is ([`wire`]); [`judge`] says what an answer means; [`confirm`] tries every
//! problem again in fresh servers before it is told. What is needed to try a call again is its number, so that a long
//! run keeps nothing. Start reading in [`run`].

use std::fmt;
use std::sync::Arc;

use serde_json::Value;

use super::Fuzz;
use super::calls::{CallGenerator, OfferedTool};
use super::confirm::{LONGEST, confirm};
use super::crashing_tools::CrashingTools;
use super::drive::{Driver, ForbiddenCall, SessionLog, SessionOutcome};
use super::problem_list::{NotedProblem, ProblemStage};
use super::replay::FuzzTarget;
use super::{finding, problem, state_leak};
use crate::check::denied_tool::denied_tool;
use crate::check::refused_bare_call::refused_bare_call;
use crate::check::{CheckEnd, CheckLimits, CheckSession, Confirmation};
use crate::event::{
    CheckResult, Code, Finding, FindingKind, Outcome, Reason, ReproductionCall, RequirementLevel, RunEnd,
};
use crate::plan::arguments::{ConfigSource, NotCallable, safe_arguments, server_folder};
use crate::plan::{BoxFuture, Check, CheckContext, MustServe, must_serve};
use crate::source::beginning_of_json;
use crate::suite::AdHocCommand;
use crate::wire::{Direction, Frame, Tool, denies_tool};

/// The number of characters of a call or a refusal that a sentence quotes.
const SHOWN: usize = 160;

/// The number of times that a server is started again because of one tool.
const MOST_RESTARTS: u32 = 10;

/// The number of servers that may end at calls of a tool that has answered none.
const MOST_ENDS: u32 = 2;

/// Calls of one tool, with those of others in between.
#[derive(Debug)]
pub(crate) struct FuzzCheck {
    pub(crate) settings: Arc<Fuzz>,
    /// The tools to call, by name: the first is the one that is judged, the others are called in between.
    pub(crate) tools: Vec<String>,
    /// Shared by all cases of the block.
    pub(crate) crashing_tools: Arc<CrashingTools>,
}

impl Check for FuzzCheck {
    fn run<'a>(&'a self, context: CheckContext<'a>) -> BoxFuture<'a, CheckResult> {
        Box::pin(async move { run(self, &context).await })
    }

    fn ends_by_itself(&self) -> bool {
        true
    }
}

/// Why calls of a tool ended before all of them were made.
#[derive(Debug, Clone, PartialEq, Eq)]
enum EarlyEnd {
    Run(RunEnd),
    /// The server does not start again, for this reason.
    NoStart(String),
    Silent,
    FirstUnanswered,
    /// Every server ended, and none had answered a call.
    EndsAlways,
    ManyRestarts,
}

impl fmt::Display for EarlyEnd {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Run(end) => end.fmt(to),
            Self::NoStart(why) => write!(to, "the server does not start again: {why}"),
            Self::Silent => to.write_str("it stopped after 3 calls had got no answer"),
            Self::FirstUnanswered => {
                to.write_str("it stopped after the first call had got no answer, and neither had it alone")
            }
            Self::EndsAlways => {
                write!(to, "it stopped after {MOST_ENDS} servers had ended before they answered a call of it")
            }
            Self::ManyRestarts => write!(to, "it stopped after the server was started again {MOST_RESTARTS} times"),
        }
    }
}

async fn run(check: &FuzzCheck, context: &CheckContext<'_>) -> CheckResult {
    let FuzzCheck { settings, tools, crashing_tools } = check;
    let listed = tools.iter().filter_map(|name| context.catalog.tool(name));
    let offered: Vec<OfferedTool<'_>> = listed
        .map(|tool| OfferedTool { tool, given: arguments_of_suite(tool, context).chain(tool.served.clone()).collect() })
        .collect();
    let folder = server_folder(context.suite, context.server_name);
    if let Some(first) = offered.first().filter(|first| first.given.is_empty())
        && let Err(NotCallable::NothingFits(why)) = safe_arguments(first.tool, folder.clone())
    {
        return CheckEnd::Inconclusive(Reason::NoCallsGenerated(why)).into_result();
    }
    let calls = match CallGenerator::new(settings, folder.as_deref(), &offered) {
        Ok(calls) => calls,
        Err(unusable) => return CheckEnd::Inconclusive(Reason::NoCallsGenerated(unusable.to_string())).into_result(),
    };
    let mut driver = Driver::new(context, settings, crashing_tools, &calls);
    let mut protocol_revision = String::new();
    let stopped = match sessions(&mut driver, &mut protocol_revision).await {
        Ok(stopped) => stopped,
        Err(end) => return end.into_result(),
    };
    driver.count_not_made();
    CheckResult { protocol_revision, ..verdict(driver, stopped.as_ref()) }
}

/// The arguments that the suite itself gives: those of `arguments:`, and those of its calls that need no other call.
fn arguments_of_suite<'a>(tool: &'a Tool, context: &'a CheckContext<'_>) -> impl Iterator<Item = Value> + 'a {
    let suite = context.suite;
    let own = suite.arguments.get(&tool.name).into_iter();
    let steps = suite.tests.iter().flat_map(|test| test.steps.iter());
    let called = steps.filter_map(|step| step.action.as_call());
    let called = called.filter(|(name, _)| name.text() == Some(&tool.name)).filter_map(|(_, args)| args);
    own.chain(called).filter_map(|args| context.fill(args)).filter(Value::is_object)
}

/// Opens one session after the other until everything is said; returns why it ended sooner. An error is a server that does
/// not even start.
async fn sessions(driver: &mut Driver<'_>, protocol_revision: &mut String) -> Result<Option<EarlyEnd>, CheckEnd> {
    loop {
        let mut log = driver.log();
        let context = driver.context;
        if let Some(why) = context.servers.in_vain(driver.tool(), context.owner) {
            return Err(CheckEnd::Inconclusive(Reason::in_vain(driver.tool(), why)));
        }
        // The time of `fuzz` is that of its calls alone, which the driver counts.
        let session = match CheckSession::open(driver.context, CheckLimits::none()).await {
            Ok(session) => session,
            Err(end) if protocol_revision.is_empty() => return Err(end),
            Err(end) => return Ok(Some(EarlyEnd::NoStart(end.sentence()))),
        };
        *protocol_revision = session.revision();
        driver.learn_other_cases(&session);
        if !driver.context.suite.setup.is_empty() {
            driver.setup = setup_calls(&session.session().frames());
        }
        let mut ended = driver.drive(&session, &mut log).await;
        let is_silent_server = ended == SessionOutcome::Hung && session.session().is_silent_server();
        if let Some(found) = session.close().await {
            driver.note_end(found, &log);
            ended = SessionOutcome::Broken;
        }
        if is_silent_server {
            return Err(CheckEnd::Inconclusive(Reason::never_answered(driver.tool())));
        }
        confirm_problems(driver, &log).await;
        if driver.is_silent() {
            return Ok(Some(EarlyEnd::Silent));
        }
        if driver.counts.answer_count() == 0 && driver.problems.known.iter().any(is_own_hang) {
            return Ok(Some(EarlyEnd::FirstUnanswered));
        }
        if ended == SessionOutcome::Broken && driver.counts.answer_count() == 0 {
            if driver.problems.known.iter().any(is_own_end) {
                context.servers.note_end(driver.tool(), context.owner);
            }
            if driver.counts.restarts + 1 >= MOST_ENDS && driver.problems.known.iter().any(is_own_end) {
                return Ok(Some(EarlyEnd::EndsAlways));
            }
        }
        match ended {
            SessionOutcome::Stopped(end) => return Ok(Some(EarlyEnd::Run(end))),
            SessionOutcome::Silent => return Ok(Some(EarlyEnd::Silent)),
            SessionOutcome::Done => return Ok(None),
            SessionOutcome::Broken | SessionOutcome::Hung if driver.is_done(&log) => return Ok(None),
            SessionOutcome::Broken | SessionOutcome::Hung => {}
        }
        driver.counts.restarts += 1;
        if driver.counts.restarts > MOST_RESTARTS {
            return Ok(Some(EarlyEnd::ManyRestarts));
        }
    }
}

/// A call of the tool that is judged got no answer with a fresh server either.
fn is_own_hang(known: &NotedProblem) -> bool {
    known.problem.kind == FindingKind::Hang && matches!(known.stage, ProblemStage::Tried { .. })
}

/// The server ended at one call of the tool that is judged, and so did a fresh one.
fn is_own_end(known: &NotedProblem) -> bool {
    let ProblemStage::Tried { calls, confirmation } = &known.stage else { return false };
    known.problem.kind == FindingKind::Crash && calls.len() == 1 && calls[0].tool == 0 && confirmation.is_seen_again()
}

/// The requests of the suite's setup, which a replay makes again.
fn setup_calls(frames: &[Frame]) -> Vec<ReproductionCall> {
    let sent = frames.iter().filter(|frame| frame.direction == Direction::Sent);
    let calls = sent.filter_map(|frame| {
        let message = frame.json().ok()?;
        let method = message["method"].as_str().filter(|_| message.get("id").is_some())?;
        let mut params = message["params"].clone();
        if let Some(members) = params.as_object_mut() {
            members.remove("_meta");
        }
        let is_handshake = ["initialize", "server/discover"].contains(&method);
        (!is_handshake).then(|| ReproductionCall::new(method, params))
    });
    calls.collect()
}

/// Confirms the problems of a session.
async fn confirm_problems(driver: &mut Driver<'_>, log: &SessionLog) {
    let target = FuzzTarget { context: driver.context, calls: driver.calls };
    let mut known_problems = std::mem::take(&mut driver.problems.known);
    for known in known_problems.iter_mut().filter(|known| matches!(known.stage, ProblemStage::Seen)) {
        // Of another tool, its own case tells.
        if known.tool.is_some_and(|tool| tool != 0) {
            known.stage = ProblemStage::Dropped;
            continue;
        }
        let traces = known.traces(log.begin, LONGEST, &|number| driver.remade(number, log));
        let confirmed = confirm(target, &known.problem, &traces).await;
        let is_seen_again = confirmed.confirmation.is_seen_again();
        known.problem = confirmed.problem;
        known.tool = known.tool.or(confirmed.calls.last().map(|made| made.tool).filter(|_| is_seen_again));
        if let Some(tool) = known.tool
            && matches!(known.problem.kind, FindingKind::Crash | FindingKind::Hang)
        {
            driver.hazard(tool);
        }
        known.stage = if is_dropped(known.problem.kind, known.tool, is_seen_again) {
            ProblemStage::Dropped
        } else {
            ProblemStage::Tried { calls: confirmed.calls, confirmation: confirmed.confirmation }
        };
    }
    driver.problems.known = known_problems;
    for suspicion in std::mem::take(&mut driver.suspicions.open) {
        if suspicion.later.tool != 0 {
            continue;
        }
        let Some(problem) = state_leak::confirm(target, &suspicion).await else { continue };
        let numbers = vec![suspicion.later_number];
        let is_known = driver.problems.known.iter().any(|known| known.problem.is_same(&problem));
        driver.problems.note(problem, Some(0), numbers);
        if let Some(known) = driver.problems.known.last_mut().filter(|_| !is_known) {
            let confirmation = Confirmation::of(1, 1);
            known.stage = ProblemStage::Tried { calls: vec![suspicion.earlier, suspicion.later], confirmation };
        }
    }
}

/// A problem that is not reported: a slow answer that came when it was asked for alone, or one of another tool, of which its
/// own case tells.
fn is_dropped(kind: FindingKind, tool: Option<usize>, is_seen_again: bool) -> bool {
    kind == FindingKind::Hang && !is_seen_again || tool.is_some_and(|tool| tool != 0)
}

fn verdict(driver: Driver<'_>, stopped: Option<&EarlyEnd>) -> CheckResult {
    let Driver { context, counts, problems, calls, settings, frames, setup, refusal, forbidden, .. } = driver;
    settings.log.add(
        &context.owner.to_string(),
        &calls.callees[0].name,
        counts.text(calls.callees[0].generator().branches()),
    );
    let mut reason = counts.sentence(calls.callees[0].generator().branches(), settings.seed);
    let hangs = problems.known.iter().filter(|known| known.problem.kind == FindingKind::Hang);
    let vanished: u64 = hangs
        .filter(|known| matches!(known.stage, ProblemStage::Dropped) && known.tool.is_none_or(|tool| tool == 0))
        .map(|known| known.times)
        .sum();
    let (mut findings, mut exchanges) = (Vec::new(), Vec::new());
    let left_out = problems.left_out;
    for known in problems.known {
        let Some((mut found, exchange)) = finding::finding(known, calls, &setup, settings) else { continue };
        if let Some(exchange) = exchange {
            found.exchange = Some(exchanges.len());
            exchanges.push(exchange);
        }
        findings.push(found);
    }
    for more in
        stopped.map(EarlyEnd::to_string).into_iter().chain((left_out > 0).then(|| format!("{left_out} more problems")))
    {
        reason = format!("{reason}; {more}");
    }
    if vanished > 0 {
        reason = format!("{reason}; a call got no answer, and did when it was tried again");
    }
    let tells_of_input = |found: &Finding| found.code == Code::NOT_VALIDATED;
    if counts.serves_everything() && !findings.iter().any(tells_of_input) {
        findings.extend(forbidden.map(|call| not_validated(&calls.callees[0].name, counts.invalid_served, &call)));
    }
    let refusal = refusal.unwrap_or_default();
    let lacking = Reason::of_refusal(&refusal).filter(|_| counts.serves_nothing());
    if findings.is_empty() && counts.serves_nothing() && stopped.is_none() && lacking.is_none() {
        let tool = context.catalog.tool(&calls.callees[0].name);
        let denied =
            tool.filter(|tool| denies_tool(&refusal, &tool.name)).map(|tool| denied_tool(&tool.name, &refusal));
        findings.extend(denied.or_else(|| never_served(context, tool?, &refusal)));
    }
    let outcome = outcome(&findings, counts.served, stopped.is_some() || counts.unjudged > 0);
    if let Some(reason) = lacking.filter(|_| outcome == Outcome::Inconclusive) {
        return CheckResult { findings, exchanges, frames, ..CheckResult::because(outcome, reason) };
    }
    if outcome == Outcome::Inconclusive && counts.served == 0 && counts.calls > 0 {
        let name = &calls.callees[0].name;
        let why = if counts.answer_count() == 0 {
            let is_flag = context.suite.asked.as_ref().is_some_and(|asked| asked.command == AdHocCommand::Fuzz);
            no_answer(settings.in_flight, stopped, if is_flag { "--in-flight 1" } else { "in_flight: 1" })
        } else {
            let way = ConfigSource::of(context.suite).help_to_give_arguments(name);
            format!("every call was refused, so nothing is known about it; give valid arguments {way}")
        };
        reason = format!("{why} ({reason})");
    }
    CheckResult { findings, exchanges, frames, ..CheckResult::because(outcome, Reason::Measured(reason)) }
}

/// Why no call got an answer, with a cure where there is one; `one` makes calls one by one.
fn no_answer(in_flight: usize, stopped: Option<&EarlyEnd>, one: &str) -> String {
    match (stopped, in_flight) {
        (Some(EarlyEnd::Run(end)), _) => format!("no call had got an answer when {end}"),
        (_, 1) => "no call got an answer".to_owned(),
        (_, many) => format!("no call got an answer while {many} were under way; `{one}` makes them one by one"),
    }
}

/// A tool that looks at nothing of what its schema says: one call alone that is served may be a generous SDK's.
fn not_validated(tool: &str, count: u64, first: &ForbiddenCall) -> Finding {
    let (says, sent) = (&first.says, beginning_of_json(&first.arguments, SHOWN));
    let message = match count {
        1 => format!("`{tool}` served the one call that its schema forbids: {says} in {sent}"),
        _ => {
            format!("`{tool}` served all of {count} calls that its schema forbids, the first of them: {says} in {sent}")
        }
    };
    let help = "refuse them with -32602, or with `isError: true` and a text that names the argument".to_owned();
    Finding { level: RequirementLevel::Should, help: Some(help), ..Finding::new(problem::NOT_VALIDATED, message) }
}

/// A tool that serves no call at all, although one of them must be served.
fn never_served(context: &CheckContext<'_>, tool: &Tool, refusal: &str) -> Option<Finding> {
    // Arguments that are given as valid need not be among those that were sent, and have a case of their own.
    must_serve(context.suite, tool).filter(|must_serve| *must_serve == MustServe::NoArguments)?;
    Some(refused_bare_call(&tool.name, refusal, ConfigSource::of(context.suite)))
}

fn outcome(findings: &[Finding], served: u64, is_partial: bool) -> Outcome {
    if findings.iter().any(|found| found.level == RequirementLevel::Must) {
        Outcome::Failed
    } else if served == 0 || is_partial {
        Outcome::Inconclusive
    } else if findings.is_empty() {
        Outcome::Passed
    } else {
        Outcome::Warned
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_pass_only_if_one_was_served_and_all_were_judged() {
        use RequirementLevel::{Must, Should};
        let found = |level| Finding { level, ..Finding::new("stack-trace", "a stack trace") };
        for (levels, served, is_partial, expected) in [
            (&[][..], 9, false, Outcome::Passed),
            (&[], 0, false, Outcome::Inconclusive),
            (&[], 9, true, Outcome::Inconclusive),
            (&[Should], 9, false, Outcome::Warned),
            (&[Should], 0, false, Outcome::Inconclusive),
            (&[Should], 9, true, Outcome::Inconclusive),
            (&[Should, Must], 9, false, Outcome::Failed),
            (&[Must], 0, true, Outcome::Failed),
        ] {
            let findings: Vec<Finding> = levels.iter().map(|level| found(*level)).collect();
            assert_eq!(outcome(&findings, served, is_partial), expected, "{levels:?} {served} {is_partial}");
        }
    }

    #[test]
    fn calls_without_an_answer_have_a_cure_unless_the_run_ended() {
        let out_of_time = EarlyEnd::Run(RunEnd::OutOfTime);
        for (in_flight, stopped, expected) in [
            (8, None, "no call got an answer while 8 were under way; `in_flight: 1` makes them one by one"),
            (
                8,
                Some(EarlyEnd::Silent),
                "no call got an answer while 8 were under way; `in_flight: 1` makes them one by one",
            ),
            (1, None, "no call got an answer"),
            (8, Some(out_of_time), "no call had got an answer when the time of `--budget` was over"),
            (8, Some(EarlyEnd::Run(RunEnd::Interrupted)), "no call had got an answer when the run was interrupted"),
        ] {
            assert_eq!(no_answer(in_flight, stopped.as_ref(), "in_flight: 1"), expected, "{in_flight} {stopped:?}");
        }
    }

    #[test]
    fn problems_are_reported_in_the_case_of_their_tool() {
        use FindingKind::{Crash, Hang, SchemaViolation};
        for (problem, kind, tool, is_seen_again, expected) in [
            ("a crash", Crash, Some(0), true, false),
            // It was seen, whatever brought it about.
            ("a crash of nobody knows which call", Crash, None, false, false),
            ("a crash of another tool", Crash, Some(2), true, true),
            ("a hang", Hang, Some(0), true, false),
            ("a slow answer", Hang, Some(0), false, true),
            ("silence that no call explains", Hang, None, false, true),
            ("an answer that breaks its schema once", SchemaViolation, Some(0), false, false),
        ] {
            assert_eq!(is_dropped(kind, tool, is_seen_again), expected, "{problem}");
        }
    }

    #[test]
    fn setup_is_made_again_without_the_handshake() {
        use crate::wire::Channel::Protocol;
        use Direction::{Received, Sent};
        let frames = crate::check::tests::frames(&[
            (Sent, Protocol, r#"{"id": 1, "method": "initialize", "params": {}}"#),
            (Received, Protocol, r#"{"id": 1, "result": {}}"#),
            (Sent, Protocol, r#"{"method": "notifications/initialized"}"#),
            (
                Sent,
                Protocol,
                r#"{"id": 2, "method": "tools/call", "params": {"name": "add", "_meta": {"progressToken": 1}}}"#,
            ),
            (Received, Protocol, r#"{"id": "s1", "method": "roots/list"}"#),
            (Sent, Protocol, r#"{"id": "s1", "result": {"roots": []}}"#),
            (Sent, Protocol, r#"{"id": 3, "method": "ping"}"#),
        ]);
        let calls: Vec<(String, Value)> =
            setup_calls(&frames).into_iter().map(|call| (call.method, call.params)).collect();
        let add = ("tools/call".to_owned(), serde_json::json!({"name": "add"}));
        assert_eq!(calls, [add, ("ping".to_owned(), Value::Null)]);
    }

    #[test]
    fn a_tool_that_looks_at_nothing_is_told_by_its_first_call() {
        let call =
            || ForbiddenCall { arguments: serde_json::json!({"page": 0}), says: "`page` is less than 1".to_owned() };
        for (count, expected) in [
            (1, r#"`list` served the one call that its schema forbids: `page` is less than 1 in {"page":0}"#),
            (
                40,
                r#"`list` served all of 40 calls that its schema forbids, the first of them: `page` is less than 1 in {"page":0}"#,
            ),
        ] {
            assert_eq!(not_validated("list", count, &call()).message, expected);
        }
    }
}
