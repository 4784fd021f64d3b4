//! The kind of answer to which each matcher applies.

use crate::matching::{JudgedAnswer, is_logic, judged_answer};
use crate::source::{Diagnostic, Located, Node};

/// The kind of a step's answer.
#[derive(Clone, Copy, PartialEq, Eq)]
enum AnswerKind {
    Message,
    Http,
    Cancelled,
}

/// Reports every matcher that does not apply to the answer of its step.
pub(crate) fn check(step: &Node, action: &str, found: &mut Vec<Diagnostic>) {
    let kind = match action {
        "http" => AnswerKind::Http,
        _ if step.get("cancel").is_some() => AnswerKind::Cancelled,
        _ => AnswerKind::Message,
    };
    for item in step.get("expect").map(Node::items).unwrap_or_default() {
        check_item(item, kind, found);
    }
}

fn check_item(item: &Node, kind: AnswerKind, found: &mut Vec<Diagnostic>) {
    if item.get("at").is_some() {
        // Everything beside a path looks at the value there.
        return;
    }
    for (key, value) in item.entries() {
        let name = key.value.as_str();
        if is_logic(name) {
            std::iter::once(value).chain(value.items()).for_each(|inner| check_item(inner, kind, found));
        } else if !applies_to(name, kind) {
            found.push(misplaced_matcher(key, kind));
        }
    }
}

fn applies_to(name: &str, kind: AnswerKind) -> bool {
    match (judged_answer(name), kind) {
        (None, _)
        | (Some(JudgedAnswer::Message), AnswerKind::Message)
        | (Some(JudgedAnswer::HttpResponse), AnswerKind::Http) => true,
        (Some(_), _) => false,
    }
}

fn misplaced_matcher(key: &Located<String>, kind: AnswerKind) -> Diagnostic {
    let (message, help) = match kind {
        AnswerKind::Http => (
            format!("`{}` looks at a message, and the answer of `http` is a response", key.value),
            "look at the message in it with `at: json.result` or `at: json.error.code`",
        ),
        AnswerKind::Cancelled => (
            format!("`{}` looks at an answer, and a request that is cancelled should have none", key.value),
            "look at `at: answered`, `at: late` or `at: progress_after`",
        ),
        AnswerKind::Message => (
            format!("`{}` looks at a response of HTTP, which only the step `http` has", key.value),
            "use it beside `http`",
        ),
    };
    Diagnostic::error("misplaced-key", message, key.span).with_help(help.to_owned())
}
