//! Tests, their rows and loops.

use std::sync::Arc;
use std::time::Duration;

use crate::fault::Fault;
use crate::source::grammar::{Shape, refuse_templates};
use crate::source::settings::Setting;
use crate::source::template::Names;
use crate::source::{Diagnostic, Located, Node, Span, choice, settings};

use super::{Answers, Fixture, NeededVariable, Property, Rule, Step, TestNeed};

/// One test.
#[derive(Debug, Clone)]
pub struct Test {
    /// Its name; may hold templates of its row or loop.
    pub name: Located<String>,
    /// Its place in the suite.
    pub span: Span,
    /// Words to select it by.
    pub tags: Vec<String>,
    /// Its steps.
    pub steps: Arc<[Step]>,
    /// The keys that few tests use; tests without any of them share one value.
    pub extras: Arc<TestExtras>,
}

/// What a test says beside its name and its steps.
#[derive(Debug, Clone, Default)]
pub struct TestExtras {
    /// Why it is not run.
    pub skip: Option<String>,
    /// The place of `only: true`; with any, only tests with this mark run.
    pub only: Option<Span>,
    /// True if `mcprove monitor` runs it.
    pub probe: bool,
    /// The one server on which it runs.
    pub server: Option<Located<String>>,
    /// The files that it gets a copy of.
    pub fixture: Option<Arc<Fixture>>,
    /// Steps before it.
    pub setup: Vec<Step>,
    /// The rule for which it stands.
    pub rule: Option<Arc<Rule>>,
    /// The generated values of a property; its steps run in rounds.
    pub property: Option<Arc<Property>>,
    /// The variables of the environment without which it is skipped.
    pub needed_variables: Vec<NeededVariable>,
    /// The needs without which it is skipped.
    pub needs: Vec<TestNeed>,
    /// Steps that must go well before the others say anything.
    pub preconditions: Vec<Step>,
    /// The codes of what all frames are searched for, instead of steps.
    pub scans: Vec<Located<String>>,
    /// The beginning of its session.
    pub handshake: Handshake,
    /// Steps after it.
    pub teardown: Vec<Step>,
    /// Its rows; empty for a test that runs once.
    pub rows: Vec<Row>,
    /// The loop over the server's lists.
    pub for_each: Option<ForEach>,
    /// The place of `output_schema: true`, which checks its calls against declared schemas.
    pub output_schema: Option<Span>,
    /// Its own answers; `None` for the suite's.
    pub answers: Option<Arc<Answers>>,
    /// Variants that it says it judges.
    pub judges: Vec<Located<String>>,
    /// The probes of the block that added it.
    pub probes: &'static [&'static str],
    /// The number of retries.
    pub retries: Option<u32>,
    /// The faults that strike its messages.
    pub inject: Arc<[Fault]>,
    /// The limits for the recovery from them.
    pub recovery: Option<Recovery>,
    /// Steps after the faults have ended.
    pub verify: Vec<Step>,
}

impl Test {
    /// Returns true if it runs on a server of the suite: on each, unless it names one.
    pub fn is_for(&self, server: &str) -> bool {
        self.extras.server.as_ref().is_none_or(|own| own.value == server)
    }

    /// Returns true if it judges only servers that offer something.
    pub fn is_particular(&self) -> bool {
        self.extras.rule.is_some() || self.extras.property.is_some() || !self.extras.needs.is_empty()
    }
}

/// Why a test, agent or setting is not checked; `None` where it is.
#[derive(Debug, Clone, Default)]
pub struct SkipReason(pub Option<String>);

impl Setting for SkipReason {
    const SHAPE: Shape = Shape::Either(&[Shape::Text, Shape::Flag]);

    fn decode(node: &Node, found: &mut Vec<Diagnostic>) -> Option<Self> {
        refuse_templates(node, found);
        Some(Self(match node.flag() {
            Some(true) => Some("`skip: true`".to_owned()),
            Some(false) => None,
            None => node.text().map(str::to_owned),
        }))
    }

    fn absent() -> Option<Self> {
        Some(Self(None))
    }
}

settings! {
    /// Calls of tools, as they were sent and answered.
    #[derive(Copy, PartialEq, Eq)]
    pub struct Recovery as "a recovery", at span {
        /// Of so many calls from the first struck one on, at least one must fail or get no answer; or one must within
        /// this time after the first struck one was sent, measured on the wire.
        pub detected: Option<RecoveryLimit>,
        /// Of so many calls after the last struck one, at least one must be served; or one must be served within this
        /// time after it, measured on the wire.
        pub within: RecoveryLimit => required(),
    }
}

/// The limit of a recovery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecoveryLimit {
    /// So many calls of tools.
    Calls(usize),
    /// This time on the wire.
    Time(Duration),
}

impl Setting for RecoveryLimit {
    const SHAPE: Shape = Shape::Either(&[Shape::Range(1, 1000), Shape::Time]);

    fn decode(node: &Node, found: &mut Vec<Diagnostic>) -> Option<Self> {
        usize::decode(node, found).map(Self::Calls).or_else(|| Duration::decode(node, found).map(Self::Time))
    }
}

/// The beginning of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Handshake {
    /// It does.
    #[default]
    Perform,
    /// The steps say everything.
    Skip,
}

/// One row of a data-driven test.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// `id=nope`, or what the row calls itself.
    pub name: String,
    /// Its values.
    pub values: Names,
}

/// Runs a test for each thing that the server offers.
#[derive(Debug, Clone)]
pub struct ForEach {
    /// The list.
    pub over: Loop,
    /// An expression that picks.
    pub filter: Option<Located<String>>,
}

choice! {
    /// The list that a loop runs over.
    pub enum Loop {
        /// The tools, as `tool`.
        Tools = "tools",
        /// The resources, as `resource`.
        Resources = "resources",
        /// The prompts, as `prompt`.
        Prompts = "prompts",
    }
}

impl Loop {
    /// The name in templates.
    pub fn variable(self) -> &'static str {
        match self {
            Self::Tools => "tool",
            Self::Resources => "resource",
            Self::Prompts => "prompt",
        }
    }
}
