//! A result whose values have other types: in structured content, and in the texts that a model reads.

use serde_json::{Value, json};

use super::EffectContext;
use super::edit::retype;

/// The most values of structured content that are looked for in plain texts.
const MOST_REPEATED: usize = 200;

/// Gives the values of the result other types. Failures stay: no schema says what they look like.
pub(crate) fn drift(work: &mut EffectContext<'_>) {
    let Some(result) = work.message().and_then(|message| message.get_mut("result")) else { return };
    if result["isError"] != true {
        drift_result(result);
    }
}

fn drift_result(result: &mut Value) {
    let mut renamed = Vec::new();
    let structured = result.get_mut("structuredContent").filter(|structured| has_values(structured));
    let is_structured = structured.is_some();
    if let Some(structured) = structured {
        retype_all(structured, &mut renamed);
    }
    // Of two values that begin alike, the longer one is meant.
    renamed.sort_by_key(|pair: &(String, String)| std::cmp::Reverse(pair.0.len()));
    for block in result.get_mut("content").and_then(Value::as_array_mut).into_iter().flatten() {
        if let Some(Value::String(text)) = block.get_mut("text") {
            *text = drift_text(text, is_structured, &renamed);
        }
    }
}

/// The text with other types: JSON as structured content, plain text with the values that it repeats, or as a member of an
/// object where nothing else could change.
fn drift_text(text: &str, is_structured: bool, renamed: &[(String, String)]) -> String {
    match serde_json::from_str::<Value>(text) {
        Ok(mut json) if has_values(&json) => {
            retype_all(&mut json, &mut Vec::new());
            let is_indented = text.trim().contains('\n');
            let written = if is_indented { serde_json::to_string_pretty(&json) } else { serde_json::to_string(&json) };
            written.unwrap_or_default()
        }
        _ if is_structured => replace_words(text, renamed),
        _ => json!({ "text": text }).to_string(),
    }
}

fn has_values(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Object(members) => !members.is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Bool(_) | Value::Number(_) | Value::String(_) => true,
    }
}

/// Gives all values other types; an object keeps its members, and the values of these change. Notes how each was written
/// before, and is written now.
fn retype_all(value: &mut Value, renamed: &mut Vec<(String, String)>) {
    match value {
        Value::Object(members) if !members.is_empty() => {
            for member in members.values_mut() {
                retype_all(member, renamed);
            }
        }
        Value::Array(items) => {
            for item in items.iter_mut() {
                retype_all(item, renamed);
            }
            *value = retype(value);
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => {
            let new = retype(value);
            let written = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            if !written.is_empty() && !value.is_null() && renamed.len() < MOST_REPEATED {
                renamed.push((written, new.to_string()));
            }
            *value = new;
        }
    }
}

/// Replaces what stands as words of its own, each once.
fn replace_words(text: &str, renamed: &[(String, String)]) -> String {
    let (mut replaced, mut rest) = (String::new(), text);
    let mut before = None;
    while let Some(next) = rest.chars().next() {
        let found = renamed.iter().find(|(old, _)| rest.starts_with(old.as_str()) && stands_alone(old, before, rest));
        let length = if let Some((old, new)) = found {
            replaced.push_str(new);
            old.len()
        } else {
            replaced.push(next);
            next.len_utf8()
        };
        before = rest[..length].chars().next_back();
        rest = &rest[length..];
    }
    replaced
}

/// No letter or digit goes on before the word or behind it.
fn stands_alone(word: &str, before: Option<char>, rest: &str) -> bool {
    let joins = |one: Option<char>, other: Option<char>| {
        one.is_some_and(char::is_alphanumeric) && other.is_some_and(char::is_alphanumeric)
    };
    !joins(before, word.chars().next()) && !joins(word.chars().next_back(), rest[word.len()..].chars().next())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_have_other_types_wherever_a_client_or_a_model_reads_them() {
        let text = |text: &str| json!({ "content": [{ "type": "text", "text": text }] });
        let both = |structured: Value, text: &str| json!({ "content": [{ "type": "text", "text": text }], "structuredContent": structured });
        for (result, expected) in [
            (both(json!({"sum": 5}), r#"{"sum":5}"#), both(json!({"sum": "5"}), r#"{"sum":"5"}"#)),
            (
                both(json!({"name": "Ann", "orders": 31}), "Ann has 31 orders, Anna 3"),
                both(json!({"name": 3, "orders": "31"}), r#"3 has "31" orders, Anna 3"#),
            ),
            (both(json!({"sum": 5}), "Done."), both(json!({"sum": "5"}), "Done.")),
            (both(json!({"users": [{"id": "u1"}]}), "u1"), both(json!({"users": {"items": [{"id": 2}]}}), "2")),
            // One after the other, "1" would become "2", and that again "3".
            (both(json!({"a": "x", "b": 1}), "x, 1"), both(json!({"a": 1, "b": "1"}), r#"1, "1""#)),
            (text(r#"{"sum":5}"#), text(r#"{"sum":"5"}"#)),
            (text("{\n  \"sum\": 5\n}"), text("{\n  \"sum\": \"5\"\n}")),
            (text("[1,2]"), text(r#"{"items":["1","2"]}"#)),
            (text("5"), text("\"5\"")),
            (text("The sum is 5."), text(r#"{"text":"The sum is 5."}"#)),
            (both(json!({}), "Done."), both(json!({}), r#"{"text":"Done."}"#)),
            (
                json!({ "content": [{ "type": "image", "data": "" }] }),
                json!({ "content": [{ "type": "image", "data": "" }] }),
            ),
            (json!({ "content": [] }), json!({ "content": [] })),
        ] {
            let mut drifted = result.clone();
            drift_result(&mut drifted);
            assert_eq!(drifted, expected, "{result}");
        }
    }
}
