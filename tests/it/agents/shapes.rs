//! What requests and answers of the providers look like, after what they publish:
//! <https://platform.openai.com/docs/api-reference/chat>, <https://platform.claude.com/docs/en/api/messages>,
//! <https://ai.google.dev/api/generate-content>.

use serde_json::{Value, json};

use super::loopback::{Answer, Request};

/// A turn that calls a tool; arguments that are a text are sent as they are where the format allows that.
pub(super) fn call(format: &str, tool: &str, arguments: &Value, is_streamed: bool) -> Answer {
    let written = arguments.as_str().map_or_else(|| arguments.to_string(), str::to_owned);
    let (head, tail) = written.split_at(written.len() / 2);
    match (format, is_streamed) {
        ("openai", false) => {
            let function = json!({ "name": tool, "arguments": written });
            let call = json!({ "id": "call_1", "type": "function", "function": function });
            let message = json!({ "role": "assistant", "content": null, "tool_calls": [call] });
            let usage = json!({ "prompt_tokens": 90, "completion_tokens": 9, "total_tokens": 99 });
            let choice = json!({ "index": 0, "message": message, "finish_reason": "tool_calls" });
            Answer::ok(
                json!({ "id": "c1", "object": "chat.completion", "choices": [choice], "usage": usage }).to_string(),
            )
        }
        ("openai", true) => {
            let chunk = |delta: Value, reason: Value| json!({ "object": "chat.completion.chunk", "choices": [{ "index": 0, "delta": delta, "finish_reason": reason }] });
            let part = |call: Value| chunk(json!({ "tool_calls": [call] }), Value::Null);
            let function = json!({ "name": tool, "arguments": "" });
            events(&[
                (None, chunk(json!({ "role": "assistant", "content": null }), Value::Null)),
                (None, part(json!({ "index": 0, "id": "call_1", "type": "function", "function": function }))),
                (None, part(json!({ "index": 0, "function": { "arguments": head } }))),
                (None, part(json!({ "index": 0, "function": { "arguments": tail } }))),
                (None, chunk(json!({}), json!("tool_calls"))),
                (None, json!({ "choices": [], "usage": { "prompt_tokens": 90, "completion_tokens": 9 } })),
                (None, json!("[DONE]")),
            ])
        }
        ("anthropic", false) => {
            let block = json!({ "type": "tool_use", "id": "toolu_1", "name": tool, "input": arguments });
            anthropic(&[json!({ "type": "text", "text": "I add." }), block], "tool_use")
        }
        ("anthropic", true) => {
            let start = json!({ "type": "tool_use", "id": "toolu_1", "name": tool, "input": {} });
            let delta = |json: &str| json!({ "type": "input_json_delta", "partial_json": json });
            anthropic_stream(&start, &[delta(head), delta(tail)], "tool_use")
        }
        (_, is_streamed) => {
            let part = json!({ "functionCall": { "name": tool, "args": arguments }, "thoughtSignature": "c2ln" });
            gemini(&[part], is_streamed)
        }
    }
}

