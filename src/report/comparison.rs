//! Cases whose verdict differs, as tables: between servers and revisions, and between ways to run them.

use crate::event::{Cell, IsolationReport, Outcome, SectionTable, Tone, Verdicts};

use super::fold::{Report, SuiteReport};
use super::parity::Parity;
use super::terminal;

/// A comparison of a run.
pub(crate) struct Comparison {
    /// The cases that differ, with their verdicts; no row where all agree.
    pub(crate) table: SectionTable,
    /// How many agree, and on what.
    pub(crate) agreeing: String,
}

/// Every comparison of a run.
pub(crate) fn comparisons(report: &Report) -> Vec<Comparison> {
    let parities = report.parities();
    let is_one = parities.len() < 2;
    let compared = parities.iter().filter(|(_, parity)| parity.agreeing + parity.partial + parity.differing.len() > 0);
    let mut all: Vec<Comparison> =
        compared.map(|(file, parity)| compare_targets((!is_one).then_some(*file), parity)).collect();
    let isolation = report.run_finished().and_then(|finished| finished.isolation.as_ref());
    let several = report.suites().iter().any(SuiteReport::has_several_servers);
    let cases = report.cases();
    let name = |row: &Verdicts| {
        let case = cases.iter().find(|result| result.case.id == row.id).filter(|_| several);
        let target = case.map(|result| format!(" @{}/{}", result.case.server, result.case.revision));
        format!("{}{}", row.name, target.unwrap_or_default())
    };
    all.extend(isolation.map(|isolation| compare_orders(isolation, &name)));
    all
}

/// The most targets that a sentence names.
const MOST_NAMED: usize = 8;

fn compare_targets(file: Option<&str>, parity: &Parity) -> Comparison {
    let of = file.map(|file| format!(" in {file}")).unwrap_or_default();
    let rows = parity.differing.iter().map(|row| (row.title(), row.outcomes.clone()));
    let targets = match parity.targets.len() {
        count if count > MOST_NAMED => terminal::plural(count, "target"),
        _ => parity.targets.join(", "),
    };
    let agree =
        if parity.agreeing == 1 { "1 case agrees".to_owned() } else { format!("{} cases agree", parity.agreeing) };
    let partial = match parity.partial {
        0 => String::new(),
        some => format!(", {} on those where they apply", terminal::plural(some, "case")),
    };
    let is_wide = parity.targets.len() > MOST_NAMED;
    let differ = match parity.differing.len() {
        some if is_wide && some > 0 => format!("; verdicts on {} differ", terminal::plural(some, "case")),
        _ => String::new(),
    };
    // A column for each of so many fits on no screen.
    let (columns, shown) = if is_wide { (&[][..], 0) } else { (parity.targets.as_slice(), usize::MAX) };
    Comparison {
        table: table(format!("verdicts that differ{of}"), columns, rows.take(shown)),
        agreeing: format!("{agree} on all of {targets}{partial}{differ}"),
    }
}

fn compare_orders(isolation: &IsolationReport, name: &dyn Fn(&Verdicts) -> String) -> Comparison {
    let IsolationReport { seed, agreeing, differing } = isolation;
    let rows = differing.iter().map(|row| (name(row), vec![Some(row.shared), Some(row.isolated), Some(row.shuffled)]));
    let columns = ["shared", "isolated", "shuffled"].map(str::to_owned);
    let end = if *agreeing == 1 { "case ends" } else { "cases end" };
    Comparison {
        table: table("cases that depend on others".to_owned(), &columns, rows),
        agreeing: format!(
            "{agreeing} {end} alike in a shared session, in sessions of their own, and shuffled with seed {seed}"
        ),
    }
}

fn table(
    title: String,
    columns: &[String],
    rows: impl Iterator<Item = (String, Vec<Option<Outcome>>)>,
) -> SectionTable {
    let row = |(name, verdicts): (String, Vec<Option<Outcome>>)| {
        std::iter::once(Cell::plain(name)).chain(verdicts.into_iter().map(cell)).collect()
    };
    SectionTable::new(std::iter::once(title).chain(columns.iter().cloned()), rows.map(row).collect())
}

fn cell(verdict: Option<Outcome>) -> Cell {
    let Some(outcome) = verdict else { return Cell::new("n/a", Tone::Faint) };
    let tone = match outcome {
        Outcome::Passed => Tone::Good,
        Outcome::Failed | Outcome::Errored => Tone::Bad,
        Outcome::Warned | Outcome::Inconclusive => Tone::Doubtful,
        Outcome::Skipped => Tone::Faint,
    };
    Cell::new(outcome.as_str(), tone)
}
