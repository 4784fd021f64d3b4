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
    /// A raw request of HTTP beside the session, and its response: bytes that nobody judges.
    Http,
}

/// The head of an HTTP response.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Http {
    /// The status code.
    pub status: u16,
    /// The headers in their order, names in lower case.
    pub headers: Vec<(String, String)>,
}

impl Http {
    /// The first header of that name, which is in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// Whether the status says that all is well.
    pub fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    fn to_json(&self) -> Value {
        let headers: Vec<Value> = self.headers.iter().map(|(name, value)| json!([name, value])).collect();
        json!({"status": self.status, "headers": headers})
    }
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
    /// The head of the response that carried it, where HTTP did.
    pub http: Option<Arc<Http>>,
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
            "channel": match self.channel { Channel::Protocol => "protocol", Channel::Stderr => "stderr", Channel::Http => "http" },
        });
        match (&self.json, self.channel) {
            (Ok(message), Channel::Protocol) => line["message"] = (**message).clone(),
            (Err(reason), Channel::Protocol) => {
                line["text"] = self.text().into();
                line["problem"] = reason.clone().into();
            }
            (_, Channel::Stderr | Channel::Http) => line["text"] = self.text().into(),
        }
        if let Some(http) = &self.http {
            line["http"] = http.to_json();
        }
        line
    }
}
