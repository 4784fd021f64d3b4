//! The grammar of a suite file, as tables.
//!
//! A key is a field here or in `model`; the loader, the JSON Schema and the manual follow.

mod raw;
mod rule;
mod server;
mod step;
mod test;

use crate::source::grammar::Shape;
use crate::source::settings::Plain;
use crate::source::{Located, Node, settings};
use crate::suite::model::{Answers, NeededVariable, RunOptions, Step};

pub(crate) use self::raw::{CancelKeys, CutKeys, EventCount, HEADER, SendKeys, TEXT_OR_BYTES};
pub(crate) use self::rule::{Condition, NeedKeys, RuleKeys, RuleNeed};
pub(crate) use self::server::{AuthKeys, RETRIES, ServerKeys};
pub(crate) use self::step::{ExchangeKeys, SnapshotKeys, StepCondition, StepKeys};
pub(crate) use self::test::{INJECTED, TestKeys};

settings! {
    /// The keys of a suite file, but for its tests and blocks.
    pub(crate) struct SuiteKeys as "a suite of steps" {
        /// The suite's name, shown in every report.
        pub(crate) suite: Option<Located<String>> => required() cure("write for example `suite: My server`"),
        /// Suites to insert before this one: files, relative to this one, or `builtin:NAME`.
        pub(crate) include: Vec<Located<String>>,
        /// Names for templates: `{{ name }}`.
        pub(crate) variables: Vec<(Located<String>, Node)>,
        /// The server under test, when there is one.
        pub(crate) server: Option<ServerKeys> => choice("servers") cure(
            "write for example `server: { command: [node, dist/index.js] }`, or `server: { builtin: demo }`"),
        /// The servers under test by name; every test runs once on each unless it names one.
        pub(crate) servers: Vec<(Located<String>, ServerKeys)> => choice("servers"),
        /// Variables of the environment, such as `env.TOKEN`; if one is not set, every case of the suite is skipped.
        pub(crate) needs: Vec<NeededVariable> => shape(NEEDED_VARIABLES),
        /// A folder with files, relative to the suite's file: every run gets a fresh copy for each server, whose path is
        /// `{{ fixture }}`.
        pub(crate) fixture: Option<Plain<Located<String>>> => shape(Shape::NonEmpty(&Shape::Text)),
        /// The options of a run.
        pub(crate) run_options: Option<RunOptions>,
        /// The answers of the client when the server asks; without an answer, the client declines.
        pub(crate) answers: Option<Answers>,
        /// Valid arguments by tool, for generated cases.
        pub(crate) arguments: Vec<(Located<String>, Node)> => shape(Shape::Map(&Shape::Map(&Shape::Any))),
        /// Tools, by name or pattern, that generated cases may call although they may change or destroy data.
        pub(crate) allow: Vec<Located<String>>,
        /// Tools, by name or pattern, that generated cases never call, whatever else allows them.
        pub(crate) never: Vec<Located<String>>,
        /// Tools, by name or pattern, that cannot serve a call here; they do not fail the run.
        pub(crate) allow_unjudged: Vec<Located<String>>,
        /// Faults by name, which tests plant in the traffic to the server with `inject`.
        pub(crate) faults: Option<Node> => shape(FAULTS),
        /// Steps that run when a server's session begins.
        pub(crate) setup: Vec<Step>,
        /// Steps that run before a server's session ends, also after failures.
        pub(crate) teardown: Vec<Step>,
    }
}

const FAULTS: Shape = Shape::List(&Shape::Object(&crate::fault::NAMED));

/// One variable of the environment, or several.
pub(crate) const NEEDED_VARIABLES: Shape = Shape::Either(&[Shape::Text, Shape::List(&Shape::Text)]);

/// Which tools something works on.
pub(crate) const TOOLS: Shape = Shape::Either(&[Shape::Text, Shape::NonEmpty(&Shape::List(&Shape::Text))]);
