//! Whatever a server answers, nothing panics and every message stays short.

use std::sync::Arc;

use serde_json::{Value as Json, json};

use super::super::Expectation;
use super::{Step, build};

/// One expectation of every kind.
const EXPECTATIONS: [&str; 30] = [
    "{ at: result, equals: { a: [1, { b: x }] } }",
    "{ at: result, includes: { content: [{ type: text }], a: [{ b: [1] }] } }",
    "{ at: result.content, contains: x }",
    "{ at: result, matches: ^a+$ }",
    "{ at: result, schema: { type: object, properties: { content: { maxItems: 1, items: { type: string } } } } }",
    "{ at: result, type: 'null' }",
    "{ at: result, length: { min: 2, max: 3 } }",
    "{ at: result, greater_than: 1, at_least: 2, less_than: 0, at_most: 1 }",
    "{ at: result, one_of: [1, a, ~] }",
    "{ at: result, exists: false }",
    "{ at: result, not: { type: object } }",
    "{ at: '$..*', each: { type: string } }",
    "{ at: result.content, some: { includes: { zz: 1 } } }",
    "{ at: 'result.content[-1].text.json().a[0][\"x\"]', equals: 1 }",
    "{ at: error.message, equals: x }",
    "text: { equals: y, contains: 'zz', length: 3 }",
    "is_error: true",
    "is_error: false",
    "error: { code: 1, message: { contains: q }, data: { exists: true } }",
    "refused: true",
    "readable_error: true",
    "readable_error: { names: [1, 2], suggests: get_user }",
    "output_schema: true",
    "input_schema: { includes: { required: [zz] } }",
    "tools: { includes: [x, { name: get_user, z: 1 }], exact: [a], count: 9 }",
    "resources: { includes: [x], excludes: [demo://a] }",
    "notifications: { method: a, count: 2, at: params, type: string, some: { equals: 1 } }",
    "latency: { under: 1ms, over: 1h }",
    "assert: result.content[0].text == 'x' and error.code > 1",
    "not: { any: [{ is_error: true }, { is_error: false }, { error: true }] }",
];

fn deep(depth: usize) -> Json {
    (0..depth).fold(json!("x"), |inner, level| if level % 2 == 0 { json!([inner]) } else { json!({"a": inner}) })
}

fn messages() -> Vec<Json> {
    let long = "é\u{202e}\0]]>".repeat(1_000);
    let many: Vec<Json> = (0..300).map(|n| json!({"type": "text", "text": n.to_string()})).collect();
    let fields: Json = (0..300).map(|n| (format!("field {n}"), json!(n))).collect::<serde_json::Map<_, _>>().into();
    let mut messages = vec![Json::Null, json!([]), json!({}), json!("x"), json!({"result": null, "error": null})];
    let parts =
        [json!(1), json!(-0.0), json!(1e300), json!(""), json!(long), json!(many), fields, deep(120), json!(null)];
    for part in parts {
        messages.push(json!({"result": part.clone()}));
        messages.push(
            json!({"result": {"content": part.clone(), "structuredContent": part.clone(), "isError": part.clone()}}),
        );
        messages.push(json!({"result": {"content": [{"type": "text", "text": part.clone()}], "isError": true}}));
        messages.push(json!({"result": {"tools": part.clone(), "messages": part.clone(), "contents": part.clone()}}));
        messages.push(json!({"error": {"code": part.clone(), "message": part.clone(), "data": part}}));
    }
    messages
}

fn expectations() -> Vec<Expectation> {
    let compile = |yaml: &&str| {
        let (_, expectation, found) = build(yaml);
        assert!(found.is_empty(), "{yaml}: {found:?}");
        expectation.unwrap()
    };
    EXPECTATIONS.iter().map(compile).collect()
}

#[test]
fn nothing_panics_and_messages_stay_short() {
    let expectations = expectations();
    for message in messages() {
        let mut step = Step::call(message.clone());
        step.notifications = vec![Arc::new(message.clone()), Arc::new(json!({"method": "a", "params": message}))];
        step.catalog.tools[0].raw["outputSchema"] = json!({"type": "array", "maxItems": 1});
        for method in ["tools/call", "tools/list", "resources/read"] {
            step.method = method;
            for mismatch in expectations.iter().flat_map(|expectation| expectation.evaluate(&step.answer())) {
                assert_short(&mismatch);
            }
        }
    }
}

#[test]
fn a_megabyte_is_no_trouble() {
    let step = Step::tool_error(&"line of a log\n".repeat(75_000));
    for mismatch in expectations().iter().flat_map(|expectation| expectation.evaluate(&step.answer())) {
        assert_short(&mismatch);
    }
}

fn assert_short(mismatch: &super::Mismatch) {
    let length = |text: &str| text.chars().count();
    assert!(!mismatch.message.is_empty() && length(&mismatch.message) < 1000, "{}", mismatch.message);
    assert!(length(&mismatch.label) < 200, "{}", mismatch.label);
    for evidence in [&mismatch.expected, &mismatch.actual].into_iter().flatten() {
        assert!(length(evidence) < 300, "{evidence}");
    }
    for line in mismatch.diff.iter().flat_map(|diff| diff.lines()) {
        assert!(length(line) < 300, "{line}");
    }
    assert!(mismatch.diff.as_ref().is_none_or(|diff| diff.lines().count() <= 41));
}

#[test]
fn any_path_ends_in_a_sentence_or_a_value() {
    let alphabet = ['a', '.', '[', ']', '0', '-', '"', '\'', '\\', '(', ')', '$', '*', '?', ' ', 'é', 'j'];
    let mut state = 7_u64;
    for _ in 0..20_000 {
        let mut text = String::new();
        for _ in 0..8 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            text.push(alphabet[usize::try_from(state >> 33).unwrap_or_default() % alphabet.len()]);
        }
        if let Ok(path) = super::super::ValuePath::parse(&text) {
            let _ = path.find(&json!({"a": [{"a": "[1]"}, 1], "0": 2}));
        }
    }
}
