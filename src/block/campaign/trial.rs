//! One case of a campaign: sessions in which faults strike calls of a tool, and what reading shows afterwards.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::Campaign;
use super::check::explained;
use super::clean::{CleanRun, CleanStates, EffectCount, ExpectedEffect};
use super::comparison::StateComparison;
use super::fault_kind::{FaultKind, StruckCall, StruckEnding};
use super::subject::{CampaignSubject, ToolNature};
use crate::check::evidence::refused_with_help;
use crate::check::shown_state::{ShownState, ShownStateReader};
use crate::event::{CheckResult, Exchange, FailureClass, Finding, FindingKind, Outcome, Reason};
use crate::fault::FaultPlayer;
use crate::plan::arguments::ConfigSource;
use crate::plan::generated::bare;
use crate::plan::{CheckContext, CloseServer, OpenServer, StepOutcome};
use crate::session::Session;
use crate::source::duration_text;
use crate::source::template::Names;
use crate::suite::{Action, Cancel, CancelWhen, Step};
use crate::transport::{FirstSignal, ShutdownOrder};
use crate::wire::is_served;

/// How long a client waits at least for an answer that a fault may have lost.
const LEAST_TIMEOUT: Duration = Duration::from_millis(500);

/// How many times as long as a clean call takes.
const PATIENCE: u32 = 4;

/// How long a state is given to become what it must be.
const SETTLING: Duration = Duration::from_secs(1);
const POLLING: Duration = Duration::from_millis(100);

/// How often a call is made after the faults, until it is served.
const MOST_ATTEMPTS: usize = 10;

/// How often a server that was killed is started, and how long is waited before it is started again.
const STARTS: usize = 3;
const RESTART_PAUSE: Duration = Duration::from_secs(1);

/// How long a server has to end by itself.
const SHUTDOWN_GRACE: Duration = Duration::from_secs(2);

/// Why a case comes to no verdict, or to one early.
#[derive(Debug, Clone)]
pub(crate) enum TrialEnd {
    /// The server is at fault.
    Failed(Box<Finding>),
    /// It does not start any more.
    Unstartable(Box<Finding>),
    /// Nothing follows, for this reason.
    Inconclusive(String),
    /// The case does not apply.
    Because(Reason),
    /// The server cannot be used.
    Unavailable(Box<Finding>),
    /// The call was refused without any fault.
    Refused(Box<CheckResult>),
}

/// A case under way.
pub(crate) struct CampaignTrial<'a> {
    pub(crate) context: &'a CheckContext<'a>,
    pub(crate) campaign: &'a Campaign,
    pub(crate) subject: &'a CampaignSubject,
    deadline: Instant,
    exchanges: Vec<Exchange>,
    frames: Vec<u32>,
    protocol_revision: String,
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

/// How calls that were struck ended.
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
    /// Whether it does not start any more either.
    pub(crate) is_final: bool,
    pub(crate) exchanges: Vec<Exchange>,
}

impl StruckEnd {
    /// Whether changes were compared, since data outlives the server.
    pub(crate) fn is_of_changes(&self) -> bool {
        match self {
            Self::Read(run) => run.compared.is_of_changes(),
            Self::Silent(_) => false,
        }
    }

