//! Expectations of the notifications that come before an answer.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Value, json};

use super::answer::ExchangeAnswer;
use super::answer_path::{Difference, differences};
use super::candidate::{CandidateExpectation, SuggestionContext};
use crate::path::{DottedPath, PathStep};
use crate::reproduce::{CallEffect, Confidence, confidence, likenesses};

pub(crate) fn candidates(context: &SuggestionContext<'_>) -> Vec<CandidateExpectation> {
    let mut found = Vec::new();
    for method in methods(context.healthy).union(&methods(context.changed)) {
        let (was, is) = (of(context.healthy, method), of(context.changed, method));
        if was.len() == is.len() {
            was.iter().zip(&is).for_each(|(one, other)| found.extend(contents(context, method, one, other)));
            continue;
        }
        let could = if is.len() < was.len() {
            format!("keep `{method}` to itself")
        } else {
            format!("send `{method}` more often than it should")
        };
        let count = json!({"notifications": {"method": method, "count": was.len()}});
        found.push(CandidateExpectation::new(count, method.as_str(), could.clone()));
        if !was.is_empty() && is.is_empty() {
            found.push(CandidateExpectation::new(json!({"notifications": {"method": method}}), method.as_str(), could));
        }
    }
    found
}

/// Expectations of a notification whose contents differ.
fn contents(context: &SuggestionContext<'_>, method: &str, one: &Value, other: &Value) -> Vec<CandidateExpectation> {
    let mut found = Vec::new();
    for Difference { path, healthy, .. } in differences(one, other) {
        let could = format!("send `{method}` with another `{path}`");
        let mut push = |check: Value| {
            found.push(CandidateExpectation::new(
                json!({"notifications": check}),
                format!("{method}, {path}"),
                &*could,
            ));
        };
        let at = path.to_string();
        let Some(value) = healthy else {
            push(json!({"method": method, "each": {"at": at, "exists": false}}));
            continue;
        };
        let is_plain = !value.is_object() && !value.is_array() && value.to_string().len() <= 100 && !is_token(&path);
        let comes_back = confidence(&path, &value, CallEffect::Reads) != Confidence::Volatile;
        if let Some(value) = context.pin(&value).filter(|_| is_plain && comes_back) {
            push(json!({"method": method, "each": {"at": at, "equals": value}}));
            push(json!({"method": method, "some": {"at": at, "equals": value}}));
        }
        for (matcher, like) in likenesses(&value) {
            push(json!({"method": method, "each": {"at": at, matcher: like}}));
        }
    }
    found
}

/// Tokens are those of the request, which differ each time.
fn is_token(path: &DottedPath) -> bool {
    matches!(path.steps.last(), Some(PathStep::Member(name)) if name == "progressToken")
}

fn methods(answer: &ExchangeAnswer) -> BTreeSet<String> {
    answer.notifications.iter().filter_map(|one| one["method"].as_str().map(str::to_owned)).collect()
}

fn of<'a>(answer: &'a ExchangeAnswer, method: &str) -> Vec<&'a Value> {
    answer.notifications.iter().map(Arc::as_ref).filter(|one| one["method"] == method).collect()
}
