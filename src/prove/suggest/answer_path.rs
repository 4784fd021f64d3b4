//! Differences between two values.

use serde_json::Value;

use crate::path::{DottedPath, PathStep, format_path, json_of_text};

/// The most differences that are looked at.
const MOST: usize = 48;

/// A path where two values are not the same.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Difference {
    pub(crate) path: DottedPath,
    /// The value of the server; `None` where only the changed answer has one.
    pub(crate) healthy: Option<Value>,
    /// The value of the mutant; `None` where it took it away.
    pub(crate) changed: Option<Value>,
}

/// A path in the fewest words that a person needs.
pub(crate) fn short(path: &DottedPath) -> String {
    let known = ["result", "structuredContent"];
    let is_known = |(step, known): &(&PathStep, &str)| matches!(step, PathStep::Member(name) if name == known);
    let skipped = path.steps.iter().zip(known).take_while(is_known).count();
    format_path(&path.steps[skipped.min(path.steps.len().saturating_sub(1))..])
}

/// The differences between two answers, outermost first.
pub(crate) fn differences(healthy: &Value, changed: &Value) -> Vec<Difference> {
    let mut found = Vec::new();
    part(&DottedPath::default(), healthy, changed, &mut found);
    found
}

fn part(path: &DottedPath, healthy: &Value, changed: &Value, found: &mut Vec<Difference>) {
    if healthy == changed || found.len() >= MOST {
        return;
    }
    let whole = || Difference { path: path.clone(), healthy: Some(healthy.clone()), changed: Some(changed.clone()) };
    match (healthy, changed) {
        (Value::Object(one), Value::Object(other)) => {
            for (name, value) in one {
                let path = path.then(PathStep::Member(name.clone()));
                match other.get(name) {
                    Some(new) => part(&path, value, new, found),
                    None => found.push(Difference { path, healthy: Some(value.clone()), changed: None }),
                }
            }
            for (name, value) in other.iter().filter(|(name, _)| !one.contains_key(*name)) {
                let path = path.then(PathStep::Member(name.clone()));
                found.push(Difference { path, healthy: None, changed: Some(value.clone()) });
            }
        }
        (Value::Array(one), Value::Array(other)) => {
            if one.len() != other.len() {
                found.push(whole());
            }
            for (at, (value, new)) in one.iter().zip(other).enumerate() {
                part(&path.then(PathStep::item(at)), value, new, found);
            }
        }
        (Value::String(one), Value::String(other)) => {
            if let (Some(one), Some(other)) = (json_of_text(one), json_of_text(other)) {
                part(&path.then(PathStep::Json), &one, &other, found);
            }
            found.push(whole());
        }
        _ => found.push(whole()),
    }
}

/// Every text, number and the like within a value, with its path.
pub(crate) fn scalars(value: &Value) -> Vec<(DottedPath, Value)> {
    let mut found = Vec::new();
    collect(&DottedPath::default(), value, &mut found);
    found
}

fn collect(path: &DottedPath, value: &Value, found: &mut Vec<(DottedPath, Value)>) {
    match value {
        Value::Object(members) => {
            members.iter().for_each(|(name, value)| collect(&path.then(PathStep::Member(name.clone())), value, found));
        }
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(at, value)| collect(&path.then(PathStep::item(at)), value, found));
        }
        Value::String(text) => match json_of_text(text) {
            Some(inner) => collect(&path.then(PathStep::Json), &inner, found),
            None => found.push((path.clone(), value.clone())),
        },
        Value::Null | Value::Bool(_) | Value::Number(_) => found.push((path.clone(), value.clone())),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn places_can_be_looked_up() {
        let check = |healthy: Value, changed: Value, expected: &[&str]| {
            let found = differences(&healthy, &changed);
            let paths: Vec<String> = found.iter().map(|difference| difference.path.to_string()).collect();
            assert_eq!(paths, expected);
            for difference in &found {
                let path = crate::matching::ValuePath::parse(&difference.path.to_string()).unwrap();
                let seen = difference.healthy.as_ref().map_or(&changed, |_| &healthy);
                let value = difference.healthy.as_ref().or(difference.changed.as_ref());
                assert_eq!(path.find(seen).ok().as_deref(), value, "{}", difference.path);
            }
        };
        check(json!({"a": {"b": 1}}), json!({"a": {"b": 2}}), &["a.b"]);
        check(json!({"a": 1}), json!({"b": 1}), &["a", "b"]);
        check(json!({"a": [1, 2]}), json!({"a": [3]}), &["a", "a[0]"]);
        check(json!({"a": "{\"b\":1}"}), json!({"a": "{\"b\":2}"}), &["a.json().b", "a"]);
        check(json!({"x.y": {"it's \"q\"": 1}}), json!({"x.y": {}}), &[r#"["x.y"]["it's \"q\""]"#]);
        check(json!({"a": 1}), json!({"a": 1}), &[]);
    }
}
