//! Runs a plan against a replayed server in virtual time: a hang of an hour costs nothing.

use std::collections::BTreeMap;
use std::sync::Arc;

use tokio::runtime::{Builder, Runtime};

use super::replay::{ReplayLog, ReplayServer};
use crate::event::{CaseResult, Event, SessionJudged};
use crate::plan::Plan;
use crate::redact::Redactor;
use crate::runner::{self, Bail, Isolation, Observer, Options, Replay, SessionFrames};
use crate::suite::Order;
use crate::taxonomy::Registry;

/// What a replayed run came to.
#[derive(Debug, Default)]
pub(super) struct RunResults {
    /// How each case ended.
    pub(super) cases: BTreeMap<String, CaseResult>,
    /// What servers did wrong outside of cases.
    pub(super) judged: Vec<SessionJudged>,
    /// The log of the replayed server.
    pub(super) log: ReplayLog,
    /// Everything that was told, where somebody wants to hear it.
    pub(super) events: Vec<Event>,
}

/// Whether anybody wants to hear everything that a replayed run tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EventCapture {
    VerdictsOnly,
    Everything,
}

/// A runtime with a paused clock, which advances only when every task waits.
pub(super) fn paused_runtime() -> std::io::Result<Runtime> {
    Builder::new_current_thread().enable_time().start_paused(true).build()
}

/// Runs cases one at a time, each once, in declared order.
pub(super) fn run_on_replay(
    runtime: &Runtime,
    plan: Plan,
    server: &Arc<ReplayServer>,
    (options, registry): (&Options, &Registry),
    capture: EventCapture,
) -> RunResults {
    let playing = Arc::clone(server);
    let options = Options { replay: Some(Replay::new(move |lane| playing.connect(lane))), ..once(options) };
    let seen = seen(runtime, plan, (&options, registry), capture);
    RunResults { log: server.log(), ..seen }
}

/// The same options, for cases one at a time, each once, in declared order.
pub(super) fn once(options: &Options) -> Options {
    Options {
        parallel: Some(1),
        bail: Bail::Never,
        retries: Some(0),
        repeat: 1,
        order: Some(Order::Declared),
        isolation: Isolation::Trusted,
        baseline: Arc::default(),
        // Text that a mutant writes in place of a secret is not secret.
        secrets: options.secrets.apart(),
        ..options.clone()
    }
}

/// Runs a plan and keeps what it tells.
pub(super) fn seen(
    runtime: &Runtime,
    plan: Plan,
    (options, registry): (&Options, &Registry),
    capture: EventCapture,
) -> RunResults {
    let mut seen = RunObserver { results: RunResults::default(), capture };
    runtime.block_on(runner::run(plan, options.clone(), registry, &mut seen));
    seen.results
}

struct RunObserver {
    results: RunResults,
    capture: EventCapture,
}

impl Observer for RunObserver {
    fn event(&mut self, event: &Event) {
        if self.capture == EventCapture::Everything {
            self.results.events.push(event.clone());
        }
        match event {
            Event::CaseFinished(result) => {
                self.results.cases.insert(result.case.id.clone(), (**result).clone());
            }
            Event::SessionJudged(judged) => self.results.judged.push(judged.clone()),
            Event::RunStarted(_)
            | Event::ServerReady(_)
            | Event::ToolsChosen(_)
            | Event::CaseStarted(_)
            | Event::RunFinished(_) => {}
        }
    }

    fn session(&mut self, _: &SessionFrames, _: &Redactor) {}
}
