//! Faults in front of a live server: every message passes here one by one, and what faults count and remember is kept.
//!
//! Whatever carries the messages asks three things of a [`FaultPlayer`]: what the server hears of a message of the client,
//! what the client gets instead of an answer, and what it gets instead of a message that the server sends by itself.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::slice;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::{Map, Value, json};

use super::effect::{EffectContext, FaultEffect, filled_headers, set_headers};
use super::exchange::{ClientMessage, ExchangeHistory, MessageExchange, ReplyContent, ServerReply};
use super::parsed_message::{MessageKind, ParsedMessage, RequestHead};
use super::words::{Carrier, PlainEffect};
use super::written::{answer_names, request_names};
use super::{Fault, Hearing, Written};
use crate::source::template::Names;
use crate::wire::{Catalog, HttpHead};

/// Applies the faults of one server to all its conversations.
pub struct FaultPlayer {
    faults: Vec<Fault>,
    memory: Mutex<FaultMemory>,
    catalog: Catalog,
}

#[derive(Default)]
struct FaultMemory {
    conversations: u64,
    /// How often each fault met what it is about, by scope.
    counts: BTreeMap<(usize, String), u64>,
    /// The last request and answer of each method, by scope.
    earlier: BTreeMap<String, Map<String, Value>>,
}

/// A message of a client on its way to the server, or an HTTP request.
#[derive(Debug, Clone)]
pub struct LiveRequest {
    exchange: MessageExchange,
    kind: MessageKind,
    /// The session or conversation that it belongs to.
    pub scope: String,
    /// The request of HTTP that brought it.
    pub head: Option<RequestHead>,
}

/// A message of a client, with the faults that match it.
pub struct LiveExchange {
    /// The message.
    pub request: LiveRequest,
    matched: Vec<MatchedFault>,
}

/// A fault that matches.
struct MatchedFault {
    fault: usize,
    /// How often it matched; unknown as long as it depends on the answer.
    count: Option<u64>,
}

/// What is sent in the place of one message, or of none.
#[derive(Debug, Default)]
pub struct ChangedMessage {
    /// Messages that come first.
    pub before: Vec<Vec<u8>>,
    /// The message itself, or what stands for it.
    pub own: Vec<ServerReply>,
    /// Messages that come last.
    pub after: Vec<Vec<u8>>,
    /// Whether a fault made it; else it is the message as it came.
    pub is_changed: bool,
    /// Whether the client waits for it, forever.
    pub never: bool,
    /// Whether it also comes on the streams that clients of the session opened with GET.
    pub on_listening: bool,
}

impl ChangedMessage {
    /// The message as it came.
    pub fn unchanged(reply: Option<ServerReply>) -> Self {
        Self { own: reply.into_iter().collect(), ..Self::default() }
    }

    /// How long it takes.
    pub fn delay(&self) -> Duration {
        self.own.iter().map(|reply| reply.after).max().unwrap_or_default()
    }

    /// Whether the server ends.
    pub fn ends(&self) -> bool {
        self.own.iter().any(|reply| matches!(reply.content, ReplyContent::Ended(_)))
    }

    /// All messages in order, as bytes.
    pub fn messages(self) -> impl Iterator<Item = Vec<u8>> {
        let own = self.own.into_iter().filter_map(|reply| reply.content.bytes());
        self.before.into_iter().chain(own.collect::<Vec<_>>()).chain(self.after)
    }
}

impl ReplyContent {
    /// The bytes on the wire; nothing for what is no message.
    pub fn bytes(self) -> Option<Vec<u8>> {
        match self {
            Self::Message(message) => Some(message.to_string().into_bytes()),
            Self::Bytes(bytes) | Self::Torn(bytes) => Some(bytes),
            Self::Stderr(_) | Self::Stalled | Self::Ended(_) => None,
        }
    }
}

