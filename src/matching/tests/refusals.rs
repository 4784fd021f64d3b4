//! Matchers of calls and messages that must not be served.

use serde_json::{Value as Json, json};

use super::super::MismatchWeight;
use super::{Step, check, check_message, evaluate};

#[test]
fn refused() {
    check("refused: true", &Step::tool_error("no such user"), "");
    for code in [-32602, -32601, -32002, -32600] {
        check("refused: true", &Step::error(code, "no"), "");
    }
    check("refused: true", &Step::value(json!(1)), "forbidden-served [refused] answered with a success");
    check(
        "refused: true",
        &Step::error(-32603, "oops"),
        "refusal-code [refused] found error -32603, which blames the server; a refusal has the code -32600, -32601, -32602 or -32002",
    );
    check(
        "refused: true",
        &Step::error(-1, "oops"),
        "refusal-code [refused] found error -1; a refusal has the code -32600, -32601, -32602 or -32002",
    );
    let mute = "refusal-without-reason [refused] the error has no message";
    check("refused: true", &Step::error(-32602, " "), mute);
    check("refused: true", &Step::result(json!({"isError": true})), mute);
    check_message("refused: true", &Step::tool_error(""), "the call of `get_user` was refused without a reason");
    check("refused: true", &Step::call(json!({})), "refused [refused] found no refusal");
    let stack = Step::tool_error("Traceback (most recent call last):\n  File \"a.py\", line 3");
    check("refused: true", &stack, "refusal-with-stack [refused] helps no caller, and reveals the server's internals");
    check_message("not: { refused: true }", &stack, "the answer matches an expectation under `not`");
}

#[test]
fn what_was_served_says_what_forbids_it() {
    let mut served = Step::value(json!({"name": "Ann"}));
    check_message("refused: true", &served, "the call of `get_user` was served, but must be refused");
    served.catalog.tools[0].raw["inputSchema"]["properties"] = json!({"id": {"type": "string", "maxLength": 3}});
    check(
        "refused: true",
        &served,
        "forbidden-served [refused] answered with a success; `id`: \"nope\" is longer than 3 characters",
    );
    check_message(
        "refused: true",
        &served,
        "the call of `get_user` was served although the tool's own schema forbids it",
    );
    check(
        "refused: should",
        &served,
        "forbidden-served [refused] answered with a success; `id`: \"nope\" is longer than 3 characters",
    );
    served.params = json!({"name": "zebra", "arguments": {}});
    check_message("refused: true", &served, "the call of `zebra` was served although the server lists no such tool");
    let other = Step { method: "no/such", params: json!({}), ..served };
    check_message("refused: true", &other, "`no/such` was served, but must be refused");
}

/// A warning fails nothing, not even inside other expectations.
#[test]
fn what_warns_does_not_fail() {
    let weights =
        |yaml: &str, step: &Step| evaluate(yaml, step).1.into_iter().map(|one| one.weight).collect::<Vec<_>>();
    let served = Step::value(json!({"name": "Ann"}));
    assert_eq!(weights("refused: true", &served), [MismatchWeight::Fails]);
    assert_eq!(weights("refused: should", &served), [MismatchWeight::Warns]);
    assert_eq!(weights("all: [{ refused: should }]", &served), [MismatchWeight::Warns]);
    assert_eq!(weights("any: [{ refused: should }]", &served), []);
    assert_eq!(weights("not: { refused: should }", &served), [MismatchWeight::Fails]);
}

#[test]
fn refused_or_ignored() {
    let raw = |answers: Json| Step {
        method: "send",
        ..Step::call(json!({"messages": answers, "answers": answers, "silent": answers == json!([])}))
    };
    let error = json!({"jsonrpc": "2.0", "id": null, "error": {"code": -32700, "message": "no"}});
    check("refused_or_ignored: true", &raw(json!([])), "");
    check("refused_or_ignored: true", &raw(json!([error])), "");
    let served = raw(json!([error, {"jsonrpc": "2.0", "id": 1, "result": {}}]));
    check("refused_or_ignored: true", &served, "malformed-served [refused_or_ignored] answered with a success");
    check_message("refused_or_ignored: should", &served, "a message that is not a valid request was served");
    check("refused_or_ignored: true", &Step::tool_error("no"), "");
    check_message(
        "refused_or_ignored: true",
        &Step::value(json!(1)),
        "the call of `get_user` was served, but should not be",
    );
}
