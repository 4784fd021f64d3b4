//! Servers before and after: everything beside schemas.

use serde_json::{Value, json};

use crate::drift::{
    ChangeLevel, ChangeSubject, Recorded, ServerChange, ServerSnapshot, Unreadable, compare, mask_differences,
    stable_answer,
};

fn server(parts: &Value) -> Recorded {
    let mut whole = json!({
        "name": "server", "protocol": "auto",
        "server": {"revision": "2025-11-25", "implementation": {}, "capabilities": {}, "instructions": null},
        "tools": [], "resources": [], "resource_templates": [], "prompts": [], "answers": [],
    });
    for (key, value) in parts.as_object().unwrap() {
        match key.as_str() {
            "revision" | "implementation" | "capabilities" | "instructions" => whole["server"][key] = value.clone(),
            _ => whole[key] = value.clone(),
        }
    }
    serde_json::from_value(whole).unwrap()
}

fn shown(change: &ServerChange) -> String {
    let help = change.help.as_deref().map(|help| format!(" ({help})")).unwrap_or_default();
    format!("{} {} {}: {}{help}", change.level.as_str(), change.what, change.at, change.says)
}

#[test]
fn what_is_said_of_changes() {
    let check = |before: Value, after: Value, expected: &[&str]| {
        let found: Vec<String> = compare(&server(&before), &server(&after)).iter().map(shown).collect();
        assert_eq!(found, expected);
    };
    let tool = |name: &str| json!({"name": name, "inputSchema": {"properties": {"a": {}}}});
    let tools = |names: &[&str]| json!({"tools": names.iter().map(|name| tool(name)).collect::<Vec<_>>()});
    check(tools(&["a", "b"]), tools(&["a", "b"]), &[]);
    check(tools(&["a", "b"]), tools(&["b", "a"]), &["cosmetic order-changed tools: the order of the tools changed"]);
    check(tools(&[]), tools(&["a"]), &["compatible tool-added tools/a: the tool `a` was added"]);
    check(
        tools(&["a"]),
        tools(&["b"]),
        &[
            "breaking tool-removed tools/a: the tool `a` was removed (renamed to `b`?)",
            "compatible tool-added tools/b: the tool `b` was added",
        ],
    );
    let hint = |name: &str, value: bool| json!({"tools": [{"name": "a", "annotations": {name: value}}]});
    let none = json!({"tools": [{"name": "a", "annotations": {}}]});
    let breaks = |name: &str, was: bool| {
        format!(
            "breaking hint-changed tools/a/annotations/{name}: `{name}` changed from {was} to {}: callers may have relied on it",
            !was
        )
    };
    check(hint("readOnlyHint", true), hint("readOnlyHint", false), &[&breaks("readOnlyHint", true)]);
    check(hint("readOnlyHint", true), none.clone(), &[&breaks("readOnlyHint", true)]);
    check(hint("destructiveHint", false), none.clone(), &[&breaks("destructiveHint", false)]);
    check(
        none.clone(),
        hint("openWorldHint", true),
        &[
            "cosmetic hint-changed tools/a/annotations/openWorldHint: `openWorldHint` is written differently but means the same",
        ],
    );
    let support = |word: &str| json!({"tools": [{"name": "a", "execution": {"taskSupport": word}}]});
    check(
        support("optional"),
        support("required"),
        &[
            "breaking hint-changed tools/a/execution/taskSupport: support for calls as tasks changed from optional to required",
        ],
    );
    check(
        json!({"tools": [{"name": "a", "outputSchema": {}}]}),
        json!({"tools": [{"name": "a"}]}),
        &["breaking schema-widened tools/a/output: it no longer declares an output schema"],
    );
    check(
        json!({"tools": [{"name": "a", "description": "x"}]}),
        json!({"tools": [{"name": "a", "description": "y"}]}),
        &["cosmetic description-changed tools/a/description: its description changed"],
    );
}

