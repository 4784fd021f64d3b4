//! Matchers of a whole answer.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;

use super::{Step, check, check_message};
use crate::matching::MismatchWeight;

#[test]
fn is_error() {
    let failed = Step::tool_error("no user `nope`");
    let passed = Step::value(json!(1));
    let refused = Step::error(-32602, "bad params");
    check("is_error: true", &failed, "");
    check("is_error: false", &passed, "");
    check("is_error: '{{ flag }}'", &failed, "");
    check("is_error: '{{ flag }}'", &passed, "is-error [is_error] `isError` is absent");
    check(
        "is_error: true",
        &refused,
        "is-error [is_error] found JSON-RPC error -32602; for such errors write `error: true`",
    );
    check("is_error: false", &failed, "is-error [is_error] found `isError: true`: no user `nope`");
    check("is_error: false", &refused, "is-error [is_error] found error -32602: bad params");
    check(
        "is_error: true",
        &Step::result(json!({"isError": "true"})),
        "is-error [is_error] `isError` is \"true\", not a boolean",
    );
    check("is_error: false", &Step::call(json!({"id": 1})), "is-error [is_error] found no result");
    check_message("is_error: true", &passed, "the call of `get_user` succeeded, but must report an error");
    check_message(
        "is_error: true",
        &refused,
        "the call of `get_user` failed with a JSON-RPC error, not with a tool error",
    );
}

#[test]
fn error() {
    let refused = Step::call(json!({"error": {"code": -32602, "message": "bad id", "data": {"field": "id"}}}));
    check("error: true", &refused, "");
    check("error: { code: -32602, message: { contains: id }, data: { includes: { field: id } } }", &refused, "");
    check(
        "error: { code: -32601, message: { contains: x } }",
        &refused,
        "error [-32601] found -32602\ncontains [x] not found in 6 characters",
    );
    check("error: { data: { exists: true } }", &Step::error(-1, "x"), "missing-value [data] finds nothing");
    check("error: { data: { exists: false } }", &Step::error(-1, "x"), "");
    check("error: true", &Step::value(json!(1)), "error [error] found a success");
    check(
        "error: { code: -32602 }",
        &Step::tool_error("x"),
        "error [error] found `isError: true`, an error of the tool; for such errors write `is_error: true`",
    );
}

#[test]
fn readable_error() {
    let label = |text: &str| format!("readable-error [readable_error] {text}");
    check("readable_error: true", &Step::tool_error("there is no user `nope`"), "");
    check("readable_error: true", &Step::tool_error("The id must be known"), "");
    check("readable_error: true", &Step::error(-32602, "no user nope exists"), "");
    check(
        "readable_error: { names: nope, suggests: list_users }",
        &Step::tool_error("no user nope; call list_users first"),
        "",
    );
    check(
        "readable_error: { names: '{{ id }}', suggests: list_users }",
        &Step::tool_error("not found"),
        &label("names neither `nope` nor a tool to try next"),
    );
    check("readable_error: { names: x1 }", &Step::tool_error("no user nope here"), &label("does not name `x1`"));
    check(
        "readable_error: { suggests: list_users }",
        &Step::tool_error("no user nope here"),
        &label("does not name `list_users`, the tool to try next"),
    );
    check(
        "readable_error: { suggests: list_usrs }",
        &Step::tool_error("no user nope; see list_usrs"),
        &label("the server lists no tool `list_usrs` to suggest; did you mean `list_users`?"),
    );
    let json = "{\"errorMessage\": \"Error: there is no user `nope`\"}";
    check("readable_error: true", &Step::tool_error(json), "");
    let unnamed = "does not name any value or parameter of the call";
    for (text, reason) in [
        ("", "has no text"),
        ("constraint_violation", "does not name any value or parameter of the call; is a bare code"),
        ("[object Object]", "does not name any value or parameter of the call; says `[object Object]`"),
        ("{\"error\": \"E5 x\"}", "does not name any value or parameter of the call; is JSON and nothing else"),
        ("{\"error\": 5}", "does not name any value or parameter of the call; is JSON and nothing else"),
        (
            "Traceback (most recent call last):\n  File \"a.py\", line 3, in f",
            "does not name any value or parameter of the call; shows a stack trace",
        ),
        (
            "TypeError: x is not a function\n    at run (/srv/index.js:10:5)",
            "does not name any value or parameter of the call; shows a stack trace",
        ),
        ("Internal error", unnamed),
        ("nope missing", "has fewer than three words"),
    ] {
        check("readable_error: true", &Step::tool_error(text), &label(reason));
    }
    check("readable_error: true", &Step::tool_error("an internal error has occurred"), &label(unnamed));
    check("readable_error: true", &Step::tool_error("the identity was not valid"), &label(unnamed));
    check("readable_error: true", &Step::tool_error("ユーザー nope が見つかりません"), "");
    check("readable_error: true", &Step::value(json!(1)), &label("found no error"));
    let unknown = Step {
        params: json!({"name": "get_usr", "arguments": {}}),
        ..Step::error(-32602, "unknown tool get_usr here")
    };
    check("readable_error: true", &unknown, "");
    let data = Step::call(json!({"error": {"code": 1, "message": "the call is wrong", "data": {"field": "id"}}}));
    check("readable_error: true", &data, "");
}

