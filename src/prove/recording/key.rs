//! Keys by which two messages of the client are the same, whenever and in whatever order they are sent.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::fault::ClientMessage;
use crate::transport::Owner;
use crate::wire::{RpcMessage, canonical, classify};

/// A message of the client, as far as its answer depends on it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ExchangeKey {
    /// Who sends it.
    pub(crate) owner: Owner,
    /// The method, and the parameters in canonical form; or the bytes of a raw message.
    pub(crate) request: RequestKey,
}

/// The message apart from its ids.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum RequestKey {
    /// A message: its method, and its parameters in their canonical form.
    Message(String, String),
    /// Bytes.
    Raw(Vec<u8>),
}

impl ExchangeKey {
    pub(crate) fn of(owner: &Owner, sent: &ClientMessage) -> Self {
        Self { owner: owner.clone(), request: RequestKey::of(sent) }
    }
}

/// The number of sessions of each owner in each target.
pub(crate) type SessionNumbers = BTreeMap<(String, Owner), u32>;

/// Numbers the messages of one session, so that the same message is found again in a recording.
#[derive(Debug, Default)]
pub(crate) struct SessionCounter {
    /// The session of each owner, counted from zero.
    sessions: BTreeMap<Owner, u32>,
    asked: BTreeMap<ExchangeKey, u32>,
}

/// Which of several equal messages one is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MessageNumber {
    /// The session of its owner.
    pub(crate) session: u32,
    /// The number of equal messages before it in that session.
    pub(crate) occurrence: u32,
}

impl SessionCounter {
    pub(crate) fn count(&mut self, target: &str, key: &ExchangeKey, numbers: &mut SessionNumbers) -> MessageNumber {
        let session = *self.sessions.entry(key.owner.clone()).or_insert_with(|| {
            let next = numbers.entry((target.to_owned(), key.owner.clone())).or_default();
            *next += 1;
            *next - 1
        });
        let next = self.asked.entry(key.clone()).or_default();
        *next += 1;
        MessageNumber { session, occurrence: *next - 1 }
    }
}

impl RequestKey {
    pub(crate) fn of(asked: &ClientMessage) -> Self {
        match asked {
            ClientMessage::Message { method, params, .. } => Self::Message(method.clone(), canonical(params)),
            ClientMessage::Raw(bytes) => Self::Raw(bytes.trim_ascii().to_owned()),
        }
    }
}

/// The message of the client that some bytes are; `None` for answers to the server and for bytes that are no JSON.
pub(crate) fn read_message(bytes: &[u8]) -> Option<ClientMessage> {
    request_in(&serde_json::from_slice(bytes).ok()?)
}

/// The request or notification in a message of the client; `None` for answers to the server.
pub(crate) fn request_in(message: &Value) -> Option<ClientMessage> {
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
