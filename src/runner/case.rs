//! The life of one case, top to bottom: attempts, session, setup, preconditions, steps, teardown, scans, crash attribution,
//! known failures.
//!
//! Every function is called by one above it. Start reading in [`run`].

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, timeout};

use super::case_result::{of_check, to_attempt};
use super::conversation::Conversation;
use super::exchange::{CaseSpeaker, blank};
use super::options::Stop;
use super::pool::SessionUse;
use super::precondition::{precondition_failed, valid_call_refused};
use super::raw::expects_the_end;
use super::reuse::run_in_reused_session;
use super::rule::downgrade_should;
use super::snapshot::{self, SnapshotRecorder};
use super::target::{OpenSession, SessionError, TargetSessions};
use super::witness::ValidCallError;
use super::{Options, check, conversation, crash, finding, injected, rerun, rounds};
use crate::carrier;
use crate::diagnosis;
use crate::event::{
    Attempt, CaseResult, CaseStarted, CheckResult, Event, FailureClass, Finding, Outcome, Phase, Reason, StepProblem,
};
use crate::fault::{Fault, FaultPlayer};
use crate::plan::arguments::ConfigSource;
use crate::plan::{Body, Case, Script, SessionNeed};
use crate::session::OwnedViolation;
use crate::source::duration_text;
use crate::source::template::{fill, from_json};
use crate::suite::{Action, Handshake, Order};
use crate::wire::Frame;

/// The time for a case where neither suite nor command line says anything.
pub(crate) const CASE_TIMEOUT: Duration = Duration::from_secs(30);

/// The event that a case begins an attempt.
fn started(case: &Case, attempt: u32) -> Event {
    let row = case.row.as_ref().map(|row| format!("[{row}]")).unwrap_or_default();
    let (id, file) = (case.id.clone(), case.place.file.clone());
    Event::CaseStarted(CaseStarted { id, file, name: format!("{}{row}", case.name), attempt })
}

/// Runs a case, again if it may be retried or is to be repeated, and returns its result.
pub(crate) async fn run(target: Arc<TargetSessions>, case: Arc<Case>, options: Arc<Options>) -> CaseResult {
    let planned = target.planned();
    let decided = |result| of_check(planned, &case, result, Vec::new());
    let result = match &case.body {
        Body::Skipped(reason) => return decided(CheckResult::because(Outcome::Skipped, reason.clone())),
        Body::Template(_) => return decided(CheckResult::because(Outcome::Skipped, Reason::NothingExpanded)),
        Body::Failed(mistake) => {
            let found = Finding { help: mistake.help.clone(), ..Finding::new(mistake.code, mistake.message.clone()) };
            let found = finding::at(found, &target.plan.sources, mistake.span, "");
            return decided(CheckResult::found(Outcome::Failed, vec![found]));
        }
        Body::Check(check) => {
            target.emitter().event(started(&case, 1));
            let checked = Box::pin(check::run_check(&target, &case, check.as_ref(), &options)).await;
            decided(downgrade_should(&case, checked))
        }
        Body::Scan(codes) => decided(downgrade_should(&case, target.scan_results.check(codes))),
        Body::Script(script) => {
            snapshot::announce(target.emitter(), script);
            let timeout = options.timeout.or(planned.suite.options.timeout).unwrap_or(CASE_TIMEOUT);
            let retries = options.retries.unwrap_or(case.retries);
            let is_once = options.repeat <= 1 && retries == 0;
            let limits = CaseLimits { timeout, left: timeout, stop: &options.stop, turn: SessionUse::First, is_once };
            let run = CaseRun { target: &target, case: &case, script, limits, faults: None };
            let mut result =
                if options.repeat > 1 { Box::pin(run.repeat(options.repeat)).await } else { run.retry(retries).await };
            if case.session == SessionNeed::Shared && options.order_of(&planned.suite) == Order::Shuffled {
                result.rerun_command = rerun::in_order(planned, options.seed);
            }
            result
        }
    };
    apply_known_failures(&case, result)
}

/// Marks the failures of a case that is known to fail, and fails it where it passes after all.
fn apply_known_failures(case: &Case, mut result: CaseResult) -> CaseResult {
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

/// A case with everything that an attempt at it needs.
#[derive(Clone, Copy)]
pub(crate) struct CaseRun<'a> {
    pub(crate) target: &'a Arc<TargetSessions>,
    pub(crate) case: &'a Case,
    pub(crate) script: &'a Script,
    pub(crate) limits: CaseLimits<'a>,
    /// The faults that strike its messages.
    pub(crate) faults: Option<&'a Arc<FaultPlayer>>,
}