/// A turn that ends the run.
pub(super) fn text(format: &str, text: &str, is_streamed: bool) -> Answer {
    let (head, tail) = text.split_at(text.len() / 2);
    match (format, is_streamed) {
        ("openai", false) => {
            let choice =
                json!({ "index": 0, "message": { "role": "assistant", "content": text }, "finish_reason": "stop" });
            Answer::ok(
                json!({ "choices": [choice], "usage": { "prompt_tokens": 99, "completion_tokens": 5 } }).to_string(),
            )
        }
        ("openai", true) => {
            let chunk = |delta: Value| (None, json!({ "choices": [{ "index": 0, "delta": delta }] }));
            let end = (None, json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": "stop" }] }));
            let texts = [json!({ "content": head }), json!({ "content": tail })].map(chunk);
            events(&texts.into_iter().chain([end, (None, json!("[DONE]"))]).collect::<Vec<_>>())
        }
        ("anthropic", false) => anthropic(&[json!({ "type": "text", "text": text })], "end_turn"),
        ("anthropic", true) => {
            let delta = |text: &str| json!({ "type": "text_delta", "text": text });
            anthropic_stream(&json!({ "type": "text", "text": "" }), &[delta(head), delta(tail)], "end_turn")
        }
        (_, is_streamed) => gemini(&[json!({ "text": head }), json!({ "text": tail })], is_streamed),
    }
}

fn anthropic(content: &[Value], reason: &str) -> Answer {
    let usage = json!({ "input_tokens": 90, "output_tokens": 9 });
    let message = json!({ "id": "msg_1", "type": "message", "role": "assistant", "content": content, "stop_reason": reason, "usage": usage });
    Answer::ok(message.to_string())
}

fn anthropic_stream(start: &Value, deltas: &[Value], reason: &str) -> Answer {
    let message = json!({ "id": "msg_1", "role": "assistant", "content": [], "usage": { "input_tokens": 90, "output_tokens": 1 } });
    let mut stream = vec![
        (Some("message_start"), json!({ "type": "message_start", "message": message })),
        (Some("content_block_start"), json!({ "type": "content_block_start", "index": 0, "content_block": start })),
        (Some("ping"), json!({ "type": "ping" })),
    ];
    stream.extend(deltas.iter().map(|delta| {
        (Some("content_block_delta"), json!({ "type": "content_block_delta", "index": 0, "delta": delta }))
    }));
    let delta = json!({ "type": "message_delta", "delta": { "stop_reason": reason }, "usage": { "output_tokens": 9 } });
    stream.extend([
        (Some("content_block_stop"), json!({ "type": "content_block_stop", "index": 0 })),
        (Some("message_delta"), delta),
        (Some("message_stop"), json!({ "type": "message_stop" })),
    ]);
    events(&stream)
}

fn gemini(parts: &[Value], is_streamed: bool) -> Answer {
    let candidate = |parts: &[Value], reason: Value| {
        let content = json!({ "role": "model", "parts": parts });
        let usage = json!({ "promptTokenCount": 90, "candidatesTokenCount": 9 });
        json!({ "candidates": [{ "content": content, "finishReason": reason, "index": 0 }], "usageMetadata": usage })
    };
    if !is_streamed {
        return Answer::ok(candidate(parts, json!("STOP")).to_string());
    }
    let mut stream: Vec<(Option<&str>, Value)> =
        parts.iter().map(|part| (None, candidate(std::slice::from_ref(part), Value::Null))).collect();
    stream.push((None, candidate(&[], json!("STOP"))));
    events(&stream)
}

fn events(events: &[(Option<&str>, Value)]) -> Answer {
    let written = events.iter().map(|(kind, data)| {
        let kind = kind.map(|kind| format!("event: {kind}\n")).unwrap_or_default();
        let data = data.as_str().map_or_else(|| data.to_string(), str::to_owned);
        format!("{kind}data: {data}\n\n")
    });
    Answer::events(written.collect())
}

/// The last result of a tool that a request holds.
pub(super) fn last_result(format: &str, body: &Value) -> Option<String> {
    let last = |list: &Value| list.as_array().and_then(|items| items.last()).cloned().unwrap_or_default();
    match format {
        "openai" => {
            let message = last(&body["messages"]);
            (message["role"] == "tool").then(|| message["content"].as_str().unwrap().to_owned())
        }
        "anthropic" => {
            let block = last(&last(&body["messages"])["content"]);
            (block["type"] == "tool_result").then(|| block["content"].as_str().unwrap().to_owned())
        }
        _ => {
            let part = last(&last(&body["contents"])["parts"]);
            part.get("functionResponse").map(|response| response["response"].to_string())
        }
    }
}

/// Asserts that a request is one that the provider takes.
pub(super) fn assert_valid(format: &str, request: &Request, is_streamed: bool, key: &str) {
    let (path, header, value, schema) = match format {
        "openai" => ("/chat/completions".to_owned(), "authorization", format!("Bearer {key}"), openai_request()),
        "anthropic" => ("/messages".to_owned(), "x-api-key", key.to_owned(), anthropic_request()),
        _ => {
            let method = if is_streamed { "streamGenerateContent?alt=sse" } else { "generateContent" };
            (format!("/models/adder:{method}"), "x-goog-api-key", key.to_owned(), gemini_request())
        }
    };
    assert_eq!(request.path, path);
    assert_eq!(request.header(header), Some(value.as_str()));
    assert_eq!(request.header("content-type"), Some("application/json"));
    if format == "anthropic" {
        assert_eq!(request.header("anthropic-version"), Some("2023-06-01"));
    }
    if format != "gemini" {
        assert_eq!(request.body["stream"] == true, is_streamed);
    }
    let validator = jsonschema::validator_for(&schema).unwrap();
    let wrong: Vec<String> =
        validator.iter_errors(&request.body).map(|error| format!("{}: {error}", error.instance_path())).collect();
    assert!(wrong.is_empty(), "{format}: {wrong:#?}\n{:#}", request.body);
}

/// An object with these members and no others, of which these must be there.
fn closed(properties: &Value, required: &[&str]) -> Value {
    json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false })
}

