//! Whoever watches a run, within reach of two threads: the one that runs, and the one that hears signals and may have to
//! end what comes to no end.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use super::run_watch::RunWatch;
use crate::cli::output::Output;
use crate::event::Event;
use crate::redact::Redactor;
use crate::runner::{Observer, SessionFrames};

/// A watch that is taken once: after the run, or in the middle of it, and then nothing goes on.
#[derive(Clone)]
pub(super) struct SharedWatch(Arc<Shared>);

struct Shared {
    watch: Mutex<Option<RunWatch>>,
    /// Whether the reports are written without waiting for the run.
    is_abandoned: AtomicBool,
}

impl SharedWatch {
    pub(super) fn new(watch: RunWatch) -> Self {
        Self(Arc::new(Shared { watch: Mutex::new(Some(watch)), is_abandoned: AtomicBool::new(false) }))
    }

    /// The watch, once the run is over.
    pub(super) fn into_watch(self) -> RunWatch {
        self.taken().unwrap_or_else(|| wait_for_the_end())
    }

    /// Writes the reports of what is known so far; the program ends after this. Returns not where the run is over, and
    /// the other thread is about to write them.
    pub(super) fn abandon(&self, output: &Output) {
        self.0.is_abandoned.store(true, Ordering::Release);
        match self.taken() {
            // What could not be written was told, and there is nothing else to do about it.
            Some(watch) => drop(watch.finish(output)),
            None => wait_for_the_end(),
        }
    }

    fn taken(&self) -> Option<RunWatch> {
        self.0.watch.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn with(&self, tell: impl FnOnce(&mut RunWatch)) {
        // Another event would only keep the reports waiting.
        if self.0.is_abandoned.load(Ordering::Acquire) {
            wait_for_the_end();
        }
        match self.0.watch.lock().unwrap_or_else(PoisonError::into_inner).as_mut() {
            Some(watch) => tell(watch),
            None => wait_for_the_end(),
        }
    }
}

impl Observer for SharedWatch {
    fn event(&mut self, event: &Event) {
        self.with(|watch| watch.event(event));
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
    use crate::cli::environment::Environment;
    use crate::cli::output::When;
    use crate::report::sink::parse_target;

    #[test]
    fn reports_are_written_while_somebody_still_runs() {
        let folder = std::env::temp_dir().join(format!("mcprove-abandoned-{}", std::process::id()));
        let path = folder.join("report.json");
        let target = parse_target(&format!("json={}", path.display())).unwrap();
        let output = Output::new(When::Never, &Environment::read(), "");
        let shared = SharedWatch::new(RunWatch::new(&[target], None, 1, &output).unwrap());
        shared.with(|_| {});
        shared.abandon(&output);
        let other = shared.clone();
        let told = thread::spawn(move || other.with(|_| {}));
        let written: serde_json::Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
        fs::remove_dir_all(folder).unwrap();
        assert!(written.is_object());
        assert!(!told.is_finished(), "what comes later goes nowhere");
    }
}
