//! What a run is told, and who watches it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{sleep, timeout};

use crate::event::Event;
use crate::redact::Redactor;
use crate::wire::Frame;

/// Everything about a run that the plan does not say.
#[derive(Debug, Clone)]
pub struct Options {
    /// How many cases run at a time, whatever the suites say.
    pub parallel: Option<usize>,
    /// How many run at a time where neither says.
    pub processors: usize,
    /// The time for a case, whatever the suites say.
    pub timeout: Option<Duration>,
    /// When to stop early.
    pub bail: Bail,
    /// The environment of this process, for `{{ env.NAME }}` and for what servers inherit.
    pub environment: Arc<BTreeMap<String, String>>,
    /// When the run began, in milliseconds since 1970.
    pub started_unix_ms: u64,
    /// Says when somebody wants the run to stop.
    pub stop: Stop,
}

/// When to stop early.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bail {
    /// Run everything.
    Never,
    /// Stop once so many cases failed or errored.
    After(usize),
}

/// How long teardown may take after an interrupt: CI kills what does not end soon, and reports are still to be written.
const AFTER_STOP: Duration = Duration::from_secs(3);

/// A wish to stop that many can wait for.
#[derive(Debug, Clone)]
pub struct Stop(watch::Receiver<bool>);

impl Stop {
    /// A wish and the way to make it.
    pub fn new() -> (watch::Sender<bool>, Self) {
        let (sender, receiver) = watch::channel(false);
        (sender, Self(receiver))
    }

    /// Whether it was made.
    pub fn is_set(&self) -> bool {
        *self.0.borrow()
    }

    /// Cleans up within the usual time, or within little once the wish is made; the error is the time that was allowed.
    pub(super) async fn bound<T>(&self, usual: Duration, cleaning: impl Future<Output = T>) -> Result<T, Duration> {
        let wished = async {
            self.wait().await;
            sleep(AFTER_STOP).await;
        };
        tokio::select! {
            cleaned = timeout(usual, cleaning) => cleaned.map_err(|_| usual),
            () = wished => Err(AFTER_STOP),
        }
    }

    /// Returns once it is made; never returns if nobody can make it any more.
    pub async fn wait(&self) {
        let mut receiver = self.0.clone();
        if receiver.wait_for(|stop| *stop).await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

/// Somebody who watches a run.
pub trait Observer {
    /// The next event, without secrets.
    fn event(&mut self, event: &Event);

    /// The frames of a session that ended, secrets included: whoever writes them down takes them out with `redactor`.
    fn session(&mut self, frames: &SessionFrames, redactor: &Redactor);
}

/// Everything that travelled in one session.
#[derive(Debug, Clone)]
pub struct SessionFrames {
    /// The suite's file.
    pub file: String,
    /// The server's name in the suite.
    pub server: String,
    /// The revision that was spoken.
    pub revision: String,
    /// The case for which the session was opened; `None` for a shared one.
    pub case: Option<String>,
    /// Whether the handshake succeeded; a conversation that did not begin is shown and judges nothing.
    pub has_begun: bool,
    /// The frames.
    pub frames: Vec<Frame>,
}
