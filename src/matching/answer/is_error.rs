//! `is_error`: whether the tool reports an error, which is not the same as an error of JSON-RPC.

use super::super::{Answer, mismatch::Mismatch, read, reply::ResponseKind, show};
use super::{AnswerCheck, AnswerMatcher};
use crate::source::{Span, grammar::key};

pub(crate) static MATCHER: AnswerMatcher = AnswerMatcher {
    key: key(
        "is_error",
        read::FLAG,
        "Whether the result says `isError: true`; a JSON-RPC error matches neither value.",
    ),
    judges: |node| match node.flag() {
        Some(true) => &["TOOL-ERROR-AS-SUCCESS"],
        Some(false) => &["TOOL-SPURIOUS-ERROR"],
        None => &["TOOL-ERROR-AS-SUCCESS", "TOOL-SPURIOUS-ERROR"],
    },
    build: |key, node, _| {
        let (expected, span) = (node.flag()?, key.span);
        Some(AnswerCheck::one(move |answer| check(expected, span, answer)))
    },
};

fn check(expected: bool, span: Span, answer: &Answer<'_>) -> Option<Mismatch> {
    let reply = ResponseKind::of(answer.message);
    if matches!((expected, reply), (true, ResponseKind::ToolError(_)) | (false, ResponseKind::Success(_))) {
        return None;
    }
    let deed = answer.describe_request();
    let (message, label) = match (expected, reply) {
        (_, ResponseKind::Success(result)) => {
            (format!("{deed} succeeded, but must report an error"), flag_words(result.get("isError")))
        }
        (true, ResponseKind::Error(error)) => (
            format!("{deed} failed with a JSON-RPC error, not with a tool error"),
            format!("found JSON-RPC error {}; for such errors write `error: true`", show::inline(&error["code"])),
        ),
        (_, ResponseKind::ToolError(_)) => {
            let said = quote_answer(&reply);
            (format!("{deed} reported an error{said}"), format!("found `isError: true`{said}"))
        }
        (false, ResponseKind::Error(error)) => {
            let (said, code) = (quote_answer(&reply), show::inline(&error["code"]));
            (format!("{deed} failed with a JSON-RPC error{said}"), format!("found error {code}{said}"))
        }
        (_, ResponseKind::Neither) => {
            (format!("{deed} was answered with neither `result` nor `error`"), "found no result".to_owned())
        }
    };
    let mismatch = Mismatch::new("is-error", span, message, label).with_path("result.isError");
    Some(mismatch.with_expected(expected.to_string()).with_actual(reply.describe()))
}

/// The server's own words, behind a colon.
fn quote_answer(reply: &ResponseKind<'_>) -> String {
    reply.text().map(|text| format!(": {}", show::quote_sentence(&text))).unwrap_or_default()
}

fn flag_words(flag: Option<&serde_json::Value>) -> String {
    match flag {
        None => "`isError` is absent".to_owned(),
        Some(serde_json::Value::Bool(flag)) => format!("`isError` is {flag}"),
        Some(other) => format!("`isError` is {}, not a boolean", show::inline(other)),
    }
}
