//! The observer of a run, shared by two threads: the one that runs, and the one that waits for signals and may have to
//! end a run that hangs.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::watch;

use super::run_findings::Severities;
use super::run_watch::RunWatch;
use super::signals::{self, Budget, RunEnding, RunningTask, SignalScope, Urgency};
use crate::cli::console::Console;
use crate::event::{Event, RunEnd, Severity};
use crate::plan::Plan;
use crate::redact::Redactor;
use crate::runner::{self, Observer, Options, SessionFrames, Stop, Summary};
use crate::taxonomy::Registry;
use crate::transport::http::finish_refreshes;

/// A run that signals can end.
pub(crate) struct SignalledRun<'a> {
    pub(crate) plan: Plan,
    pub(crate) registry: &'a Registry,
    pub(crate) options: Options,
    /// Asks the run to stop.
    pub(crate) wish: watch::Sender<Option<RunEnd>>,
    /// How long signals are listened for.
    pub(crate) scope: SignalScope,
    /// The least severity of failures that count.
    pub(crate) least: Severity,
}

/// Runs a plan until it ends, a signal ends it, or its budget is spent; `None` where the system provides no runtime.
pub(crate) fn run_plan(
    run: SignalledRun<'_>,
    watch: RunWatch,
    budget: Option<&Budget>,
    console: &Console,
) -> Option<(Summary, RunWatch, watch::Receiver<Urgency>)> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().ok()?;
    let SignalledRun { plan, registry, options, wish, scope, least } = run;
    let mut watch = SharedWatch::new(watch);
    let (shared, console, stop) = (watch.clone(), console.clone(), options.stop.clone());
    let cleanup = Box::new(move || shared.abandon(&stop, &console).at_least(least));
    let running = RunningTask { runtime: runtime.handle().clone(), cleanup };
    let mut urgency = signals::listen(wish, RunEnding::Reports, scope, Some(running), budget.cloned());
    let summary = runtime.block_on(async {
        let summary = tokio::select! {
            summary = runner::run(plan, options, registry, &mut watch) => Some(summary),
            _ = urgency.wait_for(|urgency| matches!(urgency, Urgency::Overdue | Urgency::Now)) => None,
        };
        finish_refreshes().await;
        summary
    });
    let watch = watch.into_watch();
    // Servers end with the tasks that hold them.
    runtime.shutdown_timeout(Duration::from_millis(200));
    let summary = summary.unwrap_or_else(|| watch.severities.summarize_cut_off_run());
    Some((summary, watch, urgency))
}

/// A watch that is taken once: after the run, or in the middle of it, and then nothing goes on.
#[derive(Clone)]
pub(crate) struct SharedWatch(Arc<SharedObserver>);

struct SharedObserver {
    watch: Mutex<Option<RunWatch>>,
    /// True if the reports are written without waiting for the run.
    is_abandoned: AtomicBool,
}

impl SharedWatch {
    pub(crate) fn new(watch: RunWatch) -> Self {
        Self(Arc::new(SharedObserver { watch: Mutex::new(Some(watch)), is_abandoned: AtomicBool::new(false) }))
    }

    /// The watch, once the run is over.
    pub(crate) fn into_watch(self) -> RunWatch {
        self.take_watch().unwrap_or_else(|| wait_for_the_end())
    }

    /// Writes the reports of what is known so far; the program ends after this. Does not return where the run is over, and
    /// the other thread is about to write them.
    pub(crate) fn abandon(&self, stop: &Stop, console: &Console) -> Severities {
        self.0.is_abandoned.store(true, Ordering::Release);
        let watch = self.take_watch().unwrap_or_else(|| wait_for_the_end());
        let severities = watch.severities;
        // A report that could not be written has caused an error message already.
        drop(watch.finish(stop.end(), console));
        severities
    }

    fn take_watch(&self) -> Option<RunWatch> {
        self.0.watch.lock().take()
    }

    fn with(&self, tell: impl FnOnce(&mut RunWatch)) {
        // Another event would only keep the reports waiting.
        if self.0.is_abandoned.load(Ordering::Acquire) {
            wait_for_the_end();
        }
        match self.0.watch.lock().as_mut() {
            Some(watch) => tell(watch),
            None => wait_for_the_end(),
        }
    }
}

impl Observer for SharedWatch {
    fn event(&mut self, event: &Event) {
        self.with(|watch| watch.event(event));
    }

    fn on_planned(&mut self, more: usize) {
        self.with(|watch| watch.on_planned(more));
    }

    fn session(&mut self, session: &SessionFrames, redactor: &Redactor) {
        self.with(|watch| watch.session(session, redactor));
    }
}

/// The other thread writes the reports, and then the program ends.
fn wait_for_the_end() -> ! {
    loop {
        thread::park();
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::cli::console::ColorWhen;
    use crate::cli::environment::Environment;
    use crate::report::sink::parse_target;

    #[test]
    fn reports_are_written_while_somebody_still_runs() {
        let folder = std::env::temp_dir().join(format!("mcprove-abandoned-{}", std::process::id()));
        let path = folder.join("report.json");
        let target = parse_target(&format!("json={}", path.display())).unwrap();
        let console = Console::new(ColorWhen::Never, Environment::read(), "");
        let shared = SharedWatch::new(RunWatch::new(&[target], None, 1, &console).unwrap());
        shared.with(|_| {});
        assert_eq!(shared.abandon(&Stop::new().1, &console).at_least(Severity::Low), 0);
        let other = shared.clone();
        let told = thread::spawn(move || other.with(|_| {}));
        let written: serde_json::Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
        fs::remove_dir_all(folder).unwrap();
        assert!(written.is_object());
        assert!(!told.is_finished(), "what comes later goes nowhere");
    }
}
