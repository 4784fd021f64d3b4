//! `text`: what the joined text blocks of a result must be like.

use super::super::reply::{Reply, text_value_of};
use super::super::value::{self, Absence, Checks, Place, VALUE};
use super::super::{Answer, mismatch::Mismatch, show};
use super::{Check, Matcher};
use crate::source::{Node, Span, shape::Shape, shape::key};

pub(super) static MATCHER: Matcher = Matcher {
    key: key(
        "text",
        Shape::Object(&VALUE),
        "Matchers of the joined text blocks of a tool's content, a resource's contents or a prompt's messages.",
    ),
    // What the value matchers within judge is added by `item`, which knows them.
    judges: |_: &Node| &[],
    build: |key, node, found| Some(Box::new(Text { checks: value::Checks::build(key, node, found)?, span: key.span })),
};

#[derive(Debug)]
struct Text {
    checks: Checks,
    span: Span,
}

impl Check for Text {
    fn check(&self, answer: &Answer<'_>, found: &mut Vec<Mismatch>) {
        if let Some(text) = answer.message.get("result").and_then(text_value_of) {
            self.checks.check(&text, Place::Named("the text"), found);
        } else if self.checks.absent() != Absence::Right {
            let reply = Reply::of(answer.message);
            let message = match reply {
                Reply::Error(_) => "the answer is a JSON-RPC error and has no text",
                Reply::Success(_) | Reply::ToolError(_) | Reply::Neither => "the answer has no text",
            };
            found.push(
                Mismatch::new("missing-value", self.span, message, format!("got {}", show::quoted(&reply.describe())))
                    .with_path("text")
                    .with_actual(reply.describe()),
            );
        }
    }
}
