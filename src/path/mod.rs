//! Where in a message a fault changes something: `result.tools[*].inputSchema.properties.*`.
//!
//! Like the paths of expectations, but for several places at once, and for members that are not there yet.
//! `[*]` is every item of a list, `[name=add]` each of its items with that member, `*` every member of an object, and
//! `json()` goes into JSON that stands in a text.

use std::borrow::Cow;
use std::fmt::{self, Display};

use serde_json::Value;

use crate::wire::ListKind;

/// A compiled path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MessagePath {
    steps: Vec<MessagePathStep>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum MessagePathStep {
    Member(String),
    Index(i64),
    Each,
    /// The items that have a member with this text.
    Where(String, String),
    Json,
}

impl MessagePath {
    /// Compiles a path; the sentence says what is wrong with it.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut steps = Vec::new();
        let mut rest = text;
        while !rest.is_empty() {
            let (step, after) = step(rest).ok_or_else(|| format!("`{text}` is no path: `{rest}` makes no sense"))?;
            steps.push(step);
            rest = match after.strip_prefix('.') {
                Some("") => return Err(format!("the path `{text}` ends with a dot")),
                Some(more) => more,
                None => after,
            };
        }
        if steps.is_empty() {
            return Err("the path is empty".to_owned());
        }
        Ok(Self { steps })
    }

    /// Whether the path is one of what notifications carry, rather than answers.
    pub fn is_of_notification(&self) -> bool {
        matches!(&self.steps[0], MessagePathStep::Member(name) if name == "params" || name == "method")
    }

    /// Whether the path may lead to several places.
    pub fn is_plural(&self) -> bool {
        self.steps.contains(&MessagePathStep::Each)
    }

    /// The places that the path leads to in a message, each as a path of its own; the last member may be missing.
    ///
    /// Entries of the lists of a server are named by their key instead of counted, so that the path holds on every page.
    pub(super) fn places(&self, message: &Value) -> Vec<Self> {
        let mut found = Vec::new();
        collect_places(&self.steps, message, &mut Vec::new(), &mut found);
        found
    }

    /// The values at and below the path, as wanted, each with its path; `into_json` also looks into JSON within texts.
    pub(super) fn below(
        &self,
        message: &Value,
        into_json: bool,
        is_wanted: &dyn Fn(&Value) -> bool,
    ) -> Vec<(Self, Value)> {
        let mut found = Vec::new();
        let steps = self.steps.clone();
        let below = Below { into_json, is_wanted };
        self.any(message, &mut |value| {
            below.collect(value, &mut steps.clone(), &mut found);
            false
        });
        found
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

    /// The entry of a list of the server that the path leads into.
    pub(super) fn entry(&self) -> Option<(ListKind, &str)> {
        let [MessagePathStep::Member(result), MessagePathStep::Member(list), MessagePathStep::Where(_, name), ..] =
            self.steps.as_slice()
        else {
            return None;
        };
        let kind = ListKind::ALL.into_iter().find(|kind| kind.member() == list)?;
        (result == "result").then_some((kind, name))
    }

    /// The path as a reader of the answer names it: below its entry of a list, or below its structured content; the
    /// same value in JSON within a text has the same name, and so has the value in each element of a list of data.
    pub(super) fn field(&self) -> String {
        let steps = self.steps.as_slice();
        let is = |at: usize, name: &str| matches!(&steps[at], MessagePathStep::Member(member) if member == name);
        let json = steps.iter().rposition(|step| *step == MessagePathStep::Json).map(|at| at + 1);
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
        let field = steps[from..].iter().map(|step| {
            if is_data && matches!(step, MessagePathStep::Index(_)) { MessagePathStep::Each } else { step.clone() }
        });
        written(&field.collect::<Vec<_>>())
    }

    /// Whether something at the path is as wanted, in a message of which each member is asked for.
    pub(super) fn any_of<'v>(
        &self,
        member: impl Fn(&str) -> Option<Cow<'v, Value>>,
        wanted: &mut dyn FnMut(&Value) -> bool,
    ) -> bool {
        let Some((MessagePathStep::Member(name), rest)) = self.steps.split_first() else { return false };
        member(name).is_some_and(|value| any(rest, &value, wanted))
    }

    /// Whether something at the path is as wanted.
    pub fn any(&self, value: &Value, wanted: &mut dyn FnMut(&Value) -> bool) -> bool {
        any(&self.steps, value, wanted)
    }

    /// Changes everything at the path.
    pub fn edit(&self, value: &mut Value, change: &mut dyn FnMut(&mut Value)) {
        edit(&self.steps, value, change);
    }

    /// Writes a value to the path; a member that is not there yet is made, the object that holds it is not.
    pub fn set(&self, value: &mut Value, new: &Value) {
        self.at_parents(value, &mut |parent, last| match (parent, last) {
            (Value::Object(members), MessagePathStep::Member(name)) => {
                members.insert(name.clone(), new.clone());
            }
            (parent, last) => edit(std::slice::from_ref(last), parent, &mut |found| *found = new.clone()),
        });
    }

    /// Takes everything at the path away.
    pub fn remove(&self, value: &mut Value) {
        self.at_parents(value, &mut |parent, last| match (parent, last) {
            (Value::Object(members), MessagePathStep::Member(name)) => drop(members.shift_remove(name)),
            (Value::Object(members), MessagePathStep::Each) => members.clear(),
            (Value::Array(items), MessagePathStep::Each) => items.clear(),
            (Value::Array(items), MessagePathStep::Index(index)) => {
                if let Some(at) = position(*index, items.len()) {
                    items.remove(at);
                }
            }
            (Value::Array(items), MessagePathStep::Where(name, text)) => items.retain(|item| item[name] != **text),
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
            if let (Value::Object(members), MessagePathStep::Member(name)) = (parent, last) {
                let renamed = std::mem::take(members).into_iter();
                *members =
                    renamed.map(|(key, value)| (if key == *name { new.to_owned() } else { key }, value)).collect();
            }
        });
    }

    fn at_parents(&self, value: &mut Value, change: &mut dyn FnMut(&mut Value, &MessagePathStep)) {
        if let Some((last, before)) = self.steps.split_last() {
            edit(before, value, &mut |parent| change(parent, last));
        }
    }
}

