//! Whether a value fits one subschema.
//!
//! Only good for choosing: `unevaluated…` is not looked at, and the last word belongs to the `jsonschema` crate.

use std::cmp::Ordering;

use serde_json::{Map, Number, Value};

use super::{Bound, Kinds, Rules, SchemaId, Schemas};

/// How deep references may be followed without an end.
const DEEPEST: usize = 120;

impl Schemas {
    /// Whether a value fits a subschema.
    pub(in crate::generate) fn fits(&self, id: SchemaId, value: &Value) -> bool {
        self.fits_at(id, value, 0)
    }

    /// Whether a value fits all of several subschemas.
    pub(in crate::generate) fn fits_all(&self, ids: &[SchemaId], value: &Value) -> bool {
        ids.iter().all(|id| self.fits(*id, value))
    }

    fn fits_at(&self, id: SchemaId, value: &Value, depth: usize) -> bool {
        if depth > DEEPEST {
            return true;
        }
        let rules = &**self.rules(id);
        let deeper = |id: SchemaId| self.fits_at(id, value, depth + 1);
        fits_plainly(rules, value)
            && self.fits_kind(rules, value, depth)
            && rules.all.iter().all(|id| deeper(*id))
            && (rules.any.is_empty() || rules.any.iter().any(|id| deeper(*id)))
            && (rules.whichever.is_empty() || rules.whichever.iter().any(|id| deeper(*id)))
            && (rules.one.is_empty() || rules.one.iter().filter(|id| deeper(**id)).take(2).count() == 1)
            && rules.not.is_none_or(|id| !deeper(id))
            && rules.reject.is_none_or(|id| !deeper(id))
            && rules.condition.as_ref().is_none_or(|condition| {
                let next = if deeper(condition.when) { condition.then } else { condition.otherwise };
                next.is_none_or(deeper)
            })
    }

    fn fits_kind(&self, rules: &Rules, value: &Value, depth: usize) -> bool {
        match value {
            Value::String(_) => rules.pattern.as_ref().is_none_or(|pattern| self.matches(pattern, value)),
            Value::Array(items) => self.fits_items(rules, items, depth),
            Value::Object(members) => self.fits_members(rules, members, value, depth),
            Value::Null | Value::Bool(_) | Value::Number(_) => true,
        }
    }

    fn fits_items(&self, rules: &Rules, items: &[Value], depth: usize) -> bool {
        let contained = rules.contains.as_ref().is_none_or(|contains| {
            let count = items.iter().filter(|item| self.fits_at(contains.schema, item, depth + 1)).count();
            count >= contains.min && contains.max.is_none_or(|max| count <= max)
        });
        let fitting = items.iter().enumerate().all(|(at, item)| {
            let schema = rules.prefix.get(at).copied().or(rules.items);
            schema.is_none_or(|schema| self.fits_at(schema, item, depth + 1))
        });
        contained && fitting
    }

    fn fits_members(&self, rules: &Rules, members: &Map<String, Value>, whole: &Value, depth: usize) -> bool {
        let named = members.iter().all(|(name, value)| {
            let named = rules.names.is_none_or(|names| self.fits_at(names, &Value::String(name.clone()), depth + 1));
            named && self.member_schemas(rules, name).all(|schema| self.fits_at(schema, value, depth + 1))
        });
        named
            && rules
                .dependent_schemas
                .iter()
                .all(|(name, schema)| !members.contains_key(name) || self.fits_at(*schema, whole, depth + 1))
    }

    /// The subschemas that one subschema applies to a member.
    pub(in crate::generate) fn member_schemas<'a>(
        &'a self,
        rules: &'a Rules,
        name: &'a str,
    ) -> impl Iterator<Item = SchemaId> + 'a {
        let own = rules.properties.get(name).copied();
        let text = (!rules.pattern_properties.is_empty()).then(|| Value::String(name.to_owned()));
        let mut found: Vec<SchemaId> = own.into_iter().collect();
        for (pattern, schema) in &rules.pattern_properties {
            if text.as_ref().is_some_and(|text| self.matches(pattern, text)) {
                found.push(*schema);
            }
        }
        if found.is_empty() {
            found.extend(rules.additional);
        }
        found.into_iter()
    }
}

