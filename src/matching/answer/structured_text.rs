//! `structured_text`: clients that know no structured content find it in the text.

use serde_json::Value as Json;

use super::super::{mismatch::Mismatch, reply::ResponseKind};
use super::output_schema::{holds, values_in_texts};
use super::{AnswerCheck, AnswerMatcher};
use crate::source::{grammar::Shape, grammar::key};
use crate::wire::read_json;

pub(crate) static MATCHER: AnswerMatcher = AnswerMatcher {
    key: key(
        "structured_text",
        Shape::True,
        "A text block repeats the structured content, or the value that an SDK wrapped in it, as JSON.",
    )
    .cure("leave it out where the text does not matter"),
    judges: |_| &["SCHEMA-TEXT-DIVERGENCE"],
    build: |key, _, _| {
        let span = key.span;
        Some(AnswerCheck::one(move |answer| {
            let ResponseKind::Success(result) = ResponseKind::of(answer.message) else {
                let message =
                    format!("{} was not answered with a result that has structured content", answer.describe_request());
                return Some(Mismatch::new("structured-text", span, message, "found no success"));
            };
            if repeats_structured_content(result) {
                return None;
            }
            let content = &result["structuredContent"];
            let first_text = texts_of(result).next();
            let message = "no text of the result repeats the structured content".to_owned();
            let mismatch = |label: &str| Mismatch::new("structured-text", span, message, label);
            // A text that is JSON is the nearest.
            let nearest = values_in_texts(result).into_iter().next();
            Some(match (nearest, first_text) {
                (Some((at, value)), _) => mismatch("this text holds other JSON")
                    .with_path(format!("result.content[{at}].text"))
                    .with_values(content, &value),
                (None, Some((at, text))) => mismatch("this text is not JSON")
                    .with_path(format!("result.content[{at}].text"))
                    .with_values(content, &Json::from(text)),
                (None, None) => {
                    mismatch("there is no text").with_path("result.content").with_values(content, &result["content"])
                }
            })
        }))
    },
};

/// True if a text of a result repeats its structured content, or a part of it.
pub(crate) fn repeats_structured_content(result: &Json) -> bool {
    let content = &result["structuredContent"];
    let is_part = |value: &Json| holds(content, value);
    texts_of(result).any(|(_, text)| is_part(&Json::from(text)) || read_json(text).as_ref().is_some_and(is_part))
}

/// The texts of a result, with the places of their blocks.
fn texts_of(result: &Json) -> impl Iterator<Item = (usize, &str)> {
    let blocks = result["content"].as_array().into_iter().flatten().enumerate();
    blocks.filter_map(|(at, block)| Some((at, block["text"].as_str()?)))
}
