//! Faults in front of a live server: every message passes here one by one, and what faults count and remember is kept.
//!
//! Whatever carries the messages asks three things of a [`FaultPlayer`]: what the server hears of a message of the client,
//! what the client gets instead of an answer, and what it gets instead of a message that the server sends by itself.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};
use std::slice;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::{Map, Value, json};

use super::description;
use super::effect::{EffectContext, FaultEffect, filled_headers, set_headers};
use super::exchange::{ClientMessage, ExchangeHistory, MessageExchange, ReplyContent, ServerReply};
use super::hearing::{ConnectionFault, Hearing};
use super::parsed_message::{MessageKind, ParsedMessage, RequestHead, parted};
use super::words::{Arrival, Carrier, KillMoment, PlainEffect};
use super::written::{answer_names, request_names};
use super::{Fault, Match, Written};
use crate::source::template::Names;
use crate::source::{FNV, duration_text, fnv};
use crate::wire::{Catalog, HttpHead, Tool, canonical, is_served};

/// Applies the faults of one server to all its conversations.
#[derive(Debug)]
pub struct FaultPlayer {
    faults: Vec<Fault>,
    memory: Mutex<PlayerMemory>,
    needs: Needs,
    /// Whether a fault can have the server fall silent.
    can_stall: bool,
    is_healed: AtomicBool,
    has_ended: AtomicBool,
    has_broken_off: AtomicBool,
    clock: fn() -> Duration,
}

/// The knowledge that faults need; the rest is not kept.
#[derive(Debug, Clone, Copy)]
struct Needs {
    /// How often the same was asked before.
    counts: bool,
    /// Earlier exchanges.
    history: bool,
    /// The last request and answer of each method.
    earlier: bool,
}

/// The change of one message by a fault.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Strike {
    /// The name of the fault.
    pub fault: String,
    /// The method of the request, and the tool that it calls; empty for what is no message.
    pub asked: String,
    /// The changes, one line each.
    pub changes: Vec<String>,
}

/// A request that passed, and what came of it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PassedCall {
    /// When it was sent, by the clock of the player.
    pub sent: Duration,
    /// When its client has the answer; `None` as long as nothing came.
    pub answered: Option<Duration>,
    /// When its client gave it up.
    pub given_up: Option<Duration>,
    /// Whether a fault changed it or its answer.
    pub is_struck: bool,
    /// Whether it was answered with a result that reports no failure; `false` as long as nothing came.
    pub is_served: bool,
    /// Whether the server itself answered it so, whatever its client got.
    pub is_confirmed: bool,
}

/// The most strikes and exchanges that are kept.
const MOST_KEPT: usize = 10_000;

#[derive(Debug, Default)]
struct PlayerMemory {
    conversations: u64,
    /// How often the same was asked, by scope and in all.
    asked: BTreeMap<(String, u64), u32>,
    /// The offer of the server, as far as it was listed.
    catalog: Catalog,
    exchanges: Vec<MessageExchange>,
    strikes: Vec<Strike>,
    /// The names of the faults that changed something.
    effective: BTreeSet<String>,
    /// The calls of tools, in the order in which they were sent.
    calls: Vec<PassedCall>,

    /// How often each fault met what it is about, by scope.
    counts: BTreeMap<(usize, String), u64>,
    /// The faults that are within a burst, or not.
    bursts: BTreeMap<usize, bool>,
    /// The last request and answer of each method, by scope.
    earlier: BTreeMap<String, Map<String, Value>>,
    /// The scopes in which a fault had the server fall silent.
    stalled: BTreeSet<String>,
}

/// A message of a client on its way to the server, or an HTTP request.
#[derive(Debug, Clone)]
pub struct LiveRequest {
    exchange: MessageExchange,
    kind: MessageKind,
    /// Which of the calls it is; nothing for what calls no tool.
    call: Option<usize>,
    /// The session or conversation that it belongs to.
    pub scope: String,
    /// The request of HTTP that brought it.
    pub head: Option<RequestHead>,
}

/// A message of a client, with the faults that match it.
#[derive(Debug)]
pub struct LiveExchange {
    /// The message.
    pub request: LiveRequest,
    matched: Vec<MatchedFault>,
}

