//! One schema in one spelling: older drafts translated, and nothing said that says nothing.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::canonical::says_nothing;
use super::merge::{add_types, merge};
use crate::schema::{Keyword, NumberLimit, TypeSet, are_disjoint, canonical_text, stricter};

/// The keywords of older drafts in the words of 2020-12.
pub(crate) fn translate_drafts(fields: &Map<String, Value>) -> Map<String, Value> {
    let mut fields = fields.clone();
    for (bound, exclusive) in [("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")] {
        match fields.get(exclusive) {
            Some(Value::Bool(true)) => {
                if let Some(limit) = fields.shift_remove(bound) {
                    fields.insert(exclusive.to_owned(), limit);
                }
            }
            Some(Value::Bool(false)) => drop(fields.shift_remove(exclusive)),
            _ => {}
        }
    }
    if fields.get("items").is_some_and(Value::is_array) {
        let rest = fields.shift_remove("additionalItems");
        let first = fields.shift_remove("items").unwrap_or_default();
        fields.insert("prefixItems".to_owned(), first);
        fields.extend(rest.map(|rest| ("items".to_owned(), rest)));
    }
    if let Some(Value::Object(dependencies)) = fields.shift_remove("dependencies") {
        for (name, needed) in dependencies {
            let key = if needed.is_array() { "dependentRequired" } else { "dependentSchemas" };
            fields.entry(key).or_insert_with(|| json!({}))[&name] = needed;
        }
    }
    fields
}

/// Without what says nothing, and with one spelling for types, constants and unions of types.
pub(crate) fn simplify(mut fields: Map<String, Value>) -> Value {
    if let Some(only) = fields.shift_remove("const") {
        fields.insert("enum".to_owned(), json!([only]));
    }
    if let Some(Value::String(name)) = fields.get("type") {
        fields["type"] = json!([name]);
    }
    if let Some(Value::Array(names)) = fields.get_mut("type") {
        names.sort_by(|a, b| a.as_str().cmp(&b.as_str()));
        names.dedup();
    }
    if fields.contains_key("enum") {
        narrow_enum(&mut fields);
    }
    if let Some(Value::Array(names)) = fields.get_mut("required") {
        names.sort_by(|a, b| a.as_str().cmp(&b.as_str()));
        names.dedup();
    }
    if fields.contains_key("contains") {
        fields.entry("minContains").or_insert_with(|| 1.into());
    } else {
        fields.retain(|key, _| key != "minContains" && key != "maxContains");
    }
    if !fields.contains_key("if") || !fields.contains_key("then") && !fields.contains_key("else") {
        fields.retain(|key, _| !["if", "then", "else"].contains(&key.as_str()));
    }
    fields.retain(|key, value| !is_idle(key, value));
    let unions: Vec<_> =
        ["anyOf", "oneOf"].into_iter().filter_map(|key| Some((key, fields.shift_remove(key)?))).collect();
    unions.into_iter().fold(Value::Object(fields), |whole, (key, branches)| {
        let branches = branches.as_array().cloned().unwrap_or_default();
        unite(whole, key, branches)
    })
}

/// A schema with a union beside it, which is one of types, or of alternatives that do not count how many hold, where
/// it can be.
fn unite(whole: Value, key: &str, mut branches: Vec<Value>) -> Value {
    let key = if key == "oneOf" && are_disjoint(&branches) { "anyOf" } else { key };
    if key == "anyOf" {
        let mut met = BTreeSet::new();
        branches.retain(|branch| met.insert(canonical_text(branch)));
        if branches.iter().any(takes_anything) {
            return whole;
        }
    }
    if let [only] = branches.as_slice() {
        return merge(whole, only.clone());
    }
    let types = if key == "anyOf" { add_types(&branches) } else { None };
    merge(whole, types.unwrap_or_else(|| json!({key: branches})))
}

fn takes_anything(schema: &Value) -> bool {
    schema.as_object().is_some_and(|fields| fields.keys().all(|key| says_nothing(key)))
}

