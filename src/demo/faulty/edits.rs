//! Small changes that several faults make to lists, schemas, results and lines.

use std::sync::Arc;

use rmcp::model::{CallToolResult, ContentBlock, JsonObject, ListToolsResult, Tool};
use serde_json::Value;

/// Changes one tool of a list.
pub(super) fn tool(list: &mut ListToolsResult, name: &str, change: impl FnOnce(&mut Tool)) {
    if let Some(tool) = list.tools.iter_mut().find(|tool| tool.name == name) {
        change(tool);
    }
}

/// Changes the declared input of one tool of a list.
pub(super) fn input(list: &mut ListToolsResult, name: &str, change: impl FnOnce(&mut JsonObject)) {
    tool(list, name, |tool| change(Arc::make_mut(&mut tool.input_schema)));
}

/// Changes how one parameter of a tool is declared.
pub(super) fn parameter(list: &mut ListToolsResult, name: &str, parameter: &str, change: impl FnOnce(&mut Value)) {
    input(list, name, |schema| {
        if let Some(rule) = schema.get_mut("properties").and_then(|properties| properties.get_mut(parameter)) {
            change(rule);
        }
    });
}

/// Adds words to the description of a tool.
pub(super) fn describe(tool: &mut Tool, more: &str) {
    let description = tool.description.take().unwrap_or_default();
    tool.description = Some(format!("{description}{more}").into());
}

/// An error of a tool.
pub(super) fn failure(message: &str) -> CallToolResult {
    CallToolResult::error(vec![ContentBlock::text(message)])
}

/// Whether a tool says that it failed.
pub(super) fn is_failure(result: &CallToolResult) -> bool {
    result.is_error == Some(true)
}

/// Changes the result of a tool on its way out; other lines stay as they are.
pub(super) fn call_result(line: Vec<u8>, change: impl FnOnce(&mut Value)) -> Vec<u8> {
    let Some(mut message) = as_call_result(&line) else {
        return line;
    };
    change(&mut message);
    let mut changed = message.to_string().into_bytes();
    if line.ends_with(b"\n") {
        changed.push(b'\n');
    }
    changed
}

/// The message on a line, if it is the result of a tool.
pub(super) fn as_call_result(line: &[u8]) -> Option<Value> {
    let message: Value = serde_json::from_slice(line).ok()?;
    message["result"]["content"].is_array().then_some(message)
}
