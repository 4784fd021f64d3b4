//! Tests, their rows and loops.

use std::sync::Arc;
use std::time::Duration;

use crate::fault::Fault;
use crate::source::template::Names;
use crate::source::{Located, Span};

use super::{Answers, Need, Property, Rule, Step};

/// One test.
#[derive(Debug, Clone)]
pub struct Test {
    /// Its name; may hold templates of its row or loop.
    pub name: Located<String>,
    /// Where it is written.
    pub span: Span,
    /// Words to select it by.
    pub tags: Vec<String>,
    /// Why it is not run.
    pub skip: Option<String>,
    /// Whether only tests so marked run.
    pub only: Option<Span>,
    /// The one server on which it runs.
    pub server: Option<Located<String>>,
    /// Steps before it.
    pub setup: Vec<Step>,
    /// The rule for which it stands.
    pub rule: Option<Arc<Rule>>,
    /// The generated values of a property; its steps run in rounds.
    pub property: Option<Arc<Property>>,
    /// The needs without which it is skipped.
    pub needs: Vec<Need>,
    /// Steps that must go well before the others say anything.
    pub preconditions: Vec<Step>,
    /// The codes of what all frames are searched for, instead of steps.
    pub scans: Vec<Located<String>>,
    /// Whether its session begins with a handshake.
    pub handshake: Handshake,
    /// Its steps.
    pub steps: Vec<Step>,
    /// Steps after it.
    pub teardown: Vec<Step>,
    /// Its rows; empty for a test that runs once.
    pub rows: Vec<Row>,
    /// The loop over the server's lists.
    pub for_each: Option<ForEach>,
    /// Whether its calls are checked against declared schemas.
    pub output_schema: Option<Span>,
    /// Its own answers; empty for the suite's.
    pub answers: Answers,
    /// Variants that it says it judges.
    pub judges: Vec<Located<String>>,
    /// The probes of the block that added it.
    pub probes: &'static [&'static str],
    /// How often it is tried again.
    pub retries: Option<u32>,
    /// The faults that strike its messages.
    pub inject: Vec<Fault>,
    /// How soon the server must recover from them.
    pub recovery: Option<Recovery>,
    /// Steps after the faults have ended.
    pub verify: Vec<Step>,
}

impl Test {
    /// Whether it says something only of servers that offer this or that.
    pub fn is_particular(&self) -> bool {
        self.rule.is_some() || self.property.is_some() || !self.needs.is_empty()
    }
}

/// How soon a server must recover from injected faults.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Recovery {
    /// How soon from the first struck call on one must fail.
    pub detected: Option<RecoveryLimit>,
    /// How soon after the last struck call one must be served.
    pub within: RecoveryLimit,
    /// Where it is written.
    pub span: Span,
}

/// The limit of a recovery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecoveryLimit {
    /// So many calls of tools.
    Calls(usize),
    /// This time on the wire.
    Time(Duration),
}

/// Whether a session begins with a handshake.
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

/// The list that a loop runs over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Loop {
    /// The tools, as `tool`.
    Tools,
    /// The resources, as `resource`.
    Resources,
    /// The prompts, as `prompt`.
    Prompts,
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