/// The time that an attempt may take, and when it must stop.
#[derive(Clone, Copy)]
pub(crate) struct CaseLimits<'a> {
    /// The time for the case; starting a server has a time of its own.
    pub(crate) timeout: Duration,
    /// The rest of it, where a restart divided the case.
    pub(crate) left: Duration,
    pub(crate) stop: &'a Stop,
    /// Whether the case was counted on for this session.
    pub(crate) turn: SessionUse,
    /// Whether the case is attempted once, however it ends.
    pub(crate) is_once: bool,
}

impl CaseRun<'_> {
    /// Attempts the case until it passes, as often as retries allow.
    async fn retry(&self, mut retries: u32) -> CaseResult {
        let mut earlier: Vec<Attempt> = Vec::new();
        let mut turn = SessionUse::First;
        loop {
            let number = u32::try_from(earlier.len()).unwrap_or(u32::MAX).saturating_add(1);
            let result = self.attempt(number, turn).await;
            let has_failed = matches!(result.outcome, Outcome::Failed | Outcome::Errored);
            if !has_failed || retries == 0 || self.limits.stop.is_set() {
                return of_check(self.target.planned(), self.case, result, earlier);
            }
            earlier.push(to_attempt(&result));
            (retries, turn) = (retries - 1, SessionUse::Again);
        }
    }

    /// Attempts the case a fixed number of times; the first of the worst results is shown.
    async fn repeat(&self, times: u32) -> CaseResult {
        let mut shown = self.attempt(1, SessionUse::First).await;
        let mut repetitions = vec![to_attempt(&shown)];
        for number in 2..=times {
            if shown.outcome == Outcome::Skipped || self.limits.stop.is_set() {
                break;
            }
            let next = self.attempt(number, SessionUse::First).await;
            repetitions.push(to_attempt(&next));
            if badness(next.outcome) > badness(shown.outcome) {
                shown = next;
            }
        }
        let is_skipped = shown.outcome == Outcome::Skipped;
        let mut result = of_check(self.target.planned(), self.case, shown, Vec::new());
        if is_skipped {
            return result;
        }
        result.repetitions = repetitions;
        if let Some((passed, of)) = result.passed_of().filter(|(passed, of)| passed < of) {
            let because = result.reason.map(Box::new);
            result.reason = Some(Reason::RepetitionsFailed { passed, of, because });
        }
        result
    }

    /// Runs the case once, in the session of its target or in one of its own.
    async fn attempt(&self, number: u32, turn: SessionUse) -> CheckResult {
        self.target.emitter().event(started(self.case, number));
        let run = self.with_turn(turn);
        let begun = Instant::now();
        let result = match self.case.session {
            SessionNeed::Shared => run.run_in_shared_session().await,
            SessionNeed::InTurn => Box::pin(run_in_reused_session(&run)).await,
            SessionNeed::Own => Box::pin(run.run_in_own_session()).await,
        };
        // The start of its server is no part of a case, unless it came to nothing else.
        let duration = if result.duration.is_zero() { begun.elapsed() } else { result.duration };
        downgrade_should(self.case, CheckResult { duration, ..result })
    }

    pub(crate) fn with_turn(&self, turn: SessionUse) -> Self {
        Self { limits: CaseLimits { turn, ..self.limits }, ..*self }
    }

    /// Runs the script in the session that other cases use too; a case is rerun alone where a crash or a timeout may be
    /// another's.
    async fn run_in_shared_session(&self) -> CheckResult {
        let opened = match self.unless_stopped(self.target.session()).await {
            Ok(opened) => opened,
            Err(error) => return without_session(error),
        };
        let begun = Instant::now();
        let mut result = self.run_script(&opened).await;
        let found = self.take_violations(&opened);
        if !found.is_empty() {
            add_violations(&mut result, &found, &opened.session.frames());
        }
        let again = self.with_turn(SessionUse::Again);
        let alone = Box::pin(again.run_in_own_session());
        let result = crash::rerun_to_attribute(self.target, &opened, result, alone).await;
        CheckResult { duration: begun.elapsed(), ..result }
    }

    /// Runs the script in sessions that nobody shares; every `restart` step begins another one.
    pub(crate) async fn run_in_own_session(&self) -> CheckResult {
        if !self.case.inject.is_empty() && self.faults.is_none() {
            let faults = Arc::new(FaultPlayer::new(self.case.inject.to_vec()).with_clock(carrier::clock));
            let result = Box::pin(CaseRun { faults: Some(&faults), ..*self }.run_in_own_session()).await;
            return injected::judge(result, &faults, self.case, self.target);
        }
        let (target, case) = (self.target, self.case);
        let mut whole: Option<CheckResult> = None;
        let mut rest = self.script.clone();
        let mut run = *self;
        if case.handshake == Handshake::Skip {
            // The server starts while the case waits for its first answer.
            run.limits.left = run.limits.left.saturating_add(target.start_timeout());
        }
        let mut names = None;
        loop {
            let mut opened = match run.unless_stopped(target.own_session(case, run.limits.turn, run.faults)).await {
                Ok(opened) => opened,
                Err(error) => return join_parts(whole.take(), without_session(error)),
            };
            if let Some(names) = names.take() {
                opened.names = names;
            }
            let begun = Instant::now();
            let (part, later) = split_at_restart(rest);
            let mut conversation = run.converse(&opened);
            let checked = run.with_timeout(&mut conversation, &part).await;
            let goes_on = checked.outcome == Outcome::Passed && later.is_some();
            let learned = goes_on.then(|| conversation.learned());
            let mut result = if goes_on {
                run.finish(conversation, checked, &opened)
            } else {
                run.with_teardown(conversation, checked, &opened).await
            };
            if !goes_on && target.sets_up_every_session() {
                target.tear_down(&opened).await;
            }
            let frames = opened.session.frames();
            let mut found = self.take_violations(&opened);
            let has_passed = result.outcome == Outcome::Passed && found.is_empty() && run.faults.is_none();
            let is_reusable =
                has_passed && case.session == SessionNeed::InTurn && run.limits.is_once && target.may_be_used(case);
            let end = if is_reusable {
                target.leave(opened, case).await
            } else {
                target.close_own(&opened.session, case).await
            };
            found.extend(end.violations);
            // A broken message may be the fault's.
            if case.inject.iter().all(Fault::keeps_protocol) {
                add_violations(&mut result, &found, &frames);
            }
            // A step that expects the end, a restart, and whoever stops the run have reasons of their own.
            let may_end = run.faults.is_some_and(|faults| faults.has_ended()) || part.steps.iter().any(expects_the_end);
            if !goes_on && !run.limits.stop.is_set() && !may_end {
                let here = |found| finding::at(found, &target.plan.sources, case.span, "this case");
                add_exit(&mut result, end.exit.map(here));
            }
            result.duration = begun.elapsed();
            let result = join_parts(whole.take(), result);
            run.limits.left = run.limits.left.saturating_sub(begun.elapsed());
            match later {
                Some(later) if goes_on && continues_after_restart(result.outcome) => {
                    rest = later;
                    names = learned;
                    run.limits.turn = SessionUse::Again;
                    whole = Some(result);
                }
                _ => return result,
            }
        }
    }

    /// Waits for a session, but not beyond the wish to stop.
    async fn unless_stopped<T>(
        &self,
        opening: impl Future<Output = Result<T, SessionError>>,
    ) -> Result<T, SessionError> {
        tokio::select! {
            opened = opening => opened,
            () = self.limits.stop.wait() => Err(SessionError::Interrupted),
        }
    }

    /// Runs the script in an open session: setup, preconditions, steps, teardown.
    pub(crate) async fn run_script(&self, opened: &OpenSession) -> CheckResult {
        let mut conversation = self.converse(opened);
        let checked = self.with_timeout(&mut conversation, self.script).await;
        self.with_teardown(conversation, checked, opened).await
    }

    fn converse<'a>(&'a self, opened: &'a OpenSession) -> Conversation<'a> {
        let (target, case) = (self.target.as_ref(), self.case);
        let mut names = opened.names.clone();
        names.extend(case.all_names());
        // Tokens stand in the environment.
        if let Some(hints) = names.get("hints").map(|hints| from_json(hints, case.span))
            && let Ok(filled) = fill(&hints, &names)
        {
            names.insert("hints".to_owned(), filled.to_json());
        }
        super::names::fill_given_arguments(&mut names, &target.planned().suite);
        let speaker = CaseSpeaker { session: &opened.session, owner: &case.id, catalog: target.known_catalog() };
        let recorder =
            Some(SnapshotRecorder { emitter: target.emitter(), planned: target.planned(), case, has_recorded: false });
        let config_source = ConfigSource::of(&target.planned().suite);
        let given = [target.names.as_ref().ok(), Some(&*case.offered), Some(&case.names)];
        let history = target.history.as_ref();
        let is_derived = case.is_derived || case.rule.is_some();
        Conversation {
            is_derived,
            recorder,
            config_source,
            history,
            given,
            faults: self.faults,
            ..Conversation::new(speaker, names, target)
        }
    }

    /// Checks a script within its time, unless the run is stopped.
    async fn with_timeout(&self, conversation: &mut Conversation<'_>, script: &Script) -> CheckResult {
        let left = self.limits.left;
        let in_time = tokio::select! {
            checked = timeout(rounds::time_limit(script, left), self.check(conversation, script)) => checked.ok(),
            () = self.limits.stop.wait() => return CheckResult::because(Outcome::Inconclusive, Reason::Interrupted),
        };
        in_time.unwrap_or_else(|| self.timed_out(conversation))
    }

    /// Runs setup, preconditions, the valid call and the steps; the first that goes wrong decides.
    async fn check(&self, conversation: &mut Conversation<'_>, script: &Script) -> CheckResult {
        conversation.rounds.clone_from(&script.rounds);
        if let Err(found) = conversation.all(Phase::Setup, &script.setup).await {
            return skipped_by(&found).unwrap_or_else(|| CheckResult {
                reason: Some(Reason::SetupFailed),
                ..CheckResult::found(Outcome::Errored, found)
            });
        }
        if let Err(found) = conversation.all(Phase::Precondition, &script.preconditions).await {
            return skipped_by(&found).unwrap_or_else(|| precondition_failed(&found, &script.preconditions));
        }
        match conversation.run_witness(&script.witness).await {
            Err(ValidCallError::Refused(refusal)) => {
                return valid_call_refused(*refusal, script.must_serve, self.case, conversation);
            }
            Err(ValidCallError::Unanswered(found)) => {
                return of_findings(vec![finding::at(*found, conversation.sources, self.case.span, "this case")]);
            }
            Ok(found) if !found.is_empty() => return CheckResult::found(Outcome::Failed, found),
            Ok(_) => {}
        }
        if let Some(rounds) = &script.rounds {
            return Box::pin(rounds::run(conversation, rounds, &script.steps, self.limits.left)).await;
        }
        let done = match self.case.rule {
            Some(_) => conversation.judge_all(&script.steps).await,
            None => conversation.all(Phase::Steps, &script.steps).await,
        };
        done.map_or_else(of_findings, |()| CheckResult::new(Outcome::Passed))
    }

    fn timed_out(&self, conversation: &mut Conversation<'_>) -> CheckResult {
        let message = format!("the case took longer than {} (`timeout`)", duration_text(self.limits.timeout));
        let session = conversation.speaker.session;
        let alive = match (session.is_open(), session.server.transport) {
            (false, _) => "gone",
            // Nobody can see from here whether a process runs behind an address.
            (true, kind) if kind.is_over_http() => "",
            (true, _) => "still running",
        };
        let unanswered = conversation.unanswered();
        if let Some(at) = unanswered {
            conversation.find_request(at);
        }
        let found = Finding { exchange: unanswered, ..Finding::failure(FailureClass::Timeout, message) }
            .with_evidence("server", alive)
            .with_evidence("stderr", conversation.speaker.session.stderr_tail().join("\n"));
        let found = finding::at(found, conversation.sources, self.case.span, "this case");
        let earlier = std::mem::take(&mut conversation.broken);
        CheckResult::found(Outcome::Failed, earlier.into_iter().chain([found]).collect())
    }

    /// Runs the teardown whatever happened; its own failure is reported and hides nothing.
    async fn with_teardown<'a>(
        &self,
        mut conversation: Conversation<'a>,
        mut result: CheckResult,
        opened: &'a OpenSession,
    ) -> CheckResult {
        if !self.script.teardown.is_empty() && opened.session.is_open() {
            let found = Box::pin(self.tear_down(&mut conversation)).await;
            if !found.is_empty() && result.outcome == Outcome::Passed {
                result.outcome = Outcome::Errored;
                result.reason = Some(Reason::TeardownFailed);
            }
            result.findings.extend(found);
        }
        self.finish(conversation, result, opened)
    }

    async fn tear_down(&self, conversation: &mut Conversation<'_>) -> Vec<Finding> {
        let torn_down = self
            .limits
            .stop
            .bound(self.limits.timeout, conversation.every(Phase::Teardown, &self.script.teardown))
            .await;
        let found = torn_down.unwrap_or_else(|limit| {
            vec![Finding::failure(FailureClass::Timeout, format!("teardown took longer than {}", duration_text(limit)))]
        });
        // Where a step of the case was skipped, it changed nothing, so there is nothing to put back.
        let failed = found.into_iter().filter(|found| skip_reason_of(found).is_none());
        failed.map(|found| Finding { message: format!("in teardown: {}", found.message), ..found }).collect()
    }

    /// The result with everything that the conversation noticed.
    fn finish(&self, mut conversation: Conversation<'_>, mut result: CheckResult, opened: &OpenSession) -> CheckResult {
        // A case that stands for one rule, or that failed, has its own to report.
        if self.case.rule.is_none() && result.outcome == Outcome::Passed {
            conversation.warnings.extend(std::mem::take(&mut conversation.unflagged).into_values());
        }
        if result.outcome == Outcome::Passed && !conversation.warnings.is_empty() {
            result.outcome = Outcome::Warned;
        }
        if let (Outcome::Passed | Outcome::Warned, Some(reason)) = (result.outcome, conversation.inconclusive_reason) {
            (result.outcome, result.reason) = (Outcome::Inconclusive, Some(reason));
        }
        let has_recorded = conversation.recorder.as_ref().is_some_and(|recorder| recorder.has_recorded);
        if has_recorded && matches!(result.outcome, Outcome::Passed | Outcome::Warned) {
            result.reason = Some(Reason::Recorded);
        }
        result.findings.extend(conversation.warnings);
        result.exchanges = conversation.exchanges;
        result.protocol_revision = opened.session.server.revision.to_string();
        result.frames = opened.session.frames_of(&self.case.id);
        result
    }

    /// Takes the violations that the scans found during the case and that no other case reports.
    fn take_violations(&self, opened: &OpenSession) -> Vec<OwnedViolation> {
        let found = opened.session.take_violations(&self.case.id);
        if found.is_empty() {
            return found;
        }
        self.target.scan_results.take_unclaimed(Some(self.case), found, &opened.session.frames())
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

fn without_session(error: SessionError) -> CheckResult {
    match error {
        SessionError::NotApplicable(reason) => CheckResult::because(Outcome::Skipped, reason),
        SessionError::Interrupted => CheckResult::because(Outcome::Inconclusive, Reason::Interrupted),
        SessionError::Broken(found) => CheckResult::unavailable(*found),
    }
}

/// The part of a script before its first `restart`, and the part after it.
fn split_at_restart(mut script: Script) -> (Script, Option<Script>) {
    let restart = script.steps.iter().position(|step| matches!(step.action, Action::Restart));
    let later = restart.map(|at| {
        let mut steps = script.steps.split_off(at + 1);
        let heals = script.steps.pop().is_some_and(|restart| restart.heals);
        steps.iter_mut().take(1).for_each(|step| step.heals |= heals);
        Script { steps, ..Script::default() }
    });
    (script, later)
}

/// Whether the steps after a restart run: the part before it passed, with or without warnings, or could not be judged.
fn continues_after_restart(outcome: Outcome) -> bool {
    matches!(outcome, Outcome::Passed | Outcome::Warned | Outcome::Inconclusive)
}

/// The result of a script that a restart divided.
fn join_parts(earlier: Option<CheckResult>, mut later: CheckResult) -> CheckResult {
    let Some(mut earlier) = earlier else { return later };
    let offset = earlier.exchanges.len() + 1;
    for found in &mut later.findings {
        found.exchange = found.exchange.map(|index| index + offset);
    }
    earlier.exchanges.push(blank(Phase::Steps, "restart".to_owned()));
    earlier.exchanges.append(&mut later.exchanges);
    later.exchanges = earlier.exchanges;
    if later.outcome == Outcome::Passed || (later.outcome, earlier.outcome) == (Outcome::Warned, Outcome::Inconclusive)
    {
        later.outcome = earlier.outcome;
    }
    if matches!(later.outcome, Outcome::Passed | Outcome::Warned) || later.outcome == earlier.outcome {
        later.reason = later.reason.or(earlier.reason);
    }
    later.duration += earlier.duration;
    later.findings.append(&mut earlier.findings);
    // Frames are numbered per session; those of the last one are the ones to look at.
    later
}

/// The result of steps of which one went wrong: a failure, unless no step could be judged.
pub(crate) fn of_findings(found: Vec<Finding>) -> CheckResult {
    let message_of = |problem: &StepProblem| {
        let mut having = found.iter().filter(|found| found.step_problem.as_deref() == Some(problem));
        having.next().map(|found| found.message.clone())
    };
    // A missing token or an unread answer says nothing about the server.
    let errored = message_of(&StepProblem::NoToken).map(Reason::NoToken);
    if let Some(reason) = errored.or_else(|| message_of(&StepProblem::AnswerNotRead).map(Reason::AnswerNotRead)) {
        return CheckResult { reason: Some(reason), ..CheckResult::found(Outcome::Errored, found) };
    }
    if message_of(&StepProblem::NoSessionId).is_some() {
        return CheckResult::because(Outcome::Skipped, Reason::NoSessionId);
    }
    if let Some(skipped) = skipped_by(&found) {
        return skipped;
    }
    if let Some(first) = found.first()
        && found.iter().all(|found| found.step_problem.as_deref() == Some(&StepProblem::Unfilled))
    {
        // The suite or the environment is to blame.
        let reason = Reason::Unfilled(first.message.clone());
        return CheckResult { reason: Some(reason), ..CheckResult::found(Outcome::Errored, found) };
    }
    match message_of(&StepProblem::NotCancelled) {
        Some(early) => CheckResult::because(Outcome::Inconclusive, Reason::NotCancelled(early)),
        None => CheckResult::found(Outcome::Failed, found),
    }
}

/// The result where a step would have called a tool that must not be called, or needs what the server may leave out.
fn skipped_by(found: &[Finding]) -> Option<CheckResult> {
    found.iter().find_map(skip_reason_of).map(|reason| CheckResult::because(Outcome::Skipped, reason))
}

fn skip_reason_of(found: &Finding) -> Option<Reason> {
    match found.step_problem.as_deref()? {
        StepProblem::ReadOnly => Some(Reason::ReadOnly(found.message.clone())),
        StepProblem::ToolNotAllowed => Some(Reason::ToolNotAllowed(found.message.clone())),
        StepProblem::NotApplicable => Some(Reason::NotApplicable(found.message.clone())),
        StepProblem::Unfilled
        | StepProblem::MissingValue(_)
        | StepProblem::NoToken
        | StepProblem::AnswerNotRead
        | StepProblem::NoSessionId
        | StepProblem::NotCancelled => None,
    }
}

fn add_violations(result: &mut CheckResult, found: &[OwnedViolation], frames: &[Frame]) {
    if !found.is_empty() {
        add_findings(result, diagnosis::of_violations(found, frames));
    }
}

fn add_findings(result: &mut CheckResult, found: Vec<Finding>) {
    if matches!(result.outcome, Outcome::Passed | Outcome::Warned | Outcome::Inconclusive) {
        result.outcome = Outcome::Failed;
        result.reason = None;
    }
    result.findings = conversation::joined(std::mem::take(&mut result.findings), found);
}

/// Adds that the server ended by itself; a failure that only shows it is explained by it.
fn add_exit(result: &mut CheckResult, exit: Option<Finding>) {
    let Some(exit) = exit else { return };
    let is_symptom = |found: &&mut Finding| {
        let class = found.class;
        matches!(class, Some(FailureClass::Timeout | FailureClass::ConnectionLost | FailureClass::ConnectionRefused))
    };
    match result.findings.iter_mut().find(is_symptom) {
        Some(symptom) => {
            let has = |symptom: &Finding, name: &str| symptom.evidence.iter().any(|(known, _)| known == name);
            let more = exit.evidence.into_iter().filter(|(name, _)| !has(symptom, name)).collect::<Vec<_>>();
            symptom.evidence.extend(more);
        }
        None => add_findings(result, vec![exit]),
    }
}
