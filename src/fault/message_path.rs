//! Where in a message a fault changes something: `result.tools[*].inputSchema.properties.*`.
//!
//! Like the paths of expectations, but for several places at once, and for members that are not there yet.
//! `[*]` is every item of a list, `[name=add]` each of its items with that member, `*` every member of an object, and
//! `json()` goes into JSON that stands in a text.

use serde_json::Value;

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
