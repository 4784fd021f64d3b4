//! Expectations and steps that this program writes itself.

use serde_json::json;

use crate::matching::Expectation;
use crate::source::template::from_json;
use crate::source::{Node, Span, Value};
use crate::suite::{Action, Awaited, Step};

/// The variants that `output_schema: true` judges.
pub(crate) const OUTPUT_SCHEMA_JUDGES: [&str; 3] =
    ["SCHEMA-OUTPUT-MISMATCH", "SCHEMA-MISSING-STRUCTURED", "SCHEMA-TEXT-DIVERGENCE"];

/// `output_schema: true`, to be quoted at `span`.
pub(crate) fn output_schema(span: Span) -> Expectation {
    expectation(&json!({"output_schema": true}), span)
}

/// An expectation that this program writes itself.
pub(crate) fn expectation(item: &serde_json::Value, span: Span) -> Expectation {
    let mut found = Vec::new();
    match Expectation::build(&from_json(item, span), &mut found) {
        Some(expectation) => expectation,
        None => unreachable!("a generated expectation is wrong: {item} {found:?}"),
    }
}

/// A step that does something and expects nothing.
pub(crate) fn bare(action: Action, span: Span) -> Step {
    Step {
        span,
        name: None,
        action,
        needs: Vec::new(),
        expect: Vec::new(),
        expects: false,
        capture: Vec::new(),
        snapshot: None,
        timeout: None,
        awaits: Awaited::Answer,
        heals: false,
        progress: false,
        cancel: None,
        task: None,
    }
}

/// A text at a place.
pub(crate) fn text_node(text: &str, span: Span) -> Node {
    Node { value: Value::Text(text.to_owned()), span }
}
