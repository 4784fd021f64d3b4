//! Expectations that an answer of a right server meets every time, as far as two answers tell.
//!
//! The answers come from two processes that know nothing of each other: what both have in common is expected, but for
//! what reads as if another day or another machine had another value. Where values differ, their shapes are expected.

use std::sync::LazyLock;

use regex::Regex;
use serde_json::{Map, Value, json};

use crate::matching::{repeats_structured_content, words_of};
use crate::reproduce::{json_type, lasts, literal, text_lasts};
use crate::wire::{Tool, read_json};

/// The most characters of a value that is expected as a whole, of a member that is, of all of these, of a member of an item,
/// and of a line.
const LONGEST_VALUE: usize = 1000;
const LONGEST_MEMBER: usize = 400;
const LONGEST_PART: usize = 1200;
const LONGEST_ITEM_MEMBER: usize = 200;
const LONGEST_LINE: usize = 120;

/// The most lines of a text that are expected.
const MOST_LINES: usize = 6;

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
    /// The same of answers that are others tomorrow: of a tool that asks other machines, or whose data other tools change.
    DeclaredToday,
    SeenToday,
}

impl Types {
    /// Where a tool declares them.
    pub(crate) fn of(tool: &Tool) -> Self {
        let types = if tool.output_schema().is_some() { Self::Declared } else { Self::Seen };
        if tool.declares_open_world() { types.of_today() } else { types }
    }

    /// The same of answers that are others tomorrow.
    pub(crate) fn of_today(self) -> Self {
        if self.are_declared() { Self::DeclaredToday } else { Self::SeenToday }
    }

    fn are_declared(self) -> bool {
        matches!(self, Self::Declared | Self::DeclaredToday)
    }

    fn are_of_today(self) -> bool {
        matches!(self, Self::DeclaredToday | Self::SeenToday)
    }
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
            if types.are_declared() && path == STRUCTURED {
                expected.push(json!({"output_schema": true}));
            }
            if path == STRUCTURED && [first, second].into_iter().all(repeats_structured_content) {
                expected.push(json!({"structured_text": true}));
            }
        }
        _ => expected.extend(of_texts(&text_of(first), &text_of(second), types)),
    }
    if !types.are_of_today() {
        expected.extend(of_kinds(first, second));
    }
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

/// The values at a path; of those that are others tomorrow, no more than where lists and objects are.
fn of_values(path: &str, first: &Value, second: &Value, types: Types) -> Vec<Value> {
    if types.are_of_today() {
        return shape_of_today(first, second).and_then(|shape| of_shape(path, &shape, types)).into_iter().collect();
    }
    if first == second && lasts(first) && length(first) <= LONGEST_VALUE {
        return vec![json!({"at": path, "equals": literal(first)})];
    }
    let mut expected = Vec::new();
    let mut left = LONGEST_PART;
    if let Some(common) = common_part(first, second, &mut left) {
        expected.push(json!({"at": path, "includes": literal(&common)}));
    }
    for (place, one, other) in lists_of(path, first, second) {
        expected.extend(of_list(&place, one, other));
    }
    match (first, second) {
        (Value::Array(one), Value::Array(other)) if one.len() == other.len() && !one.is_empty() => {
            let length = json!({"at": path, "length": one.len()});
            if !expected.contains(&length) {
                expected.push(length);
            }
        }
        _ => {}
    }
    expected.extend(shape(first, second, DEEPEST_TYPED).and_then(|shape| of_shape(path, &shape, types)));
    expected
}

/// The types of a value; where they are declared, only the patterns of its texts, which no schema says.
fn of_shape(path: &str, shape: &Value, types: Types) -> Option<Value> {
    if types.are_declared() {
        return Some(json!({"at": path, "schema": patterns_of(shape)?}));
    }
    Some(if count_types(shape) <= MOST_TYPED {
        json!({"at": path, "schema": shape})
    } else {
        json!({"at": path, "type": shape["type"]})
    })
}

/// What two values have in common that lasts, as far as there is room, in characters: members of objects, and items of lists.
fn common_part(first: &Value, second: &Value, left: &mut usize) -> Option<Value> {
    match (first, second) {
        (Value::Object(one), Value::Object(other)) => common_members(one, other, left),
        (Value::Array(one), Value::Array(other)) => common_items(one, other, left),
        _ => None,
    }
}