/// A fault that matches.
#[derive(Debug)]
struct MatchedFault {
    fault: usize,
    /// How often it matched; unknown as long as it depends on the answer.
    count: Option<u64>,
}

/// A message of the client as the server receives it.
#[derive(Debug, Default)]
pub struct HeardMessage {
    /// The message, or what arrives of it; `None` if the server does not hear of it.
    pub bytes: Option<Vec<u8>>,
    /// How it arrives, where that is not once and whole.
    pub arrival: Option<Arrival>,
    /// Whether the server is killed as soon as it has the message, or without it.
    pub is_killed: bool,
    /// How long the server stands still from then on.
    pub pause: Option<Duration>,
    /// How long the client reads nothing from then on.
    pub unread: Option<Duration>,
    /// How long its bytes take to arrive.
    pub transfer: Option<Duration>,
    /// The headers that it has instead; nothing takes one away.
    pub headers: Vec<(String, Option<String>)>,
    /// The names of the faults that changed it.
    pub faults: Vec<String>,
}

/// The messages that are sent in the place of one message, or of none.
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
    /// The names of the faults that changed it.
    pub faults: Vec<String>,
    /// The names of the faults that match and found nothing to change.
    pub idle: Vec<String>,
    /// Why it does not come, if it does not.
    pub loss: Option<AnswerLoss>,
    /// Whether it also comes on the streams that clients of the session opened with GET.
    pub on_listening: bool,
    /// The last part of its delay, in which its bytes come one after the other.
    pub transfer: Duration,
}

/// Why an answer does not come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnswerLoss {
    /// The client waits for it, forever.
    Never,
    /// The server is killed in its place.
    Killed,
}

impl ChangedMessage {
    /// The message as it came.
    pub fn unchanged(reply: Option<ServerReply>) -> Self {
        Self { own: reply.into_iter().collect(), ..Self::default() }
    }

    /// Nothing, for ever.
    pub fn never() -> Self {
        Self { loss: Some(AnswerLoss::Never), is_changed: true, ..Self::default() }
    }

    /// How long it takes.
    pub fn delay(&self) -> Duration {
        self.own.iter().map(|reply| reply.after).max().unwrap_or_default()
    }

    /// How long it takes until its first byte comes.
    pub fn delay_before_transfer(&self) -> Duration {
        self.delay().saturating_sub(self.transfer)
    }

    /// Whether its connection breaks off in the middle of it, and no other.
    pub fn breaks_off(&self) -> bool {
        !self.ends() && self.own.iter().any(|reply| matches!(reply.content, ReplyContent::Torn(_)))
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
        Self { exchange, kind, call: None, scope, head }
    }

    /// A request of HTTP as it is written, head and body, in the session that its header names; `None` for other bytes.
    pub fn of_http(bytes: &[u8]) -> Option<Self> {
        let (head, body) = parted(bytes);
        let head = head?;
        let scope = head.headers.get("mcp-session-id").and_then(Value::as_str).unwrap_or_default().to_owned();
        Some(Self::new(body, scope, Some(head)))
    }

    /// The same as a message of a case; nobody's without.
    #[must_use]
    pub fn of_case(mut self, owner: &str) -> Self {
        owner.clone_into(&mut self.exchange.owner);
        self
    }

    /// The request in a few words.
    fn asked(&self) -> String {
        match (self.method(), self.exchange.tool()) {
            (Some(method), Some(tool)) => format!("{method} {tool}"),
            (Some(method), None) => method.to_owned(),
            (None, _) => String::new(),
        }
    }

    /// The start or the end of a conversation over streams.
    pub fn moment(kind: MessageKind, scope: String) -> Self {
        let sent = ClientMessage::Raw(Vec::new());
        let exchange = MessageExchange { owner: String::new(), session: 0, occurrence: 0, sent, replies: Vec::new() };
        Self { exchange, kind, call: None, scope, head: None }
    }

    /// Which of the calls of tools it is, for [`FaultPlayer::give_up`]; nothing for what calls no tool.
    pub fn call(&self) -> Option<usize> {
        self.call
    }

