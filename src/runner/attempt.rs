//! One attempt at a case: setup, witness, steps, teardown, and what the scans say.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, timeout};

use super::exchange::Speaker;
use super::lane::{Lane, NoSession, Opened};
use super::options::Stop;
use super::phases::{self, Conversation};
use super::pool::Turn;
use super::raw::expects_the_end;
use super::restart::{joined, lets_go_on, split_at_restart};
use super::rule::apply_level;
use super::snapshot::Recorder;
use super::sound::{self, unsound};
use super::turns::in_turn;
use super::witness::Unserved;
use super::{alone, finding, rounds};
use crate::diagnosis;
use crate::event::{CheckResult, FailureClass, Finding, Outcome, Reason, StepProblem};
use crate::plan::made::Cure;
use crate::plan::{Case, Script, SessionNeed};
use crate::source::template::{fill, from_json};
use crate::source::{Sources, duration_text};
use crate::suite::{Handshake, Step};

/// What an attempt may take and when it must stop.
#[derive(Clone, Copy)]
pub(super) struct Bounds<'a> {
    /// The time for the case; starting a server has a time of its own.
    pub(super) timeout: Duration,
    /// What is left of it, where a restart divided the case.
    pub(super) left: Duration,
    pub(super) stop: &'a Stop,
    /// Whether the case was counted on for this session.
    pub(super) turn: Turn,
    /// Whether the case is attempted once, however it ends.
    pub(super) is_once: bool,
}

/// Runs a script once, in the lane's session or in one of its own.
pub(super) async fn attempt(lane: &Arc<Lane>, case: &Case, script: &Script, bounds: &Bounds<'_>) -> CheckResult {
    let begun = Instant::now();
    let attempted = match case.session {
        SessionNeed::Shared => match bounds.unless_stopped(lane.session()).await {
            Ok(opened) => {
                let begun = Instant::now();
                let attempted = in_company(lane, &opened, case, script, bounds).await;
                let again = Bounds { turn: Turn::Again, ..*bounds };
                let alone = Box::pin(in_own_session(lane, case, script, &again));
                let attempted = alone::unless_clear(lane, &opened, attempted, alone).await;
                CheckResult { duration: begun.elapsed(), ..attempted }
            }
            Err(none) => without_session(none),
        },
        SessionNeed::InTurn => Box::pin(in_turn(lane, case, script, bounds)).await,
        SessionNeed::Own => Box::pin(in_own_session(lane, case, script, bounds)).await,
    };
    // The start of its server is no part of a case, unless it came to nothing else.
    let duration = if attempted.duration.is_zero() { begun.elapsed() } else { attempted.duration };
    apply_level(case, CheckResult { duration, ..attempted })
}

impl Bounds<'_> {
    /// Waits for a session, but not beyond the wish to stop.
    async fn unless_stopped<T>(&self, opening: impl Future<Output = Result<T, NoSession>>) -> Result<T, NoSession> {
        tokio::select! {
            opened = opening => opened,
            () = self.stop.wait() => Err(NoSession::Interrupted),
        }
    }
}

/// Runs a script in the session that other cases use too.
async fn in_company(lane: &Lane, opened: &Opened, case: &Case, script: &Script, bounds: &Bounds<'_>) -> CheckResult {
    let mut attempted = run(lane, opened, case, script, bounds).await;
    let found = opened.session.take_violations(&case.id);
    if !found.is_empty() {
        let frames = opened.session.frames();
        add_violations(
            &mut attempted,
            diagnosis::of_violations(&lane.scanned.sift(Some(case), found, &frames), &frames),
        );
    }
    attempted
}

