//! The memory of a [`FaultPlayer`](super::FaultPlayer): the messages that passed, as far as faults count or repeat them, and
//! the changes so far.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde_json::{Map, Value, json};

use super::changed_message::ChangedMessage;
use super::condition::MatchCounter;
use super::exchange::{ClientMessage, ExchangeHistory, MessageExchange, ServerReply};
use super::live_request::LiveRequest;
use super::written::request_names;
use super::{Fault, FaultEffect};
use crate::source::template::Names;
use crate::source::{FNV, fnv};
use crate::wire::{Catalog, Tool, canonical, is_served};

/// The most strikes and exchanges that are kept.
const MOST_KEPT: usize = 10_000;

/// The change of one message by a fault.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Strike {
    /// The name of the fault.
    pub fault: String,
    /// The method of the request, and the tool that it calls; empty for bytes that are no message.
    pub asked: String,
    /// The changes, one line each.
    pub changes: Vec<String>,
}

/// A call of a tool that passed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PassedCall {
    /// The time when it was sent, by the clock of the player.
    pub sent: Duration,
    /// The time when its client has the answer; `None` as long as nothing came.
    pub answered: Option<Duration>,
    /// The time when its client gave it up.
    pub given_up: Option<Duration>,
    /// A fault changed it or its answer.
    pub is_struck: bool,
    /// It was answered with a result that reports no failure; `false` as long as nothing came.
    pub is_served: bool,
    /// The server itself answered it so; its client may have received something else.
    pub is_confirmed: bool,
}

/// The knowledge that faults need; the rest is not kept.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NeededMemory {
    /// The numbers of equal requests.
    counts: bool,
    /// Earlier exchanges.
    history: bool,
    /// The last request and answer of each method.
    earlier: bool,
}

impl NeededMemory {
    pub(crate) fn of(faults: &[Fault]) -> Self {
        let borrows = |fault: &Fault| fault.answers.iter().any(FaultEffect::borrows);
        Self {
            counts: faults
                .iter()
                .any(|fault| fault.on.counts_the_same() || fault.answers.iter().any(FaultEffect::draws)),
            history: faults.iter().any(|fault| fault.on.looks_back() || borrows(fault)),
            earlier: faults.iter().any(|fault| fault.recalls),
        }
    }
}

#[derive(Debug, Default)]
pub(crate) struct PlayerMemory {
    pub(crate) conversations: u64,
    /// The number of equal requests, by scope and in all.
    equal_requests: BTreeMap<(String, u64), u32>,
    /// The offer of the server, as far as it was listed.
    pub(crate) catalog: Catalog,
    exchanges: Vec<MessageExchange>,
    pub(crate) strikes: Vec<Strike>,
    /// The names of the faults that changed something.
    pub(crate) effective: BTreeSet<String>,
    /// The calls of tools, in the order in which they were sent.
    pub(crate) calls: Vec<PassedCall>,
    /// By fault and scope.
    counters: BTreeMap<(usize, String), MatchCounter>,
    /// The last request and answer of each method, by scope.
    earlier: BTreeMap<String, Map<String, Value>>,
    /// The scopes in which the server fell silent by a fault.
    pub(crate) stalled: BTreeSet<String>,
}

/// The offer of a server, and its exchanges up to the one that is judged.
pub(crate) struct KnownExchanges {
    catalog: Catalog,
    pub(crate) exchanges: Vec<MessageExchange>,
}

impl KnownExchanges {
    pub(crate) fn last(&self) -> usize {
        self.exchanges.len() - 1
    }

    pub(crate) fn history(&self) -> ExchangeHistory<'_> {
        ExchangeHistory { catalog: &self.catalog, capabilities: &Value::Null, exchanges: &self.exchanges }
    }
}

impl PlayerMemory {
    pub(crate) fn add_call(&mut self, request: &mut LiveRequest, now: Duration) {
        if request.tool().is_some() && self.calls.len() < MOST_KEPT {
            request.call = Some(self.calls.len());
            self.calls.push(PassedCall { sent: now, ..PassedCall::default() });
        }
    }