    /// The kind of message.
    pub fn kind(&self) -> MessageKind {
        self.kind
    }

    /// The method of the message.
    pub fn method(&self) -> Option<&str> {
        self.exchange.method()
    }

    /// The parameters of the message; `Null` where there are none.
    pub fn params(&self) -> &Value {
        self.exchange.params()
    }

    /// The tool that the message calls.
    pub fn tool(&self) -> Option<&str> {
        self.exchange.tool()
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
        let needs = Needs {
            counts: faults.iter().any(|fault| fault.on.counts_the_same()),
            history: faults.iter().any(|fault| fault.on.looks_back() || fault.answers.iter().any(FaultEffect::borrows)),
            earlier: faults.iter().any(|fault| fault.recalls),
        };
        let can_stall = faults.iter().any(|fault| fault.answers.contains(&FaultEffect::Plain(PlainEffect::Stall)));
        let flag = || AtomicBool::new(false);
        Self {
            faults,
            memory: Mutex::default(),
            needs,
            can_stall,
            is_healed: flag(),
            has_ended: flag(),
            has_broken_off: flag(),
            clock: || Duration::ZERO,
        }
    }

    /// The same with a clock that tells when calls are sent and answered; without it, all times are zero.
    #[must_use]
    pub fn timed(self, clock: fn() -> Duration) -> Self {
        Self { clock, ..self }
    }

    /// Tells the faults what the server offers.
    pub fn learn(&self, catalog: &Catalog) {
        self.memory.lock().catalog.clone_from(catalog);
    }

    /// Ends all faults: from now on every message passes as it is.
    pub fn heal(&self) {
        self.is_healed.store(true, Ordering::Relaxed);
    }

    /// Lets the faults strike from now on, where they had ended or were not to begin at once.
    pub fn resume(&self) {
        self.is_healed.store(false, Ordering::Relaxed);
    }

    /// The changes by faults so far, in order.
    pub fn strikes(&self) -> Vec<Strike> {
        self.memory.lock().strikes.clone()
    }

    /// The calls of tools that passed, in the order in which they were sent.
    pub fn calls(&self) -> Vec<PassedCall> {
        self.memory.lock().calls.clone()
    }

    /// Whether a fault ended the server, or its connection, since the last connection was made.
    pub fn has_ended(&self) -> bool {
        self.has_ended.load(Ordering::Relaxed)
    }

    /// Whether a fault broke off a connection, but not the server's, since this was asked before.
    pub fn take_broken_off(&self) -> bool {
        self.has_broken_off.swap(false, Ordering::Relaxed)
    }

    fn note_end(&self, is_the_end: bool) {
        self.has_ended.fetch_or(is_the_end, Ordering::Relaxed);
    }

    /// The names of the faults that changed nothing so far, in declared order.
    pub fn idle(&self) -> Vec<&str> {
        let memory = self.memory.lock();
        let is_idle = |fault: &&Fault| !memory.effective.contains(&fault.name);
        self.faults.iter().filter(is_idle).map(Fault::name).collect()
    }

    /// Notes that the client waits for the answer of a call no longer.
    pub fn give_up(&self, call: usize) {
        let now = (self.clock)();
        if let Some(call) = self.memory.lock().calls.get_mut(call) {
            call.given_up = call.given_up.or(Some(now));
        }
    }

    /// The scope of another conversation over streams.
    pub fn conversation(&self) -> String {
        self.has_ended.store(false, Ordering::Relaxed);
        let mut memory = self.memory.lock();
        memory.conversations += 1;
        format!("conversation {}", memory.conversations)
    }

