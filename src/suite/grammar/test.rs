//! Tests.

use crate::fault::UNNAMED;
use crate::source::grammar::Shape;
use crate::source::settings::Plain;
use crate::source::template::Expression;
use crate::source::{Located, Node, settings};
use crate::suite::model::{Answers, Loop, Recovery, SkipReason, Step};

use super::server::RETRIES;

settings! {
    /// The keys of a test, but for those of a rule, of a single step and of blocks.
    pub(crate) struct TestKeys as "a test with steps" {
        /// The test's name, unique in the suite.
        pub(crate) name: Located<String> => required(),
        /// Tags, by which filters select tests.
        pub(crate) tags: Plain<Vec<String>>,
        /// Skips the test, with a reason.
        pub(crate) skip: SkipReason,
        /// Runs only the tests with this mark; refused in CI.
        pub(crate) only: Option<Located<bool>>,
        /// `mcprove monitor` runs this test, again and again, on a server in production; a run ignores the mark.
        pub(crate) probe: bool => default("false"),
        /// The one server on which this test runs.
        pub(crate) server: Option<Located<String>>,
        /// A folder with files, relative to the suite's file: every attempt at the test gets a fresh copy, whose path is
        /// `{{ fixture }}`.
        pub(crate) fixture: Option<Plain<Located<String>>> => shape(Shape::NonEmpty(&Shape::Text)),
        /// Steps before the test.
        pub(crate) setup: Vec<Step>,
        /// The steps, in order.
        pub(crate) steps: Option<Vec<Step>> => alternative() choice("action"),
        /// Steps after the test, also after failures.
        pub(crate) teardown: Vec<Step>,
        /// Runs the test once per row; a row is a mapping of names to values, or a line of this CSV file, or an object of this
        /// JSON file.
        pub(crate) rows: Option<Plain<Node>> => choice("loop")
            shape(Shape::Either(&[Shape::NonEmpty(&Shape::List(&Shape::Map(&Shape::Any))), Shape::Text])),
        /// Runs the test once for each item that the server lists, as `tool`, `resource` or `prompt`.
        pub(crate) for_each: Option<Loop> => choice("loop"),
        /// An expression that filters the items of `for_each`.
        pub(crate) filter as "where": Option<Expression> => beside(&["for_each"]),
        /// Checks the structured content of every call against the tool's declared schema.
        pub(crate) output_schema: Option<Located<bool>>,
        /// The answers of the client in this test; it gets a session of its own.
        pub(crate) answers: Option<Answers>,
        /// Variants of the fault taxonomy that this test judges, in addition to those of its expectations.
        pub(crate) judges: Vec<Located<String>>,
        /// How often this test is retried.
        pub(crate) retries: Option<u32> => shape(RETRIES),
        /// Faults that strike the messages of this test: names of `faults`, or faults of its own. The test gets a session of
        /// its own, and fails if a fault changes nothing.
        pub(crate) inject: Option<Node> => shape(INJECTED),
        /// How soon calls of tools must fail visibly after a fault, and be served again after the last one.
        pub(crate) recovery: Option<Recovery> => beside(&["inject"]),
        /// Steps after the others, and after the faults have ended, which check what really happened. A campaign reads with
        /// them what the calls of the test have changed.
        pub(crate) verify: Vec<Step> =>
            shape(Shape::NonEmpty(&<Vec<Step> as crate::source::settings::Setting>::SHAPE)),
    }
}

/// The faults of an `inject:` list: names of `faults`, or faults of its own.
pub(crate) const INJECTED: Shape =
    Shape::NonEmpty(&Shape::List(&Shape::Either(&[Shape::Text, Shape::Object(&UNNAMED)])));
