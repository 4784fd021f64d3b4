//! Shortens generated durations and numbers of repetitions, so that a correct call does not look like one that hangs.

use std::time::Duration;

use serde_json::Value;

use crate::source::{parse_duration, words};

/// Words in the names of arguments that are durations.
const TIME_WORDS: [&str; 17] = [
    "delay", "delays", "duration", "interval", "pause", "sleep", "timeout", "wait", "seconds", "secs", "sec",
    "minutes", "hours", "days", "time", "ttl", "deadline",
];

/// The same for durations in milliseconds or less.
const SHORT_TIME_WORDS: [&str; 6] = ["ms", "millis", "milliseconds", "us", "micros", "microseconds"];

/// Words in the names of arguments that are numbers of repetitions.
const REPETITION_WORDS: [&str; 7] = ["steps", "repeat", "repeats", "repetitions", "iterations", "retries", "loops"];

/// The largest number for an argument of that name; `None` where it is neither a duration nor a number of repetitions.
pub(crate) fn limit(name: &str) -> Option<f64> {
    let words = words(name);
    let has = |known: &[&str]| words.iter().any(|word| known.contains(&word.as_str()));
    if has(&SHORT_TIME_WORDS) {
        Some(20.0)
    } else if has(&TIME_WORDS) {
        Some(1.0)
    } else if has(&REPETITION_WORDS) {
        Some(3.0)
    } else {
        None
    }
}

/// Numbers that schemas are likely to take where they do not take the smallest.
const ROUND_NUMBERS: [i64; 24] =
    [1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30, 50, 60, 100, 120, 150, 200, 250, 500, 1_000, 5_000, 10_000];

/// Shorter replacements for a duration of that name, the shortest first; empty where the value is no duration, or a
/// short one.
pub(crate) fn shorten(name: &str, value: &Value) -> Vec<Value> {
    match value {
        Value::Number(number) => number.as_f64().map(|number| shorter_numbers(name, number)).unwrap_or_default(),
        Value::String(text) if is_long(text) && limit(name).is_some() => {
            let short = if text.starts_with('P') { "PT1S" } else { "1s" };
            vec![short.into()]
        }
        Value::Null | Value::Bool(_) | Value::String(_) | Value::Array(_) | Value::Object(_) => Vec::new(),
    }
}

/// The numbers to try for an argument of that name, the shortest first.
pub(crate) fn shortest(name: &str) -> Vec<Value> {
    shorter_numbers(name, f64::INFINITY)
}

fn shorter_numbers(name: &str, number: f64) -> Vec<Value> {
    let Some(most) = limit(name) else { return Vec::new() };
    // A part of a step may be what a time is divided by.
    if number > 0.0 && number < 1.0 {
        return vec![1.into()];
    }
    if number <= most {
        return Vec::new();
    }
    #[expect(clippy::cast_possible_truncation, reason = "the limits are small whole numbers")]
    let first = most as i64;
    let others = ROUND_NUMBERS
        .into_iter()
        .filter(|other| *other > first && f64::from(i32::try_from(*other).unwrap_or(i32::MAX)) < number);
    std::iter::once(first).chain(others).map(Value::from).collect()
}

/// Returns true if a text is a duration of more than a second, as `30s`, `5m` and `PT1H` are.
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
    fn durations_are_shortened() {
        let check = |name: &str, value: Value, expected: Option<Value>| {
            assert_eq!(shorten(name, &value).first().cloned(), expected, "{name}");
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
    fn the_shortest_is_tried_first() {
        let tried = |value: Value| shorten("seconds", &value);
        assert_eq!(tried(json!(9)), [1, 2, 3, 4, 5, 6, 8].map(Value::from));
        assert_eq!(tried(json!(1)), [] as [Value; 0]);
        assert_eq!(shortest("steps")[..2], [3, 4].map(Value::from));
        assert!(shortest("name").is_empty());
    }
}