#[test]
fn what_is_said_of_the_rest() {
    let check = |before: Value, after: Value, expected: &[&str]| {
        let found: Vec<String> = compare(&server(&before), &server(&after)).iter().map(shown).collect();
        assert_eq!(found, expected);
    };
    let can = |capabilities: Value| json!({"capabilities": capabilities});
    check(
        can(json!({"tools": {"listChanged": true}})),
        can(json!({"tools": {}})),
        &[
            "breaking capability-removed server/capabilities/tools/listChanged: the server no longer has the capability `tools.listChanged`",
        ],
    );
    check(can(json!({"tools": {}})), can(json!({"tools": {"listChanged": false}})), &[]);
    check(
        can(json!({})),
        can(json!({"prompts": {}})),
        &["compatible capability-added server/capabilities/prompts: the server has the new capability `prompts`"],
    );
    check(
        json!({"revision": "2025-11-25"}),
        json!({"revision": "2025-06-18"}),
        &["breaking revision-changed server/revision: the protocol revision changed from 2025-11-25 to 2025-06-18"],
    );
    check(
        json!({"implementation": {"version": "1"}}),
        json!({"implementation": {"version": "2"}}),
        &["cosmetic description-changed server/version: the server's version changed"],
    );
    let prompt = |arguments: Value| json!({"prompts": [{"name": "p", "arguments": arguments}]});
    check(
        prompt(json!([])),
        prompt(json!([{"name": "a", "required": true}])),
        &["breaking prompt-argument-changed prompts/p/a: the prompt `p` requires the new argument `a`"],
    );
    check(
        prompt(json!([{"name": "a", "required": true}])),
        prompt(json!([{"name": "a"}])),
        &["compatible prompt-argument-changed prompts/p/a: the prompt `p` no longer requires the argument `a`"],
    );
    check(prompt(json!([])), json!({}), &["breaking prompt-removed prompts/p: the prompt `p` was removed"]);
    let resource = |uri: &str, kind: &str| json!({"resources": [{"uri": uri, "name": "r", "mimeType": kind}]});
    check(
        resource("a:1", "text/plain"),
        resource("a:2", "text/plain"),
        &[
            "breaking resource-removed resources/a:1: the resource `a:1` was removed (moved to `a:2`?)",
            "compatible resource-added resources/a:2: the resource `a:2` was added",
        ],
    );
    check(
        resource("a:1", "text/plain"),
        resource("a:1", "text/html"),
        &["breaking resource-changed resources/a:1/mimeType: its MIME type changed from `text/plain` to `text/html`"],
    );
}

/// An answer that was given twice, the answer of another day, and what is said of it.
fn check_answers(twice: &[Value; 2], later: &Value, expected: &[&str]) {
    let told = |value: &Value| stable_answer(&json!({"result": value})).unwrap();
    let recorded = |first: &Value, second: &Value| {
        let answer = mask_differences(("t", &json!({})), told(first), &told(second)).unwrap();
        Recorded { answers: vec![answer], ..Recorded::default() }
    };
    let (before, after) = (recorded(&twice[0], &twice[1]), recorded(later, later));
    let found: Vec<String> = compare(&before, &after).iter().map(shown).collect();
    assert_eq!(found, expected);
}

fn structured(value: &Value) -> Value {
    json!({"content": [], "structuredContent": value})
}

#[test]
fn what_is_said_of_answers() {
    let check = |twice: [Value; 2], later: Value, expected: &[&str]| check_answers(&twice, &later, expected);
    let steady = |value: Value| [structured(&value), structured(&value)];
    check(steady(json!({"a": 1})), structured(&json!({"a": 1})), &[]);
    check(
        steady(json!({"a": 1})),
        structured(&json!({"a": 2})),
        &["compatible answer-changed-value answers/t/structuredContent/a: the value changed from `1` to `2`"],
    );
    check(
        steady(json!({"a": 1})),
        structured(&json!({"a": "1"})),
        &["breaking answer-changed-shape answers/t/structuredContent/a: `a` changed from a number to a text"],
    );
    check(
        steady(json!({"a": 1})),
        structured(&json!({})),
        &["breaking answer-changed-shape answers/t/structuredContent/a: `a` is missing"],
    );
    check(
        steady(json!({})),
        structured(&json!({"a": 1})),
        &["compatible answer-changed-value answers/t/structuredContent/a: `a` was added"],
    );
}

