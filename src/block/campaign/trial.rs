//! One case of a campaign: sessions in which faults strike calls of a tool, and what reading shows afterwards.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::Campaign;
use super::clean::CleanStates;
use super::comparison::{CleanRun, StateComparison};
use super::effect::{EffectCount, ExpectedEffect, ToolNature};
use super::fault_kind::{FaultKind, StruckCall, StruckEnding};
use super::subject::CampaignSubject;
use crate::check::evidence::{finding_with_help, valid_call_refused};
use crate::check::shown_state::{CLOCK, ShownState, StateView};
use crate::check::{CheckEnd, CheckLimits, StepRun};
use crate::event::{Exchange, FailureClass, Finding, FindingKind};
use crate::fault::FaultPlayer;
use crate::plan::arguments::ConfigSource;
use crate::plan::generated::bare;
use crate::plan::{CheckContext, CloseServer, OpenServer, StepOutcome};
use crate::session::Session;
use crate::source::template::Names;
use crate::suite::{Action, Cancel, CancelWhen, Step};
use crate::transport::{FirstSignal, ShutdownOrder};
use crate::wire::is_served;

/// The least time for which a client waits for an answer that a fault may have lost.
const LEAST_TIMEOUT: Duration = Duration::from_millis(500);

/// The factor by which a client waits longer than a clean call takes.
const PATIENCE: u32 = 4;

/// The time in which a state may become what it must be.
const SETTLING: Duration = Duration::from_secs(1);
const POLLING: Duration = Duration::from_millis(100);

/// The number of calls after the faults, until one is served.
const MOST_ATTEMPTS: usize = 10;

/// The number of starts of a server that was killed, and the pause between them.
const STARTS: usize = 3;
const RESTART_PAUSE: Duration = Duration::from_secs(1);

/// The time in which a server must end by itself.
const SHUTDOWN_GRACE: Duration = Duration::from_secs(2);

/// A case under way.
pub(crate) struct CampaignTrial<'a> {
    pub(crate) run: StepRun<'a>,
    pub(crate) campaign: &'a Campaign,
    pub(crate) subject: &'a CampaignSubject,
    /// The way to the state that the server shows.
    pub(crate) view: StateView<'a>,
    /// The captures of the last session, for the teardown.
    captured: Names,
}

/// Faults that strike calls in a row, and what the call does without them.
#[derive(Clone, Copy)]
struct StruckSet<'a> {
    kinds: &'a [FaultKind],
    clean: &'a CleanStates,
    player: &'a Arc<FaultPlayer>,
}

/// The end of calls that were struck.
#[derive(Debug)]
pub(crate) enum StruckEnd {
    /// The server still answers what reads its state.
    Read(Box<StruckRun>),
    /// It ended, or does not answer.
    Silent(Box<SilentServer>),
}

/// A server that answers no more.
#[derive(Debug)]
pub(crate) struct SilentServer {
    pub(crate) found: Finding,
    /// It does not start any more either.
    pub(crate) is_final: bool,
    pub(crate) exchanges: Vec<Exchange>,
}

impl StruckEnd {
    /// Changes were compared, since data outlives the server.
    pub(crate) fn is_of_changes(&self) -> bool {
        match self {
            Self::Read(run) => run.compared.is_of_changes(),
            Self::Silent(_) => false,
        }
    }

    /// A correct server does not end so.
    pub(crate) fn is_broken(&self) -> bool {
        match self {
            Self::Read(run) => !run.is_sound || run.recovered.is_none(),
            Self::Silent(_) => true,
        }
    }
}

