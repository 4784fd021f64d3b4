//! Branches of `oneOf` that exclude one another: of those, at most one holds without anybody counting.

use std::collections::BTreeSet;

use serde_json::Value;

use super::walk::types;
use crate::schema::written;

/// How many branches are held against each other.
const MOST: usize = 200;

/// Whether no value satisfies two of the branches, by their types or by values that are fixed.
pub(super) fn are_disjoint(branches: &[Value]) -> bool {
    let fixed: Option<Vec<&Vec<Value>>> = branches.iter().map(|branch| branch["enum"].as_array()).collect();
    if let Some(fixed) = fixed {
        let mut met = BTreeSet::new();
        return fixed.into_iter().all(|values| {
            let own: BTreeSet<String> = values.iter().map(written).collect();
            own.into_iter().all(|value| met.insert(value))
        });
    }
    let rest = |at: usize| branches.iter().skip(at + 1);
    branches.len() <= MOST && branches.iter().enumerate().all(|(at, one)| rest(at).all(|other| is_disjoint(one, other)))
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
