//! One session of a recorded server.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};

use super::super::recording::{Key, LaneRecording, Said, asked};
use super::wording::{Wording, asked_text};
use super::{Moment, Stage};
use crate::fault::{Asked, Reply, What};
use crate::transport::replay::RecordedServer;
use crate::transport::{MessageRole, OutgoingMessage};
use crate::transport::{Scheduled, TransportKind};

/// What a request gets that the recording does not know.
const NOT_RECORDED: &str = "the recording holds no answer to this";

pub(super) struct LanePlayer {
    stage: Arc<Stage>,
    lane: String,
    transport: TransportKind,
    /// The session of each owner.
    ordinals: BTreeMap<String, u32>,
    asked: BTreeMap<Key, u32>,
    /// Recorded ids of this session, and those that stand for them now.
    ids: Vec<(Value, Value)>,
    state: State,
    /// Whether the mutant is at work in the handshake: then what else is tried to get one is met as well.
    has_struck_the_start: bool,
}

/// What is left of the server.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Serving,
    Stalled,
    Gone,
}

impl LanePlayer {
    pub(super) fn new(stage: Arc<Stage>, lane: &str, transport: TransportKind) -> Self {
        Self {
            stage,
            lane: lane.to_owned(),
            transport,
            ordinals: BTreeMap::new(),
            asked: BTreeMap::new(),
            ids: Vec::new(),
            state: State::Serving,
            has_struck_the_start: false,
        }
    }

    fn recorded(&self) -> Option<&LaneRecording> {
        self.stage.indexed.recording.lanes.get(&self.lane)
    }

    /// Which session of its owner this is.
    fn ordinal(&mut self, owner: &str) -> u32 {
        if let Some(known) = self.ordinals.get(owner) {
            return *known;
        }
        let mut log = self.stage.lock();
        let next = log.sessions.entry((self.lane.clone(), owner.to_owned())).or_default();
        let ordinal = *next;
        *next += 1;
        drop(log);
        self.ordinals.insert(owner.to_owned(), ordinal);
        ordinal
    }

    fn without_secrets(&self, message: Value) -> Value {
        let redactor = &self.stage.indexed.redactor;
        if redactor.is_empty() { message } else { redactor.value(message) }
    }

    /// What comes for a message of the client.
    fn answer(&mut self, owner: &str, said: &Asked, heard: Heard) -> Vec<Scheduled> {
        match self.state {
            State::Serving => {}
            State::Stalled => return Vec::new(),
            State::Gone => return self.wording(heard).gone(),
        }
        let session = self.ordinal(owner);
        let key = Key { owner: owner.to_owned(), said: Said::of(said) };
        let count = self.asked.entry(key.clone()).or_default();
        let occurrence = *count;
        *count += 1;
        let stage = Arc::clone(&self.stage);
        let found = stage.indexed.lanes.get(&self.lane).and_then(|index| index.find(&key, session, occurrence));
        let moment = || Moment { owner: owner.to_owned(), frame: heard.frame, session };
        let (Some(at), Some(lane)) = (found, stage.indexed.recording.lanes.get(&self.lane)) else {
            return self.unknown(said, heard, moment());
        };
        let exchange = &lane.exchanges[at];
        self.pair(&exchange.asked, said);
        let changed = stage.changes.get(&self.lane).and_then(|changes| changes.get(&at));
        self.has_struck_the_start |= changed.is_some() && owner.is_empty();
        if changed.is_some() {
            stage.lock().struck.push(moment());
        }
        self.play(changed.unwrap_or(&exchange.replies), heard)
    }

    /// Remembers which id stands for a recorded one.
    fn pair(&mut self, recorded: &Asked, now: &Asked) {
        if let (Asked::Message { id: Some(recorded), .. }, Asked::Message { id: Some(now), .. }) = (recorded, now) {
            self.ids.push((recorded.clone(), now.clone()));
        }
    }

