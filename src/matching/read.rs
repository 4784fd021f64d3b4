//! Reads the typed values of a matcher's YAML; shapes are checked before, so what does not fit is left out here.

use std::time::Duration;

use regex::Regex;

use crate::source::{Diagnostic, Located, Node, Span, Value, grammar::Shape, parse_duration, template};

/// `true` or `false`, or a template for one.
pub(crate) const FLAG: Shape = Shape::Either(&[Shape::Flag, Shape::Template]);

/// A number, or a template for one.
pub(crate) const NUMBER: Shape = Shape::Either(&[Shape::Number, Shape::Template]);

/// A whole number, or a template for one.
pub(crate) const WHOLE: Shape = Shape::Either(&[Shape::Whole, Shape::Template]);

/// The place to mark: a short value itself, the key of a long one.
pub(crate) fn mark(key: &Located<String>, node: &Node) -> Span {
    match &node.value {
        Value::List(_) | Value::Map(_) => key.span,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Text(_) => node.span,
    }
}

/// A text that is no template; templates are filled in before anything is compiled from them.
pub(crate) fn text(node: &Node) -> Option<&str> {
    node.text().filter(|text| !template::is_template(text))
}

/// A duration such as `1s`.
pub(crate) fn duration(node: &Node) -> Option<Duration> {
    parse_duration(node.text()?)
}

/// Compiles a regular expression.
pub(crate) fn regex(pattern: &str, span: Span, found: &mut Vec<Diagnostic>) -> Option<Regex> {
    let mistake = |error: regex::Error| {
        // The last line of the crate's drawing says what is wrong; the lines above repeat the pattern.
        let text = error.to_string();
        let last = text.lines().last().unwrap_or_default();
        let reason = last.trim().trim_start_matches("error: ").trim_end_matches('.');
        Diagnostic::error("bad-regex", format!("invalid regular expression: {reason}"), span)
            .with_help("special characters such as `(` and `[` are written `\\(` and `\\[`".to_owned())
    };
    Regex::new(pattern).map_err(|error| found.push(mistake(error))).ok()
}
