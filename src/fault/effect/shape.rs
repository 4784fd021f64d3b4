//! Structured content that breaks the schema which the tool declares for it, in one chosen way.

use serde_json::{Value, json};

use super::EffectContext;
use super::edit::one;
use crate::fault::schema_check;
use crate::fault::words::{SchemaBreach, ValueEdit};
use crate::schema::{below, name_of};

/// The most values of one content that are tried.
const MOST: usize = 500;

/// Breaks the structured content; what the schema allows all the same is tried and put back.
pub(crate) fn misshape(breach: SchemaBreach, work: &mut EffectContext<'_>) -> Result<(), String> {
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
