//! `mcprove findings replay` and `minimise`: fresh servers for every attempt.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Runtime;
use tokio::sync::watch;

use super::findings::{MinimiseArgs, ReplayArgs, place, unplayable};
use super::signals::{self, RunEnding, Urgency};
use crate::cli::environment::Environment;
use crate::cli::exit::Exit;
use crate::cli::kept;
use crate::cli::output::Output;
use crate::event::{Doubt, Finding, Reproduction, ReproductionCheck};
use crate::findings::replay::ReplayStage;
use crate::findings::{Minimised, ReplayResult, Stored, again, minimised, regression, restored, wanted};
use crate::plan::made::{Cure, Why};
use crate::runner::{Fresh, Options, Stop};
use crate::source::visible_line;
use crate::suite::Hazard;
use crate::wire::{Catalog, Tool};

/// The time for a request where neither the suite nor the command line says anything.
const PATIENCE: Duration = Duration::from_secs(10);

/// Somebody who can play one finding.
struct FindingPlayer {
    runtime: Runtime,
    fresh: Fresh,
    catalog: Arc<Catalog>,
    environment: Arc<std::collections::BTreeMap<String, String>>,
    patience: Duration,
    /// The time for a server that hangs.
    silence: Option<Duration>,
    urgency: watch::Receiver<Urgency>,
}

/// The user wants it to stop.
struct Interrupted;

/// What several attempts at one sequence came to.
#[derive(Default)]
struct Tries {
    /// How often there was a server to speak to.
    played: u32,
    /// How often the same finding showed, and how it did last.
    shown: u32,
    same: Option<Box<Finding>>,
    /// What else went wrong.
    other: Option<Box<Finding>>,
    /// Why there was no server.
    no_server: Option<Box<Finding>>,
}

impl FindingPlayer {
    fn new(
        state: &Path,
        stored: &Stored,
        timeout: Option<Duration>,
        (environment, urgency): (&Environment, watch::Receiver<Urgency>),
    ) -> Result<Self, String> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| format!("the system gives no runtime: {error}"))?;
        let plan = stored.start.plan(&kept::base(state))?;
        let environment = Arc::new(wanted(stored, &environment.variables));
        let (_, stop) = Stop::new();
        let options = Options { environment: Arc::clone(&environment), ..Options::new(0, stop) };
        let fresh = Fresh::new(&plan, &options);
        let asked = stored.start.timeouts_ms.get("request_timeout").map(|time| Duration::from_millis(*time));
        let patience = timeout.or(asked).unwrap_or(PATIENCE);
        let catalog = Arc::default();
        Ok(Self { runtime, fresh, catalog, environment, patience, silence: timeout, urgency })
    }

    /// Asks what the server offers, where a verdict depends on it, or what may be called.
    fn learn(&mut self, stored: &Stored, read_only: bool) -> Result<(), Interrupted> {
        let check = stored.reproduction.as_ref().map(|reproduction| &reproduction.check);
        if read_only || matches!(check, Some(ReproductionCheck::Broken(_))) || stored.start.server.get("url").is_some()
        {
            let (fresh, urgency) = (&self.fresh, &mut self.urgency);
            self.catalog = self.runtime.block_on(unless_stopped(urgency, fresh.catalog()))?;
        }
        Ok(())
    }

    /// Why a finding is not played by somebody who only reads: it calls what is not known to change nothing.
    fn refusal(&self, stored: &Stored) -> Option<String> {
        let sequences = stored.sequences();
        let calls = sequences.iter().flat_map(|sequence| sequence.sessions.iter().flatten());
        let named = calls.filter(|call| call.method == "tools/call").filter_map(|call| call.params["name"].as_str());
        let reads = |name: &str| self.catalog.tool(name).is_some_and(Tool::only_reads);
        let writer = named.into_iter().find(|name| !reads(name))?;
        let why = Why::Hazard(Hazard::ReadOnly).told(&visible_line(writer), Cure::Flags);
        Some(format!("finding {} is not played: {why}", stored.id))
    }

    fn attempt(&mut self, stored: &Stored, reproduction: &Reproduction) -> Result<ReplayResult, Interrupted> {
        let mut whole = restored(reproduction, &self.environment);
        whole.secrets.iter().for_each(|secret| self.fresh.redactor().learn(secret));
        if let (ReproductionCheck::Silent(limit), Some(silence)) = (&mut whole.reproduction.check, self.silence) {
            *limit = u64::try_from(silence.as_millis()).unwrap_or(u64::MAX);
        }
        let stage = ReplayStage { servers: &self.fresh, catalog: &self.catalog, patience: self.patience };
        let playing = again(stored, &whole.reproduction, &stage);
        self.runtime.block_on(unless_stopped(&mut self.urgency, playing))
    }

    /// Plays a sequence so often, or until there is no server.
    fn tries(&mut self, stored: &Stored, sequence: &Reproduction, times: u32) -> Result<Tries, Interrupted> {
        let mut tries = Tries::default();
        for _ in 0..times {
            let seen = self.attempt(stored, sequence)?;
            tries.played += u32::from(!matches!(seen, ReplayResult::NoServer(_)));
            match seen {
                ReplayResult::Again(found) => {
                    tries.shown += 1;
                    tries.same = Some(found);
                }
                ReplayResult::Otherwise(found) => tries.other = Some(found),
                ReplayResult::Gone => {}
                ReplayResult::NoServer(found) => {
                    tries.no_server = Some(found);
                    break;
                }
            }
        }
        Ok(tries)
    }

    /// What a finding says, without secrets.
    fn says(&self, found: &Finding) -> String {
        let exit = found.evidence.iter().find(|(name, _)| name == "exit");
        let exit = exit.map(|(_, exit)| format!(" ({exit})")).unwrap_or_default();
        let text = self.fresh.redactor().text(&format!("{}{exit}", found.message));
        visible_line(&text).into_owned()
    }
}

