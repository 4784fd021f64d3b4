//! Blocks of derived checks.

use std::collections::BTreeSet;

use super::{duration, texts};
use crate::drift;
use crate::lint::{Level, Limits, Provider};
use crate::source::{Diagnostic, Located, Node, Value};
use crate::suite::grammar::{BLOCKS, BlockEntry, BlockKind, BlockState};
use crate::suite::model::{
    Allowed, Block, Differential, Fuzz, IgnoredChange, NegativeCheck, NegativePath, Recalling, SchemaLint,
    ToolSelection,
};

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
pub(super) fn test_negative_path(node: &Node, found: &mut Vec<Diagnostic>) -> Option<NegativePath> {
    empty_lists(node, &NARROWING, found);
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

/// What a `schema_lint:` block asks for.
pub fn block_schema_lint(block: &Block) -> SchemaLint {
    let settings = &block.settings;
    let limits = Limits::default();
    let most = settings.get("max_tokens").and_then(Node::whole).and_then(|most| usize::try_from(most).ok());
    let named = settings.get("providers").map(Node::items).unwrap_or_default();
    SchemaLint {
        tools: block.tools.clone(),
        providers: named.iter().filter_map(|item| Provider::parse(item.text()?)).collect(),
        level: settings.get("level").and_then(Node::text).and_then(Level::parse).unwrap_or(Level::Warning),
        allow: settings.get("allow").map(Node::entries).unwrap_or_default().iter().flat_map(allowed).collect(),
        limits: Limits { max_tokens: most.unwrap_or(limits.max_tokens) },
    }
}

/// A reason for all tools, or one for each of some.
fn allowed((lint, reason): &(Located<String>, Node)) -> Vec<Allowed> {
    if let Some(reason) = reason.text() {
        return vec![Allowed { lint: lint.clone(), tool: None, reason: reason.to_owned() }];
    }
    let by_tool = reason.entries().iter().filter_map(|(tool, reason)| {
        Some(Allowed { lint: lint.clone(), tool: Some(tool.clone()), reason: reason.text()?.to_owned() })
    });
    by_tool.collect()
}

/// A share as how many of 100.
fn percent(node: &Node) -> u32 {
    (0..=100).find(|percent| f64::from(*percent) >= share(node) * 100.0).unwrap_or(100)
}

/// A number as written.
pub(in crate::suite) fn share(node: &Node) -> f64 {
    node.to_json().as_f64().unwrap_or_default()
}

/// What a `differential:` block asks for; `None` where its recorded server cannot be read.
pub fn block_differential(block: &Block) -> Option<Differential> {
    let settings = &block.settings;
    let text = |node: &Node, key: &str| node.get(key).and_then(Node::text).map(str::to_owned);
    let ignored = settings.get("ignore").map(Node::items).unwrap_or_default();
    Some(Differential {
        file: text(settings, "snapshot")?,
        snapshot: block.recorded.clone()?,
        fail_on: settings
            .get("fail_on")
            .and_then(Node::text)
            .and_then(drift::Level::parse)
            .unwrap_or(drift::Level::Breaking),
        answers: if settings.get("answers").and_then(Node::flag) == Some(false) {
            Recalling::Left
        } else {
            Recalling::Made
        },
        tools: block.tools.clone(),
        ignore: ignored
            .iter()
            .map(|item| IgnoredChange {
                at: text(item, "at"),
                what: text(item, "what"),
                reason: text(item, "reason").unwrap_or_default(),
            })
            .collect(),
    })
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

/// Lists that choose among what is there without them.
const NARROWING: [(&str, &str); 4] = [
    ("tools", "all tools are selected"),
    ("checks", "all checks are made"),
    ("providers", "three providers are asked about"),
    ("only", "all rules are checked"),
];

/// Reports lists that choose nothing: what they belong to would do nothing, or everything.
fn empty_lists(node: &Node, keys: &[(&str, &str)], found: &mut Vec<Diagnostic>) {
    for (key, without) in keys {
        let Some(list) = node.get(key) else { continue };
        if matches!(&list.value, Value::List(items) if items.is_empty()) {
            let message = format!("`{key}` is empty, and without it {without}");
            let help = "name some, or remove the key".to_owned();
            found.push(Diagnostic::error("empty-list", message, list.span).with_help(help));
        }
    }
}

/// What is wrong with the settings of a block beside what the grammar says.
fn check_settings(entry: &BlockEntry, settings: &Node, found: &mut Vec<Diagnostic>) {
    if entry.state != BlockState::Runs {
        return;
    }
    // A comparison with no tools is still one of resources and prompts.
    let keys: &[_] = if entry.kind == BlockKind::Differential { &[] } else { &NARROWING };
    empty_lists(settings, keys, found);
    if entry.kind == BlockKind::Compliance {
        empty_lists(settings, &[("rules", "all rules are checked")], found);
    }
    let is_meant = |one: &&mut Diagnostic| {
        one.code == "wrong-type" && one.label.as_ref().is_some_and(|label| label.span == settings.span)
    };
    if let Some(wrong) = found.iter_mut().find(is_meant) {
        wrong.help = entry.kind.example().map(|example| format!("write for example `{example}`"));
    }
}

/// The blocks that are written, in the order in which they run.
pub(in crate::suite) fn blocks(root: &Node, found: &mut Vec<Diagnostic>) -> Vec<Block> {
    BLOCKS
        .iter()
        .filter_map(|entry| {
            let (key, settings) = root.entries().iter().find(|(key, _)| key.value == entry.key)?;
            check_settings(entry, settings, found);
            let tools = settings.get("tools").map_or(ToolSelection::All, |tools| tool_selection(Some(tools)));
            Some(Block { kind: entry.kind, span: key.span, settings: settings.clone(), tools, recorded: None })
        })
        .collect()
}
