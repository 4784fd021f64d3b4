//! When two JSON values are equal, when one includes the other, and where they part.

use serde_json::Value as Json;

use super::show;
use crate::schema::same;

/// The number of differences that are looked for; a reader mends the first ones first.
const LIMIT: usize = 8;

/// The part of the actual value that the expected one must describe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MatchExtent {
    /// All of it.
    Whole,
    /// The part that is listed: further fields and elements are welcome.
    Part,
}

/// Compares an expected value with the actual one; numbers compare by value.
pub(crate) fn fits(expected: &Json, actual: &Json, extent: MatchExtent) -> bool {
    match (expected, actual) {
        _ if extent == MatchExtent::Whole => same(expected, actual),
        (Json::Array(expected), Json::Array(actual)) => {
            expected.iter().all(|e| actual.iter().any(|a| fits(e, a, extent)))
        }
        (Json::Object(expected), Json::Object(actual)) => {
            expected.iter().all(|(key, e)| actual.get(key).is_some_and(|a| fits(e, a, extent)))
        }
        _ => same(expected, actual),
    }
}

/// The way from two values to the first place where they part, in the manner of a path; empty where they are the place.
pub(crate) fn first_difference(expected: &Json, actual: &Json) -> String {
    match (expected, actual) {
        (Json::Object(expected), Json::Object(actual)) => {
            let parts = |(key, value): (&String, &Json)| match actual.get(key) {
                Some(found) if same(value, found) => None,
                Some(found) => Some(field(key) + &first_difference(value, found)),
                None => Some(field(key)),
            };
            let added = || actual.keys().find(|key| !expected.contains_key(*key)).map(|key| field(key));
            expected.iter().find_map(parts).or_else(added).unwrap_or_default()
        }
        (Json::Array(expected), Json::Array(actual)) => {
            let mut pairs = expected.iter().zip(actual).enumerate();
            let parted = pairs.find(|(_, (value, found))| !same(value, found));
            parted.map_or_else(
                || format!("[{}]", expected.len().min(actual.len())),
                |(at, (value, found))| format!("[{at}]{}", first_difference(value, found)),
            )
        }
        _ => String::new(),
    }
}

fn field(key: &str) -> String {
    let is_plain = !key.is_empty() && key.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '-');
    if is_plain { format!(".{key}") } else { format!("[{}]", Json::from(key)) }
}

/// Describes the first few differences of two values.
pub(crate) fn differences(expected: &Json, actual: &Json, extent: MatchExtent) -> String {
    let mut found = Vec::new();
    part(expected, actual, extent, &mut Trail { steps: Vec::new(), found: &mut found });
    let shown = found.iter().take(3).cloned().collect::<Vec<_>>().join("; ");
    match found.len() {
        0..=3 => shown,
        LIMIT.. => format!("{shown}; and more"),
        more => format!("{shown}; and {} more", more - 3),
    }
}

/// The way to the values that are compared, and what was found on it.
struct Trail<'a> {
    steps: Vec<String>,
    found: &'a mut Vec<String>,
}

impl Trail<'_> {
    fn place(&self) -> String {
        let joined = self.steps.concat();
        format!("`{}`", joined.trim_start_matches('.'))
    }

    fn push(&mut self, difference: String) {
        if self.found.len() < LIMIT {
            self.found.push(difference);
        }
    }

    fn within(&mut self, step: String, look: impl FnOnce(&mut Self)) {
        self.steps.push(step);
        look(self);
        self.steps.pop();
    }
}

fn part(expected: &Json, actual: &Json, extent: MatchExtent, trail: &mut Trail<'_>) {
    if trail.found.len() >= LIMIT || fits(expected, actual, extent) {
        return;
    }
    match (expected, actual) {
        (Json::Object(expected), Json::Object(actual)) => {
            for (key, value) in expected {
                trail.within(format!(".{key}"), |trail| match actual.get(key) {
                    Some(found) => part(value, found, extent, trail),
                    None => trail.push(format!("{} is missing", trail.place())),
                });
            }
            for key in actual.keys().filter(|key| extent == MatchExtent::Whole && !expected.contains_key(*key)) {
                trail.within(format!(".{key}"), |trail| trail.push(format!("{} is not expected", trail.place())));
            }
        }
        (Json::Array(expected), Json::Array(actual)) => part_arrays(expected, actual, extent, trail),
        _ if trail.steps.is_empty() => trail.push(format!("found {}", show::inline(actual))),
        _ => trail.push(format!("{} is {}, not {}", trail.place(), show::inline(actual), show::inline(expected))),
    }
}

fn part_arrays(expected: &[Json], actual: &[Json], extent: MatchExtent, trail: &mut Trail<'_>) {
    if extent == MatchExtent::Part {
        for missing in expected.iter().filter(|e| !actual.iter().any(|a| fits(e, a, extent))) {
            let whose = if trail.steps.is_empty() { String::new() } else { format!(" of {}", trail.place()) };
            trail.push(format!("no element{whose} is {}", show::inline(missing)));
        }
        return;
    }
    for (at, (value, found)) in expected.iter().zip(actual).enumerate() {
        trail.within(format!("[{at}]"), |trail| part(value, found, extent, trail));
    }
    if expected.len() != actual.len() {
        let whose = if trail.steps.is_empty() { "the array".to_owned() } else { trail.place() };
        trail.push(format!("{whose} has {}, not {}", show::count(actual.len(), "element"), expected.len()));
    }
}

/// The fields of `actual` that `expected` speaks of, so that a difference shows nothing else.
pub(crate) fn spoken_of(expected: &Json, actual: &Json) -> Json {
    match (expected, actual) {
        (Json::Object(expected), Json::Object(actual)) => expected
            .iter()
            .filter_map(|(key, value)| actual.get(key).map(|found| (key.clone(), spoken_of(value, found))))
            .collect(),
        _ => actual.clone(),
    }
}
