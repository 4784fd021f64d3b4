//! A proxy in front of a real server that applies a fault to live exchanges.
//!
//! All other messages travel on at once and byte by byte; without a mutant every message does.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::Value;
use tokio::time::Instant;

use super::super::recording::{MessageNumber, SessionCounter, read_message};
use super::super::replay::{ReplayLog, ReplayMoment};
use super::conversation::{LiveConversation, RecordedConversation};
use crate::carrier::{ReplyEncoder, RequestContext};
use crate::fault::{ClientMessage, Fault, MessageExchange, ReplyContent, ServerReply};
use crate::transport::relay::{Interceptor, Passed};
use crate::transport::{Incoming, Outgoing, OutgoingMessage, Scheduled, TransportKind};
use crate::wire::{HttpHead, RpcMessage as Meaning, classify, messages_in};

/// The knowledge of a mutant about its server, before it stands in front of it.
#[derive(Debug, Clone)]
pub(super) struct FaultContext {
    /// Its fault; nothing in a baseline run.
    pub(super) fault: Option<Fault>,
    pub(super) recorded: Arc<RecordedConversation>,
    /// The sessions of the run so far: a fault may give one the answers of another.
    pub(super) conversation: Arc<Mutex<LiveConversation>>,
    /// The recorded exchanges that it is expected to change.
    pub(super) expected: Arc<BTreeSet<usize>>,
    pub(super) log: Arc<Mutex<ReplayLog>>,
}

impl FaultContext {
    pub(super) fn new(
        fault: Option<Fault>,
        recorded: RecordedConversation,
        expected: BTreeSet<usize>,
        log: Arc<Mutex<ReplayLog>>,
    ) -> Self {
        let recorded = Arc::new(recorded);
        let conversation = Arc::new(Mutex::new(LiveConversation::new(Arc::clone(&recorded))));
        Self { fault, recorded, conversation, expected: Arc::new(expected), log }
    }
}

pub(super) struct FaultInjector {
    fault_context: FaultContext,
    lane: String,
    transport: TransportKind,
    pending: Vec<PendingRequest>,
    counter: SessionCounter,
    /// The ids of requests that the server hears twice: its second answer is dropped.
    doubled: Vec<Value>,
    /// Whether the server gave the session an id.
    has_session_id: bool,
    is_over: bool,
}

/// A request that has no answer yet.
struct PendingRequest {
    /// Where it stands in the conversation.
    at: usize,
    id: Value,
    context: RequestContext,
    asked_at: Instant,
    /// Whether what comes beside the answer waits for it.
    holds: bool,
    held: Vec<Incoming>,
    /// How many of its replies were handed on already.
    told: usize,
}

impl FaultInjector {
    pub(super) fn new(fault_context: FaultContext, lane: &str, transport: TransportKind) -> Self {
        Self {
            fault_context,
            lane: lane.to_owned(),
            transport,
            pending: Vec::new(),
            counter: SessionCounter::default(),
            doubled: Vec::new(),
            has_session_id: false,
            is_over: false,
        }
    }

    fn conversation(&self) -> MutexGuard<'_, LiveConversation> {
        self.fault_context.conversation.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn log(&self) -> MutexGuard<'_, ReplayLog> {
        self.fault_context.log.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes in what the client said; one that expects no answer may be struck at once.
    fn said(&mut self, owner: &str, said: ClientMessage, context: RequestContext) -> Vec<Scheduled> {
        let key = self.fault_context.recorded.key(owner, &said);
        let mut counter = std::mem::take(&mut self.counter);
        let number = counter.count(&self.lane, &key, &mut self.log().sessions);
        self.counter = counter;
        let id = if let ClientMessage::Message { id, .. } = &said { id.clone() } else { None };
        let freed = self.freed_by(&said);
        let MessageNumber { session, occurrence } = number;
        let exchange =
            MessageExchange { owner: owner.to_owned(), session, occurrence, sent: said, replies: Vec::new() };
        let at = self.conversation().begin(&key, exchange);
        let Some(id) = id else {
            let struck = self.strike(at, context, Duration::ZERO, 0).unwrap_or_default();
            return freed.into_iter().chain(struck).collect();
        };
        let holds = self.fault_context.expected.contains(&at);
        self.pending.push(PendingRequest {
            at,
            id,
            context,
            asked_at: Instant::now(),
            holds,
            held: Vec::new(),
            told: 0,
        });
        freed
    }

