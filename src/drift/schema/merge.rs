//! Two schemas that must both hold as one, and unions of types as one schema.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use super::canonical::{RECURSIVE, says_nothing};
use super::document::UNRESOLVED_REF;
use crate::schema::{Keyword, KeywordLimit, TypeSet, canonical_text, compare};

/// One schema for values that satisfy both; what cannot be merged stays an `allOf`.
pub(crate) fn merge(whole: Value, part: Value) -> Value {
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
    let (part, mut rest) = if interfere(&whole, &part) { (Map::new(), part) } else { (part, Map::new()) };
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

/// Keywords that look at what stands beside them.
const TOGETHER: [&[&str]; 3] = [
    &["contains", "minContains", "maxContains"],
    &["if", "then", "else"],
    &["prefixItems", "items", "unevaluatedItems"],
];

/// Keywords of one schema would apply to what the other says, once both are one schema.
fn interfere(one: &Map<String, Value>, other: &Map<String, Value>) -> bool {
    let has = |schema: &Map<String, Value>, keys: &[&str]| keys.iter().any(|key| schema.contains_key(*key));
    let closes = |one, other| {
        has(one, &["additionalProperties", "unevaluatedProperties"]) && has(other, &["properties", "patternProperties"])
    };
    let differ = |keys: &[&str]| keys.iter().any(|key| one.get(*key) != other.get(*key));
    // `items` alone looks at nothing else.
    let looks = |keys: &[&str]| keys[1] != "items" || has(one, &[keys[0], keys[2]]) || has(other, &[keys[0], keys[2]]);
    closes(one, other)
        || closes(other, one)
        || TOGETHER.iter().any(|keys| has(one, keys) && has(other, keys) && differ(keys) && looks(keys))
}

fn both(key: &str, own: &Value, other: &Value) -> Option<Value> {
    match key {
        "required" | "allOf" => union(own, other),
        "type" => Some(json!(TypeSet::from_names(own).and(TypeSet::from_names(other)).names())),
        "enum" => {
            let (own, other) = (own.as_array()?, other.as_array()?);
            let others: BTreeSet<String> = other.iter().map(canonical_text).collect();
            Some(own.iter().filter(|value| others.contains(&canonical_text(value))).cloned().collect())
        }
        "properties" => {
            let mut properties = own.as_object()?.clone();
            for (name, schema) in other.as_object()? {
                let known = properties.get(name).cloned();
                properties.insert(name.clone(), known.map_or(schema.clone(), |known| merge(known, schema.clone())));
            }
            Some(Value::Object(properties))
        }
        "items" | "propertyNames" => Some(merge(own.clone(), other.clone())),
        "uniqueItems" => Some(Value::Bool(true)),
        _ => {
            let order = compare(own.as_number()?, other.as_number()?);
            let is_stricter = match Keyword::find(key)?.limit? {
                KeywordLimit::Low => order.is_ge(),
                KeywordLimit::High => order.is_le(),
                KeywordLimit::Step => return None,
            };
            Some(if is_stricter { own.clone() } else { other.clone() })
        }
    }
}

fn union(own: &Value, other: &Value) -> Option<Value> {
    let each = own.as_array()?.iter().chain(other.as_array()?);
    let all: BTreeMap<String, &Value> = each.map(|value| (value.to_string(), value)).collect();
    Some(all.into_values().cloned().collect())
}

/// A union as one schema, where all branches but one only name types that the other has nothing to do with.
pub(crate) fn add_types(branches: &[Value]) -> Option<Value> {
    let bare = |branch: &Value| -> Option<Map<String, Value>> {
        let fields = branch.as_object()?.iter().filter(|(key, _)| !says_nothing(key));
        Some(fields.map(|(key, value)| (key.clone(), value.clone())).collect())
    };
    let mut types = TypeSet::NONE;
    let mut fuller = None;
    for branch in branches {
        let fields = bare(branch)?;
        let named = TypeSet::from_names(fields.get("type")?);
        let names_null = fields.get("enum").is_some_and(|values| *values == json!([null]));
        if fields.len() == 1 || names_null {
            types = types.or(named);
        } else if fuller.replace(branch).is_some() {
            return None;
        }
    }
    let Some(fuller) = fuller else { return Some(json!({"type": types.names()})) };
    let own = TypeSet::of_schema(fuller);
    let has_more = ["anyOf", "oneOf", "allOf", "not", "if", UNRESOLVED_REF, RECURSIVE]
        .iter()
        .any(|key| fuller.get(*key).is_some());
    if has_more || own.has(types) {
        return None;
    }
    let mut whole = fuller.clone();
    if let Some(values) = whole.get_mut("enum").and_then(Value::as_array_mut) {
        if types != TypeSet::NULL {
            return None;
        }
        values.push(Value::Null);
    }
    whole["type"] = json!(types.or(own).names());
    Some(whole)
}
