//! Tools that need no users: `add` and `echo`.

use serde_json::{Value, json};

use super::{ToolEffect, ToolEntry, ToolRun};

pub(super) const ADD: ToolEntry = ToolEntry {
    name: "add",
    title: "Add two numbers",
    description: "Returns the sum of the numbers `a` and `b`, each from -1000000000000 to 1000000000000.",
    effect: ToolEffect::Reads,
    input: || {
        // The bounds keep every sum finite, and exact where both are integers.
        let number = |description: &str, example: i32| {
            json!({
                "type": "number",
                "description": description,
                "minimum": -1_000_000_000_000_i64,
                "maximum": 1_000_000_000_000_i64,
                "examples": [example],
            })
        };
        json!({
            "type": "object",
            "properties": { "a": number("The first number", 2), "b": number("The second number", 3) },
            "required": ["a", "b"],
            "additionalProperties": false,
        })
    },
    output: || {
        json!({
            "type": "object",
            "properties": { "sum": { "type": "number", "description": "`a` plus `b`" } },
            "required": ["sum"],
            "additionalProperties": false,
        })
    },
    run: ToolRun::Quick(|_, arguments| Ok(json!({ "sum": add(&arguments.0["a"], &arguments.0["b"]) }))),
};

pub(super) const ECHO: ToolEntry = ToolEntry {
    name: "echo",
    title: "Echo a message",
    description: "Returns `message` unchanged, whatever it contains.",
    effect: ToolEffect::Reads,
    input: || {
        json!({
            "type": "object",
            "properties": {
                "message": { "type": "string", "description": "The text to return", "examples": ["hello"] },
            },
            "required": ["message"],
            "additionalProperties": false,
        })
    },
    output: || {
        json!({
            "type": "object",
            "properties": { "message": { "type": "string", "description": "The text that came in" } },
            "required": ["message"],
            "additionalProperties": false,
        })
    },
    run: ToolRun::Quick(|_, arguments| Ok(json!({ "message": arguments.text("message") }))),
};

fn add(a: &Value, b: &Value) -> Value {
    match (a.as_i64(), b.as_i64()) {
        (Some(a), Some(b)) => (a + b).into(),
        _ => (a.as_f64().unwrap_or_default() + b.as_f64().unwrap_or_default()).into(),
    }
}