#[test]
fn a_single_letter_counts_only_when_set_off() {
    let step = |text: &str| Step { params: json!({"name": "add", "arguments": {"a": true}}), ..Step::tool_error(text) };
    let catalog = |mut step: Step| {
        step.catalog.tools.push(crate::wire::Tool::new(json!({"name": "add"})));
        step
    };
    check("readable_error: true", &catalog(step("the parameter 'a' is no number")), "");
    check(
        "readable_error: true",
        &catalog(step("that is not a number")),
        "readable-error [readable_error] does not name `a`",
    );
}

#[test]
fn output_schema() {
    check("output_schema: true", &Step::value(json!({"name": "Ann"})), "");
    check("output_schema: true", &Step::tool_error("x"), "");
    check("output_schema: true", &Step::error(-1, "x"), "");
    check(
        "output_schema: true",
        &Step::value(json!({"name": 1})),
        "output-schema [output_schema] `name`: 1 is not of type \"string\"",
    );
    check(
        "output_schema: true",
        &Step::result(json!({"content": []})),
        "missing-structured-content [output_schema] `structuredContent` is missing",
    );
    let of = |name: &str| Step { params: json!({"name": name}), ..Step::value(json!({})) };
    check(
        "output_schema: true",
        &of("list_users"),
        "output-schema [output_schema] there is no schema to check the answer against",
    );
    check_message(
        "output_schema: true",
        &of("get_usr"),
        "the server lists no tool `get_usr`; did you mean `get_user`?",
    );
    let read = Step { method: "resources/read", ..Step::value(json!({})) };
    check_message("output_schema: true", &read, "`resources/read` does not call a tool, so it has no output schema");
    let mut broken = Step::value(json!({}));
    broken.catalog.tools[0].raw["outputSchema"] = json!({"type": "strng"});
    check_message("output_schema: true", &broken, "the `outputSchema` of `get_user` is not a valid schema");
    broken.catalog.tools[0].raw["outputSchema"] = json!({"$ref": "https://example.com/schema.json"});
    check_message(
        "output_schema: true",
        &broken,
        "cannot tell whether the answer of `get_user` matches its output schema",
    );
}

#[test]
fn input_schema() {
    let step = Step::value(json!(1));
    check("input_schema: { includes: { required: [id] } }", &step, "");
    check("input_schema: { tool: list_users, includes: { type: object } }", &step, "");
    check(
        "input_schema: { includes: { properties: { id: { type: integer }, x: {} } } }",
        &step,
        "input-schema [input_schema] `properties.id.type` is \"string\", not \"integer\"; `properties.x` is missing",
    );
    check(
        "input_schema: { tool: nope, includes: {} }",
        &step,
        "input-schema [input_schema] an unknown tool has no schema",
    );
    let list = Step {
        method: "tools/list",
        ..Step::result(json!({"tools": [{"name": "a", "inputSchema": {"type": "object"}}]}))
    };
    check("input_schema: { tool: a, includes: { type: object } }", &list, "");
    check("input_schema: { includes: {} }", &list, "input-schema [input_schema] needs `tool:`");
}

