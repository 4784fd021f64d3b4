//! Raw steps: bytes that go out as they are written, and requests that are taken back.

use std::time::Duration;

use super::Step;
use crate::redact::from_base64;
use crate::source::template::{Names, TemplateError, Unfilled, fill, text_of};
use crate::source::{Located, Node};

/// A request of HTTP on a connection of its own; values are unfilled.
#[derive(Debug, Clone)]
pub struct RawHttp {
    /// The method; `None` lets the body decide.
    pub method: Option<Node>,
    /// The target; `None` for that of the server's address.
    pub path: Option<Node>,
    /// Headers: text, bytes, a list of these, or nothing.
    pub headers: Vec<(Located<String>, Node)>,
    /// The headers that are sent by default.
    pub defaults: Defaults,
    /// The body.
    pub body: Option<Payload>,
    /// The whole request, instead of all of these.
    pub raw: Option<Payload>,
    /// The cuts between writes.
    pub cuts: Cuts,
    /// The end of the message.
    pub then: Then,
    /// The part of the response that is read.
    pub read: Extent,
    /// Steps that run while it is read; with any, the response ends with them.
    pub during: Vec<Step>,
    /// The time for which it is read after them.
    pub linger: Duration,
}

/// The headers that are sent by default.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Defaults {
    /// Those that make an ordinary request.
    Sent,
    /// None.
    Bare,
}

/// The end of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Then {
    /// The response is read.
    Read,
    /// Our side of the connection ends, and the response is read.
    CloseWrite,
    /// The connection is cut off.
    Abort,
}

/// The part of a response that is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// The body; of a stream of events up to the answer.
    Answer,
    /// The head.
    Head,
    /// The body to its end.
    Body,
    /// So many events.
    Events(usize),
}

/// The cuts between separate writes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cuts {
    /// Not at all.
    None,
    /// At these offsets.
    At(Vec<usize>),
    /// Into pieces of so many bytes.
    Every(usize),
}

impl Cuts {
    /// The pieces, in order; none of them is empty.
    pub fn pieces(&self, bytes: &[u8]) -> Vec<Vec<u8>> {
        let ends: Vec<usize> = match self {
            Self::None => Vec::new(),
            Self::Every(size) => (0..bytes.len()).step_by((*size).max(1)).collect(),
            Self::At(offsets) => offsets.clone(),
        };
        let mut ends: Vec<usize> = ends.into_iter().filter(|end| *end < bytes.len()).chain([bytes.len()]).collect();
        ends.sort_unstable();
        let mut begin = 0;
        let mut pieces = Vec::new();
        for end in ends.into_iter().filter(|end| *end > 0) {
            if end > begin {
                pieces.push(bytes[begin..end].to_vec());
            }
            begin = end;
        }
        pieces
    }
}

/// Bytes as a suite writes them; values are unfilled.
#[derive(Debug, Clone)]
pub enum Payload {
    /// Text as it is; a template that names no text is written as JSON.
    Text(Node),
    /// A value as JSON in one line.
    Json(Node),
    /// Bytes in base64.
    Base64(Node),
}

impl Payload {
    /// Text as it is, `{ base64: … }`, or any other value as JSON.
    pub fn of(node: &Node) -> Self {
        match (node.text(), node.entries()) {
            (Some(_), _) => Self::Text(node.clone()),
            (None, [(key, bytes)]) if key.value == "base64" && bytes.text().is_some() => Self::Base64(bytes.clone()),
            _ => Self::Json(node.clone()),
        }
    }

    /// The value as it is written.
    pub fn node(&self) -> &Node {
        match self {
            Self::Text(node) | Self::Json(node) | Self::Base64(node) => node,
        }
    }

    /// The bytes, filled in.
    pub fn bytes(&self, names: &Names) -> Result<Vec<u8>, Unfilled> {
        let filled = fill(self.node(), names)?.to_json();
        match self {
            Self::Text(_) => Ok(text_of(&filled).into_bytes()),
            Self::Json(_) => Ok(filled.to_string().into_bytes()),
            Self::Base64(_) => from_base64(&text_of(&filled)).ok_or_else(|| Unfilled {
                span: self.node().span,
                reason: TemplateError::Invalid(not_base64(&text_of(&filled))),
            }),
        }
    }
}

/// The message for a text that should be base64.
pub(crate) fn not_base64(text: &str) -> String {
    let shown: String = text.chars().take(40).collect();
    format!("`{shown}` is not base64")
}

/// A message on the session's own stream; values are unfilled.
#[derive(Debug, Clone)]
pub struct RawSend {
    /// The messages, written at once.
    pub lines: Vec<Payload>,
    /// The end of each part.
    pub newline: String,
    /// The cuts between writes.
    pub cuts: Cuts,
    /// The awaited answer.
    pub answers: Wanted,
    /// The time to watch if no answer is awaited.
    pub watch: Duration,
}

/// The answer that a raw message waits for.
#[derive(Debug, Clone)]
pub enum Wanted {
    /// The ids of the requests in it; nothing where it holds none.
    Own,
    /// The answer with this id.
    One(Node),
    /// The answers with these ids.
    All(Vec<Node>),
    /// The next answer, whatever its id.
    Any,
    /// Nothing.
    Nothing,
    /// The end of the server, whose input ends with the message.
    End,
}

/// When a request is taken back.
#[derive(Debug, Clone)]
pub struct Cancel {
    /// When.
    pub when: CancelWhen,
    /// The reason to give, unfilled.
    pub reason: Option<Node>,
    /// The time for which the server is watched.
    pub watch: Duration,
}

/// The event that triggers a cancellation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CancelWhen {
    /// This time.
    After(Duration),
    /// So many notifications of progress.
    Progress(usize),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_cut_where_asked() {
        let check = |cuts: Cuts, expected: &[&str]| {
            let pieces = cuts.pieces(b"abcdefg");
            assert_eq!(pieces, expected.iter().map(|piece| piece.as_bytes().to_vec()).collect::<Vec<_>>(), "{cuts:?}");
        };
        check(Cuts::None, &["abcdefg"]);
        check(Cuts::At(vec![1, 20]), &["a", "bcdefg"]);
        check(Cuts::At(vec![5, 0, 2, 2]), &["ab", "cde", "fg"]);
        check(Cuts::Every(3), &["abc", "def", "g"]);
        check(Cuts::Every(7), &["abcdefg"]);
        assert!(Cuts::Every(1).pieces(b"").is_empty());
    }
}