/// The outcomes of calls that were struck.
#[derive(Debug)]
pub(crate) struct StruckRun {
    pub(crate) state: ShownState,
    pub(crate) compared: StateComparison,
    /// The server had answered a call with a success before it was killed.
    pub(crate) is_confirmed: bool,
    pub(crate) expected: ExpectedEffect,
    pub(crate) count: EffectCount,
    /// The state is as it may be.
    pub(crate) is_sound: bool,
    /// The time from the end of the faults to the first answer; `None` where none came.
    pub(crate) recovered: Option<Duration>,
    /// The changes by the faults, one line each.
    pub(crate) strikes: Vec<String>,
    /// The names of faults that changed nothing, since a cancelled call was not answered.
    pub(crate) idle: BTreeSet<String>,
    /// The calls.
    pub(crate) exchanges: Vec<Exchange>,
}

impl<'a> CampaignTrial<'a> {
    pub(crate) fn new(context: &'a CheckContext<'a>, campaign: &'a Campaign, subject: &'a CampaignSubject) -> Self {
        let limits = CheckLimits::new(campaign.max_time, "raise `max_time`");
        let limits = limits.with_shared_budget(&campaign.log.calls, campaign.calls, "raise `calls`");
        let view = StateView::new(context, limits.clone(), subject.readers(context));
        Self { run: StepRun::new(context, limits), campaign, subject, view, captured: Names::new() }
    }

