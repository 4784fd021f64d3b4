//! A mutant in front of a real server, which decides on whole exchanges: when the answer is there, and with what the recording
//! knows of the time before and after.
//!
//! Messages that the mutant cannot change travel on at once and byte by byte.

use std::collections::BTreeSet;
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};
use tokio::time::Instant;

use super::super::recording::{MessageNumber, SessionCounter, read_message};
use super::super::replay::{ReplayLog, ReplayMoment};
use super::conversation::{LiveConversation, RecordedConversation};
use crate::carrier::{BegunExchange, LinkPlayer, SaidMessage};
use crate::fault::{
    ChangedMessage, ClientMessage, Fault, HeardMessage, MessageCopy, MessageExchange, ReplyContent, ServerReply,
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
    target: String,
    counter: SessionCounter,
    /// The mutant had the server fall silent.
    is_silent: bool,
}

/// A message of the client, with its place in the conversation.
pub(crate) struct LiveMessage {
    /// `None` for answers to the server.
    at: Option<usize>,
    moment: ReplayMoment,
    is_request: bool,
    asked_at: Instant,
    /// The messages beside the answer wait for it.
    holds: bool,
    held: Vec<ServerReply>,
    /// The number of its replies that were handed on already.
    passed: usize,
}

impl FaultInjector {
    pub(crate) fn new(fault_context: FaultContext, target: &str) -> Self {
        let (target, counter) = (target.to_owned(), SessionCounter::default());
        Self { fault_context, target, counter, is_silent: false }
    }

    fn conversation(&self) -> MutexGuard<'_, LiveConversation> {
        self.fault_context.conversation.lock()
    }

    fn log(&self) -> MutexGuard<'_, ReplayLog> {
        self.fault_context.log.lock()
    }

    /// Adds a reply to the conversation, with the time since its request.
    fn note(&self, message: &LiveMessage, reply: &ServerReply) {
        if let Some(at) = message.at {
            self.conversation().add(at, ServerReply { after: message.asked_at.elapsed(), ..reply.clone() });
        }
    }

    /// Applies the mutant to an exchange; `None` if it does not match.
    fn strike(&mut self, message: &LiveMessage) -> Option<ChangedMessage> {
        let (at, elapsed) = (message.at?, message.asked_at.elapsed());
        let (passed, replies) = {
            let (conversation, fault) = (self.conversation(), &self.fault_context.fault);
            let known = conversation.history();
            let applied = fault.strikes(at, &known).then(|| fault.apply(at, &known).ok()).flatten()?;
            (known.exchanges[at].replies[..message.passed].to_vec(), applied.replies)
        };
        self.is_silent |= replies.iter().any(|reply| reply.content == ReplyContent::Stalled);
        self.log().struck.push(message.moment.clone());
        let own = replies.into_iter().filter(|reply| !passed.contains(reply));
        let own = own.map(|reply| ServerReply { after: reply.after.saturating_sub(elapsed), ..reply }).collect();
        Some(ChangedMessage { own, is_changed: true, ..ChangedMessage::default() })
    }
}

impl LinkPlayer<LiveMessage> for FaultInjector {
    fn begin(&mut self, said: SaidMessage<'_>) -> BegunExchange<LiveMessage> {
        let SaidMessage { bytes, owner, frame, headers: _ } = said;
        let mut exchange = LiveMessage {
            at: None,
            moment: ReplayMoment { owner: owner.clone(), frame, session: 0 },
            is_request: false,
            asked_at: Instant::now(),
            holds: false,
            held: Vec::new(),
            passed: 0,
        };
        let is_raw = frame == 0;
        let message = read_message(bytes).or_else(|| is_raw.then(|| ClientMessage::Raw(bytes.to_vec())));
        let Some(sent) = message else {
            return BegunExchange { exchange, id: None, progress_token: None, cancels: None };
        };
        let key = self.fault_context.recorded.key(owner, &sent);
        let mut counter = std::mem::take(&mut self.counter);
        let MessageNumber { session, occurrence } = counter.count(&self.target, &key, &mut self.log().sessions);
        self.counter = counter;
        exchange.moment.session = session;
        let (id, cancels) = match &sent {
            ClientMessage::Message { id: None, method, params } if method == "notifications/cancelled" => {
                (None, Some(params["requestId"].clone()))
            }
            ClientMessage::Message { id, .. } => (id.clone(), None),
            ClientMessage::Raw(_) => (None, None),
        };
        let begun = MessageExchange { owner: owner.clone(), session, occurrence, ..MessageExchange::new(sent) };
        let at = self.conversation().begin(&key, begun);
        (exchange.at, exchange.is_request) = (Some(at), id.is_some());
        exchange.holds = exchange.is_request && self.fault_context.expected.contains(&at);
        // The tokens of requests are their ids.
        BegunExchange { exchange, progress_token: id.clone(), id, cancels }
    }

    fn hear(&mut self, message: &mut LiveMessage, bytes: &[u8]) -> HeardMessage {
        let fault = &self.fault_context.fault;
        let is_doubled = message.is_request
            && !self.is_silent
            && fault.is_heard_twice()
            && message.at.is_some_and(|at| fault.strikes(at, &self.conversation().history()));
        if is_doubled {
            self.log().struck.push(message.moment.clone());
        }
        let id = |sent: ClientMessage| if let ClientMessage::Message { id, .. } = sent { id } else { None };
        let copy = || MessageCopy { bytes: bytes.to_vec(), id: read_message(bytes).and_then(id) };
        let copies = is_doubled.then(copy).into_iter().collect();
        HeardMessage { bytes: Some(bytes.to_vec()), copies, ..HeardMessage::default() }
    }

    fn answer(&mut self, message: &mut LiveMessage, answer: Option<ServerReply>) -> ChangedMessage {
        if self.is_silent {
            return ChangedMessage::never();
        }
        let Some(answer) = answer else {
            // A message that expects no answer may be struck at once; a request whose response is no message is not.
            let struck = if message.is_request { None } else { self.strike(message) };
            return struck.unwrap_or_default();
        };
        self.note(message, &answer);
        self.strike(message).unwrap_or_else(|| {
            let is_changed = !message.held.is_empty();
            let own = message.held.drain(..).chain([answer]).collect();
            ChangedMessage { own, is_changed, ..ChangedMessage::default() }
        })
    }

    fn change_sent(&mut self, message: Option<&mut LiveMessage>, reply: ServerReply) -> ChangedMessage {
        if self.is_silent {
            return ChangedMessage::never();
        }
        let Some(message) = message else { return ChangedMessage::pass(Some(reply)) };
        self.note(message, &reply);
        // The server waits for the answer to its own request.
        let is_request = matches!(reply.message().map(classify), Some(RpcMessage::Request { .. }));
        if message.holds && !is_request {
            message.held.push(reply);
            return ChangedMessage { is_changed: true, ..ChangedMessage::default() };
        }
        message.passed += usize::from(message.held.is_empty());
        ChangedMessage::pass(Some(reply))
    }

    fn release(&mut self, message: &mut LiveMessage) -> Vec<ServerReply> {
        message.holds = false;
        std::mem::take(&mut message.held)
    }
}
