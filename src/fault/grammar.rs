//! The grammar of faults in YAML as data: the tables check files, become their JSON Schema and the reference.

use super::preset::TYPED;
use super::words::{
    AnswerCondition, AnswerSource, ArgumentFit, Arrival, BurstUnit, CountScope, ExchangeOwner, FaultTransport, IdEdit,
    KillMoment, KindCondition, LateReply, Occurrence, PageFault, PageRequest, PlainEffect, SchemaBreach, SearchScope,
    Side, ToolKind,
};
use crate::source::grammar::{Key, Object, Shape, key, required};

/// The faults of one server: a plan, several, or one alone.
pub(crate) const PLANS: Shape =
    Shape::Either(&[Shape::List(&Shape::Object(&WHOLE)), Shape::Object(&WHOLE), Shape::Object(&PLAN)]);

/// A plan: faults with a seed. Plans of mcp-chaos are such plans.
pub(crate) static PLAN: Object = Object {
    name: "a plan",
    doc: "Faults, and the seed of what is drawn.",
    keys: &[&[
        required("faults", Shape::List(&Shape::Object(&WHOLE)), "The faults."),
        key("seed", Shape::Whole, "The seed of what is drawn.").default("0"),
        key("name", Shape::Text, "A name for people."),
        key("description", Shape::Text, "A description for people."),
    ]],
};

/// A fault on its own.
pub static WHOLE: Object = Object {
    name: "a fault",
    doc: "One thing that a server does wrong: the messages to change, and the changes to the request and to the answer.",
    keys: &[&[key("name", Shape::Text, "Its name in logs.")], TYPED, FAULT],
};

/// The keys of a fault; whatever holds one has them beside its own.
pub static FAULT: &[Key] = &[
    key("on", Shape::Object(&CONDITION), "The messages to change; without `on`, all messages."),
    key(
        "hears",
        Shape::Either(&[Shape::Choice(Arrival::WORDS), Shape::Object(&HEARS)]),
        "Changes to the message that the server receives; with `nothing` it receives none, with `twice` it receives it twice, and the second answer is dropped. `truncate`: half of it comes, as a message; `torn`: half of it comes, and the client is gone; `pieces`: it comes in pieces, with pauses; `cancelled`: its cancellation follows at once.",
    ),
    key(
        "answers",
        Shape::Either(&[
            Shape::Choice(PlainEffect::WORDS),
            Shape::Object(&EFFECT),
            Shape::List(&Shape::Either(&[Shape::Choice(PlainEffect::WORDS), Shape::Object(&EFFECT)])),
        ]),
        "Changes to the answer and to what comes with it. `stall`: it never comes, and neither does anything else in its session, in which the server hears nothing more until the faults end; `torn`: half of it comes, and the server ends; `reset`: half of it comes, and its connection is reset, or a stream ends; `drift`: the values of a result have other types, in structured content and in the texts that a model reads, and a text that is no JSON comes as `{\"text\": …}` if there is no structured content.",
    ),
    key(
        "before",
        Shape::List(&Shape::Any),
        "Messages before the answer, or texts that are sent as they are. Over HTTP the response is a stream of events then.",
    ),
    key("after", Shape::List(&Shape::Any), "Messages after the answer, in the same response."),
    key("process", Shape::Object(&PROCESS), "What happens to the process of the server; in tests of suites."),
    key("unread", Shape::Duration, "How long the client reads nothing after the message; in tests of suites."),
];

/// Which exchanges are meant.
pub const MATCH: Shape = Shape::Object(&CONDITION);

/// A text, or a list of them.
const TEXTS: Shape = Shape::Either(&[Shape::Text, Shape::NonEmpty(&Shape::List(&Shape::Text))]);
/// Paths, or values by path.
const WANTED: Shape = Shape::Either(&[Shape::Text, Shape::List(&Shape::Text), Shape::Map(&Shape::Any)]);
/// Values by path.
const VALUES: Shape = Shape::Map(&Shape::Any);
/// A number, or a list of them.
const NUMBERS: Shape = Shape::Either(&[Shape::Whole, Shape::List(&Shape::Whole)]);
/// Names, or names with their values.
const NAMED: Shape = Shape::Either(&[Shape::Text, Shape::List(&Shape::Text), Shape::Map(&Shape::Text)]);
/// Bytes a second.
pub(crate) const BANDWIDTH: Shape = Shape::Range(1, 1_000_000_000);
/// Headers by name; nothing removes one.
const HEADERS: Shape = Shape::Map(&Shape::Either(&[Shape::Text, Shape::Null]));

/// One word, or several of which one must hold.
macro_rules! any_of {
    ($words:expr) => {{
        static WORD: Shape = Shape::Choice($words);
        Shape::Either(&[Shape::Choice($words), Shape::List(&WORD)])
    }};
}

