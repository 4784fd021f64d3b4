//! A message of a client on its way to a live server.

use std::borrow::Cow;

use serde_json::Value;

use super::condition::task_of;
use super::exchange::{ClientMessage, MessageExchange};
use super::parsed_message::{MessageKind, ParsedMessage, RequestHead, split_http};
use super::words::FaultTransport;
use crate::transport::Owner;
use crate::wire::value_memory;

/// The header with which a client names the task of a call.
const TASK_HEADER: &str = "mcprove-task";

/// A message of a client on its way to the server, or an HTTP request.
#[derive(Debug, Clone)]
pub struct LiveRequest {
    pub(crate) exchange: MessageExchange,
    pub(crate) kind: MessageKind,
    /// Its index among the calls of tools, for [`FaultPlayer::give_up`](super::FaultPlayer::give_up).
    pub call: Option<usize>,
    /// The number of equal requests before it, in all sessions; counted only if faults draw.
    pub(crate) asked_before: u32,
    /// The session or conversation that it belongs to.
    pub scope: String,
    /// The request of HTTP that brought it.
    pub head: Option<RequestHead>,
    /// The server serves the protocol at the address of the request.
    pub is_at_endpoint: bool,
}

impl LiveRequest {
    /// A line of a stream, or the body of a request of HTTP.
    pub fn new(bytes: &[u8], scope: String, head: Option<RequestHead>) -> Self {
        let parsed = ParsedMessage::raw(bytes);
        let parsed_kind = parsed.kind;
        let is_plain = matches!(parsed.kind, MessageKind::Request | MessageKind::Notification);
        let sent = match parsed.method.clone().filter(|_| is_plain) {
            Some(method) => ClientMessage::Message {
                id: parsed.id.clone().map(Cow::into_owned),
                method: method.into_owned(),
                params: parsed.params.into_owned(),
            },
            None => ClientMessage::Raw(bytes.to_vec()),
        };
        let kind =
            if head.is_none() && parsed_kind == MessageKind::Empty { MessageKind::Unparsable } else { parsed_kind };
        Self {
            exchange: MessageExchange::new(sent),
            kind,
            call: None,
            asked_before: 0,
            scope,
            head,
            is_at_endpoint: true,
        }
    }

    /// A request of HTTP as it is written, head and body, in the session that its header names; `None` for other bytes.
    pub fn of_http(bytes: &[u8]) -> Option<Self> {
        let (head, body) = split_http(bytes);
        let head = head?;
        let scope = head.headers.get("mcp-session-id").and_then(Value::as_str).unwrap_or_default().to_owned();
        Some(Self::new(body, scope, Some(head)))
    }

    /// The same as a message of somebody.
    #[must_use]
    pub fn of(mut self, owner: &Owner) -> Self {
        owner.clone_into(&mut self.exchange.owner);
        self
    }

    /// The method and the tool.
    pub(crate) fn title(&self) -> String {
        match (self.method(), self.exchange.tool()) {
            (Some(method), Some(tool)) => format!("{method} {tool}"),
            (Some(method), None) => method.to_owned(),
            (None, _) => String::new(),
        }
    }

    /// The start or the end of a conversation over streams.
    pub fn moment(kind: MessageKind, scope: String) -> Self {
        let exchange = MessageExchange::new(ClientMessage::Raw(Vec::new()));
        Self { exchange, kind, call: None, asked_before: 0, scope, head: None, is_at_endpoint: true }
    }

    /// The kind of message.
    pub fn kind(&self) -> MessageKind {
        self.kind
    }

    /// The method of the message.
    pub fn method(&self) -> Option<&str> {
        self.exchange.method()
    }

    /// The parameters of the message; `Null` where there are none.
    pub fn params(&self) -> &Value {
        self.exchange.params()
    }

    /// The tool that the message calls.
    pub fn tool(&self) -> Option<&str> {
        self.exchange.tool()
    }

    /// The task that the client names, in `_meta` or in a header.
    pub fn task(&self) -> Option<&str> {
        let header = || self.head.as_ref()?.headers.get(TASK_HEADER)?.as_str();
        task_of(&self.exchange).or_else(header)
    }

    /// The id of the message, if it can stand in an answer.
    pub fn id(&self) -> Option<Value> {
        self.parse().id.map(Cow::into_owned)
    }

    /// The token for progress that the message carries.
    pub fn progress_token(&self) -> Option<&Value> {
        self.exchange.params().pointer("/_meta/progressToken")
    }

    /// An estimate of the memory that the message takes, in bytes.
    pub fn weight(&self) -> usize {
        match &self.exchange.sent {
            ClientMessage::Message { id, method, params } => {
                id.as_ref().map_or(0, value_memory) + method.len() + value_memory(params)
            }
            ClientMessage::Raw(bytes) => bytes.len(),
        }
    }

    /// The message as conditions see it.
    pub(crate) fn parse(&self) -> ParsedMessage<'_> {
        let mut parsed = ParsedMessage::of(&self.exchange);
        parsed.head = self.head.as_ref().map(Cow::Borrowed);
        (parsed.kind, parsed.is_raw) = (self.kind, false);
        parsed
    }

    pub(crate) fn carrier(&self) -> FaultTransport {
        if self.head.is_some() { FaultTransport::Http } else { FaultTransport::Stream }
    }
}
