//! The values that faults write: as they stand, or with templates that are filled from the exchange.
//!
//! A template that names what is not there makes nothing: a message with one does not come, a value is not written.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::exchange::{ExchangeHistory, MessageExchange, ServerReply};
use super::parsed_message::ParsedMessage;
use crate::source::template::{self, Names, fill, has_template, text_of};
use crate::source::{Diagnostic, MistakeKind, Node};

/// The names that templates can use.
const NAMES: [&str; 13] = [
    "id",
    "method",
    "params",
    "message",
    "headers",
    "query",
    "verb",
    "count",
    "earlier",
    "answer",
    "status",
    "answer_headers",
    "event",
];

/// A value that a fault writes.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Written {
    /// This one.
    Plain(Value),
    /// One with templates.
    Template(Node),
}

impl Written {
    /// Reads a value whose templates are sound.
    pub(crate) fn decode(node: &Node, found: &mut Vec<Diagnostic>) -> Option<Self> {
        if !has_template(node) {
            return Some(Self::Plain(node.to_json()));
        }
        let known: BTreeSet<String> = NAMES.iter().map(|name| (*name).to_owned()).collect();
        let mut mistakes = Vec::new();
        template::check(node, &known, &mut mistakes);
        for mistake in mistakes.iter_mut().filter(|mistake| mistake.kind == MistakeKind::UnknownName) {
            mistake.help = Some(format!("the names are `{}`", NAMES.join("`, `")));
        }
        let is_sound = mistakes.is_empty();
        found.append(&mut mistakes);
        is_sound.then(|| Self::Template(node.clone()))
    }

    /// The value; nothing if a template names what is not there.
    pub(crate) fn value(&self, names: &Names) -> Option<Value> {
        match self {
            Self::Plain(value) => Some(value.clone()),
            Self::Template(node) => Some(fill(node, names).ok()?.to_json()),
        }
    }

    pub(crate) fn is_template(&self) -> bool {
        matches!(self, Self::Template(_))
    }

    /// The value as text.
    pub(crate) fn text(&self, names: &Names) -> Option<String> {
        self.value(names).map(|value| text_of(&value))
    }
}

/// The names of a message of the client.
pub(crate) fn request_names(parsed: &ParsedMessage<'_>) -> Names {
    let mut names = Names::new();
    let message = parsed.message();
    for name in ["id", "method", "params"] {
        if let Some(value) = message.get(name) {
            names.insert(name.to_owned(), value.clone());
        }
    }
    if !message.is_null() {
        names.insert("message".to_owned(), message);
    }
    if let Some(head) = &parsed.head {
        names.insert("verb".to_owned(), head.verb.clone().into());
        names.insert("headers".to_owned(), head.headers.clone().into());
        names.insert("query".to_owned(), head.query.clone().into());
    }
    names
}

/// The names of an answer, or of a message that the server sends by itself.
pub(crate) fn answer_names(reply: &ServerReply) -> Names {
    let mut names = Names::new();
    if let Some(message) = reply.message() {
        names.insert("answer".to_owned(), message.clone());
    }
    if let Some(http) = &reply.http {
        names.insert("status".to_owned(), http.status.into());
        let headers: Names = http.headers.iter().map(|(name, value)| (name.clone(), value.clone().into())).collect();
        names.insert("answer_headers".to_owned(), headers.into());
    }
    names
}

/// The last request and answer of each method that the session had before.
pub(crate) fn earlier(at: usize, history: &ExchangeHistory<'_>) -> Names {
    let this = &history.exchanges[at];
    let is_of_session = |other: &&MessageExchange| other.owner == this.owner && other.session == this.session;
    let mut earlier = Names::new();
    for exchange in history.exchanges[..at].iter().filter(is_of_session) {
        let parsed = ParsedMessage::of(exchange);
        let answer = parsed.answer(&exchange.replies).and_then(|at| exchange.replies[at].message());
        if let (Some(method), Some(answer)) = (&parsed.method, answer) {
            earlier.insert(method.clone().into_owned(), json!({ "request": parsed.message(), "answer": answer }));
        }
    }
    earlier
}
