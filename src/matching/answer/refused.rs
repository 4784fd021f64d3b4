//! `refused`: the request was turned down in one of the ways that a client can act on.

use serde_json::Value as Json;

use super::super::mismatch::{Mismatch, MismatchWeight};
use super::super::value::{Complaint, schema_complaint};
use super::super::{Answer, reply::ResponseKind, show};
use super::wording::{interpreter_message, shows_stack};
use super::{AnswerCheck, AnswerMatcher};
use crate::schema::Judge;
use crate::source::{Node, Span, grammar::Shape, grammar::key};
use crate::wire::Tool;

/// Codes that say that the request, not the server, is at fault: bad parameters, unknown method, unknown resource,
/// bad request.
const BLAMES_THE_REQUEST: [i64; 4] = [-32602, -32601, -32002, -32600];

/// The code with which a server says that it broke.
const INTERNAL: i64 = -32603;

/// `true`, or a word for what should be refused and need not be.
pub(crate) const BINDING: Shape = Shape::Either(&[Shape::True, Shape::Choice(&["should"])]);

/// The same, with words for requests about which the specification says nothing.
const REFUSED: Shape = Shape::Either(&[Shape::True, Shape::Choice(&["should", "advised", "may"])]);

pub(crate) static MATCHER: AnswerMatcher = AnswerMatcher {
    key: key(
        "refused",
        REFUSED,
        "The server refuses the request with `isError: true` or with the JSON-RPC error -32600, -32601, -32602 or \
         -32002, and says why. With `should`, a success is only a warning; with `advised`, another code is, too; with \
         `may`, a success is right, and another code a warning.",
    )
    .cure("for a call without errors write `is_error: false`"),
    judges: |_| &["TOOL-ERROR-AS-SUCCESS"],
    build: |key, node, _| {
        let (is_advice, is_optional) = (node.text() == Some("advised"), node.text() == Some("may"));
        let check = RefusedCheck {
            span: key.span,
            served: if is_optional {
                None
            } else if is_advice {
                Some(MismatchWeight::Warns)
            } else {
                Some(weight(node))
            },
            other_code: if is_advice || is_optional { MismatchWeight::Warns } else { MismatchWeight::Fails },
        };
        Some(AnswerCheck::all(move |answer, found| check.check(answer, found)))
    },
};

/// The weight of a request that was served.
pub(crate) fn weight(node: &Node) -> MismatchWeight {
    if node.text() == Some("should") { MismatchWeight::Warns } else { MismatchWeight::Fails }
}

struct RefusedCheck {
    span: Span,
    /// The weight of a success; `None` where it is right.
    served: Option<MismatchWeight>,
    /// The weight of an error that does not blame the request.
    other_code: MismatchWeight,
}

impl RefusedCheck {
    fn check(&self, answer: &Answer<'_>, found: &mut Vec<Mismatch>) {
        let reply = ResponseKind::of(answer.message);
        let text = reply.text().unwrap_or_default();
        let mismatch = match reply {
            ResponseKind::Success(_) => match self.served {
                Some(weight) => self.served_mismatch(answer).with_weight(weight),
                None => return,
            },
            ResponseKind::Neither => self.fault(
                "refused",
                format!("{} was answered with neither `result` nor `error`", answer.describe_request()),
                "found no refusal",
            ),
            ResponseKind::Error(error) if !blames_the_request(error) => {
                self.wrong_code(answer, &error["code"]).with_weight(self.other_code)
            }
            ResponseKind::Error(_) | ResponseKind::ToolError(_) if text.trim().is_empty() => self.fault(
                "refusal-without-reason",
                format!("{} was refused without a reason", answer.describe_request()),
                "the error has no message",
            ),
            ResponseKind::Error(_) | ResponseKind::ToolError(_) if shows_stack(&text) => self
                .fault(
                    "refusal-with-stack",
                    format!("the refusal of {} shows a stack trace", answer.describe_request()),
                    "helps no caller, and reveals the server's internals",
                )
                .with_weight(MismatchWeight::Warns),
            ResponseKind::Error(_) | ResponseKind::ToolError(_) if is_broken(answer, &text) => self
                .fault(
                    "refusal-by-interpreter",
                    format!("{} failed with an interpreter's message instead of a refusal", answer.describe_request()),
                    "helps no caller: the tool crashed on arguments that it should have checked",
                )
                .with_weight(MismatchWeight::Warns),
            ResponseKind::Error(_) | ResponseKind::ToolError(_) => return,
        };
        found.push(mismatch.with_actual(reply.describe()));
    }

    fn fault(&self, code: &'static str, message: String, label: &str) -> Mismatch {
        Mismatch::new(code, self.span, message, label)
    }

    fn served_mismatch(&self, answer: &Answer<'_>) -> Mismatch {
        let deed = answer.describe_request();
        match (answer.tool(), forbidden(answer)) {
            (Some(_), Some(complaint)) => self
                .fault(
                    "forbidden-served",
                    format!("{deed} was served although the tool's own schema forbids it"),
                    &format!("answered with a success; {complaint}"),
                )
                .with_expected(format!("a refusal: {complaint}")),
            (Some(tool), None) if answer.catalog.tool(tool).is_none() => self.fault(
                "forbidden-served",
                format!("{deed} was served although the server lists no such tool"),
                "answered with a success",
            ),
            _ => self.fault(
                "forbidden-served",
                format!("{deed} was served, but must be refused"),
                "answered with a success",
            ),
        }
    }

    fn wrong_code(&self, answer: &Answer<'_>, code: &Json) -> Mismatch {
        let says = if code.as_i64() == Some(INTERNAL) { ", which blames the server" } else { "" };
        let found = format!(
            "found error {}{says}; a refusal has the code -32600, -32601, -32602 or -32002",
            show::inline(code)
        );
        let message = format!("{} failed with an error that does not blame the request", answer.describe_request());
        self.fault("refusal-code", message, &found)
    }
}

/// The tool broke over its arguments; one that runs what callers write may say so of theirs.
fn is_broken(answer: &Answer<'_>, text: &str) -> bool {
    let runs_code = answer.tool().and_then(|tool| answer.catalog.tool(tool)).is_some_and(Tool::runs_code);
    !runs_code && interpreter_message(text).is_some()
}

fn blames_the_request(error: &Json) -> bool {
    error["code"].as_i64().is_some_and(|code| BLAMES_THE_REQUEST.contains(&code))
}

/// The violation of the tool's input schema by the sent arguments.
fn forbidden(answer: &Answer<'_>) -> Option<String> {
    let schema = answer.catalog.tool(answer.tool()?)?.input_schema();
    let judge = Judge::of(schema).ok()?;
    match schema_complaint(&judge, &answer.params["arguments"])? {
        Complaint::Broken { label, .. } => Some(label),
        Complaint::TooLong => None,
    }
}
