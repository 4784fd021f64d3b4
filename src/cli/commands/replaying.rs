//! `mcprove findings replay` and `minimise`: fresh servers for every attempt.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Runtime;
use tokio::sync::watch;

use super::findings::{PlayingArgs, state_flag, unplayable};
use super::signals::{self, RunEnding, SignalScope, Urgency};
use crate::cli::console::Console;
use crate::cli::exit::Exit;
use crate::cli::kept;
use crate::event::{Doubt, Finding, Reproduction, ReproductionCheck};
use crate::files::FolderPlace;
use crate::findings::{
    self, Minimised, ReplayResult, ReplayStage, Stored, minimise, regression, replay_environment, restore_secrets,
    unset_secrets,
};
use crate::plan::arguments::{ConfigSource, NotCallable};
use crate::report::Ticker;
use crate::runner::{Fresh, Options, Stop};
use crate::source::{duration_text, visible_line};
use crate::suite::Hazard;
use crate::transport::http::finish_refreshes;
use crate::wire::{Catalog, Tool};

/// The time for a request where neither the suite nor the command line sets one.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);

/// The replays of one command.
pub(crate) struct FindingReplay<'a> {
    pub(crate) state: &'a FolderPlace,
    pub(crate) playing: &'a PlayingArgs,
    pub(crate) console: &'a Console,
}

/// Fresh servers for the requests of one finding.
struct FindingPlayer {
    runtime: Runtime,
    fresh: Fresh,
    catalog: Arc<Catalog>,
    environment: Arc<BTreeMap<String, String>>,
    /// The folder from which that of the server is seen.
    base: PathBuf,
    request_timeout: Duration,
    /// After how long a server counts as hanging.
    silence: Option<Duration>,
    urgency: watch::Receiver<Urgency>,
}

/// Why a finding was not replayed to the end.
enum NotPlayed {
    /// The user stopped it.
    Interrupted,
    /// An error was printed.
    Failed,
}

/// The results of several attempts at one sequence.
#[derive(Default)]
struct Tries {
    /// The number of times that there was a server to speak to.
    played: u32,
    /// The number of times that the same finding showed, and the last one.
    shown: u32,
    same: Option<Box<Finding>>,
    /// Another finding that showed instead.
    other: Option<Box<Finding>>,
    /// Why there was no server.
    no_server: Option<Box<Finding>>,
}

impl FindingPlayer {
    fn new(replay: &FindingReplay<'_>, stored: &Stored, urgency: watch::Receiver<Urgency>) -> Result<Self, String> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| format!("the system provides no async runtime: {error}"))?;
        let plan = stored.start.plan(&kept::base(replay.state), None)?;
        let environment = Arc::new(replay_environment(stored, &replay.console.environment.variables));
        let (_, stop) = Stop::new();
        let options = Options { environment: Arc::clone(&environment), ..Options::new(0, stop) };
        let fresh = Fresh::new(&plan, &options);
        let recorded = stored.start.timeouts_ms.get("request_timeout").map(|time| Duration::from_millis(*time));
        let silence = replay.playing.timeout;
        let request_timeout = silence.or(recorded).unwrap_or(REQUEST_TIMEOUT);
        let (catalog, base) = (Arc::default(), kept::base(replay.state));
        Ok(Self { runtime, fresh, catalog, environment, base, request_timeout, silence, urgency })
    }

    /// Lists the tools of the server, where a verdict depends on them, or which of them may be called.
    fn learn(&mut self, stored: &Stored, read_only: bool) -> Result<(), NotPlayed> {
        let check = stored.reproduction.as_ref().map(|reproduction| &reproduction.check);
        if read_only
            || matches!(check, Some(ReproductionCheck::Broken(_) | ReproductionCheck::InSequence(_)))
            || stored.start.server.get("url").is_some()
        {
            let (fresh, urgency) = (&self.fresh, &mut self.urgency);
            self.catalog = self.runtime.block_on(unless_stopped(urgency, fresh.catalog()))?;
        }
        Ok(())
    }

