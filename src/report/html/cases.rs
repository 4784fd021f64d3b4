//! Every case, suite by suite, with its requests and answers on demand.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::time::Duration;

use crate::event::{Exchange, Outcome, Phase};
use crate::report::fold::{Report, SuiteReport};
use crate::report::terminal;
use crate::report::wording;
use crate::source::{Color, Style, duration_text};

use super::escape::{code, inline, preformatted, sentence};
use super::failures::WIDTH;
use super::{NumberedCase, case_name, outcome_words, table};

/// The most bytes of requests, answers and evidence below all cases; later cases have less.
const DETAILS: usize = 4 << 20;
/// The most bytes of evidence of cases, so that requests have room as well.
const EVIDENCE: usize = 2 << 20;
/// The most characters of a request or an answer.
const MESSAGE: usize = 600;
/// The most requests of one case.
const REQUESTS: usize = 50;
/// The most characters of what a case says in its row.
const SAID: usize = 200;

/// All suites; `shown` holds the numbers of the cases whose evidence stands above.
pub(super) fn cases(
    report: &Report,
    suites: &[SuiteReport<'_>],
    cases: &[NumberedCase<'_>],
    shown: &BTreeSet<usize>,
) -> String {
    if cases.is_empty() {
        return String::new();
    }
    let mut text = format!("{FILTER}{ON_PAPER}");
    let mut rest = cases;
    for suite in suites {
        let (own, others) = rest.split_at(suite.sessions.len() + suite.cases.len());
        rest = others;
        text += &heading(report, suite);
        if own.is_empty() {
            continue;
        }
        text += &table::open(&format!("Cases of {}", suite.file));
        text += "<thead><tr><th scope=\"col\">outcome</th><th scope=\"col\">case</th><th scope=\"col\">time</th></tr>\
                 </thead>\n<tbody>\n";
        for numbered in own {
            text += &row(numbered, shown, text.len());
        }
        text += table::CLOSE;
    }
    text
}

/// Shown by the script, which it needs.
const FILTER: &str = "<form id=\"filter\" role=\"search\" hidden><label>Filter <input id=\"words\" type=\"search\" \
                      autocomplete=\"off\"></label> <label><input id=\"troubled\" type=\"checkbox\"> only what did not \
                      pass</label> <output id=\"found\"></output></form>\n";

/// Shown where the style leaves these rows out.
const ON_PAPER: &str = "<p class=\"paper\">Cases that passed are left out on paper, since others failed.</p>\n";

fn heading(report: &Report, suite: &SuiteReport<'_>) -> String {
    let time = duration_text(suite.duration(report));
    let time = if suite.cases.is_empty() { String::new() } else { format!(", {time}") };
    format!(
        "<h3>{} <span class=\"place\">{}: {}{time}</span></h3>\n",
        code(suite.file),
        inline(suite.name),
        terminal::counts(&suite.totals)
    )
}

fn row(numbered: &NumberedCase<'_>, shown: &BTreeSet<usize>, length: usize) -> String {
    let NumberedCase { number, case, .. } = numbered;
    let (mark, word, class) = outcome_words(case);
    let time = match case.outcome {
        _ if numbered.is_protocol => String::new(),
        Outcome::Skipped => String::new(),
        Outcome::Passed | Outcome::Failed | Outcome::Warned | Outcome::Inconclusive | Outcome::Errored => {
            duration_text(Duration::from_micros(case.duration_us))
        }
    };
    let place = wording::line(&case.case).map(|place| format!(" <span class=\"place\">{}</span>", inline(&place)));
    let said = match terminal::summarize(case) {
        Some(said) if shown.contains(number) => {
            format!("<p><a href=\"#failure-{number}\">{}</a></p>", inline(&terminal::crop(&said, SAID)))
        }
        Some(said) => format!("<p>{}</p>", sentence(&terminal::crop(&said, SAID))),
        None => String::new(),
    };
    format!(
        "<tr id=\"case-{number}\" class=\"{}\"><td class=\"{class}\">{mark}&nbsp;{word}</td><td><span class=\"name\">{}</span>{}{said}{}</td>\
         <td class=\"number\">{time}</td></tr>\n",
        if class == "good" { "fine" } else { "other" },
        inline(&terminal::crop(&case_name(numbered), 300)),
        place.unwrap_or_default(),
        details(numbered, shown, length)
    )
}

/// The evidence of a case that stands nowhere else, and its requests and answers; nothing where the page is long.
fn details(numbered: &NumberedCase<'_>, shown: &BTreeSet<usize>, length: usize) -> String {
    let case = numbered.case;
    let mut text = String::new();
    if length < EVIDENCE && terminal::is_trouble(case) && !shown.contains(&numbered.number) {
        text += &preformatted(&terminal::untitled(case, &[], &Style::new(Color::Never, WIDTH)));
    }
    if length >= DETAILS {
        return text;
    }
    let requests = case.exchanges.len();
    if requests > 0 {
        let items: String = case.exchanges.iter().take(REQUESTS).map(exchange).collect();
        let _ = write!(text, "<ol class=\"exchanges\">{items}</ol>");
        if requests > REQUESTS {
            let _ = write!(text, "<p>and {}</p>", terminal::plural(requests - REQUESTS, "more request"));
        }
    }
    if !case.rerun_command.is_empty() {
        let _ = write!(text, "<p>again {}</p>", code(&case.rerun_command));
    }
    if text.is_empty() {
        return text;
    }
    let summary = if requests > 0 { terminal::plural(requests, "request") } else { "more".to_owned() };
    format!("<details><summary>{summary}</summary>{text}</details>")
}

fn exchange(exchange: &Exchange) -> String {
    let Exchange { phase, title, tool: _, sent, received, frame, answer_frame, elapsed_us } = exchange;
    let phase = match phase {
        Phase::Steps => String::new(),
        Phase::Setup | Phase::Precondition | Phase::Teardown | Phase::SuiteSetup | Phase::SuiteTeardown => {
            format!("{}: ", phase.as_str())
        }
    };
    let frames = match (frame, answer_frame) {
        (0, _) => "not sent".to_owned(),
        (frame, None) => format!("frame {frame}, no answer"),
        (frame, Some(answer)) => {
            format!("frames {frame} and {answer}, {}", duration_text(Duration::from_micros(*elapsed_us)))
        }
    };
    let answer = if received.is_empty() {
        String::new()
    } else {
        format!("<div>{}</div>", code(&terminal::crop(received, MESSAGE)))
    };
    let title = inline(&terminal::crop(title, 200));
    let sent = if sent.is_empty() { String::new() } else { code(&terminal::crop(sent, MESSAGE)) };
    format!("<li>{phase}<b>{title}</b> {sent} <span class=\"place\">{frames}</span>{answer}</li>")
}
