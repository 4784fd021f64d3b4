//! Properties: tests whose steps run in rounds, with other values in each.

use crate::source::grammar::{Key, Object, Shape, key, required};
use crate::suite::grammar::{NEED_KEYS, STEP_KEYS, TEST_KEYS};

pub(crate) static PROPERTY: Object = Object {
    name: "a property",
    doc: "A test that must hold for all calls: its steps run in rounds with generated values, and stop at the first round that fails.",
    keys: &[TEST_KEYS, NEED_KEYS, STEP_KEYS, PROPERTY_KEYS],
};

static PROPERTY_KEYS: &[Key] = &[
    key(
        "generate",
        Shape::NonEmpty(&Shape::Map(&GENERATED)),
        "Generated values, by the name that templates use: a JSON Schema, `{ each: VALUES }`, or `{ tool: NAME }` for \
         arguments of that tool, with the keys of [a set of arguments](#a-set-of-arguments).",
    )
    .cure("write for example `text: { type: string, maxLength: 50 }`"),
    key(
        "cases",
        Shape::Range(1, 100_000),
        "The number of rounds; by default 100 for generated values, and one for each listed value.",
    ),
    key("seed", Shape::Whole, "The seed of all random values; the same seed gives the same values.").default("0"),
    key("severity", Shape::Choice(&["low", "medium", "high", "critical"]), "The severity of a failure.")
        .default("medium"),
    key("why", Shape::Text, "Why it matters, shown with a failure."),
    key(
        "broken",
        Shape::Any,
        "The behaviour of a server that breaks this property, as [faults](fault-language.md) of the demo server; the program's own tests run it.",
    ),
    key("reference", Shape::Map(&Shape::Any), "The settings of the demo server and the suite that show it."),
];

static GENERATED: Shape = Shape::ByKey(
    "tool",
    &[
        Shape::Object(&ARGUMENTS),
        Shape::ByKey("each", &[Shape::Object(&VALUES), Shape::Either(&[Shape::Map(&Shape::Any), Shape::Template])]),
    ],
);

/// The keys of a generated name with `each`.
static VALUES: Object = Object {
    name: "a list of values",
    doc: "Values for the rounds, in order.",
    keys: &[&[required(
        "each",
        Shape::Either(&[Shape::NonEmpty(&Shape::List(&Shape::Any)), Shape::Template]),
        "The values.",
    )
    .cure("list at least one value")]],
};

/// The keys of a generated name with `tool`.
pub(crate) static ARGUMENTS: Object = Object {
    name: "a set of arguments",
    doc: "Arguments of a tool, made from its input schema; `arguments:` of the suite and calls of its tests are tried first.",
    keys: &[&[
        required("tool", Shape::Text, "The tool's name."),
        key(
            "with",
            Shape::Either(&[Shape::Map(&Shape::Any), Shape::Template]),
            "Arguments that are the same in every round.",
        ),
        key("invalid", Shape::Flag, "Whether each round's arguments break the schema in exactly one way.").default("false"),
        key(
            "put",
            Shape::Either(&[Shape::NonEmpty(&Shape::List(&Shape::Any)), Shape::Template]),
            "Values that replace one parameter each, one after another; `payload` is the value of the round.",
        )
        .unless("invalid", Shape::True),
        key(
            "into",
            Shape::Text,
            "An expression that selects the parameters for `put` by `parameter.name`, `parameter.words` and `parameter.schema`.",
        )
        .beside(&["put"]),
    ]],
};
