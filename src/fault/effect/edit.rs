//! Changes at places within messages.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::change::{ChangeWay, FieldRules, ValueChange};
use super::{Copies, EffectContext};
use crate::fault::draw::drawn_word;
use crate::fault::fullest::{field_schema, fullest, value_in};
use crate::fault::schema_check;
use crate::fault::words::{ToolKind, ValueEdit};
use crate::fault::written::Written;
use crate::path::DottedPath;
use crate::wire::Tool;

pub(crate) fn set_values(pairs: &[(DottedPath, Written)], work: &mut EffectContext<'_>) {
    each(&filled_pairs(pairs, work), work, |place, value, message| place.set_at(message, value));
}

/// The pairs whose values can be made.
fn filled_pairs(pairs: &[(DottedPath, Written)], work: &EffectContext<'_>) -> Vec<(DottedPath, Value)> {
    pairs.iter().filter_map(|(place, written)| Some((place.clone(), work.fill_written(written)?))).collect()
}

pub(crate) fn append(pairs: &[(DottedPath, String)], work: &mut EffectContext<'_>) {
    each(pairs, work, |place, more, message| {
        place.edit(message, &mut |found| {
            if let Value::String(text) = found {
                text.push_str(more);
            }
        });
    });
}

pub(crate) fn add(pairs: &[(DottedPath, Written)], work: &mut EffectContext<'_>) {
    each(&filled_pairs(pairs, work), work, |place, item, message| place.push(message, item));
}

pub(crate) fn fill(pairs: &[(DottedPath, u64)], work: &mut EffectContext<'_>) {
    each(pairs, work, |place, length, message| {
        place.edit(message, &mut |found| pad(found, *length));
    });
}

pub(crate) fn rename(pairs: &[(DottedPath, String)], work: &mut EffectContext<'_>) {
    each(pairs, work, |place, name, message| place.rename(message, name));
}

/// Changes what is at places, all in the same way.
pub(crate) fn places(edit: ValueEdit, places: &[DottedPath], work: &mut EffectContext<'_>) {
    if let Some(way) = edit.way() {
        change(way, places, work);
        return;
    }
    for place in places {
        work.at_place(place, &mut |message| {
            if edit == ValueEdit::Remove {
                place.remove(message);
            } else {
                place.edit(message, &mut |found| one(edit, found));
            }
        });
    }
}

/// Gives the values at places other plausible ones, which the output schema of the tool allows.
fn change(way: ChangeWay, places: &[DottedPath], work: &mut EffectContext<'_>) {
    let (schema, seed) = (work.output_schema(), work.seed);
    // A field that may be null is another time what its schema says.
    let filled = |place: &DottedPath| schema.and_then(|schema| value_in(&fullest(schema), place));
    // A list has as many places as items, and one rule for all of them.
    let mut changes: BTreeMap<String, ValueChange> = BTreeMap::new();
    for place in places {
        let change = changes.entry(place.field()).or_insert_with_key(|field| {
            let filled = Some(filled(place).unwrap_or_else(|| json!("none")));
            ValueChange { way, seed, field: field.clone(), rules: rules_of(place, schema), filled }
        });
        work.at_place(place, &mut |message| {
            place.edit(message, &mut |found| {
                if let Some(other) = change.of(found) {
                    *found = other;
                }
            });
        });
    }
}

/// What the output schema of a tool says of the values at a place.
fn rules_of(place: &DottedPath, schema: Option<&Value>) -> FieldRules {
    FieldRules::new(schema.and_then(|schema| field_schema(schema, place)).unwrap_or_default())
}

/// Adds text to all texts below places, as far as the output schema of the tool lets them have it.
pub(crate) fn plant(pairs: &[(DottedPath, String)], work: &mut EffectContext<'_>) {
    let schema = work.output_schema();
    let mut rules: BTreeMap<String, FieldRules> = BTreeMap::new();
    for (place, more) in pairs {
        let more = &more.replace("{drawn}", &drawn_word(work.seed, more));
        let rules = rules.entry(place.field()).or_insert_with(|| rules_of(place, schema));
        work.at_place(place, &mut |message| {
            place.edit(message, &mut |found| {
                let mut planted = found.clone();
                texts(&mut planted, &mut |text| text.push_str(more));
                if rules.allow(found, &planted) {
                    *found = planted;
                }
            });
        });
    }
}

pub(crate) fn copy(copies: &Copies, work: &mut EffectContext<'_>) {
    work.at_place(&copies.list, &mut |message| clone(copies, message));
}

fn each<T>(pairs: &[(DottedPath, T)], work: &mut EffectContext<'_>, change: impl Fn(&DottedPath, &T, &mut Value)) {
    for (place, with) in pairs {
        work.at_place(place, &mut |message| change(place, with, message));
    }
}

