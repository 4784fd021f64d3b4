//! A summary in Markdown, for the summary of a job or a comment on a change.
//!
//! Whatever others wrote stands in code, whose fences are longer than any run of backticks in it: there is no markup,
//! no link, no picture and nobody is mentioned.

mod proof;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::event::{CaseResult, Coverage, Outcome, RunFinished, Section, SectionPart, SectionTable, UnjudgedTools};
use crate::source::{Color, Style, duration_text, replace_command_brackets, visible, visible_line};

use super::cause::Cause;
use super::comparison::{self, Comparison};
use super::fold::{Report, SuiteReport, Totals};
use super::headline::{self, Headline, RunVerdict, broken_servers};
use super::servers::servers_table;
use super::terminal::{self, CaseDetail, FailureOrder, Groups};
use super::{Format, coverage, limit, wording};

pub(crate) const FORMAT: Format = Format {
    name: "markdown",
    about: "a summary for `$GITHUB_STEP_SUMMARY` and for comments on merge requests",
    shows_passed: false,
    render: |report, _| render(report),
};

/// Wide enough for excerpts, narrow enough for a page.
const WIDTH: usize = 100;
/// The most bytes of all failures; GitHub refuses summaries of more than a mebibyte.
const FAILURES: usize = 700 * 1024;
/// The most suites, reasons and flaky cases that are listed.
const LISTED: usize = 100;

fn render(report: &Report) -> String {
    let suites = report.suites();
    let sections = [
        heading(report, &suites),
        totals(report, &suites),
        servers(report),
        unjudged(report),
        failures(&suites),
        flaky(&suites),
        reasons(&suites),
        comparisons(report),
        report.run_finished().map(sections).unwrap_or_default(),
        report.run_finished().map(coverage).unwrap_or_default(),
        report.run_finished().and_then(|run| run.proof.as_deref()).map(proof::mutants).unwrap_or_default(),
    ];
    sections.iter().filter(|section| !section.is_empty()).map(String::as_str).collect::<Vec<_>>().join("\n")
}