impl LiveRequest {
    /// A line of a stream, or the body of a request of HTTP.
    pub fn new(bytes: &[u8], scope: String, head: Option<RequestHead>) -> Self {
        let parsed = ParsedMessage::raw(bytes);
        let is_plain = matches!(parsed.kind, MessageKind::Request | MessageKind::Notification);
        let sent = match parsed.method.clone().filter(|_| is_plain) {
            Some(method) => ClientMessage::Message {
                id: parsed.id.clone().map(Cow::into_owned),
                method: method.into_owned(),
                params: parsed.params.clone().into_owned(),
            },
            None => ClientMessage::Raw(bytes.to_vec()),
        };
        let kind =
            if head.is_none() && parsed.kind == MessageKind::Empty { MessageKind::Unparsable } else { parsed.kind };
        let exchange = MessageExchange { owner: String::new(), session: 0, occurrence: 0, sent, replies: Vec::new() };
        Self { exchange, kind, scope, head }
    }

    /// The start or the end of a conversation over streams.
    pub fn moment(kind: MessageKind, scope: String) -> Self {
        let sent = ClientMessage::Raw(Vec::new());
        let exchange = MessageExchange { owner: String::new(), session: 0, occurrence: 0, sent, replies: Vec::new() };
        Self { exchange, kind, scope, head: None }
    }

    /// The kind of message.
    pub fn kind(&self) -> MessageKind {
        self.kind
    }

    /// The method of the message.
    pub fn method(&self) -> Option<&str> {
        self.exchange.method()
    }

    /// The id of the message, if it can stand in an answer.
    pub fn id(&self) -> Option<Value> {
        self.parsed().id.map(Cow::into_owned)
    }

    /// The token for progress that the message carries.
    pub fn progress_token(&self) -> Option<&Value> {
        self.exchange.params().pointer("/_meta/progressToken")
    }

    fn parsed(&self) -> ParsedMessage<'_> {
        let mut parsed = ParsedMessage::of(&self.exchange);
        parsed.head = self.head.as_ref().map(Cow::Borrowed);
        (parsed.kind, parsed.is_raw) = (self.kind, false);
        parsed
    }

    fn carrier(&self) -> Carrier {
        if self.head.is_some() { Carrier::Http } else { Carrier::Stream }
    }
}

impl FaultPlayer {
    /// Nothing was said yet.
    pub fn new(faults: Vec<Fault>) -> Self {
        Self { faults, memory: Mutex::default(), catalog: Catalog::default() }
    }

    /// The scope of another conversation over streams.
    pub fn conversation(&self) -> String {
        let mut memory = self.memory();
        memory.conversations += 1;
        format!("conversation {}", memory.conversations)
    }

    /// Finds the faults that match a message of the client; without `everywhere` only those that name an address.
    pub fn match_request(&self, request: LiveRequest, everywhere: bool) -> LiveExchange {
        let parsed = request.parsed();
        let carrier = request.carrier();
        let faults = self.faults.iter().enumerate();
        let about = faults.filter(|(_, fault)| {
            let is_here = everywhere || fault.on.message.path.is_some();
            is_here && fault.on.sends.is_empty() && fault.on.is_asked(&parsed, carrier)
        });
        let matched = about.filter_map(|(at, fault)| {
            let count = if fault.on.depends_on_answer() { None } else { Some(self.count(at, &request.scope)?) };
            Some(MatchedFault { fault: at, count })
        });
        let matched = matched.collect();
        drop(parsed);
        LiveExchange { request, matched }
    }

    /// The message that the server receives instead of `bytes`, if any.
    pub fn heard(&self, exchange: &LiveExchange, bytes: &[u8]) -> Option<Vec<u8>> {
        if self.certain(exchange).any(|(fault, _)| fault.hears.nothing) {
            return None;
        }
        let changes: Vec<_> = self.certain(exchange).filter(|(fault, _)| fault.hears.is_about_messages()).collect();
        let message = serde_json::from_slice::<Value>(bytes).ok().filter(|_| !changes.is_empty());
        let Some(mut message) = message else { return Some(bytes.to_vec()) };
        for (fault, count) in changes {
            fault.hears.change(&mut message, &self.names(&exchange.request, count));
        }
        Some(message.to_string().into_bytes())
    }

