//! Runs a plan on a stage, in a time of its own: a hang of an hour costs nothing.

use std::collections::BTreeMap;
use std::sync::Arc;

use tokio::runtime::{Builder, Runtime};

use super::replay::{Log, Stage};
use crate::event::{CaseResult, Event, SessionJudged};
use crate::plan::Plan;
use crate::redact::Redactor;
use crate::runner::{self, Bail, Isolation, Observer, Options, Replay, SessionFrames};
use crate::suite::Order;
use crate::taxonomy::Registry;

/// What a replayed run came to.
#[derive(Debug, Default)]
pub(super) struct Rerun {
    /// How each case ended.
    pub(super) results: BTreeMap<String, CaseResult>,
    /// What servers did wrong outside of cases.
    pub(super) judged: Vec<SessionJudged>,
    /// What happened on the stage.
    pub(super) log: Log,
    /// Everything that was told, where somebody wants to hear it.
    pub(super) events: Vec<Event>,
}

/// Whether anybody wants to hear everything that a replayed run tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Telling {
    Verdicts,
    Everything,
}

/// A clock that stands still while anybody works, and jumps when all wait.
pub(super) fn clock() -> std::io::Result<Runtime> {
    Builder::new_current_thread().enable_time().start_paused(true).build()
}

/// Runs cases one at a time, each once, in declared order.
pub(super) fn rerun(
    clock: &Runtime,
    plan: Plan,
    stage: &Arc<Stage>,
    (options, registry): (&Options, &Registry),
    telling: Telling,
) -> Rerun {
    let playing = Arc::clone(stage);
    let options = Options { replay: Some(Replay::new(move |lane| playing.connect(lane))), ..once(options) };
    let seen = seen(clock, plan, (&options, registry), telling);
    Rerun { log: stage.log(), ..seen }
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
        // What a mutant puts in the place of a secret is none.
        secrets: options.secrets.apart(),
        ..options.clone()
    }
}

/// Runs a plan and keeps what it tells.
pub(super) fn seen(
    runtime: &Runtime,
    plan: Plan,
    (options, registry): (&Options, &Registry),
    telling: Telling,
) -> Rerun {
    let mut seen = Seen { rerun: Rerun::default(), telling };
    runtime.block_on(runner::run(plan, options.clone(), registry, &mut seen));
    seen.rerun
}

struct Seen {
    rerun: Rerun,
    telling: Telling,
}

impl Observer for Seen {
    fn event(&mut self, event: &Event) {
        if self.telling == Telling::Everything {
            self.rerun.events.push(event.clone());
        }
        match event {
            Event::CaseFinished(result) => {
                self.rerun.results.insert(result.case.id.clone(), (**result).clone());
            }
            Event::SessionJudged(judged) => self.rerun.judged.push(judged.clone()),
            Event::RunStarted(_)
            | Event::ServerReady(_)
            | Event::ToolsChosen(_)
            | Event::CaseStarted(_)
            | Event::RunFinished(_) => {}
        }
    }

    fn session(&mut self, _: &SessionFrames, _: &Redactor) {}
}
