use base64::prelude::{BASE64_STANDARD, Engine};
use insta::assert_snapshot;
use sha2::{Digest, Sha256};

use super::escape::DOCUMENTATION;
use super::{POLICY, SCRIPT, STYLE};
use crate::event::{CaseResult, Event, Finding, Outcome};
use crate::report::tests::fixture::{HOSTILE, exchange, failed, passed};
use crate::report::tests::machines::hostile;
use crate::report::tests::proofs::{hostile_proof, recorded_proof};
use crate::report::tests::{check_generated, rich};
use crate::report::{Report, render};
use crate::source::{Style, is_hidden};

/// A page without its style and script, which have files of their own.
fn page(report: &Report) -> String {
    let text = render("html", report, &Style::PLAIN).unwrap();
    text.replace(STYLE, "…").replace(SCRIPT, "…").replace(POLICY.trim_end(), "…")
}

#[test]
fn the_page_of_a_run() {
    assert_snapshot!(page(&rich()));
}

#[test]
fn the_policy_allows_this_style_and_this_script_only() {
    let hash = |text: &str| format!("'sha256-{}'", BASE64_STANDARD.encode(Sha256::digest(text)));
    let (style, script) = (hash(STYLE), hash(SCRIPT));
    let policy =
        format!("default-src 'none'; style-src {style}; script-src {script}; base-uri 'none'; form-action 'none'\n");
    check_generated("src/report/html/policy.txt", &policy);
}

/// The elements that a page may have.
const ELEMENTS: &[&str] = &[
    "!DOCTYPE", "a", "b", "body", "button", "code", "details", "div", "form", "h1", "h2", "h3", "head", "header",
    "html", "input", "label", "li", "main", "meta", "nav", "ol", "output", "p", "pre", "rect", "script", "section",
    "span", "style", "summary", "svg", "table", "tbody", "td", "th", "thead", "title", "tr", "ul",
];

/// Every element and attribute is ours, and nothing hidden is left.
fn check_markup(page: &str) {
    let hidden = page.chars().find(|c| is_hidden(*c) && *c != '\n');
    assert_eq!(hidden, None);
    let elements: Vec<&str> = page.split('<').skip(1).map(|rest| rest.split_once('>').unwrap().0).collect();
    for element in elements {
        let name = element.trim_start_matches('/').split(' ').next().unwrap();
        assert!(ELEMENTS.contains(&name), "<{element}>");
        let mut outside_of_values = element.split('"').step_by(2);
        assert!(!outside_of_values.any(|text| text.contains(" on") || text.contains(" style")), "<{element}>");
        let link = element.split_once("href=\"").map(|(_, link)| link);
        let is_own = |link: &str| link.starts_with('#') || DOCUMENTATION.iter().any(|site| link.starts_with(site));
        assert!(link.is_none_or(is_own) && !element.contains("src="), "<{element}>");
    }
}

#[test]
fn no_text_of_a_server_is_markup() {
    check_markup(&page(&rich()));
    check_markup(&page(&hostile()));
    check_markup(&page(&hostile_proof()));
    check_markup(&page(&rich().after(vec![healthier()])));
}

/// The rich run, with everything passed that failed, and with other answers.
fn healthier() -> Report {
    let rich = rich();
    let mut events = rich.events().to_vec();
    for event in &mut events {
        if let Event::RunStarted(started) = event {
            started.started_unix_ms -= 86_400_000;
        }
        if let Event::CaseFinished(case) = event
            && case.outcome == Outcome::Failed
        {
            case.outcome = Outcome::Passed;
            for exchange in &mut case.exchanges {
                exchange.received = format!("{{\"{HOSTILE}\":1}}");
            }
        }
    }
    Report::of(&events)
}

#[test]
fn the_history_of_a_run() {
    let section = |report: Report| {
        let text = page(&report);
        let (_, section) = text.split_once("<section id=\"history\"").unwrap();
        section.split_once("</section>").unwrap().0.to_owned()
    };
    assert_snapshot!(section(rich().after(vec![healthier()])));
    assert!(section(rich().after(vec![rich()])).contains("No case that ran before ended otherwise."));
}

#[test]
fn the_page_of_a_proof() {
    let text = page(&recorded_proof());
    let (_, proof) = text.split_once("<section id=\"proof\"").unwrap();
    assert_snapshot!(proof.split_once("</section>").unwrap().0);
}

#[test]
fn a_page_of_many_cases_stays_small() {
    let answer = format!("{{\"content\":[{{\"type\":\"text\",\"text\":\"{}\"}}]}}", "x".repeat(2000));
    let event = |at: usize| {
        let exchanges = vec![exchange("get_user", "{\"id\":\"u1\"}", &answer); 4];
        let mut result = CaseResult { exchanges, ..passed(at, "a user can be read back", Some("name=Ann")) };
        if at.is_multiple_of(3) {
            let finding = Finding { actual: Some(answer.clone()), ..Finding::new("equals", "the value differs") };
            result = failed(result, vec![finding.with_evidence("stderr", answer.as_str())]);
        }
        Event::CaseFinished(Box::new(result))
    };
    let events: Vec<Event> = (1..=10_000).map(event).collect();
    let page = page(&Report::of(&events));
    assert!(page.len() < 10_000_000, "{}", page.len());
    assert_eq!(page.matches("<tr id=\"case-").count(), 10_000);
}
