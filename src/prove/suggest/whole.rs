//! One expectation of everything in an answer that would be the same the next time.

use serde_json::{Map, Value, json};

use super::answer::ExchangeAnswerKind;
use super::candidate::{CandidateExpectation, SuggestionContext};
use super::values::confidence_at;
use crate::path::{DottedPath, PathStep, json_of_text};
use crate::reproduce::{Confidence, lasts};

/// The most characters that are expected at once.
const LONGEST: usize = 600;

/// The structured content of an answer, or the JSON that its only text is, as far as it lasts.
pub(crate) fn whole(context: &SuggestionContext<'_>) -> impl Iterator<Item = CandidateExpectation> {
    content(context).into_iter().filter_map(|(path, content)| {
        let kept = kept(context, &path, &content)?;
        let value = context.pin(&kept).filter(|value| value.to_string().len() <= LONGEST)?;
        let matcher = if kept == content { "equals" } else { "includes" };
        let item = json!({"at": path.to_string(), matcher: value});
        Some(CandidateExpectation::new(item, "the answer", "answer with other values"))
    })
}

/// The values of an answer, with the path to them.
fn content(context: &SuggestionContext<'_>) -> Option<(DottedPath, Value)> {
    if context.healthy.kind() != ExchangeAnswerKind::Served || !context.is_call() {
        return None;
    }
    let result = &context.healthy.message["result"];
    let member = |name: &str| PathStep::Member(name.to_owned());
    if result["structuredContent"].is_object() {
        let steps = vec![member("result"), member("structuredContent")];
        return Some((DottedPath { steps }, result["structuredContent"].clone()));
    }
    let [block] = result["content"].as_array()?.as_slice() else { return None };
    let steps = vec![member("result"), member("content"), PathStep::Index(0), member("text"), PathStep::Json];
    Some((DottedPath { steps }, json_of_text(block["text"].as_str()?)?))
}

/// The part of a value that lasts: members of objects one by one, lists as a whole.
fn kept(context: &SuggestionContext<'_>, path: &DottedPath, value: &Value) -> Option<Value> {
    if let Value::Object(members) = value {
        let kept = members.iter().filter_map(|(name, value)| {
            let within = path.then(PathStep::Member(name.clone()));
            Some((name.clone(), kept(context, &within, value)?))
        });
        let kept: Map<String, Value> = kept.collect();
        return (!kept.is_empty() || members.is_empty()).then(|| kept.into());
    }
    let name = path.names().next_back().unwrap_or_default().to_owned();
    let named = Map::from_iter([(name, value.clone())]).into();
    (is_firm(context, path, value) && lasts(&named)).then(|| value.clone())
}

/// All of a value comes back, whatever was done before.
fn is_firm(context: &SuggestionContext<'_>, path: &DottedPath, value: &Value) -> bool {
    match value {
        Value::Array(items) => {
            // The number of items may depend on earlier calls.
            !context.writes
                && items.iter().enumerate().all(|(at, item)| is_firm(context, &path.then(PathStep::item(at)), item))
        }
        Value::Object(members) => {
            members.iter().all(|(name, value)| is_firm(context, &path.then(PathStep::Member(name.clone())), value))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            confidence_at(context, path, value) == Confidence::High
        }
    }
}
