//! A recorded reply in the words of a transport, with the ids of the session that hears it.

use std::sync::Arc;

use serde_json::Value;

use crate::fault::{ClientMessage, ReplyContent, ServerEnd, ServerReply};
use crate::transport::http::{BodyKind, Posted, classify_body};
use crate::transport::{
    ConnectionBreak, HttpDelivery, HttpFailure, Incoming, MessageRole, OutgoingMessage, Scheduled, ServerExit,
    TransportKind,
};
use crate::wire::{HttpHead, SUBSCRIPTION_ID};

/// The context of the message that is answered.
#[derive(Clone, Copy)]
pub struct RequestContext {
    pub frame: u32,
    /// It is a request.
    pub expects_an_answer: bool,
    /// It belongs to a session that has an id, over HTTP.
    pub in_session: bool,
}

impl RequestContext {
    /// The context of raw bytes, which belong to no frame.
    pub const RAW: Self = Self { frame: 0, expects_an_answer: true, in_session: false };

    pub fn of(message: &OutgoingMessage, has_session_id: bool) -> Self {
        Self {
            frame: message.frame,
            expects_an_answer: matches!(message.role, MessageRole::Handshake | MessageRole::Request),
            in_session: message.role != MessageRole::Handshake && has_session_id,
        }
    }
}

/// The request in a few words.
pub fn asked_text(asked: &ClientMessage) -> String {
    match asked {
        ClientMessage::Raw(bytes) => format!("raw bytes, {} of them", bytes.len()),
        ClientMessage::Message { method, params, .. } => {
            let params: String = params.to_string().chars().take(200).collect();
            format!("{method} {params}")
        }
    }
}

pub struct ReplyEncoder<'a> {
    transport: TransportKind,
    ids: &'a [(Value, Value)],
    context: RequestContext,
}

impl<'a> ReplyEncoder<'a> {
    /// `ids` are pairs of a recorded id and the one that stands for it now, the latest last.
    pub fn new(transport: TransportKind, ids: &'a [(Value, Value)], context: RequestContext) -> Self {
        Self { transport, ids, context }
    }

    fn is_http(&self) -> bool {
        self.transport.is_over_http()
    }

    /// The items for one reply.
    pub fn encode(&self, reply: &ServerReply) -> Vec<Scheduled> {
        let scheduled = |incoming: Incoming| Scheduled { after: reply.after, incoming };
        let bytes = match &reply.content {
            ReplyContent::Stderr(line) => return vec![scheduled(Incoming::Stderr(line.clone()))],
            ReplyContent::Ended(ended) => return self.encode_end(*ended).into_iter().map(scheduled).collect(),
            ReplyContent::Torn(line) if !self.is_http() => return vec![scheduled(Incoming::TornLine(line.clone()))],
            ReplyContent::Torn(bytes) => {
                let http = reply.http.clone().unwrap_or_else(event_stream);
                let place =
                    if is_event_stream(&http) { ConnectionBreak::InEvent } else { ConnectionBreak::AfterHeaders };
                return vec![scheduled(self.fail(HttpFailure::Reset(place), Some((http, bytes.clone()))))];
            }
            ReplyContent::Message(message) => with_ids(message.clone(), self.ids).to_string().into_bytes(),
            ReplyContent::Bytes(bytes) => bytes.clone(),
            ReplyContent::Stalled => return Vec::new(),
        };
        if self.is_http() {
            return vec![scheduled(self.over_http(bytes, reply.http.as_ref()))];
        }
        // A fault may have made several lines of one.
        bytes.split(|byte| *byte == b'\n').map(|line| scheduled(Incoming::Line(line.to_vec()))).collect()
    }

    /// The items for a request to a server that is gone.
    pub fn refuse(&self) -> Vec<Scheduled> {
        if !self.is_http() || self.context.frame == 0 {
            return Vec::new();
        }
        let failure = HttpFailure::ConnectionRefused { address: "the recorded server".to_owned() };
        vec![Scheduled::at_once(self.fail(failure, None))]
    }

    fn encode_end(&self, ended: ServerEnd) -> Vec<Incoming> {
        if self.is_http() {
            let failure = HttpFailure::Reset(ConnectionBreak::BeforeHeaders);
            return if self.context.frame == 0 { Vec::new() } else { vec![self.fail(failure, None)] };
        }
        let exit = match ended {
            ServerEnd::Closed => None,
            ServerEnd::Status(status) => Some(ServerExit::Status(status)),
            ServerEnd::Signal(signal) => Some(ServerExit::Signal(signal)),
        };
        [Some(Incoming::Closed), exit.map(Incoming::Exited)].into_iter().flatten().collect()
    }

    fn fail(&self, failure: HttpFailure, shown: Option<(Arc<HttpHead>, Vec<u8>)>) -> Incoming {
        Incoming::Undelivered { frame: self.context.frame, failure: Box::new(failure), shown }
    }

    fn over_http(&self, bytes: Vec<u8>, head: Option<&Arc<HttpHead>>) -> Incoming {
        let http = head.cloned().unwrap_or_else(event_stream);
        if self.transport == TransportKind::Sse {
            return Incoming::Message { bytes, http, delivery: HttpDelivery::Stream };
        }
        if http.is_success() && is_event_stream(&http) {
            return Incoming::Message { bytes, http, delivery: HttpDelivery::Event(self.context.frame) };
        }
        let posted = Posted {
            expects_an_answer: self.context.expects_an_answer,
            in_session: self.context.in_session,
            has_token: false,
        };
        match classify_body(&http, &bytes, posted) {
            Ok(BodyKind::Message | BodyKind::Nothing) => {
                Incoming::Message { bytes, http, delivery: HttpDelivery::Body(self.context.frame) }
            }
            Err(failure) => self.fail(failure, Some((http, bytes))),
        }
    }
}

/// A message with the ids of this session for those that were recorded.
pub fn with_ids(mut message: Value, ids: &[(Value, Value)]) -> Value {
    let is_response = message.get("method").is_none();
    if is_response && let Some(id) = message.get_mut("id") {
        replace(id, ids);
    }
    if let Some(token) = message.get_mut("params").and_then(|params| params.get_mut("progressToken")) {
        replace(token, ids);
    }
    if let Some(subscription) = message.pointer_mut(SUBSCRIPTION_ID) {
        replace(subscription, ids);
    }
    message
}

fn replace(id: &mut Value, ids: &[(Value, Value)]) {
    for (recorded, now) in ids.iter().rev() {
        if id == recorded {
            *id = now.clone();
            return;
        }
        // An id whose type was changed stays changed.
        if id.as_str().is_some_and(|text| recorded.is_i64() && text.parse().ok() == recorded.as_i64()) {
            *id = now.to_string().into();
            return;
        }
    }
}

fn event_stream() -> Arc<HttpHead> {
    let headers = vec![("content-type".to_owned(), "text/event-stream".to_owned())];
    Arc::new(HttpHead { status: 200, headers })
}

fn is_event_stream(http: &HttpHead) -> bool {
    http.header("content-type").is_some_and(|kind| kind.trim_start().starts_with("text/event-stream"))
}
