//! Blocks, and which tools they work on.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::source::{Located, Node, Span};
use crate::suite::grammar::BlockKind;

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

/// Generated calls.
#[derive(Debug, Clone)]
pub struct Fuzz {
    /// Which tools.
    pub tools: ToolSelection,
    /// What all draws follow from.
    pub seed: u64,
    /// How many calls; `None` where only the time counts.
    pub cases: Option<u64>,
    /// How long.
    pub time: Option<Duration>,
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

    /// Whether nothing can be selected, whatever the server offers.
    pub fn is_empty(&self) -> bool {
        matches!(self, Self::Named(patterns) if patterns.is_empty())
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
}