#[test]
fn lists() {
    let step = Step::value(json!(1));
    check("tools: { includes: [get_user, { name: list_users }], excludes: [delete], count: 2 }", &step, "");
    check("tools: { exact: [list_users, get_user] }", &step, "");
    check("resources: { includes: [demo://a, b], count: { min: 1 } }", &step, "");
    check("prompts: { exact: [greet] }", &step, "");
    check("resource_templates: { includes: [any, 'demo://{id}'] }", &step, "");
    check("tools: { includes: [get_usr] }", &step, "tools [get_usr] not listed; did you mean `get_user`?");
    check("tools: { includes: [zebra] }", &step, "tools [zebra] not among `get_user`, `list_users`");
    check("tools: { excludes: [get_user] }", &step, "tools [get_user] is listed");
    check("tools: { exact: [get_user, x] }", &step, "tools [exact] missing: `x`; unexpected: `list_users`");
    check("tools: { count: { max: 1 } }", &step, "tools [count] found 2");
    check("prompts: { includes: [{ description: x }] }", &step, "prompts [{ description: x }] none of 1 prompt fits");
    check(
        "tools: { includes: [{ name: get_user, description: Other }] }",
        &step,
        "tools [{ name: get_user, description: Other }] `description` is \"Finds a user\", not \"Other\"",
    );
    let list = Step { method: "tools/list", ..Step::result(json!({"tools": [{"name": "a"}, {"name": "a"}]})) };
    check("tools: { exact: [a] }", &list, "tools [exact] unexpected: `a`");
    let failed = Step { method: "tools/list", ..Step::error(-1, "x") };
    check("tools: { excludes: [a] }", &failed, "tools [a] got an error");
}

#[test]
fn notifications() {
    let progress = |n: i64| Arc::new(json!({"method": "notifications/progress", "params": {"progress": n}}));
    let mut step = Step::value(json!(1));
    step.notifications = vec![progress(1), progress(2), Arc::new(json!({"method": "notifications/message"}))];
    let label = |text: &str| format!("notifications [notifications] {text}");
    check("notifications: { method: notifications/progress, count: 2 }", &step, "");
    check("notifications: { method: notifications/progress, at: params.progress, at_least: 1 }", &step, "");
    check("notifications: { method: notifications/progress, each: { at: params.progress, at_least: 1 } }", &step, "");
    check("notifications: { some: { at: params.progress, equals: 2 } }", &step, "");
    check("notifications: { method: x, count: 0 }", &step, "");
    check(
        "notifications: { method: notifications/progress, at: params.progress, at_most: 1 }",
        &step,
        "at-most [1] found 2",
    );
    check(
        "notifications: { method: x }",
        &step,
        &label("received: 1 × `notifications/message`, 2 × `notifications/progress`"),
    );
    check(
        "notifications: { method: notifications/message, count: 2 }",
        &step,
        "notifications [2] received: 1 × `notifications/message`, 2 × `notifications/progress`",
    );
    check(
        "notifications: { method: notifications/progress, some: { at: params.progress, equals: 9 } }",
        &step,
        "notifications [some] `notifications[0].params.progress` is 1, not 9",
    );
    check(
        "notifications: { count: { min: 1 } }",
        &Step::value(json!(1)),
        "notifications [count] received: none at all",
    );
    check_message(
        "notifications: { method: x }",
        &Step::value(json!(1)),
        "no notification `x` arrived, expected at least 1",
    );
}

#[test]
fn latency() {
    let step = Step { elapsed: Duration::from_millis(1210), ..Step::value(json!(1)) };
    check("latency: { under: 2s, over: 1s }", &step, "");
    check("latency: { under: 1s }", &step, "latency [1s] took 1.21 s");
    check("latency: { over: '{{ n }}s' }", &step, "latency ['{{ n }}s'] took 1.21 s");
    check_message("latency: { under: 1s }", &step, "the answer took 1.21 s, not under 1 s");
}

