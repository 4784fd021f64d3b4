//! Faults in front of a live server: every message passes here one by one.
//!
//! A carrier asks three things of a [`FaultPlayer`]: what the server receives instead of a message of the client, what
//! the client receives instead of an answer, and what it receives instead of a message that the server sends by itself.

use std::cell::OnceCell;
use std::slice;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::Value;

use super::changed_message::{AnswerLoss, ChangedMessage, HeardMessage, MessageCopy};
use super::description;
use super::effect::{EffectContext, FaultEffect, filled_headers, set_headers};
use super::exchange::{ReplyContent, ServerReply};
use super::live_request::LiveRequest;
use super::parsed_message::MessageKind;
use super::player_memory::{NeededMemory, PassedCall, PlayerMemory, Strike, are_served};
use super::request_fault::{ConnectionFault, RequestFault};
use super::words::{Arrival, FaultTransport, KillMoment, PlainEffect};
use super::written::answer_names;
use super::{Fault, Match};
use crate::source::duration_text;
use crate::source::template::Names;
use crate::wire::{Catalog, HttpHead};

/// Applies the faults of one server to all its conversations.
#[derive(Debug)]
pub struct FaultPlayer {
    faults: Vec<Fault>,
    memory: Mutex<PlayerMemory>,
    needs: NeededMemory,
    /// A fault can have the server fall silent.
    can_stall: bool,
    is_healed: AtomicBool,
    has_ended: AtomicBool,
    has_broken_off: AtomicBool,
    /// The copies of requests so far.
    copies: AtomicU64,
    clock: fn() -> Duration,
}

/// A message of a client, with the faults that match it.
#[derive(Debug)]
pub struct LiveExchange {
    /// The message.
    pub request: LiveRequest,
    matched: Vec<MatchedFault>,
}

/// A fault that matches a message of a client.
#[derive(Debug)]
struct MatchedFault {
    index: usize,
    /// The number of its match; `None` as long as it depends on the answer.
    count: Option<u64>,
}

/// A fault that strikes, by its index, with the number of its match.
struct FaultHit {
    index: usize,
    count: u64,
}