    /// Why `--read-only` leaves a finding out: it calls a tool that may change data.
    fn refusal(&self, stored: &Stored) -> Option<String> {
        let sequences = stored.sequences();
        let calls = sequences.iter().flat_map(|sequence| sequence.sessions.iter().flatten());
        let named = calls.filter(|call| call.method == "tools/call").filter_map(|call| call.params["name"].as_str());
        let of_block = sequences.iter().filter(|sequence| matches!(sequence.check, ReproductionCheck::Block(_)));
        let named = named.chain(of_block.filter_map(|sequence| sequence.tool.as_deref()));
        let reads = |name: &str| self.catalog.tool(name).is_some_and(Tool::only_reads);
        let writer = { named }.find(|name| !reads(name))?;
        let why = NotCallable::Hazard(Hazard::ReadOnly).sentence(&visible_line(writer), ConfigSource::Flags);
        Some(format!("finding {} is not replayed: {why}", stored.id))
    }

    fn attempt(&mut self, stored: &Stored, reproduction: &Reproduction) -> Result<ReplayResult, NotPlayed> {
        let mut whole = restore_secrets(reproduction, &self.environment);
        whole.secrets.iter().for_each(|secret| self.fresh.redactor().learn(secret));
        if let (ReproductionCheck::Silent(limit), Some(silence)) = (&mut whole.reproduction.check, self.silence) {
            *limit = u64::try_from(silence.as_millis()).unwrap_or(u64::MAX);
        }
        if let ReproductionCheck::Block(block) = &whole.reproduction.check {
            let plan = stored.start.plan(&self.base, Some(&block.suite));
            let plan = plan.map_err(|reason| ReplayResult::NoServer(Box::new(Finding::new("bad-block", reason))));
            let (_, stop) = Stop::new();
            let options = Options { environment: Arc::clone(&self.environment), ..Options::new(0, stop) };
            let running = async {
                match plan {
                    Ok(plan) => findings::rerun(block, &plan, options).await,
                    Err(result) => result,
                }
            };
            return self.runtime.block_on(unless_stopped(&mut self.urgency, running));
        }
        self.fresh.begin_attempt();
        let stage = ReplayStage { servers: &self.fresh, catalog: &self.catalog, patience: self.request_timeout };
        let playing = findings::replay(stored, &whole.reproduction, &stage);
        self.runtime.block_on(unless_stopped(&mut self.urgency, playing))
    }

    /// Plays a sequence several times, or until there is no server.
    fn tries(&mut self, stored: &Stored, sequence: &Reproduction, times: u32) -> Result<Tries, NotPlayed> {
        let mut tries = Tries::default();
        for number in 1..=times {
            let doing = doing(stored, sequence);
            let _ticker =
                Ticker::start(move |elapsed| format!("… {}: {doing}, {number} of {times}\n", duration_text(elapsed)));
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

    /// The message of a finding, without secrets.
    fn describe(&self, found: &Finding) -> String {
        let exit = found.exit().map(|exit| format!(" ({exit})")).unwrap_or_default();
        let text = self.fresh.redactor().text(&format!("{}{exit}", found.message));
        visible_line(&text).into_owned()
    }
}

/// The progress of a replay, for those who wait for it.
fn doing(stored: &Stored, sequence: &Reproduction) -> String {
    let how = match &sequence.check {
        ReproductionCheck::Block(block) => format!("runs its block again with {} calls at most", block.calls),
        ReproductionCheck::Ends
        | ReproductionCheck::Silent(_)
        | ReproductionCheck::Scan(_)
        | ReproductionCheck::Broken(_)
        | ReproductionCheck::InSequence(_)
        | ReproductionCheck::Holds(_)
        | ReproductionCheck::Differs => "sends its requests to a fresh server".to_owned(),
    };
    visible_line(&format!("replay of {} {}: {how}", stored.id, stored.class)).into_owned()
}

async fn unless_stopped<T>(
    urgency: &mut watch::Receiver<Urgency>,
    playing: impl Future<Output = T>,
) -> Result<T, NotPlayed> {
    let stopped = async {
        if urgency.wait_for(|urgency| *urgency > Urgency::None).await.is_err() {
            std::future::pending::<()>().await;
        }
    };
    let played = tokio::select! {
        biased;
        () = stopped => Err(NotPlayed::Interrupted),
        played = playing => Ok(played),
    };
    finish_refreshes().await;
    played
}

/// The result of a replay, the most pressing last.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum ReplayVerdict {
    Gone,
    Undecided,
    Shows,
}

impl FindingReplay<'_> {
    pub(crate) fn replay(&self, chosen: &[Stored], times: u32) -> Result<Exit, Exit> {
        if chosen.is_empty() {
            let help = Some("a run keeps the findings of its failures");
            return Err(self.console.fail(Exit::Nothing, "there is no finding to replay", help));
        }
        let mut worst = ReplayVerdict::Gone;
        let ended = self.replay_each(chosen, times, |_, verdict| worst = worst.max(verdict));
        Ok(match (ended, worst) {
            (Err(Exit::Interrupted), _) => Exit::Interrupted,
            (Err(exit), ReplayVerdict::Gone) if exit != Exit::Passed => Exit::Environment,
            (_, ReplayVerdict::Gone) => Exit::Passed,
            (_, ReplayVerdict::Undecided) => Exit::Environment,
            (_, ReplayVerdict::Shows) => Exit::Findings,
        })
    }

