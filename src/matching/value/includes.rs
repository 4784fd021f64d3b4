//! `includes`: the value has at least these fields and elements.

use super::super::compare::{MatchExtent, differences, fits, spoken_of};
use super::super::{mismatch::Mismatch, read};
use super::{RESULT, ValueCheck, ValueMatcher};
use crate::source::{Diagnostic, Located, Node, grammar::Shape, grammar::key};

pub(crate) static MATCHER: ValueMatcher = ValueMatcher {
    key: key(
        "includes",
        Shape::NonEmpty(&Shape::Any),
        "The value has at least these fields and, in any order, these elements.",
    )
    .cure("list at least one field or element; to check only the type, use `type`"),
    judges: |_| RESULT,
    build,
};

fn build(key: &Located<String>, node: &Node, _: &mut Vec<Diagnostic>) -> Option<ValueCheck> {
    let (expected, span) = (node.to_json(), read::mark(key, node));
    Some(ValueCheck::one(move |value, place| {
        if fits(&expected, value, MatchExtent::Part) {
            return None;
        }
        let label = differences(&expected, value, MatchExtent::Part);
        let message = match (expected.as_str(), value.as_str()) {
            (Some(part), Some(text)) if text.contains(part) => {
                format!("{place} is a longer text: use `contains` to look for a part of a text")
            }
            _ => format!("{place} does not include every listed part"),
        };
        let mismatch = Mismatch::new("includes", span, message, label).with_path(place.path());
        Some(mismatch.with_values(&expected, &spoken_of(&expected, value)))
    }))
}