fn openai_request() -> Value {
    let text = json!({ "type": "string" });
    let function = closed(&json!({ "name": text, "arguments": text }), &["name", "arguments"]);
    let call = closed(
        &json!({ "id": text, "type": { "const": "function" }, "function": function }),
        &["id", "type", "function"],
    );
    let message = json!({ "oneOf": [
        closed(&json!({ "role": { "enum": ["system", "user"] }, "content": text }), &["role", "content"]),
        closed(
            &json!({ "role": { "const": "assistant" }, "content": { "type": ["string", "null"] }, "tool_calls": { "type": "array", "items": call, "minItems": 1 } }),
            &["role"],
        ),
        closed(&json!({ "role": { "const": "tool" }, "tool_call_id": { "const": "call_1" }, "content": text }), &["role", "tool_call_id", "content"]),
    ] });
    let declared = closed(
        &json!({ "name": { "type": "string", "pattern": "^[A-Za-z0-9_-]{1,64}$" }, "description": text, "parameters": { "type": "object" } }),
        &["name"],
    );
    let tool = closed(&json!({ "type": { "const": "function" }, "function": declared }), &["type", "function"]);
    closed(
        &json!({
            "model": { "const": "adder" },
            "messages": { "type": "array", "items": message, "minItems": 2 },
            "tools": { "type": "array", "items": tool, "minItems": 1, "maxItems": 128 },
            "max_completion_tokens": { "type": "integer" },
            "stream": { "type": "boolean" },
            "stream_options": closed(&json!({ "include_usage": { "type": "boolean" } }), &[]),
        }),
        &["model", "messages"],
    )
}

fn anthropic_request() -> Value {
    let text = json!({ "type": "string" });
    let block = json!({ "oneOf": [
        closed(&json!({ "type": { "const": "text" }, "text": { "type": "string", "minLength": 1 } }), &["type", "text"]),
        closed(&json!({ "type": { "const": "tool_use" }, "id": text, "name": text, "input": { "type": "object" } }), &["type", "id", "name", "input"]),
        closed(
            &json!({ "type": { "const": "tool_result" }, "tool_use_id": { "const": "toolu_1" }, "content": text, "is_error": { "type": "boolean" } }),
            &["type", "tool_use_id"],
        ),
    ] });
    let content = json!({ "oneOf": [text, { "type": "array", "items": block, "minItems": 1 }] });
    let message =
        closed(&json!({ "role": { "enum": ["user", "assistant"] }, "content": content }), &["role", "content"]);
    let tool = closed(
        &json!({ "name": { "type": "string", "pattern": "^[a-zA-Z0-9_-]{1,128}$" }, "description": text, "input_schema": { "type": "object", "required": ["type"] } }),
        &["name", "input_schema"],
    );
    closed(
        &json!({
            "model": { "const": "adder" },
            "max_tokens": { "type": "integer", "minimum": 1 },
            "system": text,
            "messages": { "type": "array", "items": message, "minItems": 1 },
            "tools": { "type": "array", "items": tool },
            "stream": { "type": "boolean" },
        }),
        &["model", "max_tokens", "messages"],
    )
}

fn gemini_request() -> Value {
    let text = json!({ "type": "string" });
    let call = closed(&json!({ "id": text, "name": text, "args": { "type": "object" } }), &["name"]);
    let response =
        closed(&json!({ "id": text, "name": text, "response": { "type": "object" } }), &["name", "response"]);
    let part = closed(
        &json!({ "text": text, "functionCall": call, "functionResponse": response, "thoughtSignature": text }),
        &[],
    );
    let content = closed(
        &json!({ "role": { "enum": ["user", "model"] }, "parts": { "type": "array", "items": part, "minItems": 1 } }),
        &["parts"],
    );
    let declaration = closed(
        &json!({ "name": text, "description": text, "parametersJsonSchema": { "type": "object" } }),
        &["name", "description"],
    );
    let tool = closed(&json!({ "functionDeclarations": { "type": "array", "items": declaration } }), &[]);
    closed(
        &json!({
            "contents": { "type": "array", "items": content, "minItems": 1 },
            "systemInstruction": content,
            "tools": { "type": "array", "items": tool },
            "generationConfig": closed(&json!({ "maxOutputTokens": { "type": "integer" } }), &[]),
        }),
        &["contents"],
    )
}
