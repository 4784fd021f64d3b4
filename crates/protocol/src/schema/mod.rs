//! JSON Schema: keywords, references, types and equality, and schemas as rules that are easy to ask.
//!
//! Values are validated by the `jsonschema` crate, guarded by [`Judge`]; `Schemas` reads a schema into an arena of
//! subschemas with their references resolved, `MergedRules` is several of them as one. Knows nothing about making values,
//! and nothing about versions of a schema.

mod cost;
mod described;
mod equality;
mod fits;
mod judge;
mod keywords;
mod lookaround;
mod merge;
mod negate;
mod pattern;
mod place;
mod read;
mod reference;
mod rules;
mod types;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::Value;

pub(crate) use cost::STEPS;
pub use equality::{canonical_text, compare, is_multiple, same};
pub(crate) use fits::{above, beneath};
pub(crate) use judge::Judges;
pub use judge::{Formats, Judge, UnusableSchema, compile, objection, refuses, satisfies};
pub use keywords::{KEYWORDS, Keyword, KeywordLimit, KeywordValue};
pub use merge::{MergedRules, are_disjoint, stricter, whole_bounds};
pub(crate) use pattern::{PatternTree, StringPattern};
pub use place::{ValuePosition, below, child_ids, each_place, item_ids, name_of, put_at, token};
pub use reference::References;
pub use rules::{ConditionRule, ContainsRule, NumberLimit, SchemaId, SchemaRules};
pub use types::TypeSet;

/// The subschemas of one document, and what was derived from them.
#[derive(Clone, Debug)]
pub struct Schemas {
    lines: Vec<Arc<SchemaRules>>,
    negated: BTreeMap<SchemaId, SchemaId>,
    patterns: BTreeMap<String, Arc<StringPattern>>,
    root: SchemaId,
    meter: Meter,
}

impl Schemas {
    /// Reads a document that the `jsonschema` crate has accepted.
    pub fn parse(document: &Value) -> Self {
        let (lines, negated, patterns) = (Vec::new(), BTreeMap::new(), BTreeMap::new());
        read::read_document(document, Self { lines, negated, patterns, root: SchemaId(0), meter: Meter::default() })
    }

    /// The document itself.
    pub fn root(&self) -> SchemaId {
        self.root
    }

    /// The rules of one subschema.
    pub fn rules(&self, id: SchemaId) -> &Arc<SchemaRules> {
        &self.lines[id.0]
    }

    /// Counts steps; one is about what it takes to ask a subschema about one place.
    pub(crate) fn charge(&self, steps: usize) {
        self.meter.add(steps);
    }

    /// The number of steps so far. Copies count on for themselves.
    pub fn count_steps(&self) -> usize {
        self.meter.count()
    }

    /// Adds a schema that is written nowhere.
    pub fn add(&mut self, rules: SchemaRules) -> SchemaId {
        self.compile_patterns(&rules);
        self.lines.push(Arc::new(rules));
        SchemaId(self.lines.len() - 1)
    }

    fn replace(&mut self, id: SchemaId, rules: SchemaRules) {
        self.compile_patterns(&rules);
        self.lines[id.0] = Arc::new(rules);
    }

    /// A pattern matches a text, as the validator sees it.
    pub fn matches(&self, pattern: &str, text: &Value) -> bool {
        self.patterns.get(pattern).is_none_or(|pattern| pattern.matches(text))
    }

    /// The number of steps that it takes to match a text against a pattern, beyond the one for asking.
    fn matching(&self, pattern: &str, text: &Value) -> usize {
        self.patterns.get(pattern).map_or(0, |pattern| pattern.steps(text))
    }

    /// A pattern as it was read.
    pub(crate) fn pattern(&self, pattern: &str) -> Option<&Arc<StringPattern>> {
        self.patterns.get(pattern)
    }

    fn compile_patterns(&mut self, rules: &SchemaRules) {
        for pattern in rules.pattern.iter().chain(rules.pattern_properties.iter().map(|(pattern, _)| pattern)) {
            if self.patterns.contains_key(pattern) {
                continue;
            }
            if let Some(read) = StringPattern::new(pattern) {
                self.patterns.insert(pattern.clone(), Arc::new(read));
            }
        }
    }
}

/// Counts steps, so that a search with too many stops: the same ones on every machine.
#[derive(Debug, Default)]
struct Meter(AtomicUsize);

impl Meter {
    fn add(&self, steps: usize) {
        self.0.fetch_add(steps, Ordering::Relaxed);
    }

    fn count(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

impl Clone for Meter {
    fn clone(&self) -> Self {
        Self(AtomicUsize::new(self.count()))
    }
}