/// The conditions that the message of the client can be tested for.
static MESSAGE: &[Key] = &[
    key("method", TEXTS, "Methods, one of which the message has; `*` stands for any letters."),
    key("tools", TEXTS, "Names of tools, one of which is called; `*` stands for any letters."),
    key(
        "kind",
        any_of!(KindCondition::WORDS),
        "The kind of message; `malformed` is JSON that is not a message, `unparsable` is not JSON, `raw` is whatever a raw \
         step sent, `start` and `end` are those of a session over streams.",
    ),
    key("over", Shape::Choice(FaultTransport::WORDS), "The transport."),
    key("with", WANTED, "Paths that exist in the message, or paths with their values."),
    key("without", TEXTS, "Paths that do not exist in the message."),
    key("verb", TEXTS, "The HTTP method."),
    key("path", Shape::Text, "The path of the address; `*` stands for any letters."),
    key("header", NAMED, "Headers that must exist, or names with their values."),
    key("no_header", TEXTS, "Headers that must not exist."),
    key("query", NAMED, "Parameters of the address that must exist, or names with their values."),
];

static CONDITION: Object = Object {
    name: "a fault condition",
    doc: "Conditions of a request and its answer; all keys must hold, and one item of each list. A wanted text between slashes, such as `/^a/`, is a regular expression.",
    keys: &[
        MESSAGE,
        &[
            key("unless", Shape::Object(&UNLESS), "Conditions of the message that must not hold."),
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
            key("status", NUMBERS, "The HTTP status of the answer, or a list of allowed ones."),
            key(
                "sends",
                TEXTS,
                "The fault is about messages that the server sends by itself: notifications and requests with these methods. The other keys are about the request that they belong to.",
            ),
        ],
        &[
            key(
                "arguments",
                any_of!(ArgumentFit::WORDS),
                "How the arguments relate to the tool's input schema; `loose` ones are valid if texts such as \
                 `\"5\"` are read as numbers, and are not `mistyped`.",
            ),
            key(
                "asks",
                any_of!(PageRequest::WORDS),
                "The part of a list that the arguments ask for: at most so many items (`limit`), or a page after the \
                 first one (`later_page`), by the names of the arguments.",
            ),
            key(
                "tool",
                any_of!(ToolKind::WORDS),
                "The kind of the called tool: `mutating` tools do not declare that they only read, `writing` and \
                 `adding` tools declare that they do so, `deleting` tools have a name that says so, and `reading` \
                 tools declare that they only read, by hint or by name; `reads_stored` tools read what another tool \
                 writes, such as `list_users` beside `create_user`, and `listing` tools return a list.",
            )
            .cure("`tool` is a kind of tool; names of tools go under `tools`"),
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
            key(
                "burst",
                Shape::Number,
                "How many matching exchanges are changed in a row, on average; `share` is the share in all.",
            )
            .beside(&["share"]),
            key(
                "burst_of",
                Shape::Choice(BurstUnit::WORDS),
                "What `burst` counts: `calls`, or the `tasks` that clients name, all of whose exchanges are changed or none; \
                 an exchange that names none counts by itself.",
            )
            .beside(&["burst"])
            .default("calls"),
            key("nth", Shape::Range(1, u64::MAX), "Only the one with this number, counted from 1."),
            key(
                "from",
                Shape::Range(1, u64::MAX),
                "Only the one with this number and those that follow, counted from 1.",
            ),
            key(
                "per",
                Shape::Choice(CountScope::WORDS),
                "The scope of `nth` and `from`: a session (the default), or all of the server.",
            ),
            key(
                "by",
                Shape::Choice(ExchangeOwner::WORDS),
                "The sender: a case, or `discovery`, the handshakes and lists.",
            ),
        ],
    ],
};

static UNLESS: Object =
    Object { name: "an exception", doc: "Conditions under which a fault ignores a message.", keys: &[MESSAGE] };

