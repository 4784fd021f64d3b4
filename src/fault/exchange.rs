//! The messages of one request, as far as a fault can change them.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use crate::transport::Owner;
use crate::wire::{Catalog, HttpHead};

/// One message of the client and everything that came because of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MessageExchange {
    /// To whom it belongs.
    pub owner: Owner,
    /// The session within the case, counted from zero.
    pub session: u32,
    /// The number of equal requests before it in that session, by the same owner.
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
    /// The time since the message of the client.
    pub after: Duration,
    /// Its kind.
    pub content: ReplyContent,
    /// The head of the response that carried it, over HTTP.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub http: Option<Arc<HttpHead>>,
}

impl ServerReply {
    /// Content that comes now.
    pub fn now(content: ReplyContent, http: Option<Arc<HttpHead>>) -> Self {
        Self { after: Duration::ZERO, content, http }
    }

    /// Bytes that come now: a message if they are JSON.
    pub fn at_once(bytes: &[u8], http: Option<Arc<HttpHead>>) -> Self {
        Self::now(ReplyContent::read(bytes), http)
    }

    /// The message; `None` for anything else that came.
    pub fn message(&self) -> Option<&Value> {
        self.content.message()
    }

    /// A notification or a request of the server.
    pub fn sent_message(&self) -> Option<&Value> {
        self.message().filter(|message| message.get("method").is_some())
    }

    /// A response.
    pub fn response(&self) -> Option<&Value> {
        self.message().filter(|message| message.get("method").is_none())
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
    /// A message if the bytes are JSON, and the bytes otherwise.
    pub(crate) fn read(bytes: &[u8]) -> Self {
        serde_json::from_slice(bytes).map_or_else(|_| Self::Bytes(bytes.to_vec()), Self::Message)
    }

    /// A message, or a text that is sent as it is.
    pub(crate) fn of(value: Value) -> Self {
        if let Value::String(text) = value { Self::Bytes(text.into_bytes()) } else { Self::Message(value) }
    }

    /// The message; `None` for anything else.
    pub fn message(&self) -> Option<&Value> {
        if let Self::Message(message) = self { Some(message) } else { None }
    }

    /// The bytes on the wire; `None` for content that is no message.
    pub fn bytes(self) -> Option<Vec<u8>> {
        match self {
            Self::Message(message) => Some(message.to_string().into_bytes()),
            Self::Bytes(bytes) | Self::Torn(bytes) => Some(bytes),
            Self::Stderr(_) | Self::Stalled | Self::Ended(_) => None,
        }
    }
}

/// The end of a server.
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
    /// An exchange that begins; of discovery, and the first one of its kind, unless its fields are set.
    pub fn new(sent: ClientMessage) -> Self {
        Self { owner: Owner::Session, session: 0, occurrence: 0, sent, replies: Vec::new() }
    }

    /// The method; `None` for raw messages.
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

    /// The response to the request.
    pub fn answer(&self) -> Option<&Value> {
        let ClientMessage::Message { id: Some(id), .. } = &self.sent else { return None };
        self.replies.iter().filter_map(ServerReply::response).find(|message| message.get("id") == Some(id))
    }
}
