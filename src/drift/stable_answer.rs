//! The part of an answer that is the same from call to call, without times, ids and values that differed between two calls.

use std::sync::LazyLock;

use regex::Regex;
use serde_json::{Map, Value, json};

use super::{RecordedAnswer, RecordedOutcome};
use crate::schema::token;
use crate::wire::read_json;

/// The longest text that is kept whole.
const LONGEST: usize = 2_000;

/// Placeholder for a text that differs from call to call.
const VOLATILE: &str = "<differs>";

/// The outcome and the stable content of an answer; `None` where the message is no answer.
pub fn stable_answer(message: &Value) -> Option<(RecordedOutcome, Value)> {
    if let Some(error) = message.get("error") {
        return Some((
            RecordedOutcome::Refused,
            stable_value(&json!({"code": error["code"], "message": error["message"]})),
        ));
    }
    let result = message.get("result")?.as_object()?;
    let outcome = if result.get("isError") == Some(&Value::Bool(true)) {
        RecordedOutcome::ToolError
    } else {
        RecordedOutcome::Served
    };
    let kept = result.iter().filter(|(key, _)| !matches!(key.as_str(), "_meta" | "isError"));
    let kept = kept.map(|(key, value)| (key.clone(), value.clone())).collect();
    let mut content = stable_value(&Value::Object(kept));
    mark_repeated_text(&mut content);
    Some((outcome, content))
}

/// Marks a text that repeats the structured content for older clients, so that a change in both is one change.
fn mark_repeated_text(content: &mut Value) {
    let Some(structured) = content.get("structuredContent").cloned() else { return };
    for block in content["content"].as_array_mut().into_iter().flatten() {
        if block.get("json") == Some(&structured) {
            block["json"] = TWIN.into();
        }
    }
}

/// The answer with its texts spelled out that repeat the structured content, where the same text of another does not.
pub(crate) fn spelled_out(answer: &RecordedAnswer, other: &RecordedAnswer) -> RecordedAnswer {
    let mut whole = answer.clone();
    let structured = &answer.told["structuredContent"];
    let blocks = whole.told.get_mut("content").and_then(Value::as_array_mut);
    for (place, block) in blocks.into_iter().flatten().enumerate() {
        if block.get("json") != Some(&json!(TWIN)) || other.told["content"][place].get("json") == Some(&json!(TWIN)) {
            continue;
        }
        block["json"] = structured.clone();
        let below = answer.volatile.iter().filter_map(|pointer| pointer.strip_prefix("/structuredContent"));
        whole.volatile.extend(below.map(|below| format!("/content/{place}/json{below}")));
    }
    whole
}

/// One recorded answer of two that were given to the same call; `None` where they have nothing in common.
pub fn mask_differences(
    call: (&str, &Value),
    first: (RecordedOutcome, Value),
    second: &(RecordedOutcome, Value),
) -> Option<RecordedAnswer> {
    let (outcome, mut content) = first;
    if outcome != second.0 {
        return None;
    }
    let mut volatile = Vec::new();
    mask(&mut content, &second.1, "", &mut volatile);
    Some(RecordedAnswer { tool: call.0.to_owned(), arguments: call.1.clone(), outcome, told: content, volatile })
}

/// Placeholder for a text that repeats the structured content.
const TWIN: &str = "<structuredContent>";

fn mask(first: &mut Value, second: &Value, at: &str, volatile: &mut Vec<String>) {
    if first == second {
        return;
    }
    match (&mut *first, second) {
        (Value::Object(fields), Value::Object(others)) => {
            for (name, value) in fields.iter_mut() {
                let at = format!("{at}/{}", token(name));
                mask(value, others.get(name).unwrap_or(&Value::Null), &at, volatile);
            }
            for name in others.keys().filter(|name| !fields.contains_key(*name)).cloned().collect::<Vec<_>>() {
                volatile.push(format!("{at}/{}", token(&name)));
                fields.insert(name, Value::Null);
            }
            return;
        }
        (Value::Array(items), Value::Array(others)) if items.len() == others.len() => {
            for (place, (item, other)) in items.iter_mut().zip(others).enumerate() {
                mask(item, other, &format!("{at}/{place}"), volatile);
            }
            return;
        }
        (Value::String(_), Value::String(_)) => *first = VOLATILE.into(),
        (Value::Number(_), Value::Number(_)) => *first = 0.into(),
        (Value::Bool(_), Value::Bool(_)) => *first = false.into(),
        _ => *first = Value::Null,
    }
    volatile.push(at.to_owned());
}

fn stable_value(value: &Value) -> Value {
    match value {
        Value::String(text) => stable_text(text).into(),
        Value::Array(items) => items.iter().map(stable_value).collect(),
        Value::Object(fields) => Value::Object(block(fields)),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

/// The text of a content block that is JSON is compared as JSON.
fn block(fields: &Map<String, Value>) -> Map<String, Value> {
    let written = fields.get("text").and_then(Value::as_str).filter(|_| fields.get("type") == Some(&json!("text")));
    let read = written.and_then(read_json);
    let read = read.filter(|value| value.is_object() || value.is_array());
    let mut steadied: Map<String, Value> =
        fields.iter().map(|(name, value)| (name.clone(), stable_value(value))).collect();
    if let Some(read) = read {
        steadied.shift_remove("text");
        steadied.insert("json".to_owned(), stable_value(&read));
    }
    steadied
}

/// Forms that differ from call to call, and what stands for them.
static FORMS: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
    let forms = [
        (r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?: ?Z| ?[+-]\d\d:?\d\d)?", "<time>"),
        (r"\b\d\d?:\d\d:\d\d(?:\.\d+)?\b", "<time>"),
        (r"(?i)\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b", "<uuid>"),
        (r"^(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day$", "<weekday>"),
    ];
    forms.into_iter().filter_map(|(form, stand_in)| Some((Regex::new(form).ok()?, stand_in))).collect()
});

fn stable_text(text: &str) -> String {
    if text.len() > LONGEST {
        let begin: String = text.chars().take(100).collect();
        // FNV-1a: the same on every system and for ever.
        let hash = text.bytes().fold(0x811c_9dc5, |hash: u32, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
        return format!("{begin}… {} characters, {hash:08x}", text.chars().count());
    }
    FORMS.iter().fold(text.to_owned(), |text, (form, stand_in)| form.replace_all(&text, *stand_in).into_owned())
}
