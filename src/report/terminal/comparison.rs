//! Cases whose verdict differs: between servers and revisions, and between ways to run them.

use std::fmt::Write as _;

use crate::event::{IsolationReport, Outcome, Verdicts};
use crate::source::Style;

use super::super::fold::{Report, SuiteReport};
use super::super::parity::Parity;
use super::layout::{self, BOLD, DIM, GREEN, RED, YELLOW};

/// The most cases of one comparison.
const ROWS: usize = 40;
/// The least room for names; with less there is no table.
const NAMES: usize = 20;

/// A case and its verdicts; nothing where there is none.
struct Row {
    name: String,
    verdicts: Vec<Option<Outcome>>,
}

/// Every comparison of a run.
pub(crate) fn comparisons(report: &Report, style: &Style) -> Vec<String> {
    let parities = report.parities();
    let is_one = parities.len() < 2;
    let mut sections: Vec<String> = parities
        .iter()
        .filter(|(_, parity)| parity.agreeing + parity.partial + parity.differing.len() > 0)
        .map(|(file, parity)| parity_section(if is_one { None } else { Some(*file) }, parity, style))
        .collect();
    let isolation = report.run_finished().and_then(|finished| finished.isolation.as_ref());
    let several = report.suites().iter().any(SuiteReport::has_several_servers);
    let cases = report.cases();
    let named = |row: &Verdicts| {
        let case = cases.iter().find(|result| result.case.id == row.id).filter(|_| several);
        let target = case.map(|result| format!(" @{}/{}", result.case.server, result.case.revision));
        format!("{}{}", row.name, target.unwrap_or_default())
    };
    sections.extend(isolation.map(|isolation| isolation_section(isolation, &named, style)));
    sections
}

fn parity_section(file: Option<&str>, parity: &Parity, style: &Style) -> String {
    let of = file.map(|file| format!(" in {file}")).unwrap_or_default();
    let rows: Vec<Row> =
        parity.differing.iter().map(|row| Row { name: row.title(), verdicts: row.outcomes.clone() }).collect();
    let targets = parity.targets.join(", ");
    let agree =
        if parity.agreeing == 1 { "1 case agrees".to_owned() } else { format!("{} cases agree", parity.agreeing) };
    let partial = match parity.partial {
        0 => String::new(),
        some => format!(", {} on those where they apply", layout::plural(some, "case")),
    };
    let foot = format!("{agree} on all of {targets}{partial}");
    section(&format!("verdicts that differ{of}"), &parity.targets, &rows, &foot, style)
}

fn isolation_section(isolation: &IsolationReport, named: &dyn Fn(&Verdicts) -> String, style: &Style) -> String {
    let IsolationReport { seed, agreeing, differing } = isolation;
    let columns = ["shared", "isolated", "shuffled"].map(str::to_owned);
    let verdicts = differing
        .iter()
        .map(|row| Row { name: named(row), verdicts: vec![Some(row.shared), Some(row.isolated), Some(row.shuffled)] });
    let rows: Vec<Row> = verdicts.collect();
    let end = if *agreeing == 1 { "case ends" } else { "cases end" };
    let foot =
        format!("{agreeing} {end} alike in a shared session, in sessions of their own, and shuffled with seed {seed}");
    section("cases that depend on others", &columns, &rows, &foot, style)
}

fn section(title: &str, columns: &[String], rows: &[Row], foot: &str, style: &Style) -> String {
    let foot = layout::indent(&layout::wrap_some(foot, style.width - 2, 4), "  ");
    if rows.is_empty() {
        return foot;
    }
    let shown = &rows[..rows.len().min(ROWS)];
    let body = table(title, columns, shown, style).unwrap_or_else(|| list(title, columns, shown, style));
    let more = match rows.len() - shown.len() {
        0 => String::new(),
        more => format!("  and {more} more; `--report json=report.json` writes all of them\n"),
    };
    body + &more + &foot
}

/// A line for each case; `None` where the columns leave too little room.
fn table(title: &str, columns: &[String], rows: &[Row], style: &Style) -> Option<String> {
    let widths: Vec<usize> = columns.iter().map(|column| layout::columns(&layout::crop(column, 40)).max(7)).collect();
    let taken: usize = widths.iter().map(|width| width + 2).sum();
    let room = style.width.checked_sub(taken + 4).filter(|room| *room >= NAMES)?;
    let widest = rows.iter().map(|row| layout::columns(&layout::crop(&row.name, room))).max().unwrap_or(0);
    let room = room.min(widest.max(layout::columns(title)));
    let widths: Vec<usize> = std::iter::once(room + 2).chain(widths).collect();
    let title = layout::paint(&layout::crop(title, room + 2), BOLD, style);
    let names = columns.iter().zip(&widths[1..]).map(|(column, width)| layout::crop(column, *width));
    let names = names.map(|name| layout::paint(&name, DIM, style));
    let mut text = layout::table_line(std::iter::once(title).chain(names), &widths, 2);
    for row in rows {
        let verdicts = row.verdicts.iter().map(|verdict| {
            let (word, look) = word(*verdict);
            layout::paint(word, look, style)
        });
        let name = format!("  {}", layout::crop(&row.name, room));
        text += &layout::table_line(std::iter::once(name).chain(verdicts), &widths, 2);
    }
    Some(text)
}

/// A paragraph for each case, for narrow windows and many columns.
fn list(title: &str, columns: &[String], rows: &[Row], style: &Style) -> String {
    let mut text = format!("{}\n", layout::paint(title, BOLD, style));
    for row in rows {
        let _ = writeln!(text, "  {}", layout::crop(&row.name, style.width.saturating_sub(2)));
        for (column, verdict) in columns.iter().zip(&row.verdicts) {
            let (word, look) = word(*verdict);
            let room = style.width.saturating_sub(6 + 13);
            let gap = " ".repeat(13usize.saturating_sub(word.len()));
            let _ = writeln!(text, "    {}{gap}{}", layout::paint(word, look, style), layout::crop(column, room));
        }
    }
    text
}

fn word(verdict: Option<Outcome>) -> (&'static str, anstyle::Style) {
    let Some(outcome) = verdict else { return ("n/a", DIM) };
    let look = match outcome {
        Outcome::Passed => GREEN,
        Outcome::Failed | Outcome::Errored => RED,
        Outcome::Warned | Outcome::Inconclusive => YELLOW,
        Outcome::Skipped => DIM,
    };
    (outcome.as_str(), look)
}
