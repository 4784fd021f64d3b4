//! Reads an error's text: what makes it unreadable for callers, and the names that it mentions.

use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value;

use crate::wire::read_json;

/// Marks of a stack trace in Python, JavaScript, Java, Rust and Go.
static STACK_TRACE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r#"(?m)^\s*at .+(:\d+:\d+|\.java:\d+|\.kt:\d+)\)?\s*$|Traceback \(most recent call|File "[^"]+", line \d+|panicked at |^goroutine \d+ \["#,
    )
    .ok()
});

/// Messages of interpreters and runtimes about a mistake in a program: Python, JavaScript, Java and Kotlin, C#, Go, Rust.
static INTERPRETER: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(concat!(
        r"'[A-Za-z_.]+' object (?:has no attribute|is not (?:callable|iterable|subscriptable))",
        r"|unsupported operand type\(s\) for|list index out of range|takes \d+ positional arguments? but \d+",
        r"|(?m:^)(?:Error executing tool \S+: )?(?:Key|Attribute|Type|Index|Name|UnboundLocal|ZeroDivision|Recursion)Error: ",
        r"|Cannot (?:read|set) propert(?:y|ies) .{0,80}of (?:undefined|null)|undefined is not (?:a function|an object)",
        r"|\b[A-Za-z_$.]+ is not (?:a function|iterable)\b|NullPointerException|java\.lang\.[A-Za-z]+Exception",
        r"|Object reference not set to an instance of an object",
        r"|invalid memory address or nil pointer dereference|runtime error: |index out of range \[",
        r"|called `Option::unwrap\(\)` on a `None` value|called `Result::unwrap\(\)` on an `Err` value",
    ))
    .ok()
});

/// Messages with which SDKs replace a result that does not match the output schema of its tool.
const OWN_SCHEMA: [&str; 5] = [
    "Output validation error",
    "Invalid tools/call result",
    "Invalid structured content for tool",
    "has an output schema but no structured content",
    "outputSchema defined but no structured output returned",
];

/// Fewer words than these explain nothing.
const LEAST_WORDS: usize = 3;

/// The fault of a text that is written for a reader and too short.
pub(crate) const TOO_SHORT: &str = "has fewer than three words";

pub(crate) fn shows_stack(text: &str) -> bool {
    STACK_TRACE.as_ref().is_some_and(|pattern| pattern.is_match(text))
}

/// Why an error's text is not readable; `None` when it is written for a reader.
pub(crate) fn unreadable(text: &str) -> Option<&'static str> {
    let trimmed = text.trim();
    let reason = if trimmed.is_empty() {
        "has no text"
    } else if trimmed.contains("[object Object]") {
        "says `[object Object]`"
    } else if shows_stack(trimmed) {
        "shows a stack trace"
    } else if interpreter_message(trimmed).is_some() {
        "is an interpreter's message"
    } else if let Some(json) = read_json(trimmed).filter(|value| value.is_object() || value.is_array()) {
        if has_readable_text(&json) {
            return None;
        }
        "is JSON and nothing else"
    } else if !trimmed.contains(char::is_whitespace) && trimmed.is_ascii() {
        "is a bare code"
    } else if words(trimmed) < LEAST_WORDS {
        TOO_SHORT
    } else {
        return None;
    };
    Some(reason)
}

/// Returns true if one of the texts in a JSON value is written for a reader.
fn has_readable_text(json: &Value) -> bool {
    match json {
        Value::String(text) => unreadable(text).is_none(),
        Value::Array(items) => items.iter().any(has_readable_text),
        Value::Object(members) => members.values().any(has_readable_text),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// The part of an error's text that only the interpreter can have written: the tool broke while it worked.
///
/// Of tools that run what callers write, the mistake may be the caller's; that is for the caller of this function to
/// know.
pub fn interpreter_message(text: &str) -> Option<&str> {
    INTERPRETER.as_ref()?.find(text).map(|found| found.as_str().trim())
}

/// The words in which a server's own SDK says that a result does not fit the output schema of its tool.
pub fn breaks_own_schema(text: &str) -> Option<&'static str> {
    OWN_SCHEMA.into_iter().find(|words| text.contains(words))
}

/// The part of a text that gives a stack trace away.
pub fn stack_trace(text: &str) -> Option<&str> {
    STACK_TRACE.as_ref()?.find(text).map(|found| found.as_str().trim())
}

/// Counts words; scripts that write none are counted by their characters, two to a word.
fn words(text: &str) -> usize {
    let spaced = text.split_whitespace().filter(|word| word.chars().any(char::is_alphabetic)).count();
    let unspaced = text.chars().filter(|c| matches!(c, '\u{0e00}'..='\u{0eff}' | '\u{3040}'..='\u{9fff}')).count();
    spaced.max(unspaced / 2)
}

/// A text mentions a name or value, as a word of its own.
///
/// A single letter must be set off by more than spaces, since `a` is in every English sentence.
pub(crate) fn mentions(text: &str, name: &str) -> bool {
    let (text, name) = (text.to_lowercase(), name.trim().to_lowercase());
    if name.is_empty() {
        return false;
    }
    let is_letter = name.chars().nth(1).is_none() && name.chars().all(char::is_alphabetic);
    let mut from = 0;
    while let Some(at) = text[from..].find(&name).map(|at| at + from) {
        let before = text[..at].chars().next_back();
        let after = text[at + name.len()..].chars().next();
        let is_apart = is_boundary(before, name.chars().next()) && is_boundary(after, name.chars().next_back());
        let is_set_off = before.is_some_and(|c| c.is_ascii_punctuation());
        if is_apart && (!is_letter || is_set_off) {
            return true;
        }
        from = at + name.len();
    }
    false
}

/// A word ends between its edge and the neighbour.
fn is_boundary(neighbour: Option<char>, edge: Option<char>) -> bool {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    !(edge.is_some_and(is_word) && neighbour.is_some_and(is_word))
}
