//! `no_text_matching`: patterns that no text of an answer matches, apart from what repeats the request.

use regex::Regex;

use super::super::{Answer, mismatch::Mismatch, read, show};
use super::own_texts::{RepeatedTexts, first_in_texts};
use super::{AnswerCheck, AnswerMatcher};
use crate::source::{Diagnostic, Located, Node, Span, Value, grammar::Shape, grammar::key};

pub(crate) static MATCHER: AnswerMatcher = AnswerMatcher {
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

/// The number of characters that surround a match in its evidence.
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
        let repeated = RepeatedTexts::of(answer);
        let first = first_in_texts(answer, |path, text| Some((path.to_owned(), self.first_match(text, &repeated)?)));
        let Some((path, (seen, pattern))) = first else { return };
        let message = format!("`{path}` matches a forbidden pattern");
        found.push(
            Mismatch::new("no-text-matching", self.span, message, format!("found {}", show::quote(&seen)))
                .with_path(path)
                .with_expected(format!("nothing like {}", show::evidence(&pattern)))
                .with_actual(seen),
        );
    }

    /// The first forbidden match in a text with its surroundings, and the pattern that matched.
    fn first_match(&self, text: &str, repeated: &RepeatedTexts) -> Option<(String, String)> {
        // Most texts have nothing of the kind, and only the others are worth cleaning.
        if !self.patterns.iter().any(|pattern| pattern.is_match(text)) {
            return None;
        }
        let own = repeated.removed_from(text);
        let (pattern, at) = self.patterns.iter().find_map(|pattern| Some((pattern, pattern.find(&own)?)))?;
        let before: String =
            own[..at.start()].chars().rev().take(AROUND).collect::<Vec<_>>().into_iter().rev().collect();
        let after: String = own[at.end()..].chars().take(AROUND).collect();
        Some((show::shorten(&format!("{before}{}{after}", at.as_str()), 200), pattern.as_str().to_owned()))
    }
}
