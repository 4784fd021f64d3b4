//! Expectations that an answer of a right server meets every time, as far as two answers tell.
//!
//! The answers come from two processes that know nothing of each other: what both have in common is expected, but for
//! what reads as if another day or another machine had another value. Where values differ, their shapes are expected.

use serde_json::{Map, Value, json};

use crate::matching::{repeats_structured_content, words_of};
use crate::reproduce::{json_type, lasts, literal, text_lasts};
use crate::wire::read_json;

/// The most characters of a value that is expected as a whole, of the members that are, and of a line.
const LONGEST_VALUE: usize = 400;
const LONGEST_PART: usize = 800;
const LONGEST_LINE: usize = 120;

/// The most members whose types are expected, and how deep they may be.
const MOST_TYPED: usize = 30;
const DEEPEST_TYPED: usize = 4;

/// The fewest letters and digits of a part of a text that says anything.
const SHORTEST_PART: usize = 5;

/// Where the types of an answer are written down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Types {
    /// In the tool's output schema.
    Declared,
    /// Nowhere, so that they are expected as they were seen.
    Seen,
}

/// The expectations that two answers to one request meet.
pub(crate) fn expectations(first: &Value, second: &Value, types: Types) -> Vec<Value> {
    let (results, errors) = ([&first["result"], &second["result"]], [first.get("error"), second.get("error")]);
    match errors {
        [Some(one), Some(other)] if one["code"] == other["code"] => {
            return vec![json!({"error": {"code": one["code"]}})];
        }
        [None, None] => {}
        [Some(_), _] | [None, Some(_)] => return Vec::new(),
    }
    let [first, second] = results;
    let text_of = |result: &Value| words_of(&json!({"result": result}));
    let is_error = |result: &Value| result["isError"] == true;
    if is_error(first) != is_error(second) {
        return Vec::new();
    }
    if is_error(first) {
        return vec![json!({"is_error": true})];
    }
    let mut expected = Vec::new();
    if first.get("content").is_some() {
        expected.push(json!({"is_error": false}));
    }
    match (content(first), content(second)) {
        (Some((path, one)), Some((_, other))) => {
            expected.extend(of_values(&path, &one, &other, types));
            if types == Types::Declared && path == STRUCTURED {
                expected.push(json!({"output_schema": true}));
            }
            if path == STRUCTURED && [first, second].into_iter().all(repeats_structured_content) {
                expected.push(json!({"structured_text": true}));
            }
        }
        _ => expected.extend(of_texts(&text_of(first), &text_of(second))),
    }
    expected.extend(of_kinds(first, second));
    expected
}

const STRUCTURED: &str = "result.structuredContent";

/// The structured content of a result, the values of a completion, or the JSON that the only text is, with the path to it.
pub(crate) fn content(result: &Value) -> Option<(String, Value)> {
    if let Some(content) = result.get(STRUCTURED.trim_start_matches("result.")).filter(|content| !content.is_null()) {
        return Some((STRUCTURED.to_owned(), content.clone()));
    }
    if let Some(values) = result["completion"].get("values") {
        return Some(("result.completion.values".to_owned(), values.clone()));
    }
    let (member, [block]) = blocks(result)? else { return None };
    let text = block["text"].as_str().filter(|text| text.trim_start().starts_with(['{', '[']))?;
    Some((format!("result.{member}[0].text.json()"), read_json(text)?))
}

/// The blocks of a result, with the name of their list.
fn blocks(result: &Value) -> Option<(&'static str, &[Value])> {
    let of_member = |member: &'static str| Some((member, result[member].as_array()?.as_slice()));
    of_member("content").or_else(|| of_member("contents"))
}

/// The values at a path.
fn of_values(path: &str, first: &Value, second: &Value, types: Types) -> Vec<Value> {
    if first == second && lasts(first) && length(first) <= LONGEST_VALUE {
        return vec![json!({"at": path, "equals": literal(first)})];
    }
    let mut expected = Vec::new();
    let mut left = LONGEST_PART;
    if let Some(common) = common_members(first, second, &mut left) {
        expected.push(json!({"at": path, "includes": literal(&common)}));
    }
    match (first, second) {
        (Value::Array(one), Value::Array(other)) if one.len() == other.len() && !one.is_empty() => {
            expected.push(json!({"at": path, "length": one.len()}));
        }
        _ => {}
    }
    if types == Types::Seen
        && let Some(shape) = shape(first, second, DEEPEST_TYPED)
    {
        expected.push(if count_types(&shape) <= MOST_TYPED {
            json!({"at": path, "schema": shape})
        } else {
            json!({"at": path, "type": shape["type"]})
        });
    }
    expected
}

