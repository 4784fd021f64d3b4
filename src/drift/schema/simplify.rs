//! One schema in one spelling: older drafts translated, and nothing said that says nothing.

use std::collections::BTreeSet;

use serde_json::{Map, Number, Value, json};

use super::canonical::says_nothing;
use super::merge::{add_types, merged};
use super::walk::types;
use crate::schema::{Keyword, TypeSet, compare, written};

/// The keywords of older drafts in the words of 2020-12.
pub(super) fn translated(fields: &Map<String, Value>) -> Map<String, Value> {
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
pub(super) fn simplified(mut fields: Map<String, Value>) -> Value {
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
        enumerated(&mut fields);
    }
    if let Some(Value::Array(names)) = fields.get_mut("required") {
        names.sort_by(|a, b| a.as_str().cmp(&b.as_str()));
        names.dedup();
    }
    fields.retain(|key, value| !is_idle(key, value));
    let unions: Vec<_> =
        ["anyOf", "oneOf"].into_iter().filter_map(|key| Some((key, fields.shift_remove(key)?))).collect();
    unions.into_iter().fold(Value::Object(fields), |whole, (key, branches)| {
        let branches = branches.as_array().cloned().unwrap_or_default();
        united(whole, key, branches)
    })
}

/// A schema with a union beside it, which is one of types, or of alternatives that do not count how many hold, where
/// it can be.
fn united(whole: Value, key: &str, mut branches: Vec<Value>) -> Value {
    let key = if key == "oneOf" && are_disjoint(&branches) { "anyOf" } else { key };
    if key == "anyOf" {
        let mut met = BTreeSet::new();
        branches.retain(|branch| met.insert(written(branch)));
        if branches.iter().any(takes_anything) {
            return whole;
        }
    }
    if let [only] = branches.as_slice() {
        return merged(whole, only.clone());
    }
    let types = if key == "anyOf" { add_types(&branches) } else { None };
    merged(whole, types.unwrap_or_else(|| json!({key: branches})))
}

fn takes_anything(schema: &Value) -> bool {
    schema.as_object().is_some_and(|fields| fields.keys().all(|key| says_nothing(key)))
}

/// A schema without what says nothing about its types, and with one spelling for numbers and their limits.
pub(super) fn settled(schema: Value) -> Value {
    let Value::Object(mut fields) = schema else { return schema };
    let is_whole = fields.get("multipleOf").is_some_and(|step| step.as_u64().is_some_and(|step| step > 0));
    if let Some(Value::Array(names)) = fields.get_mut("type") {
        let has_numbers = names.iter().any(|name| name == "number");
        if has_numbers && is_whole {
            names.retain(|name| name != "number" && name != "integer");
            names.push("integer".into());
        } else if has_numbers {
            names.retain(|name| name != "integer");
        }
        names.sort_by(|a, b| a.as_str().cmp(&b.as_str()));
    }
    if holds_whole_numbers(&fields) && fields.get("multipleOf").is_some_and(|step| step.as_u64() == Some(1)) {
        fields.shift_remove("multipleOf");
    }
    limited(&mut fields, "minimum", "exclusiveMinimum", 1);
    limited(&mut fields, "maximum", "exclusiveMaximum", -1);
    if fields.contains_key("contains") {
        fields.entry("minContains").or_insert_with(|| 1.into());
    } else {
        fields.retain(|key, _| key != "minContains" && key != "maxContains");
    }
    if !fields.contains_key("if") || !fields.contains_key("then") && !fields.contains_key("else") {
        fields.retain(|key, _| !["if", "then", "else"].contains(&key.as_str()));
    }
    if let Some(Value::Array(names)) = fields.get("type").cloned() {
        let names: Vec<&str> = names.iter().filter_map(Value::as_str).collect();
        fields.retain(|key, _| concerns(key, &names));
    }
    Value::Object(fields)
}

fn holds_whole_numbers(fields: &Map<String, Value>) -> bool {
    let names = fields.get("type").and_then(Value::as_array);
    names.is_some_and(|names| names.iter().any(|name| name == "integer") && !names.iter().any(|name| name == "number"))
}