    /// Finds the faults that match a message of the client; without `everywhere` only those that name an address.
    pub fn match_request(&self, mut request: LiveRequest, everywhere: bool) -> LiveExchange {
        if self.faults.is_empty() {
            return LiveExchange { request, matched: Vec::new() };
        }
        self.take_in(&mut request);
        if self.is_healed.load(Ordering::Relaxed) {
            return LiveExchange { request, matched: Vec::new() };
        }
        let occurrence = self.count_the_same(&mut request);
        let parsed = request.parsed();
        let carrier = request.carrier();
        let known = OnceCell::new();
        let fits_history = |on: &Match| {
            let (catalog, exchanges) = known.get_or_init(|| self.known(&request));
            let history = ExchangeHistory { catalog, capabilities: &Value::Null, exchanges };
            on.fits_history(&parsed, exchanges.len() - 1, &history)
        };
        let faults = self.faults.iter().enumerate();
        let about = faults.filter(|(_, fault)| {
            let is_here = everywhere || fault.on.message.path.is_some();
            is_here
                && fault.on.sends.is_empty()
                && fault.on.is_of(&request.exchange)
                && fault.on.is_asked(&parsed, carrier)
                && fits_history(&fault.on)
                && fault.on.is_drawn(&parsed, occurrence)
        });
        let matched = about.filter_map(|(at, fault)| {
            let count = if fault.on.depends_on_answer() { None } else { Some(self.count(at, &request.scope)?) };
            Some(MatchedFault { fault: at, count })
        });
        let matched = matched.collect();
        drop(parsed);
        LiveExchange { request, matched }
    }

    /// The message as the server receives it.
    pub fn hear(&self, exchange: &LiveExchange, bytes: &[u8]) -> HeardMessage {
        let mut heard = HeardMessage::default();
        // It does not hear messages; that its client goes, it sees.
        if exchange.request.kind != MessageKind::End && self.is_stalled(&exchange.request.scope) {
            return heard;
        }
        let mut struck = |fault: &Fault, changes: Vec<String>| {
            let is_new = !changes.is_empty() && !heard.faults.contains(&fault.name);
            heard.faults.extend(is_new.then(|| fault.name.clone()));
            self.struck(fault, &exchange.request, changes);
        };
        for (fault, _) in self.certain(exchange) {
            let connection = fault.connection;
            let kill = match connection.kill {
                Some(KillMoment::Unheard) => Some("the server is killed before it hears of it"),
                Some(KillMoment::Heard) => Some("the server is killed as soon as it has it"),
                Some(KillMoment::Answered) | None => None,
            };
            heard.is_killed |= kill.is_some();
            heard.pause = heard.pause.max(connection.pause);
            heard.unread = heard.unread.max(connection.unread);
            let pause = connection.pause.map(|time| format!("the server stands still for {}", duration_text(time)));
            let unread = connection.unread.map(|time| format!("the client reads nothing for {}", duration_text(time)));
            struck(fault, kill.map(str::to_owned).into_iter().chain(pause).chain(unread).collect());
        }
        self.note_end(heard.is_killed);
        let is_lost = |fault: &Fault| fault.hears.arrival == Some(Arrival::Nothing);
        if let Some((fault, _)) = self.certain(exchange).find(|(fault, _)| is_lost(fault)) {
            struck(fault, vec!["the server does not hear of it".to_owned()]);
            return heard;
        }
        if self.certain(exchange).any(|(fault, _)| fault.connection.kill == Some(KillMoment::Unheard)) {
            return heard;
        }
        let changes: Vec<_> = self.certain(exchange).filter(|(fault, _)| fault.hears.is_about_messages()).collect();
        let message = serde_json::from_slice::<Value>(bytes).ok().filter(|_| !changes.is_empty());
        heard.bytes = Some(match message {
            None => bytes.to_vec(),
            Some(original) => {
                let mut message = original.clone();
                for (fault, count) in changes {
                    let before = message.clone();
                    fault.hears.change(&mut message, &self.names(&exchange.request, count));
                    let changes = description::of_values(&before, &message);
                    struck(fault, changes.iter().map(|change| format!("heard as {change}")).collect());
                }
                if message == original { bytes.to_vec() } else { message.to_string().into_bytes() }
            }
        });
        for (fault, count) in self.certain(exchange).filter(|(fault, _)| !fault.hears.headers.is_empty()) {
            let names = self.names(&exchange.request, count);
            let headers = filled_headers(&fault.hears.headers, || &names);
            let changes = headers.iter().map(|(name, _)| format!("heard with another header `{name}`"));
            struck(fault, changes.collect());
            heard.headers.extend(headers);
        }
        if let Some((fault, arrival)) = self.certain(exchange).find_map(|(it, _)| Some((it, it.hears.arrival?))) {
            struck(fault, vec![arrival.change().to_owned()]);
            heard.arrival = Some(arrival);
            // Over HTTP, a request has a connection of its own.
            self.note_end(arrival == Arrival::Torn && exchange.request.carrier() == Carrier::Stream);
            if let Some(bytes) = heard.bytes.as_mut().filter(|_| matches!(arrival, Arrival::Truncate | Arrival::Torn)) {
                bytes.truncate(bytes.len() / 2);
            }
        }
        for (fault, _) in self.certain(exchange) {
            let (Some(bandwidth), Some(bytes)) = (fault.hears.bandwidth, &heard.bytes) else { continue };
            let time = bandwidth.time_of(bytes.len());
            heard.transfer = heard.transfer.max(Some(time));
            struck(fault, vec![format!("its {} bytes take {} to arrive", bytes.len(), duration_text(time))]);
        }
        heard
    }

