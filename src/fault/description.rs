//! The change of messages in words.

use std::time::Duration;

use serde_json::Value;

use super::exchange::{ReplyContent, ServerEnd, ServerReply};
use crate::source::duration_text;
use crate::wire::HttpHead;

/// The most differences of one message.
const MAX_LINES: usize = 8;

/// The most characters of a value.
const MAX_VALUE_CHARS: usize = 60;
/// The characters that two texts have in common, as context of their first difference.
const CHARS_BEFORE_DIFFERENCE: usize = 20;

/// Every difference between what came and what comes instead, one line each.
pub(crate) fn describe(before: &[ServerReply], after: &[ServerReply]) -> Vec<String> {
    let whole = before;
    let same = before.iter().zip(after).take_while(|(one, other)| one == other).count();
    let (before, after) = (&before[same..], &after[same..]);
    let tail = before.iter().rev().zip(after.iter().rev()).take_while(|(one, other)| one == other).count();
    let (before, after) = (&before[..before.len() - tail], &after[..after.len() - tail]);
    let mut found = Vec::new();
    if before.len() == after.len() {
        before.iter().zip(after).for_each(|(one, other)| pair(one, other, &mut found));
    } else {
        uneven(before, after, whole, &mut found);
    }
    let more = found.len().saturating_sub(MAX_LINES);
    if more > 0 {
        found.truncate(MAX_LINES);
        found.push(format!("and {more} more"));
    }
    found
}

/// Every difference between two values, one line each.
pub(crate) fn value_differences(before: &Value, after: &Value) -> Vec<String> {
    let mut found = Vec::new();
    difference("", before, after, &mut found);
    found.truncate(MAX_LINES);
    found
}

fn uneven(before: &[ServerReply], after: &[ServerReply], whole: &[ServerReply], found: &mut Vec<String>) {
    let gone: Vec<&ServerReply> = before.iter().filter(|reply| !after.contains(reply)).collect();
    let come: Vec<&ServerReply> = after.iter().filter(|reply| !before.contains(reply)).collect();
    let is_answer = |reply: &&&ServerReply| reply.response().is_some();
    let (old, new) = (gone.iter().find(is_answer), come.iter().find(is_answer));
    let paired = if let (Some(old), Some(new)) = (old, new) {
        pair(old, new, found);
        vec![*old, *new]
    } else {
        Vec::new()
    };
    let rest = |reply: &&&ServerReply| !paired.iter().any(|known| std::ptr::eq(**reply, *known));
    found.extend(gone.iter().filter(rest).map(|reply| format!("{} does not come", noun(reply))));
    found.extend(come.iter().filter(rest).map(|reply| {
        let is_known = whole.iter().any(|known| known.content == reply.content);
        if is_known { format!("{} comes once more", noun(reply)) } else { event(reply) }
    }));
}

fn pair(before: &ServerReply, after: &ServerReply, found: &mut Vec<String>) {
    match (&before.content, &after.content) {
        (one, other) if one == other => {}
        (ReplyContent::Message(one), ReplyContent::Message(other)) => {
            let prefix = if one.get("method").is_some() { noun(before) + " " } else { String::new() };
            let mut differences = Vec::new();
            difference("", one, other, &mut differences);
            found.extend(differences.into_iter().map(|line| format!("{prefix}{line}")));
        }
        _ => found.push(format!("instead of {} {}", noun(before), event(after))),
    }
    if before.after != after.after {
        let (word, by) = match after.after.checked_sub(before.after) {
            Some(by) => ("later", by),
            None => ("earlier", before.after.checked_sub(after.after).unwrap_or(Duration::ZERO)),
        };
        found.push(format!("{} comes {} {word}", noun(after), duration_text(by)));
    }
    match (before.http.as_deref(), after.http.as_deref()) {
        (Some(one), Some(other)) => heads(one, other, found),
        (None, None) => {}
        // What ends comes in no response.
        (Some(_), None) if matches!(after.content, ReplyContent::Ended(_) | ReplyContent::Stalled) => {}
        (Some(_), None) | (None, Some(_)) => found.push(format!("{} comes another way", noun(after))),
    }
}

