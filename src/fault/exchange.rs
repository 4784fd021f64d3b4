//! The messages of one request, as far as a fault can change them.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use crate::wire::{Catalog, HttpHead};

/// One message of the client and everything that came because of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MessageExchange {
    /// The case that it belongs to; empty for handshakes and discovery.
    pub owner: String,
    /// The session within the case, counted from zero.
    pub session: u32,
    /// How often the same was asked before in that session, by the same owner.
    pub occurrence: u32,
    /// The request.
    pub sent: ClientMessage,
    /// The replies, in order.
    pub replies: Vec<ServerReply>,
}

/// The message of the client.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ClientMessage {
    /// A request or a notification.
    Message {
        /// The id; `None` for a notification.
        id: Option<Value>,
        /// The method.
        method: String,
        /// The parameters; `Null` where there are none.
        params: Value,
    },
    /// Bytes that a raw step wrote: a message, something like it, or nothing of the kind.
    Raw(#[serde(with = "readable_bytes")] Vec<u8>),
}

/// One thing that came.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ServerReply {
    /// How long after the message of the client.
    pub after: Duration,
    /// Its kind.
    pub content: ReplyContent,
    /// The head of the response that carried it, over HTTP.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub http: Option<Arc<HttpHead>>,
}

impl ServerReply {
    /// The bytes of one message, or of what is none, as they come.
    pub fn at_once(bytes: &[u8], http: Option<Arc<HttpHead>>) -> Self {
        let content = match serde_json::from_slice(bytes) {
            Ok(message) => ReplyContent::Message(message),
            Err(_) => ReplyContent::Bytes(bytes.to_vec()),
        };
        Self { after: Duration::ZERO, content, http }
    }
}

/// A message of a server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReplyContent {
    /// A line of JSON, a message or not. An `id` that is the one of the request, as a number or as text, follows the id
    /// of the request to which the reply is played back.
    Message(Value),
    /// Any other line, or the body of a response that is no JSON.
    Bytes(#[serde(with = "readable_bytes")] Vec<u8>),
    /// The same at the end of the stream, in the middle of a line.
    Torn(#[serde(with = "readable_bytes")] Vec<u8>),
    /// A line of standard error.
    Stderr(#[serde(with = "readable_bytes")] Vec<u8>),
    /// The server says nothing more in this session, ever, and takes nothing in.
    Stalled,
    /// The server is gone.
    Ended(ServerEnd),
}

impl ReplyContent {
    /// A message, or a text that is sent as it is.
    pub(crate) fn of(value: Value) -> Self {
        if let Value::String(text) = value { Self::Bytes(text.into_bytes()) } else { Self::Message(value) }
    }
}

/// How a server went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ServerEnd {
    /// It closed its output, or the connection.
    Closed,
    /// It ended with that status.
    Status(i32),
    /// A signal ended it.
    Signal(i32),
}

/// Bytes as text where they are text, so that a recording can be read.
mod readable_bytes {
    use super::{Deserialize, Deserializer, Serialize, Serializer};

    #[derive(Deserialize)]
    #[serde(untagged)]
    enum WrittenBytes {
        Text(String),
        Bytes(Vec<u8>),
    }

    pub(crate) fn serialize<S: Serializer>(bytes: &[u8], to: S) -> Result<S::Ok, S::Error> {
        match std::str::from_utf8(bytes) {
            Ok(text) => text.serialize(to),
            Err(_) => bytes.serialize(to),
        }
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<u8>, D::Error> {
        Ok(match WrittenBytes::deserialize(from)? {
            WrittenBytes::Text(text) => text.into_bytes(),
            WrittenBytes::Bytes(bytes) => bytes,
        })
    }
}

/// The history of a server in one revision: its offer, and its answers so far.
#[derive(Debug, Clone, Copy)]
pub struct ExchangeHistory<'a> {
    /// The server's lists.
    pub catalog: &'a Catalog,
    /// Its capabilities from the handshake.
    pub capabilities: &'a Value,
    /// The exchanges in the order of their requests.
    pub exchanges: &'a [MessageExchange],
}

impl MessageExchange {
    /// The method, where one was asked; a raw message has one too, if it is JSON.
    pub fn method(&self) -> Option<&str> {
        match &self.sent {
            ClientMessage::Message { method, .. } => Some(method),
            ClientMessage::Raw(_) => None,
        }
    }

    /// The parameters; `Null` where there are none.
    pub fn params(&self) -> &Value {
        match &self.sent {
            ClientMessage::Message { params, .. } => params,
            ClientMessage::Raw(_) => &Value::Null,
        }
    }

    /// The tool that was called.
    pub fn tool(&self) -> Option<&str> {
        if self.method() == Some("tools/call") { self.params()["name"].as_str() } else { None }
    }

    /// The response to the request, as an index into the replies.
    pub fn answer(&self) -> Option<usize> {
        let ClientMessage::Message { id: Some(id), .. } = &self.sent else { return None };
        self.replies.iter().position(|reply| match &reply.content {
            ReplyContent::Message(message) => message.get("method").is_none() && message.get("id") == Some(id),
            ReplyContent::Bytes(_)
            | ReplyContent::Torn(_)
            | ReplyContent::Stderr(_)
            | ReplyContent::Stalled
            | ReplyContent::Ended(_) => false,
        })
    }
}
