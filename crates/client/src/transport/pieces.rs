//! Pauses between separate writes, and writes that take their time.

use std::num::NonZeroU32;
use std::time::Duration;

use tokio::task::yield_now;
use tokio::time::{Instant, sleep, sleep_until};

/// The pause between two writes.
const WRITE_PAUSE: Duration = Duration::from_millis(2);

/// The number of writes that are kept apart; a message cut into thousands would take too long.
const MAX_PAUSES: usize = 500;

/// The factor by which a pause may be longer than requested.
const SLACK: u32 = 3;

/// The longest time that a transfer takes; nobody waits for one that would take longer.
const LONGEST_TRANSFER: Duration = Duration::from_secs(86_400);

/// The time between the parts of a transfer.
const TRANSFER_TICK: Duration = Duration::from_millis(20);

/// A limit of how many bytes pass in a second.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bandwidth(NonZeroU32);

impl Bandwidth {
    /// So many bytes a second; `None` for none at all.
    pub fn new(bytes_per_second: u64) -> Option<Self> {
        NonZeroU32::new(u32::try_from(bytes_per_second).unwrap_or(u32::MAX)).map(Self)
    }

    /// The time for this number of bytes.
    pub fn time_of(self, bytes: usize) -> Duration {
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        LONGEST_TRANSFER.min(Duration::from_secs(1) * bytes / self.0.get())
    }
}

/// Bytes that come one after the other, all of them after a time.
pub struct Transfer {
    bytes: Vec<u8>,
    begun: Instant,
    time: Duration,
    parts: u32,
    passed: u32,
}

impl Transfer {
    /// Nothing has passed yet.
    pub fn new(bytes: Vec<u8>, time: Duration) -> Self {
        let ticks = time.as_nanos() / TRANSFER_TICK.as_nanos();
        let most = u32::try_from(bytes.len().max(1)).unwrap_or(u32::MAX);
        let parts = u32::try_from(ticks).unwrap_or(u32::MAX).clamp(1, most);
        Self { bytes, begun: Instant::now(), time, parts, passed: 0 }
    }

    /// Waits for the next part; `None` at the end.
    pub async fn next(&mut self) -> Option<Vec<u8>> {
        if self.passed == self.parts {
            return None;
        }
        let at = |part: u32| self.bytes.len() * part as usize / self.parts as usize;
        let part = self.bytes[at(self.passed)..at(self.passed + 1)].to_vec();
        self.passed += 1;
        sleep_until(self.begun + self.time.mul_f64(f64::from(self.passed) / f64::from(self.parts))).await;
        Some(part)
    }
}

/// A message in three pieces, none of which is a message.
pub(crate) fn thirds(message: &[u8]) -> std::slice::Chunks<'_, u8> {
    message.chunks(message.len().div_ceil(3).max(1))
}

/// Pauses before the write of that number, counted from zero.
pub(crate) async fn pause(number: usize) {
    match number {
        0 => {}
        1..=MAX_PAUSES => sleep(WRITE_PAUSE).await,
        _ => yield_now().await,
    }
}

/// The time that the pauses between so many writes may take; no server can be blamed for it.
pub fn time_of_pauses(writes: usize) -> Duration {
    let count = writes.saturating_sub(1).min(MAX_PAUSES);
    WRITE_PAUSE * SLACK * u32::try_from(count).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use tokio::time::Instant;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_transfer_takes_as_long_as_its_bytes_at_that_rate() {
        let bandwidth = Bandwidth::new(1000).unwrap_or_else(|| panic!("a rate"));
        for (length, milliseconds, parts) in [(0, 0, 1), (1, 1, 1), (100, 100, 5), (10_000, 10_000, 500)] {
            let time = bandwidth.time_of(length);
            assert_eq!(time.as_millis(), milliseconds, "{length}");
            let bytes: Vec<u8> = (0..length).map(|at| u8::try_from(at % 256).unwrap_or_default()).collect();
            let (begun, mut transfer) = (Instant::now(), Transfer::new(bytes.clone(), time));
            let (mut came, mut count) = (Vec::new(), 0);
            while let Some(part) = transfer.next().await {
                came.extend(part);
                count += 1;
            }
            assert_eq!((begun.elapsed().as_millis(), count), (milliseconds, parts), "{length}");
            assert_eq!(came, bytes, "{length}");
        }
        let slowest = Bandwidth::new(1).map(|slowest| slowest.time_of(usize::MAX));
        assert_eq!((slowest, Bandwidth::new(0)), (Some(LONGEST_TRANSFER), None));
    }

    #[tokio::test(start_paused = true)]
    async fn a_message_in_a_thousand_pieces_takes_a_second() {
        for (writes, expected) in [(0, 0), (1, 0), (2, 2), (500, 998), (501, 1000), (5000, 1000)] {
            let begun = Instant::now();
            for number in 0..writes {
                pause(number).await;
            }
            assert_eq!(begun.elapsed().as_millis(), expected, "{writes}");
            assert_eq!(time_of_pauses(writes).as_millis(), 3 * expected, "{writes}");
        }
    }
}
