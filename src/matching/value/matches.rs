//! `matches`: a regular expression finds something in the text.

use serde_json::Value as Json;

use super::super::{mismatch::Mismatch, read, show};
use super::{ValueCheck, ValueMatcher, WRONG};
use crate::source::{Diagnostic, Located, Node, grammar::Shape, grammar::key, template::text_of};

pub(crate) static MATCHER: ValueMatcher = ValueMatcher {
    key: key(
        "matches",
        Shape::NonEmpty(&Shape::Text),
        "The text contains a match of this regular expression; `^` and `$` anchor it.",
    )
    .cure("every text matches the empty pattern; for an empty text write `^$`"),
    judges: |_| WRONG,
    build,
};

fn build(_: &Located<String>, node: &Node, found: &mut Vec<Diagnostic>) -> Option<ValueCheck> {
    let pattern = read::text(node)?;
    let pattern = read::regex(pattern, node.span, found)?;
    let span = node.span;
    Some(ValueCheck::one(move |value, place| {
        let label = match value {
            Json::String(text) if pattern.is_match(text) => return None,
            Json::Array(_) | Json::Object(_) => format!("found {}; `matches` checks texts", show::kind(value)),
            Json::String(_) => format!("found {}", show::inline(value)),
            Json::Null | Json::Bool(_) | Json::Number(_) if pattern.is_match(&text_of(value)) => return None,
            Json::Null | Json::Bool(_) | Json::Number(_) => format!("found {value}"),
        };
        let mismatch = Mismatch::new("matches", span, format!("{place} does not match the pattern"), label);
        Some(mismatch.with_expected(show::evidence(pattern.as_str())).at(place, value))
    }))
}
