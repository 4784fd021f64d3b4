//! `refused_or_ignored`: the answer is no success. For messages that are no requests, which a server may ignore.

use serde_json::Value as Json;

use super::super::mismatch::{Mismatch, MismatchWeight};
use super::super::{Answer, reply::ResponseKind};
use super::refused::{BINDING, weight};
use super::{AnswerCheck, AnswerMatcher};
use crate::source::{Span, grammar::key};

pub(super) static MATCHER: AnswerMatcher = AnswerMatcher {
    key: key(
        "refused_or_ignored",
        BINDING,
        "The server answers with an error or not at all. With `should`, a success is only a warning.",
    ),
    judges: |_| &["PROTO-MALFORMED-ENVELOPE"],
    build: |key, node, found| {
        let served = weight(key, node, "leave the key out where a success is allowed", found)?;
        Some(Box::new(RefusedOrIgnored { span: key.span, served }))
    },
};

#[derive(Debug)]
struct RefusedOrIgnored {
    span: Span,
    served: MismatchWeight,
}

impl AnswerCheck for RefusedOrIgnored {
    fn check(&self, answer: &Answer<'_>, found: &mut Vec<Mismatch>) {
        let whole = [answer.message.clone()];
        // Raw messages have every answer that came; none is right, too.
        let answers = answer.message["answers"].as_array().map_or(&whole[..], Vec::as_slice);
        let Some(served) = answers.iter().find(|answer| is_success(answer)) else { return };
        let message = match answer.method {
            "send" => "a message that is not a valid request was served".to_owned(),
            _ => format!("{} was served, but must not be", answer.deed()),
        };
        found.push(
            Mismatch::new("malformed-served", self.span, message, "answered with a success")
                .with_weight(self.served)
                .with_expected("an error, or no answer")
                .with_actual(ResponseKind::of(served).describe()),
        );
    }
}

fn is_success(answer: &Json) -> bool {
    matches!(ResponseKind::of(answer), ResponseKind::Success(_))
}
