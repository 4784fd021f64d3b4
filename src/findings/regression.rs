//! A finding as a test: what a suite should gain so that it never comes back.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use serde_json::{Map, Value, json};

use super::Stored;
use crate::event::{FindingKind, ReproductionCheck};
use crate::reproduce::{literal, literal_text, suite_step};
use crate::source::template::is_template;
use crate::source::visible_line;
use crate::source::yaml_writer::block;

/// The greatest length of the name of a test.
const LONGEST_NAME: usize = 70;

/// The test as a list of tests with one item, or the block that finds it, with what it needs; `None` where the finding
/// cannot be played.
pub fn regression(stored: &Stored) -> Option<String> {
    let mut text = String::new();
    let _ = writeln!(text, "# {}", one_line(&format!("finding {}: {}", stored.id, stored.title)));
    for note in notes(stored) {
        let _ = writeln!(text, "# {note}");
    }
    match stored.reproduction.as_ref().map(|reproduction| &reproduction.check) {
        Some(ReproductionCheck::Block(found)) => text += &block(&found.suite, 0),
        _ => match leak_between_sessions(stored) {
            Some(found) => text += &block(&found, 0),
            None => text += &block(&json!([test(stored)?]), 0),
        },
    }
    Some(text)
}

/// The block for a text that leaks from one session of a server over HTTP into another: a test has one session, and a
/// restart would remove what a server keeps in memory.
fn leak_between_sessions(stored: &Stored) -> Option<Value> {
    let reproduction = stored.reproduction.as_ref()?;
    let [earlier @ .., _] = reproduction.sessions.as_slice() else { return None };
    if stored.kind != FindingKind::StateLeak || earlier.is_empty() || !stored.start.server["url"].is_string() {
        return None;
    }
    let tools = earlier.iter().flatten().filter_map(|call| call.params["name"].as_str());
    let tools: BTreeSet<String> = tools.map(literal_text).collect();
    Some(json!({"allow": tools, "state": {"isolation": ["sessions"]}}))
}

/// The steps in the words of a suite; `None` where the finding cannot be played.
fn steps(stored: &Stored) -> Option<Vec<Value>> {
    let reproduction = stored.reproduction.as_ref()?;
    let mut steps = Vec::new();
    for calls in &reproduction.sessions {
        if !steps.is_empty() {
            steps.push(json!({"restart": true}));
        }
        steps.extend(calls.iter().map(|call| Value::Object(suite_step(call))));
    }
    if steps.is_empty() {
        steps.push(json!({"list": "tools"}));
    }
    let is_alive = match &reproduction.check {
        ReproductionCheck::Ends => Some(json!({"alive": true})),
        ReproductionCheck::Silent(_)
        | ReproductionCheck::Scan(_)
        | ReproductionCheck::Broken(_)
        | ReproductionCheck::InSequence(_)
        | ReproductionCheck::Holds(_)
        | ReproductionCheck::Differs
        | ReproductionCheck::Block(_) => None,
    };
    if let Some(last) = steps.last_mut().and_then(Value::as_object_mut) {
        last.extend(expectations(&reproduction.check));
    }
    steps.extend(is_alive);
    Some(steps)
}

fn test(stored: &Stored) -> Option<Value> {
    let mut steps = steps(stored)?;
    let mut test = Map::from_iter([("name".to_owned(), Value::from(name(stored)))]);
    match (steps.pop(), steps.is_empty()) {
        (Some(Value::Object(only)), true) => test.extend(only),
        (last, _) => {
            steps.extend(last);
            test.insert("steps".to_owned(), steps.into());
        }
    }
    Some(test.into())
}

/// The expectation that holds once the finding is fixed.
fn expectations(check: &ReproductionCheck) -> Map<String, Value> {
    let (expect, timeout) = match check {
        ReproductionCheck::Broken(expected) => (expected.iter().map(literal).collect(), None),
        ReproductionCheck::InSequence(expected) => (expected.clone(), None),
        ReproductionCheck::Holds(text) => (vec![json!({"text": {"not": {"contains": literal(&json!(text))}}})], None),
        ReproductionCheck::Silent(limit) => (Vec::new(), Some(format!("{limit}ms"))),
        ReproductionCheck::Ends
        | ReproductionCheck::Scan(_)
        | ReproductionCheck::Differs
        | ReproductionCheck::Block(_) => (Vec::new(), None),
    };
    let timeout = timeout.map(|timeout| ("timeout".to_owned(), timeout.into()));
    timeout.into_iter().chain([("expect".to_owned(), Value::Array(expect))]).collect()
}

fn name(stored: &Stored) -> String {
    let tool = if stored.tool.is_empty() { "the server" } else { stored.tool.as_str() };
    let name = match stored.kind {
        FindingKind::Crash => format!("{tool} does not end the server"),
        FindingKind::Hang => format!("{tool} answers in time"),
        FindingKind::ConnectionLost => format!("{tool} answers in whole"),
        FindingKind::ProtocolError => format!("{tool} keeps to the protocol: {}", stored.signature),
        FindingKind::SchemaViolation => format!("{tool} answers as its schema says"),
        FindingKind::PropertyFailure => format!("{tool}: {}", stored.title),
        FindingKind::StateLeak => format!("{tool} shows nothing of earlier calls"),
    };
    let name: String = one_line(&name).chars().take(LONGEST_NAME).collect();
    name.trim().to_owned()
}

/// A line without templates.
fn one_line(text: &str) -> String {
    let mut line = visible_line(text).into_owned();
    while is_template(&line) {
        line = line.replace("{{", "{").replace("{%", "{");
    }
    line
}

fn notes(stored: &Stored) -> Vec<&'static str> {
    let check = stored.reproduction.as_ref().map(|reproduction| &reproduction.check);
    let differs = "no expectation says this: the answer to the last request differs from that of a fresh server";
    [(check == Some(&ReproductionCheck::Differs), differs)]
        .into_iter()
        .filter(|(is, _)| *is)
        .map(|(_, note)| note)
        .collect()
}
