//! Values as they appear in messages: compact, shortened, long ones as a difference.

use serde::Serialize;
use serde_json::Value as Json;

use crate::source::{Ends, difference, nearest};
use crate::wire::value_memory;

/// The number of characters of a value that are shown as evidence.
const EVIDENCE: usize = 200;

/// The number of characters of a server's sentence that are shown within one of ours.
const SAID: usize = 200;

/// The number of characters of a value that are shown within a sentence.
const INLINE: usize = 60;

/// The number of characters that fit under a marked line.
pub(crate) const LABEL: usize = 160;

/// A difference longer than this is no longer read.
const DIFF_LINES: usize = 40;

/// More lines than these are not compared: the cost of a difference grows with its square.
const COMPARED_LINES: usize = 2_000;

/// Values that take more memory than this are not compared line by line, of which they have several times as much.
const COMPARED_WEIGHT: usize = 16 << 20;

/// A value as compact JSON, cut in the middle when long.
pub(crate) fn compact(value: &Json) -> String {
    cut_json(value, EVIDENCE)
}

/// A value as it stands within a sentence.
pub(crate) fn inline(value: &Json) -> String {
    cut_json(value, INLINE)
}

/// A text as it stands within a sentence.
pub(crate) fn quote(text: &str) -> String {
    shorten(text, INLINE)
}

/// A text as it is spelled in JSON, as evidence.
pub(crate) fn json_text(text: &str) -> String {
    cut_json(&text, EVIDENCE)
}

/// A sentence of a server on one line.
pub(crate) fn quote_sentence(text: &str) -> String {
    shorten(&text.split_whitespace().collect::<Vec<_>>().join(" "), SAID)
}

/// A text as evidence.
pub(crate) fn evidence(text: &str) -> String {
    shorten(text, EVIDENCE)
}

/// Keeps the two ends of a text longer than `limit` characters and says how long it is.
pub(crate) fn shorten(text: &str, limit: usize) -> String {
    // Bytes are never fewer than characters, so most texts need no count.
    if text.len() <= limit {
        return text.to_owned();
    }
    let length = text.chars().count();
    if length <= limit {
        return text.to_owned();
    }
    let head: String = text.chars().take(limit * 2 / 3).collect();
    let mut tail: Vec<char> = text.chars().rev().take(limit / 6).collect();
    tail.reverse();
    format!("{head} … ({length} characters) … {}", tail.into_iter().collect::<String>())
}

/// The same for the compact JSON of a value, which is never written as a whole.
fn cut_json(value: &impl Serialize, limit: usize) -> String {
    let Ends { head, tail, characters, .. } = Ends::of_json(value, limit, limit / 6);
    if characters <= limit {
        return head;
    }
    let head: String = head.chars().take(limit * 2 / 3).collect();
    format!("{head} … ({characters} characters) … {tail}")
}

/// Returns true if a value is small enough to be compared line by line.
pub(crate) fn is_compared(value: &Json) -> bool {
    value_memory(value) <= COMPARED_WEIGHT
}

pub(crate) fn is_short(value: &Json) -> bool {
    Ends::of_json(value, 0, 0).bytes <= INLINE
}

/// The kind of a JSON value, in the words of messages.
pub(crate) fn kind(value: &Json) -> &'static str {
    match value {
        Json::Null => "null",
        Json::Bool(_) => "a boolean",
        Json::Number(_) => "a number",
        Json::String(_) => "a string",
        Json::Array(_) => "an array",
        Json::Object(_) => "an object",
    }
}

/// A number and its noun in the right form.
pub(crate) fn count(number: usize, noun: &str) -> String {
    let ending = if number == 1 { "" } else { "s" };
    format!("{number} {noun}{ending}")
}

/// Names in backticks, the first `limit` of them.
pub(crate) fn names<'a>(names: impl Iterator<Item = &'a str>, limit: usize) -> String {
    let all: Vec<&str> = names.collect();
    let shown: Vec<String> = all.iter().take(limit).map(|name| format!("`{}`", quote(name))).collect();
    match all.len().saturating_sub(limit) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

/// The end of a sentence that offers the nearest of many names, however many and long a server made them.
pub(crate) fn did_you_mean<'a>(typed: &str, offered: impl Iterator<Item = &'a str>) -> String {
    let offered = offered.filter(|name| name.len() <= EVIDENCE).take(1_000);
    nearest(&shorten(typed, EVIDENCE), offered).map(|near| format!("; did you mean `{near}`?")).unwrap_or_default()
}

/// The difference of two values in the manner of `diff -u`, where one of them is too long for a line.
pub(crate) fn diff(expected: &Json, actual: &Json) -> Option<String> {
    if is_short(expected) && is_short(actual) || !is_compared(expected) || !is_compared(actual) {
        return None;
    }
    let (expected, actual) = match (expected, actual) {
        (Json::String(expected), Json::String(actual)) => (expected.clone(), actual.clone()),
        _ => (format!("{expected:#}"), format!("{actual:#}")),
    };
    let (expected, actual) = differing_part(&expected, &actual);
    let mut lines = Vec::new();
    for (at, group) in difference(&expected, &actual, 2).iter().enumerate() {
        if at > 0 {
            lines.push("@@".to_owned());
        }
        lines.extend(group.iter().map(|(side, line)| format!("{}{}", side.sign(), evidence(line))));
    }
    let more = lines.len().saturating_sub(DIFF_LINES);
    lines.truncate(DIFF_LINES);
    if more > 0 {
        lines.push(format!("… {}", count(more, "more line")));
    }
    (!lines.is_empty()).then(|| lines.join("\n"))
}

/// The lines from shortly before the first that differs, as many as can be compared at little cost.
fn differing_part<'a>(expected: &'a str, actual: &'a str) -> (Vec<&'a str>, Vec<&'a str>) {
    let same = expected.lines().zip(actual.lines()).take_while(|(left, right)| left == right).count();
    let part = |text: &'a str| text.lines().skip(same.saturating_sub(2)).take(COMPARED_LINES).collect();
    (part(expected), part(actual))
}