    /// The headers that the server hears instead; nothing takes one away.
    pub fn heard_headers(&self, exchange: &LiveExchange) -> Vec<(String, Option<String>)> {
        let faults = self.certain(exchange).filter(|(fault, _)| !fault.hears.headers.is_empty());
        let headers = faults.flat_map(|(fault, count)| {
            let names = self.names(&exchange.request, count);
            filled_headers(&fault.hears.headers, || &names)
        });
        headers.collect()
    }

    /// What is sent instead of `answer`, which is `None` if there was none.
    pub fn answer(&self, exchange: &LiveExchange, answer: Option<ServerReply>) -> ChangedMessage {
        // What is remembered is what came before this answer.
        let mut names = self.names(&exchange.request, 0);
        self.remember(&exchange.request, answer.as_ref());
        let replies: Vec<ServerReply> = answer.into_iter().collect();
        let hits: Vec<(usize, u64)> = exchange
            .matched
            .iter()
            .filter_map(|matched| {
                let count = matched.count.or_else(|| {
                    let on = &self.faults[matched.fault].on;
                    let is_met = on.is_answered(&replies, (!replies.is_empty()).then_some(0));
                    is_met.then(|| self.count(matched.fault, &exchange.request.scope)).flatten()
                })?;
                Some((matched.fault, count))
            })
            .collect();
        if let Some(reply) = replies.first() {
            names.extend(answer_names(reply));
        }
        self.changed(Some(&exchange.request), replies, &hits, &names)
    }

    /// What is sent instead of a message that the server sends by itself, during an exchange if that is known.
    pub fn sent(&self, exchange: Option<&LiveExchange>, scope: &str, reply: ServerReply) -> ChangedMessage {
        let method =
            if let ReplyContent::Message(message) = &reply.content { message["method"].as_str() } else { None };
        let Some(method) = method else { return ChangedMessage::unchanged(Some(reply)) };
        let during = exchange.map(|exchange| &exchange.request);
        let parsed = during.map(|request| (request.parsed(), request.carrier()));
        let faults = self.faults.iter().enumerate();
        let about = faults.filter(|(_, fault)| fault.on.is_sent(method, parsed.as_ref()) && fault.on.means(&reply));
        let hits: Vec<(usize, u64)> = about.filter_map(|(at, _)| Some((at, self.count(at, scope)?))).collect();
        let mut names = during.map(|request| self.names(request, 0)).unwrap_or_default();
        names.extend(answer_names(&reply));
        self.changed(during, vec![reply], &hits, &names)
    }

    /// The head of a response whose messages are still to come.
    pub fn head(&self, exchange: &LiveExchange, head: &HttpHead) -> HttpHead {
        let reply = ServerReply {
            after: Duration::ZERO,
            content: ReplyContent::Bytes(Vec::new()),
            http: Some(Arc::new(head.clone())),
        };
        let mut changed = head.clone();
        for matched in &exchange.matched {
            let fault = &self.faults[matched.fault];
            let is_known = || fault.on.depends_on_status_alone() && fault.on.is_answered(slice::from_ref(&reply), None);
            let Some(count) = matched.count.or_else(|| is_known().then_some(1)) else { continue };
            let mut names = self.names(&exchange.request, count);
            names.extend(answer_names(&reply));
            for effect in &fault.answers {
                if let FaultEffect::Status(status) = effect {
                    changed.status = *status;
                }
                if let FaultEffect::Headers(headers) = effect {
                    set_headers(&filled_headers(headers, || &names), &mut changed);
                }
            }
        }
        changed
    }

    /// The id that faults give the event with that number of a response; `None` if it keeps its own.
    pub fn event_id(&self, exchange: &LiveExchange, number: u64) -> Option<Option<String>> {
        let mut given = None;
        for (fault, count) in self.certain(exchange) {
            for effect in &fault.answers {
                if let FaultEffect::EventId(id) = effect {
                    let mut names = self.names(&exchange.request, count);
                    names.insert("event".to_owned(), number.into());
                    given = Some(id.as_ref().and_then(|id| id.text(&names)));
                }
            }
        }
        given
    }