static OTHER: Object = Object {
    name: "another exchange",
    doc: "An earlier or later exchange.",
    keys: &[&[
        key(
            "within",
            Shape::Choice(SearchScope::WORDS),
            "The scope of the search: the same `session` of the same case (the default), an `other_session` of it, the \
             `case`, or the whole `run`.",
        ),
        required("is", Shape::Object(&CONDITION), "Conditions of that exchange."),
        key(
            "same",
            TEXTS,
            "Paths below `params` at which both messages of the client have the same value, such as `params.taskId`.",
        ),
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
    doc: "Changes to the client's message before the server receives it.",
    keys: &[
        CHANGE,
        &[
            key(
                "bandwidth",
                BANDWIDTH,
                "How many bytes of it arrive in a second; what follows on a stream waits for them.",
            ),
            key(
                "times",
                Shape::Range(2, 1000),
                "How many times it arrives, all at once, as when a client asks again and again: each further time under \
                 an id of its own, whose answer is dropped.",
            ),
        ],
    ],
};

/// The changes in the order in which several keys of one object apply.
pub(crate) static EFFECT: Object = Object {
    name: "a changed answer",
    doc: "Changes to the answer. Several keys apply in the order of this table; a list of changes applies in its own. If there was no answer, `result`, `error`, `failure`, `message` and `text` make one.",
    keys: &[
        &[
            key("result", Shape::Any, "The answer is this result."),
            key("error", Shape::Any, "The answer is this error, an object with `code` and `message`."),
            key("failure", Shape::Text, "The answer is a result that reports this failure."),
            key("message", Shape::Any, "This is the whole message."),
            key("text", Shape::Text, "This text is sent as it is."),
            key(
                "give",
                Shape::Choice(AnswerSource::WORDS),
                "Replaces the answer by another one: that of a valid call of the tool (`served`), of the same \
                 request `earlier`, of `other` arguments, of a `neighbour` in the session, of a `foreign` session, \
                 of the same request `elsewhere`, a refusal (`refused`), or that of the same request before the \
                 deletion that came last (`undeleted`).",
            ),
            key("mix", Shape::Choice(AnswerSource::WORDS), "Prepends the content of such an answer."),
            key(
                "page",
                Shape::Choice(PageFault::WORDS),
                "Makes the list in the result of a tool a wrong page: with one item more than the call asked for \
                 (`overfull`), one that begins one item too late (`skips`), or with the last item of the page before \
                 (`repeats`), or one whose next page is itself (`stuck`).",
            ),
        ],
        CHANGE,
        &[
            key("null", TEXTS, "Writes null to paths."),
            key("retype", TEXTS, "Gives values another type."),
            key("change", TEXTS, "Gives values another plausible value, which is drawn and keeps to their schema."),
            key(
                "change_back",
                TEXTS,
                "The same the other way: a number that `change` makes more becomes less, and a text changes at another place.",
            ),
            key("cut", TEXTS, "Keeps the first half of texts and lists."),
            key("empty", TEXTS, "Empties texts, lists and objects."),
            key("wrap", TEXTS, "Puts values into lists of their own."),
            key("reverse", TEXTS, "Reverses lists."),
            key("double", TEXTS, "Repeats the last item of lists."),
            key("ascii", TEXTS, "Replaces characters beyond ASCII by question marks, in all texts below the path."),
            key(
                "misdeclare",
                TEXTS,
                "Gives the types that schemas name another name: `string`, or `integer` instead of it.",
            ),
            key("append", Shape::Map(&Shape::Text), "Adds text to the texts at paths."),
            key(
                "plant",
                Shape::Map(&Shape::Text),
                "Adds text to every text below paths, also in JSON within a text, as far as its schema allows; `{drawn}` in it is a drawn word.",
            ),
            key(
                "pad",
                Shape::Map(&Shape::Whole),
                "Fills the texts at paths up to a length in bytes, of 67108864 at most.",
            ),
            key("rename", Shape::Map(&Shape::Text), "Gives the members at paths another name."),
            key("clone", Shape::Object(&COPIES), "Copies the last item of a list."),
            key("mark", Shape::Map(&Shape::Choice(ToolKind::WORDS)), "Sets a hint of the listed tools of a kind."),
            key(
                "misshape",
                Shape::Choice(SchemaBreach::WORDS),
                "Breaks structured content against its declared schema, and changes nothing else.",
            ),
        ],
        &[
            key("delay", Shape::Duration, "Delays the answer and the messages after it."),
            key(
                "bandwidth",
                BANDWIDTH,
                "How many bytes of it come in a second. Relays send them so; elsewhere the whole answer comes as late.",
            ),
            key("jitter", Shape::Duration, "Delays them by up to this much more; how much depends on the request."),
            key(
                "slow",
                Shape::Duration,
                "Delays the answer and the messages after it, but not beyond the request's timeout.",
            ),
            key("stderr", Shape::Text, "Writes a line to standard error."),
            key("reid", Shape::Choice(IdEdit::WORDS), "Changes the id of the answer."),
            key("swallow", Shape::Text, "Drops notifications of this method."),
            key("repeat", Shape::Object(&REPEAT), "Repeats the last notification of a method."),
            key("late", Shape::Choice(LateReply::WORDS), "Sends a message for a cancelled request."),
            key("status", Shape::Whole, "Sets the status of the HTTP response."),
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
            key(
                "replace",
                Shape::Map(&Shape::Text),
                "Replaces parts of the message's JSON, which is written without blanks.",
            ),
            key("end", Shape::Object(&END), "Ends the server in place of the answer."),
        ],
    ],
};

static PROCESS: Object = Object {
    name: "a process",
    doc: "What happens to the process of the server.",
    keys: &[&[
        key(
            "kill",
            Shape::Choice(KillMoment::WORDS),
            "When it is killed: before it hears of the message (`unheard`), as soon as it has it (`heard`), or when its \
             answer is on the way (`answered`), which does not come.",
        ),
        key("pause", Shape::Duration, "How long it stands still from the message on, as if the machine slept."),
    ]],
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
