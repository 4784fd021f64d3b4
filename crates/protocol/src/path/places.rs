//! The places that a path leads to, each as a path of its own, and what a place is called.

use serde_json::Value;

use super::{DottedPath, PathStep, format_path, position};
use crate::wire::ListKind;

impl DottedPath {
    /// The places that the path leads to in a message, each as a path of its own; the last member may be missing.
    ///
    /// Entries of the lists of a server are named by their key instead of counted, so that the path holds on every page.
    pub fn places(&self, message: &Value) -> Vec<Self> {
        let mut found = Vec::new();
        collect_places(&self.steps, message, &mut Vec::new(), &mut found);
        found
    }

    /// The values at and below the path, as wanted, each with its path; `into_json` also looks into JSON within texts.
    pub fn below(&self, message: &Value, into_json: bool, is_wanted: &dyn Fn(&Value) -> bool) -> Vec<(Self, Value)> {
        let mut found = Vec::new();
        let steps = self.steps.clone();
        let below = Below { into_json, is_wanted };
        self.any(message, &mut |value| {
            below.collect(value, &mut steps.clone(), &mut found);
            false
        });
        found
    }

    /// The entry of a list of the server that the path leads into.
    pub fn entry(&self) -> Option<(ListKind, &str)> {
        let [PathStep::Member(result), PathStep::Member(list), PathStep::Where(_, name), ..] = self.steps.as_slice()
        else {
            return None;
        };
        let kind = ListKind::ALL.into_iter().find(|kind| kind.member() == list)?;
        (result == "result").then_some((kind, name))
    }

    /// The path as a reader of the answer names it: below its entry of a list, or below its structured content; the
    /// same value in JSON within a text has the same name, and so has the value in each element of a list of data.
    pub fn field(&self) -> String {
        let steps = self.steps.as_slice();
        let is = |at: usize, name: &str| matches!(&steps[at], PathStep::Member(member) if member == name);
        let json = steps.iter().rposition(|step| *step == PathStep::Json).map(|at| at + 1);
        let from = match steps.len() {
            length if self.entry().is_some() && length > 3 => 3,
            _ if self.entry().is_some() => return String::new(),
            length if json.is_some_and(|json| json < length) => json.unwrap_or_default(),
            length if length > 2 && is(0, "result") && is(1, "structuredContent") => 2,
            length if length > 1 && is(0, "result") => 1,
            _ => 0,
        };
        let is_data = json.is_some() || from == 2;
        // A fault of a field is one of each element of a list.
        let field = steps[from..]
            .iter()
            .map(|step| if is_data && matches!(step, PathStep::Index(_)) { PathStep::Each } else { step.clone() });
        format_path(&field.collect::<Vec<_>>())
    }
}

/// Follows a path step by step, and splits at every `*`.
fn collect_places(steps: &[PathStep], value: &Value, before: &mut Vec<PathStep>, found: &mut Vec<DottedPath>) {
    let Some((step, rest)) = steps.split_first() else {
        return found.push(DottedPath { steps: before.clone() });
    };
    let key = entry_key(before);
    let mut follow = |step: PathStep, value: &Value, rest: &[PathStep]| {
        before.push(step);
        collect_places(rest, value, before, found);
        before.pop();
    };
    match (step, value) {
        (PathStep::Member(name), Value::Object(members)) => match members.get(name) {
            Some(member) => follow(step.clone(), member, rest),
            None if rest.is_empty() => follow(step.clone(), &Value::Null, rest),
            None => {}
        },
        (PathStep::Index(index), Value::Array(items)) => {
            if let Some(at) = position(*index, items.len()) {
                follow(step.clone(), &items[at], rest);
            }
        }
        (PathStep::Each, Value::Array(items)) => {
            for (at, item) in items.iter().enumerate() {
                follow(item_step(key, at, item), item, rest);
            }
        }
        (PathStep::Each, Value::Object(members)) => {
            for (name, member) in members {
                follow(PathStep::Member(name.clone()), member, rest);
            }
        }
        (PathStep::Where(name, text), Value::Array(items)) => {
            if let Some(item) = items.iter().find(|item| item[name] == **text) {
                follow(step.clone(), item, rest);
            }
        }
        (PathStep::Json, Value::String(text)) => {
            if let Ok(inner) = serde_json::from_str::<Value>(text) {
                follow(step.clone(), &inner, rest);
            }
        }
        _ => {}
    }
}

/// The member that names the entries of a list of the server, if that is where a path has come to.
fn entry_key(steps: &[PathStep]) -> Option<&'static str> {
    let [PathStep::Member(result), PathStep::Member(list)] = steps else { return None };
    let kind = ListKind::ALL.into_iter().find(|kind| kind.member() == list && result == "result")?;
    Some(match kind {
        ListKind::Tools | ListKind::Prompts => "name",
        ListKind::Resources => "uri",
        ListKind::ResourceTemplates => "uriTemplate",
    })
}

fn item_step(key: Option<&str>, at: usize, item: &Value) -> PathStep {
    let named = key.and_then(|key| Some(PathStep::Where(key.to_owned(), item[key].as_str()?.to_owned())));
    named.unwrap_or_else(|| PathStep::item(at))
}

/// A search below a value.
struct Below<'a> {
    into_json: bool,
    is_wanted: &'a dyn Fn(&Value) -> bool,
}

impl Below<'_> {
    fn collect(&self, value: &Value, steps: &mut Vec<PathStep>, found: &mut Vec<(DottedPath, Value)>) {
        let inner =
            || serde_json::from_str(value.as_str()?).ok().filter(|inner: &Value| inner.is_object() || inner.is_array());
        let mut follow = |step: PathStep, value: &Value| {
            steps.push(step);
            self.collect(value, steps, found);
            steps.pop();
        };
        if let Some(inner) = self.into_json.then(inner).flatten() {
            return follow(PathStep::Json, &inner);
        }
        if (self.is_wanted)(value) {
            return found.push((DottedPath { steps: steps.clone() }, value.clone()));
        }
        match value {
            Value::Array(items) => {
                for (at, item) in items.iter().enumerate() {
                    follow(PathStep::item(at), item);
                }
            }
            Value::Object(members) => {
                for (name, member) in members {
                    follow(PathStep::Member(name.clone()), member);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
}
