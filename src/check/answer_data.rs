//! The data in an answer: structured content, and the JSON in its texts.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::wire::read_json;

/// The depth of names, and the items of one list, up to which leaves are visited.
const MOST_NAMES: usize = 6;
const MOST_ITEMS: usize = 16;

/// The objects and lists of an answer.
#[derive(Debug, Clone, Default)]
pub(crate) struct AnswerData {
    structured: Option<Value>,
    /// The JSON in text blocks, by the number of the block.
    texts: BTreeMap<usize, Value>,
}

/// A text or a number in an answer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AnswerLeaf<'a> {
    /// The names of the members that lead to it, the innermost last.
    pub(crate) names: &'a [String],
    pub(crate) value: &'a Value,
    /// It is an item of a list, so that its innermost name is that of the list.
    pub(crate) is_item: bool,
}

impl AnswerData {
    /// The data of a response.
    pub(crate) fn of(message: &Value) -> Self {
        Self::of_result(&message["result"])
    }

    pub(crate) fn of_result(result: &Value) -> Self {
        let structured = result.get("structuredContent").filter(|content| !content.is_null()).cloned();
        let parsed = texts_of(result).enumerate().filter_map(|(at, text)| Some((at, json_value(text)?)));
        Self { structured, texts: parsed.collect() }
    }

    pub(crate) fn structured_content(&self) -> Option<&Value> {
        self.structured.as_ref()
    }

    /// Structured content, then the JSON in texts.
    pub(crate) fn values(&self) -> impl Iterator<Item = &Value> {
        self.structured.iter().chain(self.texts.values())
    }

    /// Texts and numbers by the name of their member; of equal names the outermost counts.
    pub(crate) fn members(&self) -> Map<String, Value> {
        let mut members = Map::new();
        let objects = self.values().flat_map(outermost_first).filter_map(Value::as_object);
        for (name, member) in objects.flatten() {
            if !members.contains_key(name) && (member.is_string() || member.is_number()) {
                members.insert(name.clone(), member.clone());
            }
        }
        members
    }

    /// The lengths of lists that are in no other list, by place; texts count only if structured content has no list.
    pub(crate) fn list_lengths(&self) -> BTreeMap<String, u64> {
        let mut lengths = BTreeMap::new();
        self.structured.iter().for_each(|content| collect_lengths("", content, &mut lengths));
        if lengths.is_empty() {
            self.texts.iter().for_each(|(at, value)| collect_lengths(&at.to_string(), value, &mut lengths));
        }
        lengths
    }

    /// Visits the texts and numbers of structured content, or those in texts where there is none.
    pub(crate) fn visit_leaves(&self, visit: &mut dyn FnMut(AnswerLeaf<'_>)) {
        let mut names = Vec::new();
        match &self.structured {
            Some(content) => visit_value(content, &mut names, false, visit),
            None => self.texts.values().for_each(|value| visit_value(value, &mut names, false, visit)),
        }
    }
}

/// The texts of the result of a call or of a resource, in order.
pub(crate) fn texts_of(result: &Value) -> impl Iterator<Item = &str> {
    blocks_of(result).filter_map(|block| block["text"].as_str())
}

fn blocks_of(result: &Value) -> impl Iterator<Item = &Value> {
    ["content", "contents"].into_iter().filter_map(|member| result[member].as_array()).flatten()
}

/// Returns true if a result holds anything: empty lists, objects and texts are nothing. Texts with JSON may have been read.
pub(crate) fn shows_anything(result: &Value) -> bool {
    let says_something = |text: &Value| match text.as_str().and_then(json_value) {
        Some(read) => !is_empty(&read),
        None => !is_empty(text),
    };
    result.get("structuredContent").is_some_and(|content| !is_empty(content))
        || kinds_of(result).any(|kind| kind != "text")
        || blocks_of(result).any(|block| says_something(&block["text"]))
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(_) | Value::Number(_) => false,
        Value::String(text) => text.trim().is_empty(),
        Value::Array(items) => items.iter().all(is_empty),
        Value::Object(members) => members.values().all(is_empty),
    }
}

/// The kinds of the blocks of a result, without texts that say nothing.
pub(crate) fn kinds_of(result: &Value) -> impl Iterator<Item = &str> {
    let blocks = result["content"].as_array().into_iter().flatten();
    let kinds = blocks.filter_map(|block| Some((block["type"].as_str()?, block["text"].as_str().unwrap_or_default())));
    kinds.filter(|(kind, text)| *kind != "text" || !text.is_empty()).map(|(kind, _)| kind)
}

