//! One session of a recorded server.

use std::sync::Arc;

use serde::de::IgnoredAny;
use serde_json::{Value, json};

use super::super::recording::{ExchangeKey, SessionCounter, TargetRecording, read_message, redact_message};
use super::{ReplayMoment, ReplayServer};
use crate::carrier::{ReplyEncoder, RequestContext, asked_text};
use crate::fault::{ClientMessage, ReplyContent, ServerReply};
use crate::transport::replay::RecordedServer;
use crate::transport::{OutgoingMessage, Owner, Scheduled, TransportKind};

/// The answer to a request that the recording does not know.
const NOT_RECORDED: &str = "the recording holds no answer to this";

pub(crate) struct ReplaySession {
    server: Arc<ReplayServer>,
    target: String,
    transport: TransportKind,
    counter: SessionCounter,
    /// Recorded ids of this session, and those that stand for them now.
    ids: Vec<(Value, Value)>,
    state: ReplayState,
    /// The mutant changed the handshake: other attempts to make one get no answer either.
    has_struck_the_start: bool,
}

/// The state of the server.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ReplayState {
    Serving,
    Stalled,
    Gone,
}

impl ReplaySession {
    pub(crate) fn new(server: Arc<ReplayServer>, target: &str, transport: TransportKind) -> Self {
        Self {
            server,
            target: target.to_owned(),
            transport,
            counter: SessionCounter::default(),
            ids: Vec::new(),
            state: ReplayState::Serving,
            has_struck_the_start: false,
        }
    }

    fn recording(&self) -> Option<&TargetRecording> {
        self.server.indexed.recording.targets.get(&self.target)
    }

    /// The replies to a message of the client.
    fn answer(&mut self, owner: &Owner, said: &ClientMessage, context: RequestContext) -> Vec<Scheduled> {
        match self.state {
            ReplayState::Serving => {}
            ReplayState::Stalled => return Vec::new(),
            ReplayState::Gone => return self.encoder(context).refuse(),
        }
        let key = ExchangeKey::of(owner, said);
        let server = Arc::clone(&self.server);
        let number = self.counter.count(&self.target, &key, &mut server.log.lock().sessions);
        let found = server.indexed.targets.get(&self.target).and_then(|index| index.find(&key, number));
        let moment = || ReplayMoment { owner: owner.clone(), frame: context.frame, session: number.session };
        let (Some(at), Some(target)) = (found, server.indexed.recording.targets.get(&self.target)) else {
            return self.unknown(said, context, moment());
        };
        let exchange = &target.exchanges[at];
        self.pair(&exchange.sent, said);
        let changed = server.changes.get(&self.target).and_then(|changes| changes.get(&at));
        self.has_struck_the_start |= changed.is_some() && *owner == Owner::Session;
        if changed.is_some() {
            server.log.lock().struck.push(moment());
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
            self.server.log.lock().left.push(moment);
            return Vec::new();
        };
        let Some(id) = id else { return Vec::new() };
        if moment.owner == Owner::Session && self.has_struck_the_start {
            return Vec::new();
        }
        self.server.log.lock().left.push(moment);
        let message = format!("{NOT_RECORDED}: {}", asked_text(said));
        let error = json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32603, "message": message}});
        let reply = ServerReply::now(ReplyContent::Message(error), None);
        self.encoder(context).encode(&reply)
    }

    fn play(&mut self, replies: &[ServerReply], context: RequestContext) -> Vec<Scheduled> {
        let mut played = Vec::new();
        for reply in replies {
            if self.state != ReplayState::Serving {
                break;
            }
            played.extend(self.encoder(context).encode(reply));
            if reply.content == ReplyContent::Stalled {
                self.state = ReplayState::Stalled;
            } else if matches!(reply.content, ReplyContent::Ended(_)) {
                self.state = ReplayState::Gone;
            }
        }
        played
    }

    fn encoder(&self, context: RequestContext) -> ReplyEncoder<'_> {
        ReplyEncoder::new(self.transport, &self.ids, context)
    }

    fn has_sessions(&self) -> bool {
        self.server.indexed.targets.get(&self.target).is_some_and(|index| index.has_sessions)
    }
}

impl RecordedServer for ReplaySession {
    fn on_message(&mut self, message: &OutgoingMessage) -> Vec<Scheduled> {
        let Some(said) = read_message(&message.bytes) else { return Vec::new() };
        let said = redact_message(said, &self.server.indexed.redactor);
        self.answer(&message.owner, &said, RequestContext::of(message, self.has_sessions()))
    }

    /// A raw message is known as a whole, or line by line.
    fn on_raw(&mut self, owner: &Owner, bytes: &[u8]) -> Vec<Scheduled> {
        if self.recording().is_none() {
            return Vec::new();
        }
        let whole = self.raw_said(bytes);
        let is_known = |said: &ClientMessage| {
            let key = ExchangeKey::of(owner, said);
            self.server.indexed.targets.get(&self.target).is_some_and(|index| index.found.contains_key(&key))
        };
        if let Some(said) = whole.filter(is_known) {
            return self.answer(owner, &said, RequestContext::RAW);
        }
        let lines = bytes.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty());
        let said: Vec<ClientMessage> = lines.filter_map(|line| self.raw_said(line)).collect();
        said.iter().flat_map(|said| self.answer(owner, said, RequestContext::RAW)).collect()
    }
}

impl ReplaySession {
    fn raw_said(&self, bytes: &[u8]) -> Option<ClientMessage> {
        let is_json = serde_json::from_slice::<IgnoredAny>(bytes).is_ok();
        let said = if is_json { read_message(bytes)? } else { ClientMessage::Raw(bytes.to_vec()) };
        Some(redact_message(said, &self.server.indexed.redactor))
    }
}
