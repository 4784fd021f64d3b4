//! `text`: what the joined text blocks of a result must be like.

use super::super::reply::{ResponseKind, text_value_of};
use super::super::value::{self, Absence, Checks, VALUE, ValuePlace};
use super::super::{Answer, mismatch::Mismatch, show};
use super::{AnswerCheck, AnswerMatcher};
use crate::source::{Node, Span, grammar::Shape, grammar::key};

pub(super) static MATCHER: AnswerMatcher = AnswerMatcher {
    key: key(
        "text",
        Shape::Object(&VALUE),
        "Matchers of the joined text blocks of a tool's content, a resource's contents or a prompt's messages.",
    ),
    // What the value matchers within judge is added by `item`, which knows them.
    judges: |_: &Node| &[],
    build: |key, node, found| {
        Some(Box::new(TextCheck { checks: value::Checks::build(key, node, found)?, span: key.span }))
    },
};

#[derive(Debug)]
struct TextCheck {
    checks: Checks,
    span: Span,
}

impl AnswerCheck for TextCheck {
    fn check(&self, answer: &Answer<'_>, found: &mut Vec<Mismatch>) {
        if let Some(text) = answer.message.get("result").and_then(text_value_of) {
            self.checks.check(&text, ValuePlace::Named("the text"), found);
        } else if self.checks.absent() != Absence::Right {
            let reply = ResponseKind::of(answer.message);
            let message = match reply {
                ResponseKind::Error(_) => "the answer is a JSON-RPC error and has no text",
                ResponseKind::Success(_) | ResponseKind::ToolError(_) | ResponseKind::Neither => {
                    "the answer has no text"
                }
            };
            found.push(
                Mismatch::new("missing-value", self.span, message, format!("got {}", show::quoted(&reply.describe())))
                    .with_path("text")
                    .with_actual(reply.describe()),
            );
        }
    }
}
