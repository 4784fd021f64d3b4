//! How many processes of a server start at a time.
//!
//! A start that works keeps a processor busy, so that more of them at once than there are processors make each other late.
//! One that waits, for a connection or a timer, leaves the processors to others: as many of these overlap as cases run.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::Emitter;
use crate::session::Session;

/// The most starts of a server at a time that wait rather than work.
const MOST_AT_A_TIME: usize = 8;

/// The shortest start that is worth a look.
const SLOW_START: Duration = Duration::from_secs(1);

/// A start that waits is busy for at most one part of so many.
const IDLE_SHARE: u32 = 4;

/// The pace at which processes of one server start.
#[derive(Debug)]
pub(crate) struct StartPace {
    permits: Arc<Semaphore>,
    /// The permits that a start which waits rather than works adds.
    more: usize,
    judged: OnceLock<()>,
    waits: AtomicBool,
}

impl StartPace {
    pub(crate) fn new(processors: usize) -> Self {
        let processors = processors.max(1);
        let permits = Arc::new(Semaphore::new(processors));
        let more = MOST_AT_A_TIME.saturating_sub(processors);
        Self { permits, more, judged: OnceLock::new(), waits: AtomicBool::new(false) }
    }

    /// Waits until a process may start, whose time to start begins after that; it may until the permits are dropped.
    pub(crate) async fn turn(&self, run: &Emitter) -> Vec<OwnedSemaphorePermit> {
        let own = Arc::clone(&self.permits).acquire_owned().await.ok();
        let shared = if self.waits.load(Ordering::Relaxed) {
            None
        } else {
            Arc::clone(&run.starting).acquire_owned().await.ok()
        };
        own.into_iter().chain(shared).collect()
    }

    /// Looks at the first start that is over.
    pub(crate) fn note(&self, session: &Session) {
        if self.judged.set(()).is_err() {
            return;
        }
        let busy = session.processes().and_then(|processes| processes.busy());
        if busy.is_some_and(|busy| is_waiting(session.server.ready, busy)) {
            self.waits.store(true, Ordering::Relaxed);
            self.permits.add_permits(self.more);
        }
    }
}

/// Returns true if a start that took so long waited rather than worked, given the time for which its processes used a
/// processor or waited for one.
fn is_waiting(took: Duration, busy: Duration) -> bool {
    took >= SLOW_START && busy * IDLE_SHARE <= took
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_start_that_leaves_the_processors_free_waits() {
        for (start, took, busy, expected) in [
            ("waits for a connection", 5_000, 200, true),
            ("works", 5_000, 4_800, false),
            ("works beside other programs, which counts as busy", 5_000, 5_000, false),
            ("works half of its time", 4_000, 2_000, false),
            ("works a quarter of its time", 4_000, 1_000, true),
            ("is quick", 300, 10, false),
            ("works in several threads", 2_000, 7_000, false),
        ] {
            let [took, busy] = [took, busy].map(Duration::from_millis);
            assert_eq!(is_waiting(took, busy), expected, "{start}");
        }
    }
}
