//! The figures as text and as JSON.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::{ERROR_RATE, FAN_OUT, PairedRow, PublishedRow, TASKS};

/// Both tables as text, at most 80 columns wide.
pub fn text(seed: u32, published: &[PublishedRow], seeds: u32, paired: &[PairedRow]) -> String {
    let percent = ERROR_RATE * 100.0;
    let mut text =
        format!("{TASKS} tasks of {FAN_OUT} calls, {percent} % of the calls fail; no server, no network\n\n");
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
    let _ = writeln!(text, "\nThe same faults for every pattern, {seeds} seeds, {tasks} tasks");
    let _ = writeln!(text, "  {:22} {:>10} {:>7}   {:26}", "", "calls/task", "ETA", "blast radius, 95 % interval");
    for row in paired {
        let blast = row.blast_radius;
        let _ = writeln!(
            text,
            "  {:22} {:>10.2} {:>7.4}   {:.4}  {:.4} to {:.4}",
            row.name, row.attempts_per_task, row.eta, blast.share, blast.low, blast.high
        );
    }
    text.push_str(
        "\nTCAF: calls for a task. TCSR: share of good calls. ETA: share of answers that came\n\
         and were right. Blast radius: share of tasks that failed.\n\
         The first table leaves out repeated calls from TCAF, and its rows have different\n\
         faults, since a repeated call shifts all later draws. One retry explains all of it.\n",
    );
    text
}

/// Both tables as JSON.
pub fn json(seed: u32, published: &[PublishedRow], seeds: u32, paired: &[PairedRow]) -> Value {
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
    let paired = paired.iter().map(|row| {
        let blast = row.blast_radius;
        json!({
            "name": row.name,
            "does": row.does,
            "attempts_per_task": row.attempts_per_task,
            "eta": row.eta,
            "blast_radius": { "share": blast.share, "low": blast.low, "high": blast.high },
        })
    });
    json!({
        "tasks": TASKS,
        "fan_out": FAN_OUT,
        "error_rate": ERROR_RATE,
        "published": { "seed": seed, "rows": published.collect::<Vec<_>>() },
        "paired": { "seeds": seeds, "rows": paired.collect::<Vec<_>>() },
    })
}
