//! What requests and answers of the providers look like. The files of `shapes` describe the requests, and name the
//! specifications and SDKs of the providers from which they were taken; answers are after the same sources.

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
            let message = json!({ "role": "assistant", "content": null, "refusal": null, "tool_calls": [call] });
            let usage = json!({ "prompt_tokens": 90, "completion_tokens": 9, "total_tokens": 99 });
            let choice = json!({ "index": 0, "message": message, "logprobs": null, "finish_reason": "tool_calls" });
            openai(&choice, &usage)
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
        ("openai_responses", is_streamed) => {
            let thought = json!({ "type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "c2Vj" });
            let call = json!({ "type": "function_call", "id": "fc_1", "call_id": "call_1", "name": tool, "arguments": written, "status": "completed" });
            let deltas = [head, tail].map(|delta| ("response.function_call_arguments.delta", delta));
            responses(&[thought, call], &deltas, is_streamed)
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
        // It says that a call is malformed, and does not show it.
        (_, is_streamed) if arguments.is_string() => {
            gemini(&[], is_streamed).replaced("\"STOP\"", "\"MALFORMED_FUNCTION_CALL\"")
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
            let message = json!({ "role": "assistant", "content": text, "refusal": null });
            let choice = json!({ "index": 0, "message": message, "logprobs": null, "finish_reason": "stop" });
            openai(&choice, &json!({ "prompt_tokens": 99, "completion_tokens": 5, "total_tokens": 104 }))
        }
        ("openai", true) => {
            let chunk = |delta: Value| (None, json!({ "choices": [{ "index": 0, "delta": delta }] }));
            let end = (None, json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": "stop" }] }));
            let texts = [json!({ "content": head }), json!({ "content": tail })].map(chunk);
            events(&texts.into_iter().chain([end, (None, json!("[DONE]"))]).collect::<Vec<_>>())
        }
        ("openai_responses", is_streamed) => {
            let part = json!({ "type": "output_text", "text": text, "annotations": [], "logprobs": [] });
            let message = json!({ "type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [part] });
            responses(&[message], &[head, tail].map(|delta| ("response.output_text.delta", delta)), is_streamed)
        }
        ("anthropic", false) => anthropic(&[json!({ "type": "text", "text": text })], "end_turn"),
        ("anthropic", true) => {
            let delta = |text: &str| json!({ "type": "text_delta", "text": text });
            anthropic_stream(&json!({ "type": "text", "text": "" }), &[delta(head), delta(tail)], "end_turn")
        }
        (_, is_streamed) => gemini(&[json!({ "text": head }), json!({ "text": tail })], is_streamed),
    }
}

/// An answer that ends in the middle, since it has as many tokens as were asked for.
pub(super) fn too_long(format: &str, is_streamed: bool) -> Answer {
    let whole = text(format, "It is five, since", is_streamed);
    if format == "openai_responses" {
        let cut =
            whole.replaced("\"incomplete_details\":null", "\"incomplete_details\":{\"reason\":\"max_output_tokens\"}");
        return cut.replaced(RESPONSE_DONE, "\"status\":\"incomplete\",\"usage\"");
    }
    let [done, cut] = match format {
        "openai" => ["\"stop\"", "\"length\""],
        "anthropic" => ["\"end_turn\"", "\"max_tokens\""],
        _ => ["\"STOP\"", "\"MAX_TOKENS\""],
    };
    whole.replaced(done, cut)
}

/// A stream of these chunks.
pub(super) fn openai_stream(chunks: &[Value]) -> Answer {
    let done = [(None, json!("[DONE]"))];
    events(&chunks.iter().cloned().map(|chunk| (None, chunk)).chain(done).collect::<Vec<_>>())
}

fn openai(choice: &Value, usage: &Value) -> Answer {
    let answer = json!({
        "id": "c1", "object": "chat.completion", "created": 1, "model": "adder", "choices": [choice], "usage": usage,
    });
    Answer::ok(answer.to_string())
}

/// The status of a whole answer, which stands before its usage.
const RESPONSE_DONE: &str = "\"status\":\"completed\",\"usage\"";

fn responses(output: &[Value], deltas: &[(&str, &str)], is_streamed: bool) -> Answer {
    let response = |status: &str, output: &[Value]| {
        let usage = json!({ "input_tokens": 90, "input_tokens_details": { "cached_tokens": 60 }, "output_tokens": 9 });
        json!({
            "id": "resp_1", "object": "response", "model": "adder", "output": output, "error": null,
            "incomplete_details": null, "status": status, "usage": usage,
        })
    };
    let whole = response("completed", output);
    if !is_streamed {
        return Answer::ok(whole.to_string());
    }
    let created = response("in_progress", &[]);
    let mut stream = vec![(Some("response.created"), json!({ "type": "response.created", "response": created }))];
    stream.extend(deltas.iter().map(|(kind, delta)| (Some(*kind), json!({ "type": kind, "delta": delta }))));
    stream.push((Some("response.completed"), json!({ "type": "response.completed", "response": whole })));
    events(&stream)
}

fn anthropic(content: &[Value], reason: &str) -> Answer {
    let usage = json!({ "input_tokens": 90, "output_tokens": 9 });
    let message = json!({ "id": "msg_1", "type": "message", "role": "assistant", "model": "adder", "content": content, "stop_reason": reason, "stop_sequence": null, "usage": usage });
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
        "openai_responses" => {
            let item = last(&body["input"]);
            (item["type"] == "function_call_output").then(|| item["output"].as_str().unwrap().to_owned())
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
    let (path, header, value) = match format {
        "openai" => ("/chat/completions".to_owned(), "authorization", format!("Bearer {key}")),
        "openai_responses" => ("/responses".to_owned(), "authorization", format!("Bearer {key}")),
        "anthropic" => ("/messages".to_owned(), "x-api-key", key.to_owned()),
        _ => {
            let method = if is_streamed { "streamGenerateContent?alt=sse" } else { "generateContent" };
            (format!("/models/adder:{method}"), "x-goog-api-key", key.to_owned())
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
    let wrong = mistakes(format, &request.body);
    assert!(wrong.is_empty(), "{format}: {wrong:#?}\n{:#}", request.body);
}

/// Why a provider would refuse a request.
pub(super) fn mistakes(format: &str, body: &Value) -> Vec<String> {
    let schema = match format {
        "openai" => include_str!("shapes/openai.json"),
        "openai_responses" => include_str!("shapes/openai_responses.json"),
        "anthropic" => include_str!("shapes/anthropic.json"),
        _ => include_str!("shapes/gemini.json"),
    };
    let validator = jsonschema::validator_for(&serde_json::from_str(schema).unwrap()).unwrap();
    validator.iter_errors(body).map(|error| format!("{}: {error}", error.instance_path())).collect()
}