impl Display for MessagePath {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str(&written(&self.steps))
    }
}

fn written(steps: &[MessagePathStep]) -> String {
    let mut text = String::new();
    for step in steps {
        let dot = if text.is_empty() { "" } else { "." };
        let part = match step {
            MessagePathStep::Member(name) if name.contains(['.', '[', '(', ' ', '"']) => format!("[\"{name}\"]"),
            MessagePathStep::Member(name) => format!("{dot}{name}"),
            MessagePathStep::Index(index) => format!("[{index}]"),
            MessagePathStep::Each => "[*]".to_owned(),
            MessagePathStep::Where(name, value) => format!("[{name}={value}]"),
            MessagePathStep::Json => format!("{dot}json()"),
        };
        text.push_str(&part);
    }
    text
}

/// Follows a path step by step, and splits at every `*`.
fn collect_places(
    steps: &[MessagePathStep],
    value: &Value,
    before: &mut Vec<MessagePathStep>,
    found: &mut Vec<MessagePath>,
) {
    let Some((step, rest)) = steps.split_first() else {
        return found.push(MessagePath { steps: before.clone() });
    };
    let key = entry_key(before);
    let mut follow = |step: MessagePathStep, value: &Value, rest: &[MessagePathStep]| {
        before.push(step);
        collect_places(rest, value, before, found);
        before.pop();
    };
    match (step, value) {
        (MessagePathStep::Member(name), Value::Object(members)) => match members.get(name) {
            Some(member) => follow(step.clone(), member, rest),
            None if rest.is_empty() => follow(step.clone(), &Value::Null, rest),
            None => {}
        },
        (MessagePathStep::Index(index), Value::Array(items)) => {
            if let Some(at) = position(*index, items.len()) {
                follow(step.clone(), &items[at], rest);
            }
        }
        (MessagePathStep::Each, Value::Array(items)) => {
            for (at, item) in items.iter().enumerate() {
                follow(item_step(key, at, item), item, rest);
            }
        }
        (MessagePathStep::Each, Value::Object(members)) => {
            for (name, member) in members {
                follow(MessagePathStep::Member(name.clone()), member, rest);
            }
        }
        (MessagePathStep::Where(name, text), Value::Array(items)) => {
            if let Some(item) = items.iter().find(|item| item[name] == **text) {
                follow(step.clone(), item, rest);
            }
        }
        (MessagePathStep::Json, Value::String(text)) => {
            if let Ok(inner) = serde_json::from_str::<Value>(text) {
                follow(step.clone(), &inner, rest);
            }
        }
        _ => {}
    }
}

