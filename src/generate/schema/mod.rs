//! A JSON Schema as rules that are easy to ask: every subschema is a line of an arena, references are resolved.
//!
//! Knows how schemas are written and what they mean; knows nothing about making values.

mod cost;
mod described;
mod fits;
mod kind;
mod meter;
mod negate;
mod place;
mod read;
mod reference;
mod rules;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use super::pattern::StringPattern;

pub(super) use cost::STEPS;
pub(super) use fits::{above, beneath, is_multiple, same};
pub use fits::{compare, written};
pub(super) use kind::Kinds;
use meter::Meter;
pub(super) use place::{ValuePosition, child_ids, each_place, item_ids, token};
pub use reference::References;
pub(super) use rules::{ConditionRule, ContainsRule, NumberLimit, SchemaId, SchemaRules};

/// The subschemas of one document, and what was derived from them.
#[derive(Clone, Debug)]
pub(super) struct Schemas {
    lines: Vec<Arc<SchemaRules>>,
    negated: BTreeMap<SchemaId, SchemaId>,
    patterns: BTreeMap<String, Arc<StringPattern>>,
    root: SchemaId,
    meter: Meter,
}

impl Schemas {
    /// Reads a document that the `jsonschema` crate has accepted.
    pub(super) fn read(document: &Value) -> Self {
        let (lines, negated, patterns) = (Vec::new(), BTreeMap::new(), BTreeMap::new());
        read::read(document, Self { lines, negated, patterns, root: SchemaId(0), meter: Meter::default() })
    }

    /// The document itself.
    pub(super) fn root(&self) -> SchemaId {
        self.root
    }

    /// The rules of one subschema.
    pub(super) fn rules(&self, id: SchemaId) -> &Arc<SchemaRules> {
        &self.lines[id.0]
    }

    /// Counts steps; one is about what it takes to ask a subschema about one place.
    pub(super) fn charge(&self, steps: usize) {
        self.meter.add(steps);
    }

    /// How many steps were counted so far. Copies count on for themselves.
    pub(super) fn spent(&self) -> usize {
        self.meter.read()
    }

    /// Adds a schema that is written nowhere.
    pub(super) fn add(&mut self, rules: SchemaRules) -> SchemaId {
        self.compile_patterns(&rules);
        self.lines.push(Arc::new(rules));
        SchemaId(self.lines.len() - 1)
    }

    fn set(&mut self, id: SchemaId, rules: SchemaRules) {
        self.compile_patterns(&rules);
        self.lines[id.0] = Arc::new(rules);
    }

    /// Whether a pattern matches a text, as the validator sees it.
    pub(super) fn matches(&self, pattern: &str, text: &Value) -> bool {
        self.patterns.get(pattern).is_none_or(|pattern| pattern.matches(text))
    }

    /// How many steps it takes to hold a text against a pattern, beyond the one for asking.
    fn matching(&self, pattern: &str, text: &Value) -> usize {
        self.patterns.get(pattern).map_or(0, |pattern| pattern.steps(text))
    }

    /// A pattern as it was read.
    pub(super) fn pattern(&self, pattern: &str) -> Option<&Arc<StringPattern>> {
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
