//! Raw steps: bytes as they are written, and requests that are taken back.

use crate::source::grammar::{Key, Object, Shape, key};

/// Bytes that are no text.
static BYTES: Object = Object {
    name: "bytes",
    doc: "Bytes that are not text.",
    keys: &[&[key("base64", Shape::Text, "The bytes in base64.")]],
};

/// Text, or bytes.
const TEXT_OR_BYTES: Shape = Shape::Either(&[Shape::Text, Shape::Object(&BYTES)]);

static HEADER_VALUE: Shape = Shape::Either(&[Shape::Text, Shape::Number, Shape::Object(&BYTES)]);

static HEADER: Shape =
    Shape::Either(&[Shape::Text, Shape::Number, Shape::Object(&BYTES), Shape::List(&HEADER_VALUE), Shape::Null]);

/// How bytes are cut into separate writes.
static CUTS: &[Key] = &[
    key("split", Shape::List(&Shape::Whole), "Writes the bytes in pieces, cut at these offsets."),
    key("every", Shape::Whole, "Writes the bytes in pieces of this size."),
];

pub(super) static HTTP: Object = Object {
    name: "a raw request",
    doc: "A request of HTTP/1.1 on a connection of its own, byte for byte as it is written.",
    keys: &[
        &[
            key("method", Shape::Text, "The method; `POST` if there is a body, else `GET`."),
            key("path", Shape::Text, "The target with its query; that of the server's `url` by default."),
            key(
                "headers",
                Shape::Map(&HEADER),
                "Headers as they are written; a list repeats a header, and an empty value leaves out one that is sent by default.",
            ),
            key("bare", Shape::Flag, "Sends only the headers under `headers`."),
            key("body", Shape::Any, "The body: text as it is, `{ base64: … }`, or a value that is sent as JSON."),
            key("raw", TEXT_OR_BYTES, "The whole request, instead of method, path, headers and body."),
            key(
                "then",
                Shape::Choice(&["close_write", "abort"]),
                "The action after the last byte: `close_write` ends our side of the connection, `abort` all of it.",
            ),
            key(
                "read",
                Shape::Either(&[Shape::Choice(&["head", "body"]), Shape::Object(&EVENTS)]),
                "How much of the response is read: its head, its whole body, or some events; by default the body, of a stream of events up to the answer.",
            ),
        ],
        CUTS,
        &[
            key(
                "during",
                Shape::List(&Shape::Object(&super::step::STEP)),
                "Steps that run while the response is read, which ends with them.",
            ),
            key("for", Shape::Time, "How long the response is read after the steps under `during`; 100ms by default."),
        ],
    ],
};

static EVENTS: Object = Object {
    name: "some events",
    doc: "The first events of a stream.",
    keys: &[&[key("events", Shape::Whole, "The number of events.")]],
};

pub(super) static SEND: Object = Object {
    name: "a raw message",
    doc: "Bytes on the session's own stream; over HTTP the body of one POST.",
    keys: &[
        &[
            key("text", Shape::Text, "The text, exactly."),
            key("json", Shape::Any, "A value, written as JSON in one line."),
            key("base64", Shape::Text, "The bytes in base64."),
            key(
                "lines",
                Shape::List(&Shape::Any),
                "Several messages, written at once: text as it is, `{ base64: … }`, or values that are sent as JSON.",
            ),
            key(
                "newline",
                Shape::Either(&[Shape::Flag, Shape::Text]),
                "The end of each line: `true` is `\"\\n\"`, `false` nothing, and a text itself.",
            ),
        ],
        CUTS,
        &[
            key(
                "answers",
                Shape::Either(&[Shape::Text, Shape::Number, Shape::List(&ID)]),
                "The answers to wait for: an id, several, `any` for the next answer, `none` to look for a while; by default the ids of the requests that are sent.",
            ),
            key(
                "then",
                Shape::Choice(&["close_write"]),
                "The action after the last byte: `close_write` ends the server's input, and waits for the end of the server instead of answers.",
            ),
            key("for", Shape::Time, "How long to look if no answer is awaited; 300ms by default."),
        ],
    ],
};

static ID: Shape = Shape::Either(&[Shape::Text, Shape::Number]);

/// The value of `send`.
pub(super) const SEND_SHAPE: Shape = Shape::Either(&[Shape::Text, Shape::Object(&SEND)]);

pub(super) static CANCEL: Object = Object {
    name: "a cancellation",
    doc: "When the request is cancelled, and how long the server is watched.",
    keys: &[&[
        key("after", Shape::Time, "Cancels after this time."),
        key("progress", Shape::Whole, "Cancels after this number of progress notifications, which are requested."),
        key("reason", Shape::Text, "The reason in the cancellation."),
        key("watch", Shape::Time, "How long to watch for further messages of the server; 500ms by default."),
    ]],
};