/// Changes one value in place, as far as it can be changed without a look at what is around it.
pub(crate) fn one(edit: ValueEdit, value: &mut Value) {
    match edit {
        ValueEdit::Remove | ValueEdit::Change | ValueEdit::ChangeBack => {}
        ValueEdit::Null => *value = Value::Null,
        ValueEdit::Retype => *value = retype(value),
        ValueEdit::Cut => halve(value),
        ValueEdit::Empty => match value {
            Value::String(text) => text.clear(),
            Value::Array(items) => items.clear(),
            Value::Object(members) => members.clear(),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        },
        ValueEdit::Wrap => *value = json!([value.take()]),
        ValueEdit::Reverse => {
            if let Value::Array(items) = value {
                items.reverse();
            }
        }
        ValueEdit::Ascii => texts(value, &mut |text| {
            // Dashes and quotes get lost where there are no letters to lose.
            let has_letters = text.chars().any(|c| !c.is_ascii() && c.is_alphabetic());
            *text = text.replace(|c: char| !c.is_ascii() && (!has_letters || c.is_alphabetic()), "?");
        }),
        ValueEdit::Misdeclare => *value = if value == "string" { json!("integer") } else { json!("string") },
        ValueEdit::Double => {
            if let Value::Array(items) = value {
                items.extend(items.last().cloned());
            }
        }
    }
}

/// Every text in a value.
fn texts(value: &mut Value, change: &mut dyn FnMut(&mut String)) {
    match value {
        Value::String(text) => change(text),
        Value::Array(items) => items.iter_mut().for_each(|item| texts(item, change)),
        Value::Object(members) => members.values_mut().for_each(|member| texts(member, change)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Puts placeholders where the arguments stand in the texts of the answer.
pub(crate) fn unfill(work: &mut EffectContext<'_>) {
    let arguments = work.parsed.params["arguments"].clone();
    let Some(message) = work.message() else { return };
    for (name, value) in arguments.as_object().into_iter().flatten() {
        let written = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        if !written.is_empty() {
            texts(&mut message["result"], &mut |text| *text = text.replace(&written, &format!("{{{{ {name} }}}}")));
        }
    }
}

/// The value in another type.
pub(crate) fn retype(value: &Value) -> Value {
    match value {
        Value::String(text) => json!(text.chars().count()),
        Value::Array(items) => json!({"items": items}),
        Value::Object(_) | Value::Number(_) | Value::Bool(_) | Value::Null => json!(value.to_string()),
    }
}

/// Keeps the first half.
fn halve(value: &mut Value) {
    match value {
        Value::String(text) => {
            let half = text.chars().count() / 2;
            *text = text.chars().take(half).collect();
        }
        Value::Array(items) => items.truncate(items.len() / 2),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => {}
    }
}

fn pad(value: &mut Value, length: u64) {
    let Value::String(text) = value else { return };
    let missing = usize::try_from(length).unwrap_or(usize::MAX).saturating_sub(text.len());
    let filler = " and so on";
    text.push_str(&filler.repeat(missing / filler.len()));
    text.push_str(&filler[..missing % filler.len()]);
}

/// The copies of an entry have at most so many bytes together: as many as the longest message that a session reads.
const MOST_COPIED: usize = 64 << 20;

fn clone(copies: &Copies, message: &mut Value) {
    copies.list.edit(message, &mut |found| {
        let Value::Array(items) = found else { return };
        let Some(last) = items.last().cloned() else { return };
        let most = MOST_COPIED / last.to_string().len().max(1);
        for number in 2..copies.times.min(u32::try_from(most).unwrap_or(u32::MAX)) + 2 {
            let mut copy = last.clone();
            for (place, value) in &copies.with {
                let mut before = String::new();
                place.edit(&mut copy, &mut |found| found.as_str().unwrap_or_default().clone_into(&mut before));
                place.set_at(&mut copy, &fill_copy(value, number, &before));
            }
            items.push(copy);
        }
    });
}

fn fill_copy(value: &Value, number: u32, before: &str) -> Value {
    let Some(text) = value.as_str() else { return value.clone() };
    text.replace("{n}", &number.to_string()).replace("{name}", before).into()
}

/// Marks the listed tools of a kind with hints that say something else.
pub(crate) fn mark(hints: &[(String, ToolKind)], work: &mut EffectContext<'_>) {
    let catalog = work.history.catalog;
    let Some(message) = work.message() else { return };
    let Some(tools) = message["result"].get_mut("tools").and_then(Value::as_array_mut) else { return };
    for tool in tools {
        let listed = Tool::new(tool.clone());
        for (hint, _) in hints.iter().filter(|(_, kind)| schema_check::is(catalog, &listed, *kind)) {
            if let Some(members) = tool.as_object_mut() {
                members.entry("annotations").or_insert_with(|| json!({}))[hint.as_str()] = true.into();
            }
        }
    }
}