#[test]
fn assert() {
    let step = Step::value(json!({"n": 3, "tags": ["a"]}));
    check("assert: result.structuredContent.n == n and elapsed_ms < 100", &step, "");
    check("assert: error is none and message.id == 1", &step, "");
    check("assert: result.structuredContent.n > n", &step, "assert [result.structuredContent.n > n] is false");
    check_message(
        "assert: result.structuredContent.n > n",
        &Step::error(-32603, "no tasks here"),
        "the expression cannot be evaluated: the answer is the JSON-RPC error -32603, message \"no tasks here\"",
    );
    check_message(
        "assert: result",
        &Step::error(-32603, "no tasks here"),
        "the expression does not hold: the answer is the JSON-RPC error -32603, message \"no tasks here\"",
    );
    check("assert: notifications", &step, "assert [notifications] is []");
    check("assert: reslt.n > 2", &step, "assert [reslt.n > 2] there is no name `reslt`; did you mean `result`?");
    let mismatch = super::evaluate("assert: result.structuredContent.n > n", &step).1.remove(0);
    assert_eq!(mismatch.actual.unwrap(), "n = 3, result.structuredContent.n = 3");
    for yaml in [
        "assert: \"('a' * n * 999 * 999 * 999) ~ result == 'a'\"",
        "not: { assert: \"('a' * n * 999 * 999 * 999) ~ result == 'a'\" }",
        "text: { contains: \"{{ 'a' * n * 999 * 999 * 999 }}\" }",
    ] {
        let weights: Vec<MismatchWeight> = super::evaluate(yaml, &step).1.iter().map(|found| found.weight).collect();
        assert_eq!(weights, [MismatchWeight::Unjudged], "{yaml}");
    }
    let (_, expectation, _) = super::build("not: { assert: result.x == user and range(3) }");
    let names: Vec<String> = expectation.unwrap().free_names().into_iter().map(|name| name.value).collect();
    assert_eq!(names, ["user"]);
}

#[test]
fn combinations_of_whole_answers() {
    let step = Step::tool_error("no user nope");
    check("not: { is_error: false }", &step, "");
    check("any: [{ error: true }, { is_error: true }]", &step, "");
    check("all: [{ is_error: true }, { text: { contains: nope } }]", &step, "");
    check("not: { is_error: true }", &step, "not [not] got isError, text \"no user nope\"");
    check(
        "any: [{ error: true }, { is_error: false }]",
        &step,
        "any [any] the call of `get_user` was not answered with a JSON-RPC error; the call of `get_user` reported an error: no user nope",
    );
    check(
        "{ is_error: false, text: { contains: x } }",
        &step,
        "is-error [is_error] found `isError: true`: no user nope\ncontains [x] not found in 12 characters",
    );
}

#[test]
fn templates_are_filled_when_evaluated() {
    let step = Step::value(json!({"id": "nope", "n": 3}));
    check("{ at: 'result.structuredContent.{{ \"i\" }}d', equals: '{{ id }}', length: '{{ n + 1 }}' }", &step, "");
    check("{ at: result.structuredContent.n, equals: '{{ n }}' }", &step, "");
    check("{ at: result.structuredContent.n, at_most: '{{ n - 1 }}' }", &step, "at-most ['{{ n - 1 }}'] found 3");
    check("{ at: result.structuredContent.n, type: '{{ \"string\" }}' }", &step, "type ['{{ \"string\" }}'] found 3");
    check("{ at: result.structuredContent.id, matches: '^{{ id }}$' }", &step, "");
    check_message("{ at: result.x, equals: '{{ nope }}' }", &step, "a template in the expectation cannot be filled in");
    let (sources, mismatches) = super::evaluate("{ at: result, includes: { a: 1, b: '{{ nope }}' } }", &step);
    assert_eq!((mismatches[0].code, sources.text(mismatches[0].span)), ("unfilled-template", "'{{ nope }}'"));
    check_message("{ at: result, greater_than: '{{ id }}' }", &step, "expected a number or a template, found text");
    check_message(
        "{ at: result, matches: '{{ \"[\" }}' }",
        &step,
        "invalid regular expression: unclosed character class",
    );
}

