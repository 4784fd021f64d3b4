//! The life of one case, top to bottom: attempts, session, setup, preconditions, steps, teardown, scans, crash
//! attribution, known failures.
//!
//! Every function is called by one above it. Start reading in [`run`].

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep, timeout};

use super::case_result::{of_check, to_attempt};
use super::conversation::Conversation;
use super::ending::{EndedSession, OWN_WATCH, SessionEndReason, end};
use super::exchange::CaseSpeaker;
use super::opening::{OpenSession, SessionError, SessionOpening, open_beside};
use super::options::Stop;
use super::other_processes::run_with_control;
use super::pool::SessionUse;
use super::precondition::{precondition_failed, valid_call_refused};
use super::raw::expects_the_end;
use super::reuse::accepts_used_server;
use super::sessions::TargetSessions;
use super::snapshot::{self, SnapshotRecorder};
use super::suite_steps::tear_down_and_report;
use super::target::{CASE_TIMEOUT, RunTarget};
use super::verdict::{
    Notices, add_exit, after_teardown, apply_known_failures, badness, continues_after_restart, downgrade_should,
    explain_by_violations, join_parts, of_findings, skip_reason_of, skipped_by, with_notices, without_limited_steps,
    without_own_limits,
};
use super::witness::ValidCallError;
use super::{Options, SessionFrames, check, crash, finding, hang, injected, rerun, rounds};
use crate::carrier;
use crate::diagnosis;
use crate::event::{
    Attempt, CaseResult, CaseStarted, CheckResult, Event, FailureClass, Finding, Outcome, Phase, Reason,
};
use crate::fault::{Fault, FaultPlayer};
use crate::plan::arguments::ConfigSource;
use crate::plan::{Body, BoxFuture, Case, Script, SessionNeed};
use crate::session::OwnedViolation;
use crate::source::duration_text;
use crate::source::template::{Names, fill, from_json};
use crate::suite::{Action, Handshake, Order};
use crate::transport::Owner;
use crate::wire::{Frame, MAX_COMPARED_MEMORY};

/// The event that a case begins an attempt.
fn start_event(case: &Case, attempt: u32) -> Event {
    let row = case.row.as_ref().map(|row| format!("[{row}]")).unwrap_or_default();
    let (id, file) = (case.id.clone(), case.place.file.clone());
    Event::CaseStarted(CaseStarted { id, file, name: format!("{}{row}", case.name), attempt })
}