    /// Changes an answer, which is `None` if there was none.
    pub fn answer(&self, exchange: &LiveExchange, answer: Option<ServerReply>) -> ChangedMessage {
        if self.is_stalled(&exchange.request.scope) {
            return ChangedMessage::never();
        }
        let replies: Vec<ServerReply> = answer.into_iter().collect();
        let is_confirmed = are_served(&replies);
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
        // What is remembered is what came before this answer.
        let mut names = if hits.is_empty() { Names::new() } else { self.names(&exchange.request, 0) };
        self.remember(&exchange.request, replies.first());
        if let Some(reply) = replies.first().filter(|_| !hits.is_empty()) {
            names.extend(answer_names(reply));
        }
        let changed = self.changed(Some(&exchange.request), replies, &hits, &names);
        self.conclude(&exchange.request, &changed, is_confirmed);
        changed
    }

    /// Changes a message that the server sends by itself, during an exchange if that is known.
    pub fn sent(&self, exchange: Option<&LiveExchange>, scope: &str, reply: ServerReply) -> ChangedMessage {
        let method =
            if let ReplyContent::Message(message) = &reply.content { message["method"].as_str() } else { None };
        let Some(method) = method.filter(|_| !self.is_healed.load(Ordering::Relaxed)) else {
            return ChangedMessage::unchanged(Some(reply));
        };
        if self.is_stalled(scope) {
            return ChangedMessage::never();
        }
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
        if self.needs.history {
            let mut exchange = request.exchange.clone();
            exchange.replies.extend(answer.cloned());
            let mut memory = self.memory.lock();
            if memory.exchanges.len() < MOST_KEPT {
                memory.exchanges.push(exchange);
            }
        }
        if let Some(ReplyContent::Message(message)) = answer.map(|answer| &answer.content)
            && let Some(Value::Array(tools)) = message["result"].get("tools").filter(|_| method == "tools/list")
        {
            let mut memory = self.memory.lock();
            for tool in tools.iter().cloned().map(Tool::new) {
                if memory.catalog.tool(&tool.name).is_none() {
                    memory.catalog.tools.push(tool);
                }
            }
        }
        if let Some(ReplyContent::Message(message)) =
            answer.map(|answer| &answer.content).filter(|_| self.needs.earlier)
        {
            let kept = json!({ "request": request.parsed().message(), "answer": message });
            self.memory.lock().earlier.entry(request.scope.clone()).or_default().insert(method.to_owned(), kept);
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
        let nothing = LiveRequest::moment(MessageKind::Empty, String::new());
        let request = request.unwrap_or(&nothing);
        let (catalog, mut exchanges) = self.known(request);
        let at_this = exchanges.len() - 1;
        exchanges[at_this].replies.clone_from(&changed.own);
        let history = ExchangeHistory { catalog: &catalog, capabilities: &Value::Null, exchanges: &exchanges };
        let original = changed.own.clone();
        for (at, count) in hits {
            let fault = &self.faults[*at];
            let mut names = names.clone();
            names.insert("count".to_owned(), (*count).into());
            let bytes = |written: &Written| ReplyContent::of(written.value(&names)?).bytes();
            changed.before.extend(fault.before.iter().filter_map(bytes));
            changed.after.extend(fault.after.iter().filter_map(bytes));
            let own = std::mem::take(&mut changed.own);
            let before = own.clone();
            let is_killed = fault.connection.kill == Some(KillMoment::Answered) && !own.is_empty();
            changed.loss = changed.loss.or(is_killed.then_some(AnswerLoss::Killed));
            let mut work = EffectContext::on_its_way(at_this, &history, request.parsed(), own, names);
            for effect in &fault.answers {
                let is_lost = *effect == FaultEffect::Plain(PlainEffect::Never);
                changed.loss = changed.loss.or(is_lost.then_some(AnswerLoss::Never));
                changed.on_listening |= *effect == FaultEffect::AlsoOnListening;
                let delay = work.delay();
                // What there is nothing to make from changes nothing.
                let _ = effect.act(&mut work);
                if matches!(effect, FaultEffect::Bandwidth(_)) {
                    changed.transfer += work.delay().saturating_sub(delay);
                }
            }
            changed.own = if changed.loss == Some(AnswerLoss::Killed) { Vec::new() } else { work.replies };
            let mut told = description::describe(&before, &changed.own);
            if is_killed {
                told = vec!["the server is killed when its answer is on the way".to_owned()];
            }
            let beside = fault.before.len() + fault.after.len();
            told.extend(
                (beside > 0).then(|| format!("{beside} more {}", if beside == 1 { "message" } else { "messages" })),
            );
            if !told.is_empty() {
                changed.faults.push(fault.name.clone());
            } else if fault.is_about_replies_alone() {
                changed.idle.push(fault.name.clone());
            }
            self.struck(fault, request, told);
        }
        if changed.own.iter().any(|reply| reply.content == ReplyContent::Stalled) {
            changed.loss = changed.loss.or(Some(AnswerLoss::Never));
            self.memory.lock().stalled.insert(request.scope.clone());
        }
        let is_stream = request.carrier() == Carrier::Stream;
        let is_the_end = |reply: &ServerReply| match reply.content {
            ReplyContent::Ended(_) => true,
            ReplyContent::Torn(_) => is_stream,
            ReplyContent::Message(_) | ReplyContent::Bytes(_) | ReplyContent::Stderr(_) | ReplyContent::Stalled => {
                false
            }
        };
        self.note_end(changed.loss == Some(AnswerLoss::Killed) || changed.own.iter().any(is_the_end));
        self.has_broken_off.fetch_or(!is_stream && changed.breaks_off(), Ordering::Relaxed);
        let is_beside = !(changed.before.is_empty() && changed.after.is_empty());
        changed.is_changed = changed.own != original || is_beside || changed.loss.is_some() || changed.on_listening;
        changed
    }

    /// Notes a call of a tool.
    fn take_in(&self, request: &mut LiveRequest) {
        let mut memory = self.memory.lock();
        if request.exchange.tool().is_some() && memory.calls.len() < MOST_KEPT {
            request.call = Some(memory.calls.len());
            memory.calls.push(PassedCall {
                sent: (self.clock)(),
                answered: None,
                given_up: None,
                is_struck: false,
                is_served: false,
                is_confirmed: false,
            });
        }
    }

    /// Notes what came of a call in the end.
    fn conclude(&self, request: &LiveRequest, changed: &ChangedMessage, is_confirmed: bool) {
        let is_served = are_served(&changed.own);
        let mut memory = self.memory.lock();
        if let Some(call) = request.call.and_then(|at| memory.calls.get_mut(at)) {
            (call.is_served, call.is_confirmed) = (is_served, is_confirmed);
            call.answered = (!changed.own.is_empty()).then(|| (self.clock)() + changed.delay());
        }
    }

    /// Whether a fault had the server fall silent there; until the faults end.
    fn is_stalled(&self, scope: &str) -> bool {
        self.can_stall && !self.is_healed.load(Ordering::Relaxed) && self.memory.lock().stalled.contains(scope)
    }

    /// Remembers that a fault changed something.
    fn struck(&self, fault: &Fault, request: &LiveRequest, changes: Vec<String>) {
        let mut memory = self.memory.lock();
        if let Some(call) = request.call.filter(|_| !changes.is_empty()).and_then(|at| memory.calls.get_mut(at)) {
            call.is_struck = true;
        }
        if !changes.is_empty() && !memory.effective.contains(&fault.name) {
            memory.effective.insert(fault.name.clone());
        }
        if !changes.is_empty() && memory.strikes.len() < MOST_KEPT {
            memory.strikes.push(Strike { fault: fault.name.clone(), asked: request.asked(), changes });
        }
    }

    /// Counts how often the same was asked: in its scope, which the request then knows, and in all, which is returned.
    fn count_the_same(&self, request: &mut LiveRequest) -> u32 {
        if !self.needs.counts {
            return 0;
        }
        let ClientMessage::Message { method, params, .. } = &request.exchange.sent else { return 0 };
        // Whole arguments would fill the memory.
        let key = fnv(fnv(FNV, method.as_bytes()), canonical(params).as_bytes());
        let mut memory = self.memory.lock();
        let mut next = |scope: &str| {
            let count = memory.asked.entry((scope.to_owned(), key)).or_default();
            *count += 1;
            *count - 1
        };
        let in_scope = next(&request.scope);
        request.exchange.occurrence = in_scope;
        next("")
    }

    /// The offer of the server, and earlier exchanges with this one as the last.
    fn known(&self, request: &LiveRequest) -> (Catalog, Vec<MessageExchange>) {
        let memory = self.memory.lock();
        let mut exchanges = memory.exchanges.clone();
        exchanges.push(request.exchange.clone());
        (memory.catalog.clone(), exchanges)
    }

    /// The faults that strike whatever the answer is.
    fn certain<'a>(&'a self, exchange: &'a LiveExchange) -> impl Iterator<Item = (&'a Fault, u64)> {
        exchange.matched.iter().filter_map(|matched| Some((&self.faults[matched.fault], matched.count?)))
    }

