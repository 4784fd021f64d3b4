//! What makes two messages of the client the same, whenever and in whatever order they are sent.

use serde_json::Value;

use crate::fault::Asked;
use crate::wire::{Message, classify};

/// A message of the client, as far as its answer depends on it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::prove) struct Key {
    /// The case; empty for handshakes and discovery.
    pub(in crate::prove) owner: String,
    /// The method, and the parameters in canonical form; or the bytes of a raw message.
    pub(in crate::prove) said: Said,
}

/// What is said, apart from ids.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::prove) enum Said {
    /// A message: its method, and its parameters with sorted keys, without ids and progress tokens.
    Message(String, String),
    /// Bytes.
    Raw(Vec<u8>),
}

impl Said {
    pub(in crate::prove) fn of(asked: &Asked) -> Self {
        match asked {
            Asked::Message { method, params, .. } => Self::message(method, params),
            Asked::Raw(bytes) => Self::Raw(bytes.trim_ascii().to_owned()),
        }
    }

    pub(in crate::prove) fn message(method: &str, params: &Value) -> Self {
        let mut text = String::new();
        write_canonical(params, Place::Params, &mut text);
        Self::Message(method.to_owned(), text)
    }
}

/// What a message of the client asks; `None` for answers to the server.
pub(in crate::prove) fn asked(message: &Value) -> Option<Asked> {
    match classify(message) {
        Message::Request { id, method, params } => Some(Asked::Message {
            id: Some(id.to_json()),
            method: method.to_owned(),
            params: params.cloned().unwrap_or_default(),
        }),
        Message::Notification { method, params } => {
            Some(Asked::Message { id: None, method: method.to_owned(), params: params.cloned().unwrap_or_default() })
        }
        Message::Response { .. } => None,
        Message::Invalid(_) => Some(Asked::Raw(message.to_string().into_bytes())),
    }
}

/// Where a value stands, since some members differ from session to session.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Params,
    Meta,
    Inside,
}

fn write_canonical(value: &Value, place: Place, text: &mut String) {
    match value {
        Value::Object(fields) => {
            let differs = |key: &str| match place {
                Place::Params => key == "requestId",
                Place::Meta => key == "progressToken",
                Place::Inside => false,
            };
            let mut fields: Vec<_> = fields.iter().filter(|(key, _)| !differs(key)).collect();
            fields.sort_by_key(|(key, _)| *key);
            text.push('{');
            for (key, value) in fields {
                let inner = if place == Place::Params && key == "_meta" { Place::Meta } else { Place::Inside };
                // With nothing but a token in it, it is as good as not there.
                if inner == Place::Meta
                    && value.as_object().is_some_and(|meta| meta.keys().all(|k| k == "progressToken"))
                {
                    continue;
                }
                text.push_str(&Value::from(key.as_str()).to_string());
                text.push(':');
                write_canonical(value, inner, text);
                text.push(',');
            }
            text.push('}');
        }
        Value::Array(items) => {
            text.push('[');
            for item in items {
                write_canonical(item, Place::Inside, text);
                text.push(',');
            }
            text.push(']');
        }
        Value::Null if place == Place::Params => text.push_str("{}"),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => text.push_str(&value.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn order_ids_and_tokens_make_no_difference() {
        let check = |a: Value, b: Value, same: bool| {
            assert_eq!(Said::message("m", &a) == Said::message("m", &b), same, "{a} {b}");
        };
        check(json!({"a": 1, "b": {"c": 2, "d": 3}}), json!({"b": {"d": 3, "c": 2}, "a": 1}), true);
        check(json!({"a": [1, 2]}), json!({"a": [2, 1]}), false);
        check(json!({"a": 1}), json!({"a": "1"}), false);
        check(json!({"requestId": 4, "reason": "r"}), json!({"requestId": 9, "reason": "r"}), true);
        check(json!({"x": 1, "_meta": {"progressToken": 4}}), json!({"x": 1}), true);
        check(json!({"x": 1, "_meta": {"progressToken": 4, "k": 1}}), json!({"x": 1, "_meta": {"k": 1}}), true);
        check(json!({"arguments": {"requestId": 4}}), json!({"arguments": {"requestId": 9}}), false);
        check(Value::Null, json!({}), true);
    }
}
