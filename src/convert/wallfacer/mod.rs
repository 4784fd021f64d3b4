//! Files of invariants, as mcp-wallfacer reads them (`invariants.yaml`, versions 1 to 3), as suites of mcprove.
//!
//! Invariants and sequences become properties, since both tools call tools that may destroy something only where the user
//! allows it. Pure: it reads texts and makes the parts of a suite. Start reading in [`convert`].

mod assertion;
mod context_path;
mod input;
mod invariant;
mod item_schema;
mod parameters;
mod sequence;

use std::collections::BTreeMap;

use serde_json::json;

use crate::source::{Diagnostic, Node, SourceFile, SourceId, Sources, visible_line};

use super::ConvertOptions;
use super::document::{Document, documents, item_ranges};
use super::left_out::{LeftOut, unknown_members};
use super::suite_parts::{ConvertedTest, SuiteParts};

use self::invariant::{ConvertedProperty, for_each_tool, invariant};
use self::sequence::sequence;

/// The newest version of the format that is known.
const NEWEST: u64 = 3;

/// The members of a file.
const MEMBERS: [&str; 5] = ["version", "metadata", "invariants", "for_each_tool", "sequences"];

/// The members of `metadata`.
const METADATA: [&str; 6] = ["name", "description", "authors", "tags", "parameters", "extends"];

/// Suites of the same purpose: the name of a pack there, and the built-in suites here.
const PACKS: [(&str, &[&str]); 17] = [
    ("auth", &["packs/auth"]),
    ("context-poisoning", &["packs/prompt-injection", "schema-lint"]),
    ("error-shape", &["packs/error-shape"]),
    ("idempotency", &["packs/idempotency"]),
    ("injection-shell", &["packs/injection"]),
    ("injection-sql", &["packs/injection"]),
    ("large-payload", &["packs/large-payload"]),
    ("mcp-spec-conformance", &["compliance", "packs/idempotency"]),
    ("pagination", &["packs/pagination"]),
    ("path-traversal", &["packs/path-traversal"]),
    ("prompt-injection", &["packs/prompt-injection"]),
    ("prompt-injection-v2", &["packs/prompt-injection"]),
    ("rate-limit", &["packs/rate-limit"]),
    ("secrets-leakage", &["packs/secrets-leakage"]),
    ("stateful", &["packs/crud"]),
    ("tool-annotations", &["packs/tool-annotations"]),
    ("unicode", &["packs/unicode"]),
];

/// The packs of which `security` consists.
const SECURITY: [&str; 7] = [
    "auth",
    "authorization",
    "path-traversal",
    "injection-sql",
    "injection-shell",
    "prompt-injection",
    "secrets-leakage",
];

/// A part of the file that has no counterpart, as its place and the reason.
type Unconverted = LeftOut;

/// Makes a property of an entry of a list.
type ConvertEntry = fn(&Node) -> Result<ConvertedProperty, Unconverted>;

/// The lists of a file, and what their entries become.
const LISTS: [(&str, ConvertEntry); 3] =
    [("invariants", invariant), ("for_each_tool", for_each_tool), ("sequences", sequence)];

/// The tool that reads such files.
pub(crate) const TOOL: &str = "mcp-wallfacer";

/// A text has a line that begins with one of the lists of invariants.
pub(crate) fn recognises(text: &str) -> bool {
    let begins = |line: &str, key: &str| line.strip_prefix(key).is_some_and(|rest| rest.trim_start().starts_with(':'));
    text.lines().any(|line| LISTS.iter().any(|(key, _)| begins(line, key)))
}

/// Converts files into the parts of one suite, which has no server.
///
/// # Errors
///
/// Mistakes in a file: no YAML, another version, a parameter that it does not declare.
pub(crate) fn convert(
    files: &[SourceId],
    options: &ConvertOptions,
    sources: &mut Sources,
) -> Result<SuiteParts, Vec<Diagnostic>> {
    let texts: Vec<String> = files.iter().map(|file| sources.file(*file).text.clone()).collect();
    parameters::check_given(&texts, &options.parameters)?;
    let mut parts = SuiteParts::default();
    let mut included: Vec<String> = Vec::new();
    let mut names = Vec::new();
    for (file, text) in files.iter().zip(texts) {
        for document in filled(*file, &text, &options.parameters, sources)? {
            check_version(&document.root)?;
            names.push(suite_name(&document.root, &sources.file(*file).name));
            add(&document, sources, &mut parts, &mut included);
        }
    }
    let name = match names.as_slice() {
        [only] => only.clone(),
        _ => options.name.clone(),
    };
    parts.head.insert("suite".to_owned(), name.into());
    if !included.is_empty() {
        parts.head.insert("include".to_owned(), json!(included));
    }
    Ok(parts)
}

