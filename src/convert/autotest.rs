//! Cases of mcp-autotest: documents with messages that are sent (`in…`) and messages that must come back (`out…`).

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::source::template::literal_text;
use crate::source::{Diagnostic, Located, Node, Sources, Value as NodeValue};

use super::document::{Document, end_of_line};
use super::left_out::LeftOut;
use super::references::literal_value;
use super::suite_parts::{ConvertedTest, SuiteParts, TestPart};
use super::{ConvertOptions, Format};

pub(crate) const FORMAT: Format = Format { tool: "mcp-autotest", recognises, convert };

fn recognises(document: &Document) -> bool {
    let is_message = |(key, value): &(Located<String>, Node)| {
        (key.value.starts_with("in") || key.value.starts_with("out")) && value.get("jsonrpc").is_some()
    };
    document.root.entries().iter().any(is_message)
}

fn convert(documents: &[Document], sources: &Sources, options: &ConvertOptions) -> Result<SuiteParts, Vec<Diagnostic>> {
    let mut parts = SuiteParts::default();
    parts.head.insert("suite".to_owned(), options.name.clone().into());
    for (at, document) in documents.iter().enumerate() {
        let made = case(document, at + 1, sources);
        let after = (end_of_line(sources, document.root.span), u32::MAX);
        let inner_comments = [(TestPart::End, document.comments.between(after.0, after.1))].into_iter().collect();
        let comments = document.comments.outside(&[after]);
        parts.tests.push(ConvertedTest { comments, inner_comments, ..made });
    }
    Ok(parts)
}

fn case(document: &Document, number: usize, sources: &Sources) -> ConvertedTest {
    let name = document.root.get("case").map_or_else(|| format!("case {number}"), Node::to_text);
    let mut left_out = Vec::new();
    let mut steps: Vec<Map<String, Value>> = Vec::new();
    // The steps whose answers have not come yet, by the ids of their requests.
    let mut asked: BTreeMap<String, usize> = BTreeMap::new();
    for (key, message) in document.root.entries() {
        if key.value == "case" {
            continue;
        }
        let place = |why: &str| LeftOut::new(key.value.clone(), key.span, why);
        if key.value.starts_with("in") {
            match sent(message) {
                Ok(step) => {
                    asked.extend(message.get("id").map(|id| (id.to_json().to_string(), steps.len())));
                    steps.push(step);
                }
                Err(why) => left_out.push(place(why)),
            }
        } else if key.value.starts_with("out") {
            let step = message.get("id").and_then(|id| asked.remove(&id.to_json().to_string()));
            match step {
                Some(at) => {
                    if has_pattern(message, sources, &|pattern| regex::Regex::new(pattern).is_err()) {
                        left_out.push(place("one of its patterns is no regular expression that mcprove knows"));
                    }
                    steps[at].insert("expect".to_owned(), received(message, sources).into());
                }
                None => left_out.push(place("no request of the case has its id")),
            }
        } else {
            left_out.push(place("mcp-autotest has no such key"));
        }
    }
    let mut steps: Vec<Value> = steps.into_iter().map(|step| with_expect(step).into()).collect();
    if steps.is_empty() {
        let why = LeftOut::new("case", document.root.span, "no message of the case is one that tests send");
        let mut skipped = ConvertedTest::skipped(&literal_text(&name), why);
        skipped.left_out.extend(left_out);
        return skipped;
    }
    if steps.iter().all(|step| step.get("notify").is_some()) {
        // A notification has no answer; that the server bears it is what shows.
        steps.push(json!({ "list": "tools", "expect": [{ "at": "result", "exists": true }] }));
    }
    let mut test = Map::new();
    test.insert("name".to_owned(), literal_text(&name).into());
    match steps.as_slice() {
        [Value::Object(only)] => test.extend(only.clone()),
        _ => drop(test.insert("steps".to_owned(), steps.into())),
    }
    ConvertedTest { test, left_out, ..ConvertedTest::default() }
}