/// The members of an object that both have and that last, as far as there is room for them; lists count as a whole.
fn common_members(first: &Value, second: &Value, left: &mut usize) -> Option<Value> {
    let (one, other) = (first.as_object()?, second.as_object()?);
    let mut common = Map::new();
    for (name, value) in one {
        let Some(again) = other.get(name) else { continue };
        let is_short = length(value) + name.len() <= (*left).min(LONGEST_VALUE);
        let named = || Value::from(Map::from_iter([(name.clone(), value.clone())]));
        if value == again && is_short && lasts(&named()) {
            *left -= length(value) + name.len();
            common.insert(name.clone(), value.clone());
        } else if let Some(within) = common_members(value, again, left) {
            common.insert(name.clone(), within);
        }
    }
    (!common.is_empty()).then(|| common.into())
}

/// The types of two values as a JSON Schema; `None` where they have nothing in common.
fn shape(first: &Value, second: &Value, depth: usize) -> Option<Value> {
    let (one, other) = (json_type(first), json_type(second));
    if one != other {
        let is_number = |name| name == "integer" || name == "number";
        return (is_number(one) && is_number(other)).then(|| json!({"type": "number"}));
    }
    let mut schema = json!({"type": one});
    if depth == 0 {
        return Some(schema);
    }
    if let (Value::Object(one), Value::Object(other)) = (first, second) {
        let both = one.iter().filter_map(|(name, value)| Some((name, value, other.get(name)?)));
        let required: Vec<&String> = both.clone().map(|(name, ..)| name).collect();
        let properties: Map<String, Value> =
            both.filter_map(|(name, value, again)| Some((name.clone(), shape(value, again, depth - 1)?))).collect();
        if !required.is_empty() {
            schema["required"] = json!(required);
            schema["properties"] = properties.into();
        }
    }
    if let (Value::Array(one), Value::Array(other)) = (first, second) {
        let mut items = one.iter().chain(other);
        if let Some(head) = items.next() {
            let merged = items
                .try_fold(shape(head, head, depth - 1)?, |known, item| merge(&known, &shape(item, item, depth - 1)?));
            if let Some(merged) = merged {
                schema["items"] = merged;
            }
        }
    }
    Some(schema)
}

/// A shape that allows what both of two allow and asks for what both ask for; `None` where their types differ.
fn merge(one: &Value, other: &Value) -> Option<Value> {
    if one["type"] != other["type"] {
        return None;
    }
    let mut merged = json!({"type": one["type"]});
    if let (Some(some), Some(more)) = (one["properties"].as_object(), other["properties"].as_object()) {
        let is_required = |schema: &Value, name: &str| {
            schema["required"].as_array().is_some_and(|required| required.iter().any(|known| known == name))
        };
        let both = some.keys().filter(|name| is_required(one, name) && is_required(other, name));
        merged["required"] = json!(both.collect::<Vec<_>>());
        let properties: Map<String, Value> =
            some.iter().filter_map(|(name, schema)| Some((name.clone(), merge(schema, more.get(name)?)?))).collect();
        merged["properties"] = properties.into();
    }
    if let (Some(some), Some(more)) = (one.get("items"), other.get("items"))
        && let Some(items) = merge(some, more)
    {
        merged["items"] = items;
    }
    Some(merged)
}

