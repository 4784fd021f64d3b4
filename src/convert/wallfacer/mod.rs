//! Files of invariants, as mcp-wallfacer reads them (`invariants.yaml`, versions 1 to 3), as suites of mcprove.
//!
//! Invariants and sequences become properties, since both tools call tools that may destroy something only where the user
//! allows it. What has no counterpart is reported, and stands in the suite as a skipped test, so that no run hides it.
//! Pure: it reads a text and makes a value. Start reading in [`convert`].

mod assertion;
mod context_path;
mod input;
mod invariant;
mod item_schema;
mod parameters;
mod sequence;

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::source::{Diagnostic, Node, SourceFile, SourceId, Sources, parse};

use self::invariant::{Invariants, for_each_tool};
use self::sequence::sequence;

/// The newest version of the format that is known.
const NEWEST: u64 = 3;

/// A member of the file that is read, and one that mcprove has no use for.
const MEMBERS: [&str; 5] = ["version", "metadata", "invariants", "for_each_tool", "sequences"];

/// Packs of the same purpose: the name there, and here.
const PACKS: [(&str, &str); 13] = [
    ("error-shape", "error-shape"),
    ("idempotency", "idempotency"),
    ("injection-shell", "injection"),
    ("injection-sql", "injection"),
    ("large-payload", "large-payload"),
    ("pagination", "pagination"),
    ("path-traversal", "path-traversal"),
    ("prompt-injection", "prompt-injection"),
    ("rate-limit", "rate-limit"),
    ("secrets-leakage", "secrets-leakage"),
    ("stateful", "crud"),
    ("tool-annotations", "tool-annotations"),
    ("unicode", "unicode"),
];

/// A part of the file that has no counterpart, as its place and the reason.
type Unconverted = Diagnostic;

/// The tool that reads such files.
pub(crate) const TOOL: &str = "mcp-wallfacer";

/// A converted file.
pub(crate) struct ConvertedInvariants {
    /// The suite, without a server.
    pub(crate) suite: Value,
    /// Warnings about everything that it leaves out.
    pub(crate) left_out: Vec<Diagnostic>,
}

/// A text has a line that begins with one of the lists of invariants, or only a version.
pub(crate) fn recognises(text: &str) -> bool {
    let begins = |line: &str, key: &str| line.strip_prefix(key).is_some_and(|rest| rest.trim_start().starts_with(':'));
    let has = |keys: &[&str]| text.lines().any(|line| keys.iter().any(|key| begins(line, key)));
    has(&["invariants", "for_each_tool", "sequences"])
}

/// Converts a file; `given` are the values of its parameters that replace their defaults.
///
/// # Errors
///
/// Mistakes in the file: no YAML, another version, a parameter that it does not declare.
pub(crate) fn convert(
    file: SourceId,
    given: &BTreeMap<String, String>,
    sources: &mut Sources,
) -> Result<ConvertedInvariants, Vec<Diagnostic>> {
    let (name, text) = (sources.file(file).name.clone(), sources.file(file).text.clone());
    let filled = parameters::fill(&text, file, given)?;
    let source = if filled == text { file } else { sources.add(SourceFile::new(name.clone(), filled)) };
    let root = parse(sources, source).map_err(|mistake| vec![mistake])?;
    check_version(&root)?;
    let mut left_out = unknown_members(&root, &MEMBERS, "the file");
    let mut suite = json!({ "suite": suite_name(&root, &name) });
    let packs = packs(&root, &mut left_out);
    if !packs.is_empty() {
        suite["include"] = json!(packs);
    }
    let (properties, skipped) = properties(&root, &mut left_out);
    if !properties.is_empty() {
        suite["properties"] = json!(properties);
    }
    if !skipped.is_empty() {
        suite["tests"] = json!(skipped);
    }
    Ok(ConvertedInvariants { suite, left_out })
}

fn check_version(root: &Node) -> Result<(), Vec<Diagnostic>> {
    let help = "a file of invariants begins with `version: 1`, `2` or `3`, and has a list under `invariants`";
    match root.get("version") {
        Some(version) if version.whole().is_some_and(|version| (1..=NEWEST).contains(&version)) => Ok(()),
        Some(version) => {
            let message = format!("version `{}` of invariants is not known", version.to_text().trim());
            Err(vec![Diagnostic::error("bad-invariants", message, version.span).with_help(help.to_owned())])
        }
        None => {
            let message = "the file has no `version`, so it holds no invariants";
            Err(vec![Diagnostic::error("bad-invariants", message, root.span).with_help(help.to_owned())])
        }
    }
}

fn suite_name(root: &Node, file: &str) -> String {
    let of = |key: &str| root.get("metadata")?.get(key)?.text().map(str::to_owned);
    of("name").or_else(|| of("description")).unwrap_or_else(|| format!("Invariants of {file}"))
}

/// The packs of mcprove that stand for those that the file extends.
fn packs(root: &Node, left_out: &mut Vec<Diagnostic>) -> Vec<String> {
    let mut packs: Vec<String> = Vec::new();
    for named in root.get("metadata").and_then(|metadata| metadata.get("extends")).map(Node::items).unwrap_or_default()
    {
        let name = named.text().unwrap_or_default();
        let Some((_, own)) = PACKS.iter().find(|(known, _)| *known == name) else {
            left_out.push(cannot_convert(named, format!("mcprove has no pack for the purpose of `{name}`")));
            continue;
        };
        let pack = format!("builtin:packs/{own}");
        if !packs.contains(&pack) {
            packs.push(pack);
        }
    }
    packs
}

/// The properties, and a skipped test for each that is left out.
fn properties(root: &Node, left_out: &mut Vec<Diagnostic>) -> (Vec<Value>, Vec<Value>) {
    let items = |key: &str| root.get(key).map(Node::items).unwrap_or_default();
    let mut made = Invariants { properties: Vec::new(), left_out: Vec::new() };
    for node in items("invariants") {
        made.add(node, invariant::invariant(node));
    }
    for node in items("for_each_tool") {
        made.add(node, for_each_tool(node));
    }
    for node in items("sequences") {
        made.add(node, sequence(node));
    }
    let skipped = made.left_out.iter().map(|(name, why)| skipped_test(name, why)).collect();
    left_out.extend(made.left_out.into_iter().map(|(_, why)| why));
    (made.properties, skipped)
}

/// A test that is skipped and says why.
fn skipped_test(name: &str, why: &Unconverted) -> Value {
    json!({ "name": name, "skip": format!("not converted: {}", why.message), "list": "tools", "expect": [] })
}

fn cannot_convert(node: &Node, why: impl Into<String>) -> Unconverted {
    Diagnostic::warning("not-converted", why, node.span)
}

/// A warning for each member that is not known.
fn unknown_members(node: &Node, known: &[&str], of: &str) -> Vec<Diagnostic> {
    let unknown = node.entries().iter().filter(|(key, _)| !known.contains(&key.value.as_str()));
    let says = |key: &str| format!("`{key}` is no member of {of} that mcprove knows");
    unknown.map(|(key, _)| Diagnostic::warning("not-converted", says(&key.value), key.span)).collect()
}

#[cfg(test)]
mod tests;
