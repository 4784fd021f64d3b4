//! A value that one schema allows and another does not: nothing shows a difference better.
//!
//! It is made from one schema and the opposite of the other, or found near the edges of both, and tried on both.

use std::sync::LazyLock;

use serde_json::{Value, json};

use super::canonical::RECURSIVE;
use super::document::UNRESOLVED_REF;
use crate::generate::{Generator, Rng};
use crate::schema::{Formats, Judge, compile};

/// Values that need no schema, the plainest that there are.
static PLAIN: LazyLock<Vec<Value>> = LazyLock::new(|| {
    let plain = json!([null, true, 0, 1, 2, 3, 0.5, "", "text", [], {}]);
    plain.as_array().cloned().unwrap_or_default()
});

/// The number of values that are drawn.
const DRAWN: u32 = 32;

/// The work that goes into all examples of one comparison, in schemas and values that are visited; one example may take
/// a quarter of it.
const WORK: usize = 400_000;

/// The cost of compiling a schema, of making one value and of making all candidates, for each value that the schema
/// holds.
const TO_JUDGE: usize = 5;
const TO_MAKE: usize = 10;
const TO_MAKE_ALL: usize = 100;

/// A small value that `allows` allows and `refuses` refuses.
pub fn counterexample(allows: &Value, refuses: &Value) -> Option<Value> {
    Effort::default().example(allows, refuses).0
}

/// The work that is left for examples.
#[derive(Debug)]
pub(crate) struct Effort {
    left: usize,
}

impl Default for Effort {
    fn default() -> Self {
        Self { left: WORK }
    }
}

impl Effort {
    /// A small value that one schema allows and another refuses, and whether all was tried.
    pub(crate) fn example(&mut self, allows: &Value, refuses: &Value) -> (Option<Value>, bool) {
        let share = self.left.min(WORK / 4);
        self.left -= share;
        let mut own = Self { left: share };
        let found = own.search(allows, refuses);
        self.left += own.left;
        (found, own.left > 0)
    }

    /// The budget allows to make values of these schemas and to judge them.
    pub(crate) fn affords(&mut self, schemas: [&Value; 2]) -> bool {
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
        let mut tried = PLAIN.to_vec();
        let apart = json!({"allOf": [allows, {"not": refuses}]});
        let is_cheap = weight * TO_MAKE < self.left / 2 && self.take(weight * TO_MAKE);
        let apart = if is_cheap { Generator::new(&apart).ok() } else { None };
        tried.extend(apart.iter().map(|apart| apart.smallest().clone()));
        if weight * TO_MAKE_ALL < self.left / 2 && self.take(weight * TO_MAKE_ALL) {
            tried.extend(apart.iter().flat_map(edges));
            tried.extend(candidates(allows, refuses));
        }
        tried.sort_by_cached_key(|value| value.to_string().len());
        tried.into_iter().find(|value| {
            let costs = weight + weight_of_value(value);
            self.take(costs) && allowing.is_valid(value) == Some(true) && refusing.is_valid(value) == Some(false)
        })
    }
}

/// The size of a schema; `None` where something in it refers to a part outside, without which it means nothing.
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
fn candidates(allows: &Value, refuses: &Value) -> Vec<Value> {
    let Ok(generator) = Generator::new(allows) else { return Vec::new() };
    let mut found: Vec<Value> = edges(&generator).collect();
    let draw = Rng::new(0);
    found.extend((0..DRAWN).map(|number| generator.random(&mut draw.fork(number))));
    if let Ok(other) = Generator::new(refuses) {
        found.extend(other.violations(generator.smallest()).into_iter().map(|violation| violation.value));
    }
    found
}

fn edges(generator: &Generator) -> impl Iterator<Item = Value> {
    generator.boundaries().into_iter().map(|boundary| boundary.value)
}
