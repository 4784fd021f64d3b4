//! Messages of Anthropic.
//!
//! <https://platform.claude.com/docs/en/api/messages>

use serde_json::{Value, json};

use super::{ApiCall, ApiRequest, UnreadableMember, cut_by};
use crate::block::agents::provider::{ModelArguments, ModelTurn, PastTurn, Tokens, ToolUse};

/// The reasons for which a complete answer ends.
const DONE: [&str; 3] = ["end_turn", "stop_sequence", "tool_use"];

/// The version of the API.
const VERSION: &str = "2023-06-01";

pub(crate) fn request(call: &ApiCall<'_>) -> ApiRequest {
    let told = call.told;
    let mut messages = vec![json!({ "role": "user", "content": told.prompt })];
    for PastTurn { turn, results } in told.past {
        messages.push(json!({ "role": "assistant", "content": turn.raw }));
        let results = turn.calls.iter().zip(results).map(|(made, result)| {
            let (id, text, is_error) = (&made.id, &result.text, result.is_error);
            json!({ "type": "tool_result", "tool_use_id": id, "content": text, "is_error": is_error })
        });
        messages.push(json!({ "role": "user", "content": results.collect::<Vec<_>>() }));
    }
    let tools: Vec<Value> = told
        .tools
        .iter()
        .map(|tool| json!({ "name": tool.name, "description": tool.description, "input_schema": tool.schema }))
        .collect();
    let mut body = json!({ "model": call.model, "max_tokens": call.max_tokens, "messages": messages });
    if let Some(system) = told.system {
        body["system"] = system.into();
    }
    if !tools.is_empty() {
        body["tools"] = tools.into();
    }
    if call.is_streamed {
        body["stream"] = true.into();
    }
    let mut headers = vec![("anthropic-version", VERSION.to_owned())];
    headers.extend(call.key.map(|key| ("x-api-key", key.to_owned())));
    ApiRequest { path: "/messages".to_owned(), headers, body }
}

pub(crate) fn parse_turn(answer: &Value) -> Result<ModelTurn, UnreadableMember> {
    let blocks = answer["content"].as_array().ok_or_else(|| UnreadableMember("content".to_owned()))?;
    let of_kind = |kind: &'static str| blocks.iter().filter(move |block| block["type"] == kind);
    let uses = blocks.iter().enumerate().filter(|(_, block)| block["type"] == "tool_use");
    let calls = uses.map(|(at, block)| {
        let text = |member: &str| {
            let missing = || UnreadableMember(format!("content[{at}].{member}"));
            block[member].as_str().map(str::to_owned).ok_or_else(missing)
        };
        Ok(ToolUse { id: text("id")?, name: text("name")?, arguments: ModelArguments::of(&block["input"]) })
    });
    let count = |member: &str| answer["usage"][member].as_u64().unwrap_or_default();
    let text: Vec<&str> = of_kind("text").filter_map(|block| block["text"].as_str()).collect();
    Ok(ModelTurn {
        text: text.join("\n"),
        calls: calls.collect::<Result<Vec<_>, _>>()?,
        tokens: Tokens {
            // Those of the cache are counted beside the others.
            read: ["input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"]
                .into_iter()
                .fold(0, |all, member| all.saturating_add(count(member))),
            cached: count("cache_read_input_tokens"),
            written: count("output_tokens"),
        }
        .if_counted(),
        cut: cut_by(&answer["stop_reason"], &DONE),
        raw: blocks.iter().map(with_object_input).collect::<Vec<_>>().into(),
    })
}

/// A block as it is sent back: an input that is no JSON object would be refused.
///
/// <https://platform.claude.com/docs/en/agents-and-tools/tool-use/fine-grained-tool-streaming>
fn with_object_input(block: &Value) -> Value {
    let mut block = block.clone();
    if block["type"] == "tool_use" && !block["input"].is_object() {
        block["input"] = json!({ "INVALID_JSON": block["input"] });
    }
    block
}

pub(crate) fn assemble(events: &[Value]) -> Option<Value> {
    if !events.iter().any(|event| event["type"] == "message_stop") {
        return None;
    }
    let (mut blocks, mut inputs, mut usage) = (Vec::<Value>::new(), Vec::<String>::new(), json!({}));
    let mut reason = Value::Null;
    for event in events {
        let at = event["index"].as_u64().and_then(|at| usize::try_from(at).ok()).unwrap_or(usize::MAX);
        match event["type"].as_str() {
            Some("message_start") if event["message"]["usage"].is_object() => usage = event["message"]["usage"].clone(),
            Some("message_delta") => {
                usage["output_tokens"] = event["usage"]["output_tokens"].clone();
                reason = event["delta"]["stop_reason"].clone();
            }
            Some("content_block_start") => {
                blocks.push(event["content_block"].clone());
                inputs.push(String::new());
            }
            Some("content_block_delta") => {
                let (block, delta) = (blocks.get_mut(at)?, &event["delta"]);
                inputs.get_mut(at)?.push_str(delta["partial_json"].as_str().unwrap_or_default());
                for member in ["text", "thinking", "signature"] {
                    if let Some(more) = delta[member].as_str() {
                        block[member] = format!("{}{more}", block[member].as_str().unwrap_or_default()).into();
                    }
                }
            }
            _ => {}
        }
    }
    for (block, input) in blocks.iter_mut().zip(inputs) {
        if block["type"] == "tool_use" && !input.is_empty() {
            // A text that is no JSON stays a text, which is no object.
            block["input"] = serde_json::from_str(&input).unwrap_or(Value::String(input));
        }
    }
    Some(json!({ "content": blocks, "stop_reason": reason, "usage": usage }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_input_that_is_no_object_is_sent_back_as_one() {
        let call = |input: Value| json!({ "type": "tool_use", "id": "t1", "input": input });
        for (block, expected) in [
            (call(json!({"a": 1})), call(json!({"a": 1}))),
            (call(json!({})), call(json!({}))),
            (call(json!("{cut")), call(json!({"INVALID_JSON": "{cut"}))),
            (call(json!([1])), call(json!({"INVALID_JSON": [1]}))),
            (call(json!(null)), call(json!({"INVALID_JSON": null}))),
            (json!({"type": "text", "text": "hi"}), json!({"type": "text", "text": "hi"})),
        ] {
            assert_eq!(with_object_input(&block), expected, "{block}");
        }
    }
}
