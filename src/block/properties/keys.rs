//! Properties: tests whose steps run in rounds, with other values in each.

use crate::block::negative_path;
use crate::source::shape::{Key, Object, Shape, key, required};
use crate::suite::grammar::{RULE_KEYS, STEP_KEYS, TEST_KEYS};

pub(super) static PROPERTY: Object = Object {
    name: "a property",
    doc: "A test that must hold for all calls: its steps run in rounds with generated values, and stop at the first \
          round in which something is wrong.",
    keys: &[TEST_KEYS, RULE_KEYS, STEP_KEYS, negative_path::TEST_KEYS, PROPERTY_KEYS],
};

static PROPERTY_KEYS: &[Key] = &[
    key(
        "generate",
        Shape::Map(&Shape::Either(&[Shape::Any, Shape::Object(&ARGUMENTS), Shape::Object(&VALUES)])),
        "What is generated, by the name that templates use: a JSON Schema, `{ each: VALUES }`, or `{ tool: NAME }` for \
         arguments of that tool, with the keys of [a set of arguments](#a-set-of-arguments).",
    ),
    key(
        "cases",
        Shape::Whole,
        "How many rounds; by default 100 for what is drawn, and as many as there are for what is listed.",
    ),
    key("seed", Shape::Whole, "What all draws follow from, 0 by default; the same seed gives the same values."),
    key(
        "severity",
        Shape::Choice(&["low", "medium", "high", "critical"]),
        "How bad it is where the property does not hold; `medium` by default.",
    ),
    key("why", Shape::Text, "Why it matters, told where it does not hold."),
    key(
        "broken",
        Shape::Any,
        "What a server does that breaks this property, as flaws of the demo server; the program's own tests play it.",
    ),
    key("reference", Shape::Map(&Shape::Any), "What the demo server and the suite need to show it."),
];

/// What `generate:` says of a name where it has `each`.
pub(super) static VALUES: Object = Object {
    name: "a list of values",
    doc: "Values that are taken one after another.",
    keys: &[&[required("each", Shape::Either(&[Shape::List(&Shape::Any), Shape::Template]), "The values.")]],
};

/// What `generate:` says of a name where it has `tool`.
pub(super) static ARGUMENTS: Object = Object {
    name: "a set of arguments",
    doc: "Arguments of a tool, made from its input schema; `arguments:` of the suite and calls of its tests are tried first.",
    keys: &[&[
        required("tool", Shape::Text, "The tool's name."),
        key(
            "with",
            Shape::Either(&[Shape::Map(&Shape::Any), Shape::Template]),
            "Arguments that are the same in every round.",
        ),
        key("invalid", Shape::Flag, "Whether each round's arguments break the schema in exactly one way."),
        key(
            "put",
            Shape::Either(&[Shape::List(&Shape::Any), Shape::Template]),
            "Values that take the place of one parameter each, one after another; rounds know them as `payload`.",
        ),
        key(
            "into",
            Shape::Text,
            "An expression that picks the parameters for `put` by `parameter.name`, `parameter.words` and `parameter.schema`.",
        ),
    ]],
};