/// Runs a case, again if it may be retried or is to be repeated, and returns its result.
pub(crate) async fn run(sessions: Arc<TargetSessions>, case: Arc<Case>, options: Arc<Options>) -> CaseResult {
    let target = sessions.target.as_ref();
    let planned = target.suite_plan();
    let decided = |result| of_check(planned, &case, result, Vec::new());
    let result = match &case.body {
        Body::Skipped(reason) => return decided(CheckResult::because(Outcome::Skipped, (**reason).clone())),
        Body::Template(_) => return decided(CheckResult::because(Outcome::Skipped, Reason::NothingExpanded)),
        Body::Failed(mistake) => {
            let found = Finding { help: mistake.help.clone(), ..Finding::new(mistake.code, mistake.message.clone()) };
            let found = finding::at(found, &target.plan.sources, mistake.span, "");
            return decided(CheckResult::with_findings(Outcome::Failed, vec![found]));
        }
        Body::Check(check) => {
            target.emitter.event(start_event(&case, 1));
            let run = || -> BoxFuture<'_, CheckResult> {
                Box::pin(check::run_check(&sessions, &case, check.as_ref(), &options))
            };
            let checked = run_with_control(&sessions, &case, &run).await;
            let checked = hang::settle(target, &case, checked);
            decided(downgrade_should(&case, checked))
        }
        Body::Scan(codes) => decided(downgrade_should(&case, target.scan_results.check(codes))),
        Body::Script(script) => {
            snapshot::announce(&target.emitter, script);
            let timeout = options.timeout.or(planned.suite.options.timeout).unwrap_or(CASE_TIMEOUT);
            let retries = options.retries.unwrap_or(case.retries);
            let is_once = options.repeat <= 1 && retries == 0;
            let limits = CaseLimits { timeout, left: timeout, stop: &options.stop, turn: SessionUse::First, is_once };
            let owner = case.owner();
            let run = CaseRun { sessions: &sessions, target, case: &case, owner: &owner, script, limits, faults: None };
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

/// A case with everything that an attempt at it needs.
#[derive(Clone, Copy)]
pub(crate) struct CaseRun<'a> {
    pub(crate) sessions: &'a TargetSessions,
    pub(crate) target: &'a RunTarget,
    pub(crate) case: &'a Case,
    /// The owner of its messages.
    pub(crate) owner: &'a Owner,
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
    /// True if the case was counted on for this session.
    pub(crate) turn: SessionUse,
    /// True if the case is attempted once, however it ends.
    pub(crate) is_once: bool,
}

/// The result of a part of a script.
struct FinishedPart {
    result: CheckResult,
    /// The names that the part after it starts with; `None` if the script ends here.
    names: Option<Names>,
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
                return of_check(self.target.suite_plan(), self.case, result, earlier);
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
        let mut result = of_check(self.target.suite_plan(), self.case, shown, Vec::new());
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
        self.target.emitter.event(start_event(self.case, number));
        let run = self.with_turn(turn);
        let begun = Instant::now();
        let in_session = || -> BoxFuture<'_, CheckResult> {
            match self.case.session {
                SessionNeed::Shared => Box::pin(run.run_in_shared_session()),
                SessionNeed::InTurn => Box::pin(run.run_in_reused_session()),
                SessionNeed::Own => Box::pin(run.run_in_own_session()),
            }
        };
        let run_once = || -> BoxFuture<'_, CheckResult> {
            // Every attempt finds stores and fixtures as the suite has them.
            self.target.retire_stores(&self.case.id);
            match self.target.fixtures_of(self.case).filter(|_| !self.target.is_replayed) {
                None => in_session(),
                Some(fixtures) => Box::pin(async move {
                    match fixtures.prepare_path(&self.case.id).await {
                        Ok(_) => in_session().await,
                        Err(found) => CheckResult::unavailable(self.target.at_server(found)),
                    }
                }),
            }
        };
        let result = run_with_control(self.sessions, self.case, &run_once).await;
        let result = hang::settle(self.target, self.case, result);
        let is_generated = self.target.is_generated(self.case) || self.script.rounds.is_some();
        let result = if is_generated { without_own_limits(result) } else { result };
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
        let opened = match self.unless_stopped(self.sessions.shared.session(self.target)).await {
            Ok(opened) => opened,
            Err(error) => return without_session(error, self.limits.stop),
        };
        let begun = Instant::now();
        let mut result = self.run_script(&opened).await;
        let found = self.take_violations(&opened);
        if !found.is_empty() {
            self.note_violations(&mut result, &found, &opened.session.frames());
        }
        let again = self.with_turn(SessionUse::Again);
        let alone = Box::pin(again.run_in_own_session());
        let result = crash::rerun_to_attribute(self.sessions, self.case, &opened, result, alone).await;
        CheckResult { duration: begun.elapsed(), ..result }
    }

    /// Runs the script in sessions that nobody shares; every `restart` step begins another one.
    pub(crate) async fn run_in_own_session(&self) -> CheckResult {
        if !self.case.inject.is_empty() && self.faults.is_none() {
            let faults = Arc::new(FaultPlayer::new(self.case.inject.to_vec()).with_clock(carrier::clock));
            let result = Box::pin(CaseRun { faults: Some(&faults), ..*self }.run_in_own_session()).await;
            return if self.target.is_replayed {
                result
            } else {
                injected::judge(result, &faults, self.case, &self.target.plan.sources)
            };
        }
        let mut whole: Option<CheckResult> = None;
        let (mut rest, mut names) = (self.script.clone(), None);
        let mut run = *self;
        if self.case.handshake == Handshake::Skip {
            // The server starts while the case waits for its first answer.
            run.limits.left = run.limits.left.saturating_add(self.target.start_timeout());
        }
        loop {
            let mut opened = match run.unless_stopped(self.sessions.own(self.case, run.limits.turn, run.faults)).await {
                Ok(opened) => opened,
                Err(error) => return join_parts(whole.take(), without_session(error, run.limits.stop)),
            };
            if let Some(names) = names.take() {
                opened.names = names;
            }
            let begun = Instant::now();
            let (part, later) = split_at_restart(rest);
            let done = Box::pin(run.run_part(opened, &part, later.as_ref())).await;
            let result = join_parts(whole.take(), CheckResult { duration: begun.elapsed(), ..done.result });
            run.limits.left = run.limits.left.saturating_sub(begun.elapsed());
            match later {
                Some(later) if done.names.is_some() && continues_after_restart(result.outcome) => {
                    (rest, names, whole) = (later, done.names, Some(result));
                    run.limits.turn = SessionUse::Again;
                }
                _ => return result,
            }
        }
    }

    /// Runs the part of a script before a restart, or the last one, and ends its session or leaves it to the next case.
    async fn run_part(&self, opened: OpenSession, part: &Script, later: Option<&Script>) -> FinishedPart {
        let (target, case) = (self.target, self.case);
        let mut conversation = self.converse(&opened);
        let checked = self.with_timeout(&mut conversation, part).await;
        let goes_on = checked.outcome == Outcome::Passed && later.is_some();
        let names = goes_on.then(|| conversation.captured_names());
        let mut result = if goes_on {
            self.finish(conversation, checked, &opened)
        } else {
            self.with_teardown(conversation, checked, &opened).await
        };
        if !goes_on && target.sets_up_every_session() && self.case.handshake == Handshake::Perform {
            tear_down_and_report(target, &opened).await;
        }
        let frames = opened.session.frames();
        let mut found = self.take_violations(&opened);
        let has_passed = result.outcome == Outcome::Passed && found.is_empty() && self.faults.is_none();
        let is_reusable = has_passed && case.session == SessionNeed::InTurn && self.may_reuse();
        let ending = if is_reusable { self.leave(opened, &mut found).await } else { Some(opened) };
        // A broken message may be the fault's.
        if case.inject.iter().all(Fault::keeps_protocol) {
            self.note_violations(&mut result, &found, &frames);
        }
        let mut exit = None;
        if let Some(opened) = ending {
            exit = end(target, &opened.session, SessionEndReason::CaseOver(case)).await.exit;
        }
        // A step that expects the end, a restart, and an interrupt have reasons of their own.
        let may_end = self.faults.is_some_and(|faults| faults.has_ended()) || part.steps.iter().any(expects_the_end);
        if !goes_on && !self.limits.stop.is_set() && !may_end {
            let here = |found| finding::at(found, &target.plan.sources, case.span, "this case");
            add_exit(&mut result, exit.map(here));
        }
        FinishedPart { result, names }
    }

    /// Returns true if the case may run in a session that other cases have used, and leave it to the next. Sessions are
    /// told apart by the attempts at a case, which all have one each where there are several.
    fn may_reuse(&self) -> bool {
        self.limits.is_once && accepts_used_server(self.target.starts(), self.case.handshake)
    }

    /// Leaves the session in which the case passed for the next case; `None` if that is possible.
    async fn leave(&self, opened: OpenSession, found: &mut Vec<OwnedViolation>) -> Option<OpenSession> {
        let (violations, is_intact) = opened.session.settle(OWN_WATCH).await;
        if is_intact {
            self.sessions.reusable.give(opened);
            return None;
        }
        if !violations.is_empty() {
            let frames = opened.session.frames();
            found.extend(self.target.scan_results.take_unclaimed(
                Some(self.case),
                violations,
                &opened.session,
                &frames,
            ));
        }
        Some(opened)
    }

    /// Runs the script in a session that earlier cases left intact. A case that does not pass there runs again with a
    /// fresh server, and only that counts: no case answers for what another left behind.
    async fn run_in_reused_session(&self) -> CheckResult {
        let target = self.target;
        if !self.may_reuse() {
            return self.run_in_own_session().await;
        }
        let leased = self.sessions.reusable.take(target, self.case.handshake).await;
        let Some(opened) = leased.opened else { return self.run_in_own_session().await };
        let revision = opened.session.server.revision.to_string();
        let tried = match self.case.handshake {
            Handshake::Perform => self.run_in_free_session(opened).await,
            Handshake::Skip => self.run_beside_free_session(opened).await,
        };
        let ended = match tried {
            Ok(result) => return result,
            Err(ended) => *ended,
        };
        let again = self.with_turn(SessionUse::Again).run_in_own_session().await;
        let exit = ended.exit.filter(|_| !crash::has_ended_server(&again));
        // A rule that was broken is broken, whatever the case comes to with a fresh server, which may say so itself.
        let is_told = |found: &Finding| again.findings.iter().any(|known| known.code == found.code);
        let untold = ended.broken.into_iter().filter(|found| !is_told(found)).collect();
        target.scan_results.add_beside(Some(self.case), untold);
        target.report(&revision, exit.into_iter().chain(target.scan_results.take_beside(Some(self.case))));
        // After the frames of the case itself, which are the ones that count.
        ended.frames.into_iter().for_each(|frames| target.emitter.session(frames));
        again
    }

    /// Runs the script in a session that is free; an error proves nothing about the server.
    async fn run_in_free_session(&self, opened: OpenSession) -> Result<CheckResult, Box<EndedSession>> {
        let result = self.run_script(&opened).await;
        let (found, is_intact) = opened.session.settle(OWN_WATCH).await;
        let has_passed = result.outcome == Outcome::Passed && found.is_empty();
        if has_passed && is_intact {
            self.sessions.reusable.give(opened);
            return Ok(result);
        }
        let reason = if has_passed { SessionEndReason::ReusedAndPassed } else { SessionEndReason::ReusedAndFailed };
        let mut ended = end(self.target, &opened.session, reason).await;
        ended.violations.extend(found);
        let is_clean = has_passed && ended.exit.is_none() && ended.violations.is_empty();
        if is_clean || self.limits.stop.is_set() {
            ended.frames.take().into_iter().for_each(|frames| self.target.emitter.session(frames));
            return Ok(result);
        }
        Err(Box::new(ended.with_broken_rules(self.target, self.case, &opened.session)))
    }

    /// Runs the script without a handshake against the server of a session that is free.
    async fn run_beside_free_session(&self, host: OpenSession) -> Result<CheckResult, Box<EndedSession>> {
        let (target, case) = (self.target, self.case);
        let names = case.all_names();
        let Ok(session) = open_beside(target, &host.session, SessionOpening::of_case(case, &names)).await else {
            return Err(Box::new(end(target, &host.session, SessionEndReason::ReusedAndFailed).await));
        };
        let guest = OpenSession { session, names: host.names.clone() };
        let result = self.run_script(&guest).await;
        sleep(OWN_WATCH).await;
        let (found, _) = guest.session.settle(OWN_WATCH).await;
        let mut ended = end(target, &guest.session, SessionEndReason::ReusedAndPassed).await;
        ended.violations.extend(found);
        let is_clean = ended.violations.is_empty() && host.session.is_open();
        if result.outcome == Outcome::Passed && is_clean {
            let frames = ended.frames.take().into_iter();
            frames.for_each(|frames| target.emitter.session(SessionFrames { case: Some(case.id.clone()), ..frames }));
            self.sessions.reusable.give(host);
            return Ok(result);
        }
        let broken = ended.with_broken_rules(target, case, &guest.session).broken;
        let mut ended = end(target, &host.session, SessionEndReason::ReusedAndFailed).await;
        if self.limits.stop.is_set() {
            ended.frames.take().into_iter().for_each(|frames| target.emitter.session(frames));
            return Ok(result);
        }
        let mut ended = ended.with_broken_rules(target, case, &host.session);
        ended.broken.extend(broken);
        Err(Box::new(ended))
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
        let (target, case) = (self.target, self.case);
        if target.is_generated(case) || self.script.rounds.is_some() {
            opened.session.limit_answers(self.owner, MAX_COMPARED_MEMORY);
        }
        let mut names = opened.names.clone();
        names.extend(case.all_names());
        // Tokens stand in the environment.
        if let Some(hints) = names.get("hints").map(|hints| from_json(hints, case.span))
            && let Ok(filled) = fill(&hints, &names)
        {
            names.insert("hints".to_owned(), filled.to_json());
        }
        if let Some(fixtures) = target.fixtures_of(case) {
            let path = fixtures.path_of(None, self.owner).display().to_string();
            names.insert("fixture".to_owned(), path.into());
        }
        super::names::fill_given_arguments(&mut names, target.suite());
        let speaker = CaseSpeaker { session: &opened.session, owner: self.owner, catalog: target.known_catalog() };
        let recorder = Some(SnapshotRecorder {
            emitter: &target.emitter,
            planned: target.suite_plan(),
            case,
            has_recorded: false,
        });
        let config_source = ConfigSource::of(target.suite());
        let given = [target.names.as_ref().ok(), Some(&*case.offered), Some(&case.names)];
        let history = target.history.as_ref();
        let is_derived = case.is_derived || case.rule.is_some();
        Conversation {
            is_derived,
            recorder,
            config_source,
            history,
            given,
            has_captured: target.names.as_ref().is_ok_and(|own| opened.names.len() > own.len()),
            faults: self.faults,
            ..Conversation::new(speaker, names, target)
        }
    }

    /// Checks a script within its time, unless the run is stopped.
    async fn with_timeout(&self, conversation: &mut Conversation<'_>, script: &Script) -> CheckResult {
        let left = self.limits.left;
        let in_time = tokio::select! {
            checked = timeout(rounds::time_limit(script, left), self.check(conversation, script)) => checked.ok(),
            () = self.limits.stop.wait() => return CheckResult::because(Outcome::Inconclusive, self.limits.stop.reason()),
        };
        in_time.unwrap_or_else(|| self.timed_out(conversation))
    }

    /// Runs setup, preconditions, the valid call and the steps; the first that goes wrong decides.
    async fn check(&self, conversation: &mut Conversation<'_>, script: &Script) -> CheckResult {
        conversation.rounds.clone_from(&script.rounds);
        if let Err(found) = conversation.all(Phase::Setup, &script.setup).await {
            return skipped_by(&found).unwrap_or_else(|| CheckResult {
                reason: Some(Reason::SetupFailed),
                ..CheckResult::with_findings(Outcome::Errored, found)
            });
        }
        if let Err(found) = conversation.all(Phase::Precondition, &script.preconditions).await {
            return skipped_by(&found).unwrap_or_else(|| {
                let last = conversation.exchanges.last().map(|exchange| exchange.received.as_str());
                precondition_failed(&found, &script.preconditions, last.unwrap_or_default())
            });
        }
        match conversation.run_witness(&script.witness).await {
            Err(ValidCallError::Refused(refusal)) => {
                let Conversation { config_source, sources, .. } = conversation;
                return valid_call_refused(*refusal, script.must_serve, *config_source, sources, self.case.span);
            }
            Err(ValidCallError::Unanswered(found)) => {
                return of_findings(vec![finding::at(*found, conversation.sources, self.case.span, "this case")]);
            }
            Err(ValidCallError::Hangs(why)) => return CheckResult::because(Outcome::Inconclusive, why),
            Ok(found) if !found.is_empty() => return CheckResult::with_findings(Outcome::Failed, found),
            Ok(_) => {}
        }
        if let Some(rounds) = &script.rounds {
            let checked = Box::pin(rounds::run(conversation, rounds, &script.steps, self.limits.left)).await;
            return conversation.with_cure_for_refusal(checked);
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
        let unanswered = conversation.unanswered_exchange();
        if let Some(at) = unanswered {
            conversation.find_request(at);
        }
        let found = Finding { exchange: unanswered, ..Finding::failure(FailureClass::Timeout, message) }
            .with_evidence("server", alive)
            .with_evidence("stderr", conversation.speaker.session.stderr_tail().join("\n"));
        let found = finding::at(found, conversation.sources, self.case.span, "this case");
        if let Some(at) = unanswered {
            conversation.note_wait(at);
        }
        let earlier = std::mem::take(&mut conversation.broken);
        CheckResult::with_findings(Outcome::Failed, earlier.into_iter().chain([found]).collect())
    }

    /// Runs the teardown whatever happened; its own failure is reported and hides nothing.
    async fn with_teardown<'a>(
        &self,
        mut conversation: Conversation<'a>,
        mut result: CheckResult,
        opened: &'a OpenSession,
    ) -> CheckResult {
        if !self.script.teardown.is_empty() && opened.session.is_open() {
            result = after_teardown(result, Box::pin(self.tear_down(&mut conversation)).await);
        }
        self.finish(conversation, result, opened)
    }

    async fn tear_down(&self, conversation: &mut Conversation<'_>) -> Vec<Finding> {
        let torn_down = self
            .limits
            .stop
            .with_limit(self.limits.timeout, conversation.every(Phase::Teardown, &self.script.teardown))
            .await;
        let found = torn_down.unwrap_or_else(|limit| {
            vec![Finding::failure(FailureClass::Timeout, format!("teardown took longer than {}", duration_text(limit)))]
        });
        // A step of the case that was skipped changed nothing, so there is nothing to put back.
        let failed = found.into_iter().filter(|found| skip_reason_of(found).is_none());
        failed.map(|found| Finding { message: format!("in teardown: {}", found.message), ..found }).collect()
    }

    /// The result with everything that the conversation noticed.
    fn finish(&self, conversation: Conversation<'_>, result: CheckResult, opened: &OpenSession) -> CheckResult {
        // A case that stands for one rule has its own to report.
        let unflagged = conversation.unflagged.into_values().filter(|_| self.case.rule.is_none());
        let notices = Notices {
            warnings: conversation.warnings,
            unflagged: unflagged.collect(),
            inconclusive_reason: conversation.inconclusive_reason,
            has_recorded: conversation.recorder.as_ref().is_some_and(|recorder| recorder.has_recorded),
        };
        let mut result = without_limited_steps(with_notices(result, notices), conversation.limited);
        result.exchanges = conversation.exchanges;
        result.protocol_revision = opened.session.server.revision.to_string();
        result.frames = opened.session.frames_of(self.owner);
        result
    }

    /// Takes note of violations: one that a failure of the case comes from explains it, and others are the server's.
    fn note_violations(&self, result: &mut CheckResult, found: &[OwnedViolation], frames: &[Frame]) {
        if found.is_empty() {
            return;
        }
        let found = diagnosis::of_violations(found, frames);
        let others = explain_by_violations(&mut result.findings, found);
        self.target.scan_results.add_beside(Some(self.case), others);
    }

    /// Takes the violations that the scans found during the case and that no other case reports.
    fn take_violations(&self, opened: &OpenSession) -> Vec<OwnedViolation> {
        let found = opened.session.take_violations(self.owner);
        if found.is_empty() {
            return found;
        }
        self.target.scan_results.take_unclaimed(Some(self.case), found, &opened.session, &opened.session.frames())
    }
}

