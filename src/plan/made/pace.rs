//! Arguments that say how long a tool is to take, or how often it is to do what takes time: they stay small, or every
//! call that works as it should would look like one that hangs.

use std::time::Duration;

use serde_json::Value;

use crate::source::{parse_duration, words};

/// Words in the names of arguments that are times.
const TIMES: [&str; 17] = [
    "delay", "delays", "duration", "interval", "pause", "sleep", "timeout", "wait", "seconds", "secs", "sec",
    "minutes", "hours", "days", "time", "ttl", "deadline",
];

/// The same for times in thousandths of a second or less.
const SHORT_TIMES: [&str; 6] = ["ms", "millis", "milliseconds", "us", "micros", "microseconds"];

/// Words in the names of arguments that say how often a tool is to do what may take time.
const TIMES_OVER: [&str; 7] = ["steps", "repeat", "repeats", "repetitions", "iterations", "retries", "loops"];

/// The most that a number of that name may be; `None` where it says nothing about time.
pub(super) fn most(name: &str) -> Option<f64> {
    let words = words(name);
    let has = |known: &[&str]| words.iter().any(|word| known.contains(&word.as_str()));
    if has(&SHORT_TIMES) {
        Some(20.0)
    } else if has(&TIMES) {
        Some(1.0)
    } else if has(&TIMES_OVER) {
        Some(3.0)
    } else {
        None
    }
}

/// Numbers that schemas are likely to take where they do not take the smallest.
const ROUND: [i64; 24] =
    [1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30, 50, 60, 100, 120, 150, 200, 250, 500, 1_000, 5_000, 10_000];

/// Shorter replacements for a duration of that name, the shortest first; empty where the value is no duration, or a
/// short one.
pub(super) fn quicker(name: &str, value: &Value) -> Vec<Value> {
    match value {
        Value::Number(number) => number.as_f64().map(|number| smaller(name, number)).unwrap_or_default(),
        Value::String(text) if is_long(text) && most(name).is_some() => {
            let short = if text.starts_with('P') { "PT1S" } else { "1s" };
            vec![short.into()]
        }
        Value::Null | Value::Bool(_) | Value::String(_) | Value::Array(_) | Value::Object(_) => Vec::new(),
    }
}

/// The smallest that a number of that name may be said to be, in the order in which they are tried.
pub(super) fn smallest(name: &str) -> Vec<Value> {
    smaller(name, f64::INFINITY)
}

fn smaller(name: &str, number: f64) -> Vec<Value> {
    let Some(most) = most(name) else { return Vec::new() };
    // A part of a step may be what a time is divided by.
    if number > 0.0 && number < 1.0 {
        return vec![1.into()];
    }
    if number <= most {
        return Vec::new();
    }
    #[expect(clippy::cast_possible_truncation, reason = "the limits are small whole numbers")]
    let first = most as i64;
    let others = ROUND
        .into_iter()
        .filter(|other| *other > first && f64::from(i32::try_from(*other).unwrap_or(i32::MAX)) < number);
    std::iter::once(first).chain(others).map(Value::from).collect()
}

/// Whether a text is a duration of more than a second, as `30s`, `5m` and `PT1H` are.
fn is_long(text: &str) -> bool {
    let standard = text.strip_prefix('P').is_some_and(|rest| {
        rest.contains(|c: char| c.is_ascii_digit())
            && rest.chars().all(|c| c.is_ascii_digit() || "YMWDTHS.".contains(c))
    });
    (standard && text != "PT1S") || parse_duration(text).is_some_and(|duration| duration > Duration::from_secs(1))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn times_stay_small() {
        let check = |name: &str, value: Value, expected: Option<Value>| {
            assert_eq!(quicker(name, &value).first().cloned(), expected, "{name}");
        };
        check("ms", json!(1e9), Some(json!(20)));
        check("delayMs", json!(5000), Some(json!(20)));
        check("delay_seconds", json!(3600), Some(json!(1)));
        check("steps", json!(5), Some(json!(3)));
        check("delay", json!(0.001), Some(json!(1)));
        check("duration", json!(-1), None);
        check("n", json!(1e9), None);
        check("wait", json!("long"), None);
        check("wait", json!("10m"), Some(json!("1s")));
        check("ttl", json!("P1D"), Some(json!("PT1S")));
        check("wait", json!("900ms"), None);
        check("name", json!("10m"), None);
    }

    #[test]
    fn the_least_is_tried_first() {
        let tried = |value: Value| quicker("seconds", &value);
        assert_eq!(tried(json!(9)), [1, 2, 3, 4, 5, 6, 8].map(Value::from));
        assert_eq!(tried(json!(1)), [] as [Value; 0]);
        assert_eq!(smallest("steps")[..2], [3, 4].map(Value::from));
        assert!(smallest("name").is_empty());
    }
}
