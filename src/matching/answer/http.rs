//! `status` and `closed`: how a response of HTTP begins, and whether there is one at all.

use std::ops::RangeInclusive;

use serde_json::Value as Json;

use super::super::{mismatch::Mismatch, read, show};
use super::{AnswerCheck, AnswerMatcher};
use crate::source::grammar::{Shape, key};
use crate::source::{Diagnostic, Located, Node, template::has_template};

pub(crate) static STATUS: AnswerMatcher = AnswerMatcher {
    key: key(
        "status",
        Shape::Either(&[CODE, Shape::Template, CLASS, Shape::NonEmpty(&Shape::List(&ONE))]),
        "The status of the response of an `http` step: a number, a class such as `4xx`, or a list of these.",
    )
    .cure("write a number such as `403`, or a class such as `4xx`"),
    judges: |_| &["PROTO-HTTP-CONTRACT"],
    build: status,
};

pub(crate) static CLOSED: AnswerMatcher = AnswerMatcher {
    key: key(
        "closed",
        read::FLAG,
        "Whether the server closes the connection of an `http` step before its response is complete.",
    ),
    judges: |_| &["PROTO-HTTP-CONTRACT"],
    build: |key, node, _| {
        let (expected, span) = (node.flag()?, key.span);
        Some(AnswerCheck::one(move |answer| {
            let closed = answer.message["closed"] == Json::Bool(true);
            if closed == expected {
                return None;
            }
            let deed = answer.describe_request();
            let (message, label) = if closed {
                (format!("the server closed the connection before its response to {deed} was whole"), "it was closed")
            } else {
                (format!("the server did not close the connection after {deed}"), "it was not closed")
            };
            Some(
                Mismatch::new("closed", span, message, label)
                    .with_path("closed")
                    .with_expected(expected.to_string())
                    .with_actual(describe_response(answer.message)),
            )
        }))
    },
};

static ONE: Shape = Shape::Either(&[CODE, Shape::Template, CLASS]);

const CODE: Shape = Shape::Range(100, 999);

const CLASS: Shape = Shape::Choice(&["1xx", "2xx", "3xx", "4xx", "5xx"]);

fn status(key: &Located<String>, node: &Node, _: &mut Vec<Diagnostic>) -> Option<AnswerCheck> {
    if has_template(node) {
        return None;
    }
    let written = if node.items().is_empty() { std::slice::from_ref(node) } else { node.items() };
    let allowed = written.iter().map(status_range).collect::<Option<Vec<_>>>()?;
    let span = key.span;
    Some(AnswerCheck::one(move |answer| {
        let code = answer.message["status"].as_u64();
        if code.is_some_and(|code| allowed.iter().any(|allowed| allowed.contains(&code))) {
            return None;
        }
        let expected = allowed.iter().map(words).collect::<Vec<_>>().join(" or ");
        let (message, label) = match code {
            Some(code) => {
                let reason = show::quote(answer.message["reason"].as_str().unwrap_or_default());
                let shown = format!("{code} {reason}");
                (
                    format!("{} was answered with HTTP {}", answer.describe_request(), shown.trim_end()),
                    format!("found {code}"),
                )
            }
            None => (format!("{} got no response", answer.describe_request()), "there is no status".to_owned()),
        };
        let mismatch = Mismatch::new("status", span, message, label).with_path("status").with_expected(expected);
        Some(mismatch.with_actual(describe_response(answer.message)))
    }))
}

/// The statuses that a number or a class such as `4xx` allows.
fn status_range(node: &Node) -> Option<RangeInclusive<u64>> {
    let text = node.text();
    let class: Option<u64> = text.and_then(|text| text.strip_suffix("xx")).and_then(|class| class.parse().ok());
    if let Some(class) = class.filter(|class| (1..=5).contains(class)) {
        return Some(class * 100..=class * 100 + 99);
    }
    let code = node.whole().or_else(|| text?.parse().ok());
    code.filter(|code| (100..1000).contains(code)).map(|code| code..=code)
}

fn words(allowed: &RangeInclusive<u64>) -> String {
    let first = allowed.start();
    if first == allowed.end() { first.to_string() } else { format!("{}xx", first / 100) }
}

/// The response in one line of evidence.
fn describe_response(message: &Json) -> String {
    let Some(status) = message["status"].as_u64() else {
        let words = if message["silent"] == true { "silence" } else { "the end of the connection" };
        return format!("no response, {words}");
    };
    let kind = message["headers"]["content-type"].as_str().unwrap_or("no content type");
    let body = message["body"].as_str().unwrap_or_default();
    let body = if body.is_empty() { "no body".to_owned() } else { format!("body {}", show::json_text(body)) };
    format!("HTTP {status}, {}, {body}", show::quote(kind))
}
