//! This run beside earlier ones: how each ended, the cases whose outcome changed, and what those answered otherwise.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use chrono::DateTime;
use serde_json::Value;

use crate::event::{CaseResult, Cell, Exchange, Outcome, SectionTable, Tone};
use crate::fault::value_differences;
use crate::report::coverage::{levels_of, percent};
use crate::report::fold::Report;
use crate::report::headline;
use crate::report::terminal::{self, plural};
use crate::source::duration_text;

use super::escape::{code, inline, sentence};
use super::table::{self, table};
use super::{NumberedCase, case_name, outcome_words, verdict_class, verdict_mark};

/// The most runs that are columns: the latest ones.
const COLUMNS: usize = 12;
/// The most cases whose outcomes are listed.
const ROWS: usize = 200;
/// The most cases whose answers are compared.
const COMPARED: usize = 50;
/// The most earlier runs that an answer is compared with.
const PASSES: usize = 3;

/// One of the runs, the cases by id.
struct PastRun<'a> {
    began: String,
    report: &'a Report,
    cases: BTreeMap<&'a str, &'a CaseResult>,
}

/// A case of this run, and what became of it in each run that is shown.
struct CaseHistory<'a> {
    numbered: &'a NumberedCase<'a>,
    past: Vec<PastOutcome<'a>>,
}

/// What became of a case in an earlier run.
#[derive(Clone, Copy)]
enum PastOutcome<'a> {
    NotRun,
    Case(&'a CaseResult),
    /// The server broke no rule, which is no case of its own.
    RulesKept,
}

impl<'a> PastOutcome<'a> {
    fn case(self) -> Option<&'a CaseResult> {
        if let Self::Case(case) = self { Some(case) } else { None }
    }

    /// Mark, word and class.
    fn words(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Self::NotRun => ("", "not run", "faint"),
            Self::Case(case) => outcome_words(case),
            Self::RulesKept => ("✓", "kept", "good"),
        }
    }

    fn is_good(self) -> bool {
        match self {
            Self::NotRun => false,
            Self::RulesKept => true,
            Self::Case(case) => matches!(case.outcome, Outcome::Passed | Outcome::Warned),
        }
    }
}

