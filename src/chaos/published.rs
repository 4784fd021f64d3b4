//! The demonstration that mcp-chaos publishes, draw by draw: one generator for a run, one draw for each attempt.
//!
//! The generator is that of Python's `random`: MT19937 (Matsumoto and Nishimura 1998), seeded with an array of one number,
//! with 53 bits for a fraction.

use rand_mt::Mt;

use super::breaker::CumulativeBreaker;
use super::pattern::NONE;
use super::{BreakerKind, ERROR_RATE, FAN_OUT, Patterns, RetryPolicy, TASKS, is_dispensable, tool_of};

/// The figures of one run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PublishedRow {
    /// The name of the row.
    pub name: &'static str,
    /// Calls for a task; a call that is made again counts once.
    pub tcaf: f64,
    /// The share of calls that were good and in time.
    pub tcsr: f64,
    /// The share of calls that were answered, times the share of these that were right.
    pub eta: f64,
    /// The share of tasks that failed.
    pub blast_radius: f64,
    /// Tasks that failed.
    pub failed_tasks: usize,
    /// Calls that were really made, which the published table does not show.
    pub attempts: usize,
}

const TWO_RETRIES: RetryPolicy = RetryPolicy::UpTo(2);
const BREAKER: BreakerKind = BreakerKind::Latching;

const ROWS: [(&str, Patterns); 7] = [
    ("no resilience", NONE),
    ("all three patterns", Patterns { retries: TWO_RETRIES, degrades: true, breaker: BREAKER, ..NONE }),
    ("one retry alone", Patterns { retries: RetryPolicy::UpTo(1), ..NONE }),
    ("two retries alone", Patterns { retries: TWO_RETRIES, ..NONE }),
    ("degradation alone", Patterns { degrades: true, ..NONE }),
    ("breaker alone", Patterns { breaker: BREAKER, ..NONE }),
    ("degradation, breaker", Patterns { degrades: true, breaker: BREAKER, ..NONE }),
];

/// The published table, and each of its patterns alone; `seed` is 42 there.
pub fn play_published(seed: u32) -> Vec<PublishedRow> {
    ROWS.iter().map(|(name, patterns)| play_row(name, *patterns, seed)).collect()
}

#[expect(clippy::cast_precision_loss, reason = "counts are small")]
fn play_row(name: &'static str, patterns: Patterns, seed: u32) -> PublishedRow {
    let mut random = Mt::new_with_key([seed]);
    let mut breaker = CumulativeBreaker::default();
    let (mut calls, mut good, mut failed_tasks, mut attempts) = (0_usize, 0_usize, 0_usize, 0_usize);
    for _ in 0..TASKS {
        let mut has_failed = false;
        for slot in 0..FAN_OUT {
            let tool = tool_of(slot);
            let is_vital = !(patterns.degrades && is_dispensable(slot, FAN_OUT));
            if patterns.breaker == BREAKER && breaker.is_open(tool) {
                has_failed |= is_vital;
                continue;
            }
            let mut is_good = false;
            for _ in 0..=patterns.retries.most() {
                attempts += 1;
                is_good = fraction(&mut random) >= ERROR_RATE;
                if is_good {
                    break;
                }
            }
            breaker.note(tool, is_good);
            calls += 1;
            good += usize::from(is_good);
            has_failed |= is_vital && !is_good;
        }
        failed_tasks += usize::from(has_failed);
    }
    let share = good as f64 / calls.max(1) as f64;
    PublishedRow {
        name,
        tcaf: calls as f64 / TASKS as f64,
        tcsr: share,
        eta: share,
        blast_radius: failed_tasks as f64 / TASKS as f64,
        failed_tasks,
        attempts,
    }
}

/// A fraction from 0 up to 1 with 53 bits.
fn fraction(random: &mut Mt) -> f64 {
    let (high, low) = (random.next_u32() >> 5, random.next_u32() >> 6);
    (f64::from(high) * 67_108_864.0 + f64::from(low)) / 9_007_199_254_740_992.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_are_those_of_python() {
        let mut random = Mt::new_with_key([42]);
        let draws: Vec<f64> = (0..TASKS * FAN_OUT).map(|_| fraction(&mut random)).collect();
        assert_eq!(draws[..3], [0.639_426_798_457_883_7, 0.025_010_755_222_666_936, 0.275_029_318_369_119_26]);
        let failing: Vec<usize> = (0..draws.len()).filter(|at| draws[*at] < ERROR_RATE).collect();
        let expected = [
            19, 100, 124, 126, 269, 290, 297, 368, 394, 427, 481, 518, 598, 637, 684, 882, 956, 1026, 1034, 1133, 1168,
            1174, 1185, 1391, 1408, 1429,
        ];
        assert_eq!(failing, expected);
        let mut tasks: Vec<usize> = failing.iter().map(|at| at / FAN_OUT).collect();
        tasks.dedup();
        assert_eq!(tasks.len(), 24);
    }

    #[test]
    fn every_row_is_the_published_one() {
        let rows = play_published(42);
        let figures = |row: &PublishedRow| (row.tcaf, row.tcsr, row.eta, row.failed_tasks, row.attempts);
        let expected = [
            (8.0, 0.98375, 0.98375, 24, 1600),
            (8.0, 1.0, 1.0, 0, 1626),
            (8.0, 1.0, 1.0, 0, 1626),
            (8.0, 1.0, 1.0, 0, 1626),
            (8.0, 0.98375, 0.98375, 21, 1600),
            (8.0, 0.98375, 0.98375, 24, 1600),
            (8.0, 0.98375, 0.98375, 21, 1600),
        ];
        assert_eq!(rows.iter().map(figures).collect::<Vec<_>>(), expected);
    }
}
