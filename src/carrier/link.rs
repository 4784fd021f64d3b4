//! Faults on a link: of every message between the client and its server, a [`LinkPlayer`] decides what becomes of it. A
//! [`FaultPlayer`] is one, as suites and plans have it; the mutants of live proofs are another.

use std::sync::Arc;

use serde_json::{Map, Value, json};
use tokio::time::Instant;

use super::encoder::{ReplyEncoder, RequestContext};
use crate::fault::{
    AnswerLoss, Arrival, ChangedMessage, FaultPlayer, HeardMessage, LiveExchange, LiveRequest, MatchedRequest,
    MessageCopy, PendingRequest, PendingRequests, ReplyContent, RequestHead, ServerReply, set_headers,
};
use crate::transport::relay::{Interceptor, Passed, intercept};
use crate::transport::{
    Disruption, Incoming, Link, MessageForm, MessageRole, Outgoing, OutgoingMessage, Owner, Scheduled, ServerExit,
    TransportKind,
};
use crate::wire::{Era, HttpHead, RpcMessage, classify, messages_in, read_json_bytes};

/// The signal that kills.
const SIGKILL: i32 = 9;

/// The link with the faults of a suite or a plan in its middle; its messages are counted together.
pub fn on_link(link: Link, faults: Arc<FaultPlayer>) -> Link {
    let is_http = link.transport.is_over_http();
    let scope = faults.conversation();
    play_on_link(link, SessionFaults { faults, scope, is_http, calls: Vec::new() })
}

/// The link with a player in its middle, which decides on every message.
pub fn play_on_link<E: Send + 'static>(link: Link, player: impl LinkPlayer<E>) -> Link {
    let transport = link.transport;
    let faults = LinkFaults {
        player,
        transport,
        pending: PendingRequests::default(),
        has_session_id: false,
        unread_until: None,
        is_killed: false,
        is_over: false,
        copies: 0,
    };
    intercept(link, faults)
}

