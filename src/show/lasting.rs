//! Values of an answer that another run of a right server has, too.

use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value;

use crate::redact::{MASK, reads_drawn};

/// A value does not read as if another run had another one: no time, no drawn id, no path, and nothing that was hidden.
pub(crate) fn lasts(value: &Value) -> bool {
    match value {
        Value::String(text) => lasts_text(text),
        Value::Number(number) => number.as_f64().is_some_and(|number| number.abs() < 1e9),
        Value::Array(items) => items.iter().all(lasts),
        Value::Object(members) => members.values().all(lasts),
        Value::Null | Value::Bool(_) => true,
    }
}

/// The same of a text.
pub(crate) fn lasts_text(text: &str) -> bool {
    #[expect(clippy::unwrap_used, reason = "the pattern is constant")]
    static PASSING: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"\d{4}-\d\d-\d\d|\d\d:\d\d|\d{9}|(^|[\s:=(\x22'`])/[^\s/]+/|[A-Za-z]:\\").unwrap()
    });
    !text.contains(MASK) && !PASSING.is_match(text) && !text.split_whitespace().any(reads_drawn)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn times_places_and_drawn_ids_do_not_last() {
        for (value, expected) in [
            (json!({"sum": 5, "names": ["Ann", null]}), true),
            (json!("2 users"), true),
            (json!({"made": "2026-01-02"}), false),
            (json!("it is 12:31"), false),
            (json!(1_700_000_000), false),
            (json!("in /tmp/a/b"), false),
            (json!("\"/srv/data/x\""), false),
            (json!(["C:\\data"]), false),
            (json!("id 123e4567-e89b-42d3-a456-426614174000"), false),
            (json!("key [redacted]"), false),
        ] {
            assert_eq!(lasts(&value), expected, "{value}");
        }
    }
}
