//! The answer of an exchange as a step of a suite sees it, and whether an expectation holds for it.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use super::super::recording::RequestKey;
use crate::fault::{ClientMessage, MessageExchange, ServerReply};
use crate::matching::{Answer as MatchedAnswer, Expectation, Mismatch, MismatchWeight};
use crate::source::template::{Names, from_json};
use crate::source::{SourceFile, Sources, Span};
use crate::wire::Catalog;

/// The answer to a request, and the notifications before it.
#[derive(Debug, Clone)]
pub(crate) struct ExchangeAnswer {
    pub(crate) message: Value,
    pub(crate) notifications: Vec<Arc<Value>>,
    pub(crate) elapsed: Duration,
}

/// The kind of answer to a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ExchangeAnswerKind {
    Served,
    /// With `isError: true`.
    Failed,
    /// With an error of JSON-RPC.
    Refused,
    /// With neither result nor error.
    Odd,
}

impl ExchangeAnswer {
    /// The answer to an exchange; `None` where nothing came that could be looked at.
    pub(crate) fn of(asked: &ClientMessage, replies: &[ServerReply]) -> Option<Self> {
        let id = match asked {
            ClientMessage::Message { id, .. } => id.clone()?,
            ClientMessage::Raw(bytes) => {
                serde_json::from_slice::<Value>(bytes).ok().and_then(|value| value.get("id").cloned())?
            }
        };
        let is_answer = |message: &Value| message.get("id") == Some(&id);
        let at = replies.iter().position(|reply| reply.response().is_some_and(is_answer))?;
        let earlier = replies[..at].iter().filter_map(ServerReply::sent_message);
        Some(Self {
            message: replies[at].message()?.clone(),
            notifications: earlier.filter(|message| message.get("id").is_none()).cloned().map(Arc::new).collect(),
            elapsed: replies[at].after,
        })
    }

    pub(crate) fn kind(&self) -> ExchangeAnswerKind {
        match (self.message.get("error"), self.message.get("result")) {
            (Some(_), _) => ExchangeAnswerKind::Refused,
            (None, Some(result)) if result["isError"] == true => ExchangeAnswerKind::Failed,
            (None, Some(_)) => ExchangeAnswerKind::Served,
            (None, None) => ExchangeAnswerKind::Odd,
        }
    }

    /// The answer without what belongs to the envelope.
    pub(crate) fn content(&self) -> Value {
        let mut message = self.message.clone();
        if let Some(members) = message.as_object_mut() {
            members.retain(|name, _| name == "result" || name == "error");
        }
        message
    }
}

/// The recorded answers to a request, as far as a fresh one would have to be like them.
pub(crate) fn elsewhere(
    exchanges: &[MessageExchange],
    exchange: &MessageExchange,
    like: ExchangeAnswerKind,
) -> Vec<ExchangeAnswer> {
    let said = RequestKey::of(&exchange.sent);
    let is_other = |other: &&MessageExchange| {
        (&other.owner, other.session) != (&exchange.owner, exchange.session)
            && other.method() == exchange.method()
            // Cheaper than the whole, and tells most apart.
            && ["name", "uri"].iter().all(|key| other.params()[key] == exchange.params()[key])
            && RequestKey::of(&other.sent) == said
    };
    let others = exchanges.iter().filter(is_other).filter_map(|other| ExchangeAnswer::of(&other.sent, &other.replies));
    others.filter(|answer| answer.kind() == like).collect()
}

/// Everything that judging an expectation takes without a run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ExpectationChecker<'a> {
    pub(crate) method: &'a str,
    pub(crate) params: &'a Value,
    pub(crate) catalog: &'a Catalog,
    pub(crate) names: &'a Names,
}

impl ExpectationChecker<'_> {
    /// The expectation holds; `None` if it is not valid.
    pub(crate) fn holds(self, item: &Value, answer: &ExchangeAnswer) -> Option<bool> {
        let mut sources = Sources::default();
        let span = Span { source: sources.add(SourceFile::new("missing", "x")), start: 0, end: 1 };
        let expectation = Expectation::build(&from_json(item, span), &mut Vec::new())?;
        let answer = MatchedAnswer {
            method: self.method,
            params: self.params,
            message: &answer.message,
            notifications: &answer.notifications,
            elapsed: answer.elapsed,
            catalog: self.catalog,
            names: self.names,
            files: None,
        };
        let fails = |mismatch: &Mismatch| matches!(mismatch.weight, MismatchWeight::Fails);
        Some(!expectation.evaluate(&answer).iter().any(fails))
    }
}
