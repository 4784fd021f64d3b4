//! Blocks of derived checks.

use std::collections::BTreeSet;

use super::{duration, texts};
use crate::source::{Node, Value};
use crate::suite::grammar::{BLOCKS, BlockKind};
use crate::suite::model::{Block, Fuzz, NegativeCheck, NegativePath, ToolSelection};

pub(super) fn negative_path(node: &Node, default: ToolSelection) -> Option<NegativePath> {
    if node.flag() == Some(false) {
        return None;
    }
    let checks: BTreeSet<NegativeCheck> = match node.get("checks") {
        None => [
            NegativeCheck::UnknownTool,
            NegativeCheck::UnknownMethod,
            NegativeCheck::MissingRequired,
            NegativeCheck::WrongType,
        ]
        .into(),
        Some(list) => list.items().iter().filter_map(|item| negative_check(item.text()?)).collect(),
    };
    let tools = node.get("tools").map_or(default, |tools| tool_selection(Some(tools)));
    Some(NegativePath { span: node.span, tools, checks })
}

/// The refusals that a `negative_path:` block asks for.
pub fn block_negative_path(block: &Block) -> Option<NegativePath> {
    negative_path(&block.settings, block.tools.clone())
}

/// What a `fuzz:` block asks for.
pub fn block_fuzz(block: &Block) -> Fuzz {
    let settings = &block.settings;
    let whole = |key: &str| settings.get(key).and_then(Node::whole);
    let size = |key: &str, default: usize| whole(key).and_then(|n| usize::try_from(n).ok()).unwrap_or(default);
    let time = duration(settings, "time");
    Fuzz {
        tools: block.tools.clone(),
        block: tool_selection(settings.get("block")),
        seed: whole("seed").unwrap_or(0),
        cases: whole("cases").or(if time.is_some() { None } else { Some(Fuzz::CASES) }),
        time,
        in_flight: size("in_flight", 8),
        max_string: size("max_string", 4 << 10),
        invalid: settings.get("invalid").map_or(20, percent),
    }
}

/// A share as how many of 100.
fn percent(node: &Node) -> u32 {
    (0..=100).find(|percent| f64::from(*percent) >= share(node) * 100.0).unwrap_or(100)
}

/// A number as written.
pub(in crate::suite) fn share(node: &Node) -> f64 {
    node.to_json().as_f64().unwrap_or_default()
}

fn negative_check(word: &str) -> Option<NegativeCheck> {
    Some(match word {
        "unknown_tool" => NegativeCheck::UnknownTool,
        "unknown_method" => NegativeCheck::UnknownMethod,
        "missing_required" => NegativeCheck::MissingRequired,
        "wrong_type" => NegativeCheck::WrongType,
        "out_of_range" => NegativeCheck::OutOfRange,
        "malformed_envelope" => NegativeCheck::MalformedEnvelope,
        _ => return None,
    })
}

fn tool_selection(node: Option<&Node>) -> ToolSelection {
    match node {
        Some(Node { value: Value::Text(text), .. }) if text == "*" => ToolSelection::All,
        Some(node @ Node { value: Value::Text(_), .. }) => {
            ToolSelection::Named(node.located_text().into_iter().collect())
        }
        other => ToolSelection::Named(texts(other)),
    }
}

/// The blocks that are written, in the order in which they run.
pub(in crate::suite) fn blocks(root: &Node) -> Vec<Block> {
    BLOCKS
        .iter()
        .filter_map(|entry| {
            let (key, settings) = root.entries().iter().find(|(key, _)| key.value == entry.key)?;
            let tools = match (entry.kind, settings.get("tools")) {
                // These work on the server as a whole and need no selection.
                (BlockKind::Compliance | BlockKind::Security | BlockKind::Fuzz, None) => ToolSelection::All,
                (_, tools) => tool_selection(tools),
            };
            Some(Block { kind: entry.kind, span: key.span, settings: settings.clone(), tools })
        })
        .collect()
}