    /// The items that waited for the answer to a request that is cancelled: there may be none.
    fn freed_by(&mut self, said: &ClientMessage) -> Vec<Scheduled> {
        let ClientMessage::Message { id: None, method, params } = said else { return Vec::new() };
        if method != "notifications/cancelled" {
            return Vec::new();
        }
        let cancelled = self.pending.iter_mut().filter(|pending| pending.id == params["requestId"]);
        cancelled.flat_map(PendingRequest::free).collect()
    }

    /// Applies the mutant to an exchange; `None` if it does not match.
    fn strike(&mut self, at: usize, context: RequestContext, elapsed: Duration, told: usize) -> Option<Vec<Scheduled>> {
        let fault = self.fault_context.fault.as_ref()?;
        let conversation = Arc::clone(&self.fault_context.conversation);
        let conversation = conversation.lock().unwrap_or_else(PoisonError::into_inner);
        let known = conversation.known();
        let struck = fault.strikes(at, &known).then(|| fault.apply(at, &known).ok()).flatten()?;
        let exchange = &known.exchanges[at];
        let told = &exchange.replies[..told];
        let moment = ReplayMoment { owner: exchange.owner.clone(), frame: context.frame, session: exchange.session };
        let encoder = ReplyEncoder::new(self.transport, &[], context);
        let mut played = Vec::new();
        for reply in struck.replies.iter().filter(|reply| !told.contains(reply)) {
            played.extend(encoder.played(&ServerReply { after: reply.after.saturating_sub(elapsed), ..reply.clone() }));
        }
        self.is_over |=
            struck.replies.iter().any(|reply| matches!(reply.content, ReplyContent::Stalled | ReplyContent::Ended(_)));
        self.log().struck.push(moment);
        Some(played)
    }

    /// Takes in a message of the server; one that answers nothing travels on at once, or waits for the answer.
    fn message(&mut self, bytes: &[u8], http: Option<&Arc<HttpHead>>, original: Incoming) -> Vec<Scheduled> {
        if self.fault_context.fault.is_none() {
            return vec![Scheduled::at_once(original)];
        }
        self.has_session_id |= http.is_some_and(|http| http.header("mcp-session-id").is_some());
        let json = serde_json::from_slice::<Value>(bytes).ok();
        if json.as_ref().is_some_and(|json| self.is_second_answer(json)) {
            return Vec::new();
        }
        let answered = json.as_ref().and_then(|json| self.answered(json));
        let Some(index) = answered.or_else(|| self.meant(json.as_ref())) else {
            return vec![Scheduled::at_once(original)];
        };
        let is_request = matches!(json.as_ref().map(classify), Some(Meaning::Request { .. }));
        let content = json.map_or_else(|| ReplyContent::Bytes(bytes.to_vec()), ReplyContent::Message);
        let pending = &mut self.pending[index];
        let elapsed = pending.asked_at.elapsed();
        let reply = ServerReply { after: elapsed, content, http: http.cloned() };
        let at = pending.at;
        self.conversation().add(at, reply);
        let pending = &mut self.pending[index];
        if answered.is_none() {
            // The server waits for the answer to its own request.
            if pending.holds && !is_request {
                pending.held.push(original);
                return Vec::new();
            }
            pending.told += usize::from(pending.held.is_empty());
            return vec![Scheduled::at_once(original)];
        }
        let mut pending = self.pending.remove(index);
        let struck = self.strike(pending.at, pending.context, elapsed, pending.told);
        struck.unwrap_or_else(|| pending.free().into_iter().chain([Scheduled::at_once(original)]).collect())
    }

    fn answered(&self, json: &Value) -> Option<usize> {
        let Meaning::Response { id: Some(id) } = classify(json) else { return None };
        let id = id.to_json();
        self.pending.iter().position(|pending| pending.id == id)
    }