/// The members that both objects have and that last.
fn common_members(one: &Map<String, Value>, other: &Map<String, Value>, left: &mut usize) -> Option<Value> {
    let mut common = Map::new();
    for (name, value) in one {
        let Some(again) = other.get(name) else { continue };
        let is_short = length(value) + name.len() <= (*left).min(LONGEST_MEMBER);
        if value == again && is_short && member_lasts(name, value) {
            *left -= length(value) + name.len();
            common.insert(name.clone(), value.clone());
        } else if let Some(within) = common_part(value, again, left) {
            common.insert(name.clone(), within);
        }
    }
    (!common.is_empty()).then(|| common.into())
}

fn member_lasts(name: &str, value: &Value) -> bool {
    lasts(&Value::from(Map::from_iter([(name.to_owned(), value.clone())])))
}

/// The items of two lists with the members that last in all of them, the first ones where there is no room for all; `None`
/// where nothing tells one item from another.
fn common_items(one: &[Value], other: &[Value], left: &mut usize) -> Option<Value> {
    let names = common_names(one, other);
    telling_name(one, &names)?;
    let mut common = Vec::new();
    for item in one {
        let members = item.as_object()?.iter().filter(|(name, _)| names.contains(name));
        let item = Value::from(members.map(|(name, value)| (name.clone(), value.clone())).collect::<Map<_, _>>());
        let Some(rest) = left.checked_sub(length(&item)) else { break };
        *left = rest;
        common.push(item);
    }
    (!common.is_empty()).then(|| common.into())
}

/// The names of members that are the same and last in all items of two lists. A value that is drawn may be the same twice
/// in one item, and hardly in all of them.
fn common_names<'a>(one: &'a [Value], other: &[Value]) -> Vec<&'a String> {
    if one.len() != other.len() {
        return Vec::new();
    }
    let known = one.iter().filter_map(Value::as_object).flat_map(Map::keys);
    let mut names: Vec<&String> = Vec::new();
    for name in known {
        let is_same = |(item, again): (&Value, &Value)| {
            let (value, again) = (item.get(name), again.get(name));
            let is_plain = |value: &Value| length(value) <= LONGEST_ITEM_MEMBER && member_lasts(name, value);
            value == again && value.is_none_or(is_plain)
        };
        if !names.contains(&name) && one.iter().zip(other).all(is_same) {
            names.push(name);
        }
    }
    names
}

/// The first name whose value, a text or a whole number, is another one in each item.
fn telling_name<'a>(items: &[Value], names: &[&'a String]) -> Option<&'a String> {
    let tells = |name: &&&String| {
        let values: Vec<&Value> = items.iter().filter_map(|item| item.get(name.as_str())).collect();
        let is_plain = |value: &&Value| value.is_string() || value.is_i64();
        let is_new = |(at, value): (usize, &&Value)| !values[..at].contains(value);
        values.len() == items.len() && values.iter().all(is_plain) && values.iter().enumerate().all(is_new)
    };
    names.iter().find(tells).copied()
}

/// The lists that are two values, or members of them, by their paths.
fn lists_of<'a>(path: &str, first: &'a Value, second: &'a Value) -> Vec<(String, &'a [Value], &'a [Value])> {
    match (first, second) {
        (Value::Array(one), Value::Array(other)) => vec![(path.to_owned(), one.as_slice(), other.as_slice())],
        (Value::Object(one), Value::Object(other)) => {
            let both = one.iter().filter(|(name, _)| is_plain_name(name)).filter_map(|(name, value)| {
                let (value, again) = (value.as_array()?, other.get(name)?.as_array()?);
                Some((format!("{path}.{name}"), value.as_slice(), again.as_slice()))
            });
            both.collect()
        }
        _ => Vec::new(),
    }
}

/// The length of a list, and its first and last item by what tells them apart; nothing where nothing does.
fn of_list(path: &str, one: &[Value], other: &[Value]) -> Vec<Value> {
    let names = common_names(one, other);
    let Some(name) = telling_name(one, &names) else { return Vec::new() };
    let mut expected = vec![json!({"at": path, "length": one.len()})];
    if let [head, .., tail] = one
        && is_plain_name(name)
    {
        let ends = [(0, head), (one.len() - 1, tail)];
        expected.extend(
            ends.map(|(at, item)| json!({"at": format!("{path}[{at}].{name}"), "equals": literal(&item[name])})),
        );
    }
    expected
}

/// A name that a path can hold without quotes.
pub(crate) fn is_plain_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic()) && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// The expectations of an item that two servers show at a path; its types are those of the list. Tomorrow it is another one.
pub(crate) fn of_item(path: &str, first: &Value, second: &Value, types: Types) -> Vec<Value> {
    if types.are_of_today() { Vec::new() } else { of_values(path, first, second, Types::Declared) }
}

