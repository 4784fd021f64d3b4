//! Faults on a link: of every message between the client and its server, a [`LinkPlayer`] decides what becomes of it. A
//! [`FaultPlayer`] is one, as suites and plans have it; the mutants of live proofs are another.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value, json};
use tokio::time::Instant;

use super::encoder::{ReplyEncoder, RequestContext};
use crate::fault::{
    AnswerLoss, Arrival, ChangedMessage, FaultPlayer, HeardMessage, LiveExchange, LiveRequest, ReplyContent,
    RequestHead, ServerReply,
};
use crate::transport::relay::{Interceptor, Passed, intercept};
use crate::transport::{
    Disruption, Incoming, Link, MessageForm, MessageRole, Outgoing, OutgoingMessage, Scheduled, ServerExit,
    TransportKind,
};
use crate::wire::{Era, HttpHead, RpcMessage, classify, messages_in};

/// The signal that kills.
const SIGKILL: i32 = 9;

/// The link with the faults of a suite or a plan in its middle; its messages are counted together.
pub fn on_link(link: Link, faults: Arc<FaultPlayer>) -> Link {
    let is_http = link.transport.is_over_http();
    let scope = faults.conversation();
    play_on_link(link, PlayedFaults { faults, scope, is_http, calls: Vec::new() })
}

/// The link with somebody in its middle who decides what becomes of every message.
pub fn play_on_link(link: Link, player: impl LinkPlayer) -> Link {
    let transport = link.transport;
    let faults = LinkFaults {
        player,
        transport,
        pending: Vec::new(),
        dropped: Vec::new(),
        has_session_id: false,
        unread_until: None,
        is_killed: false,
        is_over: false,
    };
    intercept(link, faults)
}

/// Decides what becomes of the messages on a link.
pub trait LinkPlayer: Send + 'static {
    /// A message of the client, as the player remembers it.
    type Exchange: Send;

    /// Takes in a message of the client.
    fn begin(&mut self, said: SaidMessage<'_>) -> BegunExchange<Self::Exchange>;

    /// The message as the server receives it.
    fn hear(&mut self, exchange: &Self::Exchange, bytes: &[u8]) -> HeardMessage;

    /// What the client gets for an answer, or for none: nothing is answered, or was delivered.
    fn answer(&mut self, exchange: &Self::Exchange, answer: Option<ServerReply>) -> ChangedMessage;

    /// What the client gets for a message that the server sends by itself, during an exchange if that is known.
    fn sent(&mut self, exchange: Option<&Self::Exchange>, reply: ServerReply) -> ChangedMessage;

    /// The messages that were held back for the answer, which will not come.
    fn release(&mut self, exchange: &Self::Exchange) -> Vec<ServerReply> {
        let _ = exchange;
        Vec::new()
    }

    /// Notes that the client waits for the answer to a frame no longer.
    fn give_up(&mut self, frame: u32) {
        let _ = frame;
    }
}

/// A message of the client on its way.
#[derive(Debug, Clone, Copy)]
pub struct SaidMessage<'a> {
    /// The message, or a line of a raw one.
    pub bytes: &'a [u8],
    /// The case that sends it; empty for handshakes and discovery.
    pub owner: &'a str,
    /// The headers of its request, over HTTP.
    pub headers: &'a [(String, String)],
    /// Its frame; zero for a raw message.
    pub frame: u32,
}

/// A message of the client that was taken in.
#[derive(Debug)]
pub struct BegunExchange<E> {
    /// As the player remembers it.
    pub exchange: E,
    /// Its id, if it can stand in an answer.
    pub id: Option<Value>,
    /// Its token for progress.
    pub progress_token: Option<Value>,
    /// The id of the request that it cancels.
    pub cancels: Option<Value>,
}

/// The faults of a suite or a plan on one link.
struct PlayedFaults {
    faults: Arc<FaultPlayer>,
    scope: String,
    is_http: bool,
    /// The frames of calls of tools, and which calls they are.
    calls: Vec<(u32, usize)>,
}

