//! A mutant in front of a real server, which decides on whole exchanges: when the answer is there, and with what the recording
//! knows of the time before and after.
//!
//! Messages that the mutant cannot change travel on at once and byte by byte.

use std::collections::BTreeSet;
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};
use serde_json::Value;
use tokio::time::Instant;

use super::super::recording::{MessageNumber, SessionCounter, read_message};
use super::super::replay::{ReplayLog, ReplayMoment};
use super::conversation::{LiveConversation, RecordedConversation};
use crate::carrier::{BegunExchange, LinkPlayer, SaidMessage};
use crate::fault::{
    Arrival, ChangedMessage, ClientMessage, Fault, HeardMessage, MessageExchange, ReplyContent, ServerReply,
};
use crate::wire::{RpcMessage, classify};

/// A mutant and its knowledge of a server, for all sessions of a run.
#[derive(Debug, Clone)]
pub(crate) struct FaultContext {
    pub(crate) fault: Fault,
    pub(crate) recorded: Arc<RecordedConversation>,
    /// The sessions of the run so far: a fault may give one the answers of another.
    conversation: Arc<Mutex<LiveConversation>>,
    /// The recorded exchanges that it is expected to change.
    expected: Arc<BTreeSet<usize>>,
    log: Arc<Mutex<ReplayLog>>,
}

impl FaultContext {
    pub(crate) fn new(
        fault: Fault,
        recorded: RecordedConversation,
        expected: BTreeSet<usize>,
        log: Arc<Mutex<ReplayLog>>,
    ) -> Self {
        let recorded = Arc::new(recorded);
        let conversation = Arc::new(Mutex::new(LiveConversation::new(Arc::clone(&recorded))));
        Self { fault, recorded, conversation, expected: Arc::new(expected), log }
    }
}

/// A mutant on the link of one session.
pub(crate) struct FaultInjector {
    fault_context: FaultContext,
    lane: String,
    counter: SessionCounter,
    open: Vec<OpenExchange>,
    /// Whether the mutant had the server fall silent.
    is_silent: bool,
}

/// A message of the client, where it stands in the conversation.
pub(crate) struct LiveMessage {
    /// `None` for answers to the server.
    at: Option<usize>,
    moment: ReplayMoment,
    is_request: bool,
}

/// A request that has no answer yet.
struct OpenExchange {
    at: usize,
    asked_at: Instant,
    /// Whether what comes beside the answer waits for it.
    holds: bool,
    held: Vec<ServerReply>,
    /// How many of its replies were handed on already.
    told: usize,
}

impl FaultInjector {
    pub(crate) fn new(fault_context: FaultContext, lane: &str) -> Self {
        let (lane, counter) = (lane.to_owned(), SessionCounter::default());
        Self { fault_context, lane, counter, open: Vec::new(), is_silent: false }
    }

    fn log(&self) -> MutexGuard<'_, ReplayLog> {
        self.fault_context.log.lock()
    }

    fn open(&mut self, message: &LiveMessage) -> Option<&mut OpenExchange> {
        self.open.iter_mut().find(|open| Some(open.at) == message.at)
    }

    /// Adds a reply to the conversation, with the time since its request.
    fn note(&self, at: usize, asked_at: Instant, reply: &ServerReply) {
        self.fault_context.conversation.lock().add(at, ServerReply { after: asked_at.elapsed(), ..reply.clone() });
    }

    /// Applies the mutant to an exchange, of which the first replies were handed on; `None` if it does not match.
    fn strike(&mut self, message: &LiveMessage, asked_at: Instant, told: usize) -> Option<ChangedMessage> {
        let (at, fault, elapsed) = (message.at?, self.fault_context.fault.clone(), asked_at.elapsed());
        let (told, replies) = {
            let conversation = self.fault_context.conversation.lock();
            let known = conversation.known();
            let applied = fault.strikes(at, &known).then(|| fault.apply(at, &known).ok()).flatten()?;
            (known.exchanges[at].replies[..told].to_vec(), applied.replies)
        };
        self.is_silent |= replies.iter().any(|reply| reply.content == ReplyContent::Stalled);
        self.log().struck.push(message.moment.clone());
        let own = replies.into_iter().filter(|reply| !told.contains(reply));
        let own = own.map(|reply| ServerReply { after: reply.after.saturating_sub(elapsed), ..reply }).collect();
        Some(ChangedMessage { own, is_changed: true, ..ChangedMessage::default() })
    }
}

impl LinkPlayer for FaultInjector {
    type Exchange = LiveMessage;

