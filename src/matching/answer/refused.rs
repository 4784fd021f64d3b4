//! `refused`: the request was turned down in one of the ways that a client can act on.

use super::super::{Answer, mismatch::Mismatch, read, reply::Reply, show};
use super::{Check, Matcher};
use crate::source::{Span, shape::Shape, shape::key};

/// Codes that say that the request, not the server, is at fault: bad parameters, unknown method, unknown resource,
/// bad request.
const BLAMES_THE_REQUEST: [i64; 4] = [-32602, -32601, -32002, -32600];

pub(super) static MATCHER: Matcher = Matcher {
    key: key(
        "refused",
        Shape::Flag,
        "The request was turned down, by `isError: true` or by the JSON-RPC error -32600, -32601, -32602 or -32002, with \
         a message.",
    ),
    judges: |_| &["TOOL-ERROR-AS-SUCCESS"],
    build: |key, node, found| {
        read::only_true(key, node, "for a call without errors write `is_error: false`", found)?;
        Some(Box::new(Refused { span: key.span }))
    },
};

#[derive(Debug)]
struct Refused {
    span: Span,
}

impl Check for Refused {
    fn check(&self, answer: &Answer<'_>, found: &mut Vec<Mismatch>) {
        let reply = Reply::of(answer.message);
        let says_something = reply.text().is_some_and(|text| !text.trim().is_empty());
        let (fault, label) = match reply {
            Reply::Error(error) if !blames_the_request(error) => (
                "failed with an error that does not blame the request",
                format!("found error {}; a refusal is -32600, -32601, -32602 or -32002", show::inline(&error["code"])),
            ),
            Reply::Error(_) | Reply::ToolError(_) if says_something => return,
            Reply::Error(_) | Reply::ToolError(_) => {
                ("was refused without a reason", "the error has no message".to_owned())
            }
            Reply::Success(_) => ("was accepted, and must be refused", "answered with a success".to_owned()),
            Reply::Neither => ("was answered with neither `result` nor `error`", "found no refusal".to_owned()),
        };
        let message = format!("{} {fault}", answer.deed());
        found.push(Mismatch::new("refused", self.span, message, label).with_actual(reply.describe()));
    }
}

fn blames_the_request(error: &serde_json::Value) -> bool {
    error["code"].as_i64().is_some_and(|code| BLAMES_THE_REQUEST.contains(&code))
}