    /// The effect of the call without faults, which is found out once for each tool.
    pub(crate) async fn clean(&mut self) -> Result<&'a CleanStates, CheckEnd> {
        let subject = self.subject;
        let known = subject.clean.get_or_init(|| self.learn()).await;
        known.as_ref().map_err(Clone::clone)
    }

    /// Makes the call twice in each of two sessions.
    async fn learn(&mut self) -> Result<CleanStates, CheckEnd> {
        let first = self.clean_run().await?;
        // Clocks that count seconds are seen to go on.
        sleep(CLOCK).await;
        let second = self.clean_run().await?;
        CleanStates::of_runs([first, second], &self.subject.tool, self.subject.nature)
    }

    /// Makes the call twice in a session of its own.
    pub(crate) async fn clean_run(&mut self) -> Result<CleanRun, CheckEnd> {
        let session = self.open(OpenServer::FRESH).await?;
        let run = self.look_at_clean_calls(&session).await;
        self.end_with(session, run).await
    }

    async fn look_at_clean_calls(&mut self, session: &Session) -> Result<CleanRun, CheckEnd> {
        let names = self.prepare(session).await?;
        let before = self.read_twice(session).await?;
        let first = self.ask(session, &self.subject.call, &names).await?;
        let elapsed = Duration::from_micros(first.exchange.elapsed_us);
        match &first.answer {
            Ok(answer) if is_served(answer) => {}
            // A control that is refused is none.
            Ok(_) if self.subject.nature == ToolNature::Reads => {
                let why = format!("the call of `{}` is refused without any fault", self.subject.tool);
                return Err(CheckEnd::not_applicable(why));
            }
            Ok(_) => {
                let tool = &self.subject.tool;
                let help = ConfigSource::of(self.run.context.suite).help_to_give_arguments(tool);
                let answer = first.exchange.received.clone();
                return Err(CheckEnd::Inconclusive(valid_call_refused(tool, answer, help)));
            }
            Err(found) => return Err(unusable(found)),
        }
        let once = self.read_twice(session).await?;
        // Refusing what is done already is no fault.
        let again = self.ask(session, &self.subject.call, &names).await?;
        let serves_again = is_served(again.answer.as_ref().map_err(unusable)?);
        let twice = self.read_state(session).await?;
        Ok(CleanRun { before, once, twice, serves_again, elapsed })
    }

    /// The effect of a call is still there after a clean end of its server and a new start.
    pub(crate) async fn outlives_server(&mut self, clean: &CleanStates) -> Result<bool, CheckEnd> {
        if let Some(is_durable) = self.campaign.durable {
            return Ok(is_durable);
        }
        let subject = self.subject;
        subject.outlives.get_or_init(|| self.try_clean_restart(clean)).await.clone()
    }

    async fn try_clean_restart(&mut self, clean: &CleanStates) -> Result<bool, CheckEnd> {
        let session = self.open(OpenServer::FRESH).await?;
        let called = self.call_cleanly(&session, clean).await;
        self.shut_down(&session).await;
        let compared = called?;
        let state = self.settled_state_of_next_run(&compared, ExpectedEffect::Once, clean).await?;
        // Data that a call removes is gone with a store in memory as well.
        Ok(is_kept(&compared, &state, &self.subject.tool)? && self.keeps_earlier_state(clean).await?)
    }

    /// The state before a call outlives a clean end of the server; also where nobody can tell.
    async fn keeps_earlier_state(&mut self, clean: &CleanStates) -> Result<bool, CheckEnd> {
        let session = self.open(OpenServer::FRESH).await?;
        let begun = match self.prepare(&session).await {
            Ok(_) => self.read_state(&session).await,
            Err(end) => Err(end),
        };
        self.shut_down(&session).await;
        let begun = begun?;
        let Some(compared) = clean.compare_changes(&begun).or_else(|| clean.compare(&begun)) else { return Ok(true) };
        let state = self.settled_state_of_next_run(&compared, ExpectedEffect::Never, clean).await?;
        Ok(compared.allows(&state, ExpectedEffect::Never))
    }

    async fn shut_down(&self, session: &Session) {
        let order = ShutdownOrder { first: FirstSignal::EndOfInput, grace: SHUTDOWN_GRACE };
        self.run.context.servers.close(session, CloseServer::Shutdown(order)).await;
    }

    async fn settled_state_of_next_run(
        &mut self,
        compared: &StateComparison,
        expected: ExpectedEffect,
        clean: &CleanStates,
    ) -> Result<ShownState, CheckEnd> {
        let session = self.open(OpenServer::FRESH).await?;
        let state = self.settled_state(&session, compared, expected, clean.elapsed).await;
        self.end_with(session, state).await
    }

    async fn call_cleanly(&mut self, session: &Session, clean: &CleanStates) -> Result<StateComparison, CheckEnd> {
        let names = self.prepare(session).await?;
        let before = self.read_state(session).await?;
        let compared = self.compare(clean, &before)?;
        let called = self.ask(session, &self.subject.call, &names).await?;
        called.answer.as_ref().map_err(unusable)?;
        let state = self.read_state(session).await?;
        if compared.allows(&state, ExpectedEffect::Once) { Ok(compared) } else { Err(self.begins_elsewhere()) }
    }

    /// The comparison of the states of a session that begins with this one: by changes where data is known to outlive the
    /// server, since others may write to the same store.
    fn compare(&self, clean: &CleanStates, begun: &ShownState) -> Result<StateComparison, CheckEnd> {
        let outlives = matches!(self.subject.outlives.get(), Some(Ok(true)));
        let changes = if outlives { clean.compare_changes(begun) } else { None };
        changes.or_else(|| clean.compare(begun)).ok_or_else(|| self.begins_elsewhere())
    }

    fn begins_elsewhere(&self) -> CheckEnd {
        CheckEnd::inconclusive(format!(
            "the server does not begin as it did without faults, so what is read after calls of `{}` says nothing; remove \
             what earlier calls wrote in `setup` and `teardown`",
            self.subject.tool
        ))
    }

    /// The call that a fault strikes in a set of them, as one of that number.
    pub(crate) fn struck_call_at<'s>(&'s self, at: usize, kinds: &[FaultKind], clean: &CleanStates) -> StruckCall<'s> {
        StruckCall {
            tool: &self.subject.tool,
            number: at + 1,
            timeout: self.timeout(clean),
            is_counted_across_sessions: kinds.iter().any(|kind| kind.kills()),
        }
    }

    /// Strikes one call with each of these faults in turn, ends the faults, and looks what the server has done.
    pub(crate) async fn strike(&mut self, kinds: &[FaultKind], clean: &CleanStates) -> Result<StruckEnd, CheckEnd> {
        let span = self.subject.call.span;
        let faults = kinds.iter().enumerate();
        let faults = faults.flat_map(|(at, kind)| kind.faults(self.struck_call_at(at, kinds, clean), span)).collect();
        let player = Arc::new(FaultPlayer::new(faults));
        // Setup, and what is read before the calls, are not struck.
        player.heal();
        let mut session = self.open(OpenServer { faults: Some(&player), ..OpenServer::FRESH }).await?;
        let first = self.run.log.exchanges().len();
        let struck = self.strike_in(&mut session, StruckSet { kinds, clean, player: &player }).await;
        if matches!(&struck, Err(CheckEnd::Failed(_)) | Ok(StruckEnd::Silent(_))) {
            session.mark_exit_reported();
        }
        let exit = self.end(session).await;
        let exchanges = self.run.log.exchanges()[first..].to_vec();
        let silent = |found: Finding, is_final: bool| {
            let found = found.with_evidence("injected", strikes(&player).join("\n"));
            StruckEnd::Silent(Box::new(SilentServer { found, is_final, exchanges: exchanges.clone() }))
        };
        match (struck, exit) {
            (Err(CheckEnd::Failed(mut found)), _) if !found.is_empty() => Ok(silent(found.remove(0), false)),
            (Err(end), _) => Err(end),
            (Ok(StruckEnd::Silent(end)), _) => Ok(silent(end.found, end.is_final)),
            (Ok(StruckEnd::Read(_)), Some(found)) => Ok(silent(found, false)),
            (Ok(StruckEnd::Read(run)), None) => Ok(StruckEnd::Read(Box::new(StruckRun { exchanges, ..*run }))),
        }
    }

    async fn strike_in(&mut self, session: &mut Session, struck: StruckSet<'_>) -> Result<StruckEnd, CheckEnd> {
        let StruckSet { kinds, clean, player } = struck;
        let names = self.prepare(session).await?;
        let before = self.read_state(session).await?;
        let compared = self.compare(clean, &before)?;
        player.resume();
        let mut end_of_faults = Instant::now();
        for (at, kind) in kinds.iter().enumerate() {
            let step = self.struck_call(*kind, clean);
            end_of_faults = Instant::now() + kind.stands_still(self.timeout(clean));
            let outcome = self.ask(session, &step, &names).await?;
            end_of_faults = end_of_faults.max(Instant::now());
            if kind.kills() {
                if let Some(found) = self.restart(session, player, *kind).await? {
                    let exchanges = Vec::new();
                    return Ok(StruckEnd::Silent(Box::new(SilentServer { found, is_final: true, exchanges })));
                }
            } else if let Err(found) = outcome.answer
                && found.class == Some(FailureClass::ProcessExited)
            {
                return Err(CheckEnd::failed(found));
            }
            if *kind == FaultKind::Pause && at + 1 < kinds.len() {
                self.ask(session, &bare(Action::Alive, step.span), &names).await?;
            }
        }
        player.heal();
        let is_confirmed = kinds.last().is_some_and(|kind| *kind == FaultKind::Kill)
            && player.calls().iter().rfind(|call| call.is_struck).is_some_and(|call| call.is_confirmed);
        let idle: BTreeSet<String> = player.idle().into_iter().map(str::to_owned).collect();
        if let Some(kind) = needed_idle(kinds, &idle) {
            let name = kind.as_str();
            return Err(CheckEnd::inconclusive(format!("the fault `{name}` changed nothing, so nothing follows")));
        }
        let recovered = self.recover(session, &names, struck, end_of_faults).await?;
        let expected = expected_effect(self.subject.nature, kinds, is_confirmed);
        let state = self.settled_state(session, &compared, expected, clean.elapsed).await?;
        let is_sound = compared.allows(&state, expected);
        let count = compared.count(&state, self.subject.nature);
        let (strikes, exchanges) = (strikes(player), Vec::new());
        let run =
            StruckRun { state, compared, is_confirmed, expected, count, is_sound, recovered, strikes, idle, exchanges };
        Ok(StruckEnd::Read(Box::new(run)))
    }

    /// Starts a server again that was killed; the finding says why it does not start any more.
    async fn restart(
        &mut self,
        session: &mut Session,
        player: &Arc<FaultPlayer>,
        kind: FaultKind,
    ) -> Result<Option<Finding>, CheckEnd> {
        // Nothing of it may be left beside the new one.
        session.kill().await;
        session.mark_exit_reported();
        let mut attempts = 1;
        let started = loop {
            self.run.limits.spend(0)?;
            match self.run.context.servers.open(OpenServer { faults: Some(player), ..OpenServer::FRESH }).await {
                Ok(started) => break started,
                // One that hangs has had the whole time of a start.
                Err(found) if found.kind() == FindingKind::Hang || attempts == STARTS => {
                    let message =
                        format!("after `{}` the server does not start any more: {}", kind.as_str(), found.message);
                    let help = "handle half-written files and stale lock files at startup";
                    return Ok(Some(finding_with_help("not-recovered", message, help)));
                }
                Err(_) => sleep(RESTART_PAUSE).await,
            }
            attempts += 1;
        };
        let killed = std::mem::replace(session, started);
        self.run.context.servers.close(&killed, CloseServer::AfterTeardown).await;
        Ok(None)
    }

    /// The client makes the call once more after the faults.
    pub(crate) fn is_repeated(&self, kinds: &[FaultKind]) -> bool {
        is_repeated(self.subject.nature, kinds)
    }

    /// The time for which the client waits for an answer to a struck call.
    pub(crate) fn timeout(&self, clean: &CleanStates) -> Duration {
        patience(clean.elapsed, self.run.context.request_timeout)
    }

    /// A step that reads the state.
    pub(crate) fn reading_step(&self) -> Step {
        let span = self.subject.call.span;
        bare(self.view.readers().first().map_or(Action::Alive, |reader| reader.action(span)), span)
    }

    /// The time after which the client cancels a call whose answer comes late: in the middle of it.
    pub(crate) fn cancels_after(clean: &CleanStates) -> Duration {
        let half = u64::try_from(clean.elapsed.as_millis() / 2).unwrap_or(u64::MAX);
        Duration::from_millis(half.max(20))
    }

    /// The call that a fault strikes.
    fn struck_call(&self, kind: FaultKind, clean: &CleanStates) -> Step {
        let timeout = self.timeout(clean);
        let call = Step { timeout: Some(timeout), ..self.subject.call.clone() };
        match kind.ending() {
            StruckEnding::Unanswered | StruckEnding::Answered => call,
            StruckEnding::Cancelled => {
                let when = CancelWhen::After(Self::cancels_after(clean));
                Step { cancel: Some(Box::new(Cancel { when, reason: None, watch: POLLING })), ..call }
            }
        }
    }

    /// Calls until the server answers again: the tool where the client would, else a reader.
    async fn recover(
        &mut self,
        session: &Session,
        names: &Names,
        struck: StruckSet<'_>,
        end_of_faults: Instant,
    ) -> Result<Option<Duration>, CheckEnd> {
        let StruckSet { kinds, clean, .. } = struck;
        let is_repeated = self.is_repeated(kinds);
        let step = if is_repeated { self.subject.call.clone() } else { self.reading_step() };
        // A call that may be made once is tried once.
        let is_once = is_repeated && !self.subject.nature.may_be_repeated();
        let mut answered = None;
        for attempt in 0..if is_once { 1 } else { MOST_ATTEMPTS } {
            if attempt > 0 {
                sleep(POLLING).await;
            }
            let begun = Instant::now();
            let outcome = self.ask(session, &step, names).await?;
            let answered_at = begun + Duration::from_micros(outcome.exchange.elapsed_us);
            let took = answered_at.saturating_duration_since(end_of_faults);
            match outcome.answer {
                Ok(answer) if is_served(&answer) => return Ok(Some(took)),
                // A call that is done already may be refused, as it is without faults.
                Ok(_) if !clean.serves_again => return Ok(Some(took)),
                Ok(_) => drop(answered.get_or_insert(took)),
                Err(found) if found.class == Some(FailureClass::ProcessExited) => {
                    return Err(CheckEnd::failed(found));
                }
                Err(_) => {}
            }
        }
        Ok(answered)
    }

    /// The state, as soon as it is as it may be, or in the end.
    async fn settled_state(
        &mut self,
        session: &Session,
        compared: &StateComparison,
        expected: ExpectedEffect,
        elapsed: Duration,
    ) -> Result<ShownState, CheckEnd> {
        let until = Instant::now() + SETTLING + elapsed * PATIENCE;
        loop {
            let state = self.read_state(session).await?;
            if compared.allows(&state, expected) || Instant::now() >= until {
                return Ok(state);
            }
            sleep(POLLING).await;
        }
    }

    /// A fresh server with the suite's setup.
    async fn open(&mut self, request: OpenServer<'_>) -> Result<Session, CheckEnd> {
        self.run.limits.spend(0)?;
        self.run.open(request).await.map_err(CheckEnd::unavailable)
    }

    /// Does what the test does before the call; returns what it learned.
    async fn prepare(&mut self, session: &Session) -> Result<Names, CheckEnd> {
        let mut names = self.subject.names.clone();
        self.captured.clear();
        let subject = self.subject;
        for step in subject.setup.iter().chain(&subject.before) {
            let done = self.ask(session, step, &names).await?;
            done.answer.as_ref().map_err(unusable)?;
            names = done.names;
        }
        Ok(names)
    }

    /// Undoes what the test did, and ends the server; the finding tells of one that had ended by itself.
    async fn end(&mut self, session: Session) -> Option<Finding> {
        let mut names = self.subject.names.clone();
        names.extend(std::mem::take(&mut self.captured));
        for step in &self.subject.teardown {
            if session.is_open() {
                self.run.context.steps.run(&session, step, &names).await;
            }
        }
        self.run.context.servers.close(&session, CloseServer::AfterTeardown).await.exit
    }

    /// Ends the server, with what was seen in its session if it had not ended by itself.
    async fn end_with<T>(&mut self, session: Session, seen: Result<T, CheckEnd>) -> Result<T, CheckEnd> {
        let exit = self.end(session).await;
        let seen = seen?;
        exit.map_or(Ok(seen), |found| Err(CheckEnd::failed(found)))
    }

    async fn ask(&mut self, session: &Session, step: &Step, names: &Names) -> Result<StepOutcome, CheckEnd> {
        let outcome = self.run.step(session, step, names).await?.outcome;
        self.captured.extend(outcome.names.clone());
        Ok(outcome)
    }

    async fn read_twice(&mut self, session: &Session) -> Result<[ShownState; 2], CheckEnd> {
        Ok([self.read_state(session).await?, self.read_state(session).await?])
    }

    async fn read_state(&mut self, session: &Session) -> Result<ShownState, CheckEnd> {
        let limits = &self.run.limits;
        limits.spend(self.view.readers().len())?;
        let state = self.view.observe(session).await;
        match state.failure() {
            None => Ok(state),
            Some(exit) if exit.class == Some(FailureClass::ProcessExited) => Err(CheckEnd::failed(exit.clone())),
            Some(_) if limits.is_over() => Err(limits.out_of_time()),
            Some(failure) => {
                let message = format!("the server does not answer what reads its state: {}", failure.message);
                Err(CheckEnd::failed(Finding { message, ..failure.clone() }))
            }
        }
    }
}

