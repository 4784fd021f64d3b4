//! Content generation of Gemini.
//!
//! <https://ai.google.dev/api/generate-content>

use serde_json::{Value, json};

use super::{ApiCall, ApiRequest, UnreadableMember, cut_by};
use crate::block::agents::provider::{ModelArguments, ModelTurn, PastTurn, Tokens, ToolUse};

/// The reasons for which a complete answer ends.
const DONE: [&str; 2] = ["STOP", "FINISH_REASON_UNSPECIFIED"];

pub(crate) fn request(call: &ApiCall<'_>) -> ApiRequest {
    let told = call.told;
    let mut contents = vec![json!({ "role": "user", "parts": [{ "text": told.prompt }] })];
    for PastTurn { turn, results } in told.past {
        contents.push(json!({ "role": "model", "parts": turn.raw }));
        let parts = turn.calls.iter().zip(results).map(|(made, result)| {
            let member = if result.is_error { "error" } else { "output" };
            let mut response = json!({ "name": made.name, "response": { member: result.text } });
            if !made.id.is_empty() {
                response["id"] = made.id.clone().into();
            }
            json!({ "functionResponse": response })
        });
        contents.push(json!({ "role": "user", "parts": parts.collect::<Vec<_>>() }));
    }
    let declarations: Vec<Value> = told
        .tools
        .iter()
        .map(|tool| json!({ "name": tool.name, "description": tool.description, "parametersJsonSchema": tool.schema }))
        .collect();
    let mut body = json!({ "contents": contents, "generationConfig": { "maxOutputTokens": call.max_tokens } });
    if let Some(system) = told.system {
        body["systemInstruction"] = json!({ "parts": [{ "text": system }] });
    }
    if !declarations.is_empty() {
        body["tools"] = json!([{ "functionDeclarations": declarations }]);
    }
    let method = if call.is_streamed { "streamGenerateContent?alt=sse" } else { "generateContent" };
    let headers = call.key.map(|key| ("x-goog-api-key", key.to_owned())).into_iter().collect();
    ApiRequest { path: format!("/models/{}:{method}", call.model), headers, body }
}

pub(crate) fn parse_turn(answer: &Value) -> Result<ModelTurn, UnreadableMember> {
    let Some(candidate) = answer["candidates"].get(0) else {
        let why = answer["promptFeedback"]["blockReason"].as_str();
        let why = why.ok_or_else(|| UnreadableMember("candidates[0]".to_owned()))?;
        return Ok(ModelTurn { cut: Some(why.to_owned()), ..ModelTurn::default() });
    };
    let parts = candidate["content"]["parts"].as_array().cloned().unwrap_or_default();
    let written = parts.iter().enumerate().filter_map(|(at, part)| Some((at, part.get("functionCall")?)));
    let calls = written.map(|(at, call)| {
        let arguments = call.get("args").map_or_else(|| ModelArguments::of(&json!({})), ModelArguments::of);
        let id = call["id"].as_str().unwrap_or_default().to_owned();
        let unnamed = || UnreadableMember(format!("candidates[0].content.parts[{at}].functionCall.name"));
        Ok(ToolUse { id, name: call["name"].as_str().ok_or_else(unnamed)?.to_owned(), arguments })
    });
    let said = parts.iter().filter(|part| part["thought"] != true).filter_map(|part| part["text"].as_str());
    let usage = &answer["usageMetadata"];
    let tokens = |members: &[&str]| members.iter().filter_map(|member| usage[*member].as_u64()).sum();
    Ok(ModelTurn {
        text: said.collect::<String>(),
        calls: calls.collect::<Result<Vec<_>, _>>()?,
        tokens: Tokens {
            read: tokens(&["promptTokenCount", "toolUsePromptTokenCount"]),
            cached: tokens(&["cachedContentTokenCount"]),
            written: tokens(&["candidatesTokenCount", "thoughtsTokenCount"]),
        }
        .if_counted(),
        cut: cut_by(&candidate["finishReason"], &DONE),
        raw: parts.into(),
    })
}

pub(crate) fn assemble(events: &[Value]) -> Option<Value> {
    if let Some(blocked) = events.iter().find(|event| event["promptFeedback"]["blockReason"].is_string()) {
        return Some(blocked.clone());
    }
    let reason = events.iter().find_map(|event| event["candidates"][0]["finishReason"].as_str())?;
    let parts = events.iter().filter_map(|event| event["candidates"][0]["content"]["parts"].as_array()).flatten();
    let parts: Vec<Value> = parts.cloned().collect();
    let usage = events.iter().rev().find_map(|event| event.get("usageMetadata")).cloned().unwrap_or_default();
    let candidate = json!({ "content": { "role": "model", "parts": parts }, "finishReason": reason });
    Some(json!({ "candidates": [candidate], "usageMetadata": usage }))
}