/// The documents of a file with the values of its parameters.
fn filled(
    file: SourceId,
    text: &str,
    given: &BTreeMap<String, String>,
    sources: &mut Sources,
) -> Result<Vec<Document>, Vec<Diagnostic>> {
    let filled = parameters::fill(text, file, given)?;
    let source = if filled == text {
        file
    } else {
        let name = sources.file(file).name.clone();
        sources.add(SourceFile::new(name, filled))
    };
    documents(sources, source).map_err(|mistake| vec![mistake])
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
    let name = root.get("metadata").and_then(|metadata| metadata.get("name")?.text().map(str::to_owned));
    name.unwrap_or_else(|| format!("Invariants of {file}"))
}

/// Adds the properties of a document, and everything that it says beside them.
fn add(document: &Document, sources: &Sources, parts: &mut SuiteParts, included: &mut Vec<String>) {
    let root = &document.root;
    parts.left_out.extend(unknown_members(root, &MEMBERS, "a file of invariants"));
    let mut about = Vec::new();
    if let Some(metadata) = root.get("metadata") {
        parts.left_out.extend(unknown_members(metadata, &METADATA, "`metadata`"));
        about.extend(described(metadata));
        for (key, noun) in [("authors", "Authors"), ("tags", "Tags")] {
            let words: Vec<String> =
                metadata.get(key).map(Node::items).unwrap_or_default().iter().map(Node::to_text).collect();
            about.extend(
                (!words.is_empty()).then(|| visible_line(&format!("{noun}: {}.", words.join(", "))).into_owned()),
            );
        }
        for pack in metadata.get("extends").map(Node::items).unwrap_or_default() {
            add_pack(pack, &pack.to_text(), parts, included);
        }
    }
    let mut ranges = Vec::new();
    for (key, list) in root.entries() {
        let Some((_, entry)) = LISTS.iter().find(|(name, _)| *name == key.value) else { continue };
        let of_list = item_ranges(sources, key.span, list.items());
        for (node, (from, to)) in list.items().iter().zip(&of_list) {
            let mut comments = document.comments.between(*from, *to);
            comments.extend(described(node));
            match entry(node) {
                Ok(ConvertedProperty { property, left_out }) => {
                    let made = ConvertedTest { comments, test: property, left_out, ..ConvertedTest::default() };
                    parts.properties.push(made);
                }
                Err(why) => {
                    let skipped = ConvertedTest::skipped(&invariant::plain_name(node), why);
                    parts.tests.push(ConvertedTest { comments, ..skipped });
                }
            }
        }
        ranges.extend(of_list);
    }
    parts.comments.extend(document.comments.outside(&ranges));
    parts.comments.extend(about);
    parts.left_out.extend(fixtures(root));
}

/// Adds the built-in suites of the purpose of a pack.
fn add_pack(at: &Node, name: &str, parts: &mut SuiteParts, included: &mut Vec<String>) {
    if name == "security" {
        for part in SECURITY {
            add_pack(at, part, parts, included);
        }
        return;
    }
    let Some((_, own)) = PACKS.iter().find(|(known, _)| *known == name) else {
        let why = format!("mcprove has no pack for the purpose of `{name}`");
        parts.left_out.push(LeftOut::new("extends", at.span, why));
        return;
    };
    for suite in *own {
        let suite = format!("builtin:{suite}");
        if !included.contains(&suite) {
            included.push(suite);
        }
    }
}

/// The lines of a description.
fn described(node: &Node) -> Vec<String> {
    let text = node.get("description").map(Node::to_text).unwrap_or_default();
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.map(|line| visible_line(line).into_owned()).collect()
}

/// The first of the answers that a pack is tested with, in the place of all of them.
fn fixtures(root: &Node) -> Option<LeftOut> {
    let entries = LISTS.iter().flat_map(|(key, _)| root.get(key).map(Node::items).unwrap_or_default());
    let of_entry = |entry: &Node| {
        let own = entry.get("test_fixtures").or_else(|| entry.get("apply")?.get("test_fixtures"))?;
        Some(own.span)
    };
    let mut spans = entries.filter_map(of_entry);
    let first = spans.next()?;
    let more = match spans.count() {
        0 => String::new(),
        more => format!(" (and {more} more)"),
    };
    let why = format!("made-up answers, on which the invariants are tried out without a server{more}");
    Some(LeftOut::new("test_fixtures", first, why))
}

/// A part that has no counterpart; the comment about it names its text, kind or name.
fn cannot_convert(node: &Node, why: impl Into<String>) -> Unconverted {
    let named = node.text().or_else(|| node.get("kind").or_else(|| node.get("name"))?.text());
    let key = named.map_or_else(|| "this part".to_owned(), |text| text.chars().take(LONGEST_KEY).collect());
    LeftOut::new(key, node.span, why)
}

/// The most characters of a part that a comment names.
const LONGEST_KEY: usize = 60;

#[cfg(test)]
mod tests;