impl LinkPlayer for PlayedFaults {
    type Exchange = LiveExchange;

    fn begin(&mut self, said: SaidMessage<'_>) -> BegunExchange<LiveExchange> {
        let head = self.is_http.then(|| RequestHead {
            verb: "POST".to_owned(),
            path: String::new(),
            headers: said
                .headers
                .iter()
                .map(|(name, value)| (name.to_ascii_lowercase(), value.clone().into()))
                .collect(),
            query: Map::new(),
        });
        let request = LiveRequest::new(said.bytes, self.scope.clone(), head).of_case(said.owner);
        let exchange = self.faults.match_request(request, true);
        self.calls.extend(exchange.request.call().map(|call| (said.frame, call)));
        BegunExchange {
            id: exchange.request.id(),
            progress_token: exchange.request.progress_token().cloned(),
            // Nothing is held back.
            cancels: None,
            exchange,
        }
    }

    fn hear(&mut self, exchange: &LiveExchange, bytes: &[u8]) -> HeardMessage {
        self.faults.hear(exchange, bytes)
    }

    fn answer(&mut self, exchange: &LiveExchange, answer: Option<ServerReply>) -> ChangedMessage {
        self.faults.answer(exchange, answer)
    }

    fn sent(&mut self, exchange: Option<&LiveExchange>, reply: ServerReply) -> ChangedMessage {
        self.faults.sent(exchange, &self.scope, reply)
    }

    fn give_up(&mut self, frame: u32) {
        if let Some((_, call)) = self.calls.iter().rev().find(|(known, _)| *known == frame) {
            self.faults.give_up(*call);
        }
    }
}

/// The faults on one link.
struct LinkFaults<P: LinkPlayer> {
    player: P,
    transport: TransportKind,
    pending: Vec<PendingRequest<P::Exchange>>,
    /// The ids of requests that the server hears twice: one answer of each is dropped.
    dropped: Vec<Value>,
    has_session_id: bool,
    /// The client reads nothing before this.
    unread_until: Option<Instant>,
    /// Whether the server was killed.
    is_killed: bool,
    /// Whether a fault ended the server, as far as the client can see.
    is_over: bool,
}

/// A request without an answer.
struct PendingRequest<E> {
    id: Value,
    progress_token: Option<Value>,
    exchange: E,
    context: RequestContext,
    /// Whether only half of it arrived: the server cannot know its id.
    is_garbled: bool,
}

impl<P: LinkPlayer> LinkFaults<P> {
    fn sent(&mut self, message: OutgoingMessage) -> Passed {
        let context = RequestContext::of(&message, self.has_session_id);
        let OutgoingMessage { bytes, owner, headers, frame, .. } = &message;
        let begun = self.player.begin(SaidMessage { bytes, owner, headers, frame: *frame });
        let BegunExchange { exchange, id, progress_token, cancels } = begun;
        let mut back = cancels.map(|id| self.released(|pending| pending.id == id)).unwrap_or_default();
        let heard = self.player.hear(&exchange, &message.bytes);
        let is_heard = heard.bytes.is_some();
        let is_garbled = heard.arrival == Some(Arrival::Truncate);
        if heard.arrival == Some(Arrival::Twice) {
            self.dropped.extend(id.clone());
        }
        let is_killed = heard.is_killed;
        let onward = self.onward(message, heard);
        if is_killed {
            back.extend(self.killed());
        }
        if let Some(id) = id.filter(|_| is_heard) {
            self.pending.push(PendingRequest { id, progress_token, exchange, context, is_garbled });
            return Passed { onward, back };
        }
        let changed = self.player.answer(&exchange, None);
        back.extend(self.encoded(changed, context));
        Passed { onward, back }
    }

