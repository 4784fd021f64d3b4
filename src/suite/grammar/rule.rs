//! Rules of a specification, and what tests need.

use crate::source::grammar::{Key, Object, Shape, alternative, key, required};

/// Published revisions.
const REVISIONS: &[&str] = &["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"];

const CARRIERS: Shape = Shape::Choice(&["stdio", "http"]);

pub(crate) static RULE: Object = Object {
    name: "a rule",
    doc: "A rule of the specification that a test checks.",
    keys: &[&[
        required("id", Shape::Text, "The id, such as `B2`."),
        required(
            "section",
            Shape::Text,
            "The page and the section of the specification, such as `basic/transports#stdio`.",
        ),
        key("level", Shape::Choice(&["must", "should"]), "The level; a broken `should` is only a warning.")
            .default("must"),
        key("advice", Shape::Text, "Why the rule is only advice, if the sentence has no SHOULD."),
        key("revisions", Shape::List(&Shape::Choice(REVISIONS)), "The revisions to which it applies; all by default."),
        key("over", CARRIERS, "The transport to which it applies; all by default."),
        required("quote", Shape::Text, "The sentence that demands it, word for word; `…` stands for omitted words."),
        key(
            "source",
            Shape::Text,
            "The page of the sentence, if it differs from the page of `section`: `schema#tool`, or an address.",
        ),
        required("why", Shape::Text, "Why it matters."),
        required("good", Shape::Text, "How a good server answers."),
        key(
            "broken",
            Shape::Any,
            "The behaviour of a server that breaks this rule, as [faults](fault-language.md) of the demo server; `mcprove serve faulty --rule` runs it.",
        ),
        key(
            "also_broken",
            Shape::Map(&Shape::Any),
            "The same for each further variant that the test judges; the program's own tests run it.",
        ),
        key("reference", Shape::Map(&Shape::Any), "The settings of the demo server and the suite that show it."),
    ]],
};

static NEED: Object = Object {
    name: "a condition",
    doc: "Conditions of a test; if one does not hold, the test is skipped.",
    keys: &[&[
        alternative("hint", Shape::Text, "A hint under `compliance: { hints: … }`, such as `slow_tool`.")
            .cure("write for example `{ capability: tools }`"),
        alternative("capability", Shape::Text, "A capability that the server declares, such as `resources.subscribe`."),
        alternative("no_capability", Shape::Text, "A capability that the server does not declare."),
        alternative("over", CARRIERS, "The transport."),
        alternative(
            "assert",
            Shape::Text,
            "An expression that must hold; `offer` has the server's lists and capabilities.",
        ),
        key("else", Shape::Text, "The reason that is reported if `assert` does not hold.").beside(&["assert"]),
    ]],
};

/// The key of a test that stands for a rule.
pub static RULE_KEY: &[Key] =
    &[key("rule", Shape::Object(&RULE), "The rule of the specification that the test checks.")];

/// Keys of a test that does not say something of every server.
pub static NEED_KEYS: &[Key] = &[
    key("needs", Shape::List(&Shape::Object(&NEED)), "Conditions; if one does not hold, the test is skipped."),
    key(
        "witness",
        Shape::List(&Shape::Object(&super::step::STEP)),
        "Steps that must succeed first, such as a valid call of the tool that must refuse another one. If they fail, the test is inconclusive.",
    ),
    alternative(
        "scan",
        Shape::Either(&[Shape::Text, Shape::NonEmpty(&Shape::List(&Shape::Text))]),
        "In place of steps: scans that must find nothing in any session of the suite.",
    ),
    key("handshake", Shape::Flag, "`false` begins a session without a handshake; the steps send everything.")
        .default("true"),
];
