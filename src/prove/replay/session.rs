//! One session of a recorded server.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};

use super::super::recording::{ExchangeKey, RequestKey, TargetRecording, asked};
use super::encoder::{ReplyEncoder, asked_text};
use super::{ReplayMoment, ReplayServer};
use crate::fault::{ClientMessage, ReplyContent, ServerReply};
use crate::transport::replay::RecordedServer;
use crate::transport::{MessageRole, OutgoingMessage};
use crate::transport::{Scheduled, TransportKind};

/// What a request gets that the recording does not know.
const NOT_RECORDED: &str = "the recording holds no answer to this";

pub(super) struct ReplaySession {
    server: Arc<ReplayServer>,
    lane: String,
    transport: TransportKind,
    /// The session of each owner.
    ordinals: BTreeMap<String, u32>,
    asked: BTreeMap<ExchangeKey, u32>,
    /// Recorded ids of this session, and those that stand for them now.
    ids: Vec<(Value, Value)>,
    state: ServerState,
    /// Whether the mutant is at work in the handshake: then what else is tried to get one is met as well.
    has_struck_the_start: bool,
}

/// What is left of the server.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ServerState {
    Serving,
    Stalled,
    Gone,
}

impl ReplaySession {
    pub(super) fn new(server: Arc<ReplayServer>, lane: &str, transport: TransportKind) -> Self {
        Self {
            server,
            lane: lane.to_owned(),
            transport,
            ordinals: BTreeMap::new(),
            asked: BTreeMap::new(),
            ids: Vec::new(),
            state: ServerState::Serving,
            has_struck_the_start: false,
        }
    }

    fn recorded(&self) -> Option<&TargetRecording> {
        self.server.indexed.recording.lanes.get(&self.lane)
    }

    /// Which session of its owner this is.
    fn ordinal(&mut self, owner: &str) -> u32 {
        if let Some(known) = self.ordinals.get(owner) {
            return *known;
        }
        let mut log = self.server.lock();
        let next = log.sessions.entry((self.lane.clone(), owner.to_owned())).or_default();
        let ordinal = *next;
        *next += 1;
        drop(log);
        self.ordinals.insert(owner.to_owned(), ordinal);
        ordinal
    }

    fn without_secrets(&self, message: Value) -> Value {
        let redactor = &self.server.indexed.redactor;
        if redactor.is_empty() { message } else { redactor.value(message) }
    }

    /// What comes for a message of the client.
    fn answer(&mut self, owner: &str, said: &ClientMessage, context: RequestContext) -> Vec<Scheduled> {
        match self.state {
            ServerState::Serving => {}
            ServerState::Stalled => return Vec::new(),
            ServerState::Gone => return self.encoder(context).gone(),
        }
        let session = self.ordinal(owner);
        let key = ExchangeKey { owner: owner.to_owned(), request: RequestKey::of(said) };
        let count = self.asked.entry(key.clone()).or_default();
        let occurrence = *count;
        *count += 1;
        let server = Arc::clone(&self.server);
        let found = server.indexed.lanes.get(&self.lane).and_then(|index| index.find(&key, session, occurrence));
        let moment = || ReplayMoment { owner: owner.to_owned(), frame: context.frame, session };
        let (Some(at), Some(lane)) = (found, server.indexed.recording.lanes.get(&self.lane)) else {
            return self.unknown(said, context, moment());
        };
        let exchange = &lane.exchanges[at];
        self.pair(&exchange.sent, said);
        let changed = server.changes.get(&self.lane).and_then(|changes| changes.get(&at));
        self.has_struck_the_start |= changed.is_some() && owner.is_empty();
        if changed.is_some() {
            server.lock().struck.push(moment());
        }
        self.play(changed.unwrap_or(&exchange.replies), context)
    }

    /// Remembers which id stands for a recorded one.
    fn pair(&mut self, recorded: &ClientMessage, now: &ClientMessage) {
        if let (ClientMessage::Message { id: Some(recorded), .. }, ClientMessage::Message { id: Some(now), .. }) =
            (recorded, now)
        {
            self.ids.push((recorded.clone(), now.clone()));
        }
    }