async fn unless_stopped<T>(
    urgency: &mut watch::Receiver<Urgency>,
    playing: impl Future<Output = T>,
) -> Result<T, Interrupted> {
    let stopped = async {
        if urgency.wait_for(|urgency| *urgency > Urgency::None).await.is_err() {
            std::future::pending::<()>().await;
        }
    };
    tokio::select! {
        biased;
        () = stopped => Err(Interrupted),
        played = playing => Ok(played),
    }
}

/// The secrets that are not given.
fn tell_missing(stored: &Stored, environment: &Environment, output: &Output) {
    let Some(reproduction) = &stored.reproduction else { return };
    let missing: BTreeSet<String> = restored(reproduction, &wanted(stored, &environment.variables)).missing;
    if missing.is_empty() {
        return;
    }
    let names: Vec<String> = missing.iter().map(|name| format!("`{name}`")).collect();
    let names = names.join(", ");
    output.note(&format!("warning: {}: {names} is not set, so what is sent is not what was sent", stored.id));
}

/// What a replay came to, the most pressing last.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum ReplayVerdict {
    Gone,
    Undecided,
    Shows,
}

pub(super) fn replay(
    state: &Path,
    chosen: &[Stored],
    args: &ReplayArgs,
    (environment, output): (&Environment, &Output),
) -> Exit {
    if chosen.is_empty() {
        output.error("there is nothing to replay", Some("findings are kept where a run fails"));
        return Exit::Nothing;
    }
    let mut worst = ReplayVerdict::Gone;
    let mut seen = |_: &Stored, verdict: ReplayVerdict| worst = worst.max(verdict);
    let ended = replay_each(state, chosen, args, (environment, output), &mut seen);
    match (ended, worst) {
        (Some(Exit::Interrupted), _) => Exit::Interrupted,
        (Some(exit), ReplayVerdict::Gone) if exit != Exit::Passed => Exit::Environment,
        (_, ReplayVerdict::Gone) => Exit::Passed,
        (_, ReplayVerdict::Undecided) => Exit::Environment,
        (_, ReplayVerdict::Shows) => Exit::Findings,
    }
}

