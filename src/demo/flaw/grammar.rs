//! What a flaw looks like in YAML, as data: the tables check files and become the reference.

use super::message::Kind;
use crate::source::shape::{Key, Object, Shape, key};

/// A flaw: its edits, or one alone.
pub const FLAW: Shape = Shape::Either(&[Shape::List(&Shape::Object(&EDIT)), Shape::Object(&EDIT)]);

const WORDS: Shape = Shape::Either(&[Shape::Text, Shape::List(&Shape::Text)]);
const KINDS: Shape = Shape::Either(&[Shape::Choice(Kind::WORDS), Shape::List(&Shape::Choice(Kind::WORDS))]);
const VALUES: Shape = Shape::Map(&Shape::Any);
const NAMED: Shape = Shape::Either(&[Shape::Text, Shape::List(&Shape::Text), Shape::Map(&Shape::Text)]);
const WANTED: Shape = Shape::Either(&[Shape::Text, Shape::List(&Shape::Text), VALUES]);
const HEADERS: Shape = Shape::Map(&Shape::Either(&[Shape::Text, Shape::Null]));
const MESSAGES: Shape = Shape::List(&Shape::Any);

/// One edit.
pub(super) static EDIT: Object = Object {
    name: "an edit",
    doc: "One thing that the server does wrong: when, what the correct server gets to hear, and what comes from it.",
    keys: &[&[
        key("on", Shape::Object(&ON), "What it is about; without it everything that comes."),
        key(
            "hears",
            Shape::Either(&[Shape::Choice(&["nothing"]), Shape::Object(&HEARS)]),
            "What the correct server hears instead; `nothing` keeps it from hearing at all.",
        ),
        key(
            "answers",
            Shape::Either(&[Shape::Choice(&["nothing", "never"]), Shape::Object(&ANSWERS)]),
            "What comes instead of its answer; `nothing` leaves the answer out, `never` leaves the client waiting, too.",
        ),
        key(
            "before",
            MESSAGES,
            "What comes before the answer: messages, or texts that come as they are. Over HTTP the response is a stream of events then.",
        ),
        key("after", MESSAGES, "What comes after the answer, in the same response."),
        key("ends", Shape::Flag, "The server falls over instead of hearing it."),
    ]],
};

/// What a message can be asked.
static MESSAGE: &[Key] = &[
    key("method", WORDS, "Methods that the client's message has one of; `*` stands for any letters."),
    key(
        "kind",
        KINDS,
        "What came; `malformed` is JSON that is no message, `unparsable` no JSON, `start` and `end` are those of a conversation over streams.",
    ),
    key("over", Shape::Choice(&["http", "stream"]), "How it came."),
    key("verb", WORDS, "The method of HTTP."),
    key("path", Shape::Text, "The path of the address; `/mcp` if left out. `*` stands for any letters."),
    key("header", NAMED, "Headers that must be there, or names with what they must be."),
    key("no_header", WORDS, "Headers that must not be there."),
    key("query", NAMED, "Parameters of the address that must be there, or names with what they must be."),
    key("with", WANTED, "Paths that lead somewhere in the message, or paths with what stands there."),
    key("without", WORDS, "Paths that lead nowhere in the message."),
];

/// What an edit is about.
static ON: Object = Object {
    name: "a case",
    doc: "What an edit is about: all of it must hold. A wanted text between slashes, such as `/^a/`, is a regular expression.",
    keys: &[
        MESSAGE,
        &[
            key(
                "sends",
                WORDS,
                "It is about what the server says by itself: notifications and requests with these methods. The other keys are about the request it belongs to.",
            ),
            key("answer", Shape::Object(&ANSWER), "What the correct answer must be; with `sends`, what is sent."),
            key("unless", Shape::Object(&UNLESS), "What must not hold."),
            key("nth", Shape::Whole, "Only the one with this number, counted from 1."),
            key("from", Shape::Whole, "Only the one with this number and those that follow, counted from 1."),
            key(
                "per",
                Shape::Choice(&["session", "server"]),
                "What `nth` and `from` count in: a conversation or session of HTTP (the default), or all of the server.",
            ),
        ],
    ],
};

static UNLESS: Object =
    Object { name: "an exception", doc: "What makes an edit pass over what came.", keys: &[MESSAGE] };

static ANSWER: Object = Object {
    name: "a correct answer",
    doc: "What the correct answer must be; with it, `hears` and `ends` come too late.",
    keys: &[&[
        key(
            "status",
            Shape::Either(&[Shape::Whole, Shape::List(&Shape::Whole)]),
            "The status of HTTP, or several that will do.",
        ),
        key("header", NAMED, "As in a case, of the response."),
        key("with", WANTED, "As in a case."),
        key("without", WORDS, "As in a case."),
    ]],
};

static CHANGE: &[Key] = &[
    key("set", VALUES, "Writes values to paths; the last member is made where it is missing, what holds it is not."),
    key("add", VALUES, "Adds an item to the lists at paths."),
    key("remove", WORDS, "Takes away what is at paths."),
    key("headers", HEADERS, "Headers of HTTP; nothing takes one away."),
];

static HEARS: Object = Object {
    name: "what is heard",
    doc: "What the correct server hears instead. The client's message is changed on its way in.",
    keys: &[CHANGE],
};

static ANSWERS: Object = Object {
    name: "what is answered",
    doc: "What comes instead of the correct answer. Where there was none, `result`, `error`, `message`, `text` and `base64` make one.",
    keys: &[
        CHANGE,
        &[
            key("result", Shape::Any, "The answer is a result, and this is it."),
            key("error", Shape::Any, "The answer is an error, and this is it."),
            key("message", Shape::Any, "This is the whole message."),
            key("text", Shape::Text, "This text is sent, whatever it is."),
            key("base64", Shape::Text, "These bytes are sent."),
            key("status", Shape::Whole, "The status of HTTP."),
            key("twice", Shape::Flag, "The answer comes twice."),
            key("pretty", Shape::Flag, "The message is written on several lines."),
            key("encoding", Shape::Choice(&["latin-1", "utf-16"]), "How its letters become bytes, if not as UTF-8."),
            key("replace", Shape::Map(&Shape::Text), "Replaces parts of the message as it is written, without blanks."),
            key("delay", Shape::Duration, "How much later it comes."),
            key(
                "event_id",
                Shape::Either(&[Shape::Text, Shape::Null]),
                "The id of every event of the response, where it is a stream of events; nothing leaves it out.",
            ),
            key(
                "also_on",
                Shape::Choice(&["listening"]),
                "It also comes on the streams that clients of the session opened with GET.",
            ),
        ],
    ],
};
