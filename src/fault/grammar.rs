//! What a fault looks like in YAML, as data: the tables check files, become their JSON Schema and the reference.

use super::words::{
    AnswerCondition, AnswerSource, ArgumentFit, Carrier, ExchangeOwner, IdEdit, LateReply, Occurrence, PlainEffect,
    SchemaBreach, SearchScope, SentAs, Side, ToolKind,
};
use crate::source::grammar::{Key, Object, Shape, key, required};

/// A fault on its own.
pub static WHOLE: Object = Object { name: "a fault", doc: "What goes wrong, where and when.", keys: &[FAULT] };

/// The keys of a fault; whatever holds one has them beside its own.
pub static FAULT: &[Key] = &[
    key("on", Shape::Object(&CONDITION), "The exchanges that it strikes; without it all of them."),
    key(
        "when",
        Shape::Choice(&["before", "instead", "after"]),
        "Whether the server has done its work by then: `before` and `instead` of it, or `after` (the default).",
    ),
    key(
        "does",
        Shape::List(&Shape::Either(&[Shape::Choice(PlainEffect::WORDS), Shape::Object(&EFFECT)])),
        "What it does to what comes, one effect after the other.",
    ),
];

/// Which exchanges are meant.
pub const MATCH: Shape = Shape::Object(&CONDITION);

const TEXTS: Shape = Shape::Either(&[Shape::Text, Shape::List(&Shape::Text)]);
const PLACES: Shape = TEXTS;
const WANTED: Shape = Shape::Either(&[Shape::Text, Shape::List(&Shape::Text), Shape::Map(&Shape::Any)]);
const VALUES: Shape = Shape::Map(&Shape::Any);

/// One word, or several of which one must hold.
macro_rules! any_of {
    ($words:expr) => {{
        static WORD: Shape = Shape::Choice($words);
        Shape::Either(&[Shape::Choice($words), Shape::List(&WORD)])
    }};
}

static CONDITION: Object = Object {
    name: "a condition",
    doc: "Which exchanges are meant: all that is said must hold, and of a list one item.",
    keys: &[
        &[
            key("method", TEXTS, "The method, `*` for any letters in it."),
            key(
                "sent",
                any_of!(SentAs::WORDS),
                "How it was sent; `broken` is JSON that is no message, `raw` what a raw step wrote.",
            ),
            key(
                "by",
                Shape::Choice(ExchangeOwner::WORDS),
                "Whose it is: a case's, or that of handshakes and of asking what there is.",
            ),
            key("over", Shape::Choice(Carrier::WORDS), "What carried the answer."),
            key(
                "answered",
                any_of!(AnswerCondition::WORDS),
                "What the answer is; `failed` is a result with `isError`, `refused` that or an error, `served` a result without it.",
            ),
            key(
                "has",
                WANTED,
                "Paths in the answer at which something is, or with which value; those from `params` on are looked for in notifications.",
            ),
            key("lacks", PLACES, "Paths in the answer at which nothing is."),
            key("with", WANTED, "Paths in the parameters at which something is, or with which value."),
            key("without", PLACES, "Paths in the parameters at which nothing is."),
            key(
                "status",
                Shape::Either(&[Shape::Whole, Shape::List(&Shape::Whole)]),
                "The status of the response over HTTP.",
            ),
            key("header", TEXTS, "A header that a raw request over HTTP wrote."),
            key("no_header", TEXTS, "A header that it did not write."),
        ],
        &[
            key(
                "arguments",
                any_of!(ArgumentFit::WORDS),
                "How the arguments stand to the tool's input schema; `loose` ones would fit if texts were read as what they spell, and are not `mistyped`.",
            ),
            key(
                "tool",
                any_of!(ToolKind::WORDS),
                "What kind of tool is called; `mutating` ones do not say that they only read, `writing` and `adding` ones say what they do, and `reading` ones that they only read, by hint or by name.",
            ),
            key("declares", WANTED, "Paths in the entry of the tool at which something is, or with which value."),
            key("declared", Shape::Flag, "Whether the server declared the capability that the method belongs to."),
        ],
        &[
            key("occurrence", Shape::Choice(Occurrence::WORDS), "Whether the same was asked before in the session."),
            key("after", Shape::Object(&OTHER), "An earlier exchange that there must be."),
            key("unless_after", Shape::Object(&OTHER), "An earlier exchange that there must not be."),
            key("before", Shape::Object(&OTHER), "A later exchange that there must be."),
            key(
                "share",
                Shape::Number,
                "How much of what matches is struck, from 0 to 1; the draws depend on what is asked and never on the order.",
            ),
        ],
    ],
};

static OTHER: Object = Object {
    name: "another exchange",
    doc: "An exchange that was earlier, or comes later.",
    keys: &[&[
        key(
            "within",
            Shape::Choice(SearchScope::WORDS),
            "Where it is looked for: in the same `session` of the same case (the default), in the `case`, or in the whole `run`.",
        ),
        required("is", Shape::Object(&CONDITION), "What is true of it."),
    ]],
};

