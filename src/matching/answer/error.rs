//! `error`: a JSON-RPC error, its code, its message and its data.

use serde_json::{Number, Value as Json};

use super::super::value::{Absence, Checks, VALUE, ValuePlace};
use super::super::{Answer, mismatch::Mismatch, read, reply::ResponseKind, show};
use super::{AnswerCheck, AnswerMatcher};
use crate::schema::same;
use crate::source::grammar::{Object, Shape, alternative, key};
use crate::source::{Diagnostic, Located, Node, Span, Value};

pub(crate) static MATCHER: AnswerMatcher = AnswerMatcher {
    key: key(
        "error",
        Shape::Either(&[Shape::True, Shape::Object(&ERROR)]),
        "The answer is a JSON-RPC error: `true`, or matchers of the error.",
    )
    .cure("for a call without errors write `is_error: false`"),
    judges: |node| match node.get("code") {
        Some(_) => &["TOOL-ERROR-AS-SUCCESS", "PROTO-WRONG-ERROR-CODE"],
        None => &["TOOL-ERROR-AS-SUCCESS"],
    },
    build,
};

static ERROR: Object = Object {
    name: "an error check",
    doc: "Matchers of a JSON-RPC error.",
    keys: &[&[
        alternative("code", read::NUMBER, "The code, such as `-32602`.").cure("write `error: true`"),
        alternative("message", Shape::Object(&VALUE), "Matchers of the message."),
        alternative("data", Shape::Object(&VALUE), "Matchers of the data."),
    ]],
};

struct RpcError {
    code: Option<(Number, Span)>,
    members: Vec<ErrorMember>,
    span: Span,
}

/// A member of the error and what it must be like.
#[derive(Debug)]
struct ErrorMember {
    name: &'static str,
    path: &'static str,
    checks: Checks,
    span: Span,
}

fn build(key: &Located<String>, node: &Node, found: &mut Vec<Diagnostic>) -> Option<AnswerCheck> {
    let code = match node.get("code") {
        None => None,
        Some(code) => {
            let Value::Number(number) = &code.value else { return None };
            Some((number.clone(), code.span))
        }
    };
    let mut members = Vec::new();
    for (name, path) in [("message", "error.message"), ("data", "error.data")] {
        if let Some((key, node)) = node.entries().iter().find(|(key, _)| key.value == name) {
            members.push(Checks::build(node, found).map(|checks| ErrorMember { name, path, checks, span: key.span }));
        }
    }
    let check = RpcError { code, members: members.into_iter().collect::<Option<_>>()?, span: key.span };
    Some(AnswerCheck::all(move |answer, found| check.check(answer, found)))
}

impl RpcError {
    fn check(&self, answer: &Answer<'_>, found: &mut Vec<Mismatch>) {
        let reply = ResponseKind::of(answer.message);
        let label = match reply {
            ResponseKind::Error(error) => return self.check_error(error, found),
            ResponseKind::ToolError(_) => {
                "found `isError: true`, an error of the tool; for such errors write `is_error: true`"
            }
            ResponseKind::Success(_) => "found a success",
            ResponseKind::Neither => "found neither `result` nor `error`",
        };
        let message = format!("{} was not answered with a JSON-RPC error", answer.describe_request());
        found.push(Mismatch::new("error", self.span, message, label).with_path("error").with_actual(reply.describe()));
    }

    fn check_error(&self, error: &Json, found: &mut Vec<Mismatch>) {
        if let Some((code, span)) = &self.code
            && !same(&Json::Number(code.clone()), &error["code"])
        {
            let actual = show::inline(&error["code"]);
            found.push(
                Mismatch::new(
                    "error",
                    *span,
                    format!("the error code is {actual}, not {code}"),
                    format!("found {actual}"),
                )
                .with_path("error.code")
                .with_expected(code.to_string())
                .with_actual(show::compact(error)),
            );
        }
        for ErrorMember { name, path, checks, span } in &self.members {
            match error.get(*name) {
                Some(value) => checks.check(value, ValuePlace::Path(path), found),
                None if checks.absent() == Absence::Right => {}
                None => found.push(
                    Mismatch::missing(*span, format!("the error has no `{name}`"), "finds nothing")
                        .with_path(*path)
                        .with_actual(show::compact(error)),
                ),
            }
        }
    }
}