    /// Whether a correct server does not end so.
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
    /// How it is compared.
    pub(crate) compared: StateComparison,
    /// Whether the server had answered a call with a success before it was killed.
    pub(crate) is_confirmed: bool,
    pub(crate) expected: ExpectedEffect,
    pub(crate) count: EffectCount,
    /// Whether the state is as it may be.
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
        Self {
            context,
            campaign,
            subject,
            deadline: Instant::now() + campaign.max_time,
            exchanges: Vec::new(),
            frames: Vec::new(),
            protocol_revision: String::new(),
            captured: Names::new(),
        }
    }

    /// The effect of the call without faults, which is found out once for each tool.
    pub(crate) async fn clean(&mut self) -> Result<&'a CleanStates, TrialEnd> {
        let subject = self.subject;
        let known = subject.clean.get_or_init(|| CleanStates::learn(self)).await;
        known.as_ref().map_err(Clone::clone)
    }

    /// Makes the call twice in a session of its own.
    pub(crate) async fn clean_run(&mut self) -> Result<CleanRun, TrialEnd> {
        let session = self.open(None).await?;
        let looked = self.look_at_clean_calls(&session).await;
        let ended = self.end(session).await;
        let run = looked?;
        ended.map_or(Ok(run), |found| Err(TrialEnd::Failed(Box::new(found))))
    }

    async fn look_at_clean_calls(&mut self, session: &Session) -> Result<CleanRun, TrialEnd> {
        let names = self.prepare(session).await?;
        let readers = self.subject.readers(self.context);
        let before = self.read_twice(session, &readers).await?;
        let first = self.ask(session, &self.subject.call, &names).await?;
        let elapsed = Duration::from_micros(first.exchange.elapsed_us);
        match &first.answer {
            Ok(answer) if is_served(answer) => {}
            // A control that is refused is none.
            Ok(_) if self.subject.nature == ToolNature::Reads => {
                let why = format!("the call of `{}` is refused without any fault", self.subject.tool);
                return Err(TrialEnd::Because(Reason::NotApplicable(why)));
            }
            Ok(_) => return Err(TrialEnd::Refused(Box::new(self.refused(&first.exchange)))),
            Err(found) => return Err(unusable(found)),
        }
        let once = self.read_twice(session, &readers).await?;
        // Refusing what is done already is no fault.
        let again = self.ask(session, &self.subject.call, &names).await?;
        let serves_again = is_served(again.answer.as_ref().map_err(unusable)?);
        let twice = self.read(session, &readers).await?;
        Ok(CleanRun { before, once, twice, serves_again, elapsed })
    }

    fn refused(&self, exchange: &Exchange) -> CheckResult {
        let tool = &self.subject.tool;
        let help = ConfigSource::of(self.context.suite).help_to_give_arguments(tool);
        let mut result = refused_with_help(tool, None, help);
        if let Some(Reason::ValidCallRefused(call)) = &mut result.reason {
            call.answer.clone_from(&exchange.received);
        }
        result
    }

    /// Whether what a call does is still there after a clean end of its server and a new start.
    pub(crate) async fn outlives_server(&mut self, clean: &CleanStates) -> Result<bool, TrialEnd> {
        if let Some(is_durable) = self.campaign.durable {
            return Ok(is_durable);
        }
        let subject = self.subject;
        subject.outlives.get_or_init(|| self.try_clean_restart(clean)).await.clone()
    }

    async fn try_clean_restart(&mut self, clean: &CleanStates) -> Result<bool, TrialEnd> {
        let session = self.open(None).await?;
        let called = self.call_cleanly(&session, clean).await;
        let order = ShutdownOrder { first: FirstSignal::EndOfInput, grace: SHUTDOWN_GRACE };
        self.context.servers.close(&session, CloseServer::Shutdown(order)).await;
        let compared = called?;
        let session = self.open(None).await?;
        let readers = self.subject.readers(self.context);
        let state = self.settled(&session, &readers, &compared, ExpectedEffect::Once, clean.elapsed).await;
        let ended = self.end(session).await;
        let state = state?;
        if let Some(found) = ended {
            return Err(TrialEnd::Failed(Box::new(found)));
        }
        let is_kept = compared.allows(&state, ExpectedEffect::Once);
        if !is_kept && !compared.allows(&state, ExpectedEffect::Never) {
            return Err(TrialEnd::Inconclusive(format!(
                "after a clean end and a new start the server shows neither the state before a call of `{}` nor that after \
                 it",
                self.subject.tool
            )));
        }
        // What a call removes is gone with a store in memory as well.
        Ok(is_kept && self.keeps_earlier_state(clean).await?)
    }

    /// Whether what is there before a call outlives a clean end of the server; also where nobody can tell.
    async fn keeps_earlier_state(&mut self, clean: &CleanStates) -> Result<bool, TrialEnd> {
        let session = self.open(None).await?;
        let readers = self.subject.readers(self.context);
        let begun = match self.prepare(&session).await {
            Ok(_) => self.read(&session, &readers).await,
            Err(ended) => Err(ended),
        };
        let order = ShutdownOrder { first: FirstSignal::EndOfInput, grace: SHUTDOWN_GRACE };
        self.context.servers.close(&session, CloseServer::Shutdown(order)).await;
        let begun = begun?;
        let Some(compared) = clean.compare_changes(&begun).or_else(|| clean.compare(&begun)) else { return Ok(true) };
        let session = self.open(None).await?;
        let state = self.settled(&session, &readers, &compared, ExpectedEffect::Never, clean.elapsed).await;
        let ended = self.end(session).await;
        let state = state?;
        if let Some(found) = ended {
            return Err(TrialEnd::Failed(Box::new(found)));
        }
        Ok(compared.allows(&state, ExpectedEffect::Never))
    }

    async fn call_cleanly(&mut self, session: &Session, clean: &CleanStates) -> Result<StateComparison, TrialEnd> {
        let names = self.prepare(session).await?;
        let readers = self.subject.readers(self.context);
        let before = self.read(session, &readers).await?;
        let compared = self.compare(clean, &before)?;
        let called = self.ask(session, &self.subject.call, &names).await?;
        called.answer.as_ref().map_err(unusable)?;
        let state = self.read(session, &readers).await?;
        if compared.allows(&state, ExpectedEffect::Once) { Ok(compared) } else { Err(self.begins_elsewhere()) }
    }

    /// How the states of a session are compared that begins with this one: by changes where data is known to outlive the
    /// server, since others may write to the same store.
    fn compare(&self, clean: &CleanStates, begun: &ShownState) -> Result<StateComparison, TrialEnd> {
        let outlives = matches!(self.subject.outlives.get(), Some(Ok(true)));
        let changes = if outlives { clean.compare_changes(begun) } else { None };
        changes.or_else(|| clean.compare(begun)).ok_or_else(|| self.begins_elsewhere())
    }

    fn begins_elsewhere(&self) -> TrialEnd {
        TrialEnd::Inconclusive(format!(
            "the server does not begin as it did without faults, so what is read after calls of `{}` says nothing; remove \
             what earlier calls wrote in `setup` and `teardown`",
            self.subject.tool
        ))
    }

    /// The call that a fault strikes in a set of them, as one of that number.
    pub(crate) fn struck<'s>(&'s self, at: usize, kinds: &[FaultKind], clean: &CleanStates) -> StruckCall<'s> {
        StruckCall {
            tool: &self.subject.tool,
            number: at + 1,
            timeout: self.timeout(clean),
            is_counted_across_sessions: kinds.iter().any(|kind| kind.kills()),
        }
    }

    /// Strikes one call with each of these faults in turn, ends the faults, and looks what the server has done.
    pub(crate) async fn strike(&mut self, kinds: &[FaultKind], clean: &CleanStates) -> Result<StruckEnd, TrialEnd> {
        let span = self.subject.call.span;
        let faults = kinds.iter().enumerate();
        let faults = faults.flat_map(|(at, kind)| kind.faults(self.struck(at, kinds, clean), span)).collect();
        let player = Arc::new(FaultPlayer::new(faults));
        // Setup, and what is read before the calls, are not struck.
        player.heal();
        let mut session = self.open(Some(&player)).await?;
        let first = self.exchanges.len();
        let struck = self.strike_in(&mut session, StruckSet { kinds, clean, player: &player }).await;
        if matches!(&struck, Err(TrialEnd::Failed(_))) {
            session.mark_exit_reported();
        }
        let ended = self.end(session).await;
        let exchanges = self.exchanges[first..].to_vec();
        let silent = |found: Finding, is_final: bool| {
            let found = found.with_evidence("injected", strikes(&player).join("\n"));
            Ok(StruckEnd::Silent(Box::new(SilentServer { found, is_final, exchanges: exchanges.clone() })))
        };
        match (struck, ended) {
            (Err(TrialEnd::Failed(found)), _) => silent(*found, false),
            (Err(TrialEnd::Unstartable(found)), _) => silent(*found, true),
            (Err(end), _) => Err(end),
            (Ok(_), Some(found)) => silent(found, false),
            (Ok(run), None) => Ok(StruckEnd::Read(Box::new(StruckRun { exchanges, ..run }))),
        }
    }

    async fn strike_in(&mut self, session: &mut Session, struck: StruckSet<'_>) -> Result<StruckRun, TrialEnd> {
        let StruckSet { kinds, clean, player } = struck;
        let names = self.prepare(session).await?;
        let readers = self.subject.readers(self.context);
        let before = self.read(session, &readers).await?;
        let compared = self.compare(clean, &before)?;
        player.resume();
        let mut end_of_faults = Instant::now();
        for (at, kind) in kinds.iter().enumerate() {
            let step = self.struck_call(*kind, clean);
            end_of_faults = Instant::now() + kind.stands_still(self.timeout(clean));
            let outcome = self.ask(session, &step, &names).await?;
            end_of_faults = end_of_faults.max(Instant::now());
            if kind.kills() {
                self.restart(session, player, *kind).await?;
            } else if let Err(found) = outcome.answer
                && found.class == Some(FailureClass::ProcessExited)
            {
                return Err(TrialEnd::Failed(Box::new(found)));
            }
            if *kind == FaultKind::Pause && at + 1 < kinds.len() {
                self.ask(session, &bare(Action::Alive, step.span), &names).await?;
            }
        }
        player.heal();
        let is_confirmed = kinds.last().is_some_and(|kind| *kind == FaultKind::Kill)
            && player.calls().iter().rfind(|call| call.is_struck).is_some_and(|call| call.is_confirmed);
        let idle: BTreeSet<String> = player.idle().into_iter().map(str::to_owned).collect();
        // A call that was cancelled need not be answered, and then no answer comes late.
        let is_needed = |(at, kind): &(usize, &FaultKind)| {
            kind.ending() != StruckEnding::Cancelled && idle.contains(&kind.fault_name(at + 1))
        };
        if let Some((_, kind)) = kinds.iter().enumerate().find(is_needed) {
            let name = kind.as_str();
            return Err(TrialEnd::Inconclusive(format!("the fault `{name}` changed nothing, so nothing follows")));
        }
        let recovered = self.recover(session, &names, struck, end_of_faults).await?;
        let expected = self.expected(kinds, is_confirmed);
        let state = self.settled(session, &readers, &compared, expected, clean.elapsed).await?;
        let is_sound = compared.allows(&state, expected);
        let count = compared.count(&state, self.subject.nature);
        let (strikes, exchanges) = (strikes(player), Vec::new());
        Ok(StruckRun { state, compared, is_confirmed, expected, count, is_sound, recovered, strikes, idle, exchanges })
    }

    /// Starts a server again that was killed.
    async fn restart(
        &mut self,
        session: &mut Session,
        player: &Arc<FaultPlayer>,
        kind: FaultKind,
    ) -> Result<(), TrialEnd> {
        // Nothing of it may be left beside the new one.
        session.kill().await;
        session.mark_exit_reported();
        let mut attempts = 1;
        let started = loop {
            self.within_limits(0)?;
            match self.context.servers.open(OpenServer { faults: Some(player), ..OpenServer::FRESH }).await {
                Ok(started) => break started,
                // One that hangs has had the whole time of a start.
                Err(found) if found.kind() == FindingKind::Hang || attempts == STARTS => {
                    let message =
                        format!("after `{}` the server does not start any more: {}", kind.as_str(), found.message);
                    let help =
                        "start with whatever a killed server leaves: a file that is half written, a lock of nobody";
                    return Err(TrialEnd::Unstartable(Box::new(explained("not-recovered", message, help))));
                }
                Err(_) => sleep(RESTART_PAUSE).await,
            }
            attempts += 1;
        };
        let killed = std::mem::replace(session, started);
        self.context.servers.close(&killed, CloseServer::AfterTeardown).await;
        Ok(())
    }

    /// How often the effect may show after calls with these faults, and after what the client does then.
    fn expected(&self, kinds: &[FaultKind], is_confirmed: bool) -> ExpectedEffect {
        match self.subject.nature {
            ToolNature::Reads => ExpectedEffect::Never,
            ToolNature::Idempotent | ToolNature::Plain if is_confirmed || self.is_repeated(kinds) => {
                ExpectedEffect::Once
            }
            ToolNature::Idempotent | ToolNature::Plain => ExpectedEffect::AtMostOnce,
        }
    }

    /// Whether the client makes the call once more after the faults: it may, or the server has not heard of it. What a
    /// killed server has confirmed is looked at without that.
    pub(crate) fn is_repeated(&self, kinds: &[FaultKind]) -> bool {
        let is_confirmed = kinds.iter().all(|kind| *kind == FaultKind::Kill);
        self.subject.nature.may_be_repeated() && !is_confirmed || !kinds.iter().any(|kind| kind.is_heard())
    }

    /// How long the client waits for an answer to a struck call.
    pub(crate) fn timeout(&self, clean: &CleanStates) -> Duration {
        let timeout = LEAST_TIMEOUT.max(clean.elapsed * PATIENCE).min(self.context.request_timeout);
        Duration::from_millis(u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX))
    }

    /// A step that reads the state.
    pub(crate) fn reading_step(&self) -> Step {
        let span = self.subject.call.span;
        let readers = self.subject.readers(self.context);
        bare(readers.first().map_or(Action::Alive, |reader| reader.action(span)), span)
    }

    /// When the client cancels a call whose answer comes late: in the middle of it.
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
                Step { cancel: Some(Cancel { when, reason: None, watch: POLLING }), ..call }
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
    ) -> Result<Option<Duration>, TrialEnd> {
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
                // What is done already may be refused, as it is without faults.
                Ok(_) if !clean.serves_again => return Ok(Some(took)),
                Ok(_) => drop(answered.get_or_insert(took)),
                Err(found) if found.class == Some(FailureClass::ProcessExited) => {
                    return Err(TrialEnd::Failed(Box::new(found)));
                }
                Err(_) => {}
            }
        }
        Ok(answered)
    }

    /// The state, as soon as it is as it may be, or in the end.
    async fn settled(
        &mut self,
        session: &Session,
        readers: &[ShownStateReader],
        compared: &StateComparison,
        expected: ExpectedEffect,
        elapsed: Duration,
    ) -> Result<ShownState, TrialEnd> {
        let until = Instant::now() + SETTLING + elapsed * PATIENCE;
        loop {
            let state = self.read(session, readers).await?;
            if compared.allows(&state, expected) || Instant::now() >= until {
                return Ok(state);
            }
            sleep(POLLING).await;
        }
    }

    /// A fresh server with the suite's setup.
    async fn open(&mut self, faults: Option<&Arc<FaultPlayer>>) -> Result<Session, TrialEnd> {
        self.within_limits(0)?;
        let servers = self.context.servers;
        let opened = servers.open(OpenServer { faults, ..OpenServer::FRESH }).await;
        let session = opened.map_err(|found| TrialEnd::Unavailable(Box::new(found)))?;
        self.protocol_revision = session.server.revision.to_string();
        Ok(session)
    }

    /// Does what the test does before the call; returns what it learned.
    async fn prepare(&mut self, session: &Session) -> Result<Names, TrialEnd> {
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
        let subject = self.subject;
        let mut names = subject.names.clone();
        names.extend(std::mem::take(&mut self.captured));
        for step in &subject.teardown {
            if session.is_open() {
                self.context.steps.run(&session, step, &names).await;
            }
        }
        self.context.servers.close(&session, CloseServer::AfterTeardown).await.exit
    }

    async fn ask(&mut self, session: &Session, step: &Step, names: &Names) -> Result<StepOutcome, TrialEnd> {
        self.within_limits(1)?;
        let done = self.context.steps.run(session, step, names).await;
        let shown = [Some(done.exchange.frame), done.exchange.answer_frame];
        self.frames.extend(shown.into_iter().flatten().filter(|frame| *frame > 0));
        self.exchanges.push(done.exchange.clone());
        self.captured.extend(done.names.clone());
        Ok(done)
    }

    async fn read_twice(
        &mut self,
        session: &Session,
        readers: &[ShownStateReader],
    ) -> Result<[ShownState; 2], TrialEnd> {
        Ok([self.read(session, readers).await?, self.read(session, readers).await?])
    }

    async fn read(&mut self, session: &Session, readers: &[ShownStateReader]) -> Result<ShownState, TrialEnd> {
        self.within_limits(readers.len())?;
        let state = ShownState::read(self.context, self.deadline, session, readers).await;
        match state.failed() {
            Some(found) if found.class == Some(FailureClass::ProcessExited) => {
                Err(TrialEnd::Failed(Box::new(found.clone())))
            }
            Some(found) if Instant::now() < self.deadline => {
                let message = format!("the server does not answer what reads its state: {}", found.message);
                Err(TrialEnd::Failed(Box::new(Finding { message, ..found.clone() })))
            }
            Some(_) => Err(self.out_of_time()),
            None => Ok(state),
        }
    }

    /// Counts calls, and ends the case where there is no time or no budget for them.
    fn within_limits(&self, calls: usize) -> Result<(), TrialEnd> {
        if !self.campaign.log.spend(calls, self.campaign.calls) {
            let limit = self.campaign.calls;
            return Err(TrialEnd::Inconclusive(format!("the budget of {limit} calls is spent; raise `calls`")));
        }
        if Instant::now() >= self.deadline { Err(self.out_of_time()) } else { Ok(()) }
    }

    fn out_of_time(&self) -> TrialEnd {
        let limit = duration_text(self.campaign.max_time);
        TrialEnd::Inconclusive(format!("the time of {limit} ended before all calls were made; raise `max_time`"))
    }

    /// The result with everything that was said.
    pub(crate) fn result(self, verdict: Result<CheckResult, TrialEnd>) -> CheckResult {
        let mut result = match verdict {
            Ok(result) => result,
            Err(TrialEnd::Failed(found) | TrialEnd::Unstartable(found)) => {
                CheckResult::found(Outcome::Failed, vec![*found])
            }
            Err(TrialEnd::Inconclusive(why)) => CheckResult::inconclusive(why),
            Err(TrialEnd::Because(reason)) => CheckResult::because(Outcome::Skipped, reason),
            Err(TrialEnd::Unavailable(found)) => CheckResult::unavailable(*found),
            Err(TrialEnd::Refused(result)) => *result,
        };
        if result.exchanges.is_empty() {
            result.exchanges = self.exchanges;
        }
        result.frames = self.frames;
        result.protocol_revision = self.protocol_revision;
        result
    }
}

fn unusable(found: &Finding) -> TrialEnd {
    TrialEnd::Inconclusive(format!("without any fault: {}", found.message))
}

/// The changes by faults, one line each.
fn strikes(player: &FaultPlayer) -> Vec<String> {
    player.strikes().iter().map(|strike| format!("{}: {}", strike.fault, strike.changes.join("; "))).collect()
}