    /// The items for the server in the place of a message, in order.
    fn onward(&mut self, message: OutgoingMessage, heard: HeardMessage) -> Vec<Outgoing> {
        let mut onward = Vec::new();
        let disrupt = |disruption| Outgoing::Disruption(disruption);
        onward.extend(heard.pause.map(|time| disrupt(Disruption::Pause(time))));
        onward.extend(heard.unread.map(|time| disrupt(Disruption::Unread(time))));
        self.unread_until = self.unread_until.max(heard.unread.map(|time| Instant::now() + time));
        if let Some(bytes) = heard.bytes {
            let headers = changed_headers(&message.headers, heard.headers);
            let is_given_up = self.transport.is_over_http() && message.era == Era::Stateless;
            let form = match heard.arrival {
                Some(Arrival::Pieces) => MessageForm::Pieces,
                Some(Arrival::Torn) => MessageForm::Torn,
                Some(Arrival::Cancelled) if is_given_up => MessageForm::GivenUp,
                Some(Arrival::Nothing | Arrival::Twice | Arrival::Truncate | Arrival::Cancelled) | None => message.form,
            };
            // What breaks off, or comes in pieces, is no slower for that.
            let form = heard.transfer.filter(|_| form == MessageForm::Whole).map_or(form, MessageForm::Slow);
            let message = OutgoingMessage { bytes, headers, form, ..message };
            let second = match heard.arrival {
                Some(Arrival::Twice) => Some(message.clone()),
                Some(Arrival::Cancelled) if !is_given_up => cancellation(&message),
                Some(Arrival::Nothing | Arrival::Truncate | Arrival::Torn | Arrival::Pieces | Arrival::Cancelled)
                | None => None,
            };
            onward.extend([Some(message), second].into_iter().flatten().map(Outgoing::Message));
        }
        onward.extend(heard.is_killed.then(|| disrupt(Disruption::Kill)));
        onward
    }

    /// Notes that the server is killed: one that is no process ends here, as a process would.
    fn killed(&mut self) -> Vec<Scheduled> {
        self.is_killed = true;
        if self.transport != TransportKind::Memory {
            return Vec::new();
        }
        self.is_over = true;
        [Incoming::Closed, Incoming::Exited(ServerExit::Signal(SIGKILL))].map(Scheduled::at_once).into()
    }

    /// Takes in a raw message, which may be several.
    fn raw(&mut self, pieces: Vec<Vec<u8>>, owner: String) -> Passed {
        let bytes = pieces.concat();
        let (mut is_heard, mut back) = (true, Vec::new());
        for line in messages_in(&bytes) {
            let begun = self.player.begin(SaidMessage { bytes: line, owner: &owner, headers: &[], frame: 0 });
            let BegunExchange { exchange, id, progress_token, cancels } = begun;
            back.extend(cancels.map(|id| self.released(|pending| pending.id == id)).unwrap_or_default());
            let is_line_heard = self.player.hear(&exchange, line).bytes.is_some();
            is_heard &= is_line_heard;
            if let Some(id) = id.filter(|_| is_line_heard) {
                let context = RequestContext::RAW;
                self.pending.push(PendingRequest { id, progress_token, exchange, context, is_garbled: false });
                continue;
            }
            let changed = self.player.answer(&exchange, None);
            back.extend(self.encoded(changed, RequestContext::RAW));
        }
        let onward = if is_heard { vec![Outgoing::Raw { pieces, owner }] } else { Vec::new() };
        Passed { onward, back }
    }

    /// The messages that were held back for the answers to some requests.
    fn released(&mut self, of: impl Fn(&PendingRequest<P::Exchange>) -> bool) -> Vec<Scheduled> {
        let mut released = Vec::new();
        for pending in self.pending.iter().filter(|pending| of(pending)) {
            let encoder = ReplyEncoder::new(self.transport, &[], pending.context);
            released.extend(self.player.release(&pending.exchange).iter().flat_map(|reply| encoder.played(reply)));
        }
        released
    }

