//! The connections of a recording, and the keys by which a message finds the exchange in which the same was asked.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::fault::{ClientMessage, MessageExchange};
use crate::prove::RequestKey;
use crate::transport::Owner;

/// The methods that take arguments.
const TAKE_ARGUMENTS: [&str; 2] = ["tools/call", "prompts/get"];

/// A message apart from its ids and from what differs from client to client.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct MockKey {
    /// It is a request without a session, as 2026-07-28 has them.
    is_stateless: bool,
    request: RequestKey,
}

/// The exchanges of one connection, or of several that cannot be told apart.
#[derive(Debug, Default)]
pub(crate) struct RecordedConnection {
    /// The exchanges by what was asked, as indices.
    found: BTreeMap<MockKey, Vec<usize>>,
    /// The requests that a test made, in order.
    pub(crate) steps: Vec<MockKey>,
}

impl MockKey {
    pub(crate) fn of(sent: &ClientMessage) -> Self {
        let request = match sent {
            // Clients differ in their names and capabilities.
            ClientMessage::Message { method, params, .. } if method == "initialize" => {
                let version = params["protocolVersion"].as_str().unwrap_or_default();
                RequestKey::Message(method.clone(), version.to_owned())
            }
            ClientMessage::Message { id, method, params } if TAKE_ARGUMENTS.contains(&method.as_str()) => {
                let mut params = params.clone();
                // Clients may leave them out where there are none.
                if params.is_object() && params["arguments"].is_null() {
                    params["arguments"] = Value::Object(Map::new());
                }
                RequestKey::of(&ClientMessage::Message { id: id.clone(), method: method.clone(), params })
            }
            ClientMessage::Message { .. } | ClientMessage::Raw(_) => RequestKey::of(sent),
        };
        let is_stateless = match sent {
            ClientMessage::Message { id: Some(_), params, .. } => {
                params["_meta"].get("io.modelcontextprotocol/protocolVersion").is_some()
            }
            ClientMessage::Message { id: None, .. } | ClientMessage::Raw(_) => false,
        };
        Self { is_stateless, request }
    }

    /// The method; `None` for bytes that are no message.
    pub(crate) fn method(&self) -> Option<&str> {
        if let RequestKey::Message(method, _) = &self.request { Some(method) } else { None }
    }

    /// The parameters in canonical form; `None` for bytes that are no message.
    pub(crate) fn text(&self) -> Option<&str> {
        if let RequestKey::Message(_, params) = &self.request { Some(params) } else { None }
    }

    /// The same method in the same era.
    pub(crate) fn is_alike(&self, other: &Self) -> bool {
        self.method().is_some() && self.method() == other.method() && self.is_stateless == other.is_stateless
    }

    /// A test made it, so that what comes after it may depend on it: no handshake, listing or notification.
    pub(crate) fn is_step(&self) -> bool {
        self.method().is_none_or(|method| {
            let is_of_client =
                matches!(method, "initialize" | "server/discover" | "ping") || method.starts_with("notifications/");
            !is_of_client && !method.ends_with("/list")
        })
    }

    /// A connection in which it was not sent is another one.
    pub(crate) fn tells_connections_apart(&self) -> bool {
        self.is_step() || self.method() == Some("initialize")
    }
}

impl RecordedConnection {
    fn add(&mut self, exchange: &MessageExchange, at: usize) {
        let key = MockKey::of(&exchange.sent);
        if key.is_step() {
            self.steps.push(key.clone());
        }
        self.found.entry(key).or_default().push(at);
    }

    /// The exchanges in which the same was asked, in order; empty if there are none.
    pub(crate) fn exchanges(&self, key: &MockKey) -> &[usize] {
        self.found.get(key).map_or(&[], Vec::as_slice)
    }

    pub(crate) fn keys(&self) -> impl Iterator<Item = &MockKey> {
        self.found.keys()
    }
}

/// The connections in which exchanges were made: an owner that begins its next session is on the next one.
pub(crate) fn connections(exchanges: &[MessageExchange]) -> Vec<RecordedConnection> {
    let mut found: Vec<RecordedConnection> = Vec::new();
    let mut sessions: BTreeMap<&Owner, u32> = BTreeMap::new();
    for (at, exchange) in exchanges.iter().enumerate() {
        let is_next = sessions.get(&exchange.owner).is_some_and(|session| *session != exchange.session);
        if is_next || found.is_empty() {
            found.push(RecordedConnection::default());
            sessions.clear();
        }
        sessions.insert(&exchange.owner, exchange.session);
        if let Some(connection) = found.last_mut() {
            connection.add(exchange, at);
        }
    }
    found
}
