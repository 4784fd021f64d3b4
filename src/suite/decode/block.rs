//! Blocks of derived checks.

use std::collections::BTreeSet;

use super::{duration, texts};
use crate::source::{Node, Value};
use crate::suite::grammar::{BLOCKS, BlockKind};
use crate::suite::model::{Block, Fuzz, NegativeCheck, NegativePath, ToolSelection};

/// How many calls of a tool must be refused, where the suite does not say.
const CASES_PER_TOOL: usize = 24;

/// What is derived from a tool.
const OF_TOOLS: [NegativeCheck; 5] = [
    NegativeCheck::UnknownTool,
    NegativeCheck::MissingRequired,
    NegativeCheck::WrongType,
    NegativeCheck::OutOfRange,
    NegativeCheck::ExtraProperty,
];

/// The refusals that a test asks for; what is about the server as a whole only where it says so.
pub(super) fn test_negative_path(node: &Node) -> Option<NegativePath> {
    (node.flag() != Some(false)).then(|| negative_path(node, ToolSelection::All, &OF_TOOLS))
}

/// The refusals that a `negative_path:` block asks for.
pub fn block_negative_path(block: &Block) -> Option<NegativePath> {
    let of_server = [NegativeCheck::UnknownMethod, NegativeCheck::MalformedEnvelope];
    Some(negative_path(&block.settings, block.tools.clone(), &[&OF_TOOLS[..], &of_server].concat()))
}

fn negative_path(node: &Node, default: ToolSelection, checks: &[NegativeCheck]) -> NegativePath {
    let checks: BTreeSet<NegativeCheck> = match node.get("checks") {
        None => checks.iter().copied().collect(),
        Some(list) => list.items().iter().filter_map(|item| negative_check(item.text()?)).collect(),
    };
    let tools = node.get("tools").map_or(default, |tools| tool_selection(Some(tools)));
    let cases = node
        .get("cases")
        .and_then(Node::whole)
        .map_or(CASES_PER_TOOL, |cases| usize::try_from(cases).unwrap_or(usize::MAX));
    NegativePath { span: node.span, tools, checks, cases }
}

/// What a `fuzz:` block asks for.
pub fn block_fuzz(block: &Block) -> Fuzz {
    let settings = &block.settings;
    Fuzz {
        tools: block.tools.clone(),
        seed: settings.get("seed").and_then(Node::whole).unwrap_or(0),
        cases: settings.get("cases").and_then(Node::whole),
        time: duration(settings, "time"),
    }
}

fn negative_check(word: &str) -> Option<NegativeCheck> {
    Some(match word {
        "unknown_tool" => NegativeCheck::UnknownTool,
        "unknown_method" => NegativeCheck::UnknownMethod,
        "missing_required" => NegativeCheck::MissingRequired,
        "wrong_type" => NegativeCheck::WrongType,
        "out_of_range" => NegativeCheck::OutOfRange,
        "extra_property" => NegativeCheck::ExtraProperty,
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