    /// A notification needs no answer; a request without one leaves the recording.
    fn unknown(&mut self, said: &Asked, heard: Heard, moment: Moment) -> Vec<Scheduled> {
        let Asked::Message { id, .. } = said else {
            self.stage.lock().left.push(moment);
            return Vec::new();
        };
        let Some(id) = id else { return Vec::new() };
        if moment.owner.is_empty() && self.has_struck_the_start {
            return Vec::new();
        }
        self.stage.lock().left.push(moment);
        let message = format!("{NOT_RECORDED}: {}", asked_text(said));
        let error = json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32603, "message": message}});
        let reply = Reply { after: std::time::Duration::ZERO, what: What::Message(error), http: None };
        self.wording(heard).played(&reply)
    }

    fn play(&mut self, replies: &[Reply], heard: Heard) -> Vec<Scheduled> {
        let mut played = Vec::new();
        for reply in replies {
            if self.state != State::Serving {
                break;
            }
            match reply.what {
                What::Stalled => self.state = State::Stalled,
                What::Ended(_) => {
                    played.extend(self.wording(heard).played(reply));
                    self.state = State::Gone;
                }
                What::Message(_) | What::Bytes(_) | What::Torn(_) | What::Stderr(_) => {
                    played.extend(self.wording(heard).played(reply));
                }
            }
        }
        played
    }
}

/// What is known of the message that is answered.
#[derive(Clone, Copy)]
pub(in crate::prove) struct Heard {
    pub(in crate::prove) frame: u32,
    /// Whether it is a request.
    pub(in crate::prove) expects_an_answer: bool,
    /// Whether it belongs to a session that has an id, over HTTP.
    pub(in crate::prove) in_session: bool,
}

impl LanePlayer {
    fn wording(&self, heard: Heard) -> Wording<'_> {
        Wording::new(self.transport, &self.ids, heard)
    }

    fn has_sessions(&self) -> bool {
        self.stage.indexed.lanes.get(&self.lane).is_some_and(|index| index.has_sessions)
    }
}

impl RecordedServer for LanePlayer {
    fn on_message(&mut self, message: &OutgoingMessage) -> Vec<Scheduled> {
        let Ok(value) = serde_json::from_slice::<Value>(&message.bytes) else { return Vec::new() };
        let Some(said) = asked(&self.without_secrets(value)) else { return Vec::new() };
        let heard = Heard {
            frame: message.frame,
            expects_an_answer: matches!(message.role, MessageRole::Handshake | MessageRole::Request),
            in_session: message.role != MessageRole::Handshake && self.has_sessions(),
        };
        self.answer(&message.owner, &said, heard)
    }

    /// A raw message is known as a whole, or line by line.
    fn on_raw(&mut self, owner: &str, bytes: &[u8]) -> Vec<Scheduled> {
        if self.recorded().is_none() {
            return Vec::new();
        }
        let heard = Heard { frame: 0, expects_an_answer: true, in_session: false };
        let whole = self.raw_said(bytes);
        let is_known = |said: &Asked| {
            let key = Key { owner: owner.to_owned(), said: Said::of(said) };
            self.stage.indexed.lanes.get(&self.lane).is_some_and(|index| index.found.contains_key(&key))
        };
        if whole.as_ref().is_some_and(is_known) {
            return whole.map(|said| self.answer(owner, &said, heard)).unwrap_or_default();
        }
        let lines = bytes.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty());
        let said: Vec<Asked> = lines.filter_map(|line| self.raw_said(line)).collect();
        said.iter().flat_map(|said| self.answer(owner, said, heard)).collect()
    }
}

impl LanePlayer {
    fn raw_said(&self, bytes: &[u8]) -> Option<Asked> {
        if let Ok(value) = serde_json::from_slice::<Value>(bytes) {
            return asked(&self.without_secrets(value));
        }
        let redactor = &self.stage.indexed.redactor;
        Some(Asked::Raw(if redactor.is_empty() {
            bytes.to_vec()
        } else {
            redactor.text(&String::from_utf8_lossy(bytes)).into_bytes()
        }))
    }
}
