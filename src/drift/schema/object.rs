//! Properties: which came, went, or became required.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::bounds::Effect;
use super::walk::Walk;
use super::{Change, Direction, is_same};
use crate::drift::Level;
use crate::generate;

impl Walk {
    pub(super) fn object(&mut self, old: &Value, new: &Value, at: &str) {
        let empty = Map::new();
        let [was, is] = [old, new].map(|schema| schema["properties"].as_object().unwrap_or(&empty));
        for (name, schema) in was {
            match is.get(name) {
                Some(other) => {
                    self.required(name, (old, new), at);
                    self.pair(schema, other, &format!("{at}/{name}"));
                }
                None => self.removed(name, (old, new), at),
            }
        }
        for name in is.keys().filter(|name| !was.contains_key(*name)) {
            self.added(name, (old, new), at);
        }
        let unnamed = |schema: &Value| required(schema).into_iter().map(str::to_owned).collect::<BTreeSet<_>>();
        for name in unnamed(old).union(&unnamed(new)).filter(|name| !was.contains_key(*name) && !is.contains_key(*name))
        {
            self.required(name, (old, new), at);
        }
        self.others(old, new, at);
        self.patterns(old, new, at);
        self.dependent(old, new, at);
    }

    fn removed(&mut self, name: &str, (old, new): (&Value, &Value), at: &str) {
        let schema = &old["properties"][name];
        let is_new = |other: &str| old["properties"].get(other).is_none();
        let others = new["properties"].as_object().into_iter().flatten();
        let mut twins = others.filter(|(other, twin)| is_new(other) && is_same(schema, twin));
        let help = match (twins.next(), twins.next()) {
            (Some((twin, _)), None) => Some(format!("renamed to `{twin}`?")),
            _ => None,
        };
        let is_closed = new["additionalProperties"] == json!(false);
        let says = match self.direction {
            Direction::Sent if is_closed => format!("`{name}` is gone: whoever sends it is refused"),
            Direction::Sent => format!("`{name}` is gone: whoever sends it is no longer heard"),
            Direction::Read => format!("`{name}` is gone: whoever reads it finds nothing declared"),
        };
        let change = Change::new(Level::Breaking, "property-removed", format!("{at}/{name}"), says);
        let change = change.with_values(Some(schema), None).with_help(help);
        let shows = is_closed && self.direction == Direction::Sent;
        let example = shows.then(|| with(name, schema, old)).flatten().filter(|value| !generate::satisfies(new, value));
        self.push(Change { example, ..change });
    }

    fn added(&mut self, name: &str, (old, new): (&Value, &Value), at: &str) {
        let is_required = required(new).contains(name);
        let (level, says) = match self.direction {
            Direction::Sent if is_required && !required(old).contains(name) => {
                (Level::Breaking, format!("`{name}` is new and required: calls without it are refused"))
            }
            Direction::Sent => (Level::Compatible, format!("`{name}` is new and may be left out")),
            Direction::Read => (Level::Compatible, format!("`{name}` is new")),
        };
        let change = Change::new(level, "property-added", format!("{at}/{name}"), says);
        let example = (level == Level::Breaking).then(|| generate::valid(old)).flatten();
        let example = example.filter(|value| !generate::satisfies(new, value));
        self.push(Change { example, ..change.with_values(None, new["properties"].get(name)) });
    }

    fn required(&mut self, name: &str, (old, new): (&Value, &Value), at: &str) {
        let (was, is) = (required(old).contains(name), required(new).contains(name));
        if was == is {
            return;
        }
        let effect = if is { Effect::Narrowed } else { Effect::Widened };
        let says = match (is, self.direction) {
            (true, Direction::Sent) => format!("`{name}` is required: calls without it are refused"),
            (true, Direction::Read) => format!("`{name}` is always there"),
            (false, Direction::Sent) => format!("`{name}` may be left out"),
            (false, Direction::Read) => format!("`{name}` may be missing"),
        };
        let mut alone = old.clone();
        let mut names: Vec<&str> = required(old).into_iter().filter(|other| *other != name).collect();
        names.extend(is.then_some(name));
        alone["required"] = json!(names);
        self.told(effect, &format!("{at}/{name}"), says, (old, &alone));
        self.rename_last("required-changed", (was, is));
    }

    /// What is said about properties that have no name; that answers may have more of them is no news to readers.
    fn others(&mut self, old: &Value, new: &Value, at: &str) {
        let anything = json!({});
        let [was, is] = [old, new].map(|schema| schema.get("additionalProperties").unwrap_or(&anything));
        if was == is {
            return;
        }
        let closed = json!(false);
        if *was != closed && *is != closed {
            return self.pair(was, is, &format!("{at}/*"));
        }
        let opens = *was == closed;
        let says = if opens { "other properties are allowed" } else { "other properties are no longer allowed" };
        let (level, what) = match (self.direction, opens) {
            (Direction::Sent, false) => (Level::Breaking, "schema-narrowed"),
            (_, true) => (Level::Compatible, "schema-widened"),
            (Direction::Read, false) => (Level::Compatible, "schema-narrowed"),
        };
        let change = Change::new(level, what, format!("{at}/*"), says);
        self.push(change.with_values(old.get("additionalProperties"), new.get("additionalProperties")));
    }

    fn patterns(&mut self, old: &Value, new: &Value, at: &str) {
        let empty = Map::new();
        let [was, is] = [old, new].map(|schema| schema["patternProperties"].as_object().unwrap_or(&empty));
        let anything = json!({});
        let names: BTreeSet<&String> = was.keys().chain(is.keys()).collect();
        for name in names {
            let (was, is) = (was.get(name).unwrap_or(&anything), is.get(name).unwrap_or(&anything));
            self.pair(was, is, &format!("{at}/{name}"));
        }
    }

    fn dependent(&mut self, old: &Value, new: &Value, at: &str) {
        let pairs = |schema: &Value| -> BTreeSet<(String, String)> {
            let all = schema["dependentRequired"].as_object().into_iter().flatten();
            let each = |(name, needed): (&String, &Value)| {
                let needed = needed.as_array().cloned().unwrap_or_default();
                needed.iter().filter_map(|other| Some((name.clone(), other.as_str()?.to_owned()))).collect::<Vec<_>>()
            };
            all.flat_map(each).collect()
        };
        let (was, is) = (pairs(old), pairs(new));
        let effect = match (is.is_subset(&was), was.is_subset(&is)) {
            (true, true) => return,
            (true, false) => Effect::Widened,
            (false, true) => Effect::Narrowed,
            (false, false) => Effect::Unclear,
        };
        self.keyword(effect, "dependentRequired", at, (old, new));
    }
}

fn required(schema: &Value) -> BTreeSet<&str> {
    schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}

/// A value of a schema in which a property is given.
fn with(name: &str, property: &Value, schema: &Value) -> Option<Value> {
    let mut whole = generate::valid(schema)?;
    whole[name] = generate::valid(property)?;
    Some(whole).filter(|whole| generate::satisfies(schema, whole))
}
