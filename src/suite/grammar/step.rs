//! Steps: one exchange each.

use super::raw;
use crate::matching::EXPECTATION;
use crate::source::grammar::{Key, Object, Shape, alternative, key, required};

/// A step.
pub static STEP: Object =
    Object { name: "a step", doc: "One exchange with the server.", keys: &[STEP_NAME, STEP_KEYS] };

static STEP_NAME: &[Key] = &[
    key("name", Shape::Text, "The purpose of the step, shown when it fails."),
    key(
        "needs",
        Shape::List(&Shape::Object(&STEP_NEED)),
        "Conditions of the answer; if one does not hold, the test is skipped.",
    ),
];

static STEP_NEED: Object = Object {
    name: "a condition of a step",
    doc: "A condition of the answer.",
    keys: &[&[
        required("assert", Shape::Text, "An expression over the answer. If it is false, the test is skipped."),
        required("else", Shape::Text, "The reason that is reported for the skip."),
    ]],
};

/// The keys of a step.
pub static STEP_KEYS: &[Key] = &[
    alternative("call", Shape::Text, "Calls this tool.").choice("action"),
    key(
        "args",
        Shape::Either(&[Shape::Map(&Shape::Any), Shape::Template]),
        "The arguments of the tool or prompt, or a template for all of them.",
    )
    .beside(&["call", "prompt"]),
    alternative("read", Shape::Text, "Reads the resource with this URI.").choice("action"),
    alternative("prompt", Shape::Text, "Gets this prompt.").choice("action"),
    alternative("complete", Shape::Object(&COMPLETE), "Asks for completions.").choice("action"),
    alternative(
        "list",
        Shape::Choice(&["tools", "resources", "resource_templates", "prompts"]),
        "Requests all pages of this list.",
    )
    .choice("action"),
    alternative("request", Shape::Text, "Sends a request with this method.").choice("action"),
    alternative("notify", Shape::Text, "Sends a notification with this method; there is no answer to check.")
        .choice("action")
        .unless("expect", EXPECTATIONS),
    key("params", Shape::Any, "The parameters of `request` and `notify`.").beside(&["request", "notify"]),
    alternative("wait", Shape::Time, "Waits; there is no answer to check.")
        .choice("action")
        .unless("expect", EXPECTATIONS),
    alternative(
        "alive",
        Shape::Flag,
        "Checks that the server still answers: with `ping`, since 2026-07-28 with `server/discover`.",
    )
    .choice("action")
    .unless("expect", EXPECTATIONS),
    alternative(
        "restart",
        Shape::Flag,
        "Restarts the server; not possible for a server with a `url` and no `command`.",
    )
    .choice("action")
    .unless("expect", EXPECTATIONS),
    alternative("send", raw::SEND_SHAPE, "Writes a raw message on the session's stream.").choice("action"),
    alternative("http", Shape::Object(&raw::HTTP), "Sends a raw HTTP request.").choice("action"),
    key("expect", Shape::List(&Shape::Object(&EXPECTATION)), "Expectations of the answer; write `[]` for none.")
        .beside(&[
            "call", "read", "prompt", "complete", "list", "request", "send", "http", "notify", "wait", "alive",
            "restart",
        ]),
    key(
        "capture",
        Shape::Map(&Shape::Either(&[Shape::Text, Shape::Object(&CAPTURE)])),
        "Names for values of the answer, by path; later steps use them as `{{ name }}`.",
    )
    .beside(&["call", "read", "prompt", "complete", "list", "request", "send", "http"]),
    key(
        "snapshot",
        Shape::Either(&[Shape::Flag, Shape::Text, Shape::Object(&SNAPSHOT)]),
        "Compares the answer with the one that `mcprove run --update` recorded; a text names the recording.",
    )
    .beside(&["call", "read", "prompt", "complete", "list", "request"]),
    key("timeout", Shape::Timeout, "The time that this request may take.")
        .beside(&["call", "read", "prompt", "complete", "request", "alive", "send", "http"]),
    key(
        "unanswered",
        Shape::Flag,
        "Expects that no answer comes within `timeout`, because an injected fault loses it or ends the server.",
    )
    .beside(&["call", "read", "prompt", "complete", "request"])
    .without(&["cancel", "capture", "snapshot"]),
    key("progress", Shape::Flag, "Whether to ask for progress notifications.").default("false").beside(REQUESTS),
    key("cancel", Shape::Object(&raw::CANCEL), "Cancels the running request, which then has no answer to compare.")
        .beside(REQUESTS)
        .without(&["snapshot"]),
];

/// The actions that send one request.
const REQUESTS: &[&str] = &["call", "read", "prompt", "complete", "request"];

/// Expectations, where they are not said to be none.
const EXPECTATIONS: Shape = Shape::NonEmpty(&Shape::List(&Shape::Any));

static CAPTURE: Object = Object {
    name: "a capture",
    doc: "A value of the answer.",
    keys: &[&[
        required("at", Shape::Text, "The path of the value."),
        key("secret", Shape::Flag, "Whether the value is secret: it then appears in no output.").default("false"),
    ]],
};

static SNAPSHOT: Object = Object {
    name: "a snapshot",
    doc: "The recorded part of an answer, and its file.",
    keys: &[&[
        key("name", Shape::Text, "The name of the file; made from the names of test and step by default."),
        key("at", Shape::Text, "The part of the answer that is recorded.").default("result"),
        key(
            "redact",
            Shape::NonEmpty(&Shape::Either(&[Shape::List(&Shape::Text), Shape::Map(&Shape::Text)])),
            "Paths whose values differ from run to run, with replacement texts; in a list, the type replaces the value.",
        ),
        key("sort", Shape::List(&Shape::Text), "Paths of arrays whose order does not matter."),
        key(
            "per",
            Shape::Choice(&["server", "revision"]),
            "Keeps one recording for each server or each revision; by default one recording must match all of them.",
        ),
    ]],
};

static COMPLETE: Object = Object {
    name: "a completion",
    doc: "The argument to complete.",
    keys: &[&[
        required("ref", Shape::Any, "The prompt or resource template: `{ type: ref/prompt, name: … }`."),
        required("argument", Shape::Any, "The argument and its beginning: `{ name: …, value: … }`."),
        key("context", Shape::Any, "Arguments that are known already."),
    ]],
};
