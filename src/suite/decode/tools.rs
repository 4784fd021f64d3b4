//! Which tools something works on.

use super::texts;
use crate::source::grammar::Shape;
use crate::source::settings::Setting;
use crate::source::{Node, Value};
use crate::suite::grammar::TOOLS;
use crate::suite::model::{NamePattern, ToolSelection};

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

impl Setting for ToolSelection {
    const SHAPE: Shape = TOOLS;

    fn read(node: &Node) -> Option<Self> {
        Some(tool_selection(Some(node)))
    }

    fn absent() -> Option<Self> {
        Some(Self::All)
    }
}

impl Setting for NamePattern {
    const SHAPE: Shape = Shape::Text;

    fn read(node: &Node) -> Option<Self> {
        node.located_text().map(Self::new)
    }
}
