//! Faults on a link: every message between the client and its server passes through a [`FaultPlayer`].

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value};

use super::encoder::{ReplyEncoder, RequestContext};
use crate::fault::{ChangedMessage, FaultPlayer, LiveExchange, LiveRequest, ReplyContent, RequestHead, ServerReply};
use crate::transport::relay::{Interceptor, Passed, intercept};
use crate::transport::{Incoming, Link, Outgoing, OutgoingMessage, Scheduled, TransportKind};
use crate::wire::{HttpHead, RpcMessage, classify};

/// The link with faults in its middle; its messages are counted together.
pub fn on_link(link: Link, player: Arc<FaultPlayer>) -> Link {
    let transport = link.transport;
    let scope = player.conversation();
    let faults = LinkFaults {
        player,
        scope,
        transport,
        pending: Vec::new(),
        dropped: Vec::new(),
        has_session_id: false,
        is_over: false,
    };
    intercept(link, faults)
}

/// The faults on one link.
struct LinkFaults {
    player: Arc<FaultPlayer>,
    scope: String,
    transport: TransportKind,
    pending: Vec<PendingRequest>,
    /// The ids of requests that the server hears twice: one answer of each is dropped.
    dropped: Vec<Value>,
    has_session_id: bool,
    /// Whether a fault ended the server, as far as the client can see.
    is_over: bool,
}

/// A request without an answer.
struct PendingRequest {
    id: Value,
    exchange: LiveExchange,
    context: RequestContext,
}

impl LinkFaults {
    fn sent(&mut self, message: OutgoingMessage) -> Passed {
        let context = RequestContext::of(&message, self.has_session_id);
        let request = self.request(&message.bytes, &message.owner, &message.headers);
        let exchange = self.player.match_request(request, true);
        let heard = self.player.hear(&exchange, &message.bytes);
        let id = exchange.request.id();
        let mut onward = Vec::new();
        let is_heard = heard.bytes.is_some();
        if let Some(bytes) = heard.bytes {
            let headers = changed_headers(&message.headers, heard.headers);
            onward.push(Outgoing::Message(OutgoingMessage { bytes, headers, ..message }));
            if heard.is_twice {
                onward.extend(onward.first().cloned());
                self.dropped.extend(id.clone());
            }
        }
        if let Some(id) = id.filter(|_| is_heard) {
            self.pending.push(PendingRequest { id, exchange, context });
            return Passed { onward, back: Vec::new() };
        }
        let changed = self.player.answer(&exchange, None);
        Passed { onward, back: self.encoded(changed, context) }
    }

    /// A raw message is one message, or one a line.
    fn raw(&mut self, pieces: Vec<Vec<u8>>, owner: String) -> Passed {
        let bytes = pieces.concat();
        let is_one = serde_json::from_slice::<Value>(&bytes).is_ok();
        let lines = bytes.split(|byte| *byte == b'\n' && !is_one).filter(|line| !line.trim_ascii().is_empty());
        let (mut is_heard, mut back) = (true, Vec::new());
        for line in lines {
            let exchange = self.player.match_request(self.request(line, &owner, &[]), true);
            let is_line_heard = self.player.hear(&exchange, line).bytes.is_some();
            is_heard &= is_line_heard;
            if let Some(id) = exchange.request.id().filter(|_| is_line_heard) {
                self.pending.push(PendingRequest { id, exchange, context: RequestContext::RAW });
                continue;
            }
            let changed = self.player.answer(&exchange, None);
            back.extend(self.encoded(changed, RequestContext::RAW));
        }
        let onward = if is_heard { vec![Outgoing::Raw { pieces, owner }] } else { Vec::new() };
        Passed { onward, back }
    }

    fn request(&self, bytes: &[u8], owner: &str, headers: &[(String, String)]) -> LiveRequest {
        let head = self.transport.is_over_http().then(|| RequestHead {
            verb: "POST".to_owned(),
            path: String::new(),
            headers: headers.iter().map(|(name, value)| (name.to_ascii_lowercase(), value.clone().into())).collect(),
            query: Map::new(),
        });
        LiveRequest::new(bytes, self.scope.clone(), head).of_case(owner)
    }