/// Of two limits, the one that says more; `step` leads from a whole number to the next that an exclusive limit allows.
fn limited(fields: &mut Map<String, Value>, plain: &str, exclusive: &str, step: i64) {
    let number = |fields: &Map<String, Value>, key: &str| fields.get(key).and_then(Value::as_number).cloned();
    let is_higher = |one: &Number, other: &Number| compare(one, other).is_gt() == (step > 0);
    if holds_whole_numbers(fields)
        && let Some(next) = fields.get(exclusive).and_then(Value::as_i64).and_then(|limit| limit.checked_add(step))
    {
        fields.shift_remove(exclusive);
        let next = Number::from(next);
        if number(fields, plain).is_none_or(|known| is_higher(&next, &known)) {
            fields.insert(plain.to_owned(), Value::Number(next));
        }
    }
    if let (Some(own), Some(other)) = (number(fields, plain), number(fields, exclusive)) {
        let is_exclusive = compare(&own, &other).is_eq() || is_higher(&other, &own);
        fields.shift_remove(if is_exclusive { plain } else { exclusive });
    }
}

/// Whether a keyword can refuse values of one of these types.
pub(super) fn concerns(keyword: &str, types: &[&str]) -> bool {
    let concerned = Keyword::named(keyword).and_then(|keyword| keyword.concerns);
    concerned.is_none_or(|concerned| types.iter().any(|name| concerned.has(TypeSet::named(name))))
}

/// A value with one spelling for numbers that are the same: `1.0` is `1`.
pub(super) fn numbered(value: &Value) -> Value {
    match value {
        Value::Number(number) if number.is_f64() => {
            let whole: Option<i64> = written(value).parse().ok();
            whole.map_or_else(|| value.clone(), Value::from)
        }
        Value::Array(items) => items.iter().map(numbered).collect(),
        Value::Object(fields) => {
            Value::Object(fields.iter().map(|(name, value)| (name.clone(), numbered(value))).collect())
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
    }
}

/// An enumeration says the types; what its type forbids is not in it.
fn enumerated(fields: &mut Map<String, Value>) {
    let types = fields.get("type").cloned();
    let Some(Value::Array(values)) = fields.get_mut("enum") else { return };
    if let Some(Value::Array(types)) = &types {
        let is_allowed = |value: &Value| types.iter().filter_map(Value::as_str).any(|name| is_of(value, name));
        values.retain(is_allowed);
    }
    let mut names: Vec<&str> = values.iter().map(|value| TypeSet::of(value).name()).collect();
    names.sort_unstable();
    names.dedup();
    let names = json!(names);
    fields.insert("type".to_owned(), names);
}

/// Whether a keyword with that value holds for every value.
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

/// Whether a value is of the type of that name.
pub(super) fn is_of(value: &Value, name: &str) -> bool {
    TypeSet::named(name).has(TypeSet::of(value))
}

/// How many branches are held against each other.
const MOST_BRANCHES: usize = 200;

/// Whether no value satisfies two of the branches, by their types or by values that are fixed.
fn are_disjoint(branches: &[Value]) -> bool {
    let fixed: Option<Vec<&Vec<Value>>> = branches.iter().map(|branch| branch["enum"].as_array()).collect();
    if let Some(fixed) = fixed {
        let mut met = BTreeSet::new();
        return fixed.into_iter().all(|values| {
            let own: BTreeSet<String> = values.iter().map(written).collect();
            own.into_iter().all(|value| met.insert(value))
        });
    }
    let rest = |at: usize| branches.iter().skip(at + 1);
    branches.len() <= MOST_BRANCHES
        && branches.iter().enumerate().all(|(at, one)| rest(at).all(|other| is_disjoint(one, other)))
}

fn is_disjoint(one: &Value, other: &Value) -> bool {
    if one.is_boolean() || other.is_boolean() {
        return true;
    }
    let (own, others) = (types(one), types(other));
    let is_number = |name: &str| name == "integer" || name == "number";
    let meets = |name: &&str| others.iter().any(|other| other == name || is_number(name) && is_number(other));
    !own.iter().any(meets) || has_other_values(one, other) || has_other_marks(one, other)
}

fn has_other_values(one: &Value, other: &Value) -> bool {
    let values =
        |schema: &Value| -> Option<BTreeSet<String>> { Some(schema["enum"].as_array()?.iter().map(written).collect()) };
    matches!((values(one), values(other)), (Some(one), Some(other)) if one.is_disjoint(&other))
}

/// Whether a property that one of them requires has other values in the other, and values without properties are not
/// in both.
fn has_other_marks(one: &Value, other: &Value) -> bool {
    let is_required = |schema: &Value, name: &str| {
        schema["required"].as_array().is_some_and(|names| names.iter().any(|known| known == name))
    };
    let tells = |(name, schema): (&String, &Value)| {
        (is_required(one, name) || is_required(other, name))
            && other["properties"].get(name).is_some_and(|twin| has_other_values(schema, twin))
    };
    [one, other].iter().any(|schema| types(schema) == ["object"])
        && one["properties"].as_object().is_some_and(|properties| properties.iter().any(tells))
}