fn heading(report: &Report, suites: &[SuiteReport<'_>]) -> String {
    let Headline { verdict, said } = headline::headline(report, suites);
    let mark = match verdict {
        RunVerdict::Good => "✅",
        RunVerdict::Unfinished => "⚠️",
        RunVerdict::Bad => "❌",
        RunVerdict::Doubtful => "❔",
        RunVerdict::Open => "➖",
    };
    format!("## {mark} mcprove: {said}\n")
}

/// A heading and the count below it.
type CountColumn = (&'static str, fn(&Totals) -> usize);

fn totals(report: &Report, suites: &[SuiteReport<'_>]) -> String {
    let columns: [CountColumn; 9] = [
        ("passed", |totals| totals.passed),
        ("failed", |totals| totals.failed),
        ("errored", |totals| totals.errored),
        ("known", |totals| totals.known),
        ("warned", |totals| totals.warned),
        ("flaky", |totals| totals.flaky),
        ("inconclusive", |totals| totals.inconclusive),
        (terminal::SKIPPED, |totals| totals.skipped),
        (terminal::INAPPLICABLE, |totals| totals.inapplicable),
    ];
    let mut all = report.totals();
    all.failed += suites.iter().map(broken_servers).sum::<usize>();
    if all.cases() == 0 && report.run_finished().is_some_and(|run| run.proof.is_some()) {
        return String::new();
    }
    let used: Vec<_> = columns.into_iter().filter(|(name, count)| *name == "passed" || count(&all) > 0).collect();
    let row = |name: &str, totals: &Totals, time: &str| {
        let counts = used.iter().map(|(_, count)| count(totals).to_string()).collect::<Vec<_>>().join(" | ");
        format!("| {name} | {counts} | {time} |\n")
    };
    let names = used.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(" | ");
    let mut text = format!("| suite | {names} | time |\n| --- |{} ---: |\n", " ---: |".repeat(used.len()));
    for suite in suites.iter().take(LISTED) {
        let totals = Totals { failed: suite.totals.failed + broken_servers(suite), ..suite.totals };
        text += &row(&code(suite.file), &totals, &duration_text(suite.duration(report)));
    }
    if suites.len() > 1 {
        let time = report.duration().map(duration_text).unwrap_or_default();
        text += &row(&format!("all {} suites", suites.len()), &all, &time);
    }
    text
}

/// How the run ended for each of several servers.
fn servers(report: &Report) -> String {
    servers_table(report).map(|ends| format!("### Servers\n\n{}", some_rows(ends))).unwrap_or_default()
}

/// The tools that were not judged, and what would change that.
fn unjudged(report: &Report) -> String {
    let told = |tools: &UnjudgedTools| format!("❔ {}\n", code(&format!("{}; {}", tools.to_text(), tools.help)));
    report.unjudged().iter().map(told).collect::<Vec<_>>().join("\n")
}

/// The sections that blocks add to the summary.
fn sections(run: &RunFinished) -> String {
    run.sections.iter().map(section).collect()
}

fn section(section: &Section) -> String {
    let mut text = format!("### {}\n\n", code(&section.heading));
    for part in &section.parts {
        let part = match part {
            SectionPart::Table(part) => table(part),
            SectionPart::List(lines) => lines.iter().fold(String::new(), |list, line| list + "- " + &code(line) + "\n"),
            SectionPart::Code(part) => fence(part, "text"),
            SectionPart::Note(note) => format!("{}\n", code(note)),
        };
        text += &part;
        text.push('\n');
    }
    text
}

fn table(table: &SectionTable) -> String {
    let figures = table.columns.len() > 2;
    let line = if figures { " ---: |" } else { " --- |" }.repeat(table.columns.len().saturating_sub(1));
    let group = |at: usize| table.groups.get(at).filter(|group| !group.is_empty());
    let name = |(at, name): (usize, &String)| match group(at) {
        Some(group) => cell(&format!("{group} {name}")),
        None => cell(name),
    };
    let names: Vec<String> = table.columns.iter().enumerate().map(name).collect();
    let mut text = format!("| {} |\n| --- |{line}\n", names.join(" | "));
    for row in &table.rows {
        let cells: Vec<String> = row.iter().map(|one| cell(&one.text)).collect();
        let _ = writeln!(text, "| {} |", cells.join(" | "));
    }
    text
}

/// As many rows as a summary has room for.
fn some_rows(whole: SectionTable) -> String {
    let (shown, more) = terminal::table::first_rows(whole, LISTED);
    table(&shown) + &more_rows(more)
}

fn more_rows(more: usize) -> String {
    if more == 0 { String::new() } else { format!("\nand {more} more; `--report json=report.json` has all of them\n") }
}

/// Text of others in a table; figures and single words need no code.
fn cell(text: &str) -> String {
    let is_tame = |c: char| c.is_ascii_alphanumeric() || " /%(),·✓✗".contains(c);
    if text.chars().all(is_tame) { text.to_owned() } else { code(text) }
}

fn failures(suites: &[SuiteReport<'_>]) -> String {
    let all = || {
        suites.iter().flat_map(|suite| {
            let several = suite.has_several_servers();
            suite.sessions.iter().chain(suite.cases.iter().copied()).map(move |case| (case, several))
        })
    };
    let kinds = [Outcome::Failed, Outcome::Errored, Outcome::Warned, Outcome::Inconclusive];
    let troubled = kinds.iter().flat_map(|kind| all().filter(|(case, _)| case.outcome == *kind));
    let mut groups = Groups::default();
    let (mut text, mut left_out) = (String::new(), 0);
    for (case, several) in troubled.filter(|(case, _)| terminal::is_trouble(case)) {
        let shown = if text.len() < FAILURES { groups.admit(case) } else { CaseDetail::Name };
        match shown {
            CaseDetail::Full(known) => text += &failure(case, &known, several),
            CaseDetail::Line => text += &line(case, several),
            CaseDetail::Name => left_out += 1,
        }
    }
    if left_out > 0 {
        let cases = terminal::plural(left_out, "case");
        let _ =
            writeln!(text, "\n{cases} more, most with causes shown above; `--report json=report.json` has all of them");
    }
    if text.is_empty() { text } else { format!("### What needs attention\n{text}") }
}

fn failure(case: &CaseResult, known: &[Cause], several: bool) -> String {
    let told = limit::cut(&terminal::further(case, known, FailureOrder::Declared, &Style::new(Color::Never, WIDTH)))
        .into_owned();
    format!("\n{}\n\n{}", title(case, several), fence(&told, "text"))
}

fn line(case: &CaseResult, several: bool) -> String {
    let said = wording::message(&case.findings, case.reason.as_ref());
    format!("\n{}: {}\n", title(case, several), code(&terminal::crop(&said, 200)))
}

fn title(case: &CaseResult, several: bool) -> String {
    let info = &case.case;
    let word = match case.outcome {
        Outcome::Failed => "failed",
        Outcome::Errored => "errored",
        Outcome::Warned => "warned",
        Outcome::Inconclusive => "not judged",
        Outcome::Passed => "passed",
        Outcome::Skipped => "skipped",
    };
    let name = terminal::crop(&wording::name(info, several), 160);
    let place = wording::line(info).map(|place| format!(" at {}", code(&place)));
    format!("**{word}** {}{}", code(&name), place.unwrap_or_default())
}

fn flaky(suites: &[SuiteReport<'_>]) -> String {
    let named = |suite: &SuiteReport<'_>| suite.has_several_servers();
    let all = suites.iter().flat_map(|suite| suite.cases.iter().map(move |case| (*case, named(suite))));
    let cases: Vec<(&CaseResult, bool)> = all.filter(|(case, _)| case.is_flaky()).collect();
    if cases.is_empty() {
        return String::new();
    }
    let mut text = "### Flaky\n\n".to_owned();
    for (case, several) in cases.iter().take(LISTED) {
        let said = case.earlier.first().map(|attempt| wording::message(&attempt.findings, None)).unwrap_or_default();
        let name = code(&terminal::crop(&wording::name(&case.case, *several), 160));
        let said = code(&terminal::crop(&said, 200));
        let _ = writeln!(text, "- {name} passed on attempt {}; before: {said}", case.earlier.len() + 1);
    }
    text + &and_more(cases.len())
}

/// The skipped cases, those that were only recorded and the known failures, by reason.
fn reasons(suites: &[SuiteReport<'_>]) -> String {
    let mut found: BTreeMap<(&str, Cow<'_, str>), usize> = BTreeMap::new();
    for case in suites.iter().flat_map(|suite| suite.sessions.iter().chain(suite.cases.iter().copied())) {
        if let Some(told) = terminal::hidden_reason(case) {
            *found.entry(told).or_default() += 1;
        }
    }
    let mut text = String::new();
    for word in ["known", "recorded", terminal::SKIPPED, terminal::INAPPLICABLE] {
        let of_word: Vec<_> = found.iter().filter(|((one, _), _)| *one == word).collect();
        if of_word.is_empty() {
            continue;
        }
        let count: usize = of_word.iter().map(|(_, count)| **count).sum();
        let _ = write!(text, "<details><summary>{count} {word}</summary>\n\n");
        for ((_, reason), count) in of_word.iter().take(LISTED) {
            let _ = writeln!(text, "- {count}: {}", code(&terminal::crop(reason, 200)));
        }
        text += &and_more(of_word.len());
        text += "\n</details>\n";
    }
    text
}

fn and_more(count: usize) -> String {
    match count.saturating_sub(LISTED) {
        0 => String::new(),
        more => format!("- and {more} more\n"),
    }
}

fn coverage(run: &RunFinished) -> String {
    let (scores, gates) = coverage::levels_of(run);
    if scores.is_empty() {
        return String::new();
    }
    let mut text = format!("### Fault coverage\n\n{}", table(&coverage::levels_table(&scores)));
    for sentence in coverage::sentences(&scores, gates) {
        let _ = write!(text, "\n{}\n", sentence.to_text());
    }
    text + &run.coverage.as_ref().map(suite_scores).unwrap_or_default()
}

/// The scores of each suite on each server, what is only claimed, and the registry of faults.
fn suite_scores(found: &Coverage) -> String {
    let mut text = String::new();
    if !found.suites.is_empty() {
        text += "\nThat is the total of all suites and servers; thresholds are about each of them:\n\n";
        text += &some_rows(coverage::suites_table(&found.suites));
    }
    if !found.claimed.is_empty() {
        let _ = write!(text, "\nClaimed with `judges`, and not counted: {}\n", found.claimed.join(", "));
    }
    let taxonomy = &found.declared.taxonomy;
    let name = if taxonomy.registry.is_some() { code(&taxonomy.to_string()) } else { taxonomy.to_string() };
    let _ = write!(text, "\nTaxonomy {name}\n");
    text
}

/// The cases whose verdict differs.
fn comparisons(report: &Report) -> String {
    let show = |one: Comparison| {
        let differing = if one.table.rows.is_empty() { String::new() } else { some_rows(one.table) + "\n" };
        format!("{differing}{}\n", code(&one.agreeing))
    };
    let shown: Vec<String> = comparison::comparisons(report).into_iter().map(show).collect();
    if shown.is_empty() { String::new() } else { format!("### Compared\n\n{}", shown.join("\n")) }
}

/// Text of others within a line.
fn code(text: &str) -> String {
    // The log of a job takes `##vso[` for a command wherever it stands.
    // In a table a bar ends the cell, even in code; outside of tables the backslash would be shown.
    let text = replace_command_brackets(&visible_line(text).replace('|', "¦"), "\\u{5b}").into_owned();
    if text.trim().is_empty() {
        return "(empty)".to_owned();
    }
    let fence = "`".repeat(longest_run(&text) + 1);
    format!("{fence} {text} {fence}")
}

/// Text of others on lines of its own, in a language.
fn fence(text: &str, language: &str) -> String {
    let text = visible(text);
    let fence = "`".repeat((longest_run(&text) + 1).max(3));
    format!("{fence}{language}\n{}\n{fence}\n", text.trim_end())
}

fn longest_run(text: &str) -> usize {
    text.split(|c| c != '`').map(str::len).max().unwrap_or(0)
}