    /// The items that come instead of a message of the server.
    fn received(&mut self, bytes: &[u8], http: Option<&Arc<HttpHead>>, original: Incoming) -> Vec<Scheduled> {
        self.has_session_id |= http.is_some_and(|http| http.header("mcp-session-id").is_some());
        let Ok(json) = serde_json::from_slice::<Value>(bytes) else { return vec![at_once(original)] };
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
                return Vec::new();
            }
            let Some(at) = self.pending.iter().position(|pending| pending.id == id) else {
                return vec![at_once(original)];
            };
            let pending = self.pending.remove(at);
            let changed = self.player.answer(&pending.exchange, Some(reply(json)));
            return if changed.is_changed { self.encoded(changed, pending.context) } else { vec![at_once(original)] };
        }
        let during = self.during(&json);
        let exchange = during.map(|at| &self.pending[at].exchange);
        let context = during.map_or(RequestContext::RAW, |at| self.pending[at].context);
        let changed = self.player.sent(exchange, &self.scope, reply(json));
        if changed.is_changed { self.encoded(changed, context) } else { vec![at_once(original)] }
    }

    /// The request during which the server sends a message: the one that its token names, else the last one without an
    /// answer.
    fn during(&self, json: &Value) -> Option<usize> {
        let token = json["params"].get("progressToken");
        let named = token.and_then(|token| {
            self.pending.iter().position(|pending| pending.exchange.request.progress_token() == Some(token))
        });
        named.or(self.pending.len().checked_sub(1))
    }

    /// The items that come over the transport.
    fn encoded(&mut self, changed: ChangedMessage, context: RequestContext) -> Vec<Scheduled> {
        if changed.never {
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

/// The headers of a message with those that the server hears instead.
fn changed_headers(headers: &[(String, String)], changes: Vec<(String, Option<String>)>) -> Vec<(String, String)> {
    let mut headers = headers.to_vec();
    for (name, value) in changes {
        headers.retain(|(known, _)| !known.eq_ignore_ascii_case(&name));
        headers.extend(value.map(|value| (name, value)));
    }
    headers
}

impl Interceptor for LinkFaults {
    fn on_sent(&mut self, outgoing: Outgoing) -> Passed {
        match outgoing {
            Outgoing::Message(message) if self.is_over => {
                let context = RequestContext::of(&message, self.has_session_id);
                Passed { onward: Vec::new(), back: ReplyEncoder::new(self.transport, &[], context).gone() }
            }
            Outgoing::Message(message) => self.sent(message),
            Outgoing::Raw { .. } if self.is_over => Passed::default(),
            Outgoing::Raw { pieces, owner } => self.raw(pieces, owner),
            Outgoing::End | Outgoing::Abandon { .. } => Passed { onward: vec![outgoing], back: Vec::new() },
        }
    }

    fn on_received(&mut self, incoming: Incoming) -> Vec<Scheduled> {
        match &incoming {
            _ if self.is_over => Vec::new(),
            Incoming::Line(bytes) => self.received(&bytes.clone(), None, incoming),
            Incoming::Message { bytes, http, .. } => {
                let (bytes, http) = (bytes.clone(), Arc::clone(http));
                self.received(&bytes, Some(&http), incoming)
            }
            Incoming::Stderr(_)
            | Incoming::Refused { .. }
            | Incoming::Speaks(_)
            | Incoming::TornLine(_)
            | Incoming::EndlessLine
            | Incoming::Closed
            | Incoming::Undelivered { .. }
            | Incoming::Lost(_)
            | Incoming::Exited(_) => vec![at_once(incoming)],
        }
    }
}

fn at_once(incoming: Incoming) -> Scheduled {
    Scheduled { after: Duration::ZERO, incoming }
}
