//! The Responses API of `OpenAI`, which vLLM, llama.cpp and others speak, too.
//!
//! <https://platform.openai.com/docs/api-reference/responses/create>

use serde_json::{Value, json};

use super::{ApiCall, ApiRequest, UnreadableMember, excerpt_line};
use crate::block::agents::provider::{ModelArguments, ModelTurn, PastTurn, Tokens, ToolUse};

/// The least number of tokens that the API lets an answer have.
const LEAST_TOKENS: u64 = 16;

/// The events with which a stream ends; each holds the whole answer.
const LAST_EVENTS: [&str; 3] = ["response.completed", "response.incomplete", "response.failed"];

pub(crate) fn request(call: &ApiCall<'_>) -> ApiRequest {
    let told = call.told;
    let mut input = vec![json!({ "role": "user", "content": told.prompt })];
    for PastTurn { turn, results } in told.past {
        input.extend(turn.raw.as_array().into_iter().flatten().cloned());
        for (made, result) in turn.calls.iter().zip(results) {
            input.push(json!({ "type": "function_call_output", "call_id": made.id, "output": result.text }));
        }
    }
    let tools = told.tools.iter().map(|tool| {
        json!({
            "type": "function",
            "name": tool.name,
            "description": tool.description,
            "parameters": tool.schema,
            // Otherwise the API takes only schemas in which every property is required.
            "strict": false,
        })
    });
    let tools: Vec<Value> = tools.collect();
    let mut body =
        json!({ "model": call.model, "input": input, "max_output_tokens": call.max_tokens.max(LEAST_TOKENS) });
    if let Some(system) = told.system {
        body["instructions"] = system.into();
    }
    if !tools.is_empty() {
        body["tools"] = tools.into();
    }
    if call.is_streamed {
        body["stream"] = true.into();
    }
    let headers = call.key.map(|key| ("authorization", format!("Bearer {key}"))).into_iter().collect();
    ApiRequest { path: "/responses".to_owned(), headers, body }
}

pub(crate) fn parse_turn(answer: &Value) -> Result<ModelTurn, UnreadableMember> {
    let items = answer["output"].as_array().ok_or_else(|| UnreadableMember("output".to_owned()))?;
    let calls = items.iter().enumerate().filter(|(_, item)| item["type"] == "function_call").map(|(at, item)| {
        let text = |member: &str| {
            let missing = || UnreadableMember(format!("output[{at}].{member}"));
            item[member].as_str().map(str::to_owned).ok_or_else(missing)
        };
        let arguments = match &item["arguments"] {
            Value::String(text) => ModelArguments::parse(text),
            Value::Null => ModelArguments::parse(""),
            other @ (Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_)) => {
                ModelArguments::of(other)
            }
        };
        Ok(ToolUse { id: text("call_id")?, name: text("name")?, arguments })
    });
    let parts = || items.iter().filter_map(|item| item["content"].as_array()).flatten();
    let said: Vec<&str> = parts().filter_map(|part| part["text"].as_str().filter(|_| is_said(part))).collect();
    let usage = &answer["usage"];
    let count = |member: &str| usage.pointer(member).and_then(Value::as_u64).unwrap_or_default();
    Ok(ModelTurn {
        text: said.join("\n"),
        calls: calls.collect::<Result<Vec<_>, _>>()?,
        tokens: Tokens {
            read: count("/input_tokens"),
            cached: count("/input_tokens_details/cached_tokens"),
            written: count("/output_tokens"),
        }
        .if_counted(),
        cut: parts().find_map(refusal).or_else(|| cut(answer)),
        raw: items.clone().into(),
    })
}

/// A part of a message is text for the user, and not a summary of what the model thought.
fn is_said(part: &Value) -> bool {
    part["type"] == "output_text"
}

fn refusal(part: &Value) -> Option<String> {
    let why = part["refusal"].as_str().filter(|why| !why.is_empty())?;
    Some(format!("refusal: {}", excerpt_line(why)))
}

/// Why an answer is not complete.
fn cut(answer: &Value) -> Option<String> {
    let status = answer["status"].as_str().filter(|status| *status != "completed")?;
    Some(excerpt_line(answer["incomplete_details"]["reason"].as_str().unwrap_or(status)))
}

pub(crate) fn assemble(events: &[Value]) -> Option<Value> {
    let is_last = |event: &&Value| event["type"].as_str().is_some_and(|kind| LAST_EVENTS.contains(&kind));
    events.iter().find(is_last).map(|event| event["response"].clone())
}
