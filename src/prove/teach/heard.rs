//! What a step of a suite hears of an exchange, and whether an expectation holds for it.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use super::super::recording::Said;
use crate::fault::{Asked, Exchange, Reply, What};
use crate::matching::{Answer, Expectation};
use crate::source::template::{Names, from_json};
use crate::source::{SourceFile, Sources, Span};
use crate::wire::Catalog;

/// What came for a request: its answer, and what came before that.
#[derive(Debug, Clone)]
pub(super) struct Heard {
    pub(super) message: Value,
    pub(super) notifications: Vec<Arc<Value>>,
    pub(super) elapsed: Duration,
}

/// How a request ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    Served,
    /// With `isError: true`.
    Failed,
    /// With an error of JSON-RPC.
    Refused,
    /// With neither result nor error.
    Odd,
}

impl Heard {
    /// What came for an exchange; `None` where nothing that could be looked at did.
    pub(super) fn of(asked: &Asked, replies: &[Reply]) -> Option<Self> {
        let id = match asked {
            Asked::Message { id, .. } => id.clone()?,
            Asked::Raw(bytes) => {
                serde_json::from_slice::<Value>(bytes).ok().and_then(|value| value.get("id").cloned())?
            }
        };
        let is_answer = |message: &Value| message.get("method").is_none() && message.get("id") == Some(&id);
        let at = replies.iter().position(|reply| message(reply).is_some_and(is_answer))?;
        let earlier = replies[..at].iter().filter_map(message).filter(|message| message.get("method").is_some());
        Some(Self {
            message: message(&replies[at])?.clone(),
            notifications: earlier.filter(|message| message.get("id").is_none()).cloned().map(Arc::new).collect(),
            elapsed: replies[at].after,
        })
    }

    pub(super) fn ending(&self) -> Ending {
        match (self.message.get("error"), self.message.get("result")) {
            (Some(_), _) => Ending::Refused,
            (None, Some(result)) if result["isError"] == true => Ending::Failed,
            (None, Some(_)) => Ending::Served,
            (None, None) => Ending::Odd,
        }
    }

    /// The answer without what belongs to the envelope.
    pub(super) fn said(&self) -> Value {
        let mut message = self.message.clone();
        if let Some(members) = message.as_object_mut() {
            members.retain(|name, _| name == "result" || name == "error");
        }
        message
    }
}

fn message(reply: &Reply) -> Option<&Value> {
    match &reply.what {
        What::Message(message) => Some(message),
        What::Bytes(_) | What::Torn(_) | What::Stderr(_) | What::Stalled | What::Ended(_) => None,
    }
}

/// The recorded answers to a request, as far as a fresh one would have to be like them.
pub(super) fn elsewhere(exchanges: &[Exchange], exchange: &Exchange, like: Ending) -> Vec<Heard> {
    let said = Said::of(&exchange.asked);
    let is_other = |other: &&Exchange| {
        (&other.owner, other.session) != (&exchange.owner, exchange.session)
            && other.method() == exchange.method()
            // Cheaper than the whole, and tells most apart.
            && ["name", "uri"].iter().all(|key| other.params()[key] == exchange.params()[key])
            && Said::of(&other.asked) == said
    };
    let others = exchanges.iter().filter(is_other).filter_map(|other| Heard::of(&other.asked, &other.replies));
    others.filter(|heard| heard.ending() == like).collect()
}

/// What is needed to judge an expectation without a run.
#[derive(Debug, Clone, Copy)]
pub(super) struct Court<'a> {
    pub(super) method: &'a str,
    pub(super) params: &'a Value,
    pub(super) catalog: &'a Catalog,
    pub(super) names: &'a Names,
}

impl Court<'_> {
    /// Whether an expectation holds; `None` where it is none.
    pub(super) fn holds(self, item: &Value, heard: &Heard) -> Option<bool> {
        let mut sources = Sources::default();
        let span = Span { source: sources.add(SourceFile::new("missing", "x")), start: 0, end: 1 };
        let expectation = Expectation::build(&from_json(item, span), &mut Vec::new())?;
        let answer = Answer {
            method: self.method,
            params: self.params,
            message: &heard.message,
            notifications: &heard.notifications,
            elapsed: heard.elapsed,
            catalog: self.catalog,
            names: self.names,
        };
        Some(expectation.evaluate(&answer).is_empty())
    }
}
