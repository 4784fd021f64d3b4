//! `contains`: a part of a text, or an element of an array.

use serde_json::Value as Json;

use super::super::{mismatch::Mismatch, read, show};
use super::{RESULT, ValueCheck, ValueMatcher, ValuePlace};
use crate::schema::same;
use crate::source::{Diagnostic, Located, Node, Span, grammar::Shape, grammar::key, template::text_of};

pub(super) static MATCHER: ValueMatcher = ValueMatcher {
    key: key("contains", Shape::Any, "The text has this part, or the array has this element."),
    judges: |_| RESULT,
    build,
};

#[derive(Debug)]
struct ContainsPart {
    part: Json,
    span: Span,
}

fn build(key: &Located<String>, node: &Node, found: &mut Vec<Diagnostic>) -> Option<Box<dyn ValueCheck>> {
    if node.text() == Some("") {
        read::nothing_expected(key, "every text contains the empty text; write the part that must be present", found);
        return None;
    }
    Some(Box::new(ContainsPart { part: node.to_json(), span: read::mark(key, node) }))
}

impl ValueCheck for ContainsPart {
    fn check(&self, value: &Json, place: ValuePlace<'_>, found: &mut Vec<Mismatch>) {
        let label = match value {
            Json::String(text) if text.contains(&text_of(&self.part)) => return,
            Json::Array(items) if items.iter().any(|item| same(&self.part, item)) => return,
            Json::String(text) => format!("not found in {}", show::count(text.chars().count(), "character")),
            Json::Array(items) => format!("not found in {}", show::count(items.len(), "element")),
            Json::Object(_) => "found an object; for fields write `includes`".to_owned(),
            Json::Null | Json::Bool(_) | Json::Number(_) => {
                format!("found {}; `contains` checks texts and arrays", show::inline(value))
            }
        };
        found.push(
            Mismatch::new(
                "contains",
                self.span,
                format!("{place} does not contain {}", show::inline(&self.part)),
                label,
            )
            .with_path(place.path())
            .with_expected(show::compact(&self.part))
            .with_actual(show::compact(value)),
        );
    }
}