/// The time for which a client waits where a clean call takes that long, in whole milliseconds, as suites write it.
fn patience(elapsed: Duration, most: Duration) -> Duration {
    let timeout = LEAST_TIMEOUT.max(elapsed * PATIENCE).min(most);
    Duration::from_millis(u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX))
}

/// A state after a clean end and a new start still shows the effect of a call; `Err` where it shows something else.
fn is_kept(compared: &StateComparison, state: &ShownState, tool: &str) -> Result<bool, CheckEnd> {
    let is_kept = compared.allows(state, ExpectedEffect::Once);
    if !is_kept && !compared.allows(state, ExpectedEffect::Never) {
        return Err(CheckEnd::inconclusive(format!(
            "after a clean end and a new start the server shows neither the state before a call of `{tool}` nor that after \
             it"
        )));
    }
    Ok(is_kept)
}

/// The first fault without which nothing follows, and which changed nothing. A call that was cancelled need not be
/// answered, and then no answer comes late.
fn needed_idle(kinds: &[FaultKind], idle: &BTreeSet<String>) -> Option<FaultKind> {
    let is_needed = |at: usize, kind: FaultKind| {
        kind.ending() != StruckEnding::Cancelled && idle.contains(&kind.fault_name(at + 1))
    };
    kinds.iter().copied().enumerate().find(|(at, kind)| is_needed(*at, *kind)).map(|(_, kind)| kind)
}

