//! `refused_or_ignored`: the answer is no success. For messages that are no requests, which a server may ignore.

use serde_json::Value as Json;

use super::super::mismatch::Mismatch;
use super::super::reply::ResponseKind;
use super::refused::{BINDING, weight};
use super::{AnswerCheck, AnswerMatcher};
use crate::source::grammar::key;

pub(crate) static MATCHER: AnswerMatcher = AnswerMatcher {
    key: key(
        "refused_or_ignored",
        BINDING,
        "The server answers with an error or not at all. With `should`, a success is only a warning.",
    )
    .cure("leave the key out where a success is allowed"),
    judges: |_| &["PROTO-MALFORMED-ENVELOPE"],
    build: |key, node, _| {
        let weight = weight(node);
        let span = key.span;
        Some(AnswerCheck::one(move |answer| {
            let whole = [answer.message.clone()];
            // Raw messages have every answer that came; none is right, too.
            let answers = answer.message["answers"].as_array().map_or(&whole[..], Vec::as_slice);
            let served = answers.iter().find(|answer| is_success(answer))?;
            let message = match answer.method {
                "send" => "a message that is not a valid request was served".to_owned(),
                _ => format!("{} was served, but should not be", answer.describe_request()),
            };
            Some(
                Mismatch::new("malformed-served", span, message, "answered with a success")
                    .with_weight(weight)
                    .with_expected("an error, or no answer")
                    .with_actual(ResponseKind::of(served).describe()),
            )
        }))
    },
};

fn is_success(answer: &Json) -> bool {
    matches!(ResponseKind::of(answer), ResponseKind::Success(_))
}
