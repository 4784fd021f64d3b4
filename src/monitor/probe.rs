//! One run of a target: a plan of its own, run in this process.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout};

use super::fold::RunObservation;
use super::lists::{self, OfferCheck};
use super::status::{TargetStatus, TargetVerdict};
use super::watch::{RunFuture, TargetRun};
use crate::event::{Event, Outcome, RunEnd};
use crate::plan::Plan;
use crate::redact::Redactor;
use crate::runner::{self, Observer, Options, RunFolder, SessionFrames, Stop};
use crate::source::duration_text;
use crate::taxonomy::Registry;

/// The time for a run to end its server after it was asked to stop.
const STOP_TIMEOUT: Duration = Duration::from_secs(4);

/// What all runs have in common.
#[derive(Debug, Clone)]
pub struct ProbeSettings {
    /// The time for a run.
    pub timeout: Duration,
    /// The environment of this process.
    pub environment: Arc<BTreeMap<String, String>>,
    /// The registry of faults.
    pub registry: &'static Registry,
    /// Says when all runs are to end.
    pub stop: Stop,
    /// True if it is kept what happened when.
    pub is_traced: bool,
}

/// A plan with one target, run again and again.
#[derive(Debug, Clone)]
pub struct SuiteProbe {
    /// The plan, whose first case decides `lists`.
    pub plan: Plan,
    /// The check that keeps what the server offers.
    pub lists: OfferCheck,
    /// What all runs have in common.
    pub settings: ProbeSettings,
}

impl TargetRun for SuiteProbe {
    fn run(&self) -> RunFuture {
        Box::pin(self.clone().run_once())
    }
}

impl SuiteProbe {
    async fn run_once(self) -> RunObservation {
        let Self { plan, lists, settings } = self;
        let (wish, stop) = Stop::new();
        let trace = settings.is_traced.then(Box::default);
        let seen = RunObservation { trace, ..RunObservation::default() };
        let mut folding = FoldingObserver { seen, wish, begun: Instant::now() };
        let run_folder = Arc::new(RunFolder::new(false));
        let options = Options {
            environment: Arc::clone(&settings.environment),
            run_folder: Arc::clone(&run_folder),
            ..Options::new(0, stop)
        };
        let wish = folding.wish.clone();
        let is_late = {
            let mut run = std::pin::pin!(runner::run(plan, options, settings.registry, &mut folding));
            let (end, is_late) = tokio::select! {
                _ = &mut run => (None, false),
                () = sleep(settings.timeout) => (Some(RunEnd::OutOfTime), true),
                () = settings.stop.wait() => (Some(RunEnd::Interrupted), false),
            };
            if end.is_some() {
                let _ = wish.send(end);
                // What has not ended then ends with the run.
                let _ = timeout(STOP_TIMEOUT, run).await;
            }
            is_late
        };
        // A folder that cannot be removed is no fault of the server.
        drop(run_folder.finish(false));
        let mut seen = folding.seen;
        seen.offered = lists.take();
        seen.certificate_end = lists.certificate_end();
        if is_late {
            let limit = duration_text(settings.timeout);
            seen.take(TargetVerdict::new(TargetStatus::Timeout, format!("the run did not end within {limit}")));
        }
        seen
    }
}

/// Folds the events of a run, and ends it early if the server cannot be used.
struct FoldingObserver {
    seen: RunObservation,
    wish: watch::Sender<Option<RunEnd>>,
    begun: Instant,
}

impl Observer for FoldingObserver {
    fn event(&mut self, event: &Event) {
        self.seen.on_event(event);
        if let Some(trace) = &mut self.seen.trace {
            trace.on_event(event, self.begun.elapsed());
        }
        if let Event::CaseFinished(result) = event
            && result.case.name == lists::NAME
            && result.outcome == Outcome::Errored
        {
            // The other cases would only wait for the same server again.
            let _ = self.wish.send(Some(RunEnd::Bailed));
        }
    }

    fn session(&mut self, session: &SessionFrames, redactor: &Redactor) {
        if let Some(trace) = &mut self.seen.trace {
            trace.on_session(session, redactor, session.began.saturating_duration_since(self.begun));
        }
    }
}
