//! `length`: how many characters, elements or fields the value has.

use serde_json::Value as Json;

use super::super::{mismatch::Mismatch, read, show};
use super::{RESULT, ValueCheck, ValueMatcher};
use crate::source::grammar::{Object, Shape, alternative, key};
use crate::source::{Diagnostic, Located, Node, Value, template::has_template};

pub(crate) static MATCHER: ValueMatcher = ValueMatcher {
    key: key("length", RANGE, "The number of characters, elements or fields: exact, or `min` and `max`."),
    judges: |_| RESULT,
    build: |key, node, found| {
        let (range, span) = (Range::build(key, node, found)?, read::mark(key, node));
        Some(ValueCheck::one(move |value, place| {
            let (message, label) = match measure(value) {
                Some((number, _)) if range.has(number) => return None,
                Some((number, noun)) => {
                    let has = show::count(number, noun);
                    (format!("{place} has {has}, not {range}"), format!("found {has}"))
                }
                None => {
                    let message = format!("{place} is {}, which has no length", show::kind(value));
                    (message, format!("found {}", show::inline(value)))
                }
            };
            let mismatch = Mismatch::new("length", span, message, label);
            Some(mismatch.with_expected(range.to_string()).at(place, value))
        }))
    },
};

fn measure(value: &Json) -> Option<(usize, &'static str)> {
    match value {
        Json::String(text) => Some((text.chars().count(), "character")),
        Json::Array(items) => Some((items.len(), "element")),
        Json::Object(fields) => Some((fields.len(), "field")),
        Json::Null | Json::Bool(_) | Json::Number(_) => None,
    }
}

/// The grammar of a count.
pub(crate) const RANGE: Shape = Shape::Either(&[Shape::Whole, Shape::Template, Shape::Object(&LIMITS)]);

static LIMITS: Object = Object {
    name: "a range",
    doc: "A minimum, a maximum, or both.",
    keys: &[&[
        alternative(
            "min",
            Shape::Either(&[Shape::Range(1, u64::MAX), Shape::Template]),
            "The minimum; beside `max` it may be 0.",
        )
        .default("0")
        .cure("a `min` of 0 allows any number; write 1 or more, or add a `max`")
        .shape_beside("max", read::WHOLE),
        alternative("max", read::WHOLE, "The maximum; by default unlimited."),
    ]],
};

/// The limits of a count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Range {
    min: u64,
    max: u64,
}

impl Range {
    /// Reads a number, or `min` and `max`.
    pub(crate) fn build(key: &Located<String>, node: &Node, found: &mut Vec<Diagnostic>) -> Option<Self> {
        if has_template(node) {
            return None;
        }
        if !matches!(node.value, Value::Map(_)) {
            return node.whole().map(|exact| Self { min: exact, max: exact });
        }
        let (min, max) = (node.get("min"), node.get("max"));
        let range = Self { min: min.map_or(Some(0), Node::whole)?, max: max.map_or(Some(u64::MAX), Node::whole)? };
        if range.min > range.max {
            found.push(
                Diagnostic::error(
                    "empty-range",
                    format!("no number is at least {} and at most {}", range.min, range.max),
                    key.span,
                )
                .with_help("swap `min` and `max`".to_owned()),
            );
            return None;
        }
        Some(range)
    }

    /// At least one.
    pub(crate) const SOME: Self = Self { min: 1, max: u64::MAX };

    pub(crate) fn has(self, number: usize) -> bool {
        (self.min..=self.max).contains(&(number as u64))
    }
}

impl std::fmt::Display for Range {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (self.min, self.max) {
            (min, max) if min == max => write!(formatter, "{min}"),
            (min, u64::MAX) => write!(formatter, "at least {min}"),
            (0, max) => write!(formatter, "at most {max}"),
            (min, max) => write!(formatter, "{min} to {max}"),
        }
    }
}