    fn remember(&self, request: &LiveRequest, answer: Option<&ServerReply>) {
        let Some(method) = request.method() else { return };
        if let Some(ReplyContent::Message(message)) = answer.map(|answer| &answer.content) {
            let kept = json!({ "request": request.parsed().message(), "answer": message });
            self.memory().earlier.entry(request.scope.clone()).or_default().insert(method.to_owned(), kept);
        }
    }

    /// Applies the faults that strike, each to what the one before it left.
    fn changed(
        &self,
        request: Option<&LiveRequest>,
        replies: Vec<ServerReply>,
        hits: &[(usize, u64)],
        names: &Names,
    ) -> ChangedMessage {
        let mut changed = ChangedMessage { own: replies, ..ChangedMessage::default() };
        if hits.is_empty() {
            return changed;
        }
        changed.is_changed = true;
        let nothing = LiveRequest::moment(MessageKind::Empty, String::new());
        let request = request.unwrap_or(&nothing);
        let exchanges = [request.exchange.clone()];
        let history = ExchangeHistory { catalog: &self.catalog, capabilities: &Value::Null, exchanges: &exchanges };
        for (at, count) in hits {
            let fault = &self.faults[*at];
            let mut names = names.clone();
            names.insert("count".to_owned(), (*count).into());
            let bytes = |written: &Written| ReplyContent::of(written.value(&names)?).bytes();
            changed.before.extend(fault.before.iter().filter_map(bytes));
            changed.after.extend(fault.after.iter().filter_map(bytes));
            let own = std::mem::take(&mut changed.own);
            let mut work = EffectContext::on_its_way((0, &history), request.parsed(), own, names);
            for effect in &fault.answers {
                changed.never |= *effect == FaultEffect::Plain(PlainEffect::Never);
                changed.on_listening |= *effect == FaultEffect::AlsoOnListening;
                // What there is nothing to make from changes nothing.
                let _ = effect.act(&mut work);
            }
            changed.own = work.replies;
        }
        changed
    }

    /// The faults that strike whatever the answer is.
    fn certain<'a>(&'a self, exchange: &'a LiveExchange) -> impl Iterator<Item = (&'a Fault, u64)> {
        exchange.matched.iter().filter_map(|matched| Some((&self.faults[matched.fault], matched.count?)))
    }

    /// Counts one more; gives the number if it is that one's turn.
    fn count(&self, at: usize, scope: &str) -> Option<u64> {
        let turn = self.faults[at].on.turn;
        let scope = if turn.of_server { String::new() } else { scope.to_owned() };
        let mut memory = self.memory();
        let count = memory.counts.entry((at, scope)).or_default();
        *count += 1;
        turn.comes(*count).then_some(*count)
    }

    fn names(&self, request: &LiveRequest, count: u64) -> Names {
        let mut names = request_names(&request.parsed());
        let memory = self.memory();
        let mut earlier = memory.earlier.get("").cloned().unwrap_or_default();
        earlier.extend(memory.earlier.get(&request.scope).cloned().unwrap_or_default());
        names.insert("earlier".to_owned(), earlier.into());
        names.insert("count".to_owned(), count.into());
        names
    }

    fn memory(&self) -> MutexGuard<'_, FaultMemory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Hearing {
    /// Whether it changes messages.
    fn is_about_messages(&self) -> bool {
        !(self.set.is_empty() && self.add.is_empty() && self.remove.is_empty())
    }

    /// Changes a message.
    fn change(&self, message: &mut Value, names: &Names) {
        for (place, written) in &self.set {
            if let Some(value) = written.value(names) {
                place.set(message, &value);
            }
        }
        for (place, written) in &self.add {
            if let Some(value) = written.value(names) {
                place.push(message, &value);
            }
        }
        for place in &self.remove {
            place.remove(message);
        }
    }
}
