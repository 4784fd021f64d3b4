//! Two schemas in one spelling, walked side by side.

use serde_json::{Value, json};

use super::bounds::{BOUNDS, Effect, effect};
use super::canonical::{Keep, RECURSIVE, WORDS, canonical, is_of};
use super::union::branches;
use super::witness::counterexample;
use super::{Change, Direction};
use crate::drift::Level;

/// The most changes of one schema: beyond that it is another schema.
const MOST: usize = 200;

/// Keywords of which only equality is understood.
const OPAQUE: [&str; 14] = [
    "anyOf",
    "oneOf",
    "allOf",
    "not",
    "if",
    "then",
    "else",
    "contains",
    "unevaluatedItems",
    "unevaluatedProperties",
    "dependentSchemas",
    "$ref",
    "$dynamicRef",
    RECURSIVE,
];

/// Collects what has changed on the way.
pub(super) struct Walk {
    pub(super) direction: Direction,
    found: Vec<Change>,
}

impl Walk {
    pub(super) fn new(direction: Direction) -> Self {
        Self { direction, found: Vec::new() }
    }

    pub(super) fn finish(self) -> Vec<Change> {
        self.found
    }

    pub(super) fn push(&mut self, change: Change) {
        if self.found.len() < MOST {
            self.found.push(change);
        }
    }

    /// Compares two schemas at a place.
    pub(super) fn pair(&mut self, old: &Value, new: &Value, at: &str) {
        if old == new || self.found.len() >= MOST {
            return;
        }
        if old.is_boolean() || new.is_boolean() {
            let effect = if new.is_boolean() { Effect::Narrowed } else { Effect::Widened };
            let says = if new.is_boolean() { "nothing is allowed here any more" } else { "something is allowed here" };
            return self.told(effect, at, says, (old, new));
        }
        if let (Some(was), Some(is)) = (branches(old), branches(new))
            && was.len() + is.len() > 2
        {
            self.words(old, new, at);
            return self.union(&was, &is, at);
        }
        self.words(old, new, at);
        self.default(old, new, at);
        if self.types(old, new, at) {
            return;
        }
        self.choices(old, new, at);
        for bound in BOUNDS {
            if old.get(bound.keyword) != new.get(bound.keyword) {
                self.keyword(effect(bound, (old, new)), bound.keyword, at, (old, new));
            }
        }
        self.object(old, new, at);
        self.array(old, new, at);
        for keyword in OPAQUE {
            if meaning(old.get(keyword)) != meaning(new.get(keyword)) {
                self.keyword(Effect::Unclear, keyword, at, (old, new));
            }
        }
    }

    /// Tells of a keyword that differs; what the keyword alone changes is shown by example.
    pub(super) fn keyword(&mut self, effect: Effect, keyword: &str, at: &str, (old, new): (&Value, &Value)) {
        let [was, is] = [old, new].map(|schema| schema.get(keyword));
        let says = match (was, is) {
            (Some(was), Some(is)) => format!("`{keyword}` was {}, and is {}", short(was), short(is)),
            (None, Some(is)) => format!("`{keyword}` is new: {}", short(is)),
            (Some(was), None) => format!("`{keyword}` is gone; it was {}", short(was)),
            (None, None) => return,
        };
        let mut alone = old.clone();
        match (is, alone.as_object_mut()) {
            (Some(is), Some(alone)) => drop(alone.insert(keyword.to_owned(), is.clone())),
            (None, Some(alone)) => drop(alone.shift_remove(keyword)),
            (_, None) => {}
        }
        self.told(effect, at, says, (old, &alone));
        if let Some(last) = self.found.last_mut() {
            (last.before, last.after) = (was.cloned(), is.cloned());
        }
    }

    /// Tells of a change with that effect; `pair` holds what was and is allowed as far as it matters.
    pub(super) fn told(&mut self, effect: Effect, at: &str, says: impl Into<String>, pair: (&Value, &Value)) {
        let is_breaking = match (self.direction, effect) {
            (_, Effect::Unclear) | (Direction::Sent, Effect::Narrowed) | (Direction::Read, Effect::Widened) => true,
            (Direction::Sent, Effect::Widened) | (Direction::Read, Effect::Narrowed) => false,
        };
        let example = is_breaking.then(|| self.example(pair)).flatten();
        let level = if is_breaking { Level::Breaking } else { Level::Compatible };
        let what = match effect {
            Effect::Narrowed => "schema-narrowed",
            Effect::Widened => "schema-widened",
            Effect::Unclear => "schema-changed",
        };
        let mut says = says.into();
        if effect == Effect::Unclear && example.is_none() {
            says += ", which cannot be shown to be compatible";
        }
        let change = Change::new(level, what, at, says).with_values(Some(pair.0), Some(pair.1));
        self.push(Change { example, ..change });
    }

    /// A value that was good for callers and is not any more, or comes now and could not before.
    fn example(&self, (old, new): (&Value, &Value)) -> Option<Value> {
        match self.direction {
            Direction::Sent => counterexample(old, new),
            Direction::Read => counterexample(new, old),
        }
    }

    /// Gives the change that was told last its own name.
    pub(super) fn rename_last(&mut self, what: &'static str, (was, is): (bool, bool)) {
        if let Some(last) = self.found.last_mut() {
            last.what = what;
            (last.before, last.after) = (Some(was.into()), Some(is.into()));
        }
    }