    /// The request that something came for: the one that its token names, else the last one without an answer.
    fn meant(&self, json: Option<&Value>) -> Option<usize> {
        let token = json.and_then(|json| json["params"].get("progressToken"));
        let named = token.and_then(|token| self.pending.iter().position(|pending| pending.id == *token));
        named.or(self.pending.len().checked_sub(1))
    }

    fn sent(&mut self, message: OutgoingMessage) -> Passed {
        let Some(said) = read_message(&message.bytes) else {
            return Passed { onward: vec![Outgoing::Message(message)], back: Vec::new() };
        };
        let back = self.said(&message.owner, said, RequestContext::of(&message, self.has_session_id));
        let second = self.doubles_last(&message).then(|| Outgoing::Message(message.clone()));
        Passed { onward: [Outgoing::Message(message)].into_iter().chain(second).collect(), back }
    }

    /// Whether the server hears the last request twice.
    fn doubles_last(&mut self, message: &OutgoingMessage) -> bool {
        let Some(pending) = self.pending.last().filter(|pending| pending.context.frame == message.frame) else {
            return false;
        };
        let is_struck = self
            .fault_context
            .fault
            .as_ref()
            .is_some_and(|fault| fault.is_heard_twice() && fault.strikes(pending.at, &self.conversation().known()));
        if is_struck {
            let session = self.conversation().known().exchanges[pending.at].session;
            let moment = ReplayMoment { owner: message.owner.clone(), frame: message.frame, session };
            self.log().struck.push(moment);
            self.doubled.push(pending.id.clone());
        }
        is_struck
    }

    /// Whether a message is the second answer to a request that the server heard twice.
    fn is_second_answer(&mut self, json: &Value) -> bool {
        let Meaning::Response { id: Some(id) } = classify(json) else { return false };
        let id = id.to_json();
        if self.pending.iter().any(|pending| pending.id == id) {
            return false;
        }
        let known = self.doubled.iter().position(|doubled| *doubled == id);
        known.map(|at| self.doubled.remove(at)).is_some()
    }

    /// Takes in a raw message, which may be several.
    fn raw(&mut self, owner: &str, bytes: &[u8]) -> Vec<Scheduled> {
        let said =
            messages_in(bytes).map(|line| read_message(line).unwrap_or_else(|| ClientMessage::Raw(line.to_vec())));
        said.collect::<Vec<_>>().into_iter().flat_map(|said| self.said(owner, said, RequestContext::RAW)).collect()
    }
}

impl PendingRequest {
    /// The items that waited for the answer.
    fn free(&mut self) -> Vec<Scheduled> {
        self.holds = false;
        self.held.drain(..).map(Scheduled::at_once).collect()
    }
}

impl Interceptor for FaultInjector {
    fn on_sent(&mut self, outgoing: Outgoing) -> Passed {
        if self.is_over || self.fault_context.fault.is_none() {
            return Passed { onward: vec![outgoing], back: Vec::new() };
        }
        let back = match &outgoing {
            Outgoing::Message(message) => return self.sent(message.clone()),
            Outgoing::Raw { pieces, owner } => self.raw(owner, &pieces.concat()),
            Outgoing::End | Outgoing::Abandon { .. } | Outgoing::Disruption(_) => Vec::new(),
        };
        Passed { onward: vec![outgoing], back }
    }

    fn on_received(&mut self, incoming: Incoming) -> Passed {
        Passed::back(match &incoming {
            _ if self.is_over => Vec::new(),
            Incoming::Line(bytes) => self.message(&bytes.clone(), None, incoming),
            Incoming::Message { bytes, http, .. } => {
                let (bytes, http) = (bytes.clone(), Arc::clone(http));
                self.message(&bytes, Some(&http), incoming)
            }
            Incoming::Stderr(_) | Incoming::Refused { .. } | Incoming::Speaks(_) => vec![Scheduled::at_once(incoming)],
            Incoming::TornLine(_)
            | Incoming::EndlessLine
            | Incoming::Closed
            | Incoming::Undelivered { .. }
            | Incoming::Lost(_)
            | Incoming::Exited(_) => {
                self.pending.iter_mut().flat_map(PendingRequest::free).chain([Scheduled::at_once(incoming)]).collect()
            }
        })
    }
}
