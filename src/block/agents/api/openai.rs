//! Chat completions of `OpenAI`, which Ollama, vLLM, llama.cpp and many others speak, too.
//!
//! <https://platform.openai.com/docs/api-reference/chat/create>

use serde_json::{Map, Value, json};

use super::{ApiCall, ApiRequest, UnreadableMember, cut_by, excerpt_line};
use crate::block::agents::provider::{ModelArguments, ModelTurn, PastTurn, Tokens, ToolUse};

/// The reasons for which a complete answer ends.
const DONE: [&str; 3] = ["stop", "tool_calls", "function_call"];

pub(crate) fn request(call: &ApiCall<'_>) -> ApiRequest {
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

pub(crate) fn parse_turn(answer: &Value) -> Result<ModelTurn, UnreadableMember> {
    let (choice, missing) = (&answer["choices"][0], |member: String| UnreadableMember(member));
    let message = choice.get("message").ok_or_else(|| missing("choices[0].message".to_owned()))?;
    let written = message["tool_calls"].as_array().map(Vec::as_slice).unwrap_or_default();
    let tool_calls: Vec<Value> = written.iter().enumerate().map(|(at, call)| complete_call(call, at)).collect();
    let calls = tool_calls.iter().enumerate().map(|(at, call)| {
        let function = &call["function"];
        let name = function["name"].as_str();
        let unnamed = || missing(format!("choices[0].message.tool_calls[{at}].function.name"));
        Ok(ToolUse {
            id: call["id"].as_str().unwrap_or_default().to_owned(),
            name: name.ok_or_else(unnamed)?.to_owned(),
            arguments: ModelArguments::parse(function["arguments"].as_str().unwrap_or_default()),
        })
    });
    // <https://platform.openai.com/docs/guides/structured-outputs#refusals>
    let refusal = message["refusal"].as_str().filter(|refusal| !refusal.is_empty());
    let mut raw = Map::new();
    for key in ["role", "content"] {
        raw.extend(message.get(key).map(|value| (key.to_owned(), value.clone())));
    }
    let calls = calls.collect::<Result<Vec<_>, _>>()?;
    if !tool_calls.is_empty() {
        raw.insert("tool_calls".to_owned(), tool_calls.into());
    }
    Ok(ModelTurn {
        text: message["content"].as_str().unwrap_or_default().to_owned(),
        calls,
        tokens: Tokens {
            read: answer["usage"]["prompt_tokens"].as_u64().unwrap_or_default(),
            cached: answer["usage"]["prompt_tokens_details"]["cached_tokens"].as_u64().unwrap_or_default(),
            written: answer["usage"]["completion_tokens"].as_u64().unwrap_or_default(),
        }
        .if_counted(),
        cut: refusal
            .map(|why| format!("refusal: {}", excerpt_line(why)))
            .or_else(|| cut_by(&choice["finish_reason"], &DONE)),
        raw: Value::Object(raw),
    })
}

/// A call with what some servers leave out or write in another way: an id, and arguments as a text.
fn complete_call(call: &Value, at: usize) -> Value {
    let mut call = call.clone();
    if call["id"].as_str().is_none_or(str::is_empty) {
        call["id"] = format!("call_{}", at + 1).into();
    }
    if call["function"].is_object() {
        call["function"]["arguments"] = arguments_text(&call["function"]["arguments"]).into();
    }
    call
}

/// Arguments as a text, also where a server writes them as an object.
fn arguments_text(written: &Value) -> String {
    match written {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other @ (Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_)) => other.to_string(),
    }
}

pub(crate) fn assemble(events: &[Value]) -> Option<Value> {
    if !events.iter().any(|event| event == "[DONE]") {
        return None;
    }
    let (mut text, mut refusal) = (String::new(), String::new());
    let (mut calls, mut usage) = (Vec::<Value>::new(), Value::Null);
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
        refusal.push_str(delta["refusal"].as_str().unwrap_or_default());
        for part in delta["tool_calls"].as_array().into_iter().flatten() {
            // Some servers leave the index out; a call begins with its name.
            let begins = part["function"]["name"].as_str().is_some_and(|name| !name.is_empty());
            let unnumbered = if begins { calls.len() } else { calls.len().saturating_sub(1) };
            let at = part["index"].as_u64().map_or(Some(unnumbered), |at| usize::try_from(at).ok())?;
            if at == calls.len() {
                calls.push(json!({ "type": "function", "function": { "name": "", "arguments": "" } }));
            }
            let call = calls.get_mut(at)?;
            if let Some(id) = part["id"].as_str().filter(|id| !id.is_empty()) {
                call["id"] = id.into();
            }
            for member in ["name", "arguments"] {
                let more = arguments_text(&part["function"][member]);
                let whole = format!("{}{more}", call["function"][member].as_str().unwrap_or_default());
                call["function"][member] = whole.into();
            }
        }
    }
    let mut message = json!({ "role": "assistant", "content": text, "refusal": refusal });
    if !calls.is_empty() {
        message["tool_calls"] = calls.into();
    }
    Some(json!({ "choices": [{ "message": message, "finish_reason": reason }], "usage": usage }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_completed_with_what_servers_leave_out() {
        let call =
            |id: &str, arguments: Value| json!({ "id": id, "function": { "name": "add", "arguments": arguments } });
        for (written, expected) in [
            (call("c1", json!("{}")), call("c1", json!("{}"))),
            (call("", json!("{}")), call("call_3", json!("{}"))),
            (call("c1", json!({"a": 1})), call("c1", json!("{\"a\":1}"))),
            (call("c1", json!(null)), call("c1", json!(""))),
            (call("c1", json!("{cut")), call("c1", json!("{cut"))),
            (json!({"function": {"name": "add"}}), call("call_3", json!(""))),
            (json!({"id": 7}), json!({"id": "call_3"})),
        ] {
            assert_eq!(complete_call(&written, 2), expected, "{written}");
        }
    }
}
