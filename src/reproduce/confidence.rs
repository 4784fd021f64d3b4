//! Which recorded values would be the same the next time, and what can be said of the others.

use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value;

use crate::path::{DottedPath, PathStep};
use crate::redact::{MASK, reads_drawn};

/// The confidence that a value comes back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Confidence {
    /// It does.
    High,
    /// It may depend on what was done before.
    Stateful,
    /// It does not.
    Volatile,
}

/// The effect of a request on the data of the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallEffect {
    Reads,
    MayWrite,
}

/// Texts that are made anew each time, with what any of them looks like.
const SHAPES: [(&str, &str); 3] = [
    (
        r"(?i)^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$",
        "^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$",
    ),
    (r"^\d{4}-\d\d-\d\dT\d\d:\d\d", r"^\d{4}-\d\d-\d\dT\d\d:\d\d"),
    (r"^\d{4}-\d\d-\d\d$", r"^\d{4}-\d\d-\d\d$"),
];

/// Parts of texts that differ from run to run: ids, times, temporary places, ports, durations.
const FLEETING: &str = concat!(
    r"(?i)[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-|\d{4}-\d\d-\d\d[T ]\d|\b\d{1,2}:\d\d:\d\d\b|[0-9a-f]{24,}",
    r"|/tmp/|/temp/|\\temp\\|/var/folders/|/scratch/|\b(?:localhost|127\.0\.0\.1|\[::1\]):\d+|\b\d+(?:\.\d+)? ?(?:ms|µs|ns|s|sec|seconds|minutes)\b",
    r"|\bpid\b|\b1[5-9]\d{8}(?:\d{3})?\b|0x[0-9a-f]{6,}|\bGMT\b|\bUTC\b",
);

/// Names of members whose values are made anew each time.
const FLEETING_NAMES: &str = r"(?i)^(?:time|date|now|timestamp|uuid|guid|nonce|etag|port|pid|uptime|elapsed|duration|random|seed|cwd|host(?:name)?|.*(?:_at|At|_time|Time|_date|Date|_ms|Timestamp|timestamp|Uuid|_uuid|_token|Token|_seconds))$";

/// Names of members whose values depend on how often something was done.
const COUNTED_NAMES: &str = r"(?i)^(?:id|ids|key|number|no|seq|sequence|version|revision|index|position|offset|count|total|size|length|remaining|cursor|nextCursor|next|uri|.*(?:_id|Id|_count|Count|_total|Total|_number|_version))$";

#[expect(clippy::unwrap_used, reason = "the patterns are constant")]
static PATTERNS: LazyLock<[Regex; 3]> =
    LazyLock::new(|| [FLEETING, FLEETING_NAMES, COUNTED_NAMES].map(|pattern| Regex::new(pattern).unwrap()));

/// The confidence in a value at a path.
pub fn confidence(path: &DottedPath, value: &Value, effect: CallEffect) -> Confidence {
    let [fleeting, fleeting_names, counted_names] = &*PATTERNS;
    let is_fleeting = |text: &str| fleeting.is_match(text);
    if path.names().any(|name| fleeting_names.is_match(name)) || texts(value).iter().any(|text| is_fleeting(text)) {
        return Confidence::Volatile;
    }
    // Seconds or milliseconds since 1970, for some decades from now.
    let is_time = |number: u64| {
        (1_500_000_000..4_000_000_000).contains(&(number / if number > 1_000_000_000_000 { 1000 } else { 1 }))
    };
    if value.as_u64().is_some_and(is_time) {
        return Confidence::Volatile;
    }
    let is_counted = path.names().next_back().is_some_and(|name| counted_names.is_match(name));
    let is_count = value.is_number() || effect == CallEffect::MayWrite;
    if is_counted && is_count { Confidence::Stateful } else { Confidence::High }
}

fn texts(value: &Value) -> Vec<&str> {
    match value {
        Value::String(text) => vec![text],
        Value::Array(items) => items.iter().flat_map(texts).collect(),
        Value::Object(members) => members.values().flat_map(texts).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) => Vec::new(),
    }
}

/// A text holds something that differs from run to run.
pub fn is_fleeting(text: &str) -> bool {
    PATTERNS[0].is_match(text)
}

/// A value that another run of a right server has, too, as far as one can see: no time, no drawn id, no place on this
/// machine, and nothing that was hidden.
pub fn lasts(value: &Value) -> bool {
    #[expect(clippy::unwrap_used, reason = "the pattern is constant")]
    static PASSING_NAMES: LazyLock<Regex> = LazyLock::new(|| {
        // Summer time, and what a shell says of its user and machine.
        Regex::new(concat!(
            r"^(?:(?i:.*dst|.*week_?day|.*day_?of_?week)",
            r"|HOME|HOSTNAME|LANG|LC_[A-Z]+|LOGNAME|PWD|SHELL|SHLVL|TERM|TZ|USER)$",
        ))
        .unwrap()
    });
    fn member_lasts(names: &mut DottedPath, value: &Value) -> bool {
        match value {
            Value::Array(items) => items.iter().all(|item| member_lasts(names, item)),
            Value::Object(members) => members.iter().all(|(name, member)| {
                if PASSING_NAMES.is_match(name) {
                    return false;
                }
                names.steps.push(PathStep::Member(name.clone()));
                let is_lasting = member_lasts(names, member);
                names.steps.pop();
                is_lasting
            }),
            Value::String(text) if !text_lasts(text) => false,
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
                confidence(names, value, CallEffect::Reads) != Confidence::Volatile
            }
        }
    }
    member_lasts(&mut DottedPath { steps: Vec::new() }, value)
}