/// The member that names the entries of a list of the server, if that is where a path has come to.
fn entry_key(steps: &[MessagePathStep]) -> Option<&'static str> {
    let [MessagePathStep::Member(result), MessagePathStep::Member(list)] = steps else { return None };
    let kind = ListKind::ALL.into_iter().find(|kind| kind.member() == list && result == "result")?;
    Some(match kind {
        ListKind::Tools | ListKind::Prompts => "name",
        ListKind::Resources => "uri",
        ListKind::ResourceTemplates => "uriTemplate",
    })
}

fn item_step(key: Option<&str>, at: usize, item: &Value) -> MessagePathStep {
    let named = key.and_then(|key| Some(MessagePathStep::Where(key.to_owned(), item[key].as_str()?.to_owned())));
    named.unwrap_or_else(|| MessagePathStep::Index(i64::try_from(at).unwrap_or(i64::MAX)))
}

/// A search below a value.
struct Below<'a> {
    into_json: bool,
    is_wanted: &'a dyn Fn(&Value) -> bool,
}

impl Below<'_> {
    fn collect(&self, value: &Value, steps: &mut Vec<MessagePathStep>, found: &mut Vec<(MessagePath, Value)>) {
        let inner =
            || serde_json::from_str(value.as_str()?).ok().filter(|inner: &Value| inner.is_object() || inner.is_array());
        let mut follow = |step: MessagePathStep, value: &Value| {
            steps.push(step);
            self.collect(value, steps, found);
            steps.pop();
        };
        if let Some(inner) = self.into_json.then(inner).flatten() {
            return follow(MessagePathStep::Json, &inner);
        }
        if (self.is_wanted)(value) {
            return found.push((MessagePath { steps: steps.clone() }, value.clone()));
        }
        match value {
            Value::Array(items) => {
                for (at, item) in items.iter().enumerate() {
                    follow(item_step(None, at, item), item);
                }
            }
            Value::Object(members) => {
                for (name, member) in members {
                    follow(MessagePathStep::Member(name.clone()), member);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
}

fn any(steps: &[MessagePathStep], value: &Value, wanted: &mut dyn FnMut(&Value) -> bool) -> bool {
    let Some((step, rest)) = steps.split_first() else { return wanted(value) };
    match (step, value) {
        (MessagePathStep::Member(name), Value::Object(members)) => {
            members.get(name).is_some_and(|found| any(rest, found, wanted))
        }
        (MessagePathStep::Index(index), Value::Array(items)) => {
            position(*index, items.len()).is_some_and(|at| any(rest, &items[at], wanted))
        }
        (MessagePathStep::Each, Value::Array(items)) => items.iter().any(|item| any(rest, item, wanted)),
        (MessagePathStep::Each, Value::Object(members)) => members.values().any(|member| any(rest, member, wanted)),
        (MessagePathStep::Where(name, text), Value::Array(items)) => {
            items.iter().any(|item| item[name] == **text && any(rest, item, wanted))
        }
        (MessagePathStep::Json, Value::String(text)) => {
            serde_json::from_str(text).is_ok_and(|inner: Value| any(rest, &inner, wanted))
        }
        _ => false,
    }
}

fn edit(steps: &[MessagePathStep], value: &mut Value, change: &mut dyn FnMut(&mut Value)) {
    let Some((step, rest)) = steps.split_first() else { return change(value) };
    match (step, value) {
        (MessagePathStep::Member(name), Value::Object(members)) => {
            if let Some(found) = members.get_mut(name) {
                edit(rest, found, change);
            }
        }
        (MessagePathStep::Index(index), Value::Array(items)) => {
            if let Some(at) = position(*index, items.len()) {
                edit(rest, &mut items[at], change);
            }
        }
        (MessagePathStep::Each, Value::Array(items)) => items.iter_mut().for_each(|item| edit(rest, item, change)),
        (MessagePathStep::Each, Value::Object(members)) => {
            members.values_mut().for_each(|member| edit(rest, member, change));
        }
        (MessagePathStep::Where(name, text), Value::Array(items)) => {
            items.iter_mut().filter(|item| item[name] == **text).for_each(|item| edit(rest, item, change));
        }
        (MessagePathStep::Json, Value::String(text)) => {
            let Ok(before) = serde_json::from_str::<Value>(text) else { return };
            let mut after = before.clone();
            edit(rest, &mut after, change);
            if after != before {
                *text = after.to_string();
            }
        }
        _ => {}
    }
}

/// Where an index leads that may count from the end.
fn position(index: i64, length: usize) -> Option<usize> {
    let length = i64::try_from(length).ok()?;
    let at = if index < 0 { index.saturating_add(length) } else { index };
    if at < length { usize::try_from(at).ok() } else { None }
}

/// The first step of a path, and what follows it.
fn step(text: &str) -> Option<(MessagePathStep, &str)> {
    if let Some(inner) = text.strip_prefix("[\"") {
        let (name, rest) = inner.split_once("\"]")?;
        return Some((MessagePathStep::Member(name.to_owned()), rest));
    }
    if let Some(inner) = text.strip_prefix('[') {
        let (index, rest) = inner.split_once(']')?;
        let step = match index.split_once('=') {
            Some((name, text)) => MessagePathStep::Where(name.to_owned(), text.to_owned()),
            None if index == "*" => MessagePathStep::Each,
            None => MessagePathStep::Index(index.parse().ok()?),
        };
        return Some((step, rest));
    }
    let (name, rest) = text.split_at(text.find(['.', '[']).unwrap_or(text.len()));
    match name {
        "" | "$" => None,
        "*" => Some((MessagePathStep::Each, rest)),
        "json()" => Some((MessagePathStep::Json, rest)),
        _ if name.contains(['(', ')', ']', '"', '\'', ' ', '*']) => None,
        _ => Some((MessagePathStep::Member(name.to_owned()), rest)),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn paths_lead_to_several_places() {
        let check = |path: &str, expected: Value| {
            let mut value = json!({"a": [{"b": 1}, {"b": 2}], "c": {"x.y": "{\"d\":[1,2]}"}});
            MessagePath::parse(path).unwrap().edit(&mut value, &mut |found| *found = json!(0));
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
        let place = |path: &str| MessagePath::parse(path).unwrap();
        check(&|value| place("a[*].d").set(value, &json!(3)), json!({"a": [{"b": 1, "c": 2, "d": 3}]}));
        check(&|value| place("e.f").set(value, &json!(3)), json!({"a": [{"b": 1, "c": 2}]}));
        check(&|value| place("a[*].b").remove(value), json!({"a": [{"c": 2}]}));
        check(&|value| place("a[0]").remove(value), json!({"a": []}));
        check(&|value| place("a[0].b").rename(value, "x"), json!({"a": [{"x": 1, "c": 2}]}));
    }

    #[test]
    fn what_is_no_path() {
        for wrong in ["", "a.", "a..b", "a[x]", "a[", "a b", "$.a", "a.text()"] {
            assert!(MessagePath::parse(wrong).is_err(), "{wrong}");
        }
    }
}
