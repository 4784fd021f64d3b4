//! One thing that travelled.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

/// Which way a frame went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// From us to the server.
    Sent,
    /// From the server to us.
    Received,
}

/// Which stream carried a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Channel {
    /// The protocol stream: standard input and output of a process.
    Protocol,
    /// The server's standard error.
    Stderr,
}

/// One line that travelled, with its bytes as they were.
#[derive(Debug, Clone)]
pub struct Frame {
    /// The number within the session, counted from one.
    pub seq: u32,
    /// The time since the session began.
    pub at: Duration,
    /// Which way it went.
    pub direction: Direction,
    /// Which stream carried it.
    pub channel: Channel,
    /// The bytes without the line break.
    pub bytes: Arc<[u8]>,
    /// The JSON in the bytes; the reason in words where they hold none.
    pub json: Result<Arc<Value>, String>,
}

impl Frame {
    /// The bytes as text, whatever they are.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
    }

    /// One line of a written transcript.
    pub fn to_json(&self) -> Value {
        let mut line = json!({
            "frame": self.seq,
            "at_us": u64::try_from(self.at.as_micros()).unwrap_or(u64::MAX),
            "direction": match self.direction { Direction::Sent => "sent", Direction::Received => "received" },
            "channel": match self.channel { Channel::Protocol => "protocol", Channel::Stderr => "stderr" },
        });
        match (&self.json, self.channel) {
            (Ok(message), Channel::Protocol) => line["message"] = (**message).clone(),
            (Err(reason), Channel::Protocol) => {
                line["text"] = self.text().into();
                line["problem"] = reason.clone().into();
            }
            (_, Channel::Stderr) => line["text"] = self.text().into(),
        }
        line
    }
}
