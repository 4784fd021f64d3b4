//! All frames of a session, in order.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use super::{Channel, Direction, Frame};

/// How many bytes of unparsable text a written transcript and a message may quote.
const PROBLEM_QUOTE: usize = 120;

/// Every frame of one session.
#[derive(Debug, Default)]
pub struct Transcript {
    frames: Vec<Frame>,
}

impl Transcript {
    /// Adds a line that travelled and returns its frame.
    pub fn record(&mut self, at: Duration, direction: Direction, channel: Channel, bytes: &[u8]) -> &Frame {
        let json = match channel {
            Channel::Protocol => parse(bytes),
            Channel::Stderr => Err(String::new()),
        };
        let seq = u32::try_from(self.frames.len() + 1).unwrap_or(u32::MAX);
        self.frames.push(Frame { seq, at, direction, channel, bytes: bytes.into(), json });
        &self.frames[self.frames.len() - 1]
    }

    /// The frames so far.
    pub fn frames(&self) -> &[Frame] {
        &self.frames
    }

    /// The last lines of standard error, oldest first.
    pub fn stderr_tail(&self, lines: usize) -> Vec<String> {
        let mut tail: Vec<String> = self
            .frames
            .iter()
            .rev()
            .filter(|frame| frame.channel == Channel::Stderr)
            .take(lines)
            .map(Frame::text)
            .collect();
        tail.reverse();
        tail
    }
}

fn parse(bytes: &[u8]) -> Result<Arc<Value>, String> {
    let text = std::str::from_utf8(bytes).map_err(|error| {
        format!("the line is not UTF-8: byte {:#04x} at position {}", bytes[error.valid_up_to()], error.valid_up_to())
    })?;
    serde_json::from_str(text).map(Arc::new).map_err(|_| {
        let shown: String = text.chars().take(PROBLEM_QUOTE).collect();
        let rest = if shown.len() < text.len() { " …" } else { "" };
        format!("the line is no JSON: {shown:?}{rest}")
    })
}
