//! What can be expected of the notifications that come before an answer.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Value, json};

use super::candidate::{Candidate, Scene};
use super::difference::{Difference, Place, Step, differences};
use super::heard::Heard;
use super::trust::{Effect, Trust, likenesses, trust};

/// What can be expected where other notifications come.
pub(super) fn candidates(scene: &Scene<'_>) -> Vec<Candidate> {
    let mut found = Vec::new();
    for method in methods(scene.healthy).union(&methods(scene.changed)) {
        let (was, is) = (of(scene.healthy, method), of(scene.changed, method));
        if was.len() == is.len() {
            was.iter().zip(&is).for_each(|(one, other)| found.extend(contents(scene, method, (one, other))));
            continue;
        }
        let could = if is.len() < was.len() {
            format!("keep `{method}` to itself")
        } else {
            format!("send `{method}` more often than it should")
        };
        let count = json!({"notifications": {"method": method, "count": was.len()}});
        found.push(Candidate::new(count, method.as_str(), could.clone()));
        if !was.is_empty() && is.is_empty() {
            found.push(Candidate::new(json!({"notifications": {"method": method}}), method.as_str(), could));
        }
    }
    found
}

/// What differs in what a notification carries.
fn contents(scene: &Scene<'_>, method: &str, (one, other): (&Value, &Value)) -> Vec<Candidate> {
    let mut found = Vec::new();
    for Difference { place, healthy, .. } in differences(one, other) {
        let could = format!("send `{method}` with another `{}`", place.path());
        let mut push = |check: Value| {
            found.push(Candidate::new(json!({"notifications": check}), format!("{method}, {}", place.path()), &*could));
        };
        let at = place.path();
        let Some(value) = healthy else {
            push(json!({"method": method, "each": {"at": at, "exists": false}}));
            continue;
        };
        let is_plain = !value.is_object() && !value.is_array() && value.to_string().len() <= 100 && !is_token(&place);
        let comes_back = trust(&place, &value, Effect::Reads) != Trust::Volatile;
        if let Some(value) = scene.pinned(&value).filter(|_| is_plain && comes_back) {
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
fn is_token(place: &Place) -> bool {
    matches!(place.0.last(), Some(Step::Member(name)) if name == "progressToken")
}

fn methods(heard: &Heard) -> BTreeSet<String> {
    heard.notifications.iter().filter_map(|one| one["method"].as_str().map(str::to_owned)).collect()
}

fn of<'a>(heard: &'a Heard, method: &str) -> Vec<&'a Value> {
    heard.notifications.iter().map(Arc::as_ref).filter(|one| one["method"] == method).collect()
}
