//! Servers, how cases run against them, and what the client answers.

use std::path::PathBuf;
use std::time::Duration;

use super::Http;
use crate::source::{Located, Node, Span};
use crate::wire::Revision;

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
    /// Whether its data may be changed by generated cases.
    pub scratch: bool,
    /// The revisions to speak, each in a run of its own.
    pub protocol: Vec<Protocol>,
}

/// Settings that are added to the start of a server, unfilled.
#[derive(Debug, Clone, Default)]
pub struct AddedSettings {
    /// Arguments behind those of its command.
    pub args: Vec<Node>,
    /// Environment variables; one that the server has already gets the new value.
    pub env: Vec<(Located<String>, Node)>,
    /// Whether the server must not start with them.
    pub must_not_start: bool,
}

impl Server {
    /// Whether it is started for a run, so that its start can be changed.
    pub fn is_started(&self) -> bool {
        match &self.target {
            Target::Url(http) => http.command.is_some(),
            Target::Command(_) => true,
            Target::Builtin(_) => false,
        }
    }

    /// The server with more settings at its start.
    #[must_use]
    pub fn with(&self, added: &AddedSettings) -> Self {
        let mut server = self.clone();
        let command = match &mut server.target {
            Target::Command(words) => Some(words),
            Target::Url(http) => http.command.as_mut(),
            Target::Builtin(_) => None,
        };
        if let Some(words) = command {
            words.extend(added.args.iter().cloned());
        }
        server.env.retain(|(name, _)| added.env.iter().all(|(new, _)| new.value != name.value));
        server.env.extend(added.env.iter().cloned());
        server
    }
}

/// The way to a server.
#[derive(Debug, Clone)]
pub enum Target {
    /// A program, its words unfilled.
    Command(Vec<Node>),
    /// An address.
    Url(Box<Http>),
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
    /// The revision that is asked for; `None` if the server chooses.
    pub fn fixed(self) -> Option<Revision> {
        if let Self::Fixed(revision) = self { Some(revision) } else { None }
    }

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

/// The order in which cases begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Order {
    /// As they are written.
    #[default]
    Declared,
    /// As a seed says, within each server and revision.
    Shuffled,
}

/// How many cases run at a time at most, whatever is wished.
pub const MOST_PARALLEL: usize = 1024;

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
    /// The order of the cases.
    pub order: Order,
}

/// The client's answers to requests of the server.
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
