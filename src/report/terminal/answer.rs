//! The answer of a server, in the words of a tester.

use serde_json::Value;

/// Says what came back: `isError, text "not found"`, `JSON-RPC error -32602, message "no"`, or the JSON itself.
pub(crate) fn answer_text(received: &str) -> String {
    if received.trim().is_empty() {
        return "no answer".to_owned();
    }
    // Long answers are cut, and what is cut is no JSON.
    let Ok(answer) = serde_json::from_str::<Value>(received) else { return received.to_owned() };
    let body = answer.get("result").unwrap_or(&answer);
    let error = answer.get("error").unwrap_or(&answer);
    if error.get("code").is_some() && error.get("message").is_some() {
        return format!("JSON-RPC error {}, message {}", error["code"], error["message"]);
    }
    if body.get("content").is_some_and(Value::is_array) { tool_result(body) } else { body.to_string() }
}

/// A long answer is cut, and its beginning, which says nothing, is the same but for the id.
pub(crate) fn without_envelope(answer: &str) -> &str {
    let result = answer.starts_with("{\"jsonrpc\"").then(|| answer.split_once("\"result\":")).flatten();
    result.map_or(answer, |(_, result)| result)
}

fn tool_result(body: &Value) -> String {
    let mut parts: Vec<String> = Vec::new();
    if body["isError"] == true {
        parts.push("isError".to_owned());
    }
    parts.extend(body["content"].as_array().into_iter().flatten().map(content));
    if let Some(structured) = body.get("structuredContent") {
        parts.push(format!("structuredContent {structured}"));
    }
    if parts.is_empty() { "an empty result".to_owned() } else { parts.join(", ") }
}

fn content(block: &Value) -> String {
    match (block["type"].as_str(), block.get("text")) {
        (Some("text"), Some(text)) => format!("text {text}"),
        (Some(kind @ ("image" | "audio")), _) => format!("{kind} {}", block["mimeType"].as_str().unwrap_or_default()),
        (_, _) => block.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_told_not_dumped() {
        for (received, told) in [
            ("", "no answer"),
            (r#"{"content":[{"type":"text","text":"no\n"}],"isError":true}"#, r#"isError, text "no\n""#),
            (
                r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"x"}}"#,
                r#"JSON-RPC error -32602, message "x""#,
            ),
            (r#"{"code":1,"message":"x"}"#, r#"JSON-RPC error 1, message "x""#),
            (r#"{"result":{"tools":[]}}"#, r#"{"tools":[]}"#),
            (r#"{"content":[],"structuredContent":{"id":1}}"#, r#"structuredContent {"id":1}"#),
            (r#"{"content":[]}"#, "an empty result"),
            (r#"{"cut":"#, r#"{"cut":"#),
        ] {
            assert_eq!(answer_text(received), told);
        }
    }
}
