//! `at_most_one_of`: texts of which an answer must not show several.

use super::super::{Answer, mismatch::Mismatch, mismatch::MismatchWeight, reply::ResponseKind, show};
use super::{AnswerCheck, AnswerMatcher};
use crate::source::{grammar::Shape, grammar::key};

pub(crate) static MATCHER: AnswerMatcher = AnswerMatcher {
    key: key(
        "at_most_one_of",
        Shape::NonEmpty(&Shape::List(&Shape::NonEmpty(&Shape::Text))),
        "Texts of which a success shows one or none, such as two values that were sent under one name. Several of them are \
         only a warning.",
    )
    .cure("list the texts"),
    judges: |_| &[],
    build: |key, node, _| {
        let texts: Vec<String> = node.items().iter().filter_map(|item| item.text().map(str::to_owned)).collect();
        let span = key.span;
        Some(AnswerCheck::all(move |answer, found| {
            let shown = shown_texts(answer, &texts);
            if shown.len() > 1 {
                let quoted: Vec<String> = shown.iter().map(|text| format!("`{}`", show::evidence(text))).collect();
                let message = format!("the answer shows {} at once", quoted.join(" and "));
                let mismatch = Mismatch::new("at-most-one-of", span, message, "one value was taken here, and another there");
                found.push(mismatch.with_weight(MismatchWeight::Warns));
            }
        }))
    },
};

/// The texts that a success shows; a refusal may quote what it refuses.
fn shown_texts<'t>(answer: &Answer<'_>, texts: &'t [String]) -> Vec<&'t String> {
    if !matches!(ResponseKind::of(answer.message), ResponseKind::Success(_)) {
        return Vec::new();
    }
    let answered = answer.message["result"].to_string();
    texts.iter().filter(|text| answered.contains(text.as_str())).collect()
}
