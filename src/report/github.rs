//! Annotations for GitHub: workflow commands that put failures beside the lines of the suite.
//!
//! A runner obeys every line that begins with `::`, so each command is one line with all else escaped.
//! Of each level ten are shown for a step; the most important ones are written and the others counted.

use std::borrow::Cow;
use std::fmt::Write as _;

use crate::event::{CaseResult, MutantResult, Outcome, UnjudgedTools};
use crate::source;

use super::fold::Report;
use super::terminal::{self, CaseDetail, Groups};
use super::{Format, limit, proven, wording};

pub(crate) const FORMAT: Format = Format {
    name: "github",
    about: "annotations for GitHub actions, on standard output: `--report github=-`",
    shows_passed: false,
    render: |report, _| render(report),
};

/// The most annotations of one level that GitHub shows for a step.
const SHOWN: usize = 10;
/// The number of them for survivors: the figures, what was left out and what is known have one each.
const SURVIVORS: usize = SHOWN - 3;
/// The longest text of an annotation, in bytes.
const TEXT: usize = 2048;

fn render(report: &Report) -> String {
    let suites = report.suites();
    let all = || {
        suites.iter().flat_map(|suite| {
            let several = suite.has_several_servers();
            suite.sessions.iter().chain(suite.cases.iter().copied()).map(move |case| (case, several))
        })
    };
    let of = |outcome| all().filter(move |(case, _)| case.outcome == outcome && terminal::is_trouble(case));
    let errors = of(Outcome::Failed).chain(of(Outcome::Errored)).collect();
    let doubts = of(Outcome::Warned).chain(of(Outcome::Passed)).chain(of(Outcome::Inconclusive)).collect();
    let (errors, more_errors) = annotations(report, errors, "error");
    let (doubts, more_doubts) = annotations(report, doubts, "warning");
    let text = errors + &doubts;
    let known = all().filter(|(case, _)| case.is_known()).count();
    text + &unjudged(report) + &left_out(more_errors, more_doubts) + &notice(known) + &proof(report)
}

/// One annotation for each cause, as many as are shown, and how many cases have none.
fn annotations(report: &Report, cases: Vec<(&CaseResult, bool)>, level: &str) -> (String, usize) {
    let mut groups = Groups::default();
    let (all, mut told, mut text) = (cases.len(), 0, String::new());
    let firsts: Vec<_> = cases.into_iter().filter(|(case, _)| groups.admit(case) != CaseDetail::Name).collect();
    for (case, several) in firsts.into_iter().take(SHOWN) {
        let more = groups.count_more(case);
        text += &annotation(report, case, &wording::name(&case.case, several), level, more);
        told += more + 1;
    }
    (text, all.saturating_sub(told))
}

/// A notice for each of the worst survivors at the suite that does not notice them, and the figures.
fn proof(report: &Report) -> String {
    let Some(proof) = report.run_finished().and_then(|run| run.proof.as_deref()) else { return String::new() };
    let survivors = proven::survivors(proof);
    let mut text = format!("::notice title=mcprove::{}\n", data(&proven::sentence(proof)));
    for mutant in survivors.iter().take(SURVIVORS) {
        let file = wording::suite_of(report, mutant).map(|file| format!("file={},line=1,", property(file)));
        let title = property(&terminal::crop(&format!("{} survived", mutant.id), 160));
        let _ = writeln!(text, "::notice {}title={title}::{}", file.unwrap_or_default(), data(&survivor_text(mutant)));
    }
    text
}

fn survivor_text(mutant: &MutantResult) -> String {
    let could = limit::cut_to(proven::could(mutant), 400);
    let mut text = format!("{}: {could}, and no test would notice", mutant.variant);
    if let Some(missing) = mutant.missing.first() {
        let place = if missing.is_test() { "to `tests:`" } else { "to the suite" };
        let _ = write!(text, "\nadd {place}:\n{}", missing.yaml.trim_end());
    }
    text
}

fn annotation(report: &Report, case: &CaseResult, name: &str, level: &str, more: usize) -> String {
    let finding = case.findings.first();
    let place = wording::place(report, case, finding);
    let mut properties = Vec::new();
    if !place.file.is_empty() {
        properties.push(format!("file={},line={}", property(place.file), place.line));
        properties.extend(place.column.map(|column| format!("col={column}")));
        properties.extend(place.end_column.map(|column| format!("endColumn={column}")));
    }
    properties.push(format!("title={}", property(&terminal::crop(name, 160))));
    format!("::{level} {}::{}\n", properties.join(","), data(&(case_text(case) + &more_with_this_cause(more))))
}

fn more_with_this_cause(more: usize) -> String {
    match more {
        0 => String::new(),
        1 => "\nand 1 more case with the same cause".to_owned(),
        more => format!("\nand {more} more cases with the same cause"),
    }
}

/// The failure on a few lines.
fn case_text(case: &CaseResult) -> String {
    if case.is_flaky() {
        let earlier = case.earlier.first().map(|attempt| wording::message(&attempt.findings, None));
        return format!("flaky: passed on attempt {}; before: {}", case.earlier.len() + 1, earlier.unwrap_or_default());
    }
    let said = wording::message(&case.findings, case.reason.as_ref());
    let Some(first) = case.findings.first() else {
        return if case.outcome == Outcome::Inconclusive { format!("not judged: {said}") } else { said };
    };
    let mut text = format!("{}: {said}", first.code);
    let more = [("at", &first.path), ("expected", &first.expected), ("actual", &first.actual), ("help", &first.help)];
    for (label, value) in more {
        if let Some(value) = value {
            let _ = write!(text, "\n{label}: {}", limit::cut_to(value, 400));
        }
    }
    if !case.rerun_command.is_empty() {
        let _ = write!(text, "\nagain: {}", case.rerun_command);
    }
    text
}

/// A warning for each reason why tools were not judged.
fn unjudged(report: &Report) -> String {
    let warning = |tools: &UnjudgedTools| {
        format!("::warning title=mcprove::{}\n", data(&format!("{}; {}", tools.to_text(), tools.help)))
    };
    report.unjudged().iter().map(warning).collect()
}

fn left_out(errors: usize, doubts: usize) -> String {
    let told: Vec<String> = [(errors, "failure"), (doubts, "warning")]
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, noun)| terminal::plural(count, noun))
        .collect();
    if told.is_empty() {
        return String::new();
    }
    let text = format!(
        "{} more, which GitHub would not show here; the log and the other reports have all of them",
        told.join(" and ")
    );
    format!("::notice title=mcprove::{}\n", data(&text))
}

fn notice(known: usize) -> String {
    match known {
        0 => String::new(),
        1 => "::notice title=mcprove::1 case failed as the baseline expects\n".to_owned(),
        known => format!("::notice title=mcprove::{known} cases failed as the baseline expects\n"),
    }
}

/// The text of a command.
fn data(text: &str) -> String {
    let text = limit::cut_to(text, TEXT);
    source::visible(&without_commands(&text)).replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// The value of a property of a command.
fn property(text: &str) -> String {
    let text = source::visible_line(text);
    without_commands(&text).replace('%', "%25").replace(':', "%3A").replace(',', "%2C")
}

/// Without the old spelling of commands, which runners obey in the middle of a line as well.
fn without_commands(text: &str) -> Cow<'_, str> {
    if text.contains("##[") { Cow::Owned(text.replace("##[", "## [")) } else { Cow::Borrowed(text) }
}
