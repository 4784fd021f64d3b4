//! The results of generated calls, a line for each tool.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use crate::event::{CaseResult, Outcome, Reason};
use crate::source::{Style, visible_line};

use super::failure::mark;
use super::layout::{self, DIM};

/// The table of all tools that were called, and what gives the same calls again; nothing where none was.
pub(super) fn table<'a>(cases: impl Iterator<Item = &'a CaseResult>, style: &Style) -> String {
    let mut lines: Vec<Line<'a>> = cases.filter_map(line).collect();
    name_revisions(&mut lines);
    let width = lines.iter().map(|line| layout::columns(&line.tool)).max().unwrap_or_default().min(style.width / 3);
    let mut text = String::new();
    for Line { result, tool, counts, .. } in &lines {
        let (sign, look) = mark(result);
        let tool = layout::crop(tool, width);
        let gap = " ".repeat(width - layout::columns(&tool));
        let counts = layout::wrap(&visible_line(counts), style.width.saturating_sub(width + 7));
        let counts: Vec<String> = counts.iter().map(|part| layout::paint(part, DIM, style)).collect();
        let below = format!("\n{}", " ".repeat(width + 7));
        let _ = writeln!(text, "  {} {tool}{gap}   {}", layout::paint(sign, look, style), counts.join(&below));
    }
    let seeds: BTreeSet<&str> = lines.iter().map(|line| line.seed).collect();
    for seed in seeds {
        let _ = writeln!(text, "  seed {seed} gives the same calls again");
    }
    text
}

/// Tells tools of the same name apart by what was spoken.
fn name_revisions(lines: &mut [Line<'_>]) {
    let revisions: BTreeSet<&str> = lines.iter().map(|line| line.result.case.revision.as_str()).collect();
    if revisions.len() > 1 {
        for line in lines {
            line.tool = format!("{} {}", line.tool, line.result.case.revision);
        }
    }
}

/// The line of one tool.
struct Line<'a> {
    result: &'a CaseResult,
    tool: String,
    counts: &'a str,
    seed: &'a str,
}

fn line(result: &CaseResult) -> Option<Line<'_>> {
    let is_called = result.case.probes.iter().any(|probe| probe == "fuzz") && result.outcome != Outcome::Skipped;
    let (_, tool) = result.case.name.split_once(": ")?;
    let Some(Reason::Measured(reason)) = result.reason.as_ref().filter(|_| is_called) else { return None };
    let counts = reason.rsplit_once(" (").map_or(reason.as_str(), |(_, counts)| counts);
    let (counts, rest) = counts.split_once("; seed ")?;
    Some(Line { result, tool: tool.to_owned(), counts, seed: rest.split(',').next().unwrap_or_default() })
}
