//! Which tools something works on.

use crate::source::grammar::Shape;
use crate::source::settings::Setting;
use crate::source::{Diagnostic, Node};
use crate::suite::grammar::TOOLS;
use crate::suite::model::{NamePattern, ToolSelection};

impl Setting for ToolSelection {
    const SHAPE: Shape = TOOLS;

    fn decode(node: &Node, _: &mut Vec<Diagnostic>) -> Option<Self> {
        Some(match node.located_text() {
            Some(name) if name.value == "*" => Self::All,
            Some(name) => Self::of_names([name]),
            None => Self::of_names(node.items().iter().filter_map(Node::located_text)),
        })
    }

    fn absent() -> Option<Self> {
        Some(Self::All)
    }
}

impl Setting for NamePattern {
    const SHAPE: Shape = Shape::Text;

    fn decode(node: &Node, _: &mut Vec<Diagnostic>) -> Option<Self> {
        node.located_text().map(Self::new)
    }
}