/// The number of times that the effect may show after calls with these faults, and after what the client does then.
fn expected_effect(nature: ToolNature, kinds: &[FaultKind], is_confirmed: bool) -> ExpectedEffect {
    match nature {
        ToolNature::Reads => ExpectedEffect::Never,
        ToolNature::Idempotent | ToolNature::Plain if is_confirmed || is_repeated(nature, kinds) => {
            ExpectedEffect::Once
        }
        ToolNature::Idempotent | ToolNature::Plain => ExpectedEffect::AtMostOnce,
    }
}

/// The client makes the call once more after the faults: it may, or the server has not got it. A call that a killed server
/// has confirmed is not made again.
fn is_repeated(nature: ToolNature, kinds: &[FaultKind]) -> bool {
    let is_confirmed = kinds.iter().all(|kind| *kind == FaultKind::Kill);
    nature.may_be_repeated() && !is_confirmed || !kinds.iter().any(|kind| kind.reaches_server())
}

fn unusable(found: &Finding) -> CheckEnd {
    CheckEnd::inconclusive(format!("without any fault: {}", found.message))
}

/// The changes by faults, one line each.
fn strikes(player: &FaultPlayer) -> Vec<String> {
    player.strikes().iter().map(|strike| format!("{}: {}", strike.fault, strike.changes.join("; "))).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::event::Outcome;

    #[test]
    fn effects_are_expected_by_hint_and_by_what_the_client_repeats() {
        use ExpectedEffect::{AtMostOnce, Never, Once};
        use FaultKind::{DuplicateRequest, Error, Kill, LostRequest, LostResponse};
        use ToolNature::{Idempotent, Plain, Reads};
        for (nature, kinds, is_confirmed, expected, is_repeated_then) in [
            (Reads, &[LostResponse][..], false, Never, true),
            (Idempotent, &[LostResponse], false, Once, true),
            (Idempotent, &[DuplicateRequest, Error], false, Once, true),
            (Idempotent, &[Kill], true, Once, false),
            (Idempotent, &[Kill], false, AtMostOnce, false),
            (Plain, &[LostResponse], false, AtMostOnce, false),
            (Plain, &[LostRequest], false, Once, true),
            (Plain, &[LostRequest, Error], false, AtMostOnce, false),
            (Plain, &[Kill], true, Once, false),
        ] {
            let actual = (expected_effect(nature, kinds, is_confirmed), is_repeated(nature, kinds));
            assert_eq!(actual, (expected, is_repeated_then), "{nature:?} {kinds:?} {is_confirmed}");
        }
    }

    /// A state in which a list has these items.
    fn state(users: &Value) -> ShownState {
        ShownState::of_values(&json!({"list": users}))
    }

    /// What two runs show in which a call adds one item.
    fn clean(elapsed: Duration) -> CleanStates {
        let run = || CleanRun {
            before: [state(&json!([])), state(&json!([]))],
            once: [state(&json!(["ann"])), state(&json!(["ann"]))],
            twice: state(&json!(["ann", "ann"])),
            serves_again: true,
            elapsed,
        };
        CleanStates::of_runs([run(), run()], "add", ToolNature::Plain).unwrap()
    }

    #[test]
    fn data_outlives_a_server_that_shows_it_after_a_clean_end() {
        let compared = clean(Duration::ZERO).compare(&state(&json!([]))).unwrap();
        for (now, expected) in [
            (json!(["ann"]), Ok(true)),
            (json!([]), Ok(false)),
            // Something else than the end of the server is at work.
            (json!(["bob"]), Err(Outcome::Inconclusive)),
            (json!(["ann", "ann"]), Err(Outcome::Inconclusive)),
        ] {
            let actual = is_kept(&compared, &state(&now), "add").map_err(|end| end.into_result().outcome);
            assert_eq!(actual, expected, "{now}");
        }
    }

    #[test]
    fn a_server_is_broken_by_a_wrong_state_or_by_silence() {
        let compared = clean(Duration::ZERO).compare(&state(&json!([]))).unwrap();
        let took = Some(Duration::from_millis(3));
        for (is_sound, recovered, expected) in
            [(true, took, false), (false, took, true), (true, None, true), (false, None, true)]
        {
            let run = StruckRun {
                state: state(&json!([])),
                compared: compared.clone(),
                is_confirmed: false,
                expected: ExpectedEffect::AtMostOnce,
                count: EffectCount::Times(0),
                is_sound,
                recovered,
                strikes: Vec::new(),
                idle: BTreeSet::new(),
                exchanges: Vec::new(),
            };
            let end = StruckEnd::Read(Box::new(run));
            assert_eq!(end.is_broken(), expected, "{is_sound} {recovered:?}");
        }
        let (found, exchanges) = (Finding::new("not-recovered", "it is gone"), Vec::new());
        assert!(StruckEnd::Silent(Box::new(SilentServer { found, is_final: false, exchanges })).is_broken());
    }

    #[test]
    fn a_fault_that_changed_nothing_is_no_trial() {
        use FaultKind::{Error, LateAnswer, LostResponse};
        for (kinds, idle, expected) in [
            (&[LostResponse][..], &[][..], None),
            (&[LostResponse], &["lost_response, call 1"], Some(LostResponse)),
            (&[LostResponse, Error], &["error, call 2"], Some(Error)),
            // The name says which call.
            (&[Error, LostResponse], &["error, call 2"], None),
            // A cancelled call need not be answered.
            (&[LateAnswer], &["late_answer, call 1"], None),
            (&[LateAnswer, Error], &["late_answer, call 1", "error, call 2"], Some(Error)),
        ] {
            let idle = idle.iter().map(|name: &&str| (*name).to_owned()).collect();
            assert_eq!(needed_idle(kinds, &idle), expected, "{kinds:?} {idle:?}");
        }
    }

    #[test]
    fn a_client_is_as_patient_as_clean_calls_ask() {
        let ms = Duration::from_millis;
        for (elapsed, most, waits, cancels) in [
            (ms(1), ms(30_000), ms(500), ms(20)),
            (ms(300), ms(30_000), ms(1_200), ms(150)),
            // No longer than any request may take.
            (ms(20_000), ms(30_000), ms(30_000), ms(10_000)),
            (ms(1), ms(100), ms(100), ms(20)),
            // Suites have no word for less than a millisecond.
            (Duration::from_micros(150_300), ms(30_000), ms(601), ms(75)),
        ] {
            assert_eq!((patience(elapsed, most), CampaignTrial::cancels_after(&clean(elapsed))), (waits, cancels));
        }
    }
}