#[test]
fn what_differs_from_call_to_call_is_no_drift() {
    let check = |twice: [Value; 2], later: Value, expected: &[&str]| check_answers(&twice, &later, expected);
    // Values that differed between two calls are not compared, but their types are.
    let volatile = [structured(&json!({"id": 1, "list": [1]})), structured(&json!({"id": 2, "list": []}))];
    check(volatile.clone(), structured(&json!({"id": 3, "list": [1, 2]})), &[]);
    check(
        volatile,
        structured(&json!({"id": "x", "list": []})),
        &["breaking answer-changed-shape answers/t/structuredContent/id: `id` changed from a number to a text"],
    );
    let at = |time: &str| structured(&json!({"at": time, "id": "0b9c1c1e-1d2f-4a3b-8c4d-5e6f7a8b9c0d"}));
    check([at("2026-01-01T10:00:00Z"), at("2026-01-01T10:00:00Z")], at("2027-02-02T11:11:11.5+02:00"), &[]);
    let text = |text: &str| json!({"content": [{"type": "text", "text": text}]});
    check([text("{\"a\": 1}"), text("{\"a\": 1}")], text("{ \"a\":1 }"), &[]);
    check(
        [text("{\"a\": 1}"), text("{\"a\": 1}")],
        text("[1]"),
        &["breaking answer-changed-shape answers/t/content/[0]/json: `json` changed from an object to a list"],
    );
    // The same in a text for older clients is no second change.
    let both = |hits: u32| {
        let found = json!({"hits": hits});
        json!({"content": [{"type": "text", "text": found.to_string()}], "structuredContent": found})
    };
    check(
        [both(1), both(1)],
        both(2),
        &["compatible answer-changed-value answers/t/structuredContent/hits: the value changed from `1` to `2`"],
    );
    // Nor is it one where older clients were all that there was.
    let told = "answer-changed-value answers/t/structuredContent: `structuredContent` was added";
    check([text("{\"hits\": 1}"), text("{\"hits\": 1}")], both(1), &[&format!("compatible {told}")]);
    check([text("{\"hits\": 1}"), text("{\"hits\": 2}")], both(3), &[&format!("compatible {told}")]);
    let told = "answer-changed-shape answers/t/structuredContent: `structuredContent` is missing";
    check([both(1), both(1)], text("{\"hits\": 1}"), &[&format!("breaking {told}")]);
    check([both(1), both(2)], text("{\"hits\": 3}"), &[&format!("breaking {told}")]);
    let failed = json!({"content": [], "isError": true});
    check(
        [text("x"), text("x")],
        failed.clone(),
        &["breaking answer-failed answers/t: the call `{}` was served, now it is answered with a tool error"],
    );
    check(
        [failed.clone(), failed],
        text("x"),
        &["compatible answer-served answers/t: the call `{}` was answered with a tool error, now it is served"],
    );
}

#[test]
fn files_are_read_as_they_are_written() {
    let snapshot = ServerSnapshot::new(vec![server(&json!({"tools": [{"name": "a"}]}))]);
    assert_eq!(ServerSnapshot::parse(&snapshot.text()), Ok(snapshot.clone()));
    assert_eq!(ServerSnapshot::parse("{\"format\": 7}"), Err(Unreadable::Format(7)));
    assert!(matches!(ServerSnapshot::parse("[]"), Err(Unreadable::Other(_))));
    assert_eq!(snapshot.of("other", "2025-11-25").map(|recorded| recorded.name.as_str()), Some("server"));
    assert_eq!(
        ChangeSubject::of(&snapshot.servers[0], &Recorded::default()).last(),
        Some(&ChangeSubject::Tool("a".to_owned()))
    );
    assert_eq!(ChangeLevel::ALL.map(|level| ChangeLevel::parse(level.as_str())), ChangeLevel::ALL.map(Some));
}