/// A message that is sent, as a step.
fn sent(message: &Node) -> Result<Map<String, Value>, &'static str> {
    let method = message.get("method").and_then(Node::text).ok_or("the message has no method")?;
    if ["initialize", "notifications/initialized"].contains(&method) {
        return Err("mcprove makes the handshake itself");
    }
    let mut step = Map::new();
    let params = message.get("params");
    let tool = params.and_then(|params| params.get("name")).and_then(Node::text).filter(|_| method == "tools/call");
    let is_plain =
        |params: &Node| params.entries().iter().all(|(key, _)| ["name", "arguments"].contains(&key.value.as_str()));
    if let (Some(tool), Some(params), true) =
        (tool, params.filter(|params| is_plain(params)), message.get("id").is_some())
    {
        step.insert("call".to_owned(), literal_text(tool).into());
        if let Some(arguments) = params.get("arguments").filter(|arguments| !arguments.entries().is_empty()) {
            step.insert("args".to_owned(), literal_value(arguments.to_json()));
        }
        return Ok(step);
    }
    let action = if message.get("id").is_some() { "request" } else { "notify" };
    step.insert(action.to_owned(), literal_text(method).into());
    if let Some(params) = params {
        step.insert("params".to_owned(), literal_value(params.to_json()));
    }
    Ok(step)
}

/// A step that expects nothing waits for its answer.
fn with_expect(mut step: Map<String, Value>) -> Map<String, Value> {
    if !step.contains_key("notify") && !step.contains_key("expect") {
        step.insert("expect".to_owned(), json!([]));
    }
    step
}

/// The expectations of an answer: all of it is compared, but for texts that are patterns.
fn received(message: &Node, sources: &Sources) -> Vec<Value> {
    let of = |key: &str| message.get(key).map(|node| (key.to_owned(), node));
    let parts = of("result").into_iter().chain(of("error"));
    let compared = parts.map(|(at, node)| {
        if has_pattern(node, sources, &|_| true) {
            json!({ "at": at, "schema": schema(node, sources) })
        } else {
            json!({ "at": at, "equals": literal_value(node.to_json()) })
        }
    });
    compared.collect()
}

/// The pattern that a text stands for by its tag.
fn pattern(node: &Node, sources: &Sources) -> Option<String> {
    let text = node.text()?;
    let written = sources.text(node.span);
    let before = &sources.file(node.span.source).text.as_bytes()[..node.span.start as usize];
    let has_tag = |tag: &str| {
        // The place of a value begins with its tag, or behind it.
        written.strip_prefix(tag).is_some_and(|rest| rest.starts_with([' ', '\n', '\r']))
            || before.trim_ascii_end().ends_with(tag.as_bytes())
    };
    if has_tag("!!re") { Some(text.to_owned()) } else { has_tag("!!ere").then(|| embedded(text)) }
}

/// A text in which the parts between slashes are patterns.
fn embedded(text: &str) -> String {
    let mut whole = String::from("^");
    let (mut part, mut is_pattern) = (String::new(), false);
    let mut letters = text.chars();
    let mut end = |part: &mut String, is_pattern: bool| {
        let plain = std::mem::take(part);
        whole += &if is_pattern { plain } else { regex::escape(&plain) };
    };
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => {
                let next = letters.next();
                if next != Some('/') {
                    part.push('\\');
                }
                part.extend(next);
            }
            '/' => {
                end(&mut part, is_pattern);
                is_pattern = !is_pattern;
            }
            other => part.push(other),
        }
    }
    end(&mut part, is_pattern);
    whole + "$"
}

/// A text within is a pattern of a kind.
fn has_pattern(node: &Node, sources: &Sources, is_wanted: &dyn Fn(&str) -> bool) -> bool {
    pattern(node, sources).is_some_and(|pattern| is_wanted(&pattern))
        || node.items().iter().any(|item| has_pattern(item, sources, is_wanted))
        || node.entries().iter().any(|(_, value)| has_pattern(value, sources, is_wanted))
}

/// A JSON Schema for exactly this value.
fn schema(node: &Node, sources: &Sources) -> Value {
    if let Some(pattern) = pattern(node, sources) {
        // Of a pattern that cannot be read, the message tells where it stands.
        let is_readable = regex::Regex::new(&pattern).is_ok();
        let text = json!({ "type": "string" });
        return if is_readable { json!({ "type": "string", "pattern": literal_text(&pattern) }) } else { text };
    }
    match &node.value {
        NodeValue::Map(entries) => {
            let properties: Map<String, Value> =
                entries.iter().map(|(key, value)| (literal_text(&key.value), schema(value, sources))).collect();
            let required: Vec<String> = properties.keys().cloned().collect();
            json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false })
        }
        NodeValue::List(items) => {
            let each: Vec<Value> = items.iter().map(|item| schema(item, sources)).collect();
            json!({ "type": "array", "prefixItems": each, "minItems": items.len(), "maxItems": items.len() })
        }
        NodeValue::Null | NodeValue::Bool(_) | NodeValue::Number(_) | NodeValue::Text(_) => {
            json!({ "const": literal_value(node.to_json()) })
        }
    }
}