    fn begin(&mut self, said: SaidMessage<'_>) -> BegunExchange<LiveMessage> {
        let SaidMessage { bytes, owner, frame, headers: _ } = said;
        let is_raw = frame == 0;
        let message = read_message(bytes).or_else(|| is_raw.then(|| ClientMessage::Raw(bytes.to_vec())));
        let mut moment = ReplayMoment { owner: owner.to_owned(), frame, session: 0 };
        let Some(sent) = message else {
            let exchange = LiveMessage { at: None, moment, is_request: false };
            return BegunExchange { exchange, id: None, progress_token: None, cancels: None };
        };
        let key = self.fault_context.recorded.key(owner, &sent);
        let mut counter = std::mem::take(&mut self.counter);
        let MessageNumber { session, occurrence } = counter.count(&self.lane, &key, &mut self.log().sessions);
        self.counter = counter;
        moment.session = session;
        let (id, cancels) = match &sent {
            ClientMessage::Message { id: None, method, params } if method == "notifications/cancelled" => {
                (None, Some(params["requestId"].clone()))
            }
            ClientMessage::Message { id, .. } => (id.clone(), None),
            ClientMessage::Raw(_) => (None, None),
        };
        let exchange = MessageExchange { owner: owner.to_owned(), session, occurrence, sent, replies: Vec::new() };
        let at = self.fault_context.conversation.lock().begin(&key, exchange);
        if id.is_some() {
            let holds = self.fault_context.expected.contains(&at);
            self.open.push(OpenExchange { at, asked_at: Instant::now(), holds, held: Vec::new(), told: 0 });
        }
        let exchange = LiveMessage { at: Some(at), moment, is_request: id.is_some() };
        // The tokens of requests are their ids.
        BegunExchange { exchange, progress_token: id.clone(), id, cancels }
    }

    fn hear(&mut self, message: &LiveMessage, bytes: &[u8]) -> HeardMessage {
        let fault = &self.fault_context.fault;
        let is_doubled = message.is_request
            && !self.is_silent
            && fault.is_heard_twice()
            && message.at.is_some_and(|at| fault.strikes(at, &self.fault_context.conversation.lock().known()));
        if is_doubled {
            self.log().struck.push(message.moment.clone());
        }
        let arrival = is_doubled.then_some(Arrival::Twice);
        HeardMessage { bytes: Some(bytes.to_vec()), arrival, ..HeardMessage::default() }
    }

    fn answer(&mut self, message: &LiveMessage, answer: Option<ServerReply>) -> ChangedMessage {
        if self.is_silent {
            return ChangedMessage::never();
        }
        let Some(answer) = answer else {
            // A message that expects no answer may be struck at once; a request whose response is no message is not.
            let struck = if message.is_request { None } else { self.strike(message, Instant::now(), 0) };
            return struck.unwrap_or_default();
        };
        let Some(open) = self.open.iter().position(|open| Some(open.at) == message.at) else {
            return ChangedMessage::unchanged(Some(answer));
        };
        let OpenExchange { at, asked_at, held, told, .. } = self.open.remove(open);
        self.note(at, asked_at, &answer);
        self.strike(message, asked_at, told).unwrap_or_else(|| {
            let is_changed = !held.is_empty();
            let own = held.into_iter().chain([answer]).collect();
            ChangedMessage { own, is_changed, ..ChangedMessage::default() }
        })
    }

    fn sent(&mut self, message: Option<&LiveMessage>, reply: ServerReply) -> ChangedMessage {
        if self.is_silent {
            return ChangedMessage::never();
        }
        let is_request = matches!(&reply.content, ReplyContent::Message(sent) if is_request(sent));
        let Some(open) = message.and_then(|message| self.open(message)) else {
            return ChangedMessage::unchanged(Some(reply));
        };
        let (at, asked_at) = (open.at, open.asked_at);
        // The server waits for the answer to its own request.
        let is_held = open.holds && !is_request;
        if is_held {
            open.held.push(reply.clone());
        } else {
            open.told += usize::from(open.held.is_empty());
        }
        self.note(at, asked_at, &reply);
        if is_held {
            return ChangedMessage { is_changed: true, ..ChangedMessage::default() };
        }
        ChangedMessage::unchanged(Some(reply))
    }

    fn release(&mut self, message: &LiveMessage) -> Vec<ServerReply> {
        let Some(open) = self.open(message) else { return Vec::new() };
        open.holds = false;
        std::mem::take(&mut open.held)
    }
}

fn is_request(message: &Value) -> bool {
    matches!(classify(message), RpcMessage::Request { .. })
}
