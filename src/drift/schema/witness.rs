//! A value that one schema allows and another does not: nothing shows a difference better.
//!
//! Values are made from both schemas, near everything that either says, and tried on both.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::canonical::RECURSIVE;
use crate::generate::{self, Draw, Formats, Maker};

/// How deep values are varied.
const DEPTH: usize = 3;

/// How many values are tried for one place.
const MOST: usize = 24;

/// How many values are drawn.
const DRAWN: u32 = 32;

/// The longest text that is made.
const LONGEST: u64 = 2_000;

/// A small value that `allows` allows and `refuses` refuses.
pub fn counterexample(allows: &Value, refuses: &Value) -> Option<Value> {
    // What refers further out means nothing by itself.
    if [allows, refuses].iter().any(|schema| schema.to_string().contains(&format!("\"{RECURSIVE}\""))) {
        return None;
    }
    let compile = |schema| generate::compile(schema, Formats::Ignored).ok();
    let (allowing, refusing) = (compile(allows)?, compile(refuses)?);
    let shows = |value: &Value| allowing.is_valid(value) && !refusing.is_valid(value);
    let tried = candidates(allows, refuses, DEPTH).into_iter().chain(made(allows, refuses));
    let mut found: Vec<Value> = tried.filter(shows).collect();
    found.sort_by_key(|value| value.to_string().len());
    found.into_iter().next()
}

/// Values that the first schema allows, at its edges and drawn, and values that break the other in one way each.
fn made(allows: &Value, refuses: &Value) -> Vec<Value> {
    let Ok(maker) = Maker::new(allows) else { return Vec::new() };
    let mut found: Vec<Value> = maker.boundaries().into_iter().map(|boundary| boundary.value).collect();
    let draw = Draw::new(0);
    found.extend((0..DRAWN).map(|number| maker.random(&mut draw.fork(number))));
    if let Ok(other) = Maker::new(refuses) {
        found.extend(other.violations(maker.smallest()).into_iter().map(|violation| violation.value));
    }
    found
}

/// Values worth trying, near what both schemas say.
fn candidates(one: &Value, other: &Value, depth: usize) -> Vec<Value> {
    let mut found = Vec::new();
    for schema in [one, other] {
        for key in ["enum", "examples"] {
            found.extend(schema[key].as_array().into_iter().flatten().cloned());
        }
        found.extend(["const", "default"].iter().filter_map(|key| schema.get(*key).cloned()));
        found.extend(generate::valid(schema));
    }
    found.extend([json!(null), json!(true), json!(0), json!(0.5), json!("text"), json!(""), json!([]), json!({})]);
    found.extend(numbers(one, other));
    found.extend(texts(one, other));
    if depth > 0 {
        found.extend(lists(one, other, depth - 1));
        found.extend(objects(one, other, depth - 1));
        for (branch, other) in [(one, other), (other, one)] {
            for key in ["anyOf", "oneOf", "allOf"] {
                let branches = branch[key].as_array().into_iter().flatten();
                found.extend(branches.flat_map(|branch| candidates(branch, other, depth - 1)));
            }
            for key in ["not", "if", "then", "else", "contains"] {
                found.extend(branch.get(key).into_iter().flat_map(|part| candidates(part, other, depth - 1)));
            }
        }
    }
    found
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

fn lists(one: &Value, other: &Value, depth: usize) -> Vec<Value> {
    let anything = json!({});
    let [own, others] = [one, other].map(|schema| schema.get("items").unwrap_or(&anything));
    let items = candidates(own, others, depth);
    let mut found: Vec<Value> = items.iter().take(MOST).map(|item| json!([item])).collect();
    if let Some(item) = generate::valid(own).or_else(|| items.first().cloned()) {
        let lengths = lengths(one, other, ["minItems", "maxItems"]).into_iter().filter(|length| *length < 100);
        found.extend(lengths.chain([2]).map(|length| Value::Array(vec![item.clone(); length])));
    }
    found
}

/// Objects with everything that `one` names, with each of it differently, and without each of it.
fn objects(one: &Value, other: &Value, depth: usize) -> Vec<Value> {
    let nothing = Map::new();
    let properties = one["properties"].as_object().unwrap_or(&nothing);
    let smallest = generate::valid(one).and_then(|value| value.as_object().cloned()).unwrap_or_default();
    let known: BTreeMap<&String, Value> =
        properties.iter().filter_map(|(name, schema)| Some((name, generate::valid(schema)?))).collect();
    let mut fullest = smallest.clone();
    fullest.extend(known.iter().map(|(name, value)| ((*name).clone(), value.clone())));
    let mut found = vec![smallest.clone(), fullest.clone()];
    for (name, schema) in properties {
        let others = other["properties"].get(name).unwrap_or(&Value::Null);
        for value in candidates(schema, others, depth).into_iter().take(MOST * 2) {
            let mut whole = smallest.clone();
            whole.insert(name.clone(), value);
            found.push(whole);
        }
        for whole in [&smallest, &fullest] {
            let mut without = whole.clone();
            without.shift_remove(name);
            found.push(without);
        }
    }
    found.into_iter().map(Value::Object).collect()
}
