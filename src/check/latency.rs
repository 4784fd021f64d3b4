//! Times of calls, as percentiles and in words.

use std::time::Duration;

use crate::source::duration_text;

/// The time that so many of 100 sorted times do not exceed.
pub(crate) fn nearest_rank(sorted: &[Duration], rank: usize) -> Duration {
    let at = (sorted.len() * rank).div_ceil(100).saturating_sub(1);
    sorted.get(at).copied().unwrap_or_default()
}

/// A duration with three digits that count: `412 µs`, `4.12 ms`, `41.2 ms`, `1.21 s`.
pub(crate) fn latency_text(took: Duration) -> String {
    let micros = took.as_micros();
    let milliseconds = took.as_secs_f64() * 1e3;
    match micros {
        1_000..10_000 => format!("{milliseconds:.2} ms"),
        10_000..100_000 => format!("{milliseconds:.1} ms"),
        _ => duration_text(took),
    }
}
