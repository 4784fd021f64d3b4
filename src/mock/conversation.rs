//! One session with a client.

use std::cmp::Reverse;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use serde_json::{Value, json};

use super::MockServer;
use super::connection::{MockKey, RecordedConnection};
use super::known::unanswered;
use crate::carrier::with_ids;
use crate::fault::{ClientMessage, ReplyContent, ServerReply};
use crate::prove::request_in;
use crate::redact::may_be;
use crate::wire::{RpcMessage, classify};

/// The error of a request that was never recorded.
const NOT_RECORDED: i64 = -32603;

/// The error of a method that was never recorded; clients that look for the era of a server know it.
pub(crate) const UNKNOWN_METHOD: i64 = -32601;

/// One session; `S` is the stream on which the replies to a request go.
#[derive(Debug)]
pub struct Conversation<S> {
    server: Arc<MockServer>,
    clients: ClientCount,
    /// For each recorded connection, how well it fits what was asked so far.
    fits: Vec<Fit>,
    /// How often each message came so far.
    asked: BTreeMap<MockKey, usize>,
    /// The number of requests that a test made.
    steps: usize,
    /// The connection from which the last answer was.
    current: Option<usize>,
    /// Recorded ids, and those that stand for them now.
    ids: Vec<(Value, Value)>,
    /// Requests of the server that the client has not answered, with what comes then.
    paused: Vec<Paused<S>>,
    /// The streams of requests that were never answered: they stay open.
    unanswered: Vec<S>,
    is_stalled: bool,
}

/// One thing that the mock says.
#[derive(Debug, Clone, PartialEq)]
pub struct MockReply<S> {
    /// The way on which it goes.
    pub stream: ReplyStream<S>,
    /// The reply, with the ids of this session.
    pub reply: ServerReply,
}

/// The way on which a reply goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReplyStream<S> {
    /// That of the request.
    Request(S),
    /// Any on which the server speaks first: it belongs to no request that waits.
    Listening,
}

#[derive(Debug)]
struct Paused<S> {
    /// The id of the server's request.
    id: Value,
    rest: Playback<S>,
}

/// Replies that are still to come.
#[derive(Debug)]
struct Playback<S> {
    replies: VecDeque<ServerReply>,
    stream: S,
    /// The id of the request; `None` if it needs no answer, or has it already.
    awaited: Option<Value>,
}

/// The clients of a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ClientCount {
    One,
    Any,
}

/// How well a recorded connection fits what was asked so far.
#[derive(Debug, Clone, Copy)]
struct Fit {
    /// Everything was asked in it, too.
    knows_all: bool,
    /// It began with the same requests in the same order.
    begins_so: bool,
}

impl Fit {
    const PERFECT: Self = Self { knows_all: true, begins_so: true };
}

impl<S: Clone> Conversation<S> {
    /// A session in which nothing was said.
    pub fn new(server: Arc<MockServer>) -> Self {
        Self::of(server, ClientCount::One)
    }

    /// The requests of any number of clients that belong to no session.
    pub fn without_session(server: Arc<MockServer>) -> Self {
        Self::of(server, ClientCount::Any)
    }

    fn of(server: Arc<MockServer>, clients: ClientCount) -> Self {
        let fits = vec![Fit::PERFECT; server.connections.len()];
        Self {
            server,
            clients,
            fits,
            asked: BTreeMap::new(),
            steps: 0,
            current: None,
            ids: Vec::new(),
            paused: Vec::new(),
            unanswered: Vec::new(),
            is_stalled: false,
        }
    }

    /// Everything that is said because of a message of the client, whose replies go on that stream.
    pub fn on_message(&mut self, bytes: &[u8], stream: S) -> Vec<MockReply<S>> {
        if self.is_stalled {
            self.unanswered.push(stream);
            return Vec::new();
        }
        let Ok(message) = serde_json::from_slice::<Value>(bytes) else {
            return self.on_request(&ClientMessage::Raw(bytes.to_owned()), stream);
        };
        if let RpcMessage::Response { id } = classify(&message) {
            return self.resume(&id.map(|id| id.to_json()).unwrap_or_default());
        }
        let Some(sent) = request_in(&message) else { return Vec::new() };
        self.on_request(&sent, stream)
    }

    fn on_request(&mut self, sent: &ClientMessage, stream: S) -> Vec<MockReply<S>> {
        let Some(at) = self.find(MockKey::of(sent)) else {
            let answer = self.refuse(sent).map(|answer| ServerReply::now(ReplyContent::Message(answer), None));
            let stream = ReplyStream::Request(stream);
            return answer.into_iter().map(|reply| MockReply { stream: stream.clone(), reply }).collect();
        };
        let server = Arc::clone(&self.server);
        let exchange = &server.exchanges[at];
        let awaited = match sent {
            ClientMessage::Message { id, .. } => id.clone(),
            // The answer to something without a readable id has none.
            ClientMessage::Raw(_) => Some(Value::Null),
        };
        if let (ClientMessage::Message { id: Some(recorded), .. }, Some(now)) = (&exchange.sent, &awaited) {
            self.ids.push((recorded.clone(), now.clone()));
        }
        self.play(Playback { replies: exchange.replies.iter().cloned().collect(), stream, awaited })
    }