    /// The items that follow from a message of the server.
    fn received(&mut self, bytes: &[u8], http: Option<&Arc<HttpHead>>, original: Incoming) -> Passed {
        self.has_session_id |= http.is_some_and(|http| http.header("mcp-session-id").is_some());
        let Ok(mut json) = serde_json::from_slice::<Value>(bytes) else {
            return Passed::back(vec![Scheduled::at_once(original)]);
        };
        let mut original = original;
        if let Some(id) = self.garbled(&json) {
            json["id"] = id;
            original = with_bytes(original, json.to_string().into_bytes());
        }
        let reply = |json: Value| ServerReply {
            after: Duration::ZERO,
            content: ReplyContent::Message(json),
            http: http.cloned(),
        };
        if let RpcMessage::Response { id: Some(id) } = classify(&json) {
            let id = id.to_json();
            if let Some(at) = self.dropped.iter().position(|dropped| *dropped == id)
                && !self.pending.iter().any(|pending| pending.id == id)
            {
                self.dropped.remove(at);
                return Passed::default();
            }
            let Some(at) = self.pending.iter().position(|pending| pending.id == id) else {
                return Passed::back(vec![Scheduled::at_once(original)]);
            };
            let pending = self.pending.remove(at);
            let changed = self.player.answer(&pending.exchange, Some(reply(json)));
            if changed.loss == Some(AnswerLoss::Killed) {
                return Passed { onward: vec![Outgoing::Disruption(Disruption::Kill)], back: self.killed() };
            }
            let is_changed = changed.is_changed;
            let back =
                if is_changed { self.encoded(changed, pending.context) } else { vec![Scheduled::at_once(original)] };
            return Passed::back(back);
        }
        let during = self.during(&json);
        let exchange = during.map(|at| &self.pending[at].exchange);
        let context = during.map_or(RequestContext::RAW, |at| self.pending[at].context);
        let changed = self.player.sent(exchange, reply(json));
        Passed::back(if changed.is_changed {
            self.encoded(changed, context)
        } else {
            vec![Scheduled::at_once(original)]
        })
    }

    /// The id of the request that an answer without an id is for: one of which half arrived.
    fn garbled(&self, json: &Value) -> Option<Value> {
        let is_for_none = json.get("method").is_none() && json.get("id").is_none_or(Value::is_null);
        let garbled = self.pending.iter().find(|pending| is_for_none && pending.is_garbled);
        garbled.filter(|_| json.is_object()).map(|pending| pending.id.clone())
    }

    /// The request during which the server sends a message: the one that its token names, else the last one without an
    /// answer.
    fn during(&self, json: &Value) -> Option<usize> {
        let token = json["params"].get("progressToken");
        let named = token
            .and_then(|token| self.pending.iter().position(|pending| pending.progress_token.as_ref() == Some(token)));
        named.or(self.pending.len().checked_sub(1))
    }

    /// A response that is no answer: faults may keep it from the client.
    fn undelivered(&mut self, frame: u32, original: Incoming) -> Passed {
        let Some(at) = self.pending.iter().position(|pending| pending.context.frame == frame) else {
            return Passed::back(vec![Scheduled::at_once(original)]);
        };
        let mut back = self.released(|pending| pending.context.frame == frame);
        let pending = self.pending.remove(at);
        let changed = self.player.answer(&pending.exchange, None);
        back.extend(changed.loss.is_none().then(|| Scheduled::at_once(original)));
        Passed::back(back)
    }

    /// The items that come over the transport.
    fn encoded(&mut self, changed: ChangedMessage, context: RequestContext) -> Vec<Scheduled> {
        if changed.loss.is_some() {
            return Vec::new();
        }
        self.is_over |= changed.ends();
        let http = changed.own.iter().find_map(|reply| reply.http.clone());
        let delay = changed.delay();
        let line =
            |bytes: Vec<u8>| ServerReply { after: delay, content: ReplyContent::Bytes(bytes), http: http.clone() };
        let replies = changed.before.into_iter().map(line).collect::<Vec<_>>().into_iter();
        let replies = replies.chain(changed.own).chain(changed.after.into_iter().map(line).collect::<Vec<_>>());
        let encoder = ReplyEncoder::new(self.transport, &[], context);
        replies.flat_map(|reply| encoder.played(&reply)).collect()
    }
}

