//! The conversations of a run as they go, laid over those that were recorded: a mutant may ask what was said before, what
//! will be said later, and what is said in another session.

use std::sync::Arc;

use serde_json::Value;

use super::super::recording::{ExchangeKey, redact_message};
use crate::fault::{ClientMessage, ExchangeHistory, MessageExchange, ServerReply};
use crate::redact::Redactor;
use crate::transport::Owner;
use crate::wire::Catalog;

/// The recorded conversation.
#[derive(Debug)]
pub(crate) struct RecordedConversation {
    pub(crate) catalog: Catalog,
    pub(crate) capabilities: Value,
    exchanges: Vec<MessageExchange>,
    keys: Vec<ExchangeKey>,
    redactor: Redactor,
}

impl RecordedConversation {
    pub(crate) fn new(
        catalog: Catalog,
        capabilities: Value,
        exchanges: Vec<MessageExchange>,
        redactor: Redactor,
    ) -> Self {
        let keys = exchanges.iter().map(|exchange| ExchangeKey::of(&exchange.owner, &exchange.sent)).collect();
        Self { catalog, capabilities, exchanges, keys, redactor }
    }

    /// The key under which the recording knows a message.
    pub(crate) fn key(&self, owner: &Owner, said: &ClientMessage) -> ExchangeKey {
        ExchangeKey::of(owner, &redact_message(said.clone(), &self.redactor))
    }
}

/// The sessions of a run with one server, laid over the recording.
#[derive(Debug)]
pub(crate) struct LiveConversation {
    recorded: Arc<RecordedConversation>,
    exchanges: Vec<MessageExchange>,
    /// Which of them happened in this run.
    is_live: Vec<bool>,
}

impl LiveConversation {
    pub(crate) fn new(recorded: Arc<RecordedConversation>) -> Self {
        let (exchanges, is_live) = (recorded.exchanges.clone(), vec![false; recorded.exchanges.len()]);
        Self { recorded, exchanges, is_live }
    }

    /// Puts an exchange that begins where the recording has it, or at the end.
    pub(crate) fn begin(&mut self, key: &ExchangeKey, exchange: MessageExchange) -> usize {
        if let Some(at) = self.counterpart(key, &exchange) {
            self.exchanges[at] = exchange;
            self.is_live[at] = true;
            return at;
        }
        self.exchanges.push(exchange);
        self.is_live.push(true);
        self.exchanges.len() - 1
    }

    /// The same question of the same session; else, since ids differ from run to run, the next one of its kind.
    fn counterpart(&self, key: &ExchangeKey, exchange: &MessageExchange) -> Option<usize> {
        let recorded = || {
            let of_owner = self.recorded.exchanges.iter().enumerate().filter(|(_, known)| known.owner == key.owner);
            // Handshakes and discovery are alike in all sessions.
            let is_its = |(at, known): &(usize, &MessageExchange)| {
                known.owner == Owner::Session || known.session == exchange.session && !self.is_live[*at]
            };
            of_owner.filter(is_its).map(|(at, _)| at)
        };
        let is_same = |at: &usize| {
            self.recorded.keys[*at].request == key.request
                && self.recorded.exchanges[*at].occurrence == exchange.occurrence
        };
        recorded().find(is_same).or_else(|| recorded().find(|at| is_alike(&self.recorded.exchanges[*at], exchange)))
    }

    /// Adds something that came.
    pub(crate) fn add(&mut self, at: usize, reply: ServerReply) {
        self.exchanges[at].replies.push(reply);
    }

    pub(crate) fn history(&self) -> ExchangeHistory<'_> {
        let RecordedConversation { catalog, capabilities, .. } = &*self.recorded;
        ExchangeHistory { catalog, capabilities, exchanges: &self.exchanges }
    }
}

fn is_alike(one: &MessageExchange, other: &MessageExchange) -> bool {
    let is_request = |exchange: &MessageExchange| matches!(exchange.sent, ClientMessage::Message { id: Some(_), .. });
    one.method() == other.method() && one.tool() == other.tool() && is_request(one) == is_request(other)
}
