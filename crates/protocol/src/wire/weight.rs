//! Measures the memory that JSON takes once it is parsed, and refuses what takes too much.
//!
//! A line of `[0],[0],…` takes a hundred times its length, so the length of a line bounds nothing.

use std::fmt;

use super::json::parse;
use serde::de::IgnoredAny;
use serde_json::Value;

/// The memory that one message may take, in bytes.
pub(crate) const MAX_MESSAGE_MEMORY: usize = 96 << 20;

/// The memory that a message may take where many are kept, copied and compared, in bytes.
pub const MAX_COMPARED_MEMORY: usize = 8 << 20;

/// Texts shorter than this are read whatever is in them.
const SURELY_SMALL: usize = 64 << 10;

/// Estimated memory per byte of a short text; ordinary messages take less.
const USUAL_FACTOR: usize = 16;

/// A value in a list or an object, which keep room for more.
const ITEM: usize = 2 * size_of::<Value>();

/// A list that is not empty, with room for its first items.
const LIST: usize = 4 * size_of::<Value>();

/// An object that is not empty, with room for its first members.
const OBJECT: usize = 6 * size_of::<Value>();

/// The name of a member.
const NAME: usize = 32;

/// JSON that this program does not read, although it may be sound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadLimit {
    /// It is nested too deep.
    Depth,
    /// It would take more memory than this, in bytes.
    Memory(usize),
    /// It is a line without an end in sight.
    Length,
}

impl ReadLimit {
    /// The code of a finding about an answer like that.
    pub fn code(self) -> &'static str {
        match self {
            Self::Depth => "answer-too-deep",
            Self::Memory(_) | Self::Length => "answer-too-large",
        }
    }
}

impl fmt::Display for ReadLimit {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Depth => formatter.write_str("is nested more than 127 levels deep, so it is not read"),
            Self::Memory(most) => {
                write!(formatter, "would take more than {} MiB of memory, so it is not read", most >> 20)
            }
            Self::Length => formatter.write_str("has more than 64 MiB, so it is not read"),
        }
    }
}

/// Estimates the memory that the JSON in a text takes once it is read.
pub(crate) fn memory_estimate(text: &[u8]) -> usize {
    if text.len() < SURELY_SMALL { text.len() * USUAL_FACTOR } else { exact_memory_estimate(text) }
}

/// The same, from the structure of the text whatever its length.
pub fn exact_memory_estimate(text: &[u8]) -> usize {
    let mut weight = text.len();
    let mut rest = text;
    while let Some((byte, after)) = rest.split_first() {
        rest = after;
        match byte {
            b'"' => rest = after_text(after),
            b',' => weight += ITEM,
            b'[' => weight += LIST,
            b'{' => weight += OBJECT,
            b':' => weight += NAME,
            _ => {}
        }
    }
    weight
}

/// Returns the bytes after the string that has begun.
fn after_text(mut rest: &[u8]) -> &[u8] {
    while let Some(at) = memchr::memchr2(b'"', b'\\', rest) {
        let is_end = rest[at] == b'"';
        rest = rest.get(at + if is_end { 1 } else { 2 }..).unwrap_or_default();
        if is_end {
            return rest;
        }
    }
    &[]
}

/// Estimates the memory that a value takes.
pub fn value_memory(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(|item| ITEM + value_memory(item)).sum(),
        Value::Object(members) => {
            let inner: usize = members.iter().map(|(name, value)| ITEM + NAME + name.len() + value_memory(value)).sum();
            OBJECT + inner
        }
    }
}

/// Why JSON is not read; `None` where it is, and where it is no JSON.
pub fn exceeded_limit(text: &[u8]) -> Option<ReadLimit> {
    exceeded_limit_of(text, memory_estimate(text), MAX_MESSAGE_MEMORY)
}

/// The same for a text whose weight is known, where so much is allowed.
pub(crate) fn exceeded_limit_of(text: &[u8], weight: usize, most: usize) -> Option<ReadLimit> {
    (weight > most && is_json(text)).then_some(ReadLimit::Memory(most))
}

/// Reads a text of a server within those bounds.
pub fn read_json(text: &str) -> Option<Value> {
    if exceeded_limit(text.as_bytes()).is_some() { None } else { parse(text).ok() }
}

/// Reads bytes of a server within those bounds.
pub fn read_json_bytes(bytes: &[u8]) -> Option<Value> {
    read_json(std::str::from_utf8(bytes).ok()?)
}

/// Why several messages that are held together are not read; `None` where they are.
pub fn exceeded_limit_together<'a>(messages: impl Iterator<Item = &'a [u8]>) -> Option<ReadLimit> {
    let weight: usize = messages.map(exact_memory_estimate).sum();
    (weight > MAX_MESSAGE_MEMORY).then_some(ReadLimit::Memory(MAX_MESSAGE_MEMORY))
}

/// A text is JSON of any depth.
pub(crate) fn is_json(text: &[u8]) -> bool {
    serde_json::from_slice::<IgnoredAny>(text).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_takes_too_much_is_not_read() {
        let list = |item: &str, count: usize| format!("[{}]", vec![item; count].join(","));
        let text = format!("\"{}\"", "a,[{:".repeat(4 << 20));
        let too_large = || Some(ReadLimit::Memory(MAX_MESSAGE_MEMORY));
        for (json, expected) in [
            (list("0", 100_000), None),
            (list("0", 4 << 20), too_large()),
            (list("[0]", 1 << 20), too_large()),
            (list("{\"a\":0}", 1 << 20), too_large()),
            (text, None),
            (list("0", 4 << 20).replace(']', ""), None),
        ] {
            assert_eq!(exceeded_limit(json.as_bytes()), expected, "{}…", &json[..20]);
        }
    }
}
