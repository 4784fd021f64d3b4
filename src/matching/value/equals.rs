//! `equals`: the value is this one.

use serde_json::Value as Json;

use super::super::compare::{MatchExtent, differences};
use super::super::{mismatch::Mismatch, read, show};
use super::{RESULT, ValueCheck, ValueMatcher, ValuePlace};
use crate::schema::same;
use crate::source::{Span, grammar::Shape, grammar::key};

pub(super) static MATCHER: ValueMatcher = ValueMatcher {
    key: key(
        "equals",
        Shape::Any,
        "The value equals this one; `1` and `1.0` are equal, and the order of fields does not matter.",
    ),
    judges: |_| RESULT,
    build: |key, node, _| Some(Box::new(Equals { expected: node.to_json(), span: read::mark(key, node) })),
};

#[derive(Debug)]
struct Equals {
    expected: Json,
    span: Span,
}

impl ValueCheck for Equals {
    fn check(&self, value: &Json, place: ValuePlace<'_>, found: &mut Vec<Mismatch>) {
        if same(&self.expected, value) {
            return;
        }
        let is_short = show::is_short(value) && show::is_short(&self.expected);
        let message = if is_short {
            format!("{place} is {value}, not {}", self.expected)
        } else {
            format!("{place} differs from the expected value")
        };
        let label = label(&self.expected, value);
        found.push(
            Mismatch::new("equals", self.span, message, label)
                .with_path(place.path())
                .with_values(&self.expected, value),
        );
    }
}

fn label(expected: &Json, value: &Json) -> String {
    match (expected, value) {
        (Json::String(expected), Json::String(found)) if found.len().max(expected.len()) > 60 => {
            let same = expected.chars().zip(found.chars()).take_while(|(left, right)| left == right).count();
            format!(
                "found {} that differ from character {} on",
                show::count(found.chars().count(), "character"),
                same + 1
            )
        }
        _ => differences(expected, value, MatchExtent::Whole),
    }
}