/// Runs a script in sessions that nobody shares; every `restart` step begins another one.
pub(super) async fn in_own_session(lane: &Arc<Lane>, case: &Case, script: &Script, bounds: &Bounds<'_>) -> CheckResult {
    let mut whole: Option<CheckResult> = None;
    let mut rest = script.clone();
    let mut bounds = *bounds;
    if case.handshake == Handshake::Left {
        // The server starts while the case waits for its first answer.
        bounds.left = bounds.left.saturating_add(lane.start_timeout());
    }
    let mut names = None;
    loop {
        let mut opened = match bounds.unless_stopped(lane.own_session(case, bounds.turn)).await {
            Ok(opened) => opened,
            Err(none) => return joined(whole.take(), without_session(none)),
        };
        if let Some(names) = names.take() {
            opened.names = names;
        }
        let begun = Instant::now();
        let (part, later) = split_at_restart(rest);
        let mut conversation = conversation(lane, &opened, case);
        let verdict = bounded(&mut conversation, &part, case, &bounds).await;
        let goes_on = verdict.outcome == Outcome::Passed && later.is_some();
        let learned = goes_on.then(|| conversation.learned());
        let mut attempted = if goes_on {
            concluded(conversation, verdict, &opened, case)
        } else {
            torn_down(conversation, verdict, (&opened, &script.teardown), case, &bounds).await
        };
        if !goes_on && lane.sets_up_every_session() {
            lane.tear_down(&opened).await;
        }
        let frames = opened.session.frames();
        let found = opened.session.take_violations(&case.id);
        let mut found = if found.is_empty() { found } else { lane.scanned.sift(Some(case), found, &frames) };
        let has_passed = attempted.outcome == Outcome::Passed && found.is_empty();
        let is_free = has_passed && case.session == SessionNeed::InTurn && bounds.is_once && lane.may_be_used(case);
        let (broken, ended) =
            if is_free { lane.leave(opened, case).await } else { lane.close_own(&opened.session, case).await };
        found.extend(broken);
        add_violations(&mut attempted, diagnosis::of_violations(&found, &frames));
        // A step that expects the end, a restart, and whoever stops the run have reasons of their own.
        if !goes_on && !bounds.stop.is_set() && !part.steps.iter().any(expects_the_end) {
            add_end(&mut attempted, ended.map(|found| finding::at(found, &lane.plan.sources, case.span, "this case")));
        }
        attempted.duration = begun.elapsed();
        let attempted = joined(whole.take(), attempted);
        bounds.left = bounds.left.saturating_sub(begun.elapsed());
        match later {
            Some(later) if goes_on && lets_go_on(attempted.outcome) => {
                rest = later;
                names = learned;
                bounds.turn = Turn::Again;
                whole = Some(attempted);
            }
            _ => return attempted,
        }
    }
}

fn without_session(none: NoSession) -> CheckResult {
    match none {
        NoSession::NotApplicable(reason) => CheckResult::because(Outcome::Skipped, reason),
        NoSession::Interrupted => CheckResult::because(Outcome::Inconclusive, Reason::Interrupted),
        NoSession::Broken(found) => {
            let reason = Reason::ServerUnavailable(found.message.clone());
            CheckResult { reason: Some(reason), ..CheckResult::found(Outcome::Errored, vec![*found]) }
        }
    }
}

pub(super) async fn run(
    lane: &Lane,
    opened: &Opened,
    case: &Case,
    script: &Script,
    bounds: &Bounds<'_>,
) -> CheckResult {
    let mut conversation = conversation(lane, opened, case);
    let verdict = bounded(&mut conversation, script, case, bounds).await;
    torn_down(conversation, verdict, (opened, &script.teardown), case, bounds).await
}

fn conversation<'a>(lane: &'a Lane, opened: &'a Opened, case: &'a Case) -> Conversation<'a> {
    let mut names = opened.names.clone();
    names.extend(case.all_names());
    // Tokens stand in the environment.
    if let Some(hints) = names.get("hints").map(|hints| from_json(hints, case.span))
        && let Ok(filled) = fill(&hints, &names)
    {
        names.insert("hints".to_owned(), filled.to_json());
    }
    let speaker = Speaker { session: &opened.session, owner: &case.id, catalog: lane.known_catalog() };
    let recorder = Some(Recorder { emitter: lane.emitter(), planned: lane.planned(), case, has_recorded: false });
    let cure = Cure::of(&lane.planned().suite);
    let given = [lane.names.as_ref().ok(), Some(&*case.offered), Some(&case.names)];
    let history = lane.history.as_ref();
    let is_derived = case.is_derived || case.rule.is_some() || case.probes.contains("negative-path");
    Conversation { is_derived, recorder, cure, history, given, ..Conversation::new(speaker, names, lane) }
}

/// The verdict on a script, within its time and unless the run is stopped.
async fn bounded(
    conversation: &mut Conversation<'_>,
    script: &Script,
    case: &Case,
    bounds: &Bounds<'_>,
) -> CheckResult {
    let sources = conversation.sources;
    let in_time = tokio::select! {
        verdict = timeout(rounds::patience(script, bounds.left), judged(conversation, case, script, bounds.left)) => verdict.ok(),
        () = bounds.stop.wait() => return CheckResult::because(Outcome::Inconclusive, Reason::Interrupted),
    };
    in_time.unwrap_or_else(|| too_slow(conversation, sources, case, bounds.timeout))
}

