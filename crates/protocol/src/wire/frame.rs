//! One thing that travelled.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::json::parse;
use super::weight::{MAX_MESSAGE_MEMORY, ReadLimit, exceeded_limit_of, is_json, memory_estimate};

/// The number of bytes of text without JSON that a message may quote.
const PROBLEM_QUOTE: usize = 120;

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
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct HttpHead {
    /// The status code.
    pub status: u16,
    /// The headers in their order, names in lower case.
    pub headers: Vec<(String, String)>,
}

impl HttpHead {
    /// The first header of that name, which is in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// The status is one of success.
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
    /// The head of the response that carried it, where HTTP did.
    pub http: Option<Arc<HttpHead>>,
    /// The JSON in the bytes, as far as it is known.
    pub content: Content,
}

/// The JSON in a frame, as far as it is known.
#[derive(Debug, Clone)]
pub enum Content {
    /// It is read when somebody looks.
    Unread,
    /// It is kept.
    Read(Arc<Value>),
    /// There is none; the reason in words.
    None(String),
    /// It is not read.
    NotRead(ReadLimit),
    /// The bytes were not kept whole.
    LeftOut(OmittedBytes),
}

/// Why the bytes of a frame were not kept whole.
#[derive(Debug, Clone, Copy)]
pub enum OmittedBytes {
    /// The session is too long: nothing of them was.
    LongSession,
    /// There are too many: both of their ends were.
    LongFrame,
}

impl Content {
    /// Reads what is in bytes whose JSON takes `weight`, unless that is more than `most`.
    pub(crate) fn of(bytes: &[u8], weight: usize, most: usize, what: &str) -> Self {
        let text = match std::str::from_utf8(bytes) {
            Ok(text) => text,
            Err(error) => {
                let at = error.valid_up_to();
                return Self::None(format!("the {what} is not UTF-8: byte {:#04x} at position {at}", bytes[at]));
            }
        };
        if let Some(beyond) = exceeded_limit_of(bytes, weight, most) {
            return Self::NotRead(beyond);
        }
        match parse(text) {
            Ok(message) => Self::Read(Arc::new(message)),
            Err(error) if error.to_string().starts_with("recursion limit exceeded") && is_json(bytes) => {
                Self::NotRead(ReadLimit::Depth)
            }
            Err(_) => {
                let shown: String = text.chars().take(PROBLEM_QUOTE).collect();
                let rest = if shown.len() < text.len() { " …" } else { "" };
                Self::None(format!("the {what} is not JSON: {shown:?}{rest}"))
            }
        }
    }

    /// The message, or the reason in words why there is none to look at.
    fn message(&self, what: &str) -> Result<Arc<Value>, String> {
        match self {
            Self::Unread => Err(String::new()),
            Self::Read(message) => Ok(Arc::clone(message)),
            Self::None(reason) => Err(reason.clone()),
            Self::NotRead(beyond) => Err(format!("the {what} {beyond}")),
            Self::LeftOut(OmittedBytes::LongSession) => Err("left out, since the session is very long".to_owned()),
            Self::LeftOut(OmittedBytes::LongFrame) => {
                Err("left out but for both ends, since it is very long".to_owned())
            }
        }
    }
}

impl Frame {
    /// The JSON in the bytes; the reason in words where there is none to look at.
    pub fn json(&self) -> Result<Arc<Value>, String> {
        let what = self.what();
        if let Content::Unread = self.content {
            let weight = memory_estimate(&self.bytes);
            return Content::of(&self.bytes, weight, MAX_MESSAGE_MEMORY, what).message(what);
        }
        self.content.message(what)
    }

    /// Why the JSON in the bytes was not read; `None` where it was, and where there is none.
    pub fn beyond(&self) -> Option<ReadLimit> {
        if let Content::NotRead(beyond) = self.content { Some(beyond) } else { None }
    }

    /// The bytes are all that travelled.
    pub fn is_whole(&self) -> bool {
        !matches!(self.content, Content::LeftOut(_) | Content::NotRead(ReadLimit::Memory(_)))
    }

    /// The noun for the bytes: a line, or a message over HTTP.
    pub fn what(&self) -> &'static str {
        if self.http.is_some() { "message" } else { "line" }
    }

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
        match self.channel {
            Channel::Protocol => match self.json() {
                Ok(message) => line["message"] = Arc::unwrap_or_clone(message),
                Err(reason) => {
                    line["text"] = self.text().into();
                    line["problem"] = reason.into();
                }
            },
            Channel::Stderr | Channel::Http => line["text"] = self.text().into(),
        }
        if let Some(http) = &self.http {
            line["http"] = http.to_json();
        }
        line
    }
}
