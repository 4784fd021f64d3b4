//! Paths within a message: `result.tools[*].inputSchema.properties.*`.
//!
//! Names are separated by dots, or quoted in brackets; `[0]` and `[-1]` count items, `json()` goes into JSON that stands
//! in a text. Faults change several places at once: `[*]` is every item of a list, `[name=add]` each of its items with that
//! member, `*` every member of an object. Knows nothing about expectations and faults, which say what becomes of a value.

mod parse;
mod places;

use std::borrow::Cow;
use std::fmt::{self, Display};

use serde_json::Value;

pub use self::parse::no_index;

/// A compiled path.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DottedPath {
    pub steps: Vec<PathStep>,
}

/// A step from a value to one within.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PathStep {
    Member(String),
    /// An item; below zero, counted from the end.
    Index(i64),
    Each,
    /// The items that have a member with this text.
    Where(String, String),
    /// Into the JSON that a text holds.
    Json,
}

impl PathStep {
    /// The item at a place.
    pub fn item(at: usize) -> Self {
        Self::Index(i64::try_from(at).unwrap_or(i64::MAX))
    }

    /// The name of a member.
    pub fn name(&self) -> Option<&str> {
        if let Self::Member(name) = self { Some(name) } else { None }
    }
}

/// The object or list that a text spells.
pub fn json_of_text(text: &str) -> Option<Value> {
    if !text.trim_start().starts_with(['{', '[']) {
        return None;
    }
    serde_json::from_str(text).ok()
}

impl DottedPath {
    /// The path leads into notifications, not into answers.
    pub fn is_of_notification(&self) -> bool {
        matches!(&self.steps[0], PathStep::Member(name) if name == "params" || name == "method")
    }

    /// The path may lead to several places.
    pub fn is_plural(&self) -> bool {
        self.steps.contains(&PathStep::Each)
    }

    /// The path with one more step.
    #[must_use]
    pub fn then(&self, step: PathStep) -> Self {
        Self { steps: self.steps.iter().cloned().chain([step]).collect() }
    }

    /// The names on the way, innermost last.
    pub fn names(&self) -> impl DoubleEndedIterator<Item = &str> {
        self.steps.iter().filter_map(PathStep::name)
    }

    /// The value at the path, where it leads to one.
    pub fn find(&self, message: &Value) -> Option<Value> {
        let mut found = None;
        self.any(message, &mut |value| {
            found = Some(value.clone());
            true
        });
        found
    }

    /// A value at the path is as wanted, in a message whose members are asked for one by one.
    pub fn any_of<'v>(
        &self,
        member: impl Fn(&str) -> Option<Cow<'v, Value>>,
        wanted: &mut dyn FnMut(&Value) -> bool,
    ) -> bool {
        let Some((PathStep::Member(name), rest)) = self.steps.split_first() else { return false };
        member(name).is_some_and(|value| any(rest, &value, wanted))
    }

    /// A value at the path is as wanted.
    pub fn any(&self, value: &Value, wanted: &mut dyn FnMut(&Value) -> bool) -> bool {
        any(&self.steps, value, wanted)
    }

    /// Changes everything at the path; the answer says how much there was. JSON within a text is written back as text.
    pub fn edit(&self, value: &mut Value, change: &mut dyn FnMut(&mut Value)) -> usize {
        edit(&self.steps, value, change)
    }

    /// Writes a value to the path; a member that is not there yet is made, the object that holds it is not.
    pub fn set_at(&self, value: &mut Value, new: &Value) {
        self.at_parents(value, &mut |parent, last| match (parent, last) {
            (Value::Object(members), PathStep::Member(name)) => {
                members.insert(name.clone(), new.clone());
            }
            (parent, last) => {
                edit(std::slice::from_ref(last), parent, &mut |found| *found = new.clone());
            }
        });
    }

    /// Takes everything at the path away.
    pub fn remove(&self, value: &mut Value) {
        self.at_parents(value, &mut |parent, last| match (parent, last) {
            (Value::Object(members), PathStep::Member(name)) => drop(members.shift_remove(name)),
            (Value::Object(members), PathStep::Each) => members.clear(),
            (Value::Array(items), PathStep::Each) => items.clear(),
            (Value::Array(items), PathStep::Index(index)) => {
                if let Some(at) = position(*index, items.len()) {
                    items.remove(at);
                }
            }
            (Value::Array(items), PathStep::Where(name, text)) => items.retain(|item| item[name] != **text),
            _ => {}
        });
    }

    /// Adds an item to the lists at the path.
    pub fn push(&self, value: &mut Value, item: &Value) {
        self.edit(value, &mut |found| {
            if let Value::Array(items) = found {
                items.push(item.clone());
            }
        });
    }

    /// Gives the member at the path another name, at the same position.
    pub fn rename(&self, value: &mut Value, new: &str) {
        self.at_parents(value, &mut |parent, last| {
            if let (Value::Object(members), PathStep::Member(name)) = (parent, last) {
                let renamed = std::mem::take(members).into_iter();
                *members =
                    renamed.map(|(key, value)| (if key == *name { new.to_owned() } else { key }, value)).collect();
            }
        });
    }

    fn at_parents(&self, value: &mut Value, change: &mut dyn FnMut(&mut Value, &PathStep)) {
        if let Some((last, before)) = self.steps.split_last() {
            edit(before, value, &mut |parent| change(parent, last));
        }
    }
}

impl Display for DottedPath {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str(&format_path(&self.steps))
    }
}

