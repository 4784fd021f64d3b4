//! The stream and its envelopes: lines and events that are no messages, and the members of JSON-RPC 2.0.

use std::fmt::Write as _;

use serde_json::Value;

use super::super::look::{MessageCheck, MessageStream};
use super::super::table::ScanRule;
use super::{NOTICE, quote};
use crate::wire::{Id, Members, RpcMessage, classify};

/// The number of lines that are joined into one message.
const MOST_LINES: usize = 1_000;

/// The number of bytes of such lines.
const MOST_BYTES: usize = 1 << 20;

/// Lines that may be parts of one message.
#[derive(Debug, Default)]
pub(crate) struct Fragments {
    text: String,
    /// The violations of the lines after the first one, not reported yet.
    held: Vec<String>,
}

impl Fragments {
    /// Takes a line where it belongs to a message broken over several; the first one is reported at once, since nobody knows
    /// whether others follow.
    pub(crate) fn take(&mut self, look: &mut MessageCheck<'_>, json: Result<&Value, &String>) -> bool {
        if self.text.is_empty() {
            if let (Err(_), MessageStream::Only) = (json, look.stream) {
                self.begin(&look.frame.bytes);
            }
            return false;
        }
        let is_message = json.is_ok_and(|json| !matches!(classify(json), RpcMessage::Invalid(_)));
        let line = std::str::from_utf8(&look.frame.bytes).unwrap_or_default();
        let is_short = self.held.len() < MOST_LINES && self.text.len() + line.len() < MOST_BYTES;
        if is_message || line.trim().is_empty() || !is_short {
            self.give_up(look);
            return false;
        }
        let _ = write!(self.text, "\n{line}");
        match serde_json::from_str::<Value>(&self.text) {
            Ok(whole) => {
                let lines = self.held.len() + 2;
                look.require(ScanRule::SplitMessage, !whole.is_object(), || {
                    format!("the server broke a message over {lines} lines; each line must be one whole message")
                });
                self.forget();
                true
            }
            Err(error) if error.is_eof() => {
                self.held.push(json.err().cloned().unwrap_or_else(|| format!("the line is {}", line.trim())));
                true
            }
            Err(_) => {
                self.give_up(look);
                false
            }
        }
    }

    fn begin(&mut self, line: &[u8]) {
        let Ok(text) = std::str::from_utf8(line) else { return };
        let is_cut = || serde_json::from_str::<Value>(text).is_err_and(|error| error.is_eof());
        if text.trim_start().starts_with('{') && text.len() < MOST_BYTES && is_cut() {
            text.clone_into(&mut self.text);
        }
    }

    /// The lines are parts of nothing.
    fn give_up(&mut self, look: &mut MessageCheck<'_>) {
        for reason in std::mem::take(&mut self.held) {
            stray(look, &reason);
        }
        self.forget();
    }

    fn forget(&mut self) {
        self.text.clear();
        self.held.clear();
    }
}

/// Judges what holds no JSON.
pub(crate) fn unreadable(look: &mut MessageCheck<'_>, reason: &str) {
    if look.frame.bytes.iter().all(u8::is_ascii_whitespace) {
        return;
    }
    if look.frame.http.is_some() {
        look.require(ScanRule::MalformedEnvelope, false, || {
            format!("the server sent an event that is not a message: {reason}")
        });
    } else {
        stray(look, reason);
    }
}

fn stray(look: &mut MessageCheck<'_>, reason: &str) {
    look.require(ScanRule::StrayOutput, false, || {
        format!("the server wrote a line to stdout that is not a message: {reason}")
    });
}

/// Judges what makes a message one.
pub(crate) fn judge_envelope(look: &mut MessageCheck<'_>, json: &Value) {
    let is_stdio = look.frame.http.is_none();
    if is_stdio {
        look.require(ScanRule::SplitMessage, true, String::new);
    }
    let Some(fields) = json.as_object() else {
        return no_object(look, json);
    };
    if is_stdio {
        look.require(ScanRule::StrayOutput, true, String::new);
    }
    look.request = fields.member("id").and_then(Id::from_json);
    let version = fields.member("jsonrpc");
    look.require(ScanRule::MalformedEnvelope, version.is_some_and(|version| version == "2.0"), || {
        let shown = version.map_or("none".to_owned(), Value::to_string);
        format!("a message must say `\"jsonrpc\": \"2.0\"`, this one has {shown}")
    });
    if let RpcMessage::Invalid(reason) = classify(json) {
        look.require(ScanRule::MalformedEnvelope, false, || reason);
    }
    look.request = None;
    let Some(method) = fields.member("method").and_then(Value::as_str) else { return };
    if fields.contains_key("result") || fields.contains_key("error") {
        look.require(ScanRule::MalformedEnvelope, false, || {
            format!("`{method}` has a `result` or an `error` beside its `method`")
        });
    }
    if method.starts_with(NOTICE) {
        let id = fields.member("id");
        look.require(ScanRule::NotificationWithId, id.is_none(), || {
            format!("`{method}` has the `id` {}; a notification has none", quote(id))
        });
    }
}

fn no_object(look: &mut MessageCheck<'_>, json: &Value) {
    if json.is_array() || look.frame.http.is_some() {
        let reason = if let RpcMessage::Invalid(reason) = classify(json) { reason } else { String::new() };
        look.require(ScanRule::MalformedEnvelope, false, || reason);
    } else {
        stray(look, &json.to_string());
    }
}

/// Judges the members of a response.
pub(crate) fn judge_outcome(look: &mut MessageCheck<'_>, json: &Value) {
    let (result, error) = (json.member("result"), json.member("error"));
    look.require(ScanRule::MalformedEnvelope, result.is_none() || error.is_none(), || {
        "an answer has both `result` and `error`; it must have one of them".to_owned()
    });
    if let Some(result) = result {
        look.require(ScanRule::BadResult, result.is_object(), || {
            format!("`result` must be an object, it is {}", quote(Some(result)))
        });
    }
    let Some(error) = error else { return };
    let (code, message) = (error.member("code"), error.member("message"));
    look.require(ScanRule::IncompleteError, code.is_some(), || "`error.code` is missing".to_owned());
    look.require(ScanRule::IncompleteError, message.is_some_and(Value::is_string), || {
        format!("`error.message` must be text, this one is {}", message.unwrap_or(&Value::Null))
    });
    if let Some(code) = code {
        look.require(ScanRule::BadErrorCode, is_whole(code), || {
            format!("`error.code` must be a whole number, this one is {code}")
        });
    }
}

/// A value is a whole number; `1.0` is one.
pub(crate) fn is_whole(value: &Value) -> bool {
    value.as_f64().is_some_and(|number| number.fract() == 0.0)
}
