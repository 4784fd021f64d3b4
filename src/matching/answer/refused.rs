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

pub(crate) static MATCHER: AnswerMatcher = AnswerMatcher {
    key: key(
        "refused",
        BINDING,
        "The server refuses the request with `isError: true` or with the JSON-RPC error -32600, -32601, -32602 or \
         -32002, and says why. With `should`, a success is only a warning.",
    )
    .cure("for a call without errors write `is_error: false`"),
    judges: |_| &["TOOL-ERROR-AS-SUCCESS"],
    build: |key, node, _| {
        let check = RefusedCheck { span: key.span, served: weight(node) };
        Some(AnswerCheck::all(move |answer, found| check.check(answer, found)))
    },
};

/// The weight of a request that was served.
pub(crate) fn weight(node: &Node) -> MismatchWeight {
    if node.text() == Some("should") { MismatchWeight::Warns } else { MismatchWeight::Fails }
}

struct RefusedCheck {
    span: Span,
    served: MismatchWeight,
}

impl RefusedCheck {
    fn check(&self, answer: &Answer<'_>, found: &mut Vec<Mismatch>) {
        let reply = ResponseKind::of(answer.message);
        let text = reply.text().unwrap_or_default();
        let mismatch = match reply {
            ResponseKind::Success(_) => self.served_mismatch(answer),
            ResponseKind::Neither => self.fault(
                "refused",
                format!("{} was answered with neither `result` nor `error`", answer.describe_request()),
                "found no refusal",
            ),
            ResponseKind::Error(error) if !blames_the_request(error) => self.wrong_code(answer, &error["code"]),
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
        let mismatch = match (answer.tool(), forbidden(answer)) {
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
        };
        mismatch.with_weight(self.served)
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