async fn torn_down<'a>(
    mut conversation: Conversation<'a>,
    mut verdict: CheckResult,
    (opened, teardown): (&'a Opened, &[Step]),
    case: &Case,
    bounds: &Bounds<'_>,
) -> CheckResult {
    if !teardown.is_empty() {
        Box::pin(tear_down(&mut conversation, teardown, bounds, &mut verdict)).await;
    }
    concluded(conversation, verdict, opened, case)
}

fn concluded(
    mut conversation: Conversation<'_>,
    mut verdict: CheckResult,
    opened: &Opened,
    case: &Case,
) -> CheckResult {
    // A case that stands for one rule, or that failed, has its own to tell.
    if case.rule.is_none() && verdict.outcome == Outcome::Passed {
        conversation.doubts.extend(std::mem::take(&mut conversation.unflagged).into_values());
    }
    if verdict.outcome == Outcome::Passed && !conversation.doubts.is_empty() {
        verdict.outcome = Outcome::Warned;
    }
    if let (Outcome::Passed | Outcome::Warned, Some(reason)) = (verdict.outcome, conversation.inconclusive) {
        verdict = CheckResult { findings: verdict.findings, ..CheckResult::because(Outcome::Inconclusive, reason) };
    }
    let has_recorded = conversation.recorder.as_ref().is_some_and(|recorder| recorder.has_recorded);
    if has_recorded && matches!(verdict.outcome, Outcome::Passed | Outcome::Warned) {
        verdict.reason = Some(Reason::Recorded);
    }
    verdict.findings.extend(conversation.doubts);
    verdict.exchanges = conversation.exchanges;
    verdict.protocol_revision = opened.session.server.revision.to_string();
    verdict.frames = opened.session.frames_of(&case.id);
    verdict
}

async fn judged(conversation: &mut Conversation<'_>, case: &Case, script: &Script, left: Duration) -> CheckResult {
    conversation.rounds.clone_from(&script.rounds);
    if let Err(found) = conversation.all("setup", &script.setup).await {
        if let Some(left_alone) = left_alone(&found) {
            return left_alone;
        }
        return CheckResult { reason: Some(Reason::SetupFailed), ..CheckResult::found(Outcome::Errored, found) };
    }
    if let Err(found) = conversation.all("witness", &script.twins).await {
        return left_alone(&found).unwrap_or_else(|| unsound(&found, &script.twins));
    }
    match conversation.witness(&script.witness).await {
        Err(Unserved::Refused(refusal)) => return sound::refused(*refusal, script.vouched, (case, conversation)),
        Err(Unserved::Unanswered(found)) => {
            return unserved(vec![finding::at(*found, conversation.sources, case.span, "this case")]);
        }
        Ok(found) if !found.is_empty() => return CheckResult::found(Outcome::Failed, found),
        Ok(_) => {}
    }
    if let Some(rounds) = &script.rounds {
        return Box::pin(rounds::judged(conversation, rounds, &script.steps, left)).await;
    }
    let served = match case.rule {
        Some(_) => conversation.judge_all(&script.steps).await,
        None => conversation.all("", &script.steps).await,
    };
    match served {
        Ok(()) => CheckResult::new(Outcome::Passed),
        Err(found) => unserved(found),
    }
}

/// The result of steps of which one went wrong: a failure, unless no step could be judged.
pub(super) fn unserved(found: Vec<Finding>) -> CheckResult {
    let said =
        |problem| found.iter().find(|found| found.step_problem == Some(problem)).map(|found| found.message.clone());
    // A missing token or an unread answer says nothing about the server.
    let errored = said(StepProblem::NoToken).map(Reason::NoToken);
    if let Some(reason) = errored.or_else(|| said(StepProblem::AnswerNotRead).map(Reason::AnswerNotRead)) {
        return CheckResult { reason: Some(reason), ..CheckResult::found(Outcome::Errored, found) };
    }
    if said(StepProblem::NoSessionId).is_some() {
        return CheckResult::because(Outcome::Skipped, Reason::NoSessionId);
    }
    if let Some(left_alone) = left_alone(&found) {
        return left_alone;
    }
    if let Some(first) = found.first()
        && found.iter().all(|found| found.step_problem == Some(StepProblem::Unfilled))
    {
        // The suite or the environment is to blame.
        let reason = Reason::Unfilled(first.message.clone());
        return CheckResult { reason: Some(reason), ..CheckResult::found(Outcome::Errored, found) };
    }
    match said(StepProblem::NotCancelled) {
        Some(early) => CheckResult::because(Outcome::Inconclusive, Reason::NotCancelled(early)),
        None => CheckResult::found(Outcome::Failed, found),
    }
}