/// The section; nothing where no earlier run is known.
pub(super) fn history(report: &Report, cases: &[NumberedCase<'_>]) -> String {
    if report.earlier().is_empty() {
        return String::new();
    }
    let beside: Vec<Vec<CaseResult>> = report.earlier().iter().map(Report::protocol_cases).collect();
    let runs: Vec<PastRun<'_>> = report.earlier().iter().zip(&beside).map(|(run, beside)| past(run, beside)).collect();
    let mut text = table(&of_runs(&runs, report), "Runs");
    let shown = &runs[runs.len().saturating_sub(COLUMNS - 1)..];
    let known = cases.iter().map(|numbered| CaseHistory::of(numbered, shown));
    let mut changed: Vec<CaseHistory<'_>> = known.filter(CaseHistory::is_changed).collect();
    if changed.is_empty() {
        return text + "<p>No case that ran before ended otherwise.</p>\n";
    }
    // What broke comes first.
    changed.sort_by_key(|case| !case.is_broken());
    text += &of_cases(&changed, shown);
    let broken = changed.iter().filter(|case| case.is_broken()).take(COMPARED);
    text += &broken.map(CaseHistory::differences).collect::<String>();
    text
}

fn past<'a>(report: &'a Report, beside: &'a [CaseResult]) -> PastRun<'a> {
    let cases = report.cases().into_iter().chain(beside).map(|case| (case.case.id.as_str(), case)).collect();
    PastRun { began: began(report), report, cases }
}

fn began(report: &Report) -> String {
    let began = report.run_started().and_then(|run| i64::try_from(run.started_unix_ms).ok());
    let time = began.and_then(DateTime::from_timestamp_millis);
    time.map_or_else(|| "unknown".to_owned(), |time| time.format("%Y-%m-%d %H:%M").to_string())
}

/// The runs, the earliest first, with this one at the end.
fn of_runs(earlier: &[PastRun<'_>], report: &Report) -> SectionTable {
    let columns = ["began (UTC)", "verdict", "time", "declared", "exercised", "proven"];
    let mut rows: Vec<Vec<Cell>> = earlier.iter().map(|run| run_row(run.began.clone(), run.report)).collect();
    rows.push(run_row(format!("{}, this run", began(report)), report));
    SectionTable::new(columns.map(str::to_owned).to_vec(), rows)
}

fn run_row(began: String, report: &Report) -> Vec<Cell> {
    let headline = headline::headline(report, &report.suites());
    let tone = match verdict_class(headline.verdict) {
        "good" => Tone::Good,
        "bad" => Tone::Bad,
        "doubt" => Tone::Doubtful,
        _ => Tone::Faint,
    };
    let verdict = format!("{} {}", verdict_mark(headline.verdict), headline.said);
    let mut row = vec![Cell::plain(began), Cell::new(verdict, tone)];
    row.push(Cell::plain(report.duration().map(duration_text).unwrap_or_default()));
    let scores = report.run_finished().map(|run| levels_of(run).0).unwrap_or_default();
    let figure = |at: usize| scores.get(at).map(|score| percent(score.percent, None)).unwrap_or_default();
    row.extend((0..3).map(|at| Cell::plain(figure(at))));
    row
}

fn of_cases(changed: &[CaseHistory<'_>], runs: &[PastRun<'_>]) -> String {
    let mut text = format!("<h3>{} changed</h3>\n", plural(changed.len(), "outcome"));
    text += &table::open("Cases whose outcome changed");
    text += "<thead><tr><th scope=\"col\">case</th>";
    for run in runs {
        let _ = write!(text, "<th scope=\"col\">{}</th>", inline(&run.began));
    }
    text += "<th scope=\"col\">this run</th></tr></thead>\n<tbody>\n";
    for CaseHistory { numbered, past } in changed.iter().take(ROWS) {
        let name = inline(&terminal::crop(&case_name(numbered), 100));
        let _ = write!(text, "<tr><th scope=\"row\"><a href=\"#case-{}\">{name}</a></th>", numbered.number);
        let now = PastOutcome::Case(numbered.case);
        text += &past.iter().copied().chain([now]).map(outcome_cell).collect::<String>();
        text += "</tr>\n";
    }
    text += table::CLOSE;
    if changed.len() > ROWS {
        let _ = writeln!(text, "<p>and {}</p>", plural(changed.len() - ROWS, "more case"));
    }
    text
}

fn outcome_cell(outcome: PastOutcome<'_>) -> String {
    let (mark, word, class) = outcome.words();
    format!("<td class=\"{class}\">{}</td>", format!("{mark} {word}").trim_start())
}

impl PastRun<'_> {
    /// Any case of the server ran.
    fn has_server(&self, file: &str, server: &str) -> bool {
        self.cases.values().any(|case| case.case.file == file && case.case.server == server)
    }
}

impl<'a> CaseHistory<'a> {
    fn of(numbered: &'a NumberedCase<'a>, runs: &[PastRun<'a>]) -> Self {
        let info = &numbered.case.case;
        let outcome = |run: &PastRun<'a>| match run.cases.get(info.id.as_str()) {
            Some(case) => PastOutcome::Case(case),
            None if numbered.is_protocol && run.has_server(&info.file, &info.server) => PastOutcome::RulesKept,
            None => PastOutcome::NotRun,
        };
        Self { numbered, past: runs.iter().map(outcome).collect() }
    }

    /// A case that no earlier run had is new, not changed.
    fn is_changed(&self) -> bool {
        let now = outcome_words(self.numbered.case);
        self.past.iter().any(|past| !matches!(past, PastOutcome::NotRun) && past.words() != now)
    }

    /// It does not pass now, and did so before.
    fn is_broken(&self) -> bool {
        let is_bad = matches!(self.numbered.case.outcome, Outcome::Failed | Outcome::Errored | Outcome::Inconclusive);
        is_bad && self.past.iter().any(|past| past.is_good())
    }

    /// What it asked and what came, where that is not what it was when it passed; nothing where all is the same.
    fn differences(&self) -> String {
        let cases = self.past.iter().rev().filter_map(|past| past.case());
        let passes: Vec<&CaseResult> = cases.filter(|case| case.outcome == Outcome::Passed).take(PASSES).collect();
        let found = exchange_differences(&self.numbered.case.exchanges, &passes);
        if found.is_empty() {
            return String::new();
        }
        let item = |one: &ExchangeDifference<'_>| {
            let lines: Vec<String> = one.says.iter().map(|line| format!("<div>{}</div>", code(line))).collect();
            format!("<li><b>{}</b> {}</li>", inline(&terminal::crop(one.title, 200)), lines.concat())
        };
        format!(
            "<details><summary>{}: what came when it passed → what came now</summary><ol class=\"exchanges\">{}</ol>\
             </details>\n",
            sentence(&terminal::crop(&case_name(self.numbered), 100)),
            found.iter().map(item).collect::<String>()
        )
    }
}

