//! Steps: one exchange each.

use super::raw;
use crate::matching::EXPECTATION;
use crate::source::shape::{Key, Object, Shape, key, required};

pub(super) static STEP: Object =
    Object { name: "a step", doc: "One exchange with the server.", keys: &[STEP_NAME, STEP_KEYS] };

static STEP_NAME: &[Key] = &[
    key("name", Shape::Text, "What the step is for, shown when it fails."),
    key(
        "needs",
        Shape::List(&Shape::Object(&STEP_NEED)),
        "What the answer must have for the test to apply; without it the test is skipped.",
    ),
];

static STEP_NEED: Object = Object {
    name: "a need of a step",
    doc: "Something that servers may have or not.",
    keys: &[&[
        required("assert", Shape::Text, "An expression over the answer. Where it is false, the test is skipped."),
        required("else", Shape::Text, "The reason that is reported for the skip."),
    ]],
};

/// The keys of a step.
pub static STEP_KEYS: &[Key] = &[
    key("call", Shape::Text, "Calls this tool."),
    key(
        "args",
        Shape::Either(&[Shape::Map(&Shape::Any), Shape::Template]),
        "The arguments of the tool or prompt, or a template for all of them.",
    ),
    key("read", Shape::Text, "Reads the resource with this URI."),
    key("prompt", Shape::Text, "Gets this prompt."),
    key("complete", Shape::Object(&COMPLETE), "Asks for completions."),
    key(
        "list",
        Shape::Choice(&["tools", "resources", "resource_templates", "prompts"]),
        "Lists what the server offers, all pages.",
    ),
    key("request", Shape::Text, "Sends a request with this method."),
    key("notify", Shape::Text, "Sends a notification with this method."),
    key("params", Shape::Any, "The parameters of `request` and `notify`."),
    key("wait", Shape::Time, "Waits."),
    key(
        "alive",
        Shape::Flag,
        "Asks whether the server still answers: with `ping`, since 2026-07-28 with `server/discover`.",
    ),
    key("restart", Shape::Flag, "Ends the server and starts it again; not for one that has a `url` and no `command`."),
    key("send", raw::SEND_SHAPE, "Writes a raw message on the session's stream."),
    key("http", Shape::Object(&raw::HTTP), "Sends a raw HTTP request."),
    key(
        "expect",
        Shape::List(&Shape::Object(&EXPECTATION)),
        "What must hold for the answer; `[]` says on purpose that nothing must.",
    ),
    key(
        "capture",
        Shape::Map(&Shape::Either(&[Shape::Text, Shape::Object(&CAPTURE)])),
        "Names for values of the answer, by path; later steps use them as `{{ name }}`.",
    ),
    key(
        "snapshot",
        Shape::Either(&[Shape::Flag, Shape::Text, Shape::Object(&SNAPSHOT)]),
        "Compares the answer with the one that `mcprove run --update` recorded; a text names the recording.",
    ),
    key("timeout", Shape::Timeout, "The time that this request may take."),
    key("progress", Shape::Flag, "Whether to ask for progress notifications."),
    key("cancel", Shape::Object(&raw::CANCEL), "Cancels the request while it is under way."),
];

static CAPTURE: Object = Object {
    name: "a capture",
    doc: "A value of the answer.",
    keys: &[&[
        required("at", Shape::Text, "The path of the value."),
        key("secret", Shape::Flag, "Whether the value appears in no output, as values of the environment do not."),
    ]],
};

static SNAPSHOT: Object = Object {
    name: "a snapshot",
    doc: "What is recorded of an answer, and where.",
    keys: &[&[
        key("name", Shape::Text, "The name of its file; made from the names of test and step by default."),
        key("at", Shape::Text, "The part of the answer that is recorded; `result` by default."),
        key(
            "redact",
            Shape::Either(&[Shape::List(&Shape::Text), Shape::Map(&Shape::Text)]),
            "Paths whose values differ from run to run, with a text to stand there; in a list, the type of the value does.",
        ),
        key("sort", Shape::List(&Shape::Text), "Paths of arrays whose order means nothing."),
        key(
            "per",
            Shape::Choice(&["server", "revision"]),
            "Keeps one recording for each server or each revision; by default all must answer alike.",
        ),
    ]],
};

static COMPLETE: Object = Object {
    name: "a completion",
    doc: "What to complete.",
    keys: &[&[
        required("ref", Shape::Any, "The prompt or resource template: `{ type: ref/prompt, name: … }`."),
        required("argument", Shape::Any, "The argument and what is typed so far: `{ name: …, value: … }`."),
        key("context", Shape::Any, "Arguments that are known already."),
    ]],
};
