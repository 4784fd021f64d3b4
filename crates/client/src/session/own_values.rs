//! Values that stand for others in the requests of a session.
//!
//! Requests are made before it is known which server gets them. An id that one server gave means nothing to another one,
//! which has one of its own for the same thing.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use serde_json::Value;

/// The texts and numbers of a session by the JSON of those in whose place they are sent.
#[derive(Debug, Default)]
pub(crate) struct OwnValues(OnceLock<BTreeMap<String, Value>>);

impl OwnValues {
    pub(crate) fn set(&self, values: BTreeMap<String, Value>) {
        if !values.is_empty() {
            // A session is set up once.
            let _ = self.0.set(values);
        }
    }

    /// A value with these values, wherever one is a whole text or number of it.
    pub(crate) fn put_into(&self, mut value: Value) -> Value {
        if let Some(values) = self.0.get() {
            replace(&mut value, values);
        }
        value
    }

    /// The same for the JSON of a value.
    pub(crate) fn put_into_json(&self, json: &[u8]) -> Option<Vec<u8>> {
        self.0.get()?;
        let value = serde_json::from_slice(json).ok()?;
        serde_json::to_vec(&self.put_into(value)).ok()
    }
}

fn replace(value: &mut Value, values: &BTreeMap<String, Value>) {
    match value {
        Value::String(_) | Value::Number(_) => {
            if let Some(own) = values.get(&value.to_string()) {
                own.clone_into(value);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| replace(item, values)),
        Value::Object(members) => members.values_mut().for_each(|member| replace(member, values)),
        Value::Null | Value::Bool(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn whole_texts_and_numbers_are_replaced() {
        let own = OwnValues::default();
        assert_eq!(own.put_into(json!({"id": "a1"})), json!({"id": "a1"}));
        assert_eq!(own.put_into_json(b"{}"), None);
        own.set(BTreeMap::from([("\"a1\"".to_owned(), json!("b7")), ("4711".to_owned(), json!(8086))]));
        let (given, expected) = (
            json!({"ids": ["a1", "a12", 1, 4711, "4711"], "a1": "x"}),
            json!({"ids": ["b7", "a12", 1, 8086, "4711"], "a1": "x"}),
        );
        assert_eq!(own.put_into(given.clone()), expected);
        assert_eq!(own.put_into_json(given.to_string().as_bytes()), Some(expected.to_string().into_bytes()));
    }
}
