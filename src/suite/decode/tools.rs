//! Which tools something works on, and lists that select nothing.

use super::texts;
use crate::source::{Diagnostic, Node, Value};
use crate::suite::model::ToolSelection;

/// The tools that are named under `key`; all where nothing is written.
pub(crate) fn selected_tools(settings: &Node, key: &str) -> ToolSelection {
    settings.get(key).map_or(ToolSelection::All, |written| tool_selection(Some(written)))
}

/// Tools by name and pattern; none where nothing is written.
pub(crate) fn tool_selection(node: Option<&Node>) -> ToolSelection {
    match node {
        Some(Node { value: Value::Text(text), .. }) if text == "*" => ToolSelection::All,
        Some(node @ Node { value: Value::Text(_), .. }) => {
            ToolSelection::Named(node.located_text().into_iter().collect())
        }
        other => ToolSelection::Named(texts(other)),
    }
}

/// Reports an empty list: without it there would be a selection, `without` says which, and with it there is none.
pub(crate) fn refuse_empty_list(settings: &Node, key: &str, without: &str, found: &mut Vec<Diagnostic>) {
    let Some(list) = settings.get(key) else { return };
    if matches!(&list.value, Value::List(items) if items.is_empty()) {
        let message = format!("`{key}` is empty, and without it {without}");
        let help = "name some, or remove the key".to_owned();
        found.push(Diagnostic::error("empty-list", message, list.span).with_help(help));
    }
}