/// The same of a text under no name.
pub fn text_lasts(text: &str) -> bool {
    #[expect(clippy::unwrap_used, reason = "the pattern is constant")]
    static PASSING: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(concat!(
            r"\d{4}-\d\d-\d\d|\d\d:\d\d|\d{9}|(^|[\s:=(\x22'`])/[^\s/]+/|[A-Za-z]:\\",
            // A day of this week, and the distance of two time zones, of which one may have summer.
            r"|\b(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day\b|[+-]\d+(?:\.\d+)?h\b",
        ))
        .unwrap()
    });
    let is_drawn = || text.split_whitespace().any(reads_drawn);
    !text.contains(MASK) && !PASSING.is_match(text) && !is_fleeting(text) && !is_drawn()
}

/// A value is made anew each time, as far as the names of its field and its form tell.
pub fn is_volatile(field: &str, value: &Value) -> bool {
    let names = field.split(['.', '[', ']']).filter(|name| !name.is_empty() && name.parse::<usize>().is_err());
    let path = DottedPath { steps: names.map(|name| PathStep::Member(name.to_owned())).collect() };
    confidence(&path, value, CallEffect::Reads) == Confidence::Volatile
}

/// Matchers that hold of any value like this one, the most telling first.
pub fn likenesses(value: &Value) -> Vec<(&'static str, Value)> {
    let mut found = Vec::new();
    if let Value::String(text) = value {
        found.extend(shape(text).map(|pattern| ("matches", pattern.into())));
        found.push(("length", serde_json::json!({"min": 1})));
    }
    found.push(("type", json_type(value).into()));
    if value.is_number() {
        found.push(("at_least", 0.into()));
    }
    found.push(("exists", true.into()));
    found
}

/// The JSON type of a value, as `type:` names it.
pub fn json_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// A pattern that a text has together with all of its kind: a known shape, or any digits for its digits.
fn shape(text: &str) -> Option<String> {
    for (is_such, pattern) in SHAPES {
        if Regex::new(is_such).is_ok_and(|is_such| is_such.is_match(text)) {
            return Some(pattern.to_owned());
        }
    }
    let is_code = text.len() <= 40 && text.chars().all(|c| c.is_ascii_alphanumeric() || "-_:/.".contains(c));
    if !is_code || !text.contains(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let digits = Regex::new(r"\d+").ok()?;
    Some(format!("^{}$", digits.replace_all(&regex::escape(text).replace("\\-", "-"), r"\d+")))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_comes_back() {
        let check = |name: &str, value: Value, effect: CallEffect, expected: Confidence| {
            let path = DottedPath { steps: vec![PathStep::Member(name.to_owned())] };
            assert_eq!(confidence(&path, &value, effect), expected, "{name} {value}");
        };
        check("name", json!("Ann"), CallEffect::MayWrite, Confidence::High);
        check("sum", json!(4), CallEffect::Reads, Confidence::High);
        check("id", json!("u1"), CallEffect::Reads, Confidence::High);
        check("id", json!("u1"), CallEffect::MayWrite, Confidence::Stateful);
        check("total", json!(3), CallEffect::Reads, Confidence::Stateful);
        check("id", json!("0191e6a5-9c0b-7d2a-8b7e-0123456789ab"), CallEffect::Reads, Confidence::Volatile);
        check("created_at", json!("yesterday"), CallEffect::Reads, Confidence::Volatile);
        check("x", json!("made 2026-01-02T03:04:05Z"), CallEffect::Reads, Confidence::Volatile);
        check("x", json!("wrote /tmp/a"), CallEffect::Reads, Confidence::Volatile);
        check("x", json!("on localhost:4711"), CallEffect::Reads, Confidence::Volatile);
        check("x", json!("took 12 ms"), CallEffect::Reads, Confidence::Volatile);
        check("x", json!(1_763_000_000), CallEffect::Reads, Confidence::Volatile);
        check("x", json!(1_763_000_000_123_u64), CallEffect::Reads, Confidence::Volatile);
        check("x", json!(12_000), CallEffect::Reads, Confidence::High);
    }

    #[test]
    fn times_places_and_drawn_ids_do_not_last() {
        for (value, expected) in [
            (json!({"sum": 5, "names": ["Ann", null]}), true),
            (json!({"total": 5, "id": "u1"}), true),
            (json!("2 users"), true),
            (json!({"made": "2026-01-02"}), false),
            (json!({"uptime": 5}), false),
            (json!("it is 12:31"), false),
            (json!("done in 5 s"), false),
            (json!(1_700_000_000), false),
            (json!("in /tmp/a/b"), false),
            (json!("\"/srv/data/x\""), false),
            (json!(["C:\\data"]), false),
            (json!("id 123e4567-e89b-42d3-a456-426614174000"), false),
            (json!("key [redacted]"), false),
            (json!({"day_of_week": "Saturday"}), false),
            (json!("open on Sunday"), false),
            (json!({"is_dst": false}), false),
            (json!("+14.0h"), false),
            (json!({"HOME": "somewhere"}), false),
            (json!({"home": "Berlin", "Sundays": 3}), true),
        ] {
            assert_eq!(lasts(&value), expected, "{value}");
        }
    }

    #[test]
    fn what_is_alike() {
        let check = |text: &str, expected: Option<&str>| assert_eq!(shape(text).as_deref(), expected, "{text}");
        check("u1", Some(r"^u\d+$"));
        check("INV-2026/17", Some(r"^INV-\d+/\d+$"));
        check("v1.2", Some(r"^v\d+\.\d+$"));
        check("2026-01-02T03:04:05Z", Some(r"^\d{4}-\d\d-\d\dT\d\d:\d\d"));
        check("Ann", None);
        check("a long text, with 3 numbers", None);
    }
}