/// The result where a step would have called a tool that must not be called, or needs what the server may leave out.
fn left_alone(found: &[Finding]) -> Option<CheckResult> {
    let reason = found.iter().find_map(|found| match found.step_problem? {
        StepProblem::ReadOnly => Some(Reason::ReadOnly(found.message.clone())),
        StepProblem::ToolNotAllowed => Some(Reason::ToolNotAllowed(found.message.clone())),
        StepProblem::NotApplicable => Some(Reason::NotApplicable(found.message.clone())),
        StepProblem::Unfilled
        | StepProblem::MissingValue
        | StepProblem::NoToken
        | StepProblem::AnswerNotRead
        | StepProblem::NoSessionId
        | StepProblem::NotCancelled => None,
    })?;
    Some(CheckResult::because(Outcome::Skipped, reason))
}

/// Teardown runs whatever happened; its own failure is told and hides nothing.
async fn tear_down(
    conversation: &mut Conversation<'_>,
    steps: &[Step],
    bounds: &Bounds<'_>,
    verdict: &mut CheckResult,
) {
    if !conversation.speaker.session.is_open() {
        return;
    }
    let torn_down = bounds.stop.bound(bounds.timeout, conversation.every("teardown", steps)).await;
    let mut found = torn_down.unwrap_or_else(|limit| {
        vec![Finding::failure(FailureClass::Timeout, format!("teardown took longer than {}", duration_text(limit)))]
    });
    // Whatever the case did changed nothing, so there is nothing to put back.
    found.retain(|found| left_alone(std::slice::from_ref(found)).is_none());
    if found.is_empty() {
        return;
    }
    if verdict.outcome == Outcome::Passed {
        verdict.outcome = Outcome::Errored;
        verdict.reason = Some(Reason::TeardownFailed);
    }
    verdict
        .findings
        .extend(found.into_iter().map(|found| Finding { message: format!("in teardown: {}", found.message), ..found }));
}

fn too_slow(conversation: &mut Conversation<'_>, sources: &Sources, case: &Case, limit: Duration) -> CheckResult {
    let message = format!("the case took longer than {} (`timeout`)", duration_text(limit));
    let session = conversation.speaker.session;
    let alive = match (session.is_open(), session.server.transport) {
        (false, _) => "gone",
        // Nobody can see from here whether a process runs behind an address.
        (true, "http" | "sse") => "",
        (true, _) => "still running",
    };
    let unanswered = conversation.unanswered();
    if let Some(at) = unanswered {
        conversation.find_request(at);
    }
    let found = Finding { exchange: unanswered, ..Finding::failure(FailureClass::Timeout, message) }
        .with_evidence("server", alive)
        .with_evidence("stderr", conversation.speaker.session.stderr_tail().join("\n"));
    let mut found = vec![finding::at(found, sources, case.span, "this case")];
    found.splice(..0, std::mem::take(&mut conversation.broken));
    CheckResult::found(Outcome::Failed, found)
}

fn add_violations(attempted: &mut CheckResult, found: Vec<Finding>) {
    if found.is_empty() {
        return;
    }
    if matches!(attempted.outcome, Outcome::Passed | Outcome::Warned | Outcome::Inconclusive) {
        attempted.outcome = Outcome::Failed;
        attempted.reason = None;
    }
    attempted.findings = phases::joined(std::mem::take(&mut attempted.findings), found);
}

/// Adds that the server ended by itself; a failure that only shows it is explained by it.
fn add_end(attempted: &mut CheckResult, ended: Option<Finding>) {
    let Some(ended) = ended else { return };
    let is_symptom = |found: &&mut Finding| {
        let class = found.class;
        matches!(class, Some(FailureClass::Timeout | FailureClass::ConnectionLost | FailureClass::ConnectionRefused))
    };
    match attempted.findings.iter_mut().find(is_symptom) {
        Some(symptom) => {
            let has = |symptom: &Finding, name: &str| symptom.evidence.iter().any(|(known, _)| known == name);
            let more = ended.evidence.into_iter().filter(|(name, _)| !has(symptom, name)).collect::<Vec<_>>();
            symptom.evidence.extend(more);
        }
        None => add_violations(attempted, vec![ended]),
    }
}