/// What can be said without looking at other subschemas.
fn fits_plainly(rules: &Rules, value: &Value) -> bool {
    let known = !rules.never
        && rules.kinds.is_none_or(|kinds| kinds.has(Kinds::of(value)))
        && rules.values.as_ref().is_none_or(|values| values.iter().any(|known| same(known, value)))
        && !rules.forbidden.iter().any(|forbidden| same(forbidden, value));
    known
        && match value {
            Value::Number(number) => fits_numbers(rules, number),
            Value::String(text) => {
                let bounded = rules.min_length.is_some() || rules.max_length.is_some();
                !bounded || within(text.chars().count(), rules.min_length, rules.max_length)
            }
            Value::Array(items) => {
                within(items.len(), rules.min_items, rules.max_items) && (!rules.unique || all_differ(items))
            }
            Value::Object(members) => {
                within(members.len(), rules.min_properties, rules.max_properties)
                    && rules.required.iter().all(|name| members.contains_key(name))
                    && rules.dependent.iter().all(|(name, wanted)| {
                        !members.contains_key(name) || wanted.iter().all(|name| members.contains_key(name))
                    })
            }
            Value::Null | Value::Bool(_) => true,
        }
}

fn fits_numbers(rules: &Rules, number: &Number) -> bool {
    rules.low.iter().all(|bound| above(number, bound))
        && rules.high.iter().all(|bound| beneath(number, bound))
        && rules.step.as_ref().is_none_or(|step| is_multiple(number, step))
}

fn above(number: &Number, bound: &Bound) -> bool {
    match compare(number, &bound.number) {
        Ordering::Greater => true,
        Ordering::Equal => !bound.exclusive,
        Ordering::Less => false,
    }
}

fn beneath(number: &Number, bound: &Bound) -> bool {
    match compare(number, &bound.number) {
        Ordering::Less => true,
        Ordering::Equal => !bound.exclusive,
        Ordering::Greater => false,
    }
}

fn within(count: usize, min: Option<usize>, max: Option<usize>) -> bool {
    min.is_none_or(|min| count >= min) && max.is_none_or(|max| count <= max)
}

/// Whether no two items are the same.
fn all_differ(items: &[Value]) -> bool {
    items.iter().enumerate().all(|(at, item)| !items[..at].iter().any(|other| same(other, item)))
}

/// The order of two numbers.
pub(in crate::generate) fn compare(one: &Number, other: &Number) -> Ordering {
    if let (Some(one), Some(other)) = (one.as_i128(), other.as_i128()) {
        return one.cmp(&other);
    }
    let (one, other) = (one.as_f64().unwrap_or(0.0), other.as_f64().unwrap_or(0.0));
    one.partial_cmp(&other).unwrap_or(Ordering::Equal)
}

/// Whether a number is a multiple of another, as far as binary fractions can tell.
pub(in crate::generate) fn is_multiple(number: &Number, step: &Number) -> bool {
    if let (Some(number), Some(step)) = (number.as_i128(), step.as_i128()) {
        return step != 0 && number % step == 0;
    }
    let (number, step) = (number.as_f64().unwrap_or(0.0), step.as_f64().unwrap_or(1.0));
    let times = number / step;
    (times - times.round()).abs() <= times.abs().max(1.0) * 1e-11
}

/// Whether two values are the same JSON: `1` and `1.0` are.
pub(in crate::generate) fn same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => compare(one, other) == Ordering::Equal,
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| same(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            one.len() == other.len()
                && one.iter().all(|(name, value)| other.get(name).is_some_and(|other| same(value, other)))
        }
        _ => one == other,
    }
}
