//! Classifies JSON values as messages of JSON-RPC 2.0, and writes our own messages.

use crate::wire::Members;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::weight::read_json_bytes;

/// The pointer to the id of the subscription in a notification: that of the request that opened it (2026-07-28,
/// basic/patterns/subscriptions).
pub const SUBSCRIPTION_ID: &str = "/params/_meta/io.modelcontextprotocol~1subscriptionId";

/// The id of a request; the type is part of it, so `7` and `"7"` differ.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Id {
    /// A whole number.
    Number(i64),
    /// Text.
    Text(String),
}

impl Id {
    /// Reads an id; `None` for null, fractions and everything that cannot be one.
    pub fn from_json(value: &Value) -> Option<Self> {
        match value {
            Value::Number(number) => number.as_i64().map(Self::Number),
            Value::String(text) => Some(Self::Text(text.clone())),
            Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
        }
    }

    /// The id as it travels.
    pub fn to_json(&self) -> Value {
        match self {
            Self::Number(number) => (*number).into(),
            Self::Text(text) => text.clone().into(),
        }
    }
}

/// A classified message; borrowed from the value it was read from.
#[derive(Debug, Clone, PartialEq)]
pub enum RpcMessage<'a> {
    /// Expects a response.
    Request {
        /// Pairs it with its response.
        id: Id,
        /// The method.
        method: &'a str,
        /// The parameters.
        params: Option<&'a Value>,
    },
    /// Expects none.
    Notification {
        /// The method.
        method: &'a str,
        /// The parameters.
        params: Option<&'a Value>,
    },
    /// Answers a request, well or badly formed; `id` is `None` where it is null or absent.
    Response {
        /// The request's id.
        id: Option<Id>,
    },
    /// None of these; the sentence says why.
    Invalid(String),
}

/// Says what a value means; lenient where a tester wants to look further, strict where nothing can be made of it.
pub fn classify(value: &Value) -> RpcMessage<'_> {
    let Value::Object(fields) = value else {
        let what = if value.is_array() { "a batch, which this revision does not have" } else { "no JSON object" };
        return RpcMessage::Invalid(format!("the message is {what}"));
    };
    let id = fields.member("id").and_then(Id::from_json);
    let params = fields.member("params");
    match (fields.member("method").and_then(Value::as_str), id) {
        (Some(method), Some(id)) => RpcMessage::Request { id, method, params },
        (Some(method), None) => RpcMessage::Notification { method, params },
        (None, id) if fields.member("result").is_some() || fields.member("error").is_some() => {
            RpcMessage::Response { id }
        }
        (None, _) => RpcMessage::Invalid("the message has no `method`, no `result` and no `error`".to_owned()),
    }
}

/// The messages in raw bytes: one, or one a line.
pub fn messages_in(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let is_one = serde_json::from_slice::<IgnoredAny>(bytes).is_ok();
    bytes.split(move |byte| *byte == b'\n' && !is_one).filter(|line| !line.trim_ascii().is_empty())
}

/// The members of a message, at a glance: they are not looked into.
#[derive(Deserialize)]
struct Glance<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    method: Option<IgnoredAny>,
    result: Option<IgnoredAny>,
    error: Option<IgnoredAny>,
}

impl Glance<'_> {
    fn is_response(&self) -> bool {
        self.method.is_none() && (self.result.is_some() || self.error.is_some())
    }
}

/// The bytes are a response, well or badly formed, at a glance.
pub fn is_response(bytes: &[u8]) -> bool {
    serde_json::from_slice::<Glance<'_>>(bytes).is_ok_and(|seen| seen.is_response())
}

/// The message in bytes, where it is beyond doubt a response of the protocol.
pub fn response_of(bytes: &[u8]) -> Option<Value> {
    let message = read_json_bytes(bytes)?;
    // Answers of web frameworks have an `error` too, but as text, or without the mark of the protocol.
    let has_outcome = message["error"].is_object() || message.member("result").is_some();
    (message["jsonrpc"] == "2.0" && has_outcome).then_some(message)
}

/// The id of a response in bytes that are not read: their text is broken (bytes that are no UTF-8, halves of surrogate
/// pairs), or they are nested too deep, or too large.
pub fn id_of_unreadable(bytes: &[u8]) -> Option<Id> {
    let seen: Glance<'_> = serde_json::from_slice(bytes).ok().filter(Glance::is_response)?;
    Id::from_json(&serde_json::from_str(seen.id?.get()).ok()?)
}

/// A request; key order is that of the specification's examples.
pub fn request(id: &Id, method: &str, params: Option<Value>) -> Value {
    let mut message = json!({"jsonrpc": "2.0", "id": id.to_json(), "method": method});
    if let Some(params) = params {
        message["params"] = params;
    }
    message
}

/// A notification as one line without its line break.
pub fn notification_line(method: &str, params: Option<&Value>) -> String {
    match params {
        Some(params) => json!({"jsonrpc": "2.0", "method": method, "params": params}).to_string(),
        None => json!({"jsonrpc": "2.0", "method": method}).to_string(),
    }
}

/// A response as one line without its line break; `outcome` is a result or an error object.
pub fn response_line(id: &Id, outcome: Result<&Value, &Value>) -> String {
    match outcome {
        Ok(result) => json!({"jsonrpc": "2.0", "id": id.to_json(), "result": result}).to_string(),
        Err(error) => json!({"jsonrpc": "2.0", "id": id.to_json(), "error": error}).to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn broken_texts_keep_their_ids() {
        let check = |bytes: &[u8], expected: Option<i64>| {
            assert_eq!(id_of_unreadable(bytes), expected.map(Id::Number), "{:?}", String::from_utf8_lossy(bytes));
        };
        check(b"{\"id\":7,\"result\":{\"a\":\"\xff\xfe\"}}", Some(7));
        check(br#"{"id":7,"result":{"a":"\ud800"}}"#, Some(7));
        check(br#"{"id":7,"result":{"a":"\ud83d\ude00 \udc00 \\ud800"}}"#, Some(7));
        check(br#"{"id":7,"method":"x","params":"\ud800"}"#, None);
        check(b"{\"id\":7,\"result\":", None);
        check(b"\xff listening", None);
    }
}
