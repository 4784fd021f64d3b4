//! A finding as a test: what a suite should gain so that it never comes back.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use serde_json::{Map, Value, json};

use super::Stored;
use crate::event::{FindingKind, ReproductionCall, ReproductionCheck};
use crate::redact::{Part, mark, parts};
use crate::source::template::is_template;
use crate::source::visible_line;
use crate::source::yaml_writer::block;

/// How long the name of a test may be.
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
    let tools: BTreeSet<String> = tools.map(escaped).collect();
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
        steps.extend(calls.iter().map(|call| Value::Object(step(call))));
    }
    if steps.is_empty() {
        steps.push(json!({"list": "tools"}));
    }
    let is_alive = match &reproduction.check {
        ReproductionCheck::Ends => Some(json!({"alive": true})),
        ReproductionCheck::Silent(_)
        | ReproductionCheck::Scan(_)
        | ReproductionCheck::Broken(_)
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

fn step(call: &ReproductionCall) -> Map<String, Value> {
    let params = &call.params;
    let members = params.as_object().map_or(0, Map::len);
    let name = params["name"].as_str();
    let object =
        |members: Vec<(&str, Value)>| members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    let arguments = params.get("arguments").filter(|arguments| arguments.is_object());
    let is_plain = members == 1 + usize::from(arguments.is_some());
    match (call.method.as_str(), name) {
        ("", _) => object(vec![("send", literal(params))]),
        (method @ ("tools/call" | "prompts/get"), Some(name)) if is_plain => {
            let word = if method == "tools/call" { "call" } else { "prompt" };
            let arguments = arguments.filter(|arguments| **arguments != json!({}));
            object(
                [(word, literal(&name.into()))]
                    .into_iter()
                    .chain(arguments.map(|args| ("args", literal(args))))
                    .collect(),
            )
        }
        ("resources/read", _) if members == 1 && params["uri"].is_string() => {
            object(vec![("read", literal(&params["uri"]))])
        }
        (method, _) => {
            let word = if method.starts_with("notifications/") { "notify" } else { "request" };
            let params = Some(params).filter(|params| !params.is_null()).map(|params| ("params", literal(params)));
            object([(word, literal(&method.into()))].into_iter().chain(params).collect())
        }
    }
}

/// A value that a suite does not take for a template, but for secrets, which it reads from the environment.
fn literal(value: &Value) -> Value {
    match value {
        Value::String(text) => escaped(text).into(),
        Value::Array(items) => items.iter().map(literal).collect(),
        Value::Object(members) => {
            members.iter().map(|(name, value)| (escaped(name), literal(value))).collect::<Map<_, _>>().into()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

fn escaped(text: &str) -> String {
    if !is_template(text) {
        return text.to_owned();
    }
    let mut whole = String::new();
    for part in parts(text) {
        let said = match part {
            Part::Said(said) => said,
            Part::Secret(variable) => {
                whole += &mark(variable);
                continue;
            }
        };
        let mut rest = said.as_ref();
        while let Some(at) = ["{{", "{%", "{#"].iter().filter_map(|mark| rest.find(mark)).min() {
            let _ = write!(whole, "{}{{{{ '{}' }}}}", &rest[..at], &rest[at..at + 2]);
            rest = &rest[at + 2..];
        }
        whole += rest;
    }
    whole
}

fn name(stored: &Stored) -> String {
    let tool = if stored.tool.is_empty() { "the server" } else { stored.tool.as_str() };
    let name = match stored.kind {
        FindingKind::Crash => format!("{tool} does not end the server"),
        FindingKind::Hang => format!("{tool} answers in time"),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn templates_are_taken_literally_but_for_secrets() {
        for (text, expected) in [
            ("plain", "plain"),
            ("a {{ 7*7 }} b", "a {{ '{{' }} 7*7 }} b"),
            ("{% x %}{# y", "{{ '{%' }} x %}{{ '{#' }} y"),
            ("k={{ env.MCPROVE_SECRET_KEY }}", "k={{ env.MCPROVE_SECRET_KEY }}"),
            ("k={{ 'env.MCPROVE_SECRET_KEY }}", "k={{ '{{' }} env.MCPROVE_SECRET_KEY }}"),
        ] {
            assert_eq!(escaped(text), expected);
        }
    }
}