/// A schema without what says nothing about its types, and with one spelling for numbers and their limits.
pub(crate) fn settle(schema: Value) -> Value {
    let Value::Object(mut fields) = schema else { return schema };
    let is_whole = fields.get("multipleOf").is_some_and(|step| step.as_u64().is_some_and(|step| step > 0));
    if let Some(names) = fields.get_mut("type") {
        let kinds = TypeSet::from_names(names);
        if !kinds.is_empty() {
            *names = json!(if is_whole { kinds.but(TypeSet::FRACTION) } else { kinds }.names());
        }
    }
    if holds_whole_numbers(&fields) && fields.get("multipleOf").is_some_and(|step| step.as_u64() == Some(1)) {
        fields.shift_remove("multipleOf");
    }
    keep_stricter_limit(&mut fields, "minimum", "exclusiveMinimum", 1);
    keep_stricter_limit(&mut fields, "maximum", "exclusiveMaximum", -1);
    if let Some(kinds) = fields.get("type").map(TypeSet::from_names) {
        fields.retain(|key, _| concerns(key, kinds));
    }
    Value::Object(fields)
}

fn holds_whole_numbers(fields: &Map<String, Value>) -> bool {
    let kinds = fields.get("type").map_or(TypeSet::ALL, TypeSet::from_names);
    kinds.has(TypeSet::INTEGER) && !kinds.has(TypeSet::FRACTION)
}

/// Of two limits, the one that says more; `step` leads from a whole number to the next that an exclusive limit allows.
fn keep_stricter_limit(fields: &mut Map<String, Value>, plain: &str, exclusive: &str, step: i64) {
    let limit = |key: &str| {
        let number = fields.get(key)?.as_number()?.clone();
        Some(NumberLimit { number, exclusive: key == exclusive })
    };
    let Some(own) = limit(exclusive) else { return };
    let mut strictest = stricter(limit(plain), &own, if step > 0 { Ordering::Greater } else { Ordering::Less });
    if strictest.exclusive
        && holds_whole_numbers(fields)
        && let Some(next) = strictest.number.as_i64().and_then(|limit| limit.checked_add(step))
    {
        strictest = NumberLimit { number: next.into(), exclusive: false };
    }
    fields.retain(|key, _| key != plain && key != exclusive);
    let key = if strictest.exclusive { exclusive } else { plain };
    fields.insert(key.to_owned(), Value::Number(strictest.number));
}

/// A keyword can refuse values of one of these kinds.
pub(crate) fn concerns(keyword: &str, kinds: TypeSet) -> bool {
    Keyword::find(keyword).and_then(|keyword| keyword.concerns).is_none_or(|concerned| concerned.has(kinds))
}

/// A value with one spelling for numbers that are the same: `1.0` is `1`.
pub(crate) fn normalize_numbers(value: &Value) -> Value {
    match value {
        Value::Number(number) if number.is_f64() => {
            let whole: Option<i64> = canonical_text(value).parse().ok();
            whole.map_or_else(|| value.clone(), Value::from)
        }
        Value::Array(items) => items.iter().map(normalize_numbers).collect(),
        Value::Object(fields) => {
            Value::Object(fields.iter().map(|(name, value)| (name.clone(), normalize_numbers(value))).collect())
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
    }
}

/// An enumeration says the types; what its type forbids is not in it.
fn narrow_enum(fields: &mut Map<String, Value>) {
    let kinds = fields.get("type").map_or(TypeSet::ALL, TypeSet::from_names);
    let Some(Value::Array(values)) = fields.get_mut("enum") else { return };
    values.retain(|value| kinds.has(TypeSet::of(value)));
    let kinds = values.iter().map(TypeSet::of).fold(TypeSet::NONE, TypeSet::or);
    fields.insert("type".to_owned(), json!(kinds.names()));
}

/// A keyword with this value holds for every value.
fn is_idle(key: &str, value: &Value) -> bool {
    match key {
        "items"
        | "additionalProperties"
        | "propertyNames"
        | "unevaluatedItems"
        | "unevaluatedProperties"
        | "properties"
        | "patternProperties"
        | "dependentRequired"
        | "dependentSchemas" => value.as_object().is_some_and(Map::is_empty),
        "required" | "prefixItems" => value.as_array().is_some_and(Vec::is_empty),
        "minLength" | "minItems" | "minProperties" => value.as_u64() == Some(0),
        "uniqueItems" => *value == Value::Bool(false),
        _ => false,
    }
}
