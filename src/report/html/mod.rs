//! One page for people: it needs no network and no script, and it obeys nobody whose text it shows.
//!
//! The policy in its head allows nothing but its own style and its own script, by their hashes; texts of others pass
//! through [`escape`]. The script filters the list of cases and opens what a link points to; all else works without it.
//! What is said is what the terminal and the Markdown summary say, from the same causes, tables and sentences.

mod cases;
mod coverage;
mod escape;
mod failures;
mod history;
mod latency;
mod next;
mod offered;
mod overview;
mod proof;
mod table;
#[cfg(test)]
mod tests;
mod timeline;
mod tools;

use std::fmt::Write as _;

use crate::event::{CaseResult, Outcome};

use self::escape::inline;
use self::offered::OfferedTools;
use super::fold::{Report, SuiteReport};
use super::headline::{self, RunVerdict};
use super::servers::servers_table;
use super::{Format, terminal, wording};

pub(crate) const FORMAT: Format = Format {
    name: "html",
    about: "a page to read and to share: one file that needs no network and no script",
    shows_passed: true,
    render: |report, _| render(report),
};

const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("page.js");
/// What the browser may load and run; a test holds the hashes in it to style and script.
const POLICY: &str = include_str!("policy.txt");

/// A case with its number on the page.
struct NumberedCase<'a> {
    /// Counted from one, in declared order; what a server did outside of any case comes first in its suite.
    number: usize,
    case: &'a CaseResult,
    /// It stands for what a server did outside of any case.
    is_protocol: bool,
    /// Its suite has several servers or revisions, so that its name must say which.
    has_several_servers: bool,
}

/// A part of the page with a heading; left out where there is nothing to say.
struct PageSection {
    id: &'static str,
    title: &'static str,
    body: String,
}

fn render(report: &Report) -> String {
    let suites = report.suites();
    let numbered = number_cases(&suites);
    let proof = report.run_finished().and_then(|run| run.proof.as_deref());
    let command = terminal::prove_again(report);
    let proofs = proof.map(|proof| proof::proof(proof, &command)).unwrap_or_default();
    let failures = failures::failures(&numbered);
    let offered = OfferedTools::of(report, &numbered);
    let sections = [
        PageSection { id: "failures", title: "What needs attention", body: failures.body },
        PageSection { id: "servers", title: "Servers", body: servers(report) },
        PageSection { id: "tools", title: "Tools and checks", body: tools::tools(report, &numbered, &offered) },
        PageSection { id: "coverage", title: "Fault coverage", body: coverage::coverage(report) },
        PageSection { id: "proof", title: "Proof by tool and field", body: proofs },
        PageSection { id: "compared", title: "Compared", body: coverage::comparisons(report) },
        PageSection { id: "blocks", title: "Measured", body: coverage::sections(report) },
        PageSection { id: "history", title: "History", body: history::history(report, &numbered) },
        PageSection { id: "timeline", title: "Timeline", body: timeline::timeline(report, &numbered) },
        PageSection { id: "latency", title: "Latency", body: latency::latency(&numbered) },
        PageSection {
            id: "cases",
            title: "All cases",
            body: cases::cases(report, &suites, &numbered, &failures.shown),
        },
    ];
    let first = overview::overview(report, &suites, &numbered, &failures.shown, &offered);
    page(&title(report, &suites), &first, &sections)
}

/// How the run ended for each of several servers.
fn servers(report: &Report) -> String {
    servers_table(report).map(|ends| table::table(&ends, "Servers and how the run ended for them")).unwrap_or_default()
}

