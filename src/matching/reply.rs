//! The kind of a response: a result, a tool's error, a JSON-RPC error, or neither.

use std::borrow::Cow;

use serde_json::Value as Json;

use super::show;

/// A response by its kind.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ResponseKind<'a> {
    /// A result that is no tool error.
    Success(&'a Json),
    /// A result with `isError: true`.
    ToolError(&'a Json),
    /// A JSON-RPC error.
    Error(&'a Json),
    /// A message with neither.
    Neither,
}

impl<'a> ResponseKind<'a> {
    /// Reads a response; one with both, which no server may send, counts as an error.
    pub(crate) fn of(message: &'a Json) -> Self {
        match (message.get("error"), message.get("result")) {
            (Some(error), _) => Self::Error(error),
            (None, Some(result)) if result["isError"] == Json::Bool(true) => Self::ToolError(result),
            (None, Some(result)) => Self::Success(result),
            (None, None) => Self::Neither,
        }
    }

    /// The text of the response.
    pub(crate) fn text(self) -> Option<String> {
        match self {
            Self::Success(result) | Self::ToolError(result) => text_of(result),
            Self::Error(error) => error["message"].as_str().map(str::to_owned),
            Self::Neither => None,
        }
    }

    /// The response in one line of evidence.
    pub(crate) fn describe(self) -> String {
        let said = self.text().map(|text| show::json_text(&text));
        match (self, said) {
            (Self::Success(_), Some(said)) => format!("a success, text {said}"),
            (Self::Success(result), None) => format!("a success, {}", show::compact(result)),
            (Self::ToolError(_), Some(said)) => format!("isError, text {said}"),
            (Self::ToolError(result), None) => format!("isError, no text, {}", show::compact(result)),
            (Self::Error(error), Some(said)) => {
                format!("JSON-RPC error {}, message {said}", show::inline(&error["code"]))
            }
            (Self::Error(error), None) => format!("JSON-RPC error without a message, {}", show::compact(error)),
            (Self::Neither, _) => "neither `result` nor `error`".to_owned(),
        }
    }
}

/// The text of a response; empty without any.
pub fn words_of(message: &Json) -> String {
    ResponseKind::of(message).text().unwrap_or_default()
}

/// The joined text blocks of a tool's content, of a resource's contents or of a prompt's messages; `None` without any.
pub(crate) fn text_of(result: &Json) -> Option<String> {
    text_value_of(result).and_then(|text| text.as_str().map(str::to_owned))
}

/// The same as a value: a single block is not copied, however long it is.
pub(crate) fn text_value_of(result: &Json) -> Option<Cow<'_, Json>> {
    let mut texts = Vec::new();
    for block in items(&result["content"]).chain(items(&result["contents"])) {
        texts.extend(block_text(block));
    }
    for message in items(&result["messages"]) {
        let content = &message["content"];
        match content.as_array() {
            Some(blocks) => texts.extend(blocks.iter().filter_map(block_text)),
            None => texts.extend(block_text(content)),
        }
    }
    match texts[..] {
        [] => None,
        [only] => Some(Cow::Borrowed(only)),
        _ => Some(Cow::Owned(texts.iter().filter_map(|text| text.as_str()).collect::<Vec<_>>().join("\n").into())),
    }
}

fn items(value: &Json) -> impl Iterator<Item = &Json> {
    value.as_array().into_iter().flatten()
}

/// The contents of resources carry no type; every other block does.
fn block_text(block: &Json) -> Option<&Json> {
    if block.get("type").is_some_and(|kind| kind != "text") {
        return None;
    }
    block.get("text").filter(|text| text.is_string())
}
