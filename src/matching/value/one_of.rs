//! `one_of`: the value is one of a list.

use serde_json::Value as Json;

use super::super::{mismatch::Mismatch, show};
use super::{ValueCheck, ValueMatcher, WRONG};
use crate::schema::same;
use crate::source::{Diagnostic, Located, Node, grammar::Shape, grammar::key};

pub(crate) static MATCHER: ValueMatcher = ValueMatcher {
    key: key(
        "one_of",
        Shape::Either(&[Shape::NonEmpty(&Shape::List(&Shape::Any)), Shape::Template]),
        "The value equals one of these.",
    )
    .cure("list the allowed values"),
    judges: |_| WRONG,
    build,
};

fn build(key: &Located<String>, node: &Node, _: &mut Vec<Diagnostic>) -> Option<ValueCheck> {
    if node.text().is_some() {
        return None;
    }
    let choices: Vec<Json> = node.items().iter().map(Node::to_json).collect();
    let span = key.span;
    Some(ValueCheck::one(move |value, place| {
        if choices.iter().any(|choice| same(choice, value)) {
            return None;
        }
        let message = format!("{place} is none of the {}", show::count(choices.len(), "allowed value"));
        let mismatch = Mismatch::new("one-of", span, message, format!("found {}", show::inline(value)));
        Some(mismatch.with_expected(show::compact(&choices.clone().into())).at(place, value))
    }))
}
