//! The figures of the demonstration as text and as JSON.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::paired::MIXED;
use super::{DEADLINE_MS, ERROR_RATE, FAN_OUT, PairedTables, PatternRow, PublishedRow, TASKS};
use crate::reliability::Interval;

/// The tables as text, at most 80 columns wide.
pub fn text(seed: u32, published: &[PublishedRow], seeds: u32, paired: &PairedTables) -> String {
    let errors = percent(ERROR_RATE);
    let mut text = format!("{TASKS} tasks of {FAN_OUT} calls, {errors} of the calls fail; no server, no network\n\n");
    let _ = writeln!(text, "As mcp-chaos publishes it, seed {seed}");
    let _ = writeln!(text, "  {:22} {:>5} {:>6} {:>6} {:>6}   {:>6}", "", "TCAF", "TCSR", "ETA", "blast", "calls");
    for row in published {
        let _ = writeln!(
            text,
            "  {:22} {:>5.1} {:>6.2} {:>6.2} {:>6.2}   {:>6}",
            row.name, row.tcaf, row.tcsr, row.eta, row.blast_radius, row.attempts
        );
    }
    let tasks = u64::from(seeds) * TASKS as u64;
    let _ = writeln!(
        text,
        "\nThe same faults for every pattern, {seeds} {}, {tasks} tasks",
        if seeds == 1 { "seed" } else { "seeds" }
    );
    let _ = writeln!(text, "  {:22} {:>10} {:>7}   {:26}", "", "calls/task", "ETA", "blast radius, 95 % interval");
    for PatternRow { pattern, figures } in &paired.errors {
        let blast = figures.blast_radius;
        let _ = writeln!(
            text,
            "  {:22} {:>10.2} {:>7.4}   {:.4}  {:.4} to {:.4}",
            pattern.name, figures.attempts_per_task, figures.eta, blast.share, blast.low, blast.high
        );
    }
    let (wrong, slow) = (percent(MIXED.wrong), percent(MIXED.slow));
    let _ = writeln!(text, "\nBesides, {wrong} of the answers are wrong, and {slow} come after the deadline");
    let _ = writeln!(
        text,
        "  {:16} {:>6} {:>6} {:>6} {:>7} {:>6}   blast radius, interval",
        "", "A", "C", "ETA", "in time", "silent"
    );
    for PatternRow { pattern, figures } in &paired.mixed {
        let blast = figures.blast_radius;
        let _ = writeln!(
            text,
            "  {:16} {:>6.4} {:>6.4} {:>6.4} {:>7.4} {:>6.4}   {:.4} {:.4} to {:.4}",
            pattern.name,
            figures.availability,
            figures.correctness,
            figures.eta,
            figures.in_time,
            figures.failed_silently,
            blast.share,
            blast.low,
            blast.high
        );
    }
    text.push_str(
        "\nTCAF: calls for a task. TCSR: share of good calls. A: share of calls with an\n\
         answer. C: share of answers that were right. ETA: A times C. In time: share of\n\
         answers before the deadline. Blast radius: share of tasks that failed. Silent:\n\
         share of tasks that failed without any sign of it.\n\
         The first table leaves out repeated calls from TCAF, and its rows have\n\
         different faults, since a repeated call shifts all later draws. One retry\n\
         explains all of it.\n",
    );
    text
}

/// The tables as JSON.
pub fn json(seed: u32, published: &[PublishedRow], seeds: u32, paired: &PairedTables) -> Value {
    let published = published.iter().map(|row| {
        json!({
            "name": row.name,
            "tcaf": row.tcaf,
            "tcsr": row.tcsr,
            "eta": row.eta,
            "blast_radius": row.blast_radius,
            "failed_tasks": row.failed_tasks,
            "attempts": row.attempts,
        })
    });
    let rows = |rows: &[PatternRow]| rows.iter().map(figures_json).collect::<Vec<_>>();
    json!({
        "tasks": TASKS,
        "fan_out": FAN_OUT,
        "error_rate": ERROR_RATE,
        "deadline_ms": DEADLINE_MS,
        "published": { "seed": seed, "rows": published.collect::<Vec<_>>() },
        "paired": { "seeds": seeds, "rows": rows(&paired.errors) },
        "mixed": { "seeds": seeds, "wrong": MIXED.wrong, "slow": MIXED.slow, "rows": rows(&paired.mixed) },
    })
}

/// A pattern and its figures as JSON.
pub(crate) fn figures_json(row: &PatternRow) -> Value {
    let PatternRow { pattern, figures } = row;
    json!({
        "name": pattern.name,
        "does": pattern.does,
        "attempts_per_task": figures.attempts_per_task,
        "availability": figures.availability,
        "correctness": figures.correctness,
        "eta": figures.eta,
        "in_time": figures.in_time,
        "failed_silently": figures.failed_silently,
        "blast_radius": interval_json(figures.blast_radius),
    })
}

pub(crate) fn interval_json(interval: Interval) -> Value {
    json!({ "share": interval.share, "low": interval.low, "high": interval.high })
}

/// A share in percent, without digits that say nothing.
pub(crate) fn percent(share: f64) -> String {
    let digits = format!("{:.4}", share * 100.0);
    format!("{} %", digits.trim_end_matches('0').trim_end_matches('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percents_are_short() {
        assert_eq!([0.07, 0.005, 1.0, 0.0].map(percent), ["7 %", "0.5 %", "100 %", "0 %"]);
    }
}
