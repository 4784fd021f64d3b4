//! `unserved`: whatever came back is no success. For messages that are no requests, which a server may leave unanswered.

use serde_json::Value as Json;

use super::super::mismatch::{Mismatch, Weight};
use super::super::{Answer, reply::Reply};
use super::refused::{BINDING, weight};
use super::{Check, Matcher};
use crate::source::{Span, shape::key};

pub(super) static MATCHER: Matcher = Matcher {
    key: key(
        "unserved",
        BINDING,
        "No answer is a success: what was sent was refused, or nobody answered it. `should` only warns where it was \
         served.",
    ),
    judges: |_| &["PROTO-MALFORMED-ENVELOPE"],
    build: |key, node, found| {
        let served = weight(key, node, "leave it out where a success is right", found)?;
        Some(Box::new(Unserved { span: key.span, served }))
    },
};

#[derive(Debug)]
struct Unserved {
    span: Span,
    served: Weight,
}

impl Check for Unserved {
    fn check(&self, answer: &Answer<'_>, found: &mut Vec<Mismatch>) {
        let whole = [answer.message.clone()];
        // Raw messages have every answer that came; none is right, too.
        let answers = answer.message["answers"].as_array().map_or(&whole[..], Vec::as_slice);
        let Some(served) = answers.iter().find(|answer| is_success(answer)) else { return };
        let message = match answer.method {
            "send" => "a message that is no valid request was served".to_owned(),
            _ => format!("{} was served, and must not be", answer.deed()),
        };
        found.push(
            Mismatch::new("malformed-served", self.span, message, "answered with a success")
                .with_weight(self.served)
                .with_expected("an error, or no answer")
                .with_actual(Reply::of(served).describe()),
        );
    }
}

fn is_success(answer: &Json) -> bool {
    matches!(Reply::of(answer), Reply::Success(_))
}
