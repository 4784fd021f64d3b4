//! When two values are the same JSON, and which of two numbers is greater.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use serde_json::{Number, Value};

/// The order of two numbers.
pub fn compare(one: &Number, other: &Number) -> Ordering {
    if let (Some(one), Some(other)) = (one.as_i128(), other.as_i128()) {
        return one.cmp(&other);
    }
    let (one, other) = (one.as_f64().unwrap_or(0.0), other.as_f64().unwrap_or(0.0));
    one.partial_cmp(&other).unwrap_or(Ordering::Equal)
}

/// A number is a multiple of another, as far as binary fractions can tell.
pub fn is_multiple(number: &Number, step: &Number) -> bool {
    if let (Some(number), Some(step)) = (number.as_i128(), step.as_i128()) {
        return step != 0 && number % step == 0;
    }
    let (number, step) = (number.as_f64().unwrap_or(0.0), step.as_f64().unwrap_or(1.0));
    let times = number / step;
    (times - times.round()).abs() <= times.abs().max(1.0) * 1e-11
}

/// Two values are the same JSON: `1` and `1.0` are.
pub fn same(one: &Value, other: &Value) -> bool {
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

/// A value as a text that it shares with whatever is the same JSON, and with nothing else.
pub fn canonical_text(value: &Value) -> String {
    match value {
        Value::Number(number) if number.is_f64() => {
            let number = number.as_f64().unwrap_or(0.0);
            // Below this, a fraction without decimal places stands for one whole number alone.
            if number.fract() == 0.0 && number.abs() < 9e15 {
                format!("{:.0}", number + 0.0)
            } else {
                number.to_string()
            }
        }
        Value::Array(items) => format!("[{}]", items.iter().map(canonical_text).collect::<Vec<_>>().join(",")),
        Value::Object(members) => {
            let sorted: BTreeMap<&String, &Value> = members.iter().collect();
            let members = sorted.into_iter().map(|(name, value)| format!("{name:?}:{}", canonical_text(value)));
            format!("{{{}}}", members.collect::<Vec<_>>().join(","))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.to_string(),
    }
}
