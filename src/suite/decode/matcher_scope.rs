//! The kind of answer to which each matcher applies.

use crate::matching::{MatcherScope, is_logic, judged_answer};
use crate::source::{Diagnostic, Located, Node};
use crate::suite::grammar::ExchangeKeys;

/// The kind of a step's answer.
#[derive(Clone, Copy, PartialEq, Eq)]
enum AnswerKind {
    Message,
    Http,
    Cancelled,
}

/// Reports every matcher of a step that does not apply to its answer.
pub(crate) fn check(keys: &ExchangeKeys, found: &mut Vec<Diagnostic>) {
    let kind = match keys {
        ExchangeKeys { http: Some(_), .. } => AnswerKind::Http,
        ExchangeKeys { cancel: Some(_), .. } => AnswerKind::Cancelled,
        ExchangeKeys { .. } => AnswerKind::Message,
    };
    keys.expect.iter().flatten().for_each(|expectation| check_item(expectation.node(), kind, found));
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
        | (Some(MatcherScope::Message), AnswerKind::Message)
        | (Some(MatcherScope::HttpResponse), AnswerKind::Http) => true,
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
