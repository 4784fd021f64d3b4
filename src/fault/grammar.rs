//! The grammar of faults in YAML as data: the tables check files, become their JSON Schema and the reference.

use super::words::{
    AnswerCondition, AnswerSource, ArgumentFit, Carrier, ExchangeOwner, IdEdit, LateReply, Occurrence, PlainEffect,
    SchemaBreach, SearchScope, SentAs, Side, ToolKind,
};
use crate::source::grammar::{Key, Object, Shape, key, required};

/// A fault on its own.
pub static WHOLE: Object = Object { name: "a fault", doc: "The exchanges to change, and the changes.", keys: &[FAULT] };

/// The keys of a fault; whatever holds one has them beside its own.
pub static FAULT: &[Key] = &[
    key("on", Shape::Object(&CONDITION), "The exchanges to change; without `on`, all of them."),
    key(
        "when",
        Shape::Choice(&["before", "instead", "after"]),
        "Whether the server executes the request: the fault occurs `before` or `instead` of that, or `after` (the \
         default).",
    ),
    key(
        "does",
        Shape::List(&Shape::Either(&[Shape::Choice(PlainEffect::WORDS), Shape::Object(&EFFECT)])),
        "The effects on the messages of the server, in order.",
    ),
];

/// Which exchanges are meant.
pub const MATCH: Shape = Shape::Object(&CONDITION);

/// A text, or a list of them.
pub const TEXTS: Shape = Shape::Either(&[Shape::Text, Shape::List(&Shape::Text)]);
/// Paths, or values by path.
pub const WANTED: Shape = Shape::Either(&[Shape::Text, Shape::List(&Shape::Text), Shape::Map(&Shape::Any)]);
/// Values by path.
pub const VALUES: Shape = Shape::Map(&Shape::Any);
/// A number, or a list of them.
pub const NUMBERS: Shape = Shape::Either(&[Shape::Whole, Shape::List(&Shape::Whole)]);
/// Headers by name; nothing removes one.
pub const HEADERS: Shape = Shape::Map(&Shape::Either(&[Shape::Text, Shape::Null]));

/// One word, or several of which one must hold.
macro_rules! any_of {
    ($words:expr) => {{
        static WORD: Shape = Shape::Choice($words);
        Shape::Either(&[Shape::Choice($words), Shape::List(&WORD)])
    }};
}

static CONDITION: Object = Object {
    name: "a condition",
    doc: "Conditions of an exchange; all keys must hold, and one item of each list. A wanted text between slashes, such as `/^a/`, is a regular expression.",
    keys: &[
        &[
            key("method", TEXTS, "The method; `*` matches any text."),
            key(
                "sent",
                any_of!(SentAs::WORDS),
                "How the request was sent; `broken` is JSON that is not a message, `raw` is the text of a raw step.",
            ),
            key(
                "by",
                Shape::Choice(ExchangeOwner::WORDS),
                "The sender: a case, or `discovery`, the handshakes and lists.",
            ),
            key("over", Shape::Choice(Carrier::WORDS), "The transport of the answer."),
            key(
                "answered",
                any_of!(AnswerCondition::WORDS),
                "The kind of answer; `failed` is a result with `isError`, `refused` is `failed` or an error, \
                 `served` is a result without `isError`.",
            ),
            key(
                "has",
                WANTED,
                "Paths that exist in the answer, or paths with their values; paths that start with `params` apply \
                 to notifications.",
            ),
            key("lacks", TEXTS, "Paths that do not exist in the answer."),
            key("with", WANTED, "Paths that exist in the parameters, or paths with their values."),
            key("without", TEXTS, "Paths that do not exist in the parameters."),
            key("status", NUMBERS, "The status of the response over HTTP."),
            key("header", TEXTS, "A header of a raw HTTP request."),
            key("no_header", TEXTS, "A header that a raw HTTP request does not have."),
        ],
        &[
            key(
                "arguments",
                any_of!(ArgumentFit::WORDS),
                "How the arguments relate to the tool's input schema; `loose` ones are valid if texts such as \
                 `\"5\"` are read as numbers, and are not `mistyped`.",
            ),
            key(
                "tool",
                any_of!(ToolKind::WORDS),
                "The kind of the called tool: `mutating` tools do not declare that they only read, `writing` and \
                 `adding` tools declare that they do so, and `reading` tools declare that they only read, by hint \
                 or by name.",
            ),
            key("declares", WANTED, "Paths that exist in the list entry of the tool, or paths with their values."),
            key("declared", Shape::Flag, "Whether the server declared the capability of the method."),
        ],
        &[
            key(
                "occurrence",
                Shape::Choice(Occurrence::WORDS),
                "Whether the session has an earlier request that is equal.",
            ),
            key("after", Shape::Object(&OTHER), "An earlier exchange that must exist."),
            key("unless_after", Shape::Object(&OTHER), "An earlier exchange that must not exist."),
            key("before", Shape::Object(&OTHER), "A later exchange that must exist."),
            key(
                "share",
                Shape::Number,
                "The share of matching exchanges that are changed, from 0 to 1; the selection depends on the \
                 requests, not on their order.",
            ),
        ],
    ],
};

static OTHER: Object = Object {
    name: "another exchange",
    doc: "An earlier or later exchange.",
    keys: &[&[
        key(
            "within",
            Shape::Choice(SearchScope::WORDS),
            "The scope of the search: the same `session` of the same case (the default), the `case`, or the whole \
             `run`.",
        ),
        required("is", Shape::Object(&CONDITION), "Conditions of that exchange."),
    ]],
};