fn count_types(shape: &Value) -> usize {
    match shape {
        Value::Object(members) => {
            usize::from(members.get("type").is_some_and(Value::is_string))
                + members.values().map(count_types).sum::<usize>()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => 0,
    }
}

/// Two texts: the whole, or the first and the last line that they have in common, or the same beginning.
fn of_texts(first: &str, second: &str) -> Vec<Value> {
    if first.trim().is_empty() || second.trim().is_empty() {
        return Vec::new();
    }
    if first == second && text_lasts(first) && first.chars().count() <= LONGEST_VALUE {
        return vec![json!({"text": {"equals": literal(&first.into())}})];
    }
    let says_something = |line: &&str| {
        let letters = line.chars().filter(|c| c.is_alphanumeric()).count();
        letters >= SHORTEST_PART && line.chars().count() <= LONGEST_LINE && text_lasts(line)
    };
    let both = || first.lines().zip(second.lines()).filter(|(one, other)| one == other).map(|(one, _)| one.trim_end());
    let common: Vec<&str> = both().filter(says_something).collect();
    let contains = |part: &str| json!({"text": {"contains": literal(&part.into())}});
    match common.as_slice() {
        [] => {
            let beginning = common_beginning(first, second);
            let is_lasting = says_something(&beginning);
            vec![if is_lasting { contains(beginning) } else { json!({"text": {"length": {"min": 1}}}) }]
        }
        [only] => vec![contains(only)],
        [head, .., tail] if head == tail => vec![contains(head)],
        [head, .., tail] => vec![contains(head), contains(tail)],
    }
}

/// The whole words with which the first lines of two texts begin.
fn common_beginning<'a>(first: &'a str, second: &str) -> &'a str {
    let (one, other) = (first.lines().next().unwrap_or_default(), second.lines().next().unwrap_or_default());
    let same = one.char_indices().zip(other.chars()).find(|((_, a), b)| a != b).map_or(one.len(), |((at, _), _)| at);
    let whole = one[..same.min(one.len())].rfind(char::is_whitespace).unwrap_or(0);
    let until_drawn = one[..whole].char_indices().find(|(_, c)| c.is_ascii_digit()).map_or(whole, |(at, _)| at);
    one[..until_drawn].trim_end()
}

/// The kinds of blocks that are no texts.
fn of_kinds(first: &Value, second: &Value) -> Vec<Value> {
    let (Some((member, one)), Some((_, other))) = (blocks(first), blocks(second)) else { return Vec::new() };
    if member != "content" || one.len() != other.len() {
        return Vec::new();
    }
    let kinds = one.iter().zip(other).enumerate().filter(|(_, (a, b))| a["type"] == b["type"] && a["type"] != "text");
    let expected = |(at, (block, _)): (usize, (&Value, &Value))| {
        let parts = ["type", "mimeType"].into_iter().filter(|part| block[part].is_string());
        let known: Map<String, Value> = parts.map(|part| (part.to_owned(), literal(&block[part]))).collect();
        json!({"at": format!("result.content[{at}]"), "includes": known})
    };
    kinds.map(expected).collect()
}