fn heads(before: &HttpHead, after: &HttpHead, found: &mut Vec<String>) {
    if before.status != after.status {
        found.push(format!("status: {} → {}", before.status, after.status));
    }
    for (name, _) in before.headers.iter().filter(|(name, _)| after.header(name).is_none()) {
        found.push(format!("header `{name}`: gone"));
    }
    for (name, value) in &after.headers {
        if before.header(name) != Some(value) {
            found.push(format!("header `{name}`: {} → {}", before.header(name).unwrap_or("none"), shorten(value)));
        }
    }
}

/// A reply as the subject of a sentence.
fn noun(reply: &ServerReply) -> String {
    match &reply.content {
        ReplyContent::Message(message) => match message["method"].as_str() {
            Some(method) => format!("`{}`", shorten(method)),
            None => "the answer".to_owned(),
        },
        ReplyContent::Bytes(bytes) => format!("the line {}", text(bytes)),
        ReplyContent::Torn(bytes) => format!("the broken line {}", text(bytes)),
        ReplyContent::Stderr(bytes) => format!("{} on standard error", text(bytes)),
        ReplyContent::Stalled => "the silence".to_owned(),
        ReplyContent::Ended(_) => "the end".to_owned(),
    }
}

/// A reply as something that happens.
fn event(reply: &ServerReply) -> String {
    match &reply.content {
        ReplyContent::Message(message) if message.get("method").is_none() => {
            let shown = shorten(&message.to_string());
            if message.get("id").is_some() { format!("comes {shown}") } else { format!("{shown} comes") }
        }
        ReplyContent::Message(_) | ReplyContent::Bytes(_) | ReplyContent::Torn(_) | ReplyContent::Stderr(_) => {
            format!("{} comes", noun(reply))
        }
        ReplyContent::Stalled => "the server says nothing more".to_owned(),
        ReplyContent::Ended(ServerEnd::Closed) => "the server ends".to_owned(),
        ReplyContent::Ended(ServerEnd::Status(status)) => format!("the server ends with status {status}"),
        ReplyContent::Ended(ServerEnd::Signal(signal)) => format!("signal {signal} ends the server"),
    }
}

fn text(bytes: &[u8]) -> String {
    shorten(&format!("{:?}", String::from_utf8_lossy(bytes)))
}

fn difference(path: &str, before: &Value, after: &Value, found: &mut Vec<String>) {
    let inner = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
    match (before, after) {
        _ if before == after => {}
        (Value::Object(one), Value::Object(other)) => {
            for (name, value) in one {
                match other.get(name) {
                    Some(new) => difference(&inner(name), value, new, found),
                    None => found.push(format!("{}: {} → gone", inner(name), value_text(value))),
                }
            }
            for (name, value) in other.iter().filter(|(name, _)| !one.contains_key(*name)) {
                found.push(format!("{}: none → {}", inner(name), value_text(value)));
            }
        }
        (Value::Array(one), Value::Array(other)) if one.len() == other.len() => {
            for (at, (value, new)) in one.iter().zip(other).enumerate() {
                difference(&format!("{path}[{at}]"), value, new, found);
            }
        }
        (Value::Array(one), Value::Array(other)) => {
            found.push(format!("{path}: {} → {}", items(one.len()), items(other.len())));
        }
        _ => {
            let path = if path.is_empty() { "the answer" } else { path };
            found.push(format!("{path}: {}", replacement(before, after)));
        }
    }
}

/// Two values, the old and the new one. Long texts that begin alike are shown from shortly before their first difference.
fn replacement(before: &Value, after: &Value) -> String {
    let is_cut = |value: &Value| value.to_string().chars().nth(MAX_VALUE_CHARS).is_some();
    let texts = before.as_str().zip(after.as_str()).filter(|_| is_cut(before) || is_cut(after));
    let Some((before, after)) = texts else { return format!("{} → {}", value_text(before), value_text(after)) };
    let alike = before.chars().zip(after.chars()).take_while(|(one, other)| one == other).count();
    let from = |text: &str| match alike.saturating_sub(CHARS_BEFORE_DIFFERENCE) {
        0 => value_text(&text.into()),
        left_out => value_text(&format!("…{}", text.chars().skip(left_out).collect::<String>()).into()),
    };
    format!("{} → {}", from(before), from(after))
}

fn items(count: usize) -> String {
    format!("{count} {}", if count == 1 { "item" } else { "items" })
}

fn value_text(value: &Value) -> String {
    shorten(&value.to_string())
}

fn shorten(text: &str) -> String {
    // Texts may be long, and their end does not matter.
    match text.char_indices().nth(MAX_VALUE_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
