//! Texts wherever they stand in a value, and the beginnings of long ones.

use serde::Serialize;
use serde_json::Value;

use super::is_hidden;

/// The value with every text in it changed, names of members included.
pub fn map_texts(value: Value, change: &dyn Fn(&str) -> String) -> Value {
    match value {
        Value::String(text) => change(&text).into(),
        Value::Array(items) => items.into_iter().map(|item| map_texts(item, change)).collect(),
        Value::Object(members) => {
            Value::Object(members.into_iter().map(|(name, value)| (change(&name), map_texts(value, change))).collect())
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value,
    }
}

/// JSON over several lines in which everything that cannot be seen is an escape, so that people can review it and YAML
/// can read it.
pub fn legible_json(value: &impl Serialize) -> String {
    let mut text = String::new();
    for c in serde_json::to_string_pretty(value).unwrap_or_default().chars() {
        if c == '\n' || !is_hidden(c) {
            text.push(c);
        } else {
            // Only texts hold such characters, so that they can be escaped where they stand.
            text.extend(c.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("\\u{unit:04x}")));
        }
    }
    text
}

/// A text, or its beginning of so many characters and how many bytes it has in all.
pub fn beginning(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}… ({} bytes in all)", &text[..end], text.len()),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn texts_change_and_nothing_else_does() {
        let value = json!({"a": ["b", 1, null, {"c": true}]});
        assert_eq!(map_texts(value, &str::to_uppercase), json!({"A": ["B", 1, null, {"C": true}]}));
    }

    #[test]
    fn what_is_hidden_is_escaped() {
        let value = json!({"a": "b\u{202e}c\u{ffff}\u{e0041} ä\n"});
        let text = legible_json(&value);
        assert_eq!(text, "{\n  \"a\": \"b\\u202ec\\uffff\\udb40\\udc41 ä\\n\"\n}");
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), value);
    }

    #[test]
    fn only_what_is_cut_says_how_long_it_was() {
        assert_eq!(beginning("äöü", 3), "äöü");
        assert_eq!(beginning("äöü", 2), "äö… (6 bytes in all)");
    }
}