/// Drops what no longer shows; the exit code says whether that could be done.
pub(super) fn prune(
    state: &Path,
    found: &[Stored],
    args: &ReplayArgs,
    (environment, output): (&Environment, &Output),
) -> Exit {
    let (mut dropped, mut failed) = (0, false);
    let mut drop_gone = |stored: &Stored, verdict: ReplayVerdict| {
        if verdict != ReplayVerdict::Gone {
            return;
        }
        match kept::remove(state, &stored.id) {
            Ok(()) => dropped += 1,
            Err(error) => {
                failed = true;
                output.error(&error.to_string(), None);
            }
        }
    };
    let ended = replay_each(state, found, args, (environment, output), &mut drop_gone);
    output.note(&format!("{dropped} of {} kept findings dropped", found.len()));
    if failed { Exit::Environment } else { ended.unwrap_or(Exit::Passed) }
}

/// Plays findings one after another; says with which exit code it ended before the last one.
fn replay_each(
    state: &Path,
    chosen: &[Stored],
    args: &ReplayArgs,
    (environment, output): (&Environment, &Output),
    seen: &mut dyn FnMut(&Stored, ReplayVerdict),
) -> Option<Exit> {
    let (wish, _stop) = Stop::new();
    let urgency = signals::listen(wish, RunEnding::Plain, None);
    for stored in chosen {
        let Ok((line, verdict)) = replay_one(state, stored, args, (environment, output, &urgency)) else {
            return Some(Exit::Interrupted);
        };
        seen(stored, verdict);
        if let ControlFlow::Break(exit) = output.part(&line) {
            return Some(exit);
        }
    }
    None
}

/// What is to be said of one on standard output, and the verdict.
fn replay_one(
    state: &Path,
    stored: &Stored,
    args: &ReplayArgs,
    (environment, output, urgency): (&Environment, &Output, &watch::Receiver<Urgency>),
) -> Result<(String, ReplayVerdict), Interrupted> {
    let undecided = (String::new(), ReplayVerdict::Undecided);
    if stored.reproduction.is_none() {
        output.error(&unplayable(stored), Some(&format!("run the case again: `{}`", stored.again)));
        return Ok(undecided);
    }
    tell_missing(stored, environment, output);
    let mut player = match FindingPlayer::new(state, stored, args.timeout, (environment, urgency.clone())) {
        Ok(player) => player,
        Err(reason) => {
            output.error(&format!("finding {} cannot be played: {reason}", stored.id), None);
            return Ok(undecided);
        }
    };
    player.learn(stored, args.read_only)?;
    if let Some(refusal) = player.refusal(stored).filter(|_| args.read_only) {
        output.error(&refusal, None);
        return Ok(undecided);
    }
    let mut seen = Vec::new();
    for sequence in stored.sequences() {
        let tries = player.tries(stored, &sequence, args.times.get())?;
        // Whoever ends a server that nobody starts again has shown what there was to show.
        let has_shown = |tries: &Tries| tries.same.is_some() || tries.other.is_some();
        if let Some(found) = tries.no_server.as_ref().filter(|_| !seen.iter().chain([&tries]).any(has_shown)) {
            output.error(&format!("finding {} cannot be played: {}", stored.id, player.says(found)), None);
            return Ok(undecided);
        }
        let is_over = tries.same.is_some() || tries.no_server.is_some();
        seen.push(tries);
        if is_over {
            break;
        }
    }
    let doubt = stored.reproduction.as_ref().and_then(|reproduction| reproduction.doubt);
    let (line, verdict) = told(&player, &seen, (args.times.get(), doubt));
    Ok((format!("{}  {line}\n", visible_line(&format!("{} {}", stored.id, stored.class))), verdict))
}

