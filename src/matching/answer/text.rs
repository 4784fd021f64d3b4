//! `text`: what the joined text blocks of a result must be like.

use super::super::reply::{ResponseKind, text_value_of};
use super::super::value::{Absence, Checks, VALUE, ValuePlace};
use super::super::{mismatch::Mismatch, show};
use super::{AnswerCheck, AnswerMatcher};
use crate::source::{grammar::Shape, grammar::key};

pub(crate) static MATCHER: AnswerMatcher = AnswerMatcher {
    key: key(
        "text",
        Shape::Object(&VALUE),
        "Matchers of the joined text blocks of a tool's content, a resource's contents or a prompt's messages.",
    ),
    // `item` adds the variants that the nested value matchers judge.
    judges: |_| &[],
    build: |key, node, found| {
        let (checks, span) = (Checks::build(node, found)?, key.span);
        Some(AnswerCheck::all(move |answer, found| {
            if let Some(text) = answer.message.get("result").and_then(text_value_of) {
                checks.check(&text, ValuePlace::Named("the text"), found);
            } else if checks.absent() != Absence::Right {
                let reply = ResponseKind::of(answer.message);
                let message = match reply {
                    ResponseKind::Error(_) => "the answer is a JSON-RPC error and has no text",
                    ResponseKind::Success(_) | ResponseKind::ToolError(_) | ResponseKind::Neither => {
                        "the answer has no text"
                    }
                };
                found.push(
                    Mismatch::missing(span, message, format!("got {}", show::quote(&reply.describe())))
                        .with_path("text")
                        .with_actual(reply.describe()),
                );
            }
        }))
    },
};
