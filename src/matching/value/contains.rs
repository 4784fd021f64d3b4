//! `contains`: a part of a text, or an element of an array.

use serde_json::Value as Json;

use super::super::{mismatch::Mismatch, read, show};
use super::{RESULT, ValueCheck, ValueMatcher};
use crate::schema::same;
use crate::source::{Diagnostic, Located, Node, grammar::Shape, grammar::key, template::text_of};

pub(crate) static MATCHER: ValueMatcher = ValueMatcher {
    key: key("contains", Shape::Except(&[""]), "The text has this part, or the array has this element.")
        .cure("write the part that must be present"),
    judges: |_| RESULT,
    build,
};

fn build(key: &Located<String>, node: &Node, _: &mut Vec<Diagnostic>) -> Option<ValueCheck> {
    let (part, span) = (node.to_json(), read::mark(key, node));
    Some(ValueCheck::one(move |value, place| {
        let label = match value {
            Json::String(text) if text.contains(&text_of(&part)) => return None,
            Json::Array(items) if items.iter().any(|item| same(&part, item)) => return None,
            Json::String(text) => format!("not found in {}", show::count(text.chars().count(), "character")),
            Json::Array(items) => format!("not found in {}", show::count(items.len(), "element")),
            Json::Object(_) => "found an object; for fields write `includes`".to_owned(),
            Json::Null | Json::Bool(_) | Json::Number(_) => {
                format!("found {}; `contains` checks texts and arrays", show::inline(value))
            }
        };
        let message = format!("{place} does not contain {}", show::inline(&part));
        let mismatch = Mismatch::new("contains", span, message, label);
        Some(mismatch.with_expected(show::compact(&part)).at(place, value))
    }))
}
