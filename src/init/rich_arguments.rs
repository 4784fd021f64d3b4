//! Arguments of tools that make something: a text of its own in each place, and optional arguments beside those that are
//! needed, so that what is lost or swapped shows.

use serde_json::{Value, json};

use super::questions::own_text;
use crate::generate::PLACEHOLDER;
use crate::plan::arguments::{SafeArguments, is_file, is_path, safe_arguments};
use crate::redact::hold_a_secret;
use crate::source::words;
use crate::wire::Tool;

/// The number that optional arguments get.
const NUMBER: u64 = 3;

/// The most optional arguments that are given.
const MOST_OPTIONAL: usize = 6;

/// Words of arguments that name something else, say where or when it is, or keep it secret.
const REFERRING: [&str; 24] = [
    "id",
    "ids",
    "parent",
    "url",
    "uri",
    "link",
    "path",
    "file",
    "cursor",
    "host",
    "callback",
    "webhook",
    "template",
    "date",
    "time",
    "at",
    "before",
    "after",
    "key",
    "token",
    "secret",
    "password",
    "credential",
    "auth",
];

/// Arguments like these that say more, those that say most first.
pub(crate) fn rich_arguments(tool: &Tool, arguments: &Value) -> Vec<Value> {
    let Ok(safe) = safe_arguments(tool, None) else { return Vec::new() };
    let mut own = arguments.clone();
    for (name, value) in own.as_object_mut().into_iter().flatten() {
        put_own_texts(name, value);
    }
    let mut whole = own.clone();
    let mut left = MOST_OPTIONAL;
    for (name, declared) in tool.arguments_schema()["properties"].as_object().into_iter().flatten() {
        let is_open = whole.get(name).is_none() && left > 0 && is_free(name);
        let Some(value) = Some(declared).filter(|_| is_open).and_then(|declared| optional_value(name, declared)) else {
            continue;
        };
        let mut more = whole.clone();
        more[name] = value;
        if is_taken(&safe, &more) {
            whole = more;
            left -= 1;
        }
    }
    let mut rich = Vec::new();
    for tried in [whole, own] {
        if tried != *arguments && !rich.contains(&tried) && is_taken(&safe, &tried) {
            rich.push(tried);
        }
    }
    rich
}

fn is_taken(safe: &SafeArguments, arguments: &Value) -> bool {
    let is_safe = || safe.sanitize(arguments.clone()).as_ref() == Some(arguments);
    !hold_a_secret(arguments) && safe.generator().is_valid(arguments) && is_safe()
}

fn is_free(name: &str) -> bool {
    !is_path(name) && !is_file(name) && !words(name).iter().any(|word| REFERRING.contains(&word.as_str()))
}

/// Puts texts that are named after their place where any text would do.
fn put_own_texts(name: &str, value: &mut Value) {
    match value {
        Value::String(text) if text == PLACEHOLDER => *text = own_text(name),
        Value::Array(items) => items.iter_mut().for_each(|item| put_own_texts(name, item)),
        Value::Object(members) => members.iter_mut().for_each(|(name, member)| put_own_texts(name, member)),
        Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn optional_value(name: &str, declared: &Value) -> Option<Value> {
    let is_closed = ["enum", "const", "format", "pattern"].iter().any(|word| declared.get(word).is_some());
    let takes = |kind: &str| {
        declared["type"] == kind || declared["type"].as_array().is_some_and(|kinds| kinds.contains(&json!(kind)))
    };
    if is_closed {
        return None;
    }
    if takes("string") {
        return Some(own_text(name).into());
    }
    if takes("integer") || takes("number") {
        return Some(NUMBER.into());
    }
    if takes("array") {
        return Some(json!([optional_value(name, &declared["items"]).filter(Value::is_string)?]));
    }
    let alternatives = declared["anyOf"].as_array().into_iter().flatten();
    alternatives.filter(|other| other["type"] != "null").find_map(|other| optional_value(name, other))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_text_is_another_one_and_optional_arguments_are_given() {
        let text = json!({"type": "string"});
        for (properties, arguments, expected) in [
            (
                json!({"title": text, "content": text}),
                json!({"title": "text", "content": "text"}),
                vec![json!({"title": "some title", "content": "some content"})],
            ),
            (
                json!({"title": text, "note": {"anyOf": [{"type": "string"}, {"type": "null"}]}, "due_date": text,
                    "tags": {"type": "array", "items": text}, "kind": {"enum": ["a", "b"]}, "force": {"type": "boolean"},
                    "count": {"type": ["integer", "null"], "maximum": 2}, "size": {"type": "integer"}, "ownerId": text,
                    "api_key": text}),
                json!({"title": "text"}),
                vec![
                    json!({"title": "some title", "note": "some note", "tags": ["some tags"], "size": 3}),
                    json!({"title": "some title"}),
                ],
            ),
            (
                json!({"items": {"type": "array", "items": {"type": "object", "properties": {"itemName": text}}}}),
                json!({"items": [{"itemName": "text"}]}),
                vec![json!({"items": [{"itemName": "some item name"}]})],
            ),
            (json!({"title": {"type": "string", "maxLength": 4}}), json!({"title": "text"}), vec![]),
            (json!({"title": text}), json!({"title": "milk"}), vec![]),
        ] {
            let schema = json!({"type": "object", "properties": properties});
            let tool = Tool::new(json!({"name": "create", "inputSchema": schema}));
            assert_eq!(rich_arguments(&tool, &arguments), expected, "{properties}");
        }
    }
}