/// What was seen of each sequence that was played, the smaller one first.
fn told(player: &FindingPlayer, seen: &[Tries], (times, doubt): (u32, Option<Doubt>)) -> (String, ReplayVerdict) {
    let whole = if seen.len() > 1 { " as the last run met it, and not in its smaller form" } else { "" };
    let same = seen.iter().find_map(|tries| Some((tries, tries.same.as_ref()?)));
    let other = seen.iter().find_map(|tries| tries.other.as_ref());
    match (same, other, doubt) {
        (Some((tries, found)), _, _) => {
            let often = format!("{} of {}", tries.shown, tries.played);
            let after = tries.no_server.as_ref().map(|none| format!("; after that {}", player.says(none)));
            let says = player.says(found) + &after.unwrap_or_default();
            (format!("reproduced {often}{whole}: {says}"), ReplayVerdict::Shows)
        }
        (None, Some(found), _) => (format!("fails in another way: {}", player.says(found)), ReplayVerdict::Shows),
        (None, None, Some(doubt)) => (format!("not reproduced: {}", doubt.words()), ReplayVerdict::Undecided),
        (None, None, None) => {
            let whole = if seen.len() > 1 { ", in its smaller form and as the last run met it" } else { "" };
            (format!("gone: reproduced 0 of {times}{whole}"), ReplayVerdict::Gone)
        }
    }
}

pub(super) fn minimise(
    state: &Path,
    stored: Stored,
    args: &MinimiseArgs,
    (environment, output): (&Environment, &Output),
) -> Exit {
    if stored.reproduction.is_none() {
        output.error(&unplayable(&stored), Some(&format!("run the case again: `{}`", stored.again)));
        return Exit::Environment;
    }
    tell_missing(&stored, environment, output);
    let (wish, _stop) = Stop::new();
    let urgency = signals::listen(wish, RunEnding::Plain, None);
    let mut player = match FindingPlayer::new(state, &stored, args.timeout, (environment, urgency)) {
        Ok(player) => player,
        Err(reason) => {
            output.error(&format!("finding {} cannot be played: {reason}", stored.id), None);
            return Exit::Environment;
        }
    };
    let (mut stopped, mut broken) = (player.learn(&stored, args.read_only).is_err(), None);
    if let Some(refusal) = player.refusal(&stored).filter(|_| args.read_only && !stopped) {
        output.error(&refusal, None);
        return Exit::Environment;
    }
    let found = minimised(&stored, args.max_attempts.get(), &mut |candidate| {
        if stopped || broken.is_some() {
            return None;
        }
        match player.attempt(&stored, candidate) {
            Ok(ReplayResult::Again(found)) => Some(*found),
            Ok(ReplayResult::NoServer(found)) => {
                broken = Some(found);
                None
            }
            Ok(ReplayResult::Otherwise(_) | ReplayResult::Gone) => None,
            Err(Interrupted) => {
                stopped = true;
                None
            }
        }
    });
    match (found, broken) {
        (_, _) if stopped => Exit::Interrupted,
        (None, Some(broken)) => {
            output.error(&format!("finding {} cannot be played: {}", stored.id, player.says(&broken)), None);
            Exit::Environment
        }
        (None, None) => {
            let help = format!("`mcprove findings replay {}{}` says what it does instead", stored.id, place(state));
            let message = format!("finding {} does not show, so there is nothing to make small", stored.id);
            output.error(&message, Some(&help));
            Exit::Nothing
        }
        (Some(found), None) => take_over(state, stored, found, output),
        (Some(found), Some(broken)) => {
            let reason = player.says(&broken);
            output.note(&format!("warning: the search ended early, since there is no server any more: {reason}"));
            take_over(state, stored, Minimised { is_done: false, ..found }, output)
        }
    }
}

/// Keeps what is left of a finding, and shows it.
fn take_over(state: &Path, mut stored: Stored, found: Minimised, output: &Output) -> Exit {
    output.note(&found.words());
    stored.minimised = found.is_done;
    if stored.original.is_none() && found.before != found.reproduction {
        stored.original = Some(found.before.sessions);
    }
    // It was seen with its requests one after another.
    stored.reproduction = Some(Reproduction { doubt: None, ..found.reproduction });
    if let Err(error) = kept::write_to(state, &stored) {
        output.note(&format!("warning: {error}; what was made small is shown and not kept"));
    }
    output.data(&regression(&stored).unwrap_or_default())
}
