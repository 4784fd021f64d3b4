//! Broken arrays and objects: too few, too many, missing, unexpected.

use serde_json::{Map, Value, json};

use crate::generate::make::with;
use crate::schema::SchemaRules;

use super::candidate::{InvalidCandidate, group};
use super::{Breach, BreakableValue, weight};

/// Arrays and objects grow up to this many elements.
const LONGEST: usize = 2_000;

/// The number of values that are added at most.
const MOST_ADDED: usize = 20_000;

pub(crate) fn broken(rules: &SchemaRules, spot: &BreakableValue) -> Vec<Vec<InvalidCandidate>> {
    match &spot.value {
        Value::Array(items) => arrays(rules, items, &spot.name),
        Value::Object(members) => objects(rules, members, &spot.name),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Vec::new(),
    }
}

fn arrays(rules: &SchemaRules, items: &[Value], place: &str) -> Vec<Vec<InvalidCandidate>> {
    let mut groups = Vec::new();
    if let Some(min) = rules.min_items.filter(|min| *min > 0 && *min <= items.len()) {
        let says = format!("{place} has fewer items than `minItems` {min}");
        let (first, last) = (items[..min - 1].to_vec(), items[items.len() + 1 - min..].to_vec());
        groups.push(group(Breach::TooFew, "minItems", &says, [json!(first), json!(last)]));
    }
    if let (Some(max), Some(last)) = (rules.max_items.filter(|max| *max < LONGEST), items.last()) {
        groups.push(too_many(items, last, max, place));
    }
    if let (true, Some(first)) = (rules.unique, items.first()) {
        let mut longer = items.to_vec();
        longer.push(first.clone());
        let mut swapped = items.to_vec();
        if let [first, .., last] = &mut swapped[..] {
            last.clone_from(first);
        }
        let says = format!("two items of {place} are the same");
        groups.push(group(Breach::NotUnique, "uniqueItems", &says, [json!(longer), json!(swapped)]));
    }
    let mut longer = items.to_vec();
    longer.push(json!("unexpected"));
    let closed =
        [("additionalItems", rules.items), ("items", rules.items), ("unevaluatedItems", rules.unevaluated_items)];
    for (keyword, _) in closed.into_iter().filter(|(_, schema)| schema.is_some()) {
        let says = format!("{place} has an item too many");
        groups.push(group(Breach::TooMany, keyword, &says, [json!(longer)]));
    }
    groups
}

fn too_many(items: &[Value], last: &Value, max: usize, place: &str) -> Vec<InvalidCandidate> {
    let says = format!("{place} has more items than `maxItems` {max}");
    let wanted = (max + 1).saturating_sub(items.len()).max(1);
    // The last item again is the likeliest to fit, unless it is large.
    let last = if weight(last) * wanted > MOST_ADDED { &Value::Null } else { last };
    let more = |by: &dyn Fn(usize) -> Value| {
        let many: Vec<Value> = items.iter().cloned().chain((0..wanted).map(by)).collect();
        InvalidCandidate::new(Breach::TooMany, "maxItems", &says, Value::Array(many))
    };
    vec![more(&|_| last.clone()), more(&|at| json!(format!("item {at}"))), more(&|at| json!(1_000 + at))]
}

fn objects(rules: &SchemaRules, members: &Map<String, Value>, place: &str) -> Vec<Vec<InvalidCandidate>> {
    let mut groups: Vec<Vec<InvalidCandidate>> = Vec::new();
    let most = (MOST_ADDED * 10 / members.len().max(1)).max(4);
    for name in rules.required.iter().filter(|name| members.contains_key(*name)).take(most) {
        let says = format!("`{name}` is missing");
        let missing = InvalidCandidate::new(Breach::MissingRequired, "required", &says, without(members, &[name]));
        groups.push(vec![missing.of(name)]);
    }
    for (name, needed) in rules.dependent.iter().filter(|(name, _)| members.contains_key(name)).take(most) {
        groups.extend(needed.iter().take(most).flat_map(|needed| without_dependency(members, name, needed)));
    }
    let closed = [("additionalProperties", rules.additional), ("unevaluatedProperties", rules.unevaluated_properties)];
    for (keyword, _) in closed.into_iter().filter(|(_, schema)| schema.is_some()) {
        let says = format!("{place} has the member `unexpected`, which is not allowed");
        groups.push(group(Breach::ExtraProperty, keyword, &says, [with(members, "unexpected", json!("value"))]));
    }
    if rules.names.is_some() {
        groups.push(bad_names(members, place));
    }
    groups.extend(too_few_members(rules, members, place));
    groups.extend(rules.max_properties.filter(|max| *max < LONGEST).map(|max| too_many_members(members, max, place)));
    groups
}

/// Objects that have a member and lack another that it requires.
fn without_dependency(members: &Map<String, Value>, name: &str, needed: &str) -> Vec<Vec<InvalidCandidate>> {
    let says = format!("`{name}` is there without `{needed}`");
    let broken = without(members, &[needed]);
    let of = |keyword: &str| InvalidCandidate::new(Breach::MissingRequired, keyword, &says, broken.clone()).of(needed);
    vec![vec![of("dependentRequired")], vec![of("dependencies")]]
}

fn bad_names(members: &Map<String, Value>, place: &str) -> Vec<InvalidCandidate> {
    let known = members.values().next().cloned().unwrap_or(json!("value"));
    let long = "x".repeat(200);
    let mut found = Vec::new();
    for name in ["not allowed!", "", "A", "a", "0", &long] {
        let says = format!("{place} has a member named `{name}`, which is not allowed");
        let named = [known.clone(), json!("value"), json!(1)].map(|value| with(members, name, value));
        found.extend(group(Breach::PropertyName, "propertyNames", &says, named));
    }
    found
}

fn too_few_members(rules: &SchemaRules, members: &Map<String, Value>, place: &str) -> Option<Vec<InvalidCandidate>> {
    let min = rules.min_properties.filter(|min| *min > 0 && *min <= members.len())?;
    let optional: Vec<&str> =
        members.keys().map(String::as_str).filter(|name| !rules.required.iter().any(|known| known == name)).collect();
    let gone = optional.len().checked_sub(members.len() + 1 - min)?;
    let says = format!("{place} has fewer members than `minProperties` {min}");
    Some(group(Breach::TooFew, "minProperties", &says, [without(members, &optional[gone..])]))
}

fn too_many_members(members: &Map<String, Value>, max: usize, place: &str) -> Vec<InvalidCandidate> {
    let says = format!("{place} has more members than `maxProperties` {max}");
    let wanted = (max + 1).saturating_sub(members.len());
    let known = members.values().next_back().filter(|value| weight(value) * wanted <= MOST_ADDED);
    let known = known.cloned().unwrap_or(json!("value"));
    let grown = [known, json!("value"), json!(1), Value::Null].map(|value| {
        let mut many = members.clone();
        many.extend((1..=wanted).map(|at| (format!("extra{at}"), value.clone())));
        Value::Object(many)
    });
    group(Breach::TooMany, "maxProperties", &says, grown)
}

fn without(members: &Map<String, Value>, names: &[&str]) -> Value {
    let kept = members.iter().filter(|(name, _)| !names.contains(&name.as_str()));
    Value::Object(kept.map(|(name, value)| (name.clone(), value.clone())).collect())
}