/// The result of a case that got no session.
pub(crate) fn without_session(error: SessionError, stop: &Stop) -> CheckResult {
    match error {
        SessionError::NotApplicable(reason) => CheckResult::because(Outcome::Skipped, reason),
        SessionError::Interrupted => CheckResult::because(Outcome::Inconclusive, stop.reason()),
        SessionError::Broken(found) => CheckResult::unavailable(*found),
    }
}

/// The part of a script before its first `restart`, and the part after it.
fn split_at_restart(mut script: Script) -> (Script, Option<Script>) {
    let Some(at) = script.steps.iter().position(|step| matches!(step.action, Action::Restart)) else {
        return (script, None);
    };
    let mut later = script.steps[at + 1..].to_vec();
    later.iter_mut().take(1).for_each(|step| step.heals |= script.steps[at].heals);
    script.steps = script.steps[..at].into();
    (script, Some(Script { steps: later.into(), ..Script::default() }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::generated::bare;
    use crate::source::{SourceFile, Sources, Span};
    use crate::suite::Step;

    #[test]
    fn a_script_is_split_at_its_first_restart() {
        let mut sources = Sources::default();
        let source = sources.add(SourceFile::new("s.yml", ""));
        let step = |action| bare(action, Span { source, start: 0, end: 0 });
        let (alive, restart) = (|| step(Action::Alive), || step(Action::Restart));
        let healing = || Step { heals: true, ..restart() };
        for (what, steps, first, later, heals) in [
            ("no restart", vec![alive(), alive()], 2, None, false),
            ("in the middle", vec![alive(), restart(), alive(), alive()], 1, Some(2), false),
            ("at the end", vec![alive(), restart()], 1, Some(0), false),
            ("two of them", vec![restart(), alive(), restart(), alive()], 0, Some(3), false),
            ("faults end with it", vec![alive(), healing(), alive()], 1, Some(1), true),
        ] {
            let (before, after) = split_at_restart(Script { steps: steps.into(), ..Script::default() });
            assert_eq!((before.steps.len(), after.as_ref().map(|after| after.steps.len())), (first, later), "{what}");
            let is_healed = after.is_some_and(|after| after.steps.first().is_some_and(|step| step.heals));
            assert_eq!(is_healed, heals, "{what}");
        }
    }
}
