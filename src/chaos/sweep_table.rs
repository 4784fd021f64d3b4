//! The figures of a sweep as text and as JSON.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::table::{figures_json, interval_json, percent};
use super::{Correlation, DEADLINE_MS, PatternRow, Sweep, SweepCell, TASKS};
use crate::reliability::Interval;

/// The fan-outs that stand side by side.
const COLUMNS: usize = 4;

/// The figures as text, at most 80 columns wide.
pub fn sweep_text(sweep: &Sweep) -> String {
    let grid = &sweep.grid;
    let mut text = format!(
        "{} seeds of {TASKS} tasks each, the same faults for every pattern\n\
         Blast radius: the share of tasks that failed, in %, with its interval at 95 %\n",
        grid.seeds
    );
    if grid.wrong > 0.0 || grid.slow > 0.0 {
        let _ =
            writeln!(text, "Besides errors: {} wrong answers, {} slow ones", percent(grid.wrong), percent(grid.slow));
    }
    let fan_outs = grid.fan_outs.len();
    for block in sweep.cells.chunks(grid.error_rates.len() * fan_outs) {
        for first in (0..fan_outs).step_by(COLUMNS) {
            let columns = first..fan_outs.min(first + COLUMNS);
            let rows: Vec<&[SweepCell]> = block.chunks(fan_outs).map(|cells| &cells[columns.clone()]).collect();
            write_block(&mut text, &rows);
        }
    }
    text.push_str(&worse_text(sweep));
    text
}

/// The cells of a correlation: a group of lines for each error rate, a column for each fan-out.
fn write_block(text: &mut String, rates: &[&[SweepCell]]) {
    let Some([first, ..]) = rates.first() else { return };
    let _ = writeln!(text, "\n{}", upper_first(&first.correlation.to_string()));
    for cells in rates {
        let name = format!("{} errors", percent(cells[0].error_rate));
        write_line(text, &name, cells.iter().map(|cell| format!("fan-out {}", cell.fan_out)));
        write_line(text, "  (measured)", cells.iter().map(|cell| interval_text(cell.measured_errors)));
        for (index, row) in cells[0].rows.iter().enumerate() {
            let name = format!("  {}", row.pattern.name);
            write_line(text, &name, cells.iter().map(|cell| interval_text(cell.rows[index].figures.blast_radius)));
        }
    }
}

fn write_line(text: &mut String, name: &str, columns: impl Iterator<Item = String>) {
    let mut line = format!("{name:17}");
    for column in columns {
        let _ = write!(line, " {column:>14}");
    }
    let _ = writeln!(text, "{line}");
}

/// The worst cell of each pattern that fails more tasks than none.
fn worse_text(sweep: &Sweep) -> String {
    let Some(first) = sweep.grid.patterns.first() else { return String::new() };
    let mut text = String::new();
    let cells = sweep.grid.error_rates.len() * sweep.grid.fan_outs.len();
    for block in sweep.cells.chunks(cells) {
        for index in 1..sweep.grid.patterns.len() {
            let harmed: Vec<&SweepCell> = block.iter().filter(|cell| cell.is_worse(&cell.rows[index])).collect();
            let harm = |cell: &SweepCell| share(&cell.rows[index]) - share(&cell.rows[0]);
            let Some(worst) = harmed.iter().max_by(|one, other| harm(one).total_cmp(&harm(other))) else { continue };
            let _ = writeln!(
                text,
                "  {}, {}: in {} of {cells} cells, most at\n    {} errors and fan-out {}: {} % instead of {} %",
                worst.rows[index].pattern.name,
                worst.correlation,
                harmed.len(),
                percent(worst.error_rate),
                worst.fan_out,
                three_digits(share(&worst.rows[index])),
                three_digits(share(&worst.rows[0])),
            );
        }
    }
    if text.is_empty() {
        return format!("\nNo pattern fails more tasks than `{}`.\n", first.name);
    }
    format!("\nMore failed tasks than with `{}`, where the intervals do not overlap:\n{text}", first.name)
}

fn share(row: &PatternRow) -> f64 {
    row.figures.blast_radius.share
}

/// A share and its interval in at most 14 columns.
fn interval_text(interval: Interval) -> String {
    format!("{} {}-{}", three_digits(interval.share), three_digits(interval.low), three_digits(interval.high))
}

/// A share in percent with three digits.
fn three_digits(share: f64) -> String {
    match share * 100.0 {
        percent if percent >= 99.95 => format!("{percent:.0}"),
        percent if percent >= 9.995 => format!("{percent:.1}"),
        percent => format!("{percent:.2}"),
    }
}

fn upper_first(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

/// The figures as JSON.
pub fn sweep_json(sweep: &Sweep) -> Value {
    let cells = sweep.cells.iter().map(|cell| {
        let rows = cell.rows.iter().map(|row| {
            let mut figures = figures_json(row);
            figures["is_worse"] = cell.is_worse(row).into();
            figures
        });
        json!({
            "correlation": correlation_json(cell.correlation),
            "error_rate": cell.error_rate,
            "fan_out": cell.fan_out,
            "measured_errors": interval_json(cell.measured_errors),
            "rows": rows.collect::<Vec<_>>(),
        })
    });
    json!({
        "tasks": TASKS,
        "seeds": sweep.grid.seeds,
        "deadline_ms": DEADLINE_MS,
        "wrong": sweep.grid.wrong,
        "slow": sweep.grid.slow,
        "cells": cells.collect::<Vec<_>>(),
    })
}

fn correlation_json(correlation: Correlation) -> Value {
    match correlation {
        Correlation::Independent => json!({ "kind": "independent" }),
        Correlation::Bursts(calls) => json!({ "kind": "bursts", "calls": calls }),
        Correlation::Episodes(tasks) => json!({ "kind": "episodes", "tasks": tasks }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_fit_into_their_columns() {
        let shown = |share, low, high| interval_text(Interval { share, low, high });
        assert_eq!(shown(1.0, 0.99946, 1.0), "100 99.9-100");
        assert_eq!(shown(0.148, 0.0999, 0.16), "14.8 9.99-16.0");
        assert_eq!(shown(0.0, 0.0, 0.0004), "0.00 0.00-0.04");
        assert_eq!(three_digits(0.09996), "10.0");
    }
}
