//! Blocks, and which tools they work on.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use crate::drift;
use crate::lint::{self, Limits, Lint, Provider};
use crate::source::{Located, Node, Span};
use crate::suite::grammar::BlockKind;
use crate::wire::Tool;

/// Which refusals to derive.
#[derive(Debug, Clone)]
pub struct NegativePath {
    /// Where it is written.
    pub span: Span,
    /// Which tools.
    pub tools: ToolSelection,
    /// Which checks.
    pub checks: BTreeSet<NegativeCheck>,
    /// How many calls of each tool at most.
    pub cases: usize,
}

/// One kind of call that must be refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum NegativeCheck {
    /// A tool that does not exist.
    UnknownTool,
    /// A method that does not exist.
    UnknownMethod,
    /// A call without a required argument.
    MissingRequired,
    /// A call with an argument of a wrong type.
    WrongType,
    /// A call with an argument out of its range.
    OutOfRange,
    /// A call with an argument that the schema forbids.
    ExtraProperty,
    /// A message that is no JSON-RPC.
    MalformedEnvelope,
}

impl NegativeCheck {
    /// Whether it calls the tools of a server, and not only what no server has.
    pub fn is_of_tools(self) -> bool {
        match self {
            Self::MissingRequired | Self::WrongType | Self::OutOfRange | Self::ExtraProperty => true,
            Self::UnknownTool | Self::UnknownMethod | Self::MalformedEnvelope => false,
        }
    }
}

/// Generated calls.
#[derive(Debug, Clone)]
pub struct Fuzz {
    /// Which tools.
    pub tools: ToolSelection,
    /// Tools that are not called, although they are selected.
    pub block: ToolSelection,
    /// What all draws follow from.
    pub seed: u64,
    /// How many calls for each tool; `None` where only the time counts.
    pub cases: Option<u64>,
    /// How long for each tool.
    pub time: Option<Duration>,
    /// How many calls are under way at a time.
    pub in_flight: usize,
    /// The longest text, in characters, where the schema does not ask for more.
    pub max_string: usize,
    /// How many of 100 calls break the schema.
    pub invalid: u32,
}

impl Fuzz {
    /// How many calls there are for each tool where nobody says.
    pub const CASES: u64 = 200;

    /// How many calls can be under way at a time.
    pub const MOST_IN_FLIGHT: u64 = 32;

    /// The longest text that can be asked for, in characters.
    pub const LONGEST: u64 = 16 << 20;
}

/// What is looked for in the tools as they are listed.
#[derive(Debug, Clone)]
pub struct SchemaLint {
    /// Which tools.
    pub tools: ToolSelection,
    /// The providers that must take them; empty where none is named.
    pub providers: Vec<Provider>,
    /// The least that becomes a case.
    pub level: lint::Level,
    /// What may be found.
    pub allow: Vec<Allowed>,
    /// What is a matter of taste.
    pub limits: Limits,
}

/// Something that a lint may find.
#[derive(Debug, Clone)]
pub struct Allowed {
    /// The lint.
    pub lint: Located<String>,
    /// The tool; `None` for all.
    pub tool: Option<Located<String>>,
    /// Why.
    pub reason: String,
}

impl SchemaLint {
    /// How much is thought of what a lint finds; `None` where nobody asked about its provider.
    pub fn level_of(&self, lint: &Lint) -> Option<lint::Level> {
        let Some(own) = lint.provider else { return Some(lint.level) };
        if self.providers.is_empty() {
            return own.by_choice().is_none().then_some(lint.level);
        }
        self.providers.iter().any(|named| named.is_subject_of(lint)).then_some(lint::Level::Error)
    }

    /// The lints that become cases, each with how much is thought of it.
    pub fn lints(&self) -> impl Iterator<Item = (&'static Lint, lint::Level)> {
        lint::lints().filter_map(|lint| Some((lint, self.level_of(lint)?))).filter(|(_, level)| *level <= self.level)
    }

    /// The tools that it is about.
    pub fn of(&self, tools: &[Tool]) -> Vec<Tool> {
        tools.iter().filter(|tool| self.tools.selects(&tool.name)).cloned().collect()
    }

    /// Why a lint may find something in a tool.
    pub fn excuse(&self, lint: &Lint, tool: &str) -> Option<&Allowed> {
        self.allow.iter().find(|allowed| {
            allowed.lint.value == lint.id && allowed.tool.as_ref().is_none_or(|named| named.value == tool)
        })
    }
}

/// The server against a recorded one.
#[derive(Debug, Clone)]
pub struct Differential {
    /// The file of the recorded server, as it is written.
    pub file: String,
    /// What is in it.
    pub snapshot: Arc<drift::Snapshot>,
    /// The mildest change that fails a case.
    pub fail_on: drift::Level,
    /// Whether recorded calls are made again.
    pub answers: Recalling,
    /// Which tools.
    pub tools: ToolSelection,
    /// Changes that are meant.
    pub ignore: Vec<IgnoredChange>,
}

/// Whether recorded calls are made again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recalling {
    /// They are.
    Made,
    /// Only definitions are compared.
    Left,
}

/// A change that is meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IgnoredChange {
    /// Where, as a pattern.
    pub at: Option<String>,
    /// What kind.
    pub what: Option<String>,
    /// Why.
    pub reason: String,
}

impl IgnoredChange {
    /// Whether it may be meant for what tools answer.
    pub fn may_be_of_answers(&self) -> bool {
        let at = self.at.as_deref().is_none_or(|at| at.starts_with("answers") || at.starts_with(['*', '?', '[', '{']));
        at && self.what.as_deref().is_none_or(|what| what.starts_with("answer-"))
    }

    /// Whether this is the change.
    pub fn is_about(&self, change: &drift::Change) -> bool {
        let at = self.at.as_deref().is_none_or(|pattern| is_match(pattern, &change.at));
        at && self.what.as_deref().is_none_or(|what| what == change.what)
    }
}

/// Which tools a block works on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolSelection {
    /// All of them.
    All,
    /// Those whose names match one of these, where `*` stands for anything.
    Named(Vec<Located<String>>),
}

impl ToolSelection {
    /// Whether a tool is selected.
    pub fn selects(&self, tool: &str) -> bool {
        match self {
            Self::All => true,
            Self::Named(patterns) => patterns.iter().any(|pattern| is_match(&pattern.value, tool)),
        }
    }

    /// The names and patterns that select none of these tools.
    pub fn idle<'a>(&'a self, offered: &'a [&str]) -> impl Iterator<Item = &'a Located<String>> {
        let patterns = if let Self::Named(patterns) = self { patterns.as_slice() } else { &[] };
        patterns.iter().filter(move |pattern| !offered.iter().any(|tool| is_match(&pattern.value, tool)))
    }
}

fn is_match(pattern: &str, tool: &str) -> bool {
    globset::Glob::new(pattern).is_ok_and(|glob| glob.compile_matcher().is_match(tool))
}

/// One block of derived checks.
#[derive(Debug, Clone)]
pub struct Block {
    /// Its kind.
    pub kind: BlockKind,
    /// Where its key is written.
    pub span: Span,
    /// Its settings as written.
    pub settings: Node,
    /// Which tools it works on.
    pub tools: ToolSelection,
    /// The recorded server that it names.
    pub recorded: Option<Arc<drift::Snapshot>>,
}