/// The types of two values, of whose members only lists and objects count: any other may be null the next time.
fn shape_of_today(first: &Value, second: &Value) -> Option<Value> {
    let mut shape = shape(first, second, 1)?;
    let Some(members) = shape["properties"].as_object().cloned() else {
        return Some(json!({"type": shape["type"]}));
    };
    let is_whole = |schema: &Value| schema["type"] == "array" || schema["type"] == "object";
    let whole: Map<String, Value> = members.into_iter().filter(|(_, schema)| is_whole(schema)).collect();
    if whole.is_empty() {
        return Some(json!({"type": shape["type"]}));
    }
    shape["required"] = json!(whole.keys().collect::<Vec<_>>());
    shape["properties"] = whole.into();
    Some(shape)
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
    if let (Some(one), Some(other)) = (first.as_str(), second.as_str())
        && let Some(pattern) = drawn_pattern(one).filter(|pattern| drawn_pattern(other) == Some(*pattern))
    {
        schema["pattern"] = pattern.into();
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

/// The pattern of texts that are made anew each time: ids, and times with or without their zone.
pub(crate) fn drawn_pattern(text: &str) -> Option<&'static str> {
    const PATTERNS: [&str; 3] = [
        "^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$",
        r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$",
        r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?$",
    ];
    #[expect(clippy::unwrap_used, reason = "the patterns are constant")]
    static COMPILED: LazyLock<[Regex; 3]> = LazyLock::new(|| PATTERNS.map(|pattern| Regex::new(pattern).unwrap()));
    COMPILED.iter().position(|pattern| pattern.is_match(text)).map(|at| PATTERNS[at])
}

/// The patterns of a shape by their places, without any type: what is null there, or missing, has none.
fn patterns_of(shape: &Value) -> Option<Value> {
    let mut kept = Map::new();
    kept.extend(shape.get("pattern").map(|pattern| ("pattern".to_owned(), pattern.clone())));
    kept.extend(shape.get("items").and_then(patterns_of).map(|items| ("items".to_owned(), items)));
    let members = shape["properties"].as_object().into_iter().flatten();
    let members: Map<String, Value> =
        members.filter_map(|(name, schema)| Some((name.clone(), patterns_of(schema)?))).collect();
    if !members.is_empty() {
        kept.insert("properties".to_owned(), members.into());
    }
    (!kept.is_empty()).then(|| kept.into())
}

/// A shape that allows what both of two allow and asks for what both ask for; `None` where their types differ.
fn merge(one: &Value, other: &Value) -> Option<Value> {
    if one["type"] != other["type"] {
        return None;
    }
    let mut merged = json!({"type": one["type"]});
    if let Some(pattern) = one.get("pattern").filter(|pattern| other.get("pattern") == Some(*pattern)) {
        merged["pattern"] = pattern.clone();
    }
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
fn of_texts(first: &str, second: &str, types: Types) -> Vec<Value> {
    if first.trim().is_empty() || second.trim().is_empty() {
        return Vec::new();
    }
    let is_there = || json!({"text": {"length": {"min": 1}}});
    if types.are_of_today() {
        return vec![is_there()];
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
    if common.is_empty() {
        let beginning = common_beginning(first, second);
        let is_lasting = says_something(&beginning);
        return vec![if is_lasting { contains(beginning) } else { is_there() }];
    }
    // From the first to the last.
    let count = common.len().min(MOST_LINES);
    let mut chosen: Vec<&str> = Vec::new();
    for line in (0..count).map(|at| common[at * (common.len() - 1) / (count - 1).max(1)]) {
        if !chosen.contains(&line) {
            chosen.push(line);
        }
    }
    chosen.into_iter().map(contains).collect()
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
    fn items_of_lists_are_expected_by_what_lasts_in_all_of_them() {
        let at = STRUCTURED;
        let users = |loads: [u32; 2]| {
            json!({"users": [
                {"id": "u1", "since": "2026-01-01", "active": true, "load": loads[0]},
                {"id": "u2", "since": "2026-01-02", "active": true, "load": loads[1]},
            ]})
        };
        let [one, other] = [users([1, 2]), users([1, 3])].map(|content| structured(&content));
        let found = beyond_success(&one, &other, Types::Declared);
        assert_eq!(
            found,
            json!([
                {"at": at, "includes": {"users": [{"id": "u1", "active": true}, {"id": "u2", "active": true}]}},
                {"at": format!("{at}.users"), "length": 2},
                {"at": format!("{at}.users[0].id"), "equals": "u1"},
                {"at": format!("{at}.users[1].id"), "equals": "u2"},
                {"output_schema": true},
            ])
        );
        // Nothing tells these items apart, so each may be any of them the next time.
        let drawn = |seconds: u32| structured(&json!([{"on": true, "at": seconds}, {"on": false, "at": seconds + 1}]));
        let found = expectations(&drawn(1_700_000_000), &drawn(1_700_000_005), Types::Declared);
        assert_eq!(found[1], json!({"at": at, "length": 2}));
    }

    #[test]
    fn drawn_texts_keep_their_form() {
        for (first, second, expected) in [
            ("2026-01-01T10:00:00Z", "2026-01-01T10:00:01.5+01:00", true),
            ("2026-01-01T10:00:00Z", "2026-01-01T10:00:01", false),
            ("2026-01-01T10:00:00", "2026-01-01T10:00:01.123", true),
            ("123e4567-e89b-42d3-a456-426614174000", "123e4567-e89b-42d3-a456-426614174001", true),
            ("text", "text", false),
        ] {
            let found = shape(&first.into(), &second.into(), 1).unwrap();
            assert_eq!(patterns_of(&found).is_some(), expected, "{first} and {second}");
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
    fn declared_types_may_be_null_where_a_pattern_is_expected() {
        let job = |begun: &str| {
            structured(&json!({"job": {"name": "a", "begun": begun, "finished": "2026-01-01T10:00:00Z"}}))
        };
        let found = beyond_success(&job("2026-01-01T09:00:00Z"), &job("2026-01-01T09:00:01Z"), Types::Declared);
        let pattern = drawn_pattern("2026-01-01T09:00:00Z").unwrap();
        let members = json!({"begun": {"pattern": pattern}, "finished": {"pattern": pattern}});
        assert_eq!(
            found,
            json!([
                {"at": STRUCTURED, "includes": {"job": {"name": "a"}}},
                {"at": STRUCTURED, "schema": {"properties": {"job": {"properties": members}}}},
                {"output_schema": true},
            ])
        );
    }

    #[test]
    fn nothing_is_expected_of_the_values_of_today() {
        let at = STRUCTURED;
        let image = json!({"result": {"content": [{"type": "image", "mimeType": "image/png", "data": "aa"}]}});
        let content = structured(&json!({"city": "Paris", "degrees": 12, "hours": [1, 2], "next": null}));
        let typed = json!({"type": "object", "required": ["hours"], "properties": {"hours": {"type": "array"}}});
        for (answer, types, expected) in [
            (&text("Paris: 12 C"), Types::SeenToday, json!([{"text": {"length": {"min": 1}}}])),
            (
                &text("[1, 2]"),
                Types::SeenToday,
                json!([{"at": "result.content[0].text.json()", "schema": {"type": "array"}}]),
            ),
            (&structured(&json!({"items": [1]})), Types::DeclaredToday, json!([{"output_schema": true}])),
            (&content, Types::SeenToday, json!([{"at": at, "schema": typed}])),
            (&image, Types::SeenToday, json!([])),
        ] {
            assert_eq!(beyond_success(answer, answer, types), expected, "{answer}");
        }
        assert!(of_item("result.items[0]", &"a".into(), &"a".into(), Types::SeenToday).is_empty());
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
        let long = format!("first line\n{}\nlast line", "a line of many\n".repeat(80));
        for (first, second, expected) in [
            ("2 users", "2 users", json!([{"text": {"equals": "2 users"}}])),
            ("{{ 1 }}", "{{ 1 }}", json!([{"text": {"equals": "{{ '{{' }} 1 }}"}}])),
            ("in /tmp/a/b", "in /tmp/a/b", json!([{"text": {"length": {"min": 1}}}])),
            ("It is 12:31", "It is 12:31", json!([{"text": {"length": {"min": 1}}}])),
            ("Uptime of host: 5 s", "Uptime of host: 7 s", json!([{"text": {"contains": "Uptime of host:"}}])),
            ("Status: good\n5 s", "Status: good\n6 s", json!([{"text": {"contains": "Status: good"}}])),
            (
                &long,
                &long,
                json!([
                    {"text": {"contains": "first line"}}, {"text": {"contains": "a line of many"}},
                    {"text": {"contains": "last line"}},
                ]),
            ),
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
