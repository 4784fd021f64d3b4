//! The grammar of a suite file, as tables.
//!
//! Adding a key is one line here; the loader, the JSON Schema and the manual follow.

mod raw;
mod rule;
mod server;
mod step;
mod test;

use crate::source::grammar::{Key, Shape, key, required};
use crate::source::settings::Setting;
use crate::suite::model::{Answers, RunOptions};

pub(crate) use self::raw::{CANCEL, HTTP, SEND};

pub use self::rule::{NEED_KEYS, RULE_KEY};
pub(crate) use self::server::RETRIES;
pub use self::step::{STEP, STEP_KEYS};
pub(crate) use self::test::INJECTED;
pub use self::test::TEST_KEYS;

/// The keys of a suite file, but for its tests and blocks.
pub static SUITE_KEYS: &[Key] = &[
    required("suite", Shape::Text, "The suite's name, shown in every report."),
    key(
        "include",
        Shape::List(&Shape::Text),
        "Suites to insert before this one: files, relative to this one, or `builtin:NAME`.",
    ),
    key("variables", Shape::Map(&Shape::Any), "Names for templates: `{{ name }}`."),
    key("server", Shape::Object(&server::SERVER), "The server under test, when there is one.").choice("servers"),
    key(
        "servers",
        Shape::Map(&Shape::Object(&server::SERVER)),
        "The servers under test by name; every test runs once on each unless it names one.",
    )
    .choice("servers"),
    key("run_options", RunOptions::SHAPE, "The options of a run."),
    key(
        "answers",
        Answers::SHAPE,
        "The answers of the client when the server asks; without an answer, the client declines.",
    ),
    key("arguments", Shape::Map(&Shape::Map(&Shape::Any)), "Valid arguments by tool, for generated cases."),
    key(
        "allow",
        Shape::List(&Shape::Text),
        "Tools that generated cases may call although they may change or destroy data.",
    ),
    key("allow_unjudged", Shape::List(&Shape::Text), "Tools that cannot serve a call here; they do not fail the run."),
    key(
        "faults",
        Shape::List(&Shape::Object(&crate::fault::NAMED)),
        "Faults by name, which tests plant in the traffic to the server with `inject`.",
    ),
    key("setup", Shape::List(&Shape::Object(&step::STEP)), "Steps that run when a server's session begins."),
    key(
        "teardown",
        Shape::List(&Shape::Object(&step::STEP)),
        "Steps that run before a server's session ends, also after failures.",
    ),
];

/// Which tools something works on.
pub(crate) const TOOLS: Shape = Shape::Either(&[Shape::Text, Shape::NonEmpty(&Shape::List(&Shape::Text))]);
