//! Raw steps: bytes that go out as they are written, and requests that are taken back.

use std::time::Duration;

use super::Step;
use crate::redact::from_base64;
use crate::source::grammar::{Key, Shape};
use crate::source::settings::Setting;
use crate::source::template::{Names, TemplateError, Unfilled, fill, is_template, text_of};
use crate::source::{Diagnostic, Located, Node, Value, choice, settings};
use crate::suite::grammar::{CancelKeys, CutKeys, EventCount, HEADER, SendKeys, TEXT_OR_BYTES};

settings! {
    /// An HTTP/1.1 request on a connection of its own, sent byte for byte.
    pub struct RawHttp as "a raw request" {
        /// The method; `POST` if there is a body, else `GET`.
        pub method: Option<Node> => shape(Shape::Text),
        /// The target with its query; that of the server's `url` by default.
        pub path: Option<Node> => shape(Shape::Text),
        /// Headers; a list repeats a header, and an empty value removes one that is sent by default.
        pub headers: Vec<(Located<String>, HeaderValue)>,
        /// Sends only the headers under `headers`.
        pub defaults as "bare": Defaults,
        /// The body: text as it is, `{ base64: … }`, or a value that is sent as JSON.
        pub body: Option<Payload>,
        /// The whole request, instead of method, path, headers and body.
        pub raw: Option<Payload> => shape(TEXT_OR_BYTES) without(&["method", "path", "headers", "bare", "body"]),
        /// The action after the last byte: `close_write` ends mcprove's side of the connection, `abort` all of it.
        pub then: Option<Then>,
        /// How much of the response is read: its head, its whole body, or some events; by default the body, or an event stream
        /// up to the answer.
        pub read: Extent => unless("then", Shape::Choice(&["abort"])),
        /// Steps that run while the response is read; reading ends after them.
        pub during: Vec<Step>,
        /// How long the response is read after the steps under `during`.
        pub linger as "for": Duration => shape(Shape::Time) default("100ms"),
    } beside {
        /// The cuts between writes.
        pub cuts: Cuts,
    }
}

/// The values of a header: text, bytes, a list of these, or nothing.
#[derive(Debug, Clone)]
pub struct HeaderValue(pub Node);

impl Setting for HeaderValue {
    const SHAPE: Shape = HEADER;

    fn decode(node: &Node, found: &mut Vec<Diagnostic>) -> Option<Self> {
        std::iter::once(node).chain(node.items()).for_each(|value| check_bytes(&Payload::of(value), found));
        Some(Self(node.clone()))
    }
}

/// The headers that are sent by default.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Defaults {
    /// Those that make an ordinary request.
    Sent,
    /// None.
    Bare,
}

impl Setting for Defaults {
    const SHAPE: Shape = Shape::Flag;

    fn decode(node: &Node, _: &mut Vec<Diagnostic>) -> Option<Self> {
        Some(if node.flag()? { Self::Bare } else { Self::Sent })
    }

    fn absent() -> Option<Self> {
        Some(Self::Sent)
    }
}

