//! Arguments that say how long a tool is to take, or where it is to look: times stay small, or every call that works as it
//! should would look like one that hangs, and addresses lead nowhere, since nobody asked the rest of the world.

use serde_json::Value;

use crate::generate::Maker;

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
pub fn most(name: &str) -> Option<f64> {
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

/// Valid arguments that were made up, as they may be sent: quick, and leading nowhere. `None` where that makes them invalid.
pub fn tamed(maker: &Maker, mut arguments: Value) -> Option<Value> {
    let is_other = hurry(&mut arguments) | stay_home(&mut arguments);
    (!is_other || maker.is_valid(&arguments)).then_some(arguments)
}

/// Makes every number small that may be a time; says whether any was not.
pub fn hurry(value: &mut Value) -> bool {
    match value {
        Value::Object(members) => {
            members.iter_mut().fold(false, |changed, (name, value)| shorten(name, value) | hurry(value) | changed)
        }
        Value::Array(items) => items.iter_mut().fold(false, |changed, item| hurry(item) | changed),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

fn shorten(name: &str, value: &mut Value) -> bool {
    let Some(number) = value.as_f64() else { return false };
    let Some(most) = most(name) else { return false };
    // A part of a step may be what a time is divided by.
    if number > 0.0 && number < 1.0 {
        *value = 1.into();
        return true;
    }
    if number <= most {
        return false;
    }
    #[expect(clippy::cast_possible_truncation, reason = "the limits are small whole numbers")]
    let whole = most as i64;
    *value = whole.into();
    true
}

/// Lets addresses of the web lead to this machine, to a port where nothing answers; says whether any did not.
pub fn stay_home(value: &mut Value) -> bool {
    match value {
        Value::Object(members) => members.values_mut().fold(false, |changed, value| stay_home(value) | changed),
        Value::Array(items) => items.iter_mut().fold(false, |changed, item| stay_home(item) | changed),
        Value::String(text) => {
            let Some((scheme, rest)) = text.split_once("://").filter(|(scheme, _)| is_web(scheme)) else {
                return false;
            };
            let host = rest.find(['/', '?', '#']).unwrap_or(rest.len());
            let home = format!("{scheme}://{NOWHERE}{}", &rest[host..]);
            let is_far = home != *text;
            *text = home;
            is_far
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// A port of this machine that is reserved for what is thrown away.
const NOWHERE: &str = "127.0.0.1:9";

fn is_web(scheme: &str) -> bool {
    ["http", "https", "ws", "wss", "ftp"].iter().any(|known| scheme.eq_ignore_ascii_case(known))
}

/// The words of a name, in lower case.
pub fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut was_lower = false;
    for c in name.chars() {
        let begins = c.is_uppercase() && was_lower;
        if (begins || !c.is_alphanumeric()) && words.last().is_some_and(|word| !word.is_empty()) {
            words.push(String::new());
        }
        if let (true, Some(word)) = (c.is_alphanumeric(), words.last_mut()) {
            word.extend(c.to_lowercase());
        }
        was_lower = c.is_lowercase() || c.is_numeric();
    }
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn times_stay_small() {
        let check = |mut value: Value, expected: Value| {
            hurry(&mut value);
            assert_eq!(value, expected);
        };
        check(json!({"ms": 1e9, "n": 1e9, "delayMs": 5000}), json!({"ms": 20, "n": 1e9, "delayMs": 20}));
        check(
            json!({"duration": 10, "steps": 5, "sub": [{"timeout_sec": 60}]}),
            json!({"duration": 1, "steps": 3, "sub": [{"timeout_sec": 1}]}),
        );
        check(
            json!({"duration": -1, "wait": "long", "items": 99}),
            json!({"duration": -1, "wait": "long", "items": 99}),
        );
    }

    #[test]
    fn addresses_lead_nowhere() {
        let check = |text: &str, expected: &str| {
            let mut value = json!([text]);
            assert_eq!((stay_home(&mut value), value), (text != expected, json!([expected])));
        };
        check("https://example.com/a?b", "https://127.0.0.1:9/a?b");
        check("HTTP://u@example.com", "HTTP://127.0.0.1:9");
        check("users://all", "users://all");
        check("no address", "no address");
    }

    #[test]
    fn names_have_words() {
        let check = |name: &str, expected: &[&str]| assert_eq!(words(name), expected);
        check("delayMs", &["delay", "ms"]);
        check("user_id", &["user", "id"]);
        check("HTTPTimeout-2", &["httptimeout", "2"]);
        check("", &[]);
    }
}
