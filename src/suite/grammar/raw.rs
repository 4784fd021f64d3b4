//! Raw steps: bytes as they are written, and requests that are taken back.

use std::time::Duration;

use crate::source::grammar::Shape;
use crate::source::{Node, settings};
use crate::suite::model::{Cuts, Payload, Wanted};

settings! {
    /// Bytes that are not text.
    pub(crate) struct Base64 as "bytes" {
        /// The bytes in base64.
        pub(crate) base64: Node => required() shape(Shape::Text),
    }
}

/// Text, or bytes.
pub(crate) const TEXT_OR_BYTES: Shape = Shape::Either(&[Shape::Text, Shape::Object(&Base64::KEYS)]);

static HEADER_VALUE: Shape = Shape::Either(&[Shape::Text, Shape::Number, Shape::Object(&Base64::KEYS)]);

/// The values of a header.
pub(crate) const HEADER: Shape =
    Shape::Either(&[Shape::Text, Shape::Number, Shape::Object(&Base64::KEYS), Shape::List(&HEADER_VALUE), Shape::Null]);

settings! {
    /// The cuts between separate writes.
    pub(crate) struct CutKeys as "cuts" {
        /// Writes the bytes in pieces, cut at these offsets.
        pub(crate) split: Option<Vec<usize>> => choice("cuts"),
        /// Writes the bytes in pieces of this size.
        pub(crate) every: Option<usize> => range(1, u64::MAX) choice("cuts"),
    }
}

settings! {
    /// The first events of a stream.
    pub(crate) struct EventCount as "an event count" {
        /// The number of events.
        pub(crate) events: usize => required() range(1, u64::MAX) cure("write for example `read: { events: 3 }`"),
    }
}

settings! {
    /// Bytes on the session's own stream; over HTTP the body of one POST.
    pub(crate) struct SendKeys as "a raw message", at span {
        /// The text, exactly.
        pub(crate) text: Option<Node> => alternative() shape(Shape::Text) choice("message")
            cure("write for example `send: '{\"jsonrpc\": \"2.0\"}'`"),
        /// A value, written as JSON in one line.
        pub(crate) json: Option<Node> => alternative() choice("message"),
        /// The bytes in base64.
        pub(crate) base64: Option<Node> => alternative() shape(Shape::Text) choice("message"),
        /// Several messages, written at once: text as it is, `{ base64: … }`, or values that are sent as JSON.
        pub(crate) lines: Vec<Payload> => alternative() shape(Shape::NonEmpty(&Shape::List(&Shape::Any)))
            choice("message"),
        /// The end of each line: `true` is `"\n"`, `false` nothing, and a text itself.
        pub(crate) newline: Option<Node> => shape(Shape::Either(&[Shape::Flag, Shape::Text])),
        /// The answers to wait for: an id, a list of ids, `any` for the next answer, `none` to watch for a while; by default
        /// the ids of the sent requests.
        pub(crate) answers: Wanted => cure("write `answers: none` to wait for nothing"),
        /// The action after the last byte: `close_write` ends the server's input, and waits for the end of the server instead
        /// of answers.
        pub(crate) then: Option<Node> => shape(Shape::Choice(&["close_write"])) without(&["answers"]),
        /// How long to look if no answer is awaited, as with `answers: none`.
        pub(crate) watch as "for": Duration => shape(Shape::Time) default("300ms")
            unless("answers", Shape::Except(&["none"])),
    } beside {
        pub(crate) cuts: Cuts,
    }
}

settings! {
    /// When the request is cancelled, and how long the server is watched.
    pub(crate) struct CancelKeys as "a cancellation" {
        /// Cancels after this time.
        pub(crate) after: Option<Duration> => alternative() shape(Shape::Time) choice("when")
            cure("write for example `cancel: { after: 200ms }` or `cancel: { progress: 1 }`"),
        /// Cancels after this number of progress notifications, which are requested.
        pub(crate) progress: Option<usize> => alternative() range(1, u64::MAX) choice("when"),
        /// The reason in the cancellation.
        pub(crate) reason: Option<Node> => shape(Shape::Text),
        /// How long to watch for further messages of the server.
        pub(crate) watch: Duration => shape(Shape::Time) default("500ms"),
    }
}