    /// Deletes findings that no longer show; the exit code says whether that could be done.
    pub(crate) fn prune(&self, found: &[Stored], times: u32) -> Result<Exit, Exit> {
        let (mut dropped, mut failed) = (0, false);
        let ended = self.replay_each(found, times, |stored, verdict| {
            if verdict != ReplayVerdict::Gone {
                return;
            }
            match kept::remove(self.state, &stored.id) {
                Ok(()) => dropped += 1,
                Err(error) => {
                    failed = true;
                    self.console.error(error, None);
                }
            }
        });
        self.console.note(&format!("deleted {dropped} of {} kept findings", found.len()));
        if failed { Err(Exit::Environment) } else { ended.map(|()| Exit::Passed) }
    }

    /// Replays findings one after another; fails with the exit code if it ends before the last one.
    fn replay_each(
        &self,
        chosen: &[Stored],
        times: u32,
        mut seen: impl FnMut(&Stored, ReplayVerdict),
    ) -> Result<(), Exit> {
        let urgency = listen();
        for stored in chosen {
            let (line, verdict) = match self.replay_one(stored, times, &urgency) {
                Ok(played) => played,
                Err(NotPlayed::Failed) => (String::new(), ReplayVerdict::Undecided),
                Err(NotPlayed::Interrupted) => return Err(Exit::Interrupted),
            };
            seen(stored, verdict);
            self.console.part(&line)?;
        }
        Ok(())
    }

    /// The line about one finding, and the verdict.
    fn replay_one(
        &self,
        stored: &Stored,
        times: u32,
        urgency: &watch::Receiver<Urgency>,
    ) -> Result<(String, ReplayVerdict), NotPlayed> {
        let mut player = self.player(stored, urgency.clone())?;
        let mut seen = Vec::new();
        for sequence in stored.sequences() {
            let tries = player.tries(stored, &sequence, times)?;
            // A server that cannot be restarted after its crash has shown the finding.
            let has_shown = |tries: &Tries| tries.same.is_some() || tries.other.is_some();
            if let Some(found) = tries.no_server.as_ref().filter(|_| !seen.iter().chain([&tries]).any(has_shown)) {
                return Err(self.not_played(stored, &player.describe(found)));
            }
            let is_over = tries.same.is_some() || tries.no_server.is_some();
            seen.push(tries);
            if is_over {
                break;
            }
        }
        let doubt = stored.reproduction.as_ref().and_then(|reproduction| reproduction.doubt);
        let (line, verdict) = verdict(&player, &seen, times, doubt);
        Ok((format!("{}  {line}\n", visible_line(&format!("{} {}", stored.id, stored.class))), verdict))
    }

    /// Prepares the servers for a finding; refuses one that cannot or must not be replayed.
    fn player(&self, stored: &Stored, urgency: watch::Receiver<Urgency>) -> Result<FindingPlayer, NotPlayed> {
        let Some(reproduction) = &stored.reproduction else {
            unplayable(stored, self.console);
            return Err(NotPlayed::Failed);
        };
        let missing =
            restore_secrets(reproduction, &replay_environment(stored, &self.console.environment.variables)).missing;
        if !missing.is_empty() {
            let names: Vec<String> = missing.iter().map(|name| format!("`{name}`")).collect();
            let (names, id) = (names.join(", "), &stored.id);
            self.console
                .note(&format!("warning: {id}: {names} is not set, so the requests differ from the recorded ones"));
        }
        let player = FindingPlayer::new(self, stored, urgency);
        let mut player = player.map_err(|reason| self.not_played(stored, &reason))?;
        player.learn(stored, self.playing.read_only)?;
        match player.refusal(stored).filter(|_| self.playing.read_only) {
            None => Ok(player),
            Some(refusal) => {
                self.console.error(refusal, None);
                Err(NotPlayed::Failed)
            }
        }
    }

