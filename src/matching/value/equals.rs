//! `equals`: the value is this one.

use serde_json::Value as Json;

use super::super::compare::{MatchExtent, differences};
use super::super::{mismatch::Mismatch, read, show};
use super::{RESULT, ValueCheck, ValueMatcher};
use crate::schema::same;
use crate::source::{grammar::Shape, grammar::key};

pub(crate) static MATCHER: ValueMatcher = ValueMatcher {
    key: key(
        "equals",
        Shape::Any,
        "The value equals this one; `1` and `1.0` are equal, and the order of fields does not matter.",
    ),
    judges: |_| RESULT,
    build: |key, node, _| {
        let (expected, span) = (node.to_json(), read::mark(key, node));
        Some(ValueCheck::one(move |value, place| {
            if same(&expected, value) {
                return None;
            }
            let is_short = show::is_short(value) && show::is_short(&expected);
            let message = if is_short {
                format!("{place} is {value}, not {expected}")
            } else {
                format!("{place} differs from the expected value")
            };
            let mismatch = Mismatch::new("equals", span, message, label(&expected, value));
            Some(mismatch.with_path(place.path()).with_values(&expected, value))
        }))
    },
};

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