/// The title of the window: the verdict, so that a tab says it.
fn title(report: &Report, suites: &[SuiteReport<'_>]) -> String {
    let headline = headline::headline(report, suites);
    format!("{} {}: mcprove", verdict_mark(headline.verdict), headline.said)
}

fn page(title: &str, first: &str, sections: &[PageSection]) -> String {
    let shown = || sections.iter().filter(|section| !section.body.is_empty());
    let link = |section: &PageSection| format!("<li><a href=\"#{}\">{}</a></li>", section.id, section.title);
    let links: String = shown().map(link).collect();
    let navigation =
        if links.is_empty() { links } else { format!("<nav aria-label=\"Sections\"><ul>{links}</ul></nav>\n") };
    let size = first.len() + shown().map(|section| section.body.len() + 200).sum::<usize>();
    let mut text = String::with_capacity(size + STYLE.len() + SCRIPT.len() + 2000);
    text += "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n";
    text += "<meta http-equiv=\"Content-Security-Policy\" content=\"";
    text += POLICY.trim_end();
    text += "\">\n<meta name=\"referrer\" content=\"no-referrer\">\n";
    text += "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n";
    text += "<meta name=\"color-scheme\" content=\"light dark\">\n<title>";
    text += &inline(title);
    text += "</title>\n<style>";
    text += STYLE;
    text += "</style>\n</head>\n<body>\n<a class=\"skip\" href=\"#main\">Skip to the results</a>\n";
    text += first;
    text += &navigation;
    text += "<main id=\"main\" tabindex=\"-1\">\n";
    for PageSection { id, title, body } in shown() {
        let _ =
            write!(text, "<section id=\"{id}\" aria-labelledby=\"{id}-title\">\n<h2 id=\"{id}-title\">{title}</h2>\n");
        text += body;
        text += "</section>\n";
    }
    text += "</main>\n<script>";
    text += SCRIPT;
    text += "</script>\n</body>\n</html>\n";
    text
}

fn number_cases<'a>(suites: &'a [SuiteReport<'a>]) -> Vec<NumberedCase<'a>> {
    let of_suite = |suite: &'a SuiteReport<'a>| {
        let has_several_servers = suite.has_several_servers();
        let protocol = suite.sessions.iter().map(|case| (case, true));
        let cases = protocol.chain(suite.cases.iter().map(|case| (*case, false)));
        cases.map(move |(case, is_protocol)| (case, is_protocol, has_several_servers))
    };
    let all = suites.iter().flat_map(of_suite).zip(1..);
    let numbered = all.map(|((case, is_protocol, has_several_servers), number)| NumberedCase {
        number,
        case,
        is_protocol,
        has_several_servers,
    });
    numbered.collect()
}

/// The mark of a verdict, which stands beside its colour.
fn verdict_mark(verdict: RunVerdict) -> &'static str {
    match verdict {
        RunVerdict::Good => "✓",
        RunVerdict::Unfinished => "!",
        RunVerdict::Bad => "✗",
        RunVerdict::Doubtful => "?",
        RunVerdict::Open => "–",
    }
}

fn verdict_class(verdict: RunVerdict) -> &'static str {
    match verdict {
        RunVerdict::Good => "good",
        RunVerdict::Unfinished | RunVerdict::Doubtful => "doubt",
        RunVerdict::Bad => "bad",
        RunVerdict::Open => "faint",
    }
}

/// The mark, the word and the class of an outcome.
fn outcome_words(case: &CaseResult) -> (&'static str, &'static str, &'static str) {
    let (mark, _) = terminal::mark(case);
    let (word, class) = match case.outcome {
        Outcome::Passed if case.is_flaky() => ("flaky", "doubt"),
        Outcome::Passed => ("passed", "good"),
        Outcome::Failed if case.is_known() => ("known", "doubt"),
        Outcome::Failed => ("failed", "bad"),
        Outcome::Errored => ("errored", "bad"),
        Outcome::Warned => ("warned", "doubt"),
        Outcome::Inconclusive => ("not judged", "doubt"),
        Outcome::Skipped if case.is_inapplicable() => (terminal::INAPPLICABLE, "faint"),
        Outcome::Skipped => (terminal::SKIPPED, "faint"),
    };
    (mark, word, class)
}

/// The name of a case with its row, and with its server where there are several.
fn case_name(numbered: &NumberedCase<'_>) -> String {
    wording::name(&numbered.case.case, numbered.has_several_servers)
}
