//! `matches`: a regular expression finds something in the text.

use regex::Regex;
use serde_json::Value as Json;

use super::super::{mismatch::Mismatch, read, show};
use super::{ValueCheck, ValueMatcher, ValuePlace, WRONG};
use crate::source::{Diagnostic, Located, Node, Span, grammar::Shape, grammar::key, template::text_of};

pub(super) static MATCHER: ValueMatcher = ValueMatcher {
    key: key("matches", Shape::Text, "The text contains a match of this regular expression; `^` and `$` anchor it."),
    judges: |_| WRONG,
    build,
};

#[derive(Debug)]
struct Matches {
    pattern: Regex,
    span: Span,
}

fn build(key: &Located<String>, node: &Node, found: &mut Vec<Diagnostic>) -> Option<Box<dyn ValueCheck>> {
    let pattern = read::text(node)?;
    if pattern.is_empty() {
        read::nothing_expected(key, "every text matches the empty pattern; for an empty text write `^$`", found);
        return None;
    }
    match Regex::new(pattern) {
        Ok(pattern) => Some(Box::new(Matches { pattern, span: node.span })),
        Err(error) => {
            found.push(
                Diagnostic::error("bad-regex", format!("invalid regular expression: {}", reason(&error)), node.span)
                    .with_help("special characters such as `(` and `[` are written `\\(` and `\\[`".to_owned()),
            );
            None
        }
    }
}

/// The last line of the crate's drawing says what is wrong; the lines above repeat the pattern.
fn reason(error: &regex::Error) -> String {
    let text = error.to_string();
    let last = text.lines().last().unwrap_or_default();
    last.trim().trim_start_matches("error: ").trim_end_matches('.').to_owned()
}

impl ValueCheck for Matches {
    fn check(&self, value: &Json, place: ValuePlace<'_>, found: &mut Vec<Mismatch>) {
        let label = match value {
            Json::String(text) if self.pattern.is_match(text) => return,
            Json::Array(_) | Json::Object(_) => format!("found {}; `matches` checks texts", show::kind(value)),
            Json::String(_) => format!("found {}", show::inline(value)),
            Json::Null | Json::Bool(_) | Json::Number(_) if self.pattern.is_match(&text_of(value)) => return,
            Json::Null | Json::Bool(_) | Json::Number(_) => format!("found {value}"),
        };
        found.push(
            Mismatch::new("matches", self.span, format!("{place} does not match the pattern"), label)
                .with_path(place.path())
                .with_expected(show::evidence(self.pattern.as_str()))
                .with_actual(show::compact(value)),
        );
    }
}