fn length(value: &Value) -> usize {
    value.to_string().chars().count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> Value {
        json!({"result": {"content": [{"type": "text", "text": text}]}})
    }

    fn structured(content: &Value) -> Value {
        json!({"result": {"content": [], "structuredContent": content}})
    }

    /// Without the first expectation, which only says that the call is served.
    fn beyond_success(first: &Value, second: &Value, types: Types) -> Value {
        let found = expectations(first, second, types);
        assert_eq!(found.first(), Some(&json!({"is_error": false})), "{first}");
        found[1..].to_vec().into()
    }

    #[test]
    fn what_both_answers_share_is_expected() {
        let at = STRUCTURED;
        for (first, second, expected) in [
            (json!({"sum": 5}), json!({"sum": 5}), json!([{"at": at, "equals": {"sum": 5}}])),
            (
                json!({"id": "u1", "made": "2026-01-01"}),
                json!({"id": "u1", "made": "2026-01-01"}),
                json!([
                    {"at": at, "includes": {"id": "u1"}},
                    {"at": at, "schema": {"type": "object", "required": ["id", "made"],
                        "properties": {"id": {"type": "string"}, "made": {"type": "string"}}}},
                ]),
            ),
            (
                json!({"load": 0.5, "cpu": {"count": 2, "load": 7}}),
                json!({"load": 1, "cpu": {"count": 2, "load": 9}}),
                json!([
                    {"at": at, "includes": {"cpu": {"count": 2}}},
                    {"at": at, "schema": {"type": "object", "required": ["load", "cpu"], "properties": {
                        "cpu": {"type": "object", "required": ["count", "load"],
                            "properties": {"count": {"type": "integer"}, "load": {"type": "integer"}}},
                        "load": {"type": "number"}}}},
                ]),
            ),
            (
                json!([{"at": 1_700_000_000}, {"at": 1_700_000_001, "by": "a"}]),
                json!([{"at": 1_700_000_005}, {"at": 1_700_000_006, "by": "a"}]),
                json!([
                    {"at": at, "length": 2},
                    {"at": at, "schema": {"type": "array", "items":
                        {"type": "object", "required": ["at"], "properties": {"at": {"type": "integer"}}}}},
                ]),
            ),
            (
                json!({"user": null}),
                json!({"user": {"id": 1}}),
                json!([
                    {"at": at, "schema": {"type": "object", "required": ["user"], "properties": {}}},
                ]),
            ),
        ] {
            let found = beyond_success(&structured(&first), &structured(&second), Types::Seen);
            assert_eq!(found, expected, "{first} and {second}");
        }
    }

    #[test]
    fn declared_types_are_not_repeated() {
        let content = json!({"load": 3, "name": "a"});
        let found =
            beyond_success(&structured(&content), &structured(&json!({"load": 4, "name": "a"})), Types::Declared);
        assert_eq!(found, json!([{"at": STRUCTURED, "includes": {"name": "a"}}, {"output_schema": true}]));
    }

    #[test]
    fn a_text_that_repeats_the_structured_content_goes_on_to_do_so() {
        let answer = |text: &str| json!({"result": {"content": [{"type": "text", "text": text}], "structuredContent": {"sum": 5, "of": [2, 3]}}});
        for (first, second, is_expected) in [
            ("{\"sum\": 5, \"of\": [2, 3]}", "{\"sum\": 5, \"of\": [2, 3]}", true),
            ("[2, 3]", "[2, 3]", true),
            ("2 and 3 are 5", "2 and 3 are 5", false),
            ("5", "2 and 3 are 5", false),
        ] {
            let found = beyond_success(&answer(first), &answer(second), Types::Seen);
            let is_found = found.as_array().unwrap().contains(&json!({"structured_text": true}));
            assert_eq!(is_found, is_expected, "{first} and {second}");
        }
    }

    #[test]
    fn texts_are_expected_as_far_as_they_last() {
        let long = format!("first line\n{}\nlast line", "a line of many\n".repeat(40));
        for (first, second, expected) in [
            ("2 users", "2 users", json!([{"text": {"equals": "2 users"}}])),
            ("{{ 1 }}", "{{ 1 }}", json!([{"text": {"equals": "{{ '{{' }} 1 }}"}}])),
            ("in /tmp/a/b", "in /tmp/a/b", json!([{"text": {"length": {"min": 1}}}])),
            ("It is 12:31", "It is 12:31", json!([{"text": {"length": {"min": 1}}}])),
            ("Uptime of host: 5 s", "Uptime of host: 7 s", json!([{"text": {"contains": "Uptime of host:"}}])),
            ("Status: good\n5 s", "Status: good\n6 s", json!([{"text": {"contains": "Status: good"}}])),
            (&long, &long, json!([{"text": {"contains": "first line"}}, {"text": {"contains": "last line"}}])),
            ("", "", json!([])),
            ("key [redacted]", "key [redacted]", json!([{"text": {"length": {"min": 1}}}])),
        ] {
            assert_eq!(beyond_success(&text(first), &text(second), Types::Seen), expected, "{first}");
        }
        let parsed = beyond_success(&text("{\"a\": [1, 2]}"), &text("{\"a\": [1, 2]}"), Types::Seen);
        assert_eq!(parsed, json!([{"at": "result.content[0].text.json()", "equals": {"a": [1, 2]}}]));
    }

    #[test]
    fn refusals_and_other_kinds_have_their_expectations() {
        let error = |code: i64| json!({"error": {"code": code, "message": "no"}});
        let failed = json!({"result": {"isError": true, "content": []}});
        let image = json!({"result": {"content": [{"type": "image", "mimeType": "image/png", "data": "aa"}]}});
        let read = json!({"result": {"contents": [{"uri": "a://b", "text": "hello you"}]}});
        for (first, second, expected) in [
            (&error(-32602), &error(-32602), json!([{"error": {"code": -32602}}])),
            (&error(-32602), &error(-32603), json!([])),
            (&error(-32602), &failed, json!([])),
            (&failed, &failed, json!([{"is_error": true}])),
            (&failed, &text("a"), json!([])),
            (&read, &read, json!([{"text": {"equals": "hello you"}}])),
            (
                &image,
                &image,
                json!([{"is_error": false},
                    {"at": "result.content[0]", "includes": {"type": "image", "mimeType": "image/png"}}]),
            ),
        ] {
            assert_eq!(Value::from(expectations(first, second, Types::Seen)), expected, "{first}");
        }
    }
}
