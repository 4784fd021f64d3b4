//! What makes two messages of the client the same, whenever and in whatever order they are sent.

use serde_json::Value;

use crate::fault::ClientMessage;
use crate::wire::{RpcMessage, canonical, classify};

/// A message of the client, as far as its answer depends on it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::prove) struct ExchangeKey {
    /// The case; empty for handshakes and discovery.
    pub(in crate::prove) owner: String,
    /// The method, and the parameters in canonical form; or the bytes of a raw message.
    pub(in crate::prove) request: RequestKey,
}

/// What is said, apart from ids.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::prove) enum RequestKey {
    /// A message: its method, and its parameters in their canonical form.
    Message(String, String),
    /// Bytes.
    Raw(Vec<u8>),
}

impl RequestKey {
    pub(in crate::prove) fn of(asked: &ClientMessage) -> Self {
        match asked {
            ClientMessage::Message { method, params, .. } => Self::message(method, params),
            ClientMessage::Raw(bytes) => Self::Raw(bytes.trim_ascii().to_owned()),
        }
    }

    pub(in crate::prove) fn message(method: &str, params: &Value) -> Self {
        Self::Message(method.to_owned(), canonical(params))
    }
}

/// What a message of the client asks; `None` for answers to the server.
pub(in crate::prove) fn asked(message: &Value) -> Option<ClientMessage> {
    match classify(message) {
        RpcMessage::Request { id, method, params } => Some(ClientMessage::Message {
            id: Some(id.to_json()),
            method: method.to_owned(),
            params: params.cloned().unwrap_or_default(),
        }),
        RpcMessage::Notification { method, params } => Some(ClientMessage::Message {
            id: None,
            method: method.to_owned(),
            params: params.cloned().unwrap_or_default(),
        }),
        RpcMessage::Response { .. } => None,
        RpcMessage::Invalid(_) => Some(ClientMessage::Raw(message.to_string().into_bytes())),
    }
}