/// The notification that a request is cancelled; nothing for what is no request.
fn cancellation(message: &OutgoingMessage) -> Option<OutgoingMessage> {
    let RpcMessage::Request { id, .. } = classify(&serde_json::from_slice(&message.bytes).ok()?) else { return None };
    let text = json!({
        "jsonrpc": "2.0",
        "method": "notifications/cancelled",
        "params": { "requestId": id.to_json(), "reason": "injected by a fault" },
    });
    Some(OutgoingMessage { bytes: text.to_string().into_bytes(), role: MessageRole::Notification, ..message.clone() })
}

/// The same item with another message.
fn with_bytes(incoming: Incoming, bytes: Vec<u8>) -> Incoming {
    if let Incoming::Message { http, delivery, .. } = incoming {
        return Incoming::Message { bytes, http, delivery };
    }
    Incoming::Line(bytes)
}

/// The headers of a message with those that the server hears instead.
fn changed_headers(headers: &[(String, String)], changes: Vec<(String, Option<String>)>) -> Vec<(String, String)> {
    let mut headers = headers.to_vec();
    for (name, value) in changes {
        headers.retain(|(known, _)| !known.eq_ignore_ascii_case(&name));
        headers.extend(value.map(|value| (name, value)));
    }
    headers
}

impl<P: LinkPlayer> Interceptor for LinkFaults<P> {
    fn on_sent(&mut self, outgoing: Outgoing) -> Passed {
        match outgoing {
            Outgoing::Message(message) if self.is_over => {
                let context = RequestContext::of(&message, self.has_session_id);
                Passed { onward: Vec::new(), back: ReplyEncoder::new(self.transport, &[], context).gone() }
            }
            Outgoing::Message(message) => self.sent(message),
            Outgoing::Raw { .. } if self.is_over => Passed::default(),
            Outgoing::Raw { pieces, owner } => self.raw(pieces, owner),
            Outgoing::End | Outgoing::Abandon { .. } | Outgoing::Disruption(_) => {
                if let Outgoing::Abandon { frame } = outgoing {
                    self.player.give_up(frame);
                }
                Passed { onward: vec![outgoing], back: Vec::new() }
            }
        }
    }

    fn on_received(&mut self, incoming: Incoming) -> Passed {
        let mut passed = match &incoming {
            _ if self.is_over => Passed::default(),
            // What it still said does not come.
            Incoming::Line(_) | Incoming::TornLine(_) | Incoming::Message { .. } if self.is_killed => Passed::default(),
            Incoming::Line(bytes) => self.received(&bytes.clone(), None, incoming),
            Incoming::Message { bytes, http, .. } => {
                let (bytes, http) = (bytes.clone(), Arc::clone(http));
                self.received(&bytes, Some(&http), incoming)
            }
            Incoming::Undelivered { frame, .. } if !self.is_killed => self.undelivered(*frame, incoming),
            Incoming::Stderr(_) | Incoming::Refused { .. } | Incoming::Speaks(_) => {
                Passed::back(vec![Scheduled::at_once(incoming)])
            }
            Incoming::Undelivered { .. }
            | Incoming::TornLine(_)
            | Incoming::EndlessLine
            | Incoming::Closed
            | Incoming::Lost(_)
            | Incoming::Exited(_) => {
                let released = self.released(|_| true);
                Passed::back(released.into_iter().chain([Scheduled::at_once(incoming)]).collect())
            }
        };
        if let Some(until) = self.unread_until {
            let wait = until.saturating_duration_since(Instant::now());
            passed.back.iter_mut().for_each(|item| item.after = item.after.max(wait));
        }
        passed
    }
}