    /// A notification needs no answer; a request without one leaves the recording.
    fn unknown(&mut self, said: &ClientMessage, context: RequestContext, moment: ReplayMoment) -> Vec<Scheduled> {
        let ClientMessage::Message { id, .. } = said else {
            self.server.lock().left.push(moment);
            return Vec::new();
        };
        let Some(id) = id else { return Vec::new() };
        if moment.owner.is_empty() && self.has_struck_the_start {
            return Vec::new();
        }
        self.server.lock().left.push(moment);
        let message = format!("{NOT_RECORDED}: {}", asked_text(said));
        let error = json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32603, "message": message}});
        let reply = ServerReply { after: std::time::Duration::ZERO, content: ReplyContent::Message(error), http: None };
        self.encoder(context).played(&reply)
    }

    fn play(&mut self, replies: &[ServerReply], context: RequestContext) -> Vec<Scheduled> {
        let mut played = Vec::new();
        for reply in replies {
            if self.state != ServerState::Serving {
                break;
            }
            match reply.content {
                ReplyContent::Stalled => self.state = ServerState::Stalled,
                ReplyContent::Ended(_) => {
                    played.extend(self.encoder(context).played(reply));
                    self.state = ServerState::Gone;
                }
                ReplyContent::Message(_) | ReplyContent::Bytes(_) | ReplyContent::Torn(_) | ReplyContent::Stderr(_) => {
                    played.extend(self.encoder(context).played(reply));
                }
            }
        }
        played
    }
}

/// What is known of the message that is answered.
#[derive(Clone, Copy)]
pub(in crate::prove) struct RequestContext {
    pub(in crate::prove) frame: u32,
    /// Whether it is a request.
    pub(in crate::prove) expects_an_answer: bool,
    /// Whether it belongs to a session that has an id, over HTTP.
    pub(in crate::prove) in_session: bool,
}

impl ReplaySession {
    fn encoder(&self, context: RequestContext) -> ReplyEncoder<'_> {
        ReplyEncoder::new(self.transport, &self.ids, context)
    }

    fn has_sessions(&self) -> bool {
        self.server.indexed.lanes.get(&self.lane).is_some_and(|index| index.has_sessions)
    }
}

impl RecordedServer for ReplaySession {
    fn on_message(&mut self, message: &OutgoingMessage) -> Vec<Scheduled> {
        let Ok(value) = serde_json::from_slice::<Value>(&message.bytes) else { return Vec::new() };
        let Some(said) = asked(&self.without_secrets(value)) else { return Vec::new() };
        let context = RequestContext {
            frame: message.frame,
            expects_an_answer: matches!(message.role, MessageRole::Handshake | MessageRole::Request),
            in_session: message.role != MessageRole::Handshake && self.has_sessions(),
        };
        self.answer(&message.owner, &said, context)
    }

    /// A raw message is known as a whole, or line by line.
    fn on_raw(&mut self, owner: &str, bytes: &[u8]) -> Vec<Scheduled> {
        if self.recorded().is_none() {
            return Vec::new();
        }
        let context = RequestContext { frame: 0, expects_an_answer: true, in_session: false };
        let whole = self.raw_said(bytes);
        let is_known = |said: &ClientMessage| {
            let key = ExchangeKey { owner: owner.to_owned(), request: RequestKey::of(said) };
            self.server.indexed.lanes.get(&self.lane).is_some_and(|index| index.found.contains_key(&key))
        };
        if whole.as_ref().is_some_and(is_known) {
            return whole.map(|said| self.answer(owner, &said, context)).unwrap_or_default();
        }
        let lines = bytes.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty());
        let said: Vec<ClientMessage> = lines.filter_map(|line| self.raw_said(line)).collect();
        said.iter().flat_map(|said| self.answer(owner, said, context)).collect()
    }
}

impl ReplaySession {
    fn raw_said(&self, bytes: &[u8]) -> Option<ClientMessage> {
        if let Ok(value) = serde_json::from_slice::<Value>(bytes) {
            return asked(&self.without_secrets(value));
        }
        let redactor = &self.server.indexed.redactor;
        Some(ClientMessage::Raw(if redactor.is_empty() {
            bytes.to_vec()
        } else {
            redactor.text(&String::from_utf8_lossy(bytes)).into_bytes()
        }))
    }
}