impl FaultPlayer {
    /// Faults that no message has met.
    pub fn new(faults: Vec<Fault>) -> Self {
        let needs = NeededMemory::of(&faults);
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
            copies: AtomicU64::new(0),
            clock: || Duration::ZERO,
        }
    }

    /// The same with the clock of calls; without it, all times are zero.
    #[must_use]
    pub fn with_clock(self, clock: fn() -> Duration) -> Self {
        Self { clock, ..self }
    }

    /// Takes in the offer of the server.
    pub fn learn(&self, catalog: &Catalog) {
        self.memory.lock().catalog.clone_from(catalog);
    }

    /// Ends all faults: from now on every message passes as it is.
    pub fn heal(&self) {
        self.is_healed.store(true, Ordering::Relaxed);
    }

    /// Lets the faults strike from now on, after they ended or before they began.
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

    /// A fault ended the server, or its connection, since the last connection was made.
    pub fn has_ended(&self) -> bool {
        self.has_ended.load(Ordering::Relaxed)
    }

    /// A fault broke off a connection, but not the server's, since this was asked before.
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

    /// Finds the faults that match a message of the client; at other addresses than the endpoint only those that name one.
    pub fn match_request(&self, mut request: LiveRequest) -> LiveExchange {
        if self.faults.is_empty() {
            return LiveExchange { request, matched: Vec::new() };
        }
        self.memory.lock().add_call(&mut request, (self.clock)());
        if self.is_healed.load(Ordering::Relaxed) {
            return LiveExchange { request, matched: Vec::new() };
        }
        self.memory.lock().count_equal(&mut request, self.needs);
        let (parsed, carrier) = (request.parse(), request.carrier());
        let known = OnceCell::new();
        let fits_context = |on: &Match| {
            let known = known.get_or_init(|| self.memory.lock().exchanges_up_to(&request));
            on.fits_context(&parsed, known.last(), &known.history(), request.asked_before)
        };
        let faults = self.faults.iter().enumerate();
        let about = faults.filter(|(_, fault)| {
            let is_here = request.is_at_endpoint || fault.on.message.path.is_some();
            is_here
                && fault.on.sends.is_empty()
                && fault.on.is_of(&request.exchange)
                && fault.on.is_asked(&parsed, carrier)
                && fits_context(&fault.on)
        });
        let matched = about.filter_map(|(index, fault)| {
            let count = if fault.on.depends_on_answer() { None } else { Some(self.count(index, &request)?) };
            Some(MatchedFault { index, count })
        });
        let matched = matched.collect();
        drop(parsed);
        LiveExchange { request, matched }
    }

    /// The message as the server receives it.
    pub fn hear(&self, exchange: &LiveExchange, bytes: &[u8]) -> HeardMessage {
        let mut heard = HeardMessage::default();
        // A silent server receives no messages; it notices that its client goes.
        if exchange.request.kind != MessageKind::End && self.is_stalled(&exchange.request.scope) {
            return heard;
        }
        let certain: Vec<FaultHit> = exchange.certain().collect();
        let faults = || certain.iter().map(|hit| (&self.faults[hit.index], hit.count));
        let mut note = |fault: &Fault, changes: Vec<String>| {
            let is_new = !changes.is_empty() && !heard.faults.contains(&fault.name);
            heard.faults.extend(is_new.then(|| fault.name.clone()));
            self.memory.lock().add_strike(&fault.name, &exchange.request, changes);
        };
        for (fault, _) in faults() {
            let ConnectionFault { kill, pause, unread } = fault.connection;
            let kill = match kill {
                Some(KillMoment::Unheard) => Some("the server is killed before it hears of it"),
                Some(KillMoment::Heard) => Some("the server is killed as soon as it has it"),
                Some(KillMoment::Answered) | None => None,
            };
            heard.is_killed |= kill.is_some();
            heard.pause = heard.pause.max(pause);
            heard.unread = heard.unread.max(unread);
            let pause = pause.map(|time| format!("the server stands still for {}", duration_text(time)));
            let unread = unread.map(|time| format!("the client reads nothing for {}", duration_text(time)));
            note(fault, kill.map(str::to_owned).into_iter().chain(pause).chain(unread).collect());
        }
        self.note_end(heard.is_killed);
        if let Some((fault, _)) = faults().find(|(fault, _)| fault.hears.arrival == Some(Arrival::Nothing)) {
            note(fault, vec![Arrival::Nothing.change().to_owned()]);
            return heard;
        }
        if faults().any(|(fault, _)| fault.connection.kill == Some(KillMoment::Unheard)) {
            return heard;
        }
        let mut received = bytes.to_vec();
        let is_changed = faults().any(|(fault, _)| fault.hears.is_about_messages());
        if let Some(original) = serde_json::from_slice::<Value>(bytes).ok().filter(|_| is_changed) {
            let mut message = original.clone();
            for (fault, count) in faults().filter(|(fault, _)| fault.hears.is_about_messages()) {
                let before = message.clone();
                fault.hears.change(&mut message, &self.names(&exchange.request, count));
                let changes = description::value_differences(&before, &message);
                note(fault, changes.iter().map(|change| format!("heard as {change}")).collect());
            }
            if message != original {
                received = message.to_string().into_bytes();
            }
        }
        for (fault, count) in faults().filter(|(fault, _)| !fault.hears.headers.is_empty()) {
            let names = self.names(&exchange.request, count);
            let headers = filled_headers(&fault.hears.headers, || &names);
            note(fault, headers.iter().map(|(name, _)| format!("heard with another header `{name}`")).collect());
            heard.headers.extend(headers);
        }
        if let Some((fault, arrival)) = faults().find_map(|(fault, _)| Some((fault, fault.hears.arrival?))) {
            note(fault, vec![arrival.change().to_owned()]);
            heard.arrival = Some(arrival);
            if arrival == Arrival::Twice {
                heard.copies.push(MessageCopy { bytes: received.clone(), id: exchange.request.id() });
            }
            // Over HTTP, a request has a connection of its own.
            self.note_end(arrival == Arrival::Torn && exchange.request.carrier() == FaultTransport::Stream);
            if matches!(arrival, Arrival::Truncate | Arrival::Torn) {
                received.truncate(received.len() / 2);
            }
        }
        let storm = faults().find_map(|(fault, _)| Some((fault, fault.hears.times?)));
        if let Some((fault, times)) = storm.filter(|_| heard.arrival.is_none()) {
            note(fault, vec![format!("the server hears of it {times} times")]);
            heard.copies.extend((1..times).map(|_| self.copy_with_own_id(&received)));
        }
        for (fault, _) in faults() {
            let Some(bandwidth) = fault.hears.bandwidth else { continue };
            let time = bandwidth.time_of(received.len());
            heard.transfer = heard.transfer.max(Some(time));
            note(fault, vec![format!("its {} bytes take {} to arrive", received.len(), duration_text(time))]);
        }
        heard.bytes = Some(received);
        heard
    }

    /// The same message as another request of its client: under an id that no other has, and without a token for progress,
    /// which would be that of the first one. What is no request stays as it is.
    fn copy_with_own_id(&self, bytes: &[u8]) -> MessageCopy {
        let request = serde_json::from_slice::<Value>(bytes).ok().filter(|message| message.get("id").is_some());
        let Some(mut message) = request else { return MessageCopy { bytes: bytes.to_vec(), id: None } };
        let id = Value::from(format!("mcprove-{}", self.copies.fetch_add(1, Ordering::Relaxed) + 1));
        message["id"] = id.clone();
        if let Some(Value::Object(meta)) = message.pointer_mut("/params/_meta") {
            meta.shift_remove("progressToken");
        }
        MessageCopy { bytes: message.to_string().into_bytes(), id: Some(id) }
    }

    /// Changes an answer, which is `None` if there was none.
    pub fn answer(&self, exchange: &LiveExchange, answer: Option<ServerReply>) -> ChangedMessage {
        let request = &exchange.request;
        if self.is_stalled(&request.scope) {
            return ChangedMessage::never();
        }
        let replies: Vec<ServerReply> = answer.into_iter().collect();
        let is_confirmed = are_served(&replies);
        let hits = exchange.matched.iter().filter_map(|matched| {
            let MatchedFault { index, count } = *matched;
            let is_met = || self.faults[index].on.is_answered(&replies, (!replies.is_empty()).then_some(0));
            let count = count.or_else(|| is_met().then(|| self.count(index, request)).flatten())?;
            Some(FaultHit { index, count })
        });
        let hits: Vec<FaultHit> = hits.collect();
        // The memory is that of the time before this answer.
        let mut names = if hits.is_empty() { Names::new() } else { self.names(request, 0) };
        self.memory.lock().remember(request, replies.first(), self.needs);
        if let Some(reply) = replies.first().filter(|_| !hits.is_empty()) {
            names.extend(answer_names(reply));
        }
        let changed = self.change(Some(request), replies, &hits, &names);
        if let Some(call) = request.call {
            self.memory.lock().end_call(call, &changed, is_confirmed, (self.clock)());
        }
        changed
    }

    /// Changes a message that the server sends by itself, during an exchange if that is known.
    pub fn change_sent(&self, exchange: Option<&LiveExchange>, scope: &str, reply: ServerReply) -> ChangedMessage {
        let method = reply.message().and_then(|message| message["method"].as_str());
        let Some(method) = method.filter(|_| !self.is_healed.load(Ordering::Relaxed)) else {
            return ChangedMessage::pass(Some(reply));
        };
        if self.is_stalled(scope) {
            return ChangedMessage::never();
        }
        let during = exchange.map(|exchange| &exchange.request);
        let parsed = during.map(|request| (request.parse(), request.carrier()));
        let faults = self.faults.iter().enumerate();
        let about = faults.filter(|(_, fault)| fault.on.is_sent(method, parsed.as_ref()) && fault.on.means(&reply));
        let task = during.and_then(LiveRequest::task);
        let count = |index: usize| self.memory.lock().count_match(index, &self.faults[index], scope, task);
        let hits = about.filter_map(|(index, _)| Some(FaultHit { index, count: count(index)? }));
        let hits: Vec<FaultHit> = hits.collect();
        let mut names = during.map(|request| self.names(request, 0)).unwrap_or_default();
        names.extend(answer_names(&reply));
        self.change(during, vec![reply], &hits, &names)
    }

    /// The head of a response whose messages are still to come.
    pub fn head(&self, exchange: &LiveExchange, head: &HttpHead) -> HttpHead {
        let reply = ServerReply::now(ReplyContent::Bytes(Vec::new()), Some(Arc::new(head.clone())));
        let mut changed = head.clone();
        for matched in &exchange.matched {
            let fault = &self.faults[matched.index];
            let is_known = || fault.on.depends_on_status_alone() && fault.on.is_answered(slice::from_ref(&reply), None);
            let Some(count) = matched.count.or_else(|| is_known().then_some(1)) else { continue };
            let mut names = self.names(&exchange.request, count);
            names.extend(answer_names(&reply));
            for effect in &fault.answers {
                if let FaultEffect::Status(status) = effect {
                    changed.status = *status;
                }
                if let FaultEffect::Headers(headers) = effect {
                    set_headers(&filled_headers(headers, || &names), &mut changed.headers);
                }
            }
        }
        changed
    }

    /// The id that faults give the event with that number of a response; `None` if it keeps its own.
    pub fn event_id(&self, exchange: &LiveExchange, number: u64) -> Option<Option<String>> {
        let mut given = None;
        for FaultHit { index, count } in exchange.certain() {
            for effect in &self.faults[index].answers {
                if let FaultEffect::EventId(id) = effect {
                    let mut names = self.names(&exchange.request, count);
                    names.insert("event".to_owned(), number.into());
                    given = Some(id.as_ref().and_then(|id| id.text(&names)));
                }
            }
        }
        given
    }

    /// Applies the faults that strike, each to the replies that the one before it left.
    fn change(
        &self,
        request: Option<&LiveRequest>,
        replies: Vec<ServerReply>,
        hits: &[FaultHit],
        names: &Names,
    ) -> ChangedMessage {
        let mut changed = ChangedMessage { own: replies, ..ChangedMessage::default() };
        if hits.is_empty() {
            return changed;
        }
        let nothing = LiveRequest::moment(MessageKind::Empty, String::new());
        let request = request.unwrap_or(&nothing);
        let mut known = self.memory.lock().exchanges_up_to(request);
        let last = known.last();
        known.exchanges[last].replies.clone_from(&changed.own);
        let history = known.history();
        let original = changed.own.clone();
        for hit in hits {
            let fault = &self.faults[hit.index];
            let mut names = names.clone();
            names.insert("count".to_owned(), hit.count.into());
            let before = changed.own.clone();
            let own = std::mem::take(&mut changed.own);
            let mut work = EffectContext::on_its_way(last, &history, request.parse(), own, names)
                .asked_after(request.asked_before);
            let outcome = fault.strike(&fault.answers, &mut work);
            changed.before.extend(outcome.before.into_iter().filter_map(|reply| reply.content.bytes()));
            changed.after.extend(outcome.after.into_iter().filter_map(|reply| reply.content.bytes()));
            changed.on_listening |= outcome.on_listening;
            changed.transfer += outcome.transfer;
            changed.loss = changed.loss.or(outcome.loss);
            let is_killed = outcome.loss == Some(AnswerLoss::Killed);
            changed.own = if changed.loss == Some(AnswerLoss::Killed) { Vec::new() } else { work.replies };
            let mut lines = description::describe(&before, &changed.own);
            if is_killed {
                lines = vec!["the server is killed when its answer is on the way".to_owned()];
            }
            let beside = fault.before.len() + fault.after.len();
            if beside > 0 {
                lines.push(format!("{beside} more {}", if beside == 1 { "message" } else { "messages" }));
            }
            if !lines.is_empty() {
                changed.faults.push(fault.name.clone());
            } else if fault.is_about_replies_alone() {
                changed.idle.push(fault.name.clone());
            }
            self.memory.lock().add_strike(&fault.name, request, lines);
        }
        let is_stream = request.carrier() == FaultTransport::Stream;
        if changed.own.iter().any(|reply| reply.content == ReplyContent::Stalled) {
            changed.loss = changed.loss.or(Some(AnswerLoss::Never));
            self.memory.lock().stalled.insert(request.scope.clone());
        }
        let is_torn = |reply: &ServerReply| matches!(reply.content, ReplyContent::Torn(_));
        let breaks_stream = is_stream && changed.own.iter().any(is_torn);
        self.note_end(changed.loss == Some(AnswerLoss::Killed) || changed.end().is_some() || breaks_stream);
        self.has_broken_off.fetch_or(!is_stream && changed.breaks_off(), Ordering::Relaxed);
        let is_beside = !(changed.before.is_empty() && changed.after.is_empty());
        changed.is_changed = changed.own != original || is_beside || changed.loss.is_some() || changed.on_listening;
        changed
    }

    /// A fault had the server fall silent there; until the faults end.
    fn is_stalled(&self, scope: &str) -> bool {
        self.can_stall && !self.is_healed.load(Ordering::Relaxed) && self.memory.lock().stalled.contains(scope)
    }

    fn count(&self, index: usize, request: &LiveRequest) -> Option<u64> {
        self.memory.lock().count_match(index, &self.faults[index], &request.scope, request.task())
    }

    fn names(&self, request: &LiveRequest, count: u64) -> Names {
        self.memory.lock().names(request, count)
    }
}

impl LiveExchange {
    /// The faults that strike, independent of the answer.
    fn certain(&self) -> impl Iterator<Item = FaultHit> {
        self.matched.iter().filter_map(|matched| Some(FaultHit { index: matched.index, count: matched.count? }))
    }
}

impl Fault {
    /// All its changes are changes of replies.
    fn is_about_replies_alone(&self) -> bool {
        let is_elsewhere =
            |effect: &FaultEffect| matches!(effect, FaultEffect::EventId(_) | FaultEffect::AlsoOnListening);
        let is_quiet = self.hears == RequestFault::default() && self.connection == ConnectionFault::default();
        is_quiet && !self.answers.is_empty() && !self.answers.iter().any(is_elsewhere)
    }
}
