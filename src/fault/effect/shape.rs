//! Structured content that breaks the schema which the tool declares for it, in one chosen way.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::EffectContext;
use super::edit::one;
use crate::fault::schema_check;
use crate::fault::words::{SchemaBreach, ValueEdit};
use crate::path::{DottedPath, PathStep};
use crate::schema::{below, name_of};
use crate::wire::Tool;

/// The most values of one content that are tried.
const MOST: usize = 500;

/// Breaks the structured content at places that can be broken; without any, at the first that the schema does not allow.
pub(crate) fn misshape(
    breach: SchemaBreach,
    places: &[DottedPath],
    work: &mut EffectContext<'_>,
) -> Result<(), String> {
    if let Some(edit) = edit_of(breach).filter(|_| !places.is_empty()) {
        super::edit::places(edit, places, work);
        return Ok(());
    }
    let tool = work.parsed.tool().and_then(|name| work.history.catalog.tool(name));
    let judge = tool.and_then(|tool| schema_check::validator(tool, "outputSchema"));
    let judge = judge.ok_or("the tool declares no output schema that can be used")?;
    let content = work.message().and_then(|message| message["result"].get_mut("structuredContent"));
    let content = content.ok_or("the answer has no structured content")?;
    if judge.is_valid(content) != Some(true) {
        return Err("the structured content breaks its schema already".to_owned());
    }
    let mut pointers = Vec::new();
    collect(content, "", &mut pointers);
    for pointer in pointers {
        let mut broken = content.clone();
        if breaks(breach, &pointer, &mut broken) && judge.is_valid(&broken) == Some(false) {
            *content = broken;
            return Ok(());
        }
    }
    Err("the schema allows every such change".to_owned())
}

/// The change of one value that breaks content in that way; `None` for what is no change of a value.
fn edit_of(breach: SchemaBreach) -> Option<ValueEdit> {
    match breach {
        SchemaBreach::Type => Some(ValueEdit::Retype),
        SchemaBreach::Null => Some(ValueEdit::Null),
        SchemaBreach::Missing | SchemaBreach::Extra | SchemaBreach::Range | SchemaBreach::Wrapped => None,
    }
}

/// The values of the structured content that can be broken each alone; `None` if the breach is none of a value. Of the
/// elements of a list the first speaks for all.
pub(crate) fn breakable(breach: SchemaBreach, tool: Option<&Tool>, message: &Value) -> Option<Vec<DottedPath>> {
    let edit = edit_of(breach)?;
    let judge = schema_check::validator(tool?, "outputSchema")?;
    let content = message["result"].get("structuredContent")?;
    if judge.is_valid(content) != Some(true) {
        return None;
    }
    let root = ["result", "structuredContent"].map(|name| PathStep::Member(name.to_owned()));
    let mut paths = Vec::new();
    collect_paths(content, &mut root.to_vec(), &mut paths);
    let mut judged: BTreeMap<String, bool> = BTreeMap::new();
    paths.retain(|path| {
        *judged.entry(path.field()).or_insert_with(|| {
            let mut broken = message.clone();
            path.edit(&mut broken, &mut |found| one(edit, found));
            judge.is_valid(&broken["result"]["structuredContent"]) == Some(false)
        })
    });
    Some(paths)
}

/// The paths of every value within a value.
fn collect_paths(value: &Value, steps: &mut Vec<PathStep>, paths: &mut Vec<DottedPath>) {
    let mut follow = |step: PathStep, value: &Value| {
        if paths.len() < MOST {
            steps.push(step);
            paths.push(DottedPath { steps: steps.clone() });
            collect_paths(value, steps, paths);
            steps.pop();
        }
    };
    match value {
        Value::Object(members) => {
            members.iter().for_each(|(name, member)| follow(PathStep::Member(name.clone()), member));
        }
        Value::Array(items) => items.iter().enumerate().for_each(|(at, item)| follow(PathStep::item(at), item)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Every value in a value, as JSON pointers; the whole first.
fn collect(value: &Value, pointer: &str, pointers: &mut Vec<String>) {
    if pointers.len() >= MOST {
        return;
    }
    pointers.push(pointer.to_owned());
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                collect(member, &below(pointer, name), pointers);
            }
        }
        Value::Array(items) => {
            for (at, item) in items.iter().enumerate() {
                collect(item, &format!("{pointer}/{at}"), pointers);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Changes the value at a pointer; whether there was something to change.
fn breaks(breach: SchemaBreach, pointer: &str, whole: &mut Value) -> bool {
    if breach == SchemaBreach::Missing {
        let Some((parent, name)) = pointer.rsplit_once('/') else { return false };
        let name = name_of(name);
        let members = whole.pointer_mut(parent).and_then(Value::as_object_mut);
        return members.is_some_and(|members| members.shift_remove(&name).is_some());
    }
    let Some(value) = whole.pointer_mut(pointer) else { return false };
    match (breach, &mut *value) {
        (SchemaBreach::Extra, Value::Object(members)) => drop(members.insert("unexpected".to_owned(), json!(true))),
        // A whole of another type is the same as a wrapped one; a member says more.
        (SchemaBreach::Type, _) if !pointer.is_empty() => one(ValueEdit::Retype, value),
        (SchemaBreach::Null, _) if !pointer.is_empty() => *value = Value::Null,
        (SchemaBreach::Wrapped, _) if pointer.is_empty() => one(ValueEdit::Wrap, value),
        (SchemaBreach::Range, Value::Number(_)) => *value = json!(-1_000_000_000_i64),
        (SchemaBreach::Range, Value::String(text)) => text.insert_str(0, "none of these: "),
        (SchemaBreach::Range, Value::Array(items)) => items.clear(),
        _ => return false,
    }
    true
}