static EFFECT: Object = Object {
    name: "an effect",
    doc: "One change to what comes, under one key; without a value it is a word.",
    keys: &[
        &[
            key("set", VALUES, "Writes values to paths; the last member is made where it is missing."),
            key("remove", PLACES, "Takes away what is at paths."),
            key("null", PLACES, "Writes null to paths."),
            key("retype", PLACES, "Gives values another type."),
            key("change", PLACES, "Gives values another value that nobody would find odd."),
            key("cut", PLACES, "Keeps the first half of texts and lists."),
            key("empty", PLACES, "Empties texts, lists and objects."),
            key("wrap", PLACES, "Puts values into lists of their own."),
            key("reverse", PLACES, "Turns lists around."),
            key("double", PLACES, "Repeats the last item of lists."),
            key("ascii", PLACES, "Writes question marks for letters beyond ASCII, in all texts below."),
            key("append", Shape::Map(&Shape::Text), "Adds text to the texts at paths."),
            key("add", VALUES, "Adds an item to the lists at paths."),
            key("pad", Shape::Map(&Shape::Whole), "Fills the texts at paths up to a length."),
            key("rename", Shape::Map(&Shape::Text), "Gives the members at paths another name."),
            key("clone", Shape::Object(&COPIES), "Copies the last item of a list."),
            key("mark", Shape::Map(&Shape::Choice(ToolKind::WORDS)), "Sets a hint of the listed tools of a kind."),
            key(
                "echo",
                Shape::Map(&Shape::Text),
                "Writes to paths in the answer what stands at paths in the parameters.",
            ),
            key(
                "misshape",
                Shape::Choice(SchemaBreach::WORDS),
                "Breaks structured content against its declared schema, and only so.",
            ),
        ],
        &[
            key(
                "give",
                Shape::Choice(AnswerSource::WORDS),
                "Gives an answer that was given to something else: to a good call of the tool, to the same `earlier`, to `other` arguments, to a `neighbour` in the session, in a `foreign` session, to the same `elsewhere`, or a refusal.",
            ),
            key("mix", Shape::Choice(AnswerSource::WORDS), "Puts the content of such an answer in front."),
            key("error", Shape::Object(&ERROR), "Answers with an error of the protocol."),
            key("failure", Shape::Text, "Answers with a result that reports this failure."),
        ],
        &[
            key("delay", Shape::Duration, "The answer, and what follows it, comes later."),
            key("noise", Shape::Object(&NOISE), "A line that is no message comes."),
            key("stderr", Shape::Text, "A line on standard error comes."),
            key("garbage", Shape::Text, "This comes instead of the answer."),
            key("reid", Shape::Choice(IdEdit::WORDS), "Changes the id of the answer."),
            key("notify", Shape::Object(&NOTIFY), "A notification comes."),
            key("swallow", Shape::Text, "Notifications of that method do not come."),
            key("repeat", Shape::Object(&REPEAT), "The last notification of a method comes once more."),
            key("late", Shape::Choice(LateReply::WORDS), "Something still comes for the request that is cancelled."),
            key("status", Shape::Whole, "The response over HTTP has this status."),
            key(
                "header",
                Shape::Map(&Shape::Either(&[Shape::Text, Shape::Null])),
                "Headers of the response over HTTP; nothing takes one away.",
            ),
            key("end", Shape::Object(&END), "The server ends instead of answering."),
        ],
    ],
};

static COPIES: Object = Object {
    name: "copies",
    doc: "Copies of the last item of a list.",
    keys: &[&[
        required("list", Shape::Text, "The path of the list."),
        key("with", VALUES, "What differs in a copy, by path; `{n}` is its number, `{name}` what stood there."),
        key("times", Shape::Whole, "How many; one by default."),
    ]],
};

static ERROR: Object = Object {
    name: "an error",
    doc: "An error of JSON-RPC.",
    keys: &[&[required("code", Shape::Number, "The code."), required("message", Shape::Text, "The message.")]],
};

static NOISE: Object = Object {
    name: "a noise",
    doc: "A line that is no message.",
    keys: &[&[required("text", Shape::Text, "The line."), side()]],
};

static NOTIFY: Object = Object {
    name: "a notification",
    doc: "A notification of the server.",
    keys: &[&[required("method", Shape::Text, "Its method."), key("params", VALUES, "Its parameters."), side()]],
};

static REPEAT: Object = Object {
    name: "a repetition",
    doc: "A notification that comes twice.",
    keys: &[&[
        required("method", Shape::Text, "Its method, `*` for any letters."),
        key(
            "side",
            Shape::Choice(Side::WORDS),
            "Whether it comes again at once (`before` the answer, the default), or `after` the answer.",
        ),
    ]],
};

static END: Object = Object {
    name: "an end",
    doc: "How the server ends.",
    keys: &[&[key("status", Shape::Whole, "With this status."), key("signal", Shape::Whole, "By this signal.")]],
};

const fn side() -> Key {
    key("side", Shape::Choice(Side::WORDS), "Whether it comes `before` the answer (the default) or `after` it.")
}
