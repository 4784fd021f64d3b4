//! Where two values part, and how such a path is written in a suite.

use std::fmt::Write as _;

use serde_json::Value;

/// The most differences that are looked at.
const MOST: usize = 48;

/// A step from a value to one within.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum AnswerPathStep {
    Member(String),
    Index(usize),
    /// Into the JSON that a text holds.
    Json,
}

/// A path within an answer.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct AnswerPath(pub(super) Vec<AnswerPathStep>);

/// A path where two values are not the same.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Difference {
    pub(super) path: AnswerPath,
    /// What the server said; `None` where only the changed answer has something.
    pub(super) healthy: Option<Value>,
    /// What the mutant made of it; `None` where it took it away.
    pub(super) changed: Option<Value>,
}

impl AnswerPath {
    pub(super) fn then(&self, step: AnswerPathStep) -> Self {
        Self(self.0.iter().cloned().chain([step]).collect())
    }

    /// What is there.
    pub(super) fn of(&self, value: &Value) -> Option<Value> {
        self.0.iter().try_fold(value.clone(), |value, step| match step {
            AnswerPathStep::Member(name) => value.get(name).cloned(),
            AnswerPathStep::Index(at) => value.get(at).cloned(),
            AnswerPathStep::Json => value.as_str().and_then(inner),
        })
    }

    /// The path as `at:` takes it.
    pub(super) fn text(&self) -> String {
        let mut path = String::new();
        for step in &self.0 {
            match step {
                AnswerPathStep::Index(index) => {
                    let _ = write!(path, "[{index}]");
                }
                AnswerPathStep::Json => path += ".json()",
                AnswerPathStep::Member(name) if is_plain(name) => {
                    let dot = if path.is_empty() { "" } else { "." };
                    let _ = write!(path, "{dot}{name}");
                }
                AnswerPathStep::Member(name) => {
                    let _ = write!(path, "[{}]", Value::from(name.as_str()));
                }
            }
        }
        path
    }

    /// The path in the fewest words that a person needs.
    pub(super) fn short(&self) -> String {
        let known = ["result", "structuredContent"];
        let skipped = self
            .0
            .iter()
            .zip(known)
            .take_while(|(step, known)| matches!(step, AnswerPathStep::Member(n) if n == known));
        let skipped = skipped.count().min(self.0.len().saturating_sub(1));
        Self(self.0[skipped..].to_vec()).text()
    }

    /// The names on the way, innermost last.
    pub(super) fn names(&self) -> impl DoubleEndedIterator<Item = &str> {
        self.0
            .iter()
            .filter_map(|step| if let AnswerPathStep::Member(name) = step { Some(name.as_str()) } else { None })
    }
}

fn is_plain(name: &str) -> bool {
    let is_odd = |c: char| ".[]()\"'$*".contains(c) || c.is_whitespace() || c.is_control();
    !name.is_empty() && !name.contains(is_odd)
}

/// Where two answers part, outermost first.
pub(super) fn differences(healthy: &Value, changed: &Value) -> Vec<Difference> {
    let mut found = Vec::new();
    part(&AnswerPath::default(), healthy, changed, &mut found);
    found
}

fn part(path: &AnswerPath, healthy: &Value, changed: &Value, found: &mut Vec<Difference>) {
    if healthy == changed || found.len() >= MOST {
        return;
    }
    let whole = || Difference { path: path.clone(), healthy: Some(healthy.clone()), changed: Some(changed.clone()) };
    match (healthy, changed) {
        (Value::Object(one), Value::Object(other)) => {
            for (name, value) in one {
                let path = path.then(AnswerPathStep::Member(name.clone()));
                match other.get(name) {
                    Some(new) => part(&path, value, new, found),
                    None => found.push(Difference { path, healthy: Some(value.clone()), changed: None }),
                }
            }
            for (name, value) in other.iter().filter(|(name, _)| !one.contains_key(*name)) {
                let path = path.then(AnswerPathStep::Member(name.clone()));
                found.push(Difference { path, healthy: None, changed: Some(value.clone()) });
            }
        }
        (Value::Array(one), Value::Array(other)) => {
            if one.len() != other.len() {
                found.push(whole());
            }
            for (at, (value, new)) in one.iter().zip(other).enumerate() {
                part(&path.then(AnswerPathStep::Index(at)), value, new, found);
            }
        }
        (Value::String(one), Value::String(other)) => {
            if let (Some(one), Some(other)) = (inner(one), inner(other)) {
                part(&path.then(AnswerPathStep::Json), &one, &other, found);
            }
            found.push(whole());
        }
        _ => found.push(whole()),
    }
}

/// The object or list that a text spells.
pub(super) fn inner(text: &str) -> Option<Value> {
    if !text.trim_start().starts_with(['{', '[']) {
        return None;
    }
    serde_json::from_str(text).ok()
}

/// Every text, number and the like within a value, with its path.
pub(super) fn scalars(value: &Value) -> Vec<(AnswerPath, Value)> {
    let mut found = Vec::new();
    collect(&AnswerPath::default(), value, &mut found);
    found
}

fn collect(path: &AnswerPath, value: &Value, found: &mut Vec<(AnswerPath, Value)>) {
    match value {
        Value::Object(members) => {
            members
                .iter()
                .for_each(|(name, value)| collect(&path.then(AnswerPathStep::Member(name.clone())), value, found));
        }
        Value::Array(items) => {
            items
                .iter()
                .enumerate()
                .for_each(|(at, value)| collect(&path.then(AnswerPathStep::Index(at)), value, found));
        }
        Value::String(text) => match inner(text) {
            Some(inner) => collect(&path.then(AnswerPathStep::Json), &inner, found),
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
            let paths: Vec<String> = found.iter().map(|difference| difference.path.text()).collect();
            assert_eq!(paths, expected);
            for difference in &found {
                let path = crate::matching::ValuePath::parse(&difference.path.text()).unwrap();
                let seen = difference.healthy.as_ref().map_or(&changed, |_| &healthy);
                let value = difference.healthy.as_ref().or(difference.changed.as_ref());
                assert_eq!(path.find(seen).ok().as_deref(), value, "{}", difference.path.text());
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
