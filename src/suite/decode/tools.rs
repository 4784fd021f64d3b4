//! Which tools something works on.

use super::texts;
use crate::source::{Node, Value};
use crate::suite::model::ToolSelection;

/// The tools that are named under `key`; all where nothing is written.
pub(crate) fn selected_tools(settings: &Node, key: &str) -> ToolSelection {
    settings.get(key).map_or(ToolSelection::All, |written| tool_selection(Some(written)))
}

/// Tools by name and pattern; none where nothing is written.
pub(crate) fn tool_selection(node: Option<&Node>) -> ToolSelection {
    match node {
        Some(Node { value: Value::Text(text), .. }) if text == "*" => ToolSelection::All,
        Some(node @ Node { value: Value::Text(_), .. }) => ToolSelection::named(node.located_text()),
        other => ToolSelection::named(texts(other)),
    }
}