    fn not_played(&self, stored: &Stored, reason: &str) -> NotPlayed {
        let unset = unset_secrets(stored, &self.console.environment.variables);
        let names: Vec<String> = unset.iter().map(|name| format!("`{name}`")).collect();
        let help = format!(
            "set {} to the values that the suite has in their places, such as the token of a user: `start` in \
             `findings/{}.json` shows where each one stands",
            names.join(" and "),
            stored.id
        );
        let help = (!unset.is_empty()).then_some(help.as_str());
        self.console.error(format!("finding {} cannot be replayed: {reason}", stored.id), help);
        NotPlayed::Failed
    }

    pub(crate) fn minimise(&self, stored: Stored, max_attempts: usize) -> Result<Exit, Exit> {
        let exit = |not_played| match not_played {
            NotPlayed::Interrupted => Exit::Interrupted,
            NotPlayed::Failed => Exit::Environment,
        };
        let mut player = self.player(&stored, listen()).map_err(exit)?;
        let (mut stopped, mut broken) = (false, None);
        let found = minimise(&stored, max_attempts, &mut |candidate| {
            if stopped || broken.is_some() {
                return None;
            }
            match player.attempt(&stored, candidate) {
                Ok(ReplayResult::Again(found)) => return Some(*found),
                Ok(ReplayResult::NoServer(found)) => broken = Some(found),
                Ok(ReplayResult::Otherwise(_) | ReplayResult::Gone) => {}
                Err(_) => stopped = true,
            }
            None
        });
        match (found, broken) {
            (_, _) if stopped => Err(Exit::Interrupted),
            (None, Some(broken)) => Err(exit(self.not_played(&stored, &player.describe(&broken)))),
            (None, None) => {
                let Stored { id, .. } = &stored;
                let help = format!("`mcprove findings replay {id}{}` shows the result", state_flag(self.state));
                let message = format!("finding {id} does not show any more, so there is nothing to minimise");
                Err(self.console.fail(Exit::Nothing, message, Some(&help)))
            }
            (Some(found), None) => Ok(self.take_over(stored, found)),
            (Some(found), Some(broken)) => {
                let reason = player.describe(&broken);
                self.console.note(&format!("warning: the search ended early, since the server is gone: {reason}"));
                Ok(self.take_over(stored, Minimised { is_done: false, ..found }))
            }
        }
    }

    /// Keeps the minimised finding, and shows it.
    fn take_over(&self, mut stored: Stored, found: Minimised) -> Exit {
        self.console.note(&found.words());
        stored.minimised = found.is_done;
        if stored.original.is_none() && found.before != found.reproduction {
            stored.original = Some(found.before.sessions);
        }
        // It was seen with its requests one after another.
        stored.reproduction = Some(Reproduction { doubt: None, ..found.reproduction });
        if let Err(error) = kept::write_to(self.state, &stored) {
            self.console.note(&format!("warning: {error}; the minimised finding is shown, but not kept"));
        }
        self.console.data(&regression(&stored).unwrap_or_default())
    }
}

fn listen() -> watch::Receiver<Urgency> {
    let (wish, _stop) = Stop::new();
    signals::listen(wish, RunEnding::Plain, SignalScope::Program, None, None)
}

/// The verdict on the sequences of a finding; the minimised one comes first.
fn verdict(player: &FindingPlayer, seen: &[Tries], times: u32, doubt: Option<Doubt>) -> (String, ReplayVerdict) {
    let whole = if seen.len() > 1 { " with the requests of the last run, but not in its shorter form" } else { "" };
    let same = seen.iter().find_map(|tries| Some((tries, tries.same.as_ref()?)));
    let other = seen.iter().find_map(|tries| tries.other.as_ref());
    match (same, other, doubt) {
        (Some((tries, found)), _, _) => {
            let often = format!("{} of {}", tries.shown, tries.played);
            let after = tries.no_server.as_ref().map(|none| format!("; after that {}", player.describe(none)));
            let says = player.describe(found) + &after.unwrap_or_default();
            (format!("reproduced {often}{whole}: {says}"), ReplayVerdict::Shows)
        }
        (None, Some(found), _) => (format!("fails in another way: {}", player.describe(found)), ReplayVerdict::Shows),
        (None, None, Some(doubt)) => (format!("not reproduced: {}", doubt.words()), ReplayVerdict::Undecided),
        (None, None, None) => {
            let whole =
                if seen.len() > 1 { ", neither in its shorter form nor with the requests of the last run" } else { "" };
            (format!("gone: reproduced 0 of {times}{whole}"), ReplayVerdict::Gone)
        }
    }
}
