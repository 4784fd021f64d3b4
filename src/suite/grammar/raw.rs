//! Raw steps: bytes as they are written, and requests that are taken back.

use crate::source::grammar::{Key, Object, Shape, alternative, key, required};

/// Bytes that are not text.
static BYTES: Object = Object {
    name: "bytes",
    doc: "Bytes that are not text.",
    keys: &[&[required("base64", Shape::Text, "The bytes in base64.")]],
};

/// Text, or bytes.
const TEXT_OR_BYTES: Shape = Shape::Either(&[Shape::Text, Shape::Object(&BYTES)]);

static HEADER_VALUE: Shape = Shape::Either(&[Shape::Text, Shape::Number, Shape::Object(&BYTES)]);

static HEADER: Shape =
    Shape::Either(&[Shape::Text, Shape::Number, Shape::Object(&BYTES), Shape::List(&HEADER_VALUE), Shape::Null]);

/// The cuts between separate writes.
static CUTS: &[Key] = &[
    key("split", Shape::List(&Shape::Whole), "Writes the bytes in pieces, cut at these offsets.").choice("cuts"),
    key("every", Shape::Range(1, u64::MAX), "Writes the bytes in pieces of this size.").choice("cuts"),
];

pub(crate) static HTTP: Object = Object {
    name: "a raw request",
    doc: "An HTTP/1.1 request on a connection of its own, sent byte for byte.",
    keys: &[
        &[
            key("method", Shape::Text, "The method; `POST` if there is a body, else `GET`."),
            key("path", Shape::Text, "The target with its query; that of the server's `url` by default."),
            key(
                "headers",
                Shape::Map(&HEADER),
                "Headers; a list repeats a header, and an empty value removes one that is sent by default.",
            ),
            key("bare", Shape::Flag, "Sends only the headers under `headers`."),
            key("body", Shape::Any, "The body: text as it is, `{ base64: … }`, or a value that is sent as JSON."),
            key("raw", TEXT_OR_BYTES, "The whole request, instead of method, path, headers and body.")
                .without(&["method", "path", "headers", "bare", "body"]),
            key(
                "then",
                Shape::Choice(&["close_write", "abort"]),
                "The action after the last byte: `close_write` ends mcprove's side of the connection, `abort` all of it.",
            ),
            key(
                "read",
                Shape::Either(&[Shape::Choice(&["head", "body"]), Shape::Object(&EVENTS)]),
                "How much of the response is read: its head, its whole body, or some events; by default the body, or an event stream up to the answer.",
            )
            .unless("then", Shape::Choice(&["abort"])),
        ],
        CUTS,
        &[
            key(
                "during",
                Shape::List(&Shape::Object(&super::step::STEP)),
                "Steps that run while the response is read; reading ends after them.",
            ),
            key("for", Shape::Time, "How long the response is read after the steps under `during`.").default("100ms"),
        ],
    ],
};

static EVENTS: Object = Object {
    name: "an event count",
    doc: "The first events of a stream.",
    keys: &[&[required("events", Shape::Range(1, u64::MAX), "The number of events.")
        .cure("write for example `read: { events: 3 }`")]],
};

pub(crate) static SEND: Object = Object {
    name: "a raw message",
    doc: "Bytes on the session's own stream; over HTTP the body of one POST.",
    keys: &[
        &[
            alternative("text", Shape::Text, "The text, exactly.")
                .choice("message")
                .cure("write for example `send: '{\"jsonrpc\": \"2.0\"}'`"),
            alternative("json", Shape::Any, "A value, written as JSON in one line.").choice("message"),
            alternative("base64", Shape::Text, "The bytes in base64.").choice("message"),
            alternative(
                "lines",
                Shape::NonEmpty(&Shape::List(&Shape::Any)),
                "Several messages, written at once: text as it is, `{ base64: … }`, or values that are sent as JSON.",
            )
            .choice("message"),
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
                Shape::Either(&[Shape::Text, Shape::Number, Shape::NonEmpty(&Shape::List(&ID))]),
                "The answers to wait for: an id, a list of ids, `any` for the next answer, `none` to watch for a while; by default the ids of the sent requests.",
            )
            .cure("write `answers: none` to wait for nothing"),
            key(
                "then",
                Shape::Choice(&["close_write"]),
                "The action after the last byte: `close_write` ends the server's input, and waits for the end of the server instead of answers.",
            )
            .without(&["answers"]),
            key("for", Shape::Time, "How long to look if no answer is awaited, as with `answers: none`.")
                .default("300ms")
                .unless("answers", Shape::Except(&["none"])),
        ],
    ],
};

static ID: Shape = Shape::Either(&[Shape::Text, Shape::Number]);

/// The value of `send`.
pub(crate) const SEND_SHAPE: Shape = Shape::Either(&[Shape::Text, Shape::Object(&SEND)]);

pub(crate) static CANCEL: Object = Object {
    name: "a cancellation",
    doc: "When the request is cancelled, and how long the server is watched.",
    keys: &[&[
        alternative("after", Shape::Time, "Cancels after this time.")
            .choice("when")
            .cure("write for example `cancel: { after: 200ms }` or `cancel: { progress: 1 }`"),
        alternative(
            "progress",
            Shape::Range(1, u64::MAX),
            "Cancels after this number of progress notifications, which are requested.",
        )
        .choice("when"),
        key("reason", Shape::Text, "The reason in the cancellation."),
        key("watch", Shape::Time, "How long to watch for further messages of the server.").default("500ms"),
    ]],
};
