//! What a suite says, typed.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::Duration;

use indexmap::IndexMap;

use super::grammar::BlockKind;
use crate::matching::{Expectation, Path};
use crate::source::template::Names;
use crate::source::{Located, Node, Span};
use crate::wire::{ListKind, Revision};

/// One suite file with everything it includes.
#[derive(Debug, Clone)]
pub struct Suite {
    /// Its name.
    pub name: Located<String>,
    /// The file as the user knows it.
    pub file: String,
    /// The folder to which its paths are relative.
    pub folder: PathBuf,
    /// Names for templates, unfilled.
    pub variables: Vec<(Located<String>, Node)>,
    /// The servers by name; a single `server:` is called `server`.
    pub servers: IndexMap<String, Server>,
    /// How the cases are run.
    pub options: RunOptions,
    /// What the client answers.
    pub answers: Answers,
    /// Valid arguments by tool.
    pub arguments: BTreeMap<String, Node>,
    /// Tools that may destroy and may be called all the same.
    pub allow: BTreeSet<String>,
    /// Steps at the start of a session.
    pub setup: Vec<Step>,
    /// Steps at the end of a session.
    pub teardown: Vec<Step>,
    /// The tests in declared order.
    pub tests: Vec<Test>,
    /// The blocks in the order in which they run.
    pub blocks: Vec<Block>,
}

/// How to reach a server.
#[derive(Debug, Clone)]
pub struct Server {
    /// Where it is written.
    pub span: Span,
    /// The way to it.
    pub target: Target,
    /// Environment variables, unfilled.
    pub env: Vec<(Located<String>, Node)>,
    /// Whether the whole environment is passed on.
    pub inherit_env: bool,
    /// Names of variables whose values are secret: under `env`, or inherited.
    pub secrets: Vec<String>,
    /// The folder in which it starts, unfilled.
    pub cwd: Option<Node>,
    /// The folder to which its paths are relative.
    pub folder: PathBuf,
    /// The revisions to speak, each in a run of its own.
    pub protocol: Vec<Protocol>,
}

/// The way to a server.
#[derive(Debug, Clone)]
pub enum Target {
    /// A program, its words unfilled.
    Command(Vec<Node>),
    /// An address.
    Url(Box<super::Http>),
    /// A server of this program's own.
    Builtin(String),
}

/// Which revision to speak.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Protocol {
    /// Whatever the server speaks.
    Auto,
    /// This one.
    Fixed(Revision),
}

impl Protocol {
    /// The word in a suite and in a case id.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Fixed(revision) => revision.as_str(),
        }
    }
}

/// When servers are started again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RestartPolicy {
    /// One session for all cases; a crashed server is started again.
    #[default]
    PerSuite,
    /// A fresh server for every case.
    PerTest,
    /// One session for all cases; after a crash the rest is errored.
    Never,
}

/// How the cases are run; `None` leaves the choice to the command line and its defaults.
#[derive(Debug, Clone, Copy, Default)]
pub struct RunOptions {
    /// When servers are started again.
    pub restart_policy: RestartPolicy,
    /// How many cases run at a time.
    pub parallel: Option<usize>,
    /// The time for a case.
    pub timeout: Option<Duration>,
    /// The time for a request.
    pub request_timeout: Option<Duration>,
    /// The time for a start.
    pub start_timeout: Option<Duration>,
    /// How often a failed case is tried again.
    pub retries: u32,
}

/// What the client answers when the server asks.
#[derive(Debug, Clone, Default)]
pub struct Answers {
    /// To `sampling/createMessage`, taken in turn.
    pub sampling: Option<Node>,
    /// To `elicitation/create`, taken in turn.
    pub elicitation: Option<Node>,
    /// To `roots/list`.
    pub roots: Option<Node>,
}

impl Answers {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.sampling.is_none() && self.elicitation.is_none() && self.roots.is_none()
    }
}

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
    /// Its steps.
    pub steps: Vec<Step>,
    /// Steps after it.
    pub teardown: Vec<Step>,
    /// Its rows; empty for a test that runs once.
    pub rows: Vec<Row>,
    /// What it runs for.
    pub for_each: Option<ForEach>,
    /// Refusals to derive from it.
    pub negative_path: Option<NegativePath>,
    /// Whether its calls are checked against declared schemas.
    pub output_schema: Option<Span>,
    /// Its own answers; empty for the suite's.
    pub answers: Answers,
    /// Variants that it says it judges.
    pub judges: Vec<Located<String>>,
    /// How often it is tried again.
    pub retries: Option<u32>,
    /// A key that this version cannot run.
    pub unavailable: Option<&'static str>,
    /// Whether faults are planted in it.
    pub injects: bool,
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

/// What a loop runs over.
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

/// One exchange.
#[derive(Debug, Clone)]
pub struct Step {
    /// Where it is written.
    pub span: Span,
    /// What it is for.
    pub name: Option<String>,
    /// What it does.
    pub action: Action,
    /// What must hold for the answer.
    pub expect: Vec<Expectation>,
    /// Whether `expect` is written at all.
    pub expects: bool,
    /// Names for values of the answer.
    pub capture: Vec<(Located<String>, Path)>,
    /// The time that the request may take.
    pub timeout: Option<Duration>,
    /// Whether progress is asked for.
    pub progress: bool,
}

/// What a step does; values are unfilled.
#[derive(Debug, Clone)]
pub enum Action {
    /// Calls a tool.
    Call {
        /// Its name.
        tool: Node,
        /// The arguments.
        args: Option<Node>,
    },
    /// Reads a resource.
    Read {
        /// Its URI.
        uri: Node,
    },
    /// Gets a prompt.
    Prompt {
        /// Its name.
        name: Node,
        /// The arguments.
        args: Option<Node>,
    },
    /// Asks for completions.
    Complete {
        /// The parameters.
        params: Node,
    },
    /// Lists all pages.
    List(ListKind),
    /// Sends any request.
    Request {
        /// The method.
        method: Node,
        /// The parameters.
        params: Option<Node>,
    },
    /// Sends any notification.
    Notify {
        /// The method.
        method: Node,
        /// The parameters.
        params: Option<Node>,
    },
    /// Waits.
    Wait(Duration),
    /// Ends the server and starts it again.
    Restart,
    /// What this version cannot do; holds the key.
    Unavailable(&'static str),
}

impl Action {
    /// The tool and the arguments of a call.
    pub fn as_call(&self) -> Option<(&Node, Option<&Node>)> {
        if let Self::Call { tool, args } = self { Some((tool, args.as_ref())) } else { None }
    }

    /// The key of what this version cannot do.
    pub fn as_unavailable(&self) -> Option<&'static str> {
        if let Self::Unavailable(key) = self { Some(key) } else { None }
    }
}

/// Which refusals to derive.
#[derive(Debug, Clone)]
pub struct NegativePath {
    /// Where it is written.
    pub span: Span,
    /// Which tools.
    pub tools: ToolSelection,
    /// Which checks.
    pub checks: BTreeSet<NegativeCheck>,
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
    /// A message that is no JSON-RPC.
    MalformedEnvelope,
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
