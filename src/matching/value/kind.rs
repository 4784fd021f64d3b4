//! `type`: the JSON type of the value.

use super::super::{mismatch::Mismatch, show};
use super::{LOST, ValueCheck, ValueMatcher};
use crate::schema::TypeSet;
use crate::source::{grammar::Shape, grammar::key};

pub(crate) static MATCHER: ValueMatcher = ValueMatcher {
    key: key(
        "type",
        Shape::Either(&[
            Shape::Template,
            Shape::Choice(&["string", "integer", "number", "boolean", "null", "array", "object"]),
        ]),
        "The JSON type of the value; `1.0` is an integer too.",
    ),
    judges: |_| LOST,
    build: |_, node, _| {
        let (name, span) = (node.text()?.to_owned(), node.span);
        Some(ValueCheck::one(move |value, place| {
            if TypeSet::from_name(&name).has(TypeSet::of(value)) {
                return None;
            }
            let article = if name.starts_with(['a', 'i', 'o']) { "an " } else { "a " };
            let expected = if name == "null" { name.clone() } else { format!("{article}{name}") };
            let message = format!("{place} is {}, not {expected}", show::kind(value));
            let mismatch = Mismatch::new("type", span, message, format!("found {}", show::inline(value)));
            Some(mismatch.with_expected(name.clone()).at(place, value))
        }))
    },
};
