//! Tests.

use crate::fault::UNNAMED;
use crate::source::grammar::{Key, Shape, alternative, key, required};
use crate::source::settings::Setting;
use crate::suite::model::{Answers, Recovery};

use super::server::RETRIES;
use super::step::STEP;

/// The keys of a test, but for those of a rule, of a single step and of blocks.
pub static TEST_KEYS: &[Key] = &[
    required("name", Shape::Text, "The test's name, unique in the suite."),
    key("tags", Shape::List(&Shape::Text), "Tags, by which filters select tests."),
    key("skip", Shape::Either(&[Shape::Text, Shape::Flag]), "Skips the test, with a reason."),
    key("only", Shape::Flag, "Runs only the tests with this mark; refused in CI."),
    key("server", Shape::Text, "The one server on which this test runs."),
    key("setup", Shape::List(&Shape::Object(&STEP)), "Steps before the test."),
    alternative("steps", Shape::List(&Shape::Object(&STEP)), "The steps, in order.").choice("action"),
    key("teardown", Shape::List(&Shape::Object(&STEP)), "Steps after the test, also after failures."),
    key(
        "rows",
        Shape::Either(&[Shape::NonEmpty(&Shape::List(&Shape::Map(&Shape::Any))), Shape::Text]),
        "Runs the test once per row; a row is a mapping of names to values, or a line of this CSV file, or an object of this JSON file.",
    )
    .choice("loop"),
    key(
        "for_each",
        Shape::Choice(&["tools", "resources", "prompts"]),
        "Runs the test once for each item that the server lists, as `tool`, `resource` or `prompt`.",
    )
    .choice("loop"),
    key("where", Shape::Text, "An expression that filters the items of `for_each`.").beside(&["for_each"]),
    key(
        "output_schema",
        Shape::Flag,
        "Checks the structured content of every call against the tool's declared schema.",
    ),
    key("answers", Answers::SHAPE, "The answers of the client in this test; it gets a session of its own."),
    key(
        "judges",
        Shape::List(&Shape::Text),
        "Variants of the fault taxonomy that this test judges, in addition to those of its expectations.",
    ),
    key("retries", RETRIES, "How often this test is retried."),
    key(
        "inject",
        INJECTED,
        "Faults that strike the messages of this test: names of `faults`, or faults of its own. The test gets a session of its own, and fails if a fault changes nothing.",
    ),
    key(
        "recovery",
        Recovery::SHAPE,
        "How soon calls of tools must fail visibly after a fault, and be served again after the last one.",
    )
    .beside(&["inject"]),
    key(
        "verify",
        Shape::NonEmpty(&Shape::List(&Shape::Object(&STEP))),
        "Steps after the faults have ended, which check what really happened.",
    )
    .beside(&["inject"]),
];

/// The faults of an `inject:` list: names of `faults`, or faults of its own.
pub(crate) const INJECTED: Shape =
    Shape::NonEmpty(&Shape::List(&Shape::Either(&[Shape::Text, Shape::Object(&UNNAMED)])));
