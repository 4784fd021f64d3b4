//! The first screen: the verdict, what broke, and what to do.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use chrono::DateTime;

use crate::event::{CaseResult, Finding, Outcome};
use crate::report::cause::{self, Cause};
use crate::report::fold::{Report, SuiteReport, Totals};
use crate::report::headline::{self, Headline, broken_servers};
use crate::report::terminal;
use crate::source::duration_text;

use super::escape::{code, inline, paragraph, sentence};
use super::next::next;
use super::offered::{OfferedTools, UncalledTools};
use super::{NumberedCase, verdict_class, verdict_mark};

/// The most causes on the first screen.
const CAUSES: usize = 10;
/// The longest message of a cause, and the longest cure.
const MESSAGE: usize = 300;
/// The most suites that are named.
const SUITES: usize = 3;
/// The most tools that are named.
const TOOLS: usize = 8;
/// The most reasons for which cases were not run that are said; where there are more, each case says its own.
const REASONS: usize = 3;

/// The head of the page; `shown` holds the numbers of the cases that are shown with their evidence.
pub(super) fn overview(
    report: &Report,
    suites: &[SuiteReport<'_>],
    cases: &[NumberedCase<'_>],
    shown: &BTreeSet<usize>,
    offered: &OfferedTools,
) -> String {
    let Headline { verdict, said } = headline::headline(report, suites);
    let (class, mark) = (verdict_class(verdict), verdict_mark(verdict));
    let mut text = format!("<header>\n<p class=\"brand\">{}</p>\n", circumstances(report));
    text += &named_suites(report);
    let _ = writeln!(text, "<h1 class=\"{class}\"><span aria-hidden=\"true\">{mark}</span> {}</h1>", sentence(&said));
    text += &counts(report, suites);
    text += &reasons(cases);
    text += &unjudged_and_uncalled(report, &offered.uncalled(report, cases));
    text += &causes(cases, shown);
    text += &next(report, suites, cases, verdict);
    text + "</header>\n"
}

/// The suites of the run, each with its file where it has one.
fn named_suites(report: &Report) -> String {
    let suites = report.run_started().map_or(&[][..], |run| &run.suites);
    if suites.is_empty() {
        return String::new();
    }
    let named = suites.iter().take(SUITES).map(|suite| {
        let name = inline(&terminal::crop(&suite.name, 100));
        if suite.from_command_line { name } else { format!("{name} {}", code(&suite.file)) }
    });
    let more = match suites.len().saturating_sub(SUITES) {
        0 => String::new(),
        more => format!(" and {}", terminal::plural(more, "more suite")),
    };
    format!("<p class=\"suites\">{}{more}</p>\n", named.collect::<Vec<_>>().join(" · "))
}

/// Why cases were not run, the most frequent first; nothing where there are many reasons.
fn reasons(cases: &[NumberedCase<'_>]) -> String {
    let mut found: BTreeMap<(&str, Cow<'_, str>), usize> = BTreeMap::new();
    for told in cases.iter().filter_map(|numbered| terminal::hidden_reason(numbered.case)) {
        *found.entry(told).or_default() += 1;
    }
    if found.is_empty() || found.len() > REASONS {
        return String::new();
    }
    let mut found: Vec<_> = found.into_iter().collect();
    found.sort_by_key(|(_, count)| Reverse(*count));
    let item = |((word, reason), count): &((&str, Cow<'_, str>), usize)| {
        let word = if *word == terminal::INAPPLICABLE && *count > 1 { "do not apply" } else { word };
        format!("<li>{count} {word}: {}</li>", sentence(&terminal::crop(reason, MESSAGE)))
    };
    format!("<ul class=\"reasons\">{}</ul>\n", found.iter().map(item).collect::<String>())
}

/// The tools that were not judged, and those that no case called where that is not why.
fn unjudged_and_uncalled(report: &Report, tools: &UncalledTools<'_>) -> String {
    let unjudged = report.unjudged();
    let told: String = unjudged.iter().map(|tools| paragraph(&first_capital(&tools.to_text()))).collect();
    let is_told = |name: &&str| unjudged.iter().flat_map(|one| &one.tools).any(|tool| tool.name == **name);
    if tools.names.iter().all(is_told) { told } else { told + &uncalled(tools) }
}

/// A sentence as it begins a paragraph.
fn first_capital(sentence: &str) -> String {
    let mut rest = sentence.chars();
    rest.next().into_iter().flat_map(char::to_uppercase).chain(rest).collect()
}

/// The tools that no case called.
fn uncalled(tools: &UncalledTools<'_>) -> String {
    let UncalledTools { names, of } = tools;
    if names.is_empty() {
        return String::new();
    }
    let count = match of {
        Some(of) => format!("{} of {}", names.len(), terminal::plural(*of, "tool")),
        None => terminal::plural(names.len(), "tool"),
    };
    let shown = names.iter().take(TOOLS).map(|tool| code(&terminal::crop(tool, 100))).collect::<Vec<_>>().join(", ");
    let more = match names.len().saturating_sub(TOOLS) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("<p>Never called: {count} ({shown}{more})</p>\n")
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
    let counts: Vec<&(usize, &str, &str)> = counts.iter().filter(|(count, ..)| *count > 0).collect();
    // The headline says already that all passed.
    if matches!(counts[..], [] | [(_, "passed", _)]) {
        return String::new();
    }
    let items: String = counts.into_iter().map(item).collect();
    format!("<ul class=\"counts\">{items}</ul>\n")
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
            more => format!(
                "<p>and {} more<span class=\"screen\">, <a href=\"#failures\">below</a></span></p>\n",
                terminal::plural(more, "cause")
            ),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tools_that_nobody_called_are_counted_and_named() {
        let names = ["a", "b", "c", "d", "e", "f", "g", "h", "<i>"];
        for (names, of, expected) in [
            (&names[..0], Some(9), ""),
            (&names[..2], Some(10), "<p>Never called: 2 of 10 tools (<code>a</code>, <code>b</code>)</p>\n"),
            (&names[8..], None, "<p>Never called: 1 tool (<code>&lt;i&gt;</code>)</p>\n"),
        ] {
            assert_eq!(uncalled(&UncalledTools { names: names.to_vec(), of }), expected);
        }
        assert!(
            uncalled(&UncalledTools { names: names.to_vec(), of: None }).ends_with("<code>h</code> and 1 more)</p>\n")
        );
    }
}
