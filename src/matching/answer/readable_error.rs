//! `readable_error`: a model that reads the error can see what was wrong and what to try next; no model judges it.

use serde_json::Value as Json;

use super::super::{Answer, mismatch::Mismatch, reply::ResponseKind, show};
use super::wording::{TOO_SHORT, mentions, unreadable};
use super::{AnswerCheck, AnswerMatcher};
use crate::source::grammar::{Object, Shape, key};
use crate::source::{Diagnostic, Located, Node, Span, template::text_of};

/// The number of characters of an error that are read.
const READ: usize = 50_000;

pub(crate) static MATCHER: AnswerMatcher = AnswerMatcher {
    key: key(
        "readable_error",
        Shape::Either(&[Shape::True, Shape::Object(&READABLE)]),
        "The error says in words what was wrong and names the value or parameter at fault.",
    )
    .cure("leave it out where the wording does not matter"),
    judges: |_| &["TOOL-UNHELPFUL-ERROR"],
    build,
};

static READABLE: Object = Object {
    name: "a readable error check",
    doc: "The texts that an error must contain to help a model.",
    keys: &[&[
        key("names", Shape::Any, "The value or parameter at fault, which the error must name."),
        key("suggests", Shape::Text, "A tool of the server, which the error must name as the one to try next."),
    ]],
};

struct Readable {
    names: Option<String>,
    suggests: Option<String>,
    span: Span,
}

fn build(key: &Located<String>, node: &Node, _: &mut Vec<Diagnostic>) -> Option<AnswerCheck> {
    let names = node.get("names").map(|names| text_of(&names.to_json()));
    let suggests = node.get("suggests").and_then(Node::text).map(str::to_owned);
    let check = Readable { names, suggests, span: key.span };
    Some(AnswerCheck::all(move |answer, found| check.check(answer, found)))
}

impl Readable {
    fn check(&self, answer: &Answer<'_>, found: &mut Vec<Mismatch>) {
        let reply = ResponseKind::of(answer.message);
        if matches!(reply, ResponseKind::Success(_) | ResponseKind::Neither) {
            let message = format!("{} did not fail, so there is no error to read", answer.describe_request());
            found.push(
                Mismatch::new("readable-error", self.span, message, "found no error").with_actual(reply.describe()),
            );
            return;
        }
        let label = match self.deficits(&reply, answer) {
            deficits if deficits.is_empty() => return,
            deficits => deficits.join("; "),
        };
        let message = "a model could not act on this answer";
        found.push(Mismatch::new("readable-error", self.span, message, label).with_actual(reply.describe()));
    }

    fn deficits(&self, reply: &ResponseKind<'_>, answer: &Answer<'_>) -> Vec<String> {
        let text: String = reply.text().unwrap_or_default().chars().take(READ).collect();
        // Clients hand the data of an error on beside its message.
        let said = match reply {
            ResponseKind::Error(error) if error.get("data").is_some() => format!("{text} {}", text_of(&error["data"])),
            ResponseKind::Success(_) | ResponseKind::ToolError(_) | ResponseKind::Error(_) | ResponseKind::Neither => {
                text.clone()
            }
        };
        let fault = unreadable(&text);
        if text.trim().is_empty() {
            return fault.into_iter().map(str::to_owned).collect();
        }
        let mut deficits = Vec::new();
        let unnamed = self.missing_name(&said, answer);
        let unsuggested = self.suggests.as_ref().filter(|tool| !mentions(&said, tool));
        match (unnamed, unsuggested) {
            (Some(fault), Some(_)) => deficits.push(format!("names neither {fault} nor a tool to try next")),
            (Some(fault), None) => deficits.push(format!("does not name {fault}")),
            (None, Some(tool)) => deficits.push(format!("does not name `{tool}`, the tool to try next")),
            (None, None) => {}
        }
        if let Some(tool) = self.suggests.as_ref().filter(|tool| answer.catalog.tool(tool).is_none()) {
            let hint = show::did_you_mean(tool, answer.catalog.tool_names());
            deficits.push(format!("the server lists no tool `{tool}` to suggest{hint}"));
        }
        // A text that names nothing is not worth calling short as well.
        if let Some(fault) = fault.filter(|fault| *fault != TOO_SHORT || deficits.is_empty()) {
            deficits.push(fault.to_owned());
        }
        deficits
    }

    /// The value or parameter at fault, in the words of a label, if the error does not name it.
    fn missing_name(&self, said: &str, answer: &Answer<'_>) -> Option<String> {
        if let Some(names) = &self.names {
            return (!mentions(said, names)).then(|| format!("`{}`", show::quote(names)));
        }
        let suspects = suspects(answer);
        let is_named = suspects.is_empty() || suspects.iter().any(|suspect| mentions(said, suspect));
        (!is_named).then(|| match &suspects[..] {
            [only] => format!("`{}`", show::quote(only)),
            _ => "any value or parameter of the call".to_owned(),
        })
    }
}

/// Everything in a request that can be at fault: for a known tool its arguments, else whatever was sent.
fn suspects(answer: &Answer<'_>) -> Vec<String> {
    let mut suspects = Vec::new();
    match answer.tool().and_then(|name| answer.catalog.tool(name)) {
        Some(tool) => {
            collect(&answer.params["arguments"], &mut suspects);
            let required = tool.input_schema()["required"].as_array();
            suspects.extend(required.into_iter().flatten().filter_map(Json::as_str).map(str::to_owned));
        }
        None => collect_values(answer.params, &mut suspects),
    }
    suspects
}

/// Names and scalar values; a truth value is in no sense named by the word `true`.
fn collect(value: &Json, suspects: &mut Vec<String>) {
    if let Json::Object(fields) = value {
        suspects.extend(fields.keys().cloned());
    }
    collect_values(value, suspects);
}

fn collect_values(value: &Json, suspects: &mut Vec<String>) {
    match value {
        Json::Null | Json::Bool(_) => {}
        Json::Number(number) => suspects.push(number.to_string()),
        Json::String(text) => suspects.push(text.clone()),
        Json::Array(items) => items.iter().for_each(|item| collect_values(item, suspects)),
        // `_meta` is the protocol's, not the caller's.
        Json::Object(fields) => {
            fields.iter().filter(|(key, _)| *key != "_meta").for_each(|(_, item)| collect_values(item, suspects));
        }
    }
    suspects.retain(|suspect| !suspect.trim().is_empty());
}
