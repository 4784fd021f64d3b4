//! `type`: the JSON type of the value.

use serde_json::Value as Json;

use super::super::{mismatch::Mismatch, show};
use super::{LOST, ValueCheck, ValueMatcher, ValuePlace};
use crate::schema::TypeSet;
use crate::source::{Located, Node, Span, grammar::Shape, grammar::key};

pub(super) static MATCHER: ValueMatcher = ValueMatcher {
    key: key(
        "type",
        Shape::Either(&[
            Shape::Template,
            Shape::Choice(&["string", "integer", "number", "boolean", "null", "array", "object"]),
        ]),
        "The JSON type of the value; `1.0` is an integer too.",
    ),
    judges: |_| LOST,
    build: |_: &Located<String>, node: &Node, _| {
        Some(Box::new(JsonType { name: node.text()?.to_owned(), span: node.span }))
    },
};

#[derive(Debug)]
struct JsonType {
    name: String,
    span: Span,
}

impl ValueCheck for JsonType {
    fn check(&self, value: &Json, place: ValuePlace<'_>, found: &mut Vec<Mismatch>) {
        if TypeSet::named(&self.name).has(TypeSet::of(value)) {
            return;
        }
        let article = if self.name.starts_with(['a', 'i', 'o']) { "an " } else { "a " };
        let expected = if self.name == "null" { "null".to_owned() } else { format!("{article}{}", self.name) };
        found.push(
            Mismatch::new(
                "type",
                self.span,
                format!("{place} is {}, not {expected}", show::kind(value)),
                format!("found {}", show::inline(value)),
            )
            .with_path(place.path())
            .with_expected(self.name.clone())
            .with_actual(show::compact(value)),
        );
    }
}
