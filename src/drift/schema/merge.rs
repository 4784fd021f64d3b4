//! Two schemas that must both hold as one, and unions of types as one schema.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use super::canonical::{RECURSIVE, says_nothing};
use super::document::UNRESOLVED_REF;
use crate::schema::{compare, written};

/// One schema for values that satisfy both; what cannot be merged stays an `allOf`.
pub(super) fn merged(whole: Value, part: Value) -> Value {
    let (mut whole, part) = match (whole, part) {
        (Value::Object(whole), Value::Object(part)) => (whole, part),
        (Value::Object(whole), other) if whole.is_empty() => return other,
        _ => return Value::Bool(false),
    };
    if whole.keys().all(|key| says_nothing(key)) {
        // Annotations beside a reference override those of its target.
        let mut taken = part;
        taken.extend(whole);
        return Value::Object(taken);
    }
    let mut rest = Map::new();
    let part = if closes(&whole, &part) || closes(&part, &whole) {
        rest = part;
        Map::new()
    } else {
        part
    };
    for (key, value) in part {
        match whole.get(&key).cloned() {
            None => drop(whole.insert(key, value)),
            Some(own) if own == value || says_nothing(&key) => {}
            Some(own) => match both(&key, &own, &value) {
                Some(both) => drop(whole.insert(key, both)),
                None => drop(rest.insert(key, value)),
            },
        }
    }
    if !rest.is_empty() {
        let others = whole.entry("allOf").or_insert_with(|| json!([]));
        if let Some(others) = others.as_array_mut() {
            others.push(Value::Object(rest));
        }
    }
    Value::Object(whole)
}

/// Whether one is closed and the other names properties: `additionalProperties` looks at what stands beside it only.
fn closes(one: &Map<String, Value>, other: &Map<String, Value>) -> bool {
    let is_closed = ["additionalProperties", "unevaluatedProperties"].iter().any(|key| one.contains_key(*key));
    is_closed && ["properties", "patternProperties"].iter().any(|key| other.contains_key(*key))
}

fn both(key: &str, own: &Value, other: &Value) -> Option<Value> {
    match key {
        "required" | "allOf" => union(own, other),
        "type" => {
            let (own, other) = (own.as_array()?, other.as_array()?);
            let holds = |name: &&Value| {
                other.contains(name) || **name == "integer" && other.iter().any(|other| other == "number")
            };
            let mut kept: Vec<Value> = own.iter().filter(holds).cloned().collect();
            if own.iter().any(|name| name == "number") && other.iter().any(|name| name == "integer") {
                kept.push("integer".into());
            }
            Some(Value::Array(kept))
        }
        "enum" => {
            let (own, other) = (own.as_array()?, other.as_array()?);
            let others: BTreeSet<String> = other.iter().map(written).collect();
            Some(own.iter().filter(|value| others.contains(&written(value))).cloned().collect())
        }
        "properties" => {
            let mut properties = own.as_object()?.clone();
            for (name, schema) in other.as_object()? {
                let known = properties.get(name).cloned();
                properties.insert(name.clone(), known.map_or(schema.clone(), |known| merged(known, schema.clone())));
            }
            Some(Value::Object(properties))
        }
        "items" | "propertyNames" => Some(merged(own.clone(), other.clone())),
        "minimum" | "exclusiveMinimum" | "minLength" | "minItems" | "minProperties" => {
            let is_higher = compare(own.as_number()?, other.as_number()?).is_ge();
            Some(if is_higher { own.clone() } else { other.clone() })
        }
        "maximum" | "exclusiveMaximum" | "maxLength" | "maxItems" | "maxProperties" => {
            let is_lower = compare(own.as_number()?, other.as_number()?).is_le();
            Some(if is_lower { own.clone() } else { other.clone() })
        }
        "uniqueItems" => Some(Value::Bool(true)),
        _ => None,
    }
}

fn union(own: &Value, other: &Value) -> Option<Value> {
    let each = own.as_array()?.iter().chain(other.as_array()?);
    let all: BTreeMap<String, &Value> = each.map(|value| (value.to_string(), value)).collect();
    Some(all.into_values().cloned().collect())
}

/// A union as one schema, where all branches but one only name types that the other has nothing to do with.
pub(super) fn add_types(branches: &[Value]) -> Option<Value> {
    let bare = |branch: &Value| -> Option<Map<String, Value>> {
        let fields = branch.as_object()?.iter().filter(|(key, _)| !says_nothing(key));
        Some(fields.map(|(key, value)| (key.clone(), value.clone())).collect())
    };
    let mut types: Vec<Value> = Vec::new();
    let mut fuller = None;
    for branch in branches {
        let fields = bare(branch)?;
        let named = fields.get("type")?.as_array()?;
        let names_null = fields.get("enum").is_some_and(|values| *values == json!([null]));
        if fields.len() == 1 || names_null {
            types.extend(named.iter().cloned());
        } else if fuller.replace(branch).is_some() {
            return None;
        }
    }
    let Some(fuller) = fuller else { return Some(json!({"type": sorted(types)})) };
    let own = fuller["type"].as_array()?;
    let is_disjoint =
        |name: &Value| !own.contains(name) && (*name != "number" && *name != "integer" || !has_numbers(own));
    let has_more = ["anyOf", "oneOf", "allOf", "not", "if", UNRESOLVED_REF, RECURSIVE]
        .iter()
        .any(|key| fuller.get(*key).is_some());
    if has_more || !types.iter().all(is_disjoint) {
        return None;
    }
    let mut whole = fuller.clone();
    if let Some(values) = whole.get_mut("enum").and_then(Value::as_array_mut) {
        if types != [json!("null")] {
            return None;
        }
        values.push(Value::Null);
    }
    types.extend(own.iter().cloned());
    whole["type"] = sorted(types);
    Some(whole)
}

fn has_numbers(types: &[Value]) -> bool {
    types.iter().any(|name| name == "number" || name == "integer")
}

fn sorted(mut names: Vec<Value>) -> Value {
    names.sort_by(|a, b| a.as_str().cmp(&b.as_str()));
    names.dedup();
    Value::Array(names)
}
