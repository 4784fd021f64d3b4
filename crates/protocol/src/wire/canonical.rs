//! Parameters in one spelling, so that the same question is known again.

use serde_json::Value;

/// Parameters with their members in order, without what differs from one session to the next: `_meta`, and the
/// `requestId` of a cancellation. No parameters are the same as empty ones.
pub fn canonical(params: &Value) -> String {
    let mut text = String::new();
    if params.is_null() {
        text.push_str("{}");
    } else {
        write_sorted(params, Depth::Top, &mut text);
    }
    text
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Depth {
    Top,
    Below,
}

fn write_sorted(value: &Value, depth: Depth, text: &mut String) {
    match value {
        Value::Object(members) => {
            let counts = |name: &str| depth == Depth::Below || !matches!(name, "_meta" | "requestId");
            let mut sorted: Vec<_> = members.iter().filter(|(name, _)| counts(name)).collect();
            sorted.sort_by_key(|(name, _)| name.as_str());
            text.push('{');
            for (name, member) in sorted {
                text.push_str(&Value::from(name.as_str()).to_string());
                text.push(':');
                write_sorted(member, Depth::Below, text);
                text.push(',');
            }
            text.push('}');
        }
        Value::Array(items) => {
            text.push('[');
            for item in items {
                write_sorted(item, Depth::Below, text);
                text.push(',');
            }
            text.push(']');
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => text.push_str(&value.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn order_and_what_differs_between_sessions_make_no_difference() {
        let check = |a: Value, b: Value, same: bool| assert_eq!(canonical(&a) == canonical(&b), same, "{a} {b}");
        check(json!({"a": 1, "b": {"c": [1, 2], "d": null}}), json!({"b": {"d": null, "c": [1, 2]}, "a": 1}), true);
        check(json!({"a": [1, 2]}), json!({"a": [2, 1]}), false);
        check(json!({"a": 1}), json!({"a": "1"}), false);
        check(json!({"requestId": 4, "reason": "r"}), json!({"requestId": 9, "reason": "r"}), true);
        check(json!({"x": 1, "_meta": {"progressToken": 4}}), json!({"x": 1}), true);
        check(json!({"arguments": {"requestId": 4}}), json!({"arguments": {"requestId": 9}}), false);
        check(json!({"a": {"_meta": 1}}), json!({"a": {"_meta": 2}}), false);
        check(Value::Null, json!({}), true);
    }
}
