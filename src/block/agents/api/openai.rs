//! Chat completions of `OpenAI`, which Ollama, vLLM, llama.cpp and many others speak, too.
//!
//! <https://platform.openai.com/docs/api-reference/chat/create>

use serde_json::{Map, Value, json};

use super::{ApiCall, ApiRequest, cut_by};
use crate::block::agents::provider::{ModelTurn, PastTurn, Tokens, ToolArguments, ToolUse};

/// The reasons for which a complete answer ends.
const DONE: [&str; 3] = ["stop", "tool_calls", "function_call"];

pub(super) fn request(call: &ApiCall<'_>) -> ApiRequest {
    let told = call.told;
    let mut messages: Vec<Value> = Vec::new();
    messages.extend(told.system.map(|system| json!({ "role": "system", "content": system })));
    messages.push(json!({ "role": "user", "content": told.prompt }));
    for PastTurn { turn, results } in told.past {
        messages.push(turn.raw.clone());
        for (made, result) in turn.calls.iter().zip(results) {
            messages.push(json!({ "role": "tool", "tool_call_id": made.id, "content": result.text }));
        }
    }
    let tools: Vec<Value> = told
        .tools
        .iter()
        .map(|tool| {
            let function = json!({ "name": tool.name, "description": tool.description, "parameters": tool.schema });
            json!({ "type": "function", "function": function })
        })
        .collect();
    let mut body = json!({ "model": call.model, "messages": messages, "max_completion_tokens": call.max_tokens });
    if !tools.is_empty() {
        body["tools"] = tools.into();
    }
    if call.is_streamed {
        body["stream"] = true.into();
        body["stream_options"] = json!({ "include_usage": true });
    }
    let headers = call.key.map(|key| ("authorization", format!("Bearer {key}"))).into_iter().collect();
    ApiRequest { path: "/chat/completions".to_owned(), headers, body }
}

pub(super) fn read(answer: &Value) -> Option<ModelTurn> {
    let choice = answer["choices"].get(0)?;
    let message = choice.get("message")?;
    let calls = message["tool_calls"].as_array().into_iter().flatten().map(|call| {
        let function = &call["function"];
        let written = function["arguments"].as_str().unwrap_or_default();
        Some(ToolUse {
            id: call["id"].as_str()?.to_owned(),
            name: function["name"].as_str()?.to_owned(),
            arguments: ToolArguments::parse(written),
        })
    });
    let mut raw = Map::new();
    for key in ["role", "content", "tool_calls"] {
        raw.extend(message.get(key).map(|value| (key.to_owned(), value.clone())));
    }
    Some(ModelTurn {
        text: message["content"].as_str().unwrap_or_default().to_owned(),
        calls: calls.collect::<Option<Vec<_>>>()?,
        tokens: Tokens {
            read: answer["usage"]["prompt_tokens"].as_u64().unwrap_or_default(),
            written: answer["usage"]["completion_tokens"].as_u64().unwrap_or_default(),
        },
        cut: cut_by(&choice["finish_reason"], &DONE),
        raw: Value::Object(raw),
    })
}

pub(super) fn assemble(events: &[Value]) -> Option<Value> {
    if !events.iter().any(|event| event == "[DONE]") {
        return None;
    }
    let (mut text, mut calls, mut usage) = (String::new(), Vec::<Value>::new(), Value::Null);
    let mut reason = Value::Null;
    for event in events {
        if event["usage"].is_object() {
            usage = event["usage"].clone();
        }
        let choice = &event["choices"][0];
        if choice["finish_reason"].is_string() {
            reason = choice["finish_reason"].clone();
        }
        let delta = &choice["delta"];
        text.push_str(delta["content"].as_str().unwrap_or_default());
        for part in delta["tool_calls"].as_array().into_iter().flatten() {
            let at = usize::try_from(part["index"].as_u64()?).ok()?;
            if at == calls.len() {
                calls.push(json!({ "type": "function", "function": { "name": "", "arguments": "" } }));
            }
            let call = calls.get_mut(at)?;
            if let Some(id) = part.get("id") {
                call["id"] = id.clone();
            }
            for member in ["name", "arguments"] {
                let more = part["function"][member].as_str().unwrap_or_default();
                let whole = format!("{}{more}", call["function"][member].as_str().unwrap_or_default());
                call["function"][member] = whole.into();
            }
        }
    }
    let mut message = json!({ "role": "assistant", "content": text });
    if !calls.is_empty() {
        message["tool_calls"] = calls.into();
    }
    Some(json!({ "choices": [{ "message": message, "finish_reason": reason }], "usage": usage }))
}
