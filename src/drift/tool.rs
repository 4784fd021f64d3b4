//! The definition of one tool: schemas, hints, words.

use serde_json::{Value, json};

use super::change::{ChangeLevel, ServerChange};
use super::listed::words;
use super::schema::{SchemaDirection, compare_schemas, is_same};
use super::subject::{item, names};
use super::{Recorded, Versions};

/// Compares one tool.
pub(crate) fn compare(name: &str, before: &Recorded, after: &Recorded) -> Vec<ServerChange> {
    let at = format!("tools/{name}");
    let [old, new] = [before, after].map(|recorded| item(&recorded.tools, "name", name));
    match (old, new) {
        (Some(old), Some(new)) => definition(Versions { old, new }, &at),
        (Some(old), None) => {
            let help = find_renamed(old, before, after).map(|other| format!("renamed to `{other}`?"));
            vec![ServerChange::breaking("tool-removed", at, format!("the tool `{name}` was removed")).with_help(help)]
        }
        (None, _) => {
            vec![ServerChange::compatible("tool-added", at, format!("the tool `{name}` was added"))]
        }
    }
}

/// A new tool with the same schemas, or with the same description.
fn find_renamed(old: &Value, before: &Recorded, after: &Recorded) -> Option<String> {
    let added = names(&after.tools, &[], "name");
    let mut added = added.into_iter().filter(|name| item(&before.tools, "name", name).is_none());
    added.find(|name| {
        item(&after.tools, "name", name).is_some_and(|new| {
            let takes_something = old["inputSchema"]["properties"].as_object().is_some_and(|known| !known.is_empty());
            let is_same_schema = takes_something && is_same(&old["inputSchema"], &new["inputSchema"]);
            is_same_schema || old["description"].is_string() && old["description"] == new["description"]
        })
    })
}

fn definition(Versions { old, new }: Versions<'_>, at: &str) -> Vec<ServerChange> {
    let (was, is) = (arguments(old), arguments(new));
    let mut found = compare_schemas(SchemaDirection::Sent, &was, &is, &format!("{at}/input"));
    let place = format!("{at}/output");
    match (old.get("outputSchema"), new.get("outputSchema")) {
        (Some(was), Some(is)) => found.extend(compare_schemas(SchemaDirection::Read, was, is, &place)),
        (Some(was), None) => {
            let says = "it no longer declares an output schema";
            found.push(ServerChange::breaking("schema-widened", place, says).with_values(Some(was), None));
        }
        (None, Some(is)) => {
            let says = "it now declares an output schema";
            found.push(ServerChange::compatible("schema-narrowed", place, says).with_values(None, Some(is)));
        }
        (None, None) => {}
    }
    found.extend(hints(Versions { old, new }, at));
    found.extend(task_support(Versions { old, new }, at));
    found.extend(words(
        Versions { old, new },
        at,
        &["name", "inputSchema", "outputSchema", "annotations", "execution"],
    ));
    found
}

/// The schema of its arguments, which are an object even where the schema does not say so.
fn arguments(tool: &Value) -> Value {
    let mut schema = tool.get("inputSchema").cloned().unwrap_or_else(|| json!({}));
    if let Some(fields) = schema.as_object_mut() {
        fields.entry("type").or_insert_with(|| json!("object"));
    }
    schema
}

/// A hint: what holds without it, and the value that lets callers do more.
const HINTS: [(&str, bool, bool); 4] = [
    ("readOnlyHint", false, true),
    ("destructiveHint", true, false),
    ("idempotentHint", false, true),
    ("openWorldHint", true, false),
];

fn hints(Versions { old, new }: Versions<'_>, at: &str) -> Vec<ServerChange> {
    let (was, is) = (&old["annotations"], &new["annotations"]);
    let holds = |annotations: &Value, name: &str, default: bool| annotations[name].as_bool().unwrap_or(default);
    // For a tool that changes nothing, the other hints about changes say nothing.
    let is_idle = [was, is].into_iter().all(|annotations| holds(annotations, "readOnlyHint", false));
    let mut found = Vec::new();
    for (name, default, trusting) in HINTS {
        if was.get(name) == is.get(name) {
            continue;
        }
        let (before, after) = (holds(was, name, default), holds(is, name, default));
        let says_nothing = is_idle && matches!(name, "destructiveHint" | "idempotentHint");
        let (level, says) = if before == after || says_nothing {
            (ChangeLevel::Cosmetic, format!("`{name}` is written differently but means the same"))
        } else if before == trusting {
            (ChangeLevel::Breaking, format!("`{name}` changed from {before} to {after}: callers may have relied on it"))
        } else {
            (ChangeLevel::Compatible, format!("`{name}` changed from {before} to {after}"))
        };
        let change = ServerChange::new(level, "hint-changed", format!("{at}/annotations/{name}"), says);
        found.push(change.with_values(was.get(name), is.get(name)));
    }
    let known: Vec<&str> = HINTS.iter().map(|(name, ..)| *name).collect();
    found.extend(words(Versions { old: was, new: is }, &format!("{at}/annotations"), &known));
    found
}

/// Calls may or must become tasks (2025-11-25).
fn task_support(Versions { old, new }: Versions<'_>, at: &str) -> Option<ServerChange> {
    let support = |tool: &Value| tool["execution"]["taskSupport"].as_str().unwrap_or("forbidden").to_owned();
    let (was, is) = (support(old), support(new));
    let level = match (was.as_str(), is.as_str()) {
        (was, is) if was == is => return None,
        (_, "optional") => ChangeLevel::Compatible,
        _ => ChangeLevel::Breaking,
    };
    let says = format!("support for calls as tasks changed from {was} to {is}");
    let at = format!("{at}/execution/taskSupport");
    Some(ServerChange::new(level, "hint-changed", at, says).with_values(Some(&was.into()), Some(&is.into())))
}