/// A request of a case, and how it or its answer differs from that of earlier runs.
#[derive(Debug, PartialEq, Eq)]
struct ExchangeDifference<'a> {
    title: &'a str,
    says: Vec<String>,
}

/// The requests whose texts differ in the same way from those of each earlier run: what differs from run to run anyway is
/// left out.
fn exchange_differences<'a>(now: &'a [Exchange], passes: &[&'a CaseResult]) -> Vec<ExchangeDifference<'a>> {
    let Some((latest, others)) = passes.split_first() else { return Vec::new() };
    let mut found = differences(now, &latest.exchanges);
    for other in others {
        let known = differences(now, &other.exchanges);
        let is_known =
            |title: &str, line: &String| known.iter().any(|one| one.title == title && one.says.contains(line));
        for one in &mut found {
            one.says.retain(|line| is_known(one.title, line));
        }
    }
    found.retain(|one| !one.says.is_empty());
    found
}

fn differences<'a>(now: &'a [Exchange], before: &'a [Exchange]) -> Vec<ExchangeDifference<'a>> {
    let mut rest: Vec<&Exchange> = before.iter().collect();
    let mut found = Vec::new();
    for exchange in now {
        let is_same = |old: &&Exchange| (old.phase, &old.title) == (exchange.phase, &exchange.title);
        let says = match rest.iter().position(is_same).map(|at| rest.remove(at)) {
            None => vec!["not asked then".to_owned()],
            Some(old) => {
                let sent = text_differences(&old.sent, &exchange.sent).into_iter().map(|line| format!("sent {line}"));
                sent.chain(text_differences(&old.received, &exchange.received)).collect()
            }
        };
        found.push(ExchangeDifference { title: &exchange.title, says });
    }
    found.extend(
        rest.iter().map(|old| ExchangeDifference { title: &old.title, says: vec!["not asked now".to_owned()] }),
    );
    found
}

/// The differences of two texts, as values where both are JSON.
fn text_differences(before: &str, now: &str) -> Vec<String> {
    let read = |text: &str| serde_json::from_str::<Value>(text).unwrap_or_else(|_| text.into());
    value_differences(&read(before), &read(now))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::tests::fixture::{exchange, passed};

    #[test]
    fn what_differs_from_every_run_that_passed_is_shown() {
        let answers =
            |texts: &[&str]| texts.iter().map(|text| exchange("get_user", "{\"id\":1}", text)).collect::<Vec<_>>();
        let run = |texts: &[&str]| CaseResult { exchanges: answers(texts), ..passed(1, "a", None) };
        let one = |says: &str| vec![says.to_owned()];
        for (now, before, expected) in [
            (answers(&["{\"n\":2}"]), vec![run(&["{\"n\":2}"])], vec![]),
            (answers(&["{\"n\":2}"]), vec![run(&["{\"n\":1}"])], vec![one("n: 1 → 2")]),
            (answers(&["oh"]), vec![run(&["{\"n\":1}"])], vec![one("the answer: {\"n\":1} → \"oh\"")]),
            // The time is another one in every run.
            (
                answers(&["{\"at\":3,\"n\":2}"]),
                vec![run(&["{\"at\":2,\"n\":1}"]), run(&["{\"at\":1,\"n\":1}"])],
                vec![one("n: 1 → 2")],
            ),
            // That it differs in another way is no reason to hide it.
            (answers(&["{\"n\":3}"]), vec![run(&["{\"n\":1}"])], vec![one("n: 1 → 3")]),
            (answers(&["1", "2"]), vec![run(&["1"])], vec![one("not asked then")]),
            (answers(&[]), vec![run(&["1"])], vec![one("not asked now")]),
            (answers(&["1"]), vec![], vec![]),
        ] {
            let before: Vec<&CaseResult> = before.iter().collect();
            let found: Vec<Vec<String>> = exchange_differences(&now, &before).into_iter().map(|one| one.says).collect();
            assert_eq!(found, expected);
        }
    }
}
