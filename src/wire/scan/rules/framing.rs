//! Lines of a stream, and events of HTTP, that are no messages.

use std::fmt::Write as _;

use serde_json::Value;

use super::super::super::{RpcMessage, classify};
use super::super::look::{MessageCheck, MessageStream};
use super::super::table::ScanRule;

/// How many lines a message may be broken over to be put together.
const MOST_LINES: usize = 1_000;

/// How many bytes they may have.
const MOST_BYTES: usize = 1 << 20;

/// Lines that may be parts of one message.
#[derive(Debug, Default)]
pub(in super::super) struct Fragments {
    text: String,
    /// The lines after the first one, that nothing is said of yet: what would be.
    held: Vec<String>,
}

impl Fragments {
    /// Takes a line where it belongs to a message broken over several; the first one is told of at once, since nobody knows
    /// whether others follow.
    pub(in super::super) fn take(&mut self, look: &mut MessageCheck<'_>, json: Result<&Value, &String>) -> bool {
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
pub(in super::super) fn unreadable(look: &mut MessageCheck<'_>, reason: &str) {
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

pub(super) fn stray(look: &mut MessageCheck<'_>, reason: &str) {
    look.require(ScanRule::StrayOutput, false, || {
        format!("the server wrote a line to stdout that is not a message: {reason}")
    });
}