    /// The recorded exchange that a message stands for.
    fn find(&mut self, asked: MockKey) -> Option<usize> {
        let key = self.recorded_key(asked)?;
        let server = Arc::clone(&self.server);
        let connections = &server.connections;
        if self.clients == ClientCount::Any && self.is_next_client(&key) {
            self.fits.fill(Fit::PERFECT);
            self.asked.clear();
            (self.steps, self.current) = (0, None);
        }
        for (fit, connection) in self.fits.iter_mut().zip(connections) {
            fit.begins_so &= !key.is_step() || connection.steps.get(self.steps) == Some(&key);
            fit.knows_all &= !key.tells_connections_apart() || !connection.exchanges(&key).is_empty();
        }
        self.steps += usize::from(key.is_step());
        let occurrence = *self.asked.entry(key.clone()).and_modify(|count| *count += 1).or_insert(0);
        let mut plays = server.plays.lock();
        let asked_in = |at: &usize| !connections[*at].exchanges(&key).is_empty();
        let best = (0..connections.len()).filter(asked_in).max_by_key(|at| {
            let Fit { knows_all, begins_so } = self.fits[*at];
            let is_new = connections[*at].exchanges(&key).len() > occurrence;
            (knows_all, begins_so, is_new, self.current == Some(*at), Reverse(plays[*at]), Reverse(*at))
        })?;
        if self.current.replace(best) != Some(best) {
            plays[best] += 1;
        }
        let found = connections[best].exchanges(&key);
        found.get(occurrence).or(found.last()).copied()
    }

    /// Another client seems to begin: this one was not answered so before, and a connection that nobody has seen begins so.
    fn is_next_client(&self, key: &MockKey) -> bool {
        let asked = self.asked.get(key).map_or(0, |count| count + 1);
        let is_new = self.current.is_some_and(|at| self.server.connections[at].exchanges(key).len() > asked);
        let plays = self.server.plays.lock();
        let mut unseen = self.server.connections.iter().zip(plays.iter()).filter(|(_, plays)| **plays == 0);
        !is_new && unseen.any(|(connection, _)| connection.steps.first() == Some(key))
    }

    /// The key as it was recorded: the same one, one with secrets that were taken out, or another handshake.
    fn recorded_key(&self, asked: MockKey) -> Option<MockKey> {
        let is_known = |key: &MockKey| self.server.connections.iter().any(|one| !one.exchanges(key).is_empty());
        if is_known(&asked) {
            return Some(asked);
        }
        let is_meant = |key: &&MockKey| {
            key.is_alike(&asked) && key.text().zip(asked.text()).is_some_and(|(masked, text)| may_be(masked, text))
        };
        let masked = self.server.masked.iter().find(is_meant);
        // A server answers with the revision that it speaks.
        let is_handshake = asked.method() == Some("initialize");
        let any_handshake =
            || self.server.connections.iter().flat_map(RecordedConnection::keys).find(|key| key.is_alike(&asked));
        masked.or_else(|| any_handshake().filter(|_| is_handshake)).cloned()
    }

    /// The answer to what was never recorded; `None` where none is expected.
    fn refuse(&self, sent: &ClientMessage) -> Option<Value> {
        let error = |id: &Value, code: i64, message: &str| json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}});
        let (id, method, params) = match sent {
            ClientMessage::Message { id, method, params } => (id.as_ref()?, method, params),
            ClientMessage::Raw(bytes) => {
                let is_json = serde_json::from_slice::<serde::de::IgnoredAny>(bytes).is_ok();
                let code = if is_json { -32600 } else { -32700 };
                return Some(error(&Value::Null, code, "mock: no recorded answer for this message"));
            }
        };
        if method == "ping" {
            return Some(json!({"jsonrpc": "2.0", "id": id, "result": {}}));
        }
        let asked = MockKey::of(sent);
        let alike = |key: &MockKey| key.is_alike(&asked);
        let is_known = self.server.connections.iter().any(|one| one.keys().any(alike));
        let code = if is_known { NOT_RECORDED } else { UNKNOWN_METHOD };
        Some(error(id, code, &unanswered(method, params, &self.server.exchanges)))
    }

    /// Goes on with what waited for the client's answer.
    fn resume(&mut self, id: &Value) -> Vec<MockReply<S>> {
        let Some(at) = self.paused.iter().position(|paused| paused.id == *id) else { return Vec::new() };
        let Paused { rest, .. } = self.paused.remove(at);
        self.play(rest)
    }

    fn play(&mut self, mut playback: Playback<S>) -> Vec<MockReply<S>> {
        let mut said = Vec::new();
        while let Some(mut reply) = playback.replies.pop_front() {
            if reply.content == ReplyContent::Stalled {
                self.is_stalled = true;
                break;
            }
            if let ReplyContent::Message(message) = &mut reply.content {
                *message = with_ids(std::mem::take(message), &self.ids);
            }
            let stream = match playback.awaited {
                Some(_) => ReplyStream::Request(playback.stream.clone()),
                None => ReplyStream::Listening,
            };
            let asks = reply.sent_message().and_then(|message| message.get("id")).cloned();
            let answers = reply.response().and_then(|message| message.get("id"));
            if answers.is_some() && answers == playback.awaited.as_ref() {
                playback.awaited = None;
            }
            said.push(MockReply { stream, reply });
            if let Some(id) = asks {
                self.paused.push(Paused { id, rest: playback });
                return said;
            }
        }
        if playback.awaited.is_some() {
            self.unanswered.push(playback.stream);
        }
        said
    }
}
