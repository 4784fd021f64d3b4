//! A value that one schema allows and another does not: nothing shows a difference better.
//!
//! Values are made from both schemas, near everything that either says, and tried on both.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::canonical::RECURSIVE;
use super::document::UNRESOLVED_REF;
use crate::generate::{self, Generator, Rng};
use crate::schema::{Formats, Judge, compile};

/// How deep values are varied.
const DEPTH: usize = 3;

/// How many values are tried for one place.
const MOST: usize = 24;

/// How many values of a list are tried, and how many alternatives are looked at.
const MOST_LISTED: usize = 100;

/// How many values are tried.
const MOST_TRIED: usize = 2_000;

/// How many values are drawn.
const DRAWN: u32 = 32;

/// The longest text that is made.
const LONGEST: u64 = 2_000;

/// How much work may go into all examples of one comparison, in schemas and values that somebody looks at; one example
/// may take a quarter of it.
const WORK: usize = 400_000;

/// The cost of compiling a schema, of making one value and of making all candidates, for each value that the schema
/// holds.
const TO_JUDGE: usize = 5;
const TO_MAKE: usize = 10;
const TO_MAKE_ALL: usize = 100;

/// Where schemas that say nothing stand.
static ANYTHING: Value = Value::Bool(true);

/// A small value that `allows` allows and `refuses` refuses.
pub fn counterexample(allows: &Value, refuses: &Value) -> Option<Value> {
    Effort::default().example(allows, refuses).0
}

/// The work that is left for examples.
#[derive(Debug)]
pub(super) struct Effort {
    left: usize,
}

impl Default for Effort {
    fn default() -> Self {
        Self { left: WORK }
    }
}

impl Effort {
    /// A small value that one schema allows and another refuses, and whether all was tried.
    pub(super) fn example(&mut self, allows: &Value, refuses: &Value) -> (Option<Value>, bool) {
        let share = self.left.min(WORK / 4);
        self.left -= share;
        let mut own = Self { left: share };
        let found = own.search(allows, refuses);
        self.left += own.left;
        (found, own.left > 0)
    }

    /// Whether values can be made of schemas and judged.
    pub(super) fn affords(&mut self, schemas: [&Value; 2]) -> bool {
        schemas.into_iter().all(|schema| weight(schema).is_some_and(|weight| self.take(weight * TO_MAKE)))
    }

    fn take(&mut self, cost: usize) -> bool {
        self.left = self.left.saturating_sub(cost);
        self.left > 0
    }

    fn search(&mut self, allows: &Value, refuses: &Value) -> Option<Value> {
        let weight = weight(allows)? + weight(refuses)?;
        if !self.take(weight * TO_JUDGE) {
            return None;
        }
        let judge = |schema| Judge::new(compile(schema, Formats::Ignored).ok()?, schema).ok();
        let (allowing, refusing) = (judge(allows)?, judge(refuses)?);
        // Half of what is left is for judging.
        let mut search = ExampleSearch { left: Self { left: self.left / 2 }, valid: BTreeMap::new() };
        let mut tried = search.candidates(allows, refuses, DEPTH);
        tried.truncate(MOST_TRIED);
        self.left = self.left / 2 + search.left.left;
        if weight * TO_MAKE_ALL < self.left / 2 && self.take(weight * TO_MAKE_ALL) {
            tried.extend(made(allows, refuses));
        }
        tried.sort_by_cached_key(|value| value.to_string().len());
        tried.into_iter().find(|value| {
            let costs = weight + weight_of_value(value);
            self.take(costs) && allowing.is_valid(value) == Some(true) && refusing.is_valid(value) == Some(false)
        })
    }
}

