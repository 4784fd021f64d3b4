//! Matchers that look at what the answer of a step does not have.

use crate::source::{Diagnostic, Located, Node};

/// Matchers of a response of HTTP.
const OF_HTTP: [&str; 2] = ["status", "closed"];

/// Matchers of a message of the protocol.
const OF_MESSAGES: [&str; 15] = [
    "text",
    "no_text_matching",
    "is_error",
    "error",
    "refused",
    "refused_or_ignored",
    "readable_error",
    "output_schema",
    "structured_text",
    "input_schema",
    "tools",
    "resources",
    "resource_templates",
    "prompts",
    "notifications",
];

/// How matchers are combined.
const LOGIC: [&str; 3] = ["not", "all", "any"];

/// The kind of a step's answer.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Message,
    Http,
    Cancelled,
}

/// Reports every matcher of a step that could only look at nothing.
pub(super) fn matchers(step: &Node, action: &str, found: &mut Vec<Diagnostic>) {
    let kind = match action {
        "http" => Kind::Http,
        _ if step.get("cancel").is_some() => Kind::Cancelled,
        _ => Kind::Message,
    };
    for item in step.get("expect").map(Node::items).unwrap_or_default() {
        in_item(item, kind, found);
    }
}

fn in_item(item: &Node, kind: Kind, found: &mut Vec<Diagnostic>) {
    if item.get("at").is_some() {
        // Everything beside a path looks at the value there.
        return;
    }
    for (key, value) in item.entries() {
        let name = key.value.as_str();
        if LOGIC.contains(&name) {
            std::iter::once(value).chain(value.items()).for_each(|inner| in_item(inner, kind, found));
        } else if !suits(name, kind) {
            found.push(stranger(key, kind));
        }
    }
}

fn suits(name: &str, kind: Kind) -> bool {
    match kind {
        Kind::Http => !OF_MESSAGES.contains(&name),
        Kind::Cancelled => !OF_MESSAGES.contains(&name) && !OF_HTTP.contains(&name),
        Kind::Message => !OF_HTTP.contains(&name),
    }
}

fn stranger(key: &Located<String>, kind: Kind) -> Diagnostic {
    let (message, help) = match kind {
        Kind::Http => (
            format!("`{}` looks at a message, and the answer of `http` is a response", key.value),
            "look at the message in it with `at: json.result` or `at: json.error.code`",
        ),
        Kind::Cancelled => (
            format!("`{}` looks at an answer, and a request that is cancelled should have none", key.value),
            "look at `at: answered`, `at: late` or `at: progress_after`",
        ),
        Kind::Message => (
            format!("`{}` looks at a response of HTTP, which only the step `http` has", key.value),
            "use it beside `http`",
        ),
    };
    Diagnostic::error("misplaced-key", message, key.span).with_help(help.to_owned())
}
