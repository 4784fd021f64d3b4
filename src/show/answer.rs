//! The answer to one request, for people: its contents as they are meant to be read, in place of the message around them.

use std::fmt::Write as _;

use serde_json::Value;

use crate::source::{legible_json, visible, visible_line};
use crate::wire::read_json;

/// Members of a result that say nothing to people, or are shown in another way.
const NOT_LISTED: [&str; 10] = [
    "content",
    "contents",
    "messages",
    "structuredContent",
    "isError",
    "resultType",
    "_meta",
    "completion",
    "ttlMs",
    "cacheScope",
];

/// A response in words, ending with a line break.
pub(crate) fn answer_text(message: &Value) -> String {
    if let Some(error) = message.get("error") {
        return error_text(error);
    }
    let result = &message["result"];
    let mut text = String::new();
    let mut has_json = false;
    for block in ["content", "contents"].into_iter().filter_map(|member| result[member].as_array()).flatten() {
        has_json |= block["text"].as_str().and_then(json_in).is_some_and(|json| json == result["structuredContent"]);
        text += &block_text(block);
    }
    for message in result["messages"].as_array().into_iter().flatten() {
        let role = visible_line(message["role"].as_str().unwrap_or("?")).into_owned();
        let _ = write!(text, "{role}: {}", block_text(&message["content"]));
    }
    if let Some(values) = result["completion"]["values"].as_array() {
        if values.is_empty() {
            text += "no values\n";
        }
        for value in values {
            let _ = writeln!(text, "{}", visible_line(&plain(value)));
        }
        if result["completion"]["hasMore"] == true {
            text += "…\n";
        }
    }
    let members = result.as_object().into_iter().flatten();
    for (name, value) in members.filter(|(name, _)| !NOT_LISTED.contains(&name.as_str())) {
        let _ = writeln!(text, "{}: {}", visible_line(name), legible_json(value));
    }
    match result.get("structuredContent") {
        Some(content) if !has_json => {
            let _ = writeln!(text, "structuredContent: {}", legible_json(content));
        }
        Some(_) | None => {}
    }
    text
}

fn error_text(error: &Value) -> String {
    let words = visible(error["message"].as_str().unwrap_or("without a message")).into_owned();
    let mut text = format!("error {}: {words}\n", error["code"]);
    if let Some(data) = error.get("data").filter(|data| !data.is_null()) {
        let _ = writeln!(text, "data: {}", legible_json(data));
    }
    text
}

/// One block of content, or one content of a resource.
fn block_text(block: &Value) -> String {
    let kind = block["type"].as_str();
    let name = |member: &str| block[member].as_str().map(|text| format!(" {}", visible_line(text))).unwrap_or_default();
    match kind {
        Some("resource") => block_text(&block["resource"]),
        Some("resource_link") => format!("[link{}{}{}]\n", name("uri"), name("mimeType"), name("description")),
        Some(kind @ ("image" | "audio")) => {
            format!("[{kind}{}, {} bytes]\n", name("mimeType"), decoded_length(&block["data"]))
        }
        _ => match block["text"].as_str() {
            Some(text) => match json_in(text) {
                Some(json) => legible_json(&json) + "\n",
                None => format!("{}\n", visible(text.trim_end_matches('\n'))),
            },
            None if block["blob"].is_string() => {
                format!("[blob{}{}, {} bytes]\n", name("uri"), name("mimeType"), decoded_length(&block["blob"]))
            }
            None => legible_json(block) + "\n",
        },
    }
}

/// The object or list that a text is.
fn json_in(text: &str) -> Option<Value> {
    text.trim_start().starts_with(['{', '[']).then(|| read_json(text)).flatten()
}

/// The number of bytes that base64 stands for.
fn decoded_length(data: &Value) -> usize {
    let digits = data.as_str().unwrap_or_default().trim_end_matches('=');
    digits.len() * 3 / 4
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn answers_are_shown_as_they_are_meant_to_be_read() {
        let sum = json!({"sum": 5});
        for (message, expected) in [
            (json!({"result": {"content": [{"type": "text", "text": "hello\nworld\n"}]}}), "hello\nworld\n"),
            (
                json!({"result": {"content": [{"type": "text", "text": "{\"sum\":5}"}], "structuredContent": sum}}),
                "{\n  \"sum\": 5\n}\n",
            ),
            (
                json!({"result": {"content": [{"type": "text", "text": "5"}], "structuredContent": sum}}),
                "5\nstructuredContent: {\n  \"sum\": 5\n}\n",
            ),
            (
                json!({"result": {"content": [{"type": "image", "mimeType": "image/png", "data": "AAAA"}]}}),
                "[image image/png, 3 bytes]\n",
            ),
            (
                json!({"result": {"contents": [{"uri": "a://b", "text": "x"}, {"uri": "a://c", "blob": "AAA="}]}}),
                "x\n[blob a://c, 2 bytes]\n",
            ),
            (
                json!({"result": {"messages": [{"role": "user", "content": {"type": "text", "text": "Hi"}}]}}),
                "user: Hi\n",
            ),
            (json!({"result": {"completion": {"values": ["a", "b"], "hasMore": true}}}), "a\nb\n…\n"),
            (
                json!({"result": {"content": [{"type": "resource_link", "uri": "a://b", "name": "b"}]}}),
                "[link a://b]\n",
            ),
            (json!({"error": {"code": -32602, "message": "no such tool"}}), "error -32602: no such tool\n"),
            (json!({"result": {"content": [{"type": "text", "text": "a\u{1b}[2Jb"}]}}), "a\\u{1b}[2Jb\n"),
            (json!({"result": {"tools": 7}}), "tools: 7\n"),
            (json!({"result": {}}), ""),
        ] {
            assert_eq!(answer_text(&message), expected, "{message}");
        }
    }
}