/// Decides on the messages of a link; `E` is a message of the client as the player remembers it.
pub trait LinkPlayer<E>: Send + 'static {
    /// Takes in a message of the client.
    fn begin(&mut self, said: SaidMessage<'_>) -> BegunExchange<E>;

    /// The message as the server receives it.
    fn hear(&mut self, exchange: &mut E, bytes: &[u8]) -> HeardMessage;

    /// The messages to the client instead of an answer; it is `None` if none was expected or delivered.
    fn answer(&mut self, exchange: &mut E, answer: Option<ServerReply>) -> ChangedMessage;

    /// The messages to the client instead of one that the server sends by itself, during an exchange if that is known.
    fn change_sent(&mut self, exchange: Option<&mut E>, reply: ServerReply) -> ChangedMessage;

    /// The messages that were held back for the answer, which will not come.
    fn release(&mut self, exchange: &mut E) -> Vec<ServerReply> {
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
    /// Who sends it.
    pub owner: &'a Owner,
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
struct SessionFaults {
    faults: Arc<FaultPlayer>,
    scope: String,
    is_http: bool,
    /// The frames of calls of tools, and which calls they are.
    calls: Vec<(u32, usize)>,
}

impl LinkPlayer<LiveExchange> for SessionFaults {
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
        let request = LiveRequest::new(said.bytes, self.scope.clone(), head).of(said.owner);
        let exchange = self.faults.match_request(request);
        self.calls.extend(exchange.request.call.map(|call| (said.frame, call)));
        BegunExchange {
            id: exchange.request.id().filter(|_| exchange.request.kind().has_answer()),
            progress_token: exchange.request.progress_token().cloned(),
            // Nothing is held back.
            cancels: None,
            exchange,
        }
    }

    fn hear(&mut self, exchange: &mut LiveExchange, bytes: &[u8]) -> HeardMessage {
        self.faults.hear(exchange, bytes)
    }

    fn answer(&mut self, exchange: &mut LiveExchange, answer: Option<ServerReply>) -> ChangedMessage {
        self.faults.answer(exchange, answer)
    }

    fn change_sent(&mut self, exchange: Option<&mut LiveExchange>, reply: ServerReply) -> ChangedMessage {
        self.faults.change_sent(exchange.map(|exchange| &*exchange), &self.scope, reply)
    }

    fn give_up(&mut self, frame: u32) {
        if let Some((_, call)) = self.calls.iter().rev().find(|(known, _)| *known == frame) {
            self.faults.give_up(*call);
        }
    }
}

/// The faults on one link.
struct LinkFaults<P, E> {
    player: P,
    transport: TransportKind,
    pending: PendingRequests<PendingMessage<E>>,
    has_session_id: bool,
    /// The client reads nothing before this.
    unread_until: Option<Instant>,
    /// The server was killed.
    is_killed: bool,
    /// A fault ended the server, as far as the client can see.
    is_over: bool,
    /// The number of copies of messages that the server received beside them; their frames count down from the last one.
    copies: u32,
}

/// A request without an answer.
struct PendingMessage<E> {
    /// The id that its client gave it.
    id: Value,
    exchange: E,
    context: RequestContext,
}

impl<E, P: LinkPlayer<E>> LinkFaults<P, E> {
    fn send(&mut self, message: OutgoingMessage) -> Passed {
        let context = RequestContext::of(&message, self.has_session_id);
        let OutgoingMessage { bytes, owner, headers, frame, .. } = &message;
        let mut begun = self.player.begin(SaidMessage { bytes, owner, headers, frame: *frame });
        let mut back = self.release_cancelled(&begun);
        let heard = self.player.hear(&mut begun.exchange, &message.bytes);
        let (is_killed, arrival, copies) = (heard.is_killed, heard.arrival, heard.copies.clone());
        begun.id = begun.id.filter(|_| heard.bytes.is_some());
        let onward = self.forward(message, heard);
        if is_killed {
            back.extend(self.kill());
        }
        back.extend(self.await_answer(begun, arrival, &copies, context));
        Passed { onward, back }
    }

    /// Waits for the answer of a request; a message without an id has none.
    fn await_answer(
        &mut self,
        begun: BegunExchange<E>,
        arrival: Option<Arrival>,
        copies: &[MessageCopy],
        context: RequestContext,
    ) -> Vec<Scheduled> {
        let BegunExchange { mut exchange, id, progress_token, .. } = begun;
        let Some(id) = id else {
            let changed = self.player.answer(&mut exchange, None);
            return self.encode(changed, context);
        };
        // The server cannot read the id of half a message.
        let known_id = Some(id.clone()).filter(|_| arrival != Some(Arrival::Truncate));
        let exchange = PendingMessage { id, exchange, context };
        // What the client of a run sends is bounded by the plan.
        self.pending.add(PendingRequest { id: known_id, progress_token, exchange, weight: 0 }, copies);
        Vec::new()
    }

    /// The items for the server in the place of a message, in order.
    fn forward(&mut self, message: OutgoingMessage, heard: HeardMessage) -> Vec<Outgoing> {
        let mut onward = Vec::new();
        let disrupt = |disruption| Outgoing::Disruption(disruption);
        onward.extend(heard.pause.map(|time| disrupt(Disruption::Pause(time))));
        onward.extend(heard.unread.map(|time| disrupt(Disruption::Unread(time))));
        self.unread_until = self.unread_until.max(heard.unread.map(|time| Instant::now() + time));
        if let Some(bytes) = heard.bytes {
            let mut headers = message.headers.clone();
            set_headers(&heard.headers, &mut headers);
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
            let is_cancelled = heard.arrival == Some(Arrival::Cancelled) && !is_given_up;
            let cancellation = is_cancelled.then(|| cancellation(&message)).flatten();
            let mut copies = Vec::new();
            for copy in heard.copies {
                copies.push(OutgoingMessage { bytes: copy.bytes, frame: u32::MAX - self.copies, ..message.clone() });
                self.copies += 1;
            }
            onward.extend([message].into_iter().chain(copies).chain(cancellation).map(Outgoing::Message));
        }
        onward.extend(heard.is_killed.then(|| disrupt(Disruption::Kill)));
        onward
    }

    /// Notes that the server is killed: one that is no process ends here, as a process would.
    fn kill(&mut self) -> Vec<Scheduled> {
        self.is_killed = true;
        if self.transport != TransportKind::Memory {
            return Vec::new();
        }
        self.is_over = true;
        [Incoming::Closed, Incoming::Exited(ServerExit::Signal(SIGKILL))].map(Scheduled::at_once).into()
    }

    /// Takes in a raw message, which may be several.
    fn send_raw(&mut self, pieces: Vec<Vec<u8>>, owner: Owner) -> Passed {
        let bytes = pieces.concat();
        let (mut is_heard, mut back) = (true, Vec::new());
        for line in messages_in(&bytes) {
            let mut begun = self.player.begin(SaidMessage { bytes: line, owner: &owner, headers: &[], frame: 0 });
            back.extend(self.release_cancelled(&begun));
            let is_line_heard = self.player.hear(&mut begun.exchange, line).bytes.is_some();
            is_heard &= is_line_heard;
            begun.id = begun.id.filter(|_| is_line_heard);
            back.extend(self.await_answer(begun, None, &[], RequestContext::RAW));
        }
        let onward = if is_heard { vec![Outgoing::Raw { pieces, owner }] } else { Vec::new() };
        Passed { onward, back }
    }

    /// The messages that were held back for the answers to some requests.
    fn release(&mut self, is_meant: impl Fn(&PendingMessage<E>) -> bool) -> Vec<Scheduled> {
        let mut released = Vec::new();
        for pending in self.pending.iter_mut().filter(|pending| is_meant(pending)) {
            let encoder = ReplyEncoder::new(self.transport, &[], pending.context);
            released.extend(self.player.release(&mut pending.exchange).iter().flat_map(|reply| encoder.encode(reply)));
        }
        released
    }

    fn release_cancelled(&mut self, begun: &BegunExchange<E>) -> Vec<Scheduled> {
        begun.cancels.as_ref().map(|id| self.release(|pending| pending.id == *id)).unwrap_or_default()
    }

    /// The items that follow from a message of the server.
    fn receive(&mut self, bytes: &[u8], http: Option<&Arc<HttpHead>>, original: Incoming) -> Passed {
        self.has_session_id |= http.is_some_and(|http| http.header("mcp-session-id").is_some());
        let Some(mut json) = read_json_bytes(bytes) else { return pass(original) };
        if json.is_object() && json.get("method").is_none() {
            match self.pending.take_answered(json.get("id").filter(|id| !id.is_null())) {
                MatchedRequest::First(pending) => {
                    let mut original = original;
                    if json.get("id") != Some(&pending.id) {
                        json["id"] = pending.id.clone();
                        original = with_bytes(original, json.to_string().into_bytes());
                    }
                    return self.receive_answer(pending, json, http, original);
                }
                MatchedRequest::Again => return Passed::default(),
                MatchedRequest::Unknown => {}
            }
        }
        if let RpcMessage::Response { id: Some(_) } = classify(&json) {
            return pass(original);
        }
        let during = self.pending.during_or_last(&json);
        let context = during.as_ref().map_or(RequestContext::RAW, |pending| pending.context);
        let reply = ServerReply::now(ReplyContent::Message(json), http.cloned());
        let changed = self.player.change_sent(during.map(|pending| &mut pending.exchange), reply);
        if changed.is_changed { Passed::back(self.encode(changed, context)) } else { pass(original) }
    }

    fn receive_answer(
        &mut self,
        mut pending: PendingMessage<E>,
        json: Value,
        http: Option<&Arc<HttpHead>>,
        original: Incoming,
    ) -> Passed {
        let reply = ServerReply::now(ReplyContent::Message(json), http.cloned());
        let changed = self.player.answer(&mut pending.exchange, Some(reply));
        if changed.loss == Some(AnswerLoss::Killed) {
            return Passed { onward: vec![Outgoing::Disruption(Disruption::Kill)], back: self.kill() };
        }
        if changed.is_changed { Passed::back(self.encode(changed, pending.context)) } else { pass(original) }
    }

    /// A response that is no answer: faults may keep it from the client.
    fn receive_undelivered(&mut self, frame: u32, original: Incoming) -> Passed {
        let mut back = self.release(|pending| pending.context.frame == frame);
        let pending = self.pending.take(|request| request.exchange.context.frame == frame);
        let Some(mut pending) = pending else { return pass(original) };
        let changed = self.player.answer(&mut pending.exchange, None);
        back.extend(changed.loss.is_none().then(|| Scheduled::at_once(original)));
        Passed::back(back)
    }

    /// The items that come over the transport.
    fn encode(&mut self, changed: ChangedMessage, context: RequestContext) -> Vec<Scheduled> {
        if changed.loss.is_some() {
            return Vec::new();
        }
        self.is_over |= changed.end().is_some();
        let http = changed.own.iter().find_map(|reply| reply.http.clone());
        let delay = changed.delay();
        let line =
            |bytes: Vec<u8>| ServerReply { after: delay, content: ReplyContent::Bytes(bytes), http: http.clone() };
        let replies = changed.before.into_iter().map(line).collect::<Vec<_>>().into_iter();
        let replies = replies.chain(changed.own).chain(changed.after.into_iter().map(line).collect::<Vec<_>>());
        let encoder = ReplyEncoder::new(self.transport, &[], context);
        replies.flat_map(|reply| encoder.encode(&reply)).collect()
    }
}

fn pass(incoming: Incoming) -> Passed {
    Passed::back(vec![Scheduled::at_once(incoming)])
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

impl<E: Send + 'static, P: LinkPlayer<E>> Interceptor for LinkFaults<P, E> {
    fn on_sent(&mut self, outgoing: Outgoing) -> Passed {
        match outgoing {
            Outgoing::Message(message) if self.is_over => {
                let context = RequestContext::of(&message, self.has_session_id);
                Passed { onward: Vec::new(), back: ReplyEncoder::new(self.transport, &[], context).refuse() }
            }
            Outgoing::Message(message) => self.send(message),
            Outgoing::Raw { .. } if self.is_over => Passed::default(),
            Outgoing::Raw { pieces, owner } => self.send_raw(pieces, owner),
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
            // A killed server says nothing more.
            Incoming::Line(_) | Incoming::TornLine(_) | Incoming::Message { .. } if self.is_killed => Passed::default(),
            Incoming::Line(bytes) => self.receive(&bytes.clone(), None, incoming),
            Incoming::Message { bytes, http, .. } => {
                let (bytes, http) = (bytes.clone(), Arc::clone(http));
                self.receive(&bytes, Some(&http), incoming)
            }
            // Nobody waits for the answer to a copy, such as a refusal to hear so many.
            Incoming::Undelivered { frame, .. } | Incoming::Refused { frame: Some(frame), .. }
                if *frame > u32::MAX - self.copies =>
            {
                Passed::default()
            }
            Incoming::Undelivered { frame, .. } if !self.is_killed => self.receive_undelivered(*frame, incoming),
            Incoming::Stderr(_) | Incoming::Refused { .. } | Incoming::Speaks(_) => pass(incoming),
            Incoming::Undelivered { .. }
            | Incoming::TornLine(_)
            | Incoming::EndlessLine
            | Incoming::Closed
            | Incoming::Lost(_)
            | Incoming::Exited(_) => {
                let released = self.release(|_| true);
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
