//! `no_text_matching`: patterns that no text of an answer matches, apart from what repeats the request.

use std::fmt::Write as _;

use regex::Regex;
use serde_json::Value as Json;

use super::super::{Answer, mismatch::Mismatch, read, show};
use super::{AnswerCheck, AnswerMatcher};
use crate::source::{Diagnostic, Located, Node, Span, Value, grammar::Shape, grammar::key};

pub(super) static MATCHER: AnswerMatcher = AnswerMatcher {
    key: key(
        "no_text_matching",
        Shape::Either(&[Shape::NonEmpty(&Shape::Text), Shape::NonEmpty(&Shape::List(&Shape::NonEmpty(&Shape::Text)))]),
        "Regular expressions that must match no text of the answer, names of members included. Text that only repeats \
         the request does not count.",
    )
    .cure("write a regular expression that no text may match"),
    judges: |_| &[],
    build,
};

/// Shorter texts of a request are found everywhere by accident.
const LEAST_REPEATED: usize = 3;

/// Replaces text that repeats the request; no pattern matches it.
const REPEATED: &str = "\u{fffc}";

/// How much of a text stands around what was found, in characters.
const AROUND: usize = 30;

struct NoTextMatching {
    patterns: Vec<Regex>,
    span: Span,
}

fn build(key: &Located<String>, node: &Node, found: &mut Vec<Diagnostic>) -> Option<AnswerCheck> {
    let nodes = if let Value::List(items) = &node.value { items.as_slice() } else { std::slice::from_ref(node) };
    let mut patterns = Vec::new();
    for node in nodes {
        patterns.extend(read::regex(read::text(node)?, node.span, found));
    }
    let check = NoTextMatching { patterns, span: key.span };
    Some(AnswerCheck::all(move |answer, found| check.check(answer, found)))
}

impl NoTextMatching {
    fn check(&self, answer: &Answer<'_>, found: &mut Vec<Mismatch>) {
        let mut said = Vec::new();
        // The protocol adds `_meta` to every request; the suite did not write it.
        for (_, asked) in answer.params.as_object().into_iter().flatten().filter(|(name, _)| *name != "_meta") {
            texts(asked, &mut |_, text| said.push(text.to_owned()), &mut String::new());
        }
        let spelled = said.iter().map(|text| Json::from(text.as_str()).to_string());
        let mut said: Vec<String> =
            spelled.map(|text| text.trim_matches('"').to_owned()).chain(said.iter().cloned()).collect();
        said.retain(|text| text.chars().count() >= LEAST_REPEATED);
        said.sort_by_key(|text| std::cmp::Reverse(text.len()));
        let mut first = None;
        for member in ["result", "error"] {
            let Some(part) = answer.message.get(member) else { continue };
            let mut look = |path: &str, text: &str| {
                if first.is_none() {
                    first = self.seen(text, &said).map(|seen| (path.to_owned(), seen));
                }
            };
            texts(part, &mut look, &mut member.to_owned());
        }
        let Some((path, (seen, pattern))) = first else { return };
        let message = format!("`{path}` matches a forbidden pattern");
        found.push(
            Mismatch::new("no-text-matching", self.span, message, format!("found {}", show::quoted(&seen)))
                .with_path(path)
                .with_expected(format!("nothing like {}", show::evidence(&pattern)))
                .with_actual(seen),
        );
    }

    /// The first forbidden match in a text with its surroundings, and the pattern that matched.
    fn seen(&self, text: &str, said: &[String]) -> Option<(String, String)> {
        // Most texts have nothing of the kind, and only the others are worth cleaning.
        if !self.patterns.iter().any(|pattern| pattern.is_match(text)) {
            return None;
        }
        let own = said.iter().fold(text.to_owned(), |text, said| text.replace(said.as_str(), REPEATED));
        let (pattern, at) = self.patterns.iter().find_map(|pattern| Some((pattern, pattern.find(&own)?)))?;
        let before: String =
            own[..at.start()].chars().rev().take(AROUND).collect::<Vec<_>>().into_iter().rev().collect();
        let after: String = own[at.end()..].chars().take(AROUND).collect();
        Some((show::cut(&format!("{before}{}{after}", at.as_str()), 200), pattern.as_str().to_owned()))
    }
}

/// Every text within a value, names of members included, with its path.
fn texts(value: &Json, each: &mut dyn FnMut(&str, &str), path: &mut String) {
    let length = path.len();
    match value {
        Json::String(text) => each(path, text),
        Json::Array(items) => {
            for (at, item) in items.iter().enumerate() {
                let _ = write!(path, "[{at}]");
                texts(item, each, path);
                path.truncate(length);
            }
        }
        Json::Object(fields) => {
            for (name, item) in fields {
                if !path.is_empty() {
                    path.push('.');
                }
                path.push_str(name);
                each(path, name);
                texts(item, each, path);
                path.truncate(length);
            }
        }
        Json::Null | Json::Bool(_) | Json::Number(_) => {}
    }
}
