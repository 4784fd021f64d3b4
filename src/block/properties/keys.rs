//! Properties: tests whose steps run in rounds, with other values in each.

use crate::source::grammar::{Object, Shape, required};
use crate::source::template::Expression;
use crate::source::{Located, Node, settings};
use crate::suite::grammar::{ExchangeKeys, NeedKeys, TestKeys};

pub(crate) static PROPERTY: Object = Object {
    name: "a property",
    doc: "A test that must hold for all calls: its steps run in rounds with generated values, and stop at the first round that fails.",
    keys: &[TestKeys::TABLE, NeedKeys::TABLE, ExchangeKeys::TABLE, PropertyKeys::TABLE],
};

settings! {
    /// The keys that only a property has.
    pub(crate) struct PropertyKeys as "a test in rounds" {
        /// Generated values, by the name that templates use: a JSON Schema, `{ each: VALUES }`, or `{ tool: NAME }` for
        /// arguments of that tool, with the keys of [a set of arguments](#a-set-of-arguments).
        pub(crate) generate: Vec<(Located<String>, Node)> => shape(Shape::NonEmpty(&Shape::Map(&GENERATED)))
            cure("write for example `text: { type: string, maxLength: 50 }`"),
        /// The number of rounds; by default 100 for generated values, and one for each listed value.
        pub(crate) cases: Option<u32> => range(1, 100_000),
        /// The seed of all random values; the same seed gives the same values.
        pub(crate) seed: u64 => default("0"),
        /// The severity of a failure.
        pub(crate) severity: Option<String> => shape(Shape::Choice(&["low", "medium", "high", "critical"]))
            default("medium"),
        /// Why it matters, shown with a failure.
        pub(crate) why: Option<String>,
        /// The behaviour of a server that breaks this property, as [faults](fault-language.md) of the demo server; the
        /// program's own tests run it.
        pub(crate) broken: Option<Node>,
        /// The settings of the demo server and the suite that show it.
        pub(crate) reference: Option<Node> => shape(Shape::Map(&Shape::Any)),
    }
}

const GENERATED: Shape = Shape::ByKey(
    "tool",
    &[
        Shape::Object(&ArgumentKeys::KEYS),
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

settings! {
    /// Arguments of a tool, made from its input schema; `arguments:` of the suite and calls of its tests are tried first.
    pub(crate) struct ArgumentKeys as "a set of arguments" {
        /// The tool's name.
        pub(crate) tool: Node => required() shape(Shape::Text),
        /// Arguments that are the same in every round.
        pub(crate) with: Option<Node> => shape(Shape::Either(&[Shape::Map(&Shape::Any), Shape::Template])),
        /// Whether each round's arguments break the schema in exactly one way.
        pub(crate) invalid: bool => default("false"),
        /// Values that replace one parameter each, one after another; `payload` is the value of the round.
        pub(crate) put: Option<Node>
            => shape(Shape::Either(&[Shape::NonEmpty(&Shape::List(&Shape::Any)), Shape::Template]))
            unless("invalid", Shape::True),
        /// An expression that selects the parameters for `put` by `parameter.name`, `parameter.words` and
        /// `parameter.schema`.
        pub(crate) into: Option<Expression> => beside(&["put"]),
    }
}