static EFFECT: Object = Object {
    name: "an effect",
    doc: "One change, as one key with its value, or as a word if it needs no value.",
    keys: &[
        &[
            key("set", VALUES, "Writes values to paths; a missing last member is added."),
            key("remove", TEXTS, "Removes the values at paths."),
            key("null", TEXTS, "Writes null to paths."),
            key("retype", TEXTS, "Gives values another type."),
            key("change", TEXTS, "Gives values another plausible value."),
            key("cut", TEXTS, "Keeps the first half of texts and lists."),
            key("empty", TEXTS, "Empties texts, lists and objects."),
            key("wrap", TEXTS, "Puts values into lists of their own."),
            key("reverse", TEXTS, "Reverses lists."),
            key("double", TEXTS, "Repeats the last item of lists."),
            key("ascii", TEXTS, "Replaces characters beyond ASCII by question marks, in all texts below the path."),
            key("append", Shape::Map(&Shape::Text), "Adds text to the texts at paths."),
            key("add", VALUES, "Adds an item to the lists at paths."),
            key("pad", Shape::Map(&Shape::Whole), "Fills the texts at paths up to a length."),
            key("rename", Shape::Map(&Shape::Text), "Gives the members at paths another name."),
            key("clone", Shape::Object(&COPIES), "Copies the last item of a list."),
            key("mark", Shape::Map(&Shape::Choice(ToolKind::WORDS)), "Sets a hint of the listed tools of a kind."),
            key("echo", Shape::Map(&Shape::Text), "Copies values from paths in the parameters to paths in the answer."),
            key(
                "misshape",
                Shape::Choice(SchemaBreach::WORDS),
                "Breaks structured content against its declared schema, and changes nothing else.",
            ),
        ],
        &[
            key(
                "give",
                Shape::Choice(AnswerSource::WORDS),
                "Replaces the answer by another one: that of a valid call of the tool (`served`), of the same \
                 request `earlier`, of `other` arguments, of a `neighbour` in the session, of a `foreign` session, \
                 of the same request `elsewhere`, or a refusal (`refused`).",
            ),
            key("mix", Shape::Choice(AnswerSource::WORDS), "Prepends the content of such an answer."),
            key("error", Shape::Object(&ERROR), "Answers with a JSON-RPC error."),
            key("failure", Shape::Text, "Answers with a result that reports this failure."),
        ],
        &[
            key("delay", Shape::Duration, "Delays the answer and the messages after it."),
            key(
                "slow",
                Shape::Duration,
                "Delays the answer and the messages after it, but not beyond the request's timeout.",
            ),
            key("noise", Shape::Object(&NOISE), "Sends a line that is not a message."),
            key("stderr", Shape::Text, "Writes a line to standard error."),
            key("garbage", Shape::Text, "Sends this text in place of the answer."),
            key("reid", Shape::Choice(IdEdit::WORDS), "Changes the id of the answer."),
            key("notify", Shape::Object(&NOTIFY), "Sends a notification."),
            key("swallow", Shape::Text, "Drops notifications of this method."),
            key("repeat", Shape::Object(&REPEAT), "Repeats the last notification of a method."),
            key("late", Shape::Choice(LateReply::WORDS), "Sends a message for a cancelled request."),
            key("status", Shape::Whole, "Sets the status of the HTTP response."),
            key("header", HEADERS, "Sets headers of the HTTP response; an empty value removes one."),
            key("end", Shape::Object(&END), "Ends the server in place of the answer."),
        ],
    ],
};

static COPIES: Object = Object {
    name: "copies",
    doc: "Copies of the last item of a list.",
    keys: &[&[
        required("list", Shape::Text, "The path of the list."),
        key("with", VALUES, "The differences of a copy, by path; `{n}` is its number, `{name}` the old value."),
        key("times", Shape::Whole, "The number of copies; one by default."),
    ]],
};

static ERROR: Object = Object {
    name: "an error",
    doc: "An error of JSON-RPC.",
    keys: &[&[required("code", Shape::Number, "The code."), required("message", Shape::Text, "The message.")]],
};

static NOISE: Object = Object {
    name: "a noise",
    doc: "A line that is not a message.",
    keys: &[&[required("text", Shape::Text, "The line."), side()]],
};

static NOTIFY: Object = Object {
    name: "a notification",
    doc: "A notification of the server.",
    keys: &[&[required("method", Shape::Text, "The method."), key("params", VALUES, "The parameters."), side()]],
};

static REPEAT: Object = Object {
    name: "a repetition",
    doc: "A repeated notification.",
    keys: &[&[
        required("method", Shape::Text, "The method; `*` matches any text."),
        key(
            "side",
            Shape::Choice(Side::WORDS),
            "Whether it is repeated at once (`before` the answer, the default), or `after` the answer.",
        ),
    ]],
};

static END: Object = Object {
    name: "an end",
    doc: "How the server ends.",
    keys: &[&[
        key("status", Shape::Whole, "The exit status."),
        key("signal", Shape::Whole, "The signal that kills it."),
    ]],
};

const fn side() -> Key {
    key("side", Shape::Choice(Side::WORDS), "Whether it is sent `before` the answer (the default) or `after` it.")
}
