//! `includes`: the value has at least these fields and elements.

use serde_json::Value as Json;

use super::super::compare::{MatchExtent, differences, fits, spoken_of};
use super::super::{mismatch::Mismatch, read};
use super::{RESULT, ValueCheck, ValueMatcher, ValuePlace};
use crate::source::{Diagnostic, Located, Node, Span, grammar::Shape, grammar::key};

pub(super) static MATCHER: ValueMatcher = ValueMatcher {
    key: key("includes", Shape::Any, "The value has at least these fields and, in any order, these elements."),
    judges: |_| RESULT,
    build,
};

fn build(key: &Located<String>, node: &Node, found: &mut Vec<Diagnostic>) -> Option<Box<dyn ValueCheck>> {
    let expected = node.to_json();
    if expected.as_object().is_some_and(serde_json::Map::is_empty) || expected.as_array().is_some_and(Vec::is_empty) {
        read::nothing_expected(key, "list at least one field or element; to check only the type, use `type`", found);
        return None;
    }
    Some(Box::new(Includes { expected, span: read::mark(key, node) }))
}

#[derive(Debug)]
struct Includes {
    expected: Json,
    span: Span,
}

impl ValueCheck for Includes {
    fn check(&self, value: &Json, place: ValuePlace<'_>, found: &mut Vec<Mismatch>) {
        if fits(&self.expected, value, MatchExtent::Part) {
            return;
        }
        let label = differences(&self.expected, value, MatchExtent::Part);
        found.push(
            Mismatch::new("includes", self.span, format!("{place} does not include every listed part"), label)
                .with_path(place.path())
                .with_values(&self.expected, &spoken_of(&self.expected, value)),
        );
    }
}
