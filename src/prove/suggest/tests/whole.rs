//! One expectation of everything that lasts in an answer.

use super::*;

/// The expectation of the whole answer that is suggested where its name is changed.
fn expected(tool: &str, content: Value) -> Option<Value> {
    let args = json!({});
    let trial = Trial::new(vec![call(tool, args, structured(content))]);
    let found = trial.suggestions(&|replies| {
        if let ReplyContent::Message(message) = &mut replies[0].content {
            message["result"]["structuredContent"]["name"] = json!("Eve");
        }
    })?;
    let whole = |item: &Value| item["at"] == "result.structuredContent";
    let items = found.tests.iter().flat_map(|test| test.value[0]["expect"].as_array().cloned().unwrap_or_default());
    items.into_iter().find(whole)
}

#[test]
fn what_lasts_is_expected_at_once() {
    let whole = |matcher: &str, value: Value| Some(json!({"at": "result.structuredContent", matcher: value}));
    for (tool, content, wanted) in [
        ("get_user", json!({"id": "u1", "name": "Ann"}), whole("equals", json!({"id": "u1", "name": "Ann"}))),
        (
            "get_user",
            json!({"name": "Ann", "tags": ["a", "b"], "of": {"city": "Rome", "port": 4711}}),
            whole("includes", json!({"name": "Ann", "tags": ["a", "b"], "of": {"city": "Rome"}})),
        ),
        // Times, places of this machine, and counts.
        (
            "get_user",
            json!({"name": "Ann", "made": "2026-01-02T03:04:05Z", "file": "/tmp/a/b", "total": 4}),
            whole("includes", json!({"name": "Ann"})),
        ),
        // What may have been written before.
        ("create_user", json!({"id": "u7", "name": "Ann"}), whole("includes", json!({"name": "Ann"}))),
    ] {
        assert_eq!(expected(tool, content.clone()), wanted, "{tool} {content}");
    }
}
