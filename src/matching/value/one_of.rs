//! `one_of`: the value is one of a list.

use serde_json::Value as Json;

use super::super::{mismatch::Mismatch, read, show};
use super::{ValueCheck, ValueMatcher, ValuePlace, WRONG};
use crate::schema::same;
use crate::source::{Diagnostic, Located, Node, Span, grammar::Shape, grammar::key};

pub(super) static MATCHER: ValueMatcher = ValueMatcher {
    key: key("one_of", Shape::Either(&[Shape::List(&Shape::Any), Shape::Template]), "The value equals one of these."),
    judges: |_| WRONG,
    build,
};

#[derive(Debug)]
struct OneOf {
    choices: Vec<Json>,
    span: Span,
}

fn build(key: &Located<String>, node: &Node, found: &mut Vec<Diagnostic>) -> Option<Box<dyn ValueCheck>> {
    if node.text().is_some() {
        return None;
    }
    if node.items().is_empty() {
        read::nothing_expected(key, "list the allowed values", found);
        return None;
    }
    Some(Box::new(OneOf { choices: node.items().iter().map(Node::to_json).collect(), span: key.span }))
}

impl ValueCheck for OneOf {
    fn check(&self, value: &Json, place: ValuePlace<'_>, found: &mut Vec<Mismatch>) {
        if self.choices.iter().any(|choice| same(choice, value)) {
            return;
        }
        let values = show::count(self.choices.len(), "allowed value");
        let message = format!("{place} is none of the {values}");
        found.push(
            Mismatch::new("one-of", self.span, message, format!("found {}", show::inline(value)))
                .with_path(place.path())
                .with_expected(show::compact(&self.choices.clone().into()))
                .with_actual(show::compact(value)),
        );
    }
}
