//! The YAML grammar of a flaw, as data: the tables check files and become the reference.

use super::message::FlawMessageKind;
use crate::fault::{HEADERS, NUMBERS, TEXTS, VALUES, WANTED};
use crate::source::grammar::{Key, Object, Shape, key};

/// A flaw: its edits, or one alone.
pub const FLAW: Shape = Shape::Either(&[Shape::List(&Shape::Object(&EDIT)), Shape::Object(&EDIT)]);

const KINDS: Shape =
    Shape::Either(&[Shape::Choice(FlawMessageKind::WORDS), Shape::List(&Shape::Choice(FlawMessageKind::WORDS))]);
const NAMED: Shape = Shape::Either(&[Shape::Text, Shape::List(&Shape::Text), Shape::Map(&Shape::Text)]);
const MESSAGES: Shape = Shape::List(&Shape::Any);

/// One edit.
pub(super) static EDIT: Object = Object {
    name: "an edit",
    doc: "One fault of the server: the messages to change, and the changes to the request and to the answer.",
    keys: &[&[
        key("on", Shape::Object(&ON), "The messages to change; without `on`, all messages."),
        key(
            "hears",
            Shape::Either(&[Shape::Choice(&["nothing"]), Shape::Object(&HEARS)]),
            "Changes to the message that the correct server receives; with `nothing` it receives none.",
        ),
        key(
            "answers",
            Shape::Either(&[Shape::Choice(&["nothing", "never"]), Shape::Object(&ANSWERS)]),
            "Changes to the answer; `nothing` leaves the answer out, `never` also leaves the client waiting.",
        ),
        key(
            "before",
            MESSAGES,
            "Messages before the answer, or texts that are sent as they are. Over HTTP the response is a stream of events then.",
        ),
        key("after", MESSAGES, "Messages after the answer, in the same response."),
        key("ends", Shape::Flag, "The server exits instead of receiving the message."),
    ]],
};

/// The conditions that a client's message can be tested for.
static MESSAGE: &[Key] = &[
    key("method", TEXTS, "Methods, one of which the client's message has; `*` stands for any letters."),
    key(
        "kind",
        KINDS,
        "The kind of message; `malformed` is JSON that is not a message, `unparsable` is not JSON, `start` and `end` are those of a conversation over streams.",
    ),
    key("over", Shape::Choice(&["http", "stream"]), "The transport."),
    key("verb", TEXTS, "The HTTP method."),
    key("path", Shape::Text, "The path of the address; `/mcp` if left out. `*` stands for any letters."),
    key("header", NAMED, "Headers that must exist, or names with their values."),
    key("no_header", TEXTS, "Headers that must not exist."),
    key("query", NAMED, "Parameters of the address that must exist, or names with their values."),
    key("with", WANTED, "Paths that exist in the message, or paths with their values."),
    key("without", TEXTS, "Paths that do not exist in the message."),
];

static ON: Object = Object {
    name: "a case",
    doc: "The conditions of an edit, all of which must hold. A text between slashes, such as `/^a/`, is a regular expression.",
    keys: &[
        MESSAGE,
        &[
            key(
                "sends",
                TEXTS,
                "The edit is about messages that the server sends by itself: notifications and requests with these methods. The other keys are about the request that they belong to.",
            ),
            key(
                "answer",
                Shape::Object(&ANSWER),
                "Conditions of the correct answer, or with `sends` of the message that is sent.",
            ),
            key("unless", Shape::Object(&UNLESS), "Conditions that must not hold."),
            key("nth", Shape::Range(1, u64::MAX), "Only the one with this number, counted from 1."),
            key(
                "from",
                Shape::Range(1, u64::MAX),
                "Only the one with this number and those that follow, counted from 1.",
            ),
            key(
                "per",
                Shape::Choice(&["session", "server"]),
                "The scope of `nth` and `from`: a conversation or session of HTTP (the default), or all of the server.",
            ),
        ],
    ],
};

static UNLESS: Object =
    Object { name: "an exception", doc: "Conditions under which an edit ignores a message.", keys: &[MESSAGE] };

static ANSWER: Object = Object {
    name: "a correct answer",
    doc: "Conditions of the correct answer; they cannot stand beside `hears` and `ends`, which come before it.",
    keys: &[&[
        key("status", NUMBERS, "The HTTP status, or a list of allowed ones."),
        key("header", NAMED, "As in a case, of the response."),
        key("with", WANTED, "As in a case."),
        key("without", TEXTS, "As in a case."),
    ]],
};

static CHANGE: &[Key] = &[
    key("set", VALUES, "Writes values to paths; a missing last member is added, but not the objects above it."),
    key("add", VALUES, "Adds an item to the lists at paths."),
    key("remove", TEXTS, "Removes the values at paths."),
    key("headers", HEADERS, "HTTP headers; an empty value removes one."),
];

static HEARS: Object = Object {
    name: "a changed request",
    doc: "Changes to the client's message before the correct server receives it.",
    keys: &[CHANGE],
};

static ANSWERS: Object = Object {
    name: "a changed answer",
    doc: "Changes to the correct answer. If there was none, `result`, `error`, `message`, `text` and `base64` make one.",
    keys: &[
        CHANGE,
        &[
            key("result", Shape::Any, "The answer is this result."),
            key("error", Shape::Any, "The answer is this error."),
            key("message", Shape::Any, "This is the whole message."),
            key("text", Shape::Text, "This text is sent as it is."),
            key("base64", Shape::Text, "These bytes are sent."),
            key("status", Shape::Whole, "The HTTP status."),
            key("twice", Shape::Flag, "The answer comes twice."),
            key("pretty", Shape::Flag, "The message is written on several lines."),
            key("encoding", Shape::Choice(&["latin-1", "utf-16"]), "The encoding, if not UTF-8."),
            key(
                "replace",
                Shape::Map(&Shape::Text),
                "Replaces parts of the message's JSON, which is written without blanks.",
            ),
            key("delay", Shape::Duration, "The delay of the answer."),
            key(
                "event_id",
                Shape::Either(&[Shape::Text, Shape::Null]),
                "The id of every event of the response, if it is a stream of events; an empty value leaves it out.",
            ),
            key(
                "also_on",
                Shape::Choice(&["listening"]),
                "The answer also comes on the streams that clients of the session opened with GET.",
            ),
        ],
    ],
};