    pub(crate) fn end_call(&mut self, call: usize, changed: &ChangedMessage, is_confirmed: bool, now: Duration) {
        let Some(call) = self.calls.get_mut(call) else { return };
        (call.is_served, call.is_confirmed) = (are_served(&changed.own), is_confirmed);
        call.answered = (!changed.own.is_empty()).then(|| now + changed.delay());
    }

    pub(crate) fn add_strike(&mut self, fault: &str, request: &LiveRequest, changes: Vec<String>) {
        if changes.is_empty() {
            return;
        }
        if let Some(call) = request.call.and_then(|at| self.calls.get_mut(at)) {
            call.is_struck = true;
        }
        if !self.effective.contains(fault) {
            self.effective.insert(fault.to_owned());
        }
        if self.strikes.len() < MOST_KEPT {
            self.strikes.push(Strike { fault: fault.to_owned(), asked: request.title(), changes });
        }
    }

    /// Counts the equal requests before this one, in its scope and in all.
    pub(crate) fn count_equal(&mut self, request: &mut LiveRequest, needs: NeededMemory) {
        let ClientMessage::Message { method, params, .. } = &request.exchange.sent else { return };
        if !needs.counts {
            return;
        }
        // Whole arguments would fill the memory.
        let key = fnv(fnv(FNV, method.as_bytes()), canonical(params).as_bytes());
        let mut next = |scope: &str| {
            let count = self.equal_requests.entry((scope.to_owned(), key)).or_default();
            *count += 1;
            *count - 1
        };
        request.exchange.occurrence = next(&request.scope);
        request.asked_before = next("");
    }

    /// Counts one more that a fault matches; returns its number if it is struck.
    pub(crate) fn count_match(&mut self, index: usize, fault: &Fault, scope: &str, task: Option<&str>) -> Option<u64> {
        let scope = if fault.on.counts_whole_server() { "" } else { scope };
        self.counters.entry((index, scope.to_owned())).or_default().count(&fault.on, task)
    }

    /// Remembers an exchange, as far as faults need it.
    pub(crate) fn remember(&mut self, request: &LiveRequest, answer: Option<&ServerReply>, needs: NeededMemory) {
        let Some(method) = request.method() else { return };
        if needs.history && self.exchanges.len() < MOST_KEPT {
            let mut exchange = request.exchange.clone();
            exchange.replies.extend(answer.cloned());
            self.exchanges.push(exchange);
        }
        let Some(message) = answer.and_then(ServerReply::message) else { return };
        if let Value::Array(tools) = &message["result"]["tools"]
            && method == "tools/list"
        {
            for tool in tools.iter().cloned().map(Tool::new) {
                if self.catalog.tool(&tool.name).is_none() {
                    self.catalog.tools.push(tool);
                }
            }
        }
        if needs.earlier {
            let entry = json!({ "request": request.parse().message(), "answer": message });
            self.earlier.entry(request.scope.clone()).or_default().insert(method.to_owned(), entry);
        }
    }

    /// The earlier exchanges, with this one as the last.
    pub(crate) fn exchanges_up_to(&self, request: &LiveRequest) -> KnownExchanges {
        let mut exchanges = self.exchanges.clone();
        exchanges.push(request.exchange.clone());
        KnownExchanges { catalog: self.catalog.clone(), exchanges }
    }

    /// The names that templates can use before there is an answer.
    pub(crate) fn names(&self, request: &LiveRequest, count: u64) -> Names {
        let mut names = request_names(&request.parse());
        let mut earlier = self.earlier.get("").cloned().unwrap_or_default();
        earlier.extend(self.earlier.get(&request.scope).cloned().unwrap_or_default());
        names.insert("earlier".to_owned(), earlier.into());
        names.insert("count".to_owned(), count.into());
        names
    }
}

/// One of the replies is a result that reports no failure.
pub(crate) fn are_served(replies: &[ServerReply]) -> bool {
    replies.iter().filter_map(ServerReply::message).any(is_served)
}