/// A value and everything inside of it, level by level.
pub(crate) fn outermost_first(value: &Value) -> Vec<&Value> {
    let (mut found, mut at) = (vec![value], 0);
    while let Some(value) = found.get(at).copied() {
        match value {
            Value::Array(items) => found.extend(items),
            Value::Object(members) => found.extend(members.values()),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
        at += 1;
    }
    found
}

/// The first text or number of a value under the name of a parameter, or under the end of one: `user_id` takes an `id`.
pub(crate) fn value_for(parameter: &str, value: &Value) -> Option<Value> {
    let parameter = parameter.to_lowercase();
    let mut found = None;
    visit_value(value, &mut Vec::new(), false, &mut |leaf| {
        let name = leaf.names.last().filter(|_| !leaf.is_item && found.is_none());
        if name.is_some_and(|name| takes_value_of(&parameter, &name.to_lowercase())) {
            found = Some(leaf.value.clone());
        }
    });
    found
}

fn takes_value_of(parameter: &str, name: &str) -> bool {
    let is_end = |parameter: &str| parameter.strip_suffix(name).is_some_and(|before| before.ends_with('_'));
    !name.is_empty() && (parameter == name || is_end(parameter) || name == "id" && parameter.ends_with("id"))
}

/// The object or list that a text is.
fn json_value(text: &str) -> Option<Value> {
    text.trim_start().starts_with(['{', '[']).then(|| read_json(text)).flatten()
}

fn collect_lengths(place: &str, value: &Value, lengths: &mut BTreeMap<String, u64>) {
    match value {
        Value::Array(items) => drop(lengths.insert(place.to_owned(), items.len() as u64)),
        Value::Object(members) => {
            members.iter().for_each(|(name, member)| collect_lengths(&format!("{place}/{name}"), member, lengths));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn visit_value(value: &Value, names: &mut Vec<String>, is_item: bool, visit: &mut dyn FnMut(AnswerLeaf<'_>)) {
    match value {
        _ if names.len() > MOST_NAMES => {}
        Value::Object(members) => {
            for (name, value) in members {
                names.push(name.clone());
                visit_value(value, names, false, visit);
                names.pop();
            }
        }
        Value::Array(items) => {
            items.iter().take(MOST_ITEMS).for_each(|item| visit_value(item, names, true, visit));
        }
        Value::String(_) | Value::Number(_) => visit(AnswerLeaf { names, value, is_item }),
        Value::Null | Value::Bool(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn data(result: &Value) -> AnswerData {
        AnswerData::of(&json!({"result": result}))
    }

    fn text(text: &str) -> Value {
        json!({"content": [{"type": "text", "text": "first"}, {"type": "text", "text": text}]})
    }

    #[test]
    fn values_are_structured_content_and_json_in_texts() {
        for (result, expected) in [
            (json!({"structuredContent": {"a": 1}, "content": [{"text": "[2]"}]}), json!([{"a": 1}, [2]])),
            (json!({"structuredContent": null, "content": [{"text": " {\"a\": 1}"}]}), json!([{"a": 1}])),
            (text("7"), json!([])),
            (text("{\"a\""), json!([])),
            (text("plain"), json!([])),
            (json!({"contents": [{"uri": "users://u1", "text": "{\"id\": 1}"}]}), json!([{"id": 1}])),
            (json!({"content": "no list"}), json!([])),
            (json!(null), json!([])),
        ] {
            let values: Vec<Value> = data(&result).values().cloned().collect();
            assert_eq!(Value::from(values), expected, "{result}");
        }
    }

    #[test]
    fn empty_lists_and_texts_show_nothing() {
        let graph = json!({"entities": [], "relations": []});
        for (result, expected) in [
            (json!({"structuredContent": graph, "content": [{"type": "text", "text": graph.to_string()}]}), false),
            (json!({"content": [{"type": "text", "text": " "}]}), false),
            (json!({"content": []}), false),
            (json!({"content": [{"type": "text", "text": "{\"entities\": [{\"name\": \"Ann\"}]}"}]}), true),
            (json!({"structuredContent": {"found": false}, "content": []}), true),
            (json!({"content": [{"type": "text", "text": "no entities"}]}), true),
            (json!({"content": [{"type": "image", "data": ""}]}), true),
        ] {
            assert_eq!(shows_anything(&result), expected, "{result}");
        }
    }

    #[test]
    fn kinds_are_those_of_blocks_that_hold_something() {
        let blocks = json!([
            {"type": "text", "text": "a"}, {"type": "text", "text": ""}, {"type": "text"}, {"type": "image"}, {"text": "b"}, 7,
        ]);
        for (result, expected) in [
            (json!({"content": blocks}), &["text", "image"][..]),
            (json!({"content": []}), &[]),
            (json!({"content": {"type": "image"}}), &[]),
            (json!({"structuredContent": {"type": "image"}}), &[]),
        ] {
            assert_eq!(kinds_of(&result).collect::<Vec<_>>(), expected, "{result}");
        }
    }

    #[test]
    fn members_are_the_outermost_of_their_name() {
        for (result, expected) in [
            (json!({"structuredContent": {"user": {"id": "u1"}, "id": 7}}), json!({"id": 7})),
            (json!({"structuredContent": {"users": [{"id": 1}], "user": {"id": 2}}}), json!({"id": 2})),
            (text("{\"user\": {\"id\": \"u1\"}}"), json!({"id": "u1"})),
            (json!({"structuredContent": {"ok": true, "none": null}}), json!({})),
            (text("created"), json!({})),
        ] {
            assert_eq!(Value::from(data(&result).members()), expected, "{result}");
        }
    }

    #[test]
    fn lists_are_counted_wherever_they_are() {
        for (result, expected) in [
            (
                json!({"structuredContent": {"total": 3, "users": [[1], {"a": []}]}, "content": [{"text": "[]"}]}),
                &[("/users", 2)][..],
            ),
            (json!({"structuredContent": [1, 2, 3]}), &[("", 3)]),
            (text("{\"a\": [1, 2, 3], \"b\": {\"c\": []}}"), &[("1/a", 3), ("1/b/c", 0)]),
            (json!({"structuredContent": {"ok": true}, "content": [{"text": "[1]"}]}), &[("0", 1)]),
            (text("- one\n- two"), &[]),
        ] {
            let lengths = data(&result).list_lengths();
            let lengths: Vec<(&str, u64)> = lengths.iter().map(|(place, length)| (place.as_str(), *length)).collect();
            assert_eq!(lengths, expected, "{result}");
        }
    }

    #[test]
    fn leaves_have_the_names_that_lead_to_them() {
        let leaves = |result: Value| {
            let mut found = Vec::new();
            let mut note = |leaf: AnswerLeaf<'_>| {
                let item = if leaf.is_item { " item" } else { "" };
                found.push(format!("{}={}{item}", leaf.names.join("."), leaf.value));
            };
            data(&result).visit_leaves(&mut note);
            found
        };
        let structured = json!({"a": {"b": 1, "c": ["x", {"d": 2}]}, "e": null});
        let expected = ["a.b=1", "a.c=\"x\" item", "a.c.d=2"];
        assert_eq!(leaves(json!({"structuredContent": structured, "content": [{"text": "{\"z\": 1}"}]})), expected);
        assert_eq!(leaves(text("{\"z\": 1}")), ["z=1"]);
        let deep = (0..20).fold(json!(1), |inner, _| json!({"a": inner}));
        assert_eq!(leaves(json!({"structuredContent": deep})), [] as [&str; 0]);
        let long: Vec<usize> = (0..100).collect();
        assert_eq!(leaves(json!({"structuredContent": long})).len(), MOST_ITEMS);
    }

    #[test]
    fn parameters_take_values_of_their_name_or_its_end() {
        let user = json!({"total": 3, "user": {"id": "u7", "Name": "Ann"}, "tags": ["x"], "user_id": 9});
        for (parameter, expected) in [
            ("id", Some(json!("u7"))),
            ("user_id", Some(json!("u7"))),
            ("userId", Some(json!("u7"))),
            ("name", Some(json!("Ann"))),
            ("file_name", Some(json!("Ann"))),
            ("filename", None),
            ("tags", None),
            ("user", None),
        ] {
            assert_eq!(value_for(parameter, &user), expected, "{parameter}");
        }
        assert_eq!(value_for("id", &json!("u7")), None);
    }
}
