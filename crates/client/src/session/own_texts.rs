//! Texts that stand for others in the requests of a session.
//!
//! Requests are made before it is known which server gets them. An id that one server gave means nothing to another one,
//! which has one of its own for the same thing.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use serde_json::Value;

/// The texts of a session by those in whose place they are sent.
#[derive(Debug, Default)]
pub(crate) struct OwnTexts(OnceLock<BTreeMap<String, String>>);

impl OwnTexts {
    pub(crate) fn set(&self, texts: BTreeMap<String, String>) {
        if !texts.is_empty() {
            // A session is set up once.
            let _ = self.0.set(texts);
        }
    }

    /// A value with these texts, wherever one is a whole text of it.
    pub(crate) fn put_into(&self, mut value: Value) -> Value {
        if let Some(texts) = self.0.get() {
            replace(&mut value, texts);
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

fn replace(value: &mut Value, texts: &BTreeMap<String, String>) {
    match value {
        Value::String(text) => {
            if let Some(own) = texts.get(text.as_str()) {
                own.clone_into(text);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| replace(item, texts)),
        Value::Object(members) => members.values_mut().for_each(|member| replace(member, texts)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn whole_texts_are_replaced() {
        let own = OwnTexts::default();
        assert_eq!(own.put_into(json!({"id": "a1"})), json!({"id": "a1"}));
        assert_eq!(own.put_into_json(b"{}"), None);
        own.set(BTreeMap::from([("a1".to_owned(), "b7".to_owned())]));
        let (given, expected) =
            (json!({"ids": ["a1", "a12", 1], "a1": "x"}), json!({"ids": ["b7", "a12", 1], "a1": "x"}));
        assert_eq!(own.put_into(given.clone()), expected);
        assert_eq!(own.put_into_json(given.to_string().as_bytes()), Some(expected.to_string().into_bytes()));
    }
}
