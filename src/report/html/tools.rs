//! Which checks are about which tool, and how they ended: rows are tools, columns kinds of checks.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use indexmap::IndexMap;

use crate::event::{CaseResult, Cell, Outcome, Tone};
use crate::report::fault_table;
use crate::report::fold::Report;
use crate::taxonomy::PROBES;

use super::NumberedCase;
use super::escape::{code, inline};
use super::offered::OfferedTools;
use super::table::{self, cell};

/// The column of tests that belong to no generated check.
const TESTS: &str = "tests";
/// The row of cases that are about no tool, or about all of them.
const NO_TOOL: &str = "no single tool";

/// The outcomes of some cases.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct CellCounts {
    bad: usize,
    doubtful: usize,
    unjudged: usize,
    passed: usize,
    skipped: usize,
    /// The number of the case to look at first, and how bad it is.
    worst: Option<(usize, usize)>,
}

/// The table; nothing where no case is about a tool.
pub(super) fn tools(report: &Report, cases: &[NumberedCase<'_>], offered: &OfferedTools) -> String {
    let mut rows: BTreeMap<&str, BTreeMap<&str, CellCounts>> = BTreeMap::new();
    let mut others: BTreeMap<&str, CellCounts> = BTreeMap::new();
    for numbered in cases {
        let check = check_of(numbered.case);
        let subjects = offered.subjects(numbered.case);
        for tool in &subjects {
            rows.entry(tool).or_default().entry(check).or_default().count(numbered);
        }
        if subjects.is_empty() {
            others.entry(check).or_default().count(numbered);
        }
    }
    let proof = report.run_finished().and_then(|run| run.proof.as_deref());
    let proven: IndexMap<String, Cell> = proof.map(fault_table::tool_cells).unwrap_or_default();
    for tool in offered.listed().chain(proven.keys().map(String::as_str)) {
        rows.entry(tool).or_default();
    }
    if rows.is_empty() {
        return String::new();
    }
    let used: BTreeSet<&str> = rows.values().chain([&others]).flat_map(BTreeMap::keys).copied().collect();
    let columns = columns(&used);
    let mut text = String::from(
        "<p>Cases about each tool, by kind of check: <span class=\"bad\">✗ failed or errored</span>, \
         <span class=\"doubt\">~ in doubt</span>, <span class=\"doubt\">? not judged</span>, \
         <span class=\"good\">✓ passed</span>, <span class=\"faint\">- not run</span>.",
    );
    if proof.is_some() {
        text += " Proven: changes that turned a case red, of all that were made at the tool.";
    }
    text += "</p>\n";
    text += &table::open("Tools and checks");
    text += "<thead><tr><th scope=\"col\">tool</th>";
    for name in &columns {
        let _ = write!(text, "<th scope=\"col\">{}</th>", inline(name));
    }
    if proof.is_some() {
        text += "<th scope=\"col\">proven</th>";
    }
    text += "</tr></thead>\n<tbody>\n";
    for (tool, counts) in &rows {
        text += &row(&code(tool), counts, &columns);
        if proof.is_some() {
            text += &proven.get(*tool).map_or_else(|| cell(&Cell::new("·", Tone::Faint)), cell);
        }
        text += "</tr>\n";
    }
    if !others.is_empty() {
        text += &row(NO_TOOL, &others, &columns);
        text += if proof.is_some() { "<td></td></tr>\n" } else { "</tr>\n" };
    }
    text + table::CLOSE
}

fn row(name: &str, counts: &BTreeMap<&str, CellCounts>, columns: &[&str]) -> String {
    let cells: String = columns.iter().map(|column| counts_cell(counts.get(column))).collect();
    format!("<tr><th scope=\"row\">{name}</th>{cells}")
}

/// Tests first, then the probes in the order of their table, then what it does not know.
fn columns<'a>(used: &BTreeSet<&'a str>) -> Vec<&'a str> {
    let place = |name: &str| match name {
        TESTS => 0,
        _ => PROBES.iter().position(|probe| probe.id == name).map_or(usize::MAX, |at| at + 1),
    };
    let mut columns: Vec<&str> = used.iter().copied().collect();
    columns.sort_by_key(|name| place(name));
    columns
}

fn check_of(case: &CaseResult) -> &str {
    case.case.probes.first().map_or(TESTS, String::as_str)
}

impl CellCounts {
    fn count(&mut self, numbered: &NumberedCase<'_>) {
        let (count, badness) = match numbered.case.outcome {
            Outcome::Failed if numbered.case.is_known() => (&mut self.doubtful, 3),
            Outcome::Failed | Outcome::Errored => (&mut self.bad, 4),
            Outcome::Warned => (&mut self.doubtful, 3),
            Outcome::Passed if numbered.case.is_flaky() => (&mut self.doubtful, 3),
            Outcome::Inconclusive => (&mut self.unjudged, 2),
            Outcome::Passed => (&mut self.passed, 1),
            Outcome::Skipped => (&mut self.skipped, 0),
        };
        *count += 1;
        if self.worst.is_none_or(|(known, _)| badness > known) {
            self.worst = Some((badness, numbered.number));
        }
    }
}

fn counts_cell(counts: Option<&CellCounts>) -> String {
    let Some(CellCounts { bad, doubtful, unjudged, passed, skipped, worst }) = counts else {
        return "<td class=\"faint\">·</td>".to_owned();
    };
    let parts = [
        (*bad, "✗", "failed", "bad"),
        (*doubtful, "~", "in doubt", "doubt"),
        (*unjudged, "?", "not judged", "doubt"),
        (*passed, "✓", "passed", "good"),
        (*skipped, "-", "not run", "faint"),
    ];
    let told: Vec<String> = parts
        .iter()
        .filter(|(count, ..)| *count > 0)
        .map(|(count, mark, word, class)| {
            format!("<span class=\"{class}\">{mark} {count}<span class=\"unseen\"> {word}</span></span>")
        })
        .collect();
    let number = worst.map_or(0, |(_, number)| number);
    format!("<td><a href=\"#case-{number}\">{}</a></td>", told.join(" "))
}
