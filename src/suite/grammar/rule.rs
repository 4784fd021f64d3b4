//! Rules of a specification, and what tests need.

use crate::source::shape::{Key, Object, Shape, key, required};

/// Published revisions.
const REVISIONS: &[&str] = &["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"];

const CARRIERS: Shape = Shape::Choice(&["stdio", "http"]);

pub(super) static RULE: Object = Object {
    name: "a rule",
    doc: "What a specification demands, where a test stands for it.",
    keys: &[&[
        required("id", Shape::Text, "Its id: `B2`."),
        required(
            "section",
            Shape::Text,
            "The page and the section of the specification that it belongs to: `basic/transports#stdio`.",
        ),
        key(
            "level",
            Shape::Choice(&["must", "should"]),
            "How binding it is, `must` by default; a server that breaks a `should` is warned.",
        ),
        key("advice", Shape::Text, "Why it is no more than advice, where the sentence has no SHOULD."),
        key("revisions", Shape::List(&Shape::Choice(REVISIONS)), "The revisions in which it holds; all by default."),
        key("over", CARRIERS, "The transport that it is about; every one by default."),
        required(
            "quote",
            Shape::Text,
            "The sentence that demands it, word for word; `…` stands for words that are left out.",
        ),
        key(
            "source",
            Shape::Text,
            "Where the sentence stands, if not on the page of `section`: `schema#tool`, or an address.",
        ),
        required("why", Shape::Text, "Why it matters."),
        required("good", Shape::Text, "How a good server answers."),
        key(
            "broken",
            Shape::Any,
            "What a server does that breaks this rule, as flaws of the demo server; `mcprove serve faulty --rule` plays it.",
        ),
        key(
            "also_broken",
            Shape::Map(&Shape::Any),
            "The same for each further variant that the test judges; the program's own tests play it.",
        ),
        key("reference", Shape::Map(&Shape::Any), "What the demo server and the suite need to show it."),
    ]],
};

static NEED: Object = Object {
    name: "a need",
    doc: "What must be there before the test says anything about a server; otherwise it is skipped. All that is said must hold.",
    keys: &[&[
        key("hint", Shape::Text, "A hint under `compliance: { hints: … }`, such as `slow_tool`."),
        key("capability", Shape::Text, "A capability that the server declares, such as `resources.subscribe`."),
        key("no_capability", Shape::Text, "A capability that the server does not declare."),
        key("over", CARRIERS, "The transport."),
        key("assert", Shape::Text, "An expression that holds; `offer` is what the server offers."),
        key(
            "else",
            Shape::Text,
            "The reason that is reported where the test is skipped because `assert` does not hold.",
        ),
    ]],
};

/// Keys of a test that stands for a rule, or that does not say something of every server.
pub static RULE_KEYS: &[Key] = &[
    key("rule", Shape::Object(&RULE), "The rule of the specification for which the test stands."),
    key("needs", Shape::List(&Shape::Object(&NEED)), "What must be there before the test says anything."),
    key(
        "witness",
        Shape::List(&Shape::Object(&super::step::STEP)),
        "Steps that must go well before the others say anything: a sound twin of what must be refused. Otherwise the test is inconclusive.",
    ),
    key(
        "scan",
        Shape::Either(&[Shape::Text, Shape::List(&Shape::Text)]),
        "Instead of steps: what every frame of every session of the suite is searched for.",
    ),
    key("handshake", Shape::Flag, "`false` begins a session without a handshake; the steps say everything."),
];