    fn words(&mut self, old: &Value, new: &Value, at: &str) {
        for keyword in WORDS.iter().filter(|keyword| **keyword != "default") {
            let (was, is) = (old.get(*keyword), new.get(*keyword));
            if was != is {
                let says = format!("its {keyword} has changed");
                self.push(Change::new(Level::Cosmetic, "description-changed", at, says).with_values(was, is));
            }
        }
    }

    /// What a default says of answers interests nobody.
    fn default(&mut self, old: &Value, new: &Value, at: &str) {
        let (was, is) = (old.get("default"), new.get("default"));
        if was == is {
            return;
        }
        let (level, says) = match (self.direction, was, is) {
            (Direction::Read, ..) => (Level::Cosmetic, "its default has changed".to_owned()),
            (Direction::Sent, Some(was), Some(is)) => {
                let says = format!("left out, it was {}, and is {}", short(was), short(is));
                (Level::Breaking, says)
            }
            (Direction::Sent, None, Some(is)) => (Level::Compatible, format!("left out, it is {}", short(is))),
            (Direction::Sent, Some(was), None) => {
                (Level::Compatible, format!("left out, it was {}, and its schema says so no longer", short(was)))
            }
            (Direction::Sent, None, None) => return,
        };
        self.push(Change::new(level, "default-changed", at, says).with_values(was, is));
    }

    /// Compares types; true where nothing else is left to compare.
    fn types(&mut self, old: &Value, new: &Value, at: &str) -> bool {
        let (was, is) = (types(old), types(new));
        let holds = |set: &[&str], name: &str| set.contains(&name) || name == "integer" && set.contains(&"number");
        let lost = was.iter().any(|name| !holds(&is, name));
        let gained = is.iter().any(|name| !holds(&was, name));
        let words = |set: &[&str], schema: &Value| {
            if schema.get("type").is_some() { set.join(" or ") } else { "anything".to_owned() }
        };
        let says = format!("it was {}, and is {}", words(&was, old), words(&is, new));
        let alone = |schema: &Value, types: &[&str]| {
            if schema.get("type").is_some() { json!({"type": types}) } else { json!({}) }
        };
        let pair = (&alone(old, &was), &alone(new, &is));
        match (lost, gained) {
            (false, false) => return false,
            (true, true) => self.told(Effect::Unclear, at, says, pair),
            (true, false) => self.told(Effect::Narrowed, at, says, pair),
            (false, true) => self.told(Effect::Widened, at, says, pair),
        }
        !was.iter().any(|name| holds(&is, name)) && !is.iter().any(|name| holds(&was, name))
    }

    /// Compares enumerations, as far as types do not say it all.
    fn choices(&mut self, old: &Value, new: &Value, at: &str) {
        let [was, is] = [old, new].map(|schema| schema["enum"].as_array());
        let fits = |value: &&Value, schema: &Value| types(schema).iter().any(|name| is_of(value, name));
        let told = match (was, is) {
            (Some(was), Some(is)) => {
                let lost: Vec<&Value> = was.iter().filter(|value| fits(value, new) && !is.contains(value)).collect();
                let gained: Vec<&Value> = is.iter().filter(|value| fits(value, old) && !was.contains(value)).collect();
                [(Effect::Narrowed, lost, "no longer allowed"), (Effect::Widened, gained, "new")]
            }
            (Some(_), None) => return self.keyword(Effect::Widened, "enum", at, (old, new)),
            (None, Some(values))
                if *values == [json!(true), json!(false)] || *values == [json!(false), json!(true)] =>
            {
                return;
            }
            (None, Some(_)) => return self.keyword(Effect::Narrowed, "enum", at, (old, new)),
            (None, None) => return,
        };
        for (effect, values, words) in told.into_iter().filter(|(_, values, _)| !values.is_empty()) {
            let list: Vec<String> = values.iter().map(|value| short(value)).collect();
            let verb = if list.len() == 1 { "is" } else { "are" };
            let (one, other) = (json!({"enum": was}), json!({"enum": is}));
            self.told(effect, at, format!("{} {verb} {words}", list.join(", ")), (&one, &other));
        }
    }

    fn array(&mut self, old: &Value, new: &Value, at: &str) {
        let anything = json!({});
        let list = |schema: &Value| schema["prefixItems"].as_array().cloned().unwrap_or_default();
        let (was, is) = (list(old), list(new));
        let (rest_was, rest_is) = (old.get("items").unwrap_or(&anything), new.get("items").unwrap_or(&anything));
        for place in 0..was.len().max(is.len()) {
            let (was, is) = (was.get(place).unwrap_or(rest_was), is.get(place).unwrap_or(rest_is));
            self.pair(was, is, &format!("{at}/[{place}]"));
        }
        self.pair(rest_was, rest_is, &format!("{at}/[]"));
    }
}

/// The types of a schema by name; every type where it names none.
pub(super) fn types(schema: &Value) -> Vec<&str> {
    match schema["type"].as_array() {
        Some(names) => names.iter().filter_map(Value::as_str).collect(),
        None => vec!["array", "boolean", "null", "number", "object", "string"],
    }
}

/// What a keyword holds without words for people: a schema, schemas, schemas by name, or anything else.
fn meaning(part: Option<&Value>) -> Option<Value> {
    part.map(|part| match part {
        Value::Array(parts) => parts.iter().map(|part| canonical(part, Keep::Meaning)).collect(),
        Value::Object(_) => canonical(part, Keep::Meaning),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => part.clone(),
    })
}

/// A value in a sentence.
pub(super) fn short(value: &Value) -> String {
    let text = value.to_string();
    let cut: String = text.chars().take(60).collect();
    if cut.len() < text.len() { format!("`{cut}…`") } else { format!("`{cut}`") }
}