choice! {
    /// The end of a request whose connection is not kept.
    pub enum Then {
        /// Our side of the connection ends, and the response is read.
        CloseWrite = "close_write",
        /// The connection is cut off.
        Abort = "abort",
    }
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

impl Setting for Extent {
    const SHAPE: Shape = Shape::Either(&[Shape::Choice(&["head", "body"]), EventCount::SHAPE]);

    fn decode(node: &Node, found: &mut Vec<Diagnostic>) -> Option<Self> {
        match node.text() {
            Some("head") => Some(Self::Head),
            Some(_) => Some(Self::Body),
            None => EventCount::decode(node, found).map(|count| Self::Events(count.events)),
        }
    }

    fn absent() -> Option<Self> {
        Some(Self::Answer)
    }
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

impl Setting for Cuts {
    const SHAPE: Shape = CutKeys::SHAPE;

    fn decode(node: &Node, found: &mut Vec<Diagnostic>) -> Option<Self> {
        let keys = CutKeys::decode(node, found)?;
        Some(keys.split.map(Self::At).or(keys.every.map(Self::Every)).unwrap_or(Self::None))
    }
}

impl Cuts {
    /// The keys of a request or message that is cut.
    pub const TABLE: &'static [Key] = CutKeys::TABLE;

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

impl Setting for Payload {
    const SHAPE: Shape = Shape::Any;

    fn decode(node: &Node, found: &mut Vec<Diagnostic>) -> Option<Self> {
        let payload = Self::of(node);
        check_bytes(&payload, found);
        Some(payload)
    }
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

/// Reports bytes that are not base64.
fn check_bytes(payload: &Payload, found: &mut Vec<Diagnostic>) {
    let Payload::Base64(node) = payload else { return };
    let text = node.text().unwrap_or_default();
    if !is_template(text) && from_base64(text).is_none() {
        found.push(
            Diagnostic::error("bad-bytes", not_base64(text), node.span)
                .with_help("write the bytes in groups of four letters, such as `/w==` for the byte 0xff".to_owned()),
        );
    }
}

/// The message for a text that should be base64.
fn not_base64(text: &str) -> String {
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

impl Setting for RawSend {
    const SHAPE: Shape = Shape::Either(&[Shape::Text, SendKeys::SHAPE]);

    fn decode(node: &Node, found: &mut Vec<Diagnostic>) -> Option<Self> {
        if node.text().is_some() {
            let text = (Located::new("text".to_owned(), node.span), node.clone());
            return Self::decode(&Node { value: Value::Map(vec![text]), span: node.span }, found);
        }
        let keys = SendKeys::decode(node, found)?;
        let one = [keys.text.map(Payload::Text), keys.json.map(Payload::Json), keys.base64.map(Payload::Base64)];
        let one = one.into_iter().flatten().inspect(|payload| check_bytes(payload, found));
        let lines: Vec<Payload> = one.chain(keys.lines).collect();
        if lines.is_empty() {
            return None;
        }
        let newline = match &keys.newline {
            Some(text) if text.flag() == Some(false) => String::new(),
            Some(text) => text.text().unwrap_or("\n").to_owned(),
            None => "\n".to_owned(),
        };
        if newline.is_empty() && lines.iter().all(|line| line.node().text() == Some("")) {
            let help = "write a message, as in `send: '{\"jsonrpc\": \"2.0\"}'`".to_owned();
            found.push(Diagnostic::error("empty-send", "`send` writes nothing", keys.span).with_help(help));
        }
        let answers = if keys.then.is_some() { Wanted::End } else { keys.answers };
        Some(Self { lines, newline, cuts: keys.cuts, answers, watch: keys.watch })
    }
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

impl Setting for Wanted {
    const SHAPE: Shape = Shape::Either(&[
        Shape::Text,
        Shape::Number,
        Shape::NonEmpty(&Shape::List(&Shape::Either(&[Shape::Text, Shape::Number]))),
    ]);

    fn decode(node: &Node, _: &mut Vec<Diagnostic>) -> Option<Self> {
        Some(match (node.text(), &node.value) {
            (Some("any"), _) => Self::Any,
            (Some("none"), _) => Self::Nothing,
            (_, Value::List(ids)) => Self::All(ids.clone()),
            _ => Self::One(node.clone()),
        })
    }

    fn absent() -> Option<Self> {
        Some(Self::Own)
    }
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

impl Cancel {
    /// The cancellation that is written; `None` where a mistake was reported.
    pub(crate) fn of(keys: CancelKeys) -> Option<Self> {
        let when = keys.after.map(CancelWhen::After).or(keys.progress.map(CancelWhen::Progress))?;
        Some(Self { when, reason: keys.reason, watch: keys.watch })
    }
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
