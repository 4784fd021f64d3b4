//! The first screen: the verdict, what broke, and what to do.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use chrono::DateTime;

use crate::event::{CaseResult, Finding, Outcome};
use crate::report::additions;
use crate::report::cause::{self, Cause};
use crate::report::fold::{Report, SuiteReport, Totals};
use crate::report::headline::{self, Headline, broken_servers};
use crate::report::terminal;
use crate::source::duration_text;

use super::escape::{code, inline, sentence};
use super::{NumberedCase, verdict_class, verdict_mark};

/// The most causes on the first screen.
const CAUSES: usize = 10;
/// The longest message of a cause, and the longest cure.
const MESSAGE: usize = 300;

/// The head of the page; `shown` holds the numbers of the cases that are shown with their evidence.
pub(super) fn overview(
    report: &Report,
    suites: &[SuiteReport<'_>],
    cases: &[NumberedCase<'_>],
    shown: &BTreeSet<usize>,
) -> String {
    let Headline { verdict, said } = headline::headline(report, suites);
    let (class, mark) = (verdict_class(verdict), verdict_mark(verdict));
    let mut text = format!("<header>\n<p class=\"brand\">{}</p>\n", circumstances(report));
    let _ = writeln!(text, "<h1 class=\"{class}\"><span aria-hidden=\"true\">{mark}</span> {}</h1>", sentence(&said));
    text += &counts(report, suites);
    text += &causes(cases, shown);
    text += &next(report, suites);
    text + "</header>\n"
}

/// When, with what, how long, against which servers.
fn circumstances(report: &Report) -> String {
    let mut parts: Vec<String> = Vec::new();
    if let Some(run) = report.run_started() {
        parts.push(inline(&run.program));
        let began = i64::try_from(run.started_unix_ms).ok().and_then(DateTime::from_timestamp_millis);
        parts.extend(began.map(|time| format!("{}", time.format("%Y-%m-%d %H:%M UTC"))));
    }
    parts.extend(report.duration().map(duration_text));
    let servers: BTreeSet<String> = report
        .servers()
        .map(|ready| {
            let implementation = ready.implementation.as_deref().map(|name| format!(" ({name})")).unwrap_or_default();
            format!("{}{implementation}, {}, {}", ready.server, ready.revision, ready.transport.as_str())
        })
        .collect();
    parts.extend(servers.iter().map(|server| inline(server)));
    parts.join(" · ")
}

fn counts(report: &Report, suites: &[SuiteReport<'_>]) -> String {
    let Totals { passed, flaky, warned, failed, known, errored, inconclusive, skipped, inapplicable } = report.totals();
    let broken: usize = suites.iter().map(broken_servers).sum();
    let counts = [
        (failed, "failed", "bad"),
        (broken, if broken == 1 { "server broke the protocol" } else { "servers broke the protocol" }, "bad"),
        (errored, "errored", "bad"),
        (warned, "warned", "doubt"),
        (flaky, "flaky", "doubt"),
        (known, "known", "doubt"),
        (inconclusive, "not judged", "doubt"),
        (passed, "passed", "good"),
        (skipped, "skipped", "faint"),
        (inapplicable, if inapplicable == 1 { "does not apply" } else { "do not apply" }, "faint"),
    ];
    let item = |(count, word, class): &(usize, &str, &str)| format!("<li class=\"{class}\"><b>{count}</b> {word}</li>");
    let items: String = counts.iter().filter(|(count, ..)| *count > 0).map(item).collect();
    if items.is_empty() { items } else { format!("<ul class=\"counts\">{items}</ul>\n") }
}

/// A cause with its cases.
struct CauseSummary<'a> {
    first: &'a NumberedCase<'a>,
    /// The first finding with this cause, if it is about one.
    finding: Option<&'a Finding>,
    cases: usize,
}

/// What broke, each cause once; then what is in doubt.
fn causes(cases: &[NumberedCase<'_>], shown: &BTreeSet<usize>) -> String {
    let groups = [
        ("What broke", "broke", &[Outcome::Failed, Outcome::Errored][..]),
        ("What is in doubt", "doubt", &[Outcome::Warned, Outcome::Inconclusive, Outcome::Passed][..]),
    ];
    let mut text = String::new();
    for (title, id, outcomes) in groups {
        let found = by_cause(cases, outcomes);
        if found.is_empty() {
            continue;
        }
        let items: String = found.iter().take(CAUSES).map(|cause| item(cause, shown)).collect();
        let more = match found.len().saturating_sub(CAUSES) {
            0 => String::new(),
            more => format!("<p>and {} more, <a href=\"#failures\">below</a></p>\n", terminal::plural(more, "cause")),
        };
        let _ = write!(
            text,
            "<section aria-labelledby=\"{id}-title\">\n<h2 id=\"{id}-title\">{title}</h2>\n<ol class=\"causes\">\n\
             {items}</ol>\n{more}</section>\n"
        );
    }
    text
}

fn by_cause<'a>(cases: &'a [NumberedCase<'a>], outcomes: &[Outcome]) -> Vec<CauseSummary<'a>> {
    let mut at: BTreeMap<Cause, usize> = BTreeMap::new();
    let mut found: Vec<CauseSummary<'a>> = Vec::new();
    for outcome in outcomes {
        let troubled = cases.iter().filter(|one| one.case.outcome == *outcome && terminal::is_trouble(one.case));
        for first in troubled {
            for cause in cause::causes(first.case) {
                if let Some(known) = at.get(&cause) {
                    found[*known].cases += 1;
                    continue;
                }
                let finding = findings(first.case).find(|found| cause::of_finding(first.case, found) == cause);
                at.insert(cause, found.len());
                found.push(CauseSummary { first, finding, cases: 1 });
            }
        }
    }
    found
}

/// The findings that say why a case needs attention.
fn findings(case: &CaseResult) -> impl Iterator<Item = &Finding> {
    let earlier = case.earlier.first().filter(|_| case.is_flaky()).map_or(&[][..], |attempt| &attempt.findings);
    earlier.iter().chain(&case.findings)
}

fn item(cause: &CauseSummary<'_>, shown: &BTreeSet<usize>) -> String {
    let CauseSummary { first, finding, cases } = cause;
    let said = match finding {
        Some(finding) => {
            format!("<b>{}</b> {}", inline(finding.code.as_str()), sentence(&terminal::crop(&finding.message, MESSAGE)))
        }
        None => sentence(&terminal::crop(&terminal::summarize(first.case).unwrap_or_default(), MESSAGE)),
    };
    let name = inline(&terminal::crop(&super::case_name(first), 100));
    let target = if shown.contains(&first.number) { "failure" } else { "case" };
    let more = match cases {
        1 => String::new(),
        _ => format!(" and {} more", cases - 1),
    };
    let cure = finding.and_then(|finding| finding.help.as_deref());
    let cure = cure.map(|help| format!("<p class=\"cure\">{}</p>", sentence(&terminal::crop(help, MESSAGE))));
    let (mark, word, class) = super::outcome_words(first.case);
    format!(
        "<li><span class=\"{class}\"><span aria-hidden=\"true\">{mark}</span><span class=\"unseen\">{word}: </span>\
         </span> {said}{}<p class=\"at\"><a href=\"#{target}-{}\">{name}</a>{more}</p></li>\n",
        cure.unwrap_or_default(),
        first.number
    )
}

/// The next command, and what would improve the suite most.
fn next(report: &Report, suites: &[SuiteReport<'_>]) -> String {
    let mut totals = report.totals();
    totals.failed += suites.iter().map(broken_servers).sum::<usize>();
    let mut items: Vec<String> = Vec::new();
    items.extend(terminal::suggested(report, &totals, suites).map(|command| format!("run {}", code(&command))));
    let proof = report.run_finished().and_then(|run| run.proof.as_deref());
    if let Some((told, _)) = proof.and_then(additions::best) {
        let told = told.trim_end_matches(':');
        items.push(format!("<a href=\"#proof\">add what the proof suggests</a>: {}", inline(told)));
    }
    if items.is_empty() {
        return String::new();
    }
    let item = |item: &String| format!("<li>{item}</li>");
    let items: String = items.iter().map(item).collect();
    format!(
        "<section aria-labelledby=\"next-title\">\n<h2 id=\"next-title\">What to do next</h2>\n<ul class=\"next\">\
         {items}</ul>\n</section>\n"
    )
}
