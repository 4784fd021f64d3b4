//! Arguments that were made up from a schema, as they may be sent: quick, and leading nowhere.
//!
//! Nothing here makes valid arguments invalid, or lets wrong ones be wrong in another way: what only fits the schema as
//! it is stays as it is.

use std::collections::BTreeSet;

use serde_json::Value;

use super::folder::is_path;
use super::nowhere::{is_host, nearer};
use super::pace;
use crate::generate::{Generator, InvalidValue, PLACEHOLDER, Rng};
use crate::schema::{Judge, Unusable};

/// Makes arguments of one tool.
#[derive(Debug)]
pub struct Tamer {
    maker: Generator,
    schema: Value,
    /// Arguments that are given although they may be left out, with what they may be: a time that the server chooses
    /// may be long, and an address that it has by default leads away.
    given: Vec<(String, Vec<Value>)>,
    /// Members whose schema says that they are names of machines.
    hosts: BTreeSet<String>,
    /// The folder that the server was started with, for arguments that are paths and of which the schema shows none.
    folder: Option<String>,
    smallest: Value,
}

/// A place whose value is better another.
struct Change {
    /// JSON pointer; the member may be absent.
    at: String,
    /// Candidates in the order of preference.
    instead: Vec<Value>,
}

impl Tamer {
    /// Makes a schema of arguments ready; `Err` says why nothing can be made from it.
    pub fn new(schema: &Value, folder: Option<String>) -> Result<Self, Unusable> {
        Ok(Self::with_maker(schema, Generator::new(schema)?, folder))
    }

    /// The same with a maker of the caller's, which is one of that schema.
    pub fn with_maker(schema: &Value, maker: Generator, folder: Option<String>) -> Self {
        let mut hosts = BTreeSet::new();
        hosts_of(schema, &mut hosts);
        let smallest = maker.smallest().clone();
        let mut tamer = Self { maker, schema: schema.clone(), given: Vec::new(), hosts, folder, smallest };
        let properties = schema["properties"].as_object().into_iter().flatten();
        tamer.given =
            properties.filter_map(|(name, schema)| Some((name.clone(), tamer.given(name, schema)?))).collect();
        let smallest = tamer.tamed(tamer.smallest.clone());
        Self { smallest, ..tamer }
    }

    /// The generator of values that the schema accepts.
    pub fn maker(&self) -> &Generator {
        &self.maker
    }

    /// Small valid arguments.
    pub fn smallest(&self) -> &Value {
        &self.smallest
    }

    /// Small valid arguments of a tool that is to take as long as it takes: they lead nowhere, and that is all.
    pub fn unhurried(&self) -> Value {
        let value = self.maker.smallest().clone();
        let far = changes("", &value, &|name, value| self.nearer(name, value));
        changed(value, far, |value| self.maker.is_valid(value))
    }

    /// Valid arguments at the edges, each once.
    pub fn boundaries(&self) -> Vec<Value> {
        let mut met = BTreeSet::new();
        let edges = self.maker.boundaries().into_iter().map(|edge| self.tamed(edge.value));
        edges.filter(|value| met.insert(value.to_string())).collect()
    }

    /// Valid arguments; the same choices give the same.
    pub fn random(&self, draw: &mut Rng) -> Value {
        self.tamed(self.maker.random(draw))
    }

    /// Arguments that break exactly one keyword at one place, derived from valid ones. What those hold stays in them.
    pub fn violations(&self, base: &Value) -> Vec<InvalidValue> {
        let found = self.maker.violations(base);
        let Ok(judge) = Judge::of(&self.schema) else { return found };
        found.into_iter().map(|violation| self.tamed_violation(&judge, base, violation)).collect()
    }

    fn tamed_violation(&self, judge: &Judge, base: &Value, violation: InvalidValue) -> InvalidValue {
        let mut wild = self.wild(&violation.value);
        wild.retain(|change| base.pointer(&change.at) != violation.value.pointer(&change.at));
        if wild.is_empty() {
            return violation;
        }
        let Some(known) = faults(judge, &violation.value) else { return violation };
        let is_as_wrong = |value: &Value| faults(judge, value).is_some_and(|faults| faults == known);
        InvalidValue { value: changed(violation.value, wild, is_as_wrong), ..violation }
    }

    /// Valid arguments as they may be sent.
    pub fn tamed(&self, value: Value) -> Value {
        let mut wild = self.wild(&value);
        if let Some(members) = value.as_object() {
            let absent = self.given.iter().filter(|(name, _)| !members.contains_key(name));
            wild.extend(absent.map(|(name, instead)| Change { at: below(name, ""), instead: instead.clone() }));
        }
        changed(value, wild, |value| self.maker.is_valid(value))
    }