/// How much a schema holds; `None` where something in it stands for what is further out or far away: it means nothing
/// by itself.
fn weight(schema: &Value) -> Option<usize> {
    match schema {
        Value::Array(parts) => parts.iter().try_fold(1, |sum, part| Some(sum + weight(part)?)),
        Value::Object(fields) if fields.contains_key(RECURSIVE) || fields.contains_key(UNRESOLVED_REF) => None,
        Value::Object(fields) => fields.values().try_fold(1, |sum, part| Some(sum + weight(part)?)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Some(1),
    }
}

fn weight_of_value(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(weight_of_value).sum::<usize>(),
        Value::Object(fields) => 1 + fields.values().map(weight_of_value).sum::<usize>(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 1,
    }
}

/// Values that the first schema allows, at its edges and drawn, and values that break the other in one way each.
fn made(allows: &Value, refuses: &Value) -> Vec<Value> {
    let Ok(generator) = Generator::new(allows) else { return Vec::new() };
    let mut found: Vec<Value> = generator.boundaries().into_iter().map(|boundary| boundary.value).collect();
    let draw = Rng::new(0);
    found.extend((0..DRAWN).map(|number| generator.random(&mut draw.fork(number))));
    if let Ok(other) = Generator::new(refuses) {
        found.extend(other.violations(generator.smallest()).into_iter().map(|violation| violation.value));
    }
    found
}

/// Looks for values worth trying.
struct ExampleSearch {
    left: Effort,
    /// A valid value of each schema, by where the schema is in memory, where it stays.
    valid: BTreeMap<usize, Option<Value>>,
}

impl ExampleSearch {
    fn valid(&mut self, schema: &Value) -> Option<Value> {
        let key = std::ptr::from_ref(schema).addr();
        if let Some(known) = self.valid.get(&key) {
            return known.clone();
        }
        let is_cheap = weight(schema).is_some_and(|weight| self.left.take(weight * TO_MAKE));
        let made = is_cheap.then(|| generate::valid(schema)).flatten();
        self.valid.insert(key, made.clone());
        made
    }

    /// Values near what both schemas say.
    fn candidates(&mut self, one: &Value, other: &Value, depth: usize) -> Vec<Value> {
        let mut found = Vec::new();
        if !self.left.take(TO_MAKE) {
            return found;
        }
        for schema in [one, other] {
            for key in ["enum", "examples"] {
                found.extend(schema[key].as_array().into_iter().flatten().take(MOST_LISTED).cloned());
            }
            found.extend(["const", "default"].iter().filter_map(|key| schema.get(*key).cloned()));
            found.extend(self.valid(schema));
        }
        found.extend([json!(null), json!(true), json!(0), json!(0.5), json!("text"), json!(""), json!([]), json!({})]);
        found.extend(numbers(one, other));
        found.extend(texts(one, other));
        if depth > 0 {
            found.extend(self.lists(one, other, depth - 1));
            found.extend(self.objects(one, other, depth - 1));
            for (branch, other) in [(one, other), (other, one)] {
                for key in ["anyOf", "oneOf", "allOf"] {
                    for branch in branch[key].as_array().into_iter().flatten().take(MOST_LISTED) {
                        found.extend(self.candidates(branch, other, depth - 1));
                    }
                }
                for key in ["not", "if", "then", "else", "contains"] {
                    if let Some(part) = branch.get(key) {
                        found.extend(self.candidates(part, other, depth - 1));
                    }
                }
            }
        }
        found
    }

    fn lists(&mut self, one: &Value, other: &Value, depth: usize) -> Vec<Value> {
        let [own, others] = [one, other].map(|schema| schema.get("items").unwrap_or(&ANYTHING));
        let items = self.candidates(own, others, depth);
        let mut found: Vec<Value> = items.iter().take(MOST).map(|item| json!([item])).collect();
        if let Some(item) = self.valid(own).or_else(|| items.first().cloned()) {
            let lengths = lengths(one, other, ["minItems", "maxItems"]).into_iter().filter(|length| *length < 100);
            found.extend(lengths.chain([2]).map(|length| Value::Array(vec![item.clone(); length])));
        }
        found
    }

    /// Objects with everything that `one` names, with each of it differently, and without each of it.
    fn objects(&mut self, one: &Value, other: &Value, depth: usize) -> Vec<Value> {
        let nothing = Map::new();
        let properties = one["properties"].as_object().unwrap_or(&nothing);
        let smallest = self.valid(one).and_then(|value| value.as_object().cloned()).unwrap_or_default();
        let mut fullest = smallest.clone();
        for (name, schema) in properties {
            fullest.extend(self.valid(schema).map(|value| (name.clone(), value)));
        }
        let mut found = vec![smallest.clone(), fullest.clone()];
        for (name, schema) in properties {
            let others = other["properties"].get(name).unwrap_or(&Value::Null);
            for value in self.candidates(schema, others, depth).into_iter().take(MOST * 2) {
                let mut whole = smallest.clone();
                whole.insert(name.clone(), value);
                found.push(whole);
            }
            for whole in [&smallest, &fullest] {
                let mut without = whole.clone();
                without.shift_remove(name);
                found.push(without);
            }
            if !self.left.take(smallest.len() * MOST + fullest.len()) {
                break;
            }
        }
        found.into_iter().map(Value::Object).collect()
    }
}

fn limits<'a>(schemas: [&'a Value; 2], keys: &'a [&'a str]) -> impl Iterator<Item = f64> {
    schemas.into_iter().flat_map(move |schema| keys.iter().filter_map(move |key| schema[*key].as_f64()))
}

fn numbers(one: &Value, other: &Value) -> Vec<Value> {
    let mut found = Vec::new();
    let keys = ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"];
    for limit in limits([one, other], &keys) {
        for value in [limit, limit - 1.0, limit + 1.0, limit - 0.5, limit + 0.5, limit * 3.0] {
            #[expect(clippy::cast_possible_truncation, reason = "a whole number that is small enough")]
            let whole = (value.fract() == 0.0 && value.abs() < 1e15).then(|| json!(value as i64));
            found.push(whole.unwrap_or_else(|| json!(value)));
        }
    }
    found
}

fn lengths(one: &Value, other: &Value, keys: [&str; 2]) -> Vec<usize> {
    let known = [one, other].into_iter().flat_map(|schema| keys.map(|key| schema[key].as_u64())).flatten();
    let near = known.flat_map(|length| [length.saturating_sub(1), length, length + 1]);
    near.filter(|length| *length <= LONGEST).filter_map(|length| usize::try_from(length).ok()).collect()
}

fn texts(one: &Value, other: &Value) -> Vec<Value> {
    lengths(one, other, ["minLength", "maxLength"]).into_iter().map(|length| "x".repeat(length).into()).collect()
}
