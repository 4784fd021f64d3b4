//! Runs a plan against a replayed server in virtual time: a hang of an hour costs nothing.

use std::collections::BTreeMap;
use std::sync::Arc;

use tokio::runtime::{Builder, Runtime};

use super::replay::{ReplayLog, ReplayServer};
use crate::event::{CaseResult, Event, Outcome, SessionJudged};
use crate::plan::Plan;
use crate::redact::Redactor;
use crate::runner::{self, Bail, Isolation, Observer, Options, Replay, SessionFrames};
use crate::suite::Order;
use crate::taxonomy::Registry;

/// The results of a run.
#[derive(Debug, Default)]
pub(crate) struct RunResults {
    pub(crate) cases: BTreeMap<String, CaseResult>,
    /// Findings that belong to no case.
    pub(crate) judged: Vec<SessionJudged>,
    /// The log of the replayed server.
    pub(crate) log: ReplayLog,
    /// Every event, where [`EventCapture::Everything`] asks for them.
    pub(crate) events: Vec<Event>,
}

impl RunResults {
    /// A case failed, at which a run may have stopped.
    pub(crate) fn has_failed(&self) -> bool {
        self.cases.values().any(|case| matches!(case.outcome, Outcome::Failed | Outcome::Errored))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EventCapture {
    VerdictsOnly,
    Everything,
}

/// A runtime with a paused clock, which advances only when every task waits.
pub(crate) fn paused_runtime() -> std::io::Result<Runtime> {
    Builder::new_current_thread().enable_time().start_paused(true).build()
}

/// Runs plans and collects their results.
#[derive(Clone, Copy)]
pub(crate) struct PlanRunner<'a> {
    pub(crate) runtime: &'a Runtime,
    pub(crate) options: &'a Options,
    pub(crate) registry: &'a Registry,
    pub(crate) capture: EventCapture,
    pub(crate) bail: Bail,
}

impl PlanRunner<'_> {
    /// Runs cases against a replayed server.
    pub(crate) fn replay(&self, plan: Plan, server: &Arc<ReplayServer>) -> RunResults {
        let playing = Arc::clone(server);
        let replay = Some(Replay::new(move |target| playing.connect(target)));
        let options = Options { replay, bail: self.bail, ..once(self.options) };
        let results = PlanRunner { options: &options, ..*self }.run_plan(plan);
        RunResults { log: server.log(), ..results }
    }

    pub(crate) fn run_plan(&self, plan: Plan) -> RunResults {
        let mut observer = RunObserver { results: RunResults::default(), capture: self.capture };
        self.runtime.block_on(runner::run(plan, self.options.clone(), self.registry, &mut observer));
        observer.results
    }
}

/// The same options, for cases one at a time, each once, in declared order.
pub(crate) fn once(options: &Options) -> Options {
    Options {
        parallel: Some(1),
        bail: Bail::Never,
        retries: Some(0),
        repeat: 1,
        order: Some(Order::Declared),
        isolation: Isolation::Trusted,
        // Text that a mutant writes in place of a secret is not secret.
        secrets: options.secrets.fork(),
        ..options.clone()
    }
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
            | Event::SessionTraced(_)
            | Event::RunFinished(_) => {}
        }
    }

    fn session(&mut self, _: &SessionFrames, _: &Redactor) {}
}
