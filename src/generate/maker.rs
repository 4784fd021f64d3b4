//! A schema made ready for making values.

use jsonschema::Validator;
use serde_json::Value;

use super::branches::Branches;
use super::make::{self, Variety};
use super::schema::Schemas;
use super::shape::{ENDLESS, Graph, NodeId};
use super::{Boundary, Draw, Seen, Violation, boundary, violation};

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
        Self { text: 4 << 10, longest_text: 1 << 20, depth: 8, nodes: 200 }
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

/// How many values the smallest one may hold.
const LARGEST: u64 = 20_000;

/// How often the whole value is made anew until it is valid.
const SMALLEST_TRIES: usize = 160;
const RANDOM_TRIES: usize = 16;

/// A schema made ready for making values.
#[derive(Debug)]
pub struct Maker {
    pub(super) validator: Validator,
    pub(super) graph: Graph,
    pub(super) root: NodeId,
    /// The same with texts held to their formats.
    strict: Validator,
    branches: Branches,
    smallest: Value,
}

impl Maker {
    /// Makes a schema ready.
    pub fn new(schema: &Value) -> Result<Self, Unusable> {
        Self::with_limits(schema, Limits::default())
    }

    /// Makes a schema ready, with limits of the caller's.
    pub fn with_limits(schema: &Value, limits: Limits) -> Result<Self, Unusable> {
        let validator = compile(schema)?;
        let strict = jsonschema::options().should_validate_formats(true).build(schema);
        let strict = strict.map_err(|error| Unusable::NotASchema(error.to_string()))?;
        let (graph, root) = Graph::new(Schemas::read(schema), limits);
        let branches = Branches::new(&graph.schemas);
        let smallest = smallest(&validator, &graph, root).map_err(|why| reason(schema, &graph, root, why))?;
        Ok(Self { validator, graph, root, strict, branches, smallest })
    }

    /// A small value that satisfies the schema; prefers what the schema itself shows.
    pub fn smallest(&self) -> &Value {
        &self.smallest
    }

    /// Whether a value satisfies the schema.
    pub fn is_valid(&self, value: &Value) -> bool {
        self.validator.is_valid(value)
    }

    /// Valid values at the edges.
    pub fn boundaries(&self) -> Vec<Boundary> {
        boundary::boundaries(&self.graph, self.root, &|value| self.is_valid(value))
    }

    /// Values that break exactly one keyword at one place, derived from a valid one.
    pub fn violations(&self, base: &Value) -> Vec<Violation> {
        violation::violations(&self.graph, &self.validator, base)
    }

    /// A valid value; the same choices give the same value.
    pub fn random(&self, draw: &mut Draw) -> Value {
        let tries = tries(RANDOM_TRIES, self.graph.node(self.root).size);
        for attempt in 0..tries {
            let variety = if attempt < tries / 2 { Variety::Wide } else { Variety::Small };
            let value = make::value(&self.graph, self.root, variety, draw);
            // A format says nothing about validity, but its texts are worth a few tries.
            let judge = if attempt < tries / 4 { &self.strict } else { &self.validator };
            if judge.is_valid(&value) {
                return value;
            }
        }
        self.smallest.clone()
    }

    /// How many branches the schema has.
    pub fn branches(&self) -> usize {
        self.branches.count()
    }

    /// Notes the branches that a value takes.
    pub fn mark(&self, value: &Value, seen: &mut Seen) {
        self.branches.mark(&self.graph.schemas, value, seen);
    }
}

/// `format` says what a text is for; whether it is one is not judged here.
pub(super) fn compile(schema: &Value) -> Result<Validator, Unusable> {
    let options = jsonschema::options().should_validate_formats(false);
    options.build(schema).map_err(|error| Unusable::NotASchema(error.to_string()))
}

/// The first valid value, the plainest tried first; otherwise what was wrong with the first.
fn smallest(validator: &Validator, graph: &Graph, root: NodeId) -> Result<Value, String> {
    let size = graph.node(root).size;
    if size == ENDLESS {
        return Err(String::new());
    }
    if size > LARGEST {
        return Err(format!("the smallest one would hold {size} values"));
    }
    let mut why = String::new();
    let tries = tries(SMALLEST_TRIES, size);
    for attempt in 0..tries {
        let variety = match attempt * SMALLEST_TRIES / tries {
            0..20 => Variety::Plain,
            20..90 => Variety::Small,
            _ => Variety::Wide,
        };
        let value = make::value(graph, root, variety, &mut Draw::new(0).fork(attempt));
        match validator.validate(&value) {
            Ok(()) => return Ok(value),
            Err(error) if why.is_empty() => {
                why = format!("{} at `{}` refuses what was tried", error.masked_with("the value"), error.schema_path());
            }
            Err(_) => {}
        }
    }
    Err(why)
}

/// Large values are not made anew that often.
fn tries(most: usize, size: u64) -> usize {
    let size = usize::try_from(size).unwrap_or(usize::MAX);
    (most / (1 + size / 100)).clamp(4, most)
}

fn reason(schema: &Value, graph: &Graph, root: NodeId, why: String) -> Unusable {
    let node = graph.node(root);
    if node.size == ENDLESS {
        return Unusable::Unsatisfiable(
            node.why.clone().unwrap_or_else(|| "its keywords exclude each other".to_owned()),
        );
    }
    let canonical = jsonschema::canonicalize(schema).map(|canonical| canonical.satisfiability());
    if matches!(canonical, Ok(jsonschema::canonical::Satisfiability::No)) {
        return Unusable::Unsatisfiable(why);
    }
    Unusable::NotFound(why)
}