/// A path as suites write it.
pub fn format_path(steps: &[PathStep]) -> String {
    let mut text = String::new();
    for step in steps {
        let dot = if text.is_empty() { "" } else { "." };
        let part = match step {
            PathStep::Member(name) if is_plain(name, text.is_empty()) => format!("{dot}{name}"),
            PathStep::Member(name) => format!("[{}]", Value::from(name.as_str())),
            PathStep::Index(index) => format!("[{index}]"),
            PathStep::Each => "[*]".to_owned(),
            PathStep::Where(name, value) => format!("[{name}={value}]"),
            PathStep::Json => format!("{dot}json()"),
        };
        text.push_str(&part);
    }
    text
}

/// A name needs no quotes; at the beginning of a text, `$` would make a JSONPath of it.
fn is_plain(name: &str, is_first: bool) -> bool {
    let is_odd = |c: char| ".[]()\"'*".contains(c) || c.is_whitespace() || c.is_control();
    !(name.is_empty() || name.contains(is_odd) || is_first && name.starts_with('$'))
}

fn any(steps: &[PathStep], value: &Value, wanted: &mut dyn FnMut(&Value) -> bool) -> bool {
    let Some((step, rest)) = steps.split_first() else { return wanted(value) };
    match (step, value) {
        (PathStep::Member(name), Value::Object(members)) => {
            members.get(name).is_some_and(|found| any(rest, found, wanted))
        }
        (PathStep::Index(index), Value::Array(items)) => {
            position(*index, items.len()).is_some_and(|at| any(rest, &items[at], wanted))
        }
        (PathStep::Each, Value::Array(items)) => items.iter().any(|item| any(rest, item, wanted)),
        (PathStep::Each, Value::Object(members)) => members.values().any(|member| any(rest, member, wanted)),
        (PathStep::Where(name, text), Value::Array(items)) => {
            items.iter().any(|item| item[name] == **text && any(rest, item, wanted))
        }
        (PathStep::Json, Value::String(text)) => {
            serde_json::from_str(text).is_ok_and(|inner: Value| any(rest, &inner, wanted))
        }
        _ => false,
    }
}

fn edit(steps: &[PathStep], value: &mut Value, change: &mut dyn FnMut(&mut Value)) -> usize {
    let Some((step, rest)) = steps.split_first() else {
        change(value);
        return 1;
    };
    let mut each = |found: &mut Value| edit(rest, found, change);
    match (step, value) {
        (PathStep::Member(name), Value::Object(members)) => members.get_mut(name).map_or(0, each),
        (PathStep::Index(index), Value::Array(items)) => {
            let at = position(*index, items.len());
            at.map_or(0, |at| each(&mut items[at]))
        }
        (PathStep::Each, Value::Array(items)) => items.iter_mut().map(each).sum(),
        (PathStep::Each, Value::Object(members)) => members.values_mut().map(each).sum(),
        (PathStep::Where(name, text), Value::Array(items)) => {
            items.iter_mut().filter(|item| item[name] == **text).map(each).sum()
        }
        (PathStep::Json, Value::String(text)) => {
            let Ok(before) = serde_json::from_str::<Value>(text) else { return 0 };
            let mut after = before.clone();
            let count = each(&mut after);
            if after != before {
                *text = after.to_string();
            }
            count
        }
        _ => 0,
    }
}

/// Resolves an index that may count from the end.
pub fn position(index: i64, length: usize) -> Option<usize> {
    let length = i64::try_from(length).ok()?;
    let at = if index < 0 { index.saturating_add(length) } else { index };
    if at < length { usize::try_from(at).ok() } else { None }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn paths_lead_to_several_places() {
        let check = |path: &str, expected: Value| {
            let mut value = json!({"a": [{"b": 1}, {"b": 2}], "c": {"x.y": "{\"d\":[1,2]}"}});
            DottedPath::parse(path).unwrap().edit(&mut value, &mut |found| *found = json!(0));
            assert_eq!(value, expected, "{path}");
        };
        let text = json!({"x.y": "{\"d\":[1,2]}"});
        check("a[*].b", json!({"a": [{"b": 0}, {"b": 0}], "c": text}));
        check("a[z=1].b", json!({"a": [{"b": 1}, {"b": 2}], "c": text}));
        check("c[\"x.y\"].json().e[k=v].b", json!({"a": [{"b": 1}, {"b": 2}], "c": text}));
        check("a[-1].b", json!({"a": [{"b": 1}, {"b": 0}], "c": text}));
        check("a[2].b", json!({"a": [{"b": 1}, {"b": 2}], "c": text}));
        check("a[0].*", json!({"a": [{"b": 0}, {"b": 2}], "c": text}));
        check("c[\"x.y\"].json().d[1]", json!({"a": [{"b": 1}, {"b": 2}], "c": {"x.y": "{\"d\":[1,0]}"}}));
        check("a.b", json!({"a": [{"b": 1}, {"b": 2}], "c": text}));
    }

    #[test]
    fn members_are_made_and_taken_away() {
        let check = |change: &dyn Fn(&mut Value), expected: Value| {
            let mut value = json!({"a": [{"b": 1, "c": 2}]});
            change(&mut value);
            assert_eq!(value, expected);
        };
        let place = |path: &str| DottedPath::parse(path).unwrap();
        check(&|value| place("a[*].d").set_at(value, &json!(3)), json!({"a": [{"b": 1, "c": 2, "d": 3}]}));
        check(&|value| place("e.f").set_at(value, &json!(3)), json!({"a": [{"b": 1, "c": 2}]}));
        check(&|value| place("a[*].b").remove(value), json!({"a": [{"c": 2}]}));
        check(&|value| place("a[0]").remove(value), json!({"a": []}));
        check(&|value| place("a[0].b").rename(value, "x"), json!({"a": [{"x": 1, "c": 2}]}));
    }
}