    /// The value of an argument that is not required; `None` if it is left out.
    fn given(&self, name: &str, schema: &Value) -> Option<Vec<Value>> {
        let is_number = schema["type"] == "integer" || schema["type"] == "number";
        let instead = if is_number && pace::most(name).is_some() {
            pace::smallest(name)
        } else {
            self.nearer(name, &schema["default"])
        };
        (!instead.is_empty()).then_some(instead)
    }

    /// Everything that may take long or lead away.
    fn wild(&self, value: &Value) -> Vec<Change> {
        let tamer = |name: &str, value: &Value| match pace::quicker(name, value) {
            quicker if quicker.is_empty() => self.nearer(name, value),
            quicker => quicker,
        };
        changes("", value, &tamer)
    }

    fn nearer(&self, name: &str, value: &Value) -> Vec<Value> {
        let Value::String(text) = value else { return Vec::new() };
        if text == PLACEHOLDER && is_path(name) {
            return self.folder.iter().cloned().map(Value::from).collect();
        }
        let nearer = nearer(text, || self.hosts.contains(name) || is_host(name));
        nearer.into_iter().map(Value::from).collect()
    }
}

/// The members of a schema, at any depth, whose format is the name of a machine.
fn hosts_of(schema: &Value, hosts: &mut BTreeSet<String>) {
    let is_host = |schema: &Value| schema["format"] == "hostname" || schema["format"] == "idn-hostname";
    match schema {
        Value::Object(members) => {
            let named = members.get("properties").and_then(Value::as_object).into_iter().flatten();
            hosts.extend(named.filter(|(_, own)| is_host(own) || is_host(&own["items"])).map(|(name, _)| name.clone()));
            members.values().for_each(|member| hosts_of(member, hosts));
        }
        Value::Array(items) => items.iter().for_each(|item| hosts_of(item, hosts)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Every place of a value for which there are better values; items have the name of their list.
fn changes(name: &str, value: &Value, better: &dyn Fn(&str, &Value) -> Vec<Value>) -> Vec<Change> {
    let inside = |step: &str, name: &str, value: &Value| {
        let found = changes(name, value, better).into_iter();
        found.map(|change| Change { at: below(step, &change.at), ..change }).collect::<Vec<_>>()
    };
    match value {
        Value::Object(members) => members.iter().flat_map(|(name, member)| inside(name, name, member)).collect(),
        Value::Array(items) => {
            items.iter().enumerate().flat_map(|(at, item)| inside(&at.to_string(), name, item)).collect()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            let instead = better(name, value);
            if instead.is_empty() { Vec::new() } else { vec![Change { at: String::new(), instead }] }
        }
    }
}

/// A value with as many changes as it can take.
fn changed(value: Value, changes: Vec<Change>, is_kept: impl Fn(&Value) -> bool) -> Value {
    if changes.is_empty() {
        return value;
    }
    let mut whole = value.clone();
    for change in &changes {
        if let Some(best) = change.instead.first() {
            put(&mut whole, &change.at, best.clone());
        }
    }
    if is_kept(&whole) {
        return whole;
    }
    let mut kept = value;
    for Change { at, instead } in changes {
        let mut tries = instead.into_iter().map(|new| {
            let mut tried = kept.clone();
            put(&mut tried, &at, new);
            tried
        });
        if let Some(tried) = tries.find(&is_kept) {
            kept = tried;
        }
    }
    kept
}

/// The place and keyword that a value violates; `None` if finding out takes too long.
fn faults(judge: &Judge, value: &Value) -> Option<BTreeSet<(String, String)>> {
    let errors = judge.errors(value)?;
    Some(errors.map(|error| (error.instance_path().to_string(), error.schema_path().to_string())).collect())
}

/// A pointer to what another leads to within a member or item.
fn below(step: &str, at: &str) -> String {
    format!("/{}{at}", step.replace('~', "~0").replace('/', "~1"))
}

fn put(value: &mut Value, at: &str, new: Value) {
    let Some((parent, step)) = at.rsplit_once('/') else { return };
    let place = match value.pointer_mut(parent) {
        Some(Value::Object(members)) => {
            Some(members.entry(step.replace("~1", "/").replace("~0", "~")).or_insert(Value::Null))
        }
        Some(Value::Array(items)) => step.parse().ok().and_then(|at: usize| items.get_mut(at)),
        _ => None,
    };
    if let Some(place) = place {
        *place = new;
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn tamer(properties: &Value, required: &Value) -> Tamer {
        Tamer::new(&json!({"type": "object", "properties": properties, "required": required}), None).unwrap()
    }

    #[test]
    fn what_is_made_up_is_quick_and_stays_here() {
        let check = |properties: Value, expected: Value| {
            let names: Vec<&String> = properties.as_object().unwrap().keys().collect();
            assert_eq!(*tamer(&properties, &json!(names)).smallest(), expected);
        };
        check(
            json!({
                "url": {"type": "string", "format": "uri"},
                "delay_seconds": {"type": "integer", "examples": [3600]},
            }),
            json!({"url": "https://127.0.0.1:9/", "delay_seconds": 1}),
        );
        check(json!({"delays": {"type": "array", "examples": [[60, 90]]}}), json!({"delays": [1, 1]}));
        check(json!({"peer": {"type": "string", "format": "hostname"}}), json!({"peer": "nowhere.invalid"}));
        check(json!({"peer": {"type": "string", "format": "ipv4"}}), json!({"peer": "127.0.0.1"}));
        check(
            json!({"webhook": {"type": "string", "default": "hooks.company.com/a"}}),
            json!({"webhook": "nowhere.invalid/a"}),
        );
    }

    #[test]
    fn what_fits_no_other_way_stays_and_the_rest_is_tame() {
        let only = json!({
            "url": {"enum": ["https://eu.company.com/"]},
            "wait": {"type": "integer", "minimum": 7, "examples": [60]},
            "seconds": {"type": "integer", "examples": [60]},
        });
        let made = tamer(&only, &json!(["url", "wait", "seconds"]));
        assert_eq!(*made.smallest(), json!({"url": "https://eu.company.com/", "wait": 8, "seconds": 1}));
        let named = json!({"url": {"type": "string", "pattern": "^https://[a-z.]+/$", "examples": ["https://a.com/"]}});
        assert_eq!(*tamer(&named, &json!(["url"])).smallest(), json!({"url": "https://nowhere.invalid/"}));
    }

    #[test]
    fn times_that_are_left_out_are_given() {
        let made =
            tamer(&json!({"duration": {"type": "number", "default": 10}, "name": {"type": "string"}}), &json!([]));
        assert_eq!(made.tamed(json!({"name": "a"})), json!({"name": "a", "duration": 1}));
        assert_eq!(made.tamed(json!({"name": "a", "duration": 0})), json!({"name": "a", "duration": 0}));
    }

    #[test]
    fn addresses_that_a_tool_has_by_default_are_given() {
        let made = tamer(
            &json!({"data": {"type": "string", "default": "https://raw.company.com/a"}, "word": {"default": "a"}}),
            &json!([]),
        );
        assert_eq!(made.tamed(json!({})), json!({"data": "https://127.0.0.1:9/a"}));
    }

    #[test]
    fn a_tool_that_is_to_be_slow_is_slow() {
        let properties = json!({
            "url": {"type": "string", "format": "uri"},
            "delay_seconds": {"type": "integer", "examples": [60]},
        });
        let made = tamer(&properties, &json!(["url", "delay_seconds"]));
        assert_eq!(made.unhurried(), json!({"url": "https://127.0.0.1:9/", "delay_seconds": 60}));
    }

    #[test]
    fn wrong_arguments_are_tame_and_as_wrong_as_before() {
        let properties = json!({
            "count": {"type": "integer", "maximum": 5},
            "delay": {"type": "integer", "minimum": 0, "maximum": 3600, "examples": [600]},
            "url": {"type": "string", "format": "uri", "maxLength": 40},
        });
        let made = tamer(&properties, &json!(["count"]));
        let base = made.smallest().clone();
        let found = made.violations(&base);
        let wild = |violation: &&InvalidValue| {
            let delay = violation.value["delay"].as_f64().is_some_and(|delay| delay > 1.0);
            delay || violation.value["url"].as_str().is_some_and(|url| url.contains("example.com"))
        };
        let told: Vec<(&str, &Value)> =
            found.iter().filter(wild).map(|one| (one.at.as_str(), &one.value["delay"])).collect();
        assert_eq!(told, [("/delay", &json!(3601))]);
        assert!(found.iter().any(|one| one.at == "/url" && one.value["url"].is_string()));
        assert!(found.iter().all(|one| !made.maker().is_valid(&one.value)));
    }

    #[test]
    fn what_a_suite_gives_stays() {
        let properties = json!({"url": {"type": "string"}, "wait": {"type": "integer"}, "count": {"type": "integer"}});
        let made = tamer(&properties, &json!(["url", "wait", "count"]));
        let base = json!({"url": "https://staging.company.com/", "wait": 20, "count": 1});
        let found = made.violations(&base);
        let wrong = found.iter().find(|one| one.at == "/count").unwrap();
        assert_eq!((&wrong.value["url"], &wrong.value["wait"]), (&base["url"], &base["wait"]));
    }
}
