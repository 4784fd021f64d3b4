//! The same question with the same faults for every pattern: a first attempt fails in all rows or in none, since each draw
//! depends on the task, the call and the attempt, and not on what was drawn before.

use serde_json::json;

use super::pattern::WindowedBreaker;
use super::{ERROR_RATE, FAN_OUT, Patterns, TASKS, TOOLS, is_dispensable};
use crate::fault::{FaultDrawKey, draw};
use crate::reliability::Interval;

/// The figures of one pattern over all seeds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PairedRow {
    /// The name of the row.
    pub name: &'static str,
    /// What the pattern does.
    pub does: &'static str,
    /// Calls that were really made for a task, on average.
    pub attempts_per_task: f64,
    /// The share of the calls that a task needs which had a good answer in the end.
    pub eta: f64,
    /// The share of tasks that failed.
    pub blast_radius: Interval,
}

const ROWS: [(&str, &str, Patterns); 8] = [
    (
        "none",
        "a call that fails fails its task",
        Patterns { retries: 0, degrades: false, breaks: false, hedges: false },
    ),
    (
        "one retry",
        "a failed call is made again once",
        Patterns { retries: 1, degrades: false, breaks: false, hedges: false },
    ),
    ("two retries", "… up to twice", Patterns { retries: 2, degrades: false, breaks: false, hedges: false }),
    ("degradation", "2 of 8 calls may fail", Patterns { retries: 0, degrades: true, breaks: false, hedges: false }),
    (
        "breaker",
        "a tool that fails is left alone",
        Patterns { retries: 0, degrades: false, breaks: true, hedges: false },
    ),
    ("hedging", "every call is made twice", Patterns { retries: 0, degrades: false, breaks: false, hedges: true }),
    ("retries, degradation", "both", Patterns { retries: 2, degrades: true, breaks: false, hedges: false }),
    (
        "all but hedging",
        "retries, degradation, breaker",
        Patterns { retries: 2, degrades: true, breaks: true, hedges: false },
    ),
];

/// Every pattern under the same faults, with the seeds from 0 to `seeds`.
pub fn paired(seeds: u32) -> Vec<PairedRow> {
    ROWS.iter().map(|(name, does, patterns)| run(name, does, *patterns, seeds)).collect()
}

#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
fn run(name: &'static str, does: &'static str, patterns: Patterns, seeds: u32) -> PairedRow {
    let (mut attempts, mut good, mut failed_tasks) = (0_u64, 0_u64, 0_u64);
    let tasks = u64::from(seeds) * TASKS as u64;
    for seed in 0..seeds {
        let mut breaker = WindowedBreaker::default();
        for task in 0..TASKS {
            let mut has_failed = false;
            for slot in 0..FAN_OUT {
                let tool = slot % TOOLS.len();
                let is_skipped = patterns.breaks && breaker.skips(tool);
                let (is_good, made) = if is_skipped { (false, 0) } else { call(patterns, seed, (task, slot)) };
                if !is_skipped {
                    breaker.note(tool, is_good);
                }
                attempts += made;
                good += u64::from(is_good);
                let may_fail = patterns.degrades && is_dispensable(slot);
                has_failed |= !(is_good || may_fail);
            }
            failed_tasks += u64::from(has_failed);
        }
    }
    PairedRow {
        name,
        does,
        attempts_per_task: attempts as f64 / tasks.max(1) as f64,
        eta: good as f64 / (tasks * FAN_OUT as u64).max(1) as f64,
        blast_radius: Interval::wilson(failed_tasks, tasks),
    }
}

/// Whether a call has a good answer in the end, and how often it was made.
fn call(patterns: Patterns, seed: u32, place: (usize, usize)) -> (bool, u64) {
    if patterns.hedges {
        return (!fails(seed, place, 0) || !fails(seed, place, 1), 2);
    }
    for attempt in 0..=patterns.retries {
        if !fails(seed, place, attempt) {
            return (true, u64::from(attempt) + 1);
        }
    }
    (false, u64::from(patterns.retries) + 1)
}

/// Whether an attempt fails, whatever else was drawn.
fn fails(seed: u32, (task, slot): (usize, usize), attempt: u32) -> bool {
    let tool = TOOLS[slot % TOOLS.len()];
    let place = json!(task * FAN_OUT + slot);
    let key =
        FaultDrawKey { fault: "error", server: "", method: "tools/call", tool, arguments: &place, occurrence: attempt };
    draw(u64::from(seed), &key) < ERROR_RATE
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The figures lie where the formula has them: 1 - (1 - e)^n.
    #[test]
    fn intervals_hold_the_analytic_figures() {
        let rows = paired(100);
        let share = |name: &str| rows.iter().find(|row| row.name == name).unwrap().blast_radius;
        for (name, expected) in [
            ("none", 1.0 - 0.98_f64.powi(8)),
            ("one retry", 1.0 - (1.0 - 0.0004_f64).powi(8)),
            ("degradation", 1.0 - 0.98_f64.powi(6)),
            ("hedging", 1.0 - (1.0 - 0.0004_f64).powi(8)),
        ] {
            let found = share(name);
            assert!(found.low <= expected && expected <= found.high, "{name}: {found:?} for {expected}");
        }
        // A retry is worth nothing without its first attempt, which is the same in both rows.
        assert!(share("one retry").share < share("none").share);
        assert_eq!(share("breaker"), share("none"));
    }

    #[test]
    fn more_seeds_continue_what_fewer_began() {
        assert_eq!(paired(3), paired(3));
        assert_ne!(paired(3), paired(4));
        assert_eq!(paired(0)[0].blast_radius.high.to_bits(), 1.0_f64.to_bits());
    }
}
