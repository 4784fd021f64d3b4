//! Pauses between separate writes.

use std::time::Duration;

use tokio::task::yield_now;
use tokio::time::sleep;

/// The pause between two writes.
const WRITE_PAUSE: Duration = Duration::from_millis(2);

/// How many writes are kept apart so; a message that is cut into thousands would take longer than anybody waits.
const MAX_PAUSES: usize = 500;

/// How much longer than asked for a pause may take, as a factor.
const SLACK: u32 = 3;

/// A message in three pieces, none of which is a message.
pub(super) fn thirds(message: &[u8]) -> std::slice::Chunks<'_, u8> {
    message.chunks(message.len().div_ceil(3).max(1))
}

/// Pauses before the write of that number, counted from zero.
pub(super) async fn pause(number: usize) {
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