    /// Counts one more; gives the number if it is that one's turn.
    fn count(&self, at: usize, scope: &str) -> Option<u64> {
        let turn = self.faults[at].on.turn;
        let is_of_server = turn.of_server || self.faults[at].on.burst().is_some();
        let scope = if is_of_server { String::new() } else { scope.to_owned() };
        let mut memory = self.memory.lock();
        let count = memory.counts.entry((at, scope)).or_default();
        *count += 1;
        let count = *count;
        let mut is_struck = turn.comes(count);
        if let Some((chance, length)) = self.faults[at].on.burst() {
            let before = memory.bursts.get(&at).copied();
            let is_in = chance.next_of_burst(length, before, count);
            memory.bursts.insert(at, is_in);
            is_struck &= is_in;
        }
        is_struck.then_some(count)
    }

    fn names(&self, request: &LiveRequest, count: u64) -> Names {
        let mut names = request_names(&request.parsed());
        let memory = self.memory.lock();
        let mut earlier = memory.earlier.get("").cloned().unwrap_or_default();
        earlier.extend(memory.earlier.get(&request.scope).cloned().unwrap_or_default());
        names.insert("earlier".to_owned(), earlier.into());
        names.insert("count".to_owned(), count.into());
        names
    }
}

/// Whether one of the replies is a result that reports no failure.
fn are_served(replies: &[ServerReply]) -> bool {
    replies.iter().any(|reply| match &reply.content {
        ReplyContent::Message(message) => is_served(message),
        ReplyContent::Bytes(_)
        | ReplyContent::Torn(_)
        | ReplyContent::Stderr(_)
        | ReplyContent::Stalled
        | ReplyContent::Ended(_) => false,
    })
}

impl Fault {
    /// Whether all that it does shows in a reply.
    fn is_about_replies_alone(&self) -> bool {
        let is_elsewhere =
            |effect: &FaultEffect| matches!(effect, FaultEffect::EventId(_) | FaultEffect::AlsoOnListening);
        let is_quiet = self.hears == Hearing::default() && self.connection == ConnectionFault::default();
        is_quiet && !self.answers.is_empty() && !self.answers.iter().any(is_elsewhere)
    }
}
