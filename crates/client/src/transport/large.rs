//! Large messages are read one at a time in the whole program: a message takes its size twice, as bytes and parsed, and
//! sessions side by side would each hold one.
//!
//! Nobody waits long for a turn: a server may stop in the middle of a message. The time for an answer leaves the wait out
//! ([`total_wait`]), which is no fault of the server.

use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::{Instant, timeout};

use crate::wire::LARGE_MESSAGE;

/// The time to wait for a turn.
const PATIENCE: Duration = Duration::from_secs(2);

static TURN: Semaphore = Semaphore::const_new(1);

static WAITS: Mutex<Waits> = Mutex::new(Waits { under_way: 0, since: None, total: Duration::ZERO });

/// The waits for turns in the whole program.
struct Waits {
    under_way: usize,
    /// When the first of them began.
    since: Option<Instant>,
    /// The time in which somebody waited, but for that since then.
    total: Duration,
}

/// The time in which somebody in the program has waited for a turn; it only grows.
pub(crate) fn total_wait() -> Duration {
    let waits = WAITS.lock();
    waits.total + waits.since.map(|since| since.elapsed()).unwrap_or_default()
}

/// A wait for a turn, until it is dropped.
struct WaitUnderWay;

impl WaitUnderWay {
    fn begin() -> Self {
        let mut waits = WAITS.lock();
        waits.under_way += 1;
        waits.since.get_or_insert_with(Instant::now);
        Self
    }
}

impl Drop for WaitUnderWay {
    fn drop(&mut self) {
        let mut waits = WAITS.lock();
        waits.under_way -= 1;
        if waits.under_way == 0
            && let Some(since) = waits.since.take()
        {
            waits.total += since.elapsed();
        }
    }
}

/// The turn to read a large message, until it is dropped; nothing where the time to wait was over.
#[derive(Debug, Default)]
pub(crate) struct LargeTurn(Option<SemaphorePermit<'static>>);

impl LargeTurn {
    /// Waits for the turn to read on where so many bytes make a message large.
    pub(crate) async fn take(&mut self, bytes: usize) {
        if bytes < LARGE_MESSAGE || self.0.is_some() {
            return;
        }
        self.0 = TURN.try_acquire().ok();
        if self.0.is_none() {
            let _wait = WaitUnderWay::begin();
            self.0 = timeout(PATIENCE, TURN.acquire()).await.ok().and_then(Result::ok);
        }
    }

    /// Gives the turn back where the bytes that are left make no large message.
    pub(crate) fn end(&mut self, left: usize) {
        if left < LARGE_MESSAGE {
            self.0 = None;
        }
    }

    #[cfg(test)]
    pub(crate) fn is_taken(&self) -> bool {
        self.0.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn one_large_message_is_read_at_a_time_and_nobody_waits_for_long() {
        let (mut first, mut second, mut small) = (LargeTurn::default(), LargeTurn::default(), LargeTurn::default());
        first.take(LARGE_MESSAGE).await;
        small.take(LARGE_MESSAGE - 1).await;
        let before = total_wait();
        second.take(LARGE_MESSAGE).await;
        assert!(total_wait().saturating_sub(before) >= PATIENCE);
        let has_turn = [&first, &second, &small].map(LargeTurn::is_taken);
        assert_eq!(has_turn, [true, false, false], "the second one went on without");
        drop(first);
        second.take(LARGE_MESSAGE).await;
        assert!(second.is_taken());
        second.end(LARGE_MESSAGE);
        assert!(second.is_taken(), "it is not read to its end");
        second.end(0);
        assert!(!second.is_taken());
    }
}