#[test]
fn judges_what_it_says() {
    let judges = |yaml: &str| {
        let (_, expectation, found) = super::build(yaml);
        assert!(found.is_empty(), "{yaml}: {found:?}");
        expectation.unwrap().judges().into_iter().collect::<Vec<_>>().join(" ")
    };
    for (yaml, expected) in [
        ("is_error: true", "TOOL-ERROR-AS-SUCCESS"),
        ("is_error: false", "TOOL-SPURIOUS-ERROR"),
        ("is_error: '{{ x }}'", "TOOL-ERROR-AS-SUCCESS TOOL-SPURIOUS-ERROR"),
        ("refused: true", "TOOL-ERROR-AS-SUCCESS"),
        ("error: true", "TOOL-ERROR-AS-SUCCESS"),
        ("error: { code: -32602 }", "PROTO-WRONG-ERROR-CODE TOOL-ERROR-AS-SUCCESS"),
        ("readable_error: true", "TOOL-UNHELPFUL-ERROR"),
        ("refused_or_ignored: true", "PROTO-MALFORMED-ENVELOPE"),
        ("output_schema: true", "SCHEMA-MISSING-STRUCTURED SCHEMA-OUTPUT-MISMATCH SCHEMA-TEXT-DIVERGENCE"),
        ("input_schema: { includes: {} }", "SCHEMA-DRIFT"),
        ("tools: { count: 1 }", "TOOL-LIST-DIVERGENCE"),
        ("resources: { includes: [a] }", "TOOL-RESOURCE-UNREADABLE"),
        ("resources: { count: 1 }", ""),
        ("prompts: { includes: [a] }", "TOOL-PROMPT-RENDER"),
        ("notifications: { method: notifications/progress }", "PROTO-NOTIFICATION-CONTRACT"),
        ("notifications: { method: notifications/tools/list_changed }", "PROTO-NOTIFICATION-CONTRACT"),
        ("notifications: { method: notifications/resources/updated, count: 0 }", "PROTO-NOTIFICATION-CONTRACT"),
        ("notifications: { method: notifications/message }", ""),
        ("latency: { under: 1s }", "TIMEOUT-SLOW"),
        ("latency: { over: 1s }", ""),
        ("assert: result", ""),
        ("{ at: result.a, equals: 1 }", "TOOL-RESULT-LOST TOOL-WRONG-RESULT"),
        ("{ at: result.a, at_least: 1 }", "TOOL-WRONG-RESULT"),
        ("{ at: result.a, at_most: 1e18 }", ""),
        ("{ at: result, exists: true }", ""),
        ("{ at: result, type: object }", ""),
        ("latency: { under: 24h }", ""),
        ("{ at: $..a, type: string, exists: true }", "TOOL-RESULT-LOST"),
        ("{ at: result.a, each: { type: string } }", "TOOL-RESULT-LOST TOOL-WRONG-RESULT"),
        ("{ at: result.a, not: { matches: x } }", "TOOL-WRONG-RESULT"),
        ("{ at: result.isError, equals: true }", "TOOL-ERROR-AS-SUCCESS"),
        ("{ at: error.code, equals: 1 }", "PROTO-WRONG-ERROR-CODE TOOL-ERROR-AS-SUCCESS"),
        ("{ at: id, equals: 1 }", ""),
        ("text: { contains: x }", "TOOL-RESULT-LOST TOOL-WRONG-RESULT"),
        (
            "any: [{ is_error: true }, { not: { text: { schema: { minLength: 1 } } } }]",
            "TOOL-ERROR-AS-SUCCESS TOOL-RESULT-LOST",
        ),
    ] {
        assert_eq!(judges(yaml), expected, "{yaml}");
    }
}
