//! A schema made ready for making values.

use serde_json::Value;

use super::branches::Branches;
use super::make::{self, Variety};
use super::shape::{ENDLESS, Graph, LARGEST, NodeId};
use super::{Boundary, BranchSet, InvalidValue, Rng, boundary, violation};
use crate::schema::{Formats, Judges, Schemas, UnusableSchema};
use crate::wire::format::is_too_large;

/// The size that values should not exceed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GeneratorLimits {
    /// Characters of a text whose schema does not ask for more.
    pub text: usize,
    /// Characters of a text, whatever its schema asks for.
    pub longest_text: usize,
    /// The depth of values while that can be helped.
    pub depth: usize,
    /// The number of values within a value while that can be helped.
    pub nodes: usize,
}

impl Default for GeneratorLimits {
    fn default() -> Self {
        Self { text: 4 << 10, longest_text: 1 << 20, depth: 8, nodes: 200 }
    }
}

/// The number of times that the whole value is made anew until it is valid.
const SMALLEST_TRIES: usize = 160;
const RANDOM_TRIES: usize = 16;

/// A schema made ready for making values.
#[derive(Debug)]
pub struct Generator {
    judge: Judges,
    graph: Graph,
    root: NodeId,
    branches: Branches,
    smallest: Value,
}

impl Generator {
    /// Makes a schema ready.
    pub fn new(schema: &Value) -> Result<Self, UnusableSchema> {
        Self::with_limits(schema, GeneratorLimits::default())
    }

    /// Makes a schema ready, with limits of the caller's.
    pub fn with_limits(schema: &Value, limits: GeneratorLimits) -> Result<Self, UnusableSchema> {
        if let Some(why) = is_too_large(schema) {
            return Err(UnusableSchema::Endless(why));
        }
        let schemas = Schemas::parse(schema);
        let judge = Judges::new(schema, &schemas)?;
        let (graph, root) = Graph::new(schemas, limits);
        let branches = Branches::new(&graph.schemas);
        let smallest = smallest(&judge, &graph, root).map_err(|why| reason(schema, &graph, root, why))?;
        Ok(Self { judge, graph, root, branches, smallest })
    }

    /// A small value that satisfies the schema; prefers what the schema itself shows.
    pub fn smallest(&self) -> &Value {
        &self.smallest
    }

    /// A value satisfies the schema.
    pub fn is_valid(&self, value: &Value) -> bool {
        self.judge.takes(value, Formats::Ignored)
    }

    /// Valid values at the edges.
    pub fn boundaries(&self) -> Vec<Boundary> {
        boundary::boundaries(&self.graph, self.root, &|value| self.is_valid(value))
    }

    /// Values that break exactly one keyword at one place, derived from a valid one.
    pub fn violations(&self, base: &Value) -> Vec<InvalidValue> {
        violation::violations(&self.graph, &self.judge, base)
    }

    /// A valid value; the same choices give the same value.
    pub fn random(&self, rng: &mut Rng) -> Value {
        let tries = tries(RANDOM_TRIES, self.graph.node(self.root).size);
        for attempt in 0..tries {
            let variety = if attempt < tries / 2 { Variety::Wide } else { Variety::Small };
            let value = make::value(&self.graph, self.root, variety, rng);
            // A format says nothing about validity, but its texts are worth a few tries.
            let formats = if attempt < tries / 4 { Formats::Held } else { Formats::Ignored };
            if self.judge.takes(&value, formats) {
                return value;
            }
        }
        self.smallest.clone()
    }

    /// The number of branches of the schema.
    pub fn branches(&self) -> usize {
        self.branches.count()
    }

    /// Notes the branches that a value takes.
    pub fn mark(&self, value: &Value, seen: &mut BranchSet) {
        self.branches.mark(&self.graph.schemas, value, seen);
    }
}

/// A small value that satisfies the schema; `None` where none was found.
pub fn valid(schema: &Value) -> Option<Value> {
    Generator::new(schema).ok().map(|generator| generator.smallest().clone())
}

/// The first valid value, the plainest tried first; otherwise what was wrong with the first.
fn smallest(judge: &Judges, graph: &Graph, root: NodeId) -> Result<Value, String> {
    let size = graph.node(root).size;
    if size == ENDLESS {
        return Err(String::new());
    }
    if size > LARGEST {
        return Err(format!("the smallest one would hold {size} values"));
    }
    let mut first = None;
    let tries = tries(SMALLEST_TRIES, size);
    for attempt in 0..tries {
        let variety = match attempt * SMALLEST_TRIES / tries {
            0..20 => Variety::Plain,
            20..90 => Variety::Small,
            _ => Variety::Wide,
        };
        let value = make::value(graph, root, variety, &mut Rng::new(0).fork(attempt));
        if judge.takes(&value, Formats::Ignored) {
            return Ok(value);
        }
        first = first.or(Some(value));
    }
    Err(first.and_then(|value| judge.refusal(&value)).unwrap_or_default())
}

/// Large values are not made anew that often.
fn tries(most: usize, size: u64) -> usize {
    let size = usize::try_from(size).unwrap_or(usize::MAX);
    (most / (1 + size / 100)).clamp(4, most)
}

fn reason(schema: &Value, graph: &Graph, root: NodeId, why: String) -> UnusableSchema {
    let node = graph.node(root);
    if node.size == ENDLESS {
        let why = node.why.clone().unwrap_or_else(|| "its keywords exclude each other".to_owned());
        return if graph.gave_up { UnusableSchema::NotFound(why) } else { UnusableSchema::Unsatisfiable(why) };
    }
    let canonical = jsonschema::canonicalize(schema).map(|canonical| canonical.satisfiability());
    if matches!(canonical, Ok(jsonschema::canonical::Satisfiability::No)) {
        return UnusableSchema::Unsatisfiable(why);
    }
    UnusableSchema::NotFound(why)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_schema_that_is_too_large_is_refused() {
        let large = json!({"enum": vec![0; 100_000]});
        assert!(matches!(Generator::new(&large), Err(UnusableSchema::Endless(_))));
    }
}
