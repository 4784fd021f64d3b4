//! Tests that say something only of servers that offer this or that.

use std::sync::Arc;

use serde_json::Value as Json;

use super::Offer;
use super::arguments::ConfigSource;
use super::case::{Body, Case, Mistake};
use super::expand::for_each;
use super::planner::{Planner, script};
use super::property::prepare;
use crate::event::Reason;
use crate::source::template::{Names, fill_text, holds, text_of};
use crate::source::{Span, did_you_mean};
use crate::suite::{Carrier, Row, Test, TestNeed};
use crate::transport::TransportKind;

/// The cases of a test of a suite's own that says something only of some servers.
pub(crate) fn cases_of(planner: &Planner<'_>, test: &Test, offer: &Offer<'_>) -> Vec<Case> {
    let cases = particular(planner, test, &Arc::new(offer.names(planner)), offer).into_iter();
    cases.map(|case| prepare(planner, test, offer.catalog, case)).collect()
}

/// The cases of a test with needs; `names` are what the server offers.
pub(crate) fn particular(planner: &Planner<'_>, test: &Test, names: &Arc<Names>, offer: &Offer<'_>) -> Vec<Case> {
    let over = test.extras.rule.as_ref().and_then(|rule| rule.over).map(TestNeed::Over);
    let needs = || over.iter().chain(&test.extras.needs);
    // The value of an expression may differ from row to row.
    let of_all = |need: &&TestNeed| test.extras.rows.is_empty() || !matches!(need, TestNeed::Assert { .. });
    let lacking = needs().filter(of_all).find_map(|need| unmet(planner, need, names, offer, test.span));
    let of_row = |row: &Row| {
        let names = (**names).clone().into_iter().chain(row.values.clone()).collect();
        needs().find_map(|need| unmet(planner, need, &names, offer, test.span)).unwrap_or_else(|| script(test))
    };
    let mut cases = match lacking {
        Some(body) => vec![planner.test_case(test, None, body)],
        None if test.extras.for_each.is_some() => for_each(planner, test, offer.catalog, names),
        None if test.extras.rows.is_empty() => vec![planner.test_case(test, None, script(test))],
        None => test.extras.rows.iter().map(|row| planner.test_case(test, Some(row), of_row(row))).collect(),
    };
    if cases.is_empty() {
        let reason = "the server offers nothing that this applies to".to_owned();
        cases.push(planner.test_case(test, None, Body::skipped(Reason::NotApplicable(reason))));
    }
    for case in &mut cases {
        case.offered = Arc::clone(names);
    }
    cases
}

/// Returns true if a hint is a tool, and one that the server does not offer.
fn is_tool_of_nobody(value: &Json, hint: &str, offer: &Offer<'_>) -> bool {
    hint.ends_with("_tool") && value["name"].as_str().is_none_or(|name| offer.catalog.tool(name).is_none())
}

/// The body of a case whose need is not met; the place is that of the test.
fn unmet(planner: &Planner<'_>, need: &TestNeed, names: &Names, offer: &Offer<'_>, span: Span) -> Option<Body> {
    let reason = match need {
        TestNeed::Hint(hint) if names["hints"].get(hint).is_none() => {
            let reason = ConfigSource::of(planner.suite).needed_hint(hint);
            return Some(Body::skipped(Reason::NotGiven(reason)));
        }
        TestNeed::Hint(hint) if is_tool_of_nobody(&names["hints"][hint], hint, offer) => {
            if offer.catalog.tools.is_empty() {
                let reason = format!("it needs the hint `{hint}`, and the server lists no tools");
                return Some(Body::skipped(Reason::NotApplicable(reason)));
            }
            let offered: Vec<&str> = offer.catalog.tools.iter().map(|tool| tool.name.as_str()).collect();
            let name = names["hints"][hint]["name"].as_str().unwrap_or_default();
            let message = format!("the hint `{hint}` names the tool `{name}`, which the server does not offer");
            let help = did_you_mean(name, offered.iter().copied());
            return Some(Body::failed(Mistake { code: "unknown-tool", message, help, span }));
        }
        TestNeed::Capability(path) if !offer.declares(path) => format!("the server does not declare `{path}`"),
        TestNeed::NoCapability(path) if offer.declares(path) => {
            format!("it applies to servers that do not declare `{path}`, and this one does")
        }
        TestNeed::Over(carrier) if offer.transport.map_or(Carrier::Stdio, Carrier::of) != *carrier => {
            let word = match carrier {
                Carrier::Http => "HTTP",
                Carrier::Stdio => "stdio",
            };
            format!(
                "it applies to {word}, and the server is reached over {}",
                offer.transport.map_or("", TransportKind::as_str)
            )
        }
        TestNeed::Assert { expression, reason } => match holds(&expression.value, names) {
            Ok(true) => return None,
            Ok(false) => fill_text(reason, names).map_or_else(|_| reason.clone(), |filled| text_of(&filled)),
            Err(reason) => {
                let message = reason.to_string();
                let mistake = Mistake { code: "unknown-name", message, help: None, span: expression.span };
                return Some(Body::failed(mistake));
            }
        },
        TestNeed::Hint(_) | TestNeed::Capability(_) | TestNeed::NoCapability(_) | TestNeed::Over(_) => return None,
    };
    Some(Body::skipped(Reason::NotApplicable(reason)))
}
