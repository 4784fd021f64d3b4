//! Servers, how cases run against them, and what the client answers.

use std::path::PathBuf;
use std::time::Duration;

use super::{Http, NeededVariable, Store};
use crate::source::grammar::Shape;
use crate::source::settings::Setting;
use crate::source::{Diagnostic, Located, Node, Span, choice, settings};
use crate::suite::grammar::RETRIES;
use crate::suite::server_file::Inputs;
use crate::wire::Revision;

/// A server under test.
#[derive(Debug, Clone)]
pub struct Server {
    /// Its place in the suite.
    pub span: Span,
    /// The way to it.
    pub kind: ServerKind,
    /// Environment variables, unfilled.
    pub env: Vec<(Located<String>, Node)>,
    /// True if the whole environment is passed on.
    pub inherit_env: bool,
    /// Names of variables whose values are secret: under `env`, or inherited.
    pub secrets: Vec<String>,
    /// The folder in which it starts, unfilled.
    pub cwd: Option<Node>,
    /// The folder to which its paths are relative.
    pub folder: PathBuf,
    /// Its words on a command line: the file that has it, and its name there; empty where nobody wrote a file.
    pub named: String,
    /// True if a file other than the suite describes it.
    pub is_described: bool,
    /// What its variables of the environment stand for, where a client would ask for them.
    pub inputs: Inputs,
    /// The whole `server.json` of the MCP registry, if that describes it.
    pub registered: Option<serde_json::Value>,
    /// True if generated cases may change its data.
    pub scratch: bool,
    /// The file or folder in which it keeps its data; each of its processes gets a copy.
    pub store: Option<Store>,
    /// The patterns of its sources, whose changes start it anew while somebody watches.
    pub watch: Vec<Located<String>>,
    /// The variables without which no case runs on it.
    pub needs: Vec<NeededVariable>,
    /// The revisions to speak, each in a run of its own.
    pub protocol: Vec<Protocol>,
}

/// What is other than written at the start of a server, unfilled.
#[derive(Debug, Clone, Default)]
pub struct StartChanges {
    /// Arguments behind those of its command.
    pub args: Vec<Node>,
    /// Environment variables; one that the server has already gets the new value.
    pub env: Vec<(Located<String>, Node)>,
    /// The places of the words of its command that are left out.
    pub without_words: Vec<usize>,
    /// The names of its environment variables that are left out.
    pub without_variables: Vec<String>,
    /// True if the server must not start with them.
    pub must_not_start: bool,
}

impl Server {
    /// Returns true if it is started for a run, so that its start can be changed.
    pub fn is_started(&self) -> bool {
        match &self.kind {
            ServerKind::Url(http) => http.command.is_some(),
            ServerKind::Command(_) => true,
            ServerKind::Builtin(_) => false,
        }
    }

    /// The words of the command that starts it, unfilled.
    pub fn command(&self) -> Option<&[Node]> {
        match &self.kind {
            ServerKind::Command(words) => Some(words),
            ServerKind::Url(http) => http.command.as_deref(),
            ServerKind::Builtin(_) => None,
        }
    }

    /// The server with these changes to its start.
    #[must_use]
    pub fn with(&self, changes: &StartChanges) -> Self {
        let mut server = self.clone();
        let command = match &mut server.kind {
            ServerKind::Command(words) => Some(words),
            ServerKind::Url(http) => http.command.as_mut(),
            ServerKind::Builtin(_) => None,
        };
        if let Some(words) = command {
            let mut places = 0..;
            words.retain(|_| places.next().is_none_or(|place| !changes.without_words.contains(&place)));
            words.extend(changes.args.iter().cloned());
        }
        let is_left_out = |name: &String| {
            changes.without_variables.contains(name) || changes.env.iter().any(|(new, _)| new.value == *name)
        };
        server.env.retain(|(name, _)| !is_left_out(&name.value));
        server.env.extend(changes.env.iter().cloned());
        server
    }
}

/// The way to a server.
#[derive(Debug, Clone)]
pub enum ServerKind {
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

impl Setting for Protocol {
    const SHAPE: Shape = Self::WORDS;

    fn decode(node: &Node, _: &mut Vec<Diagnostic>) -> Option<Self> {
        node.text().map(|word| Revision::parse(word).map_or(Self::Auto, Self::Fixed))
    }
}

impl Protocol {
    /// The words for it in a suite.
    pub(crate) const WORDS: Shape =
        Shape::Choice(&["auto", "2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"]);

    /// The revision that is asked for; `None` if the server chooses.
    pub fn revision(self) -> Option<Revision> {
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

choice! {
    /// When servers are started again.
    #[derive(Default)]
    pub enum RestartPolicy {
        /// One session for all cases; a crashed server is started again.
        #[default]
        PerSuite = "per_suite",
        /// A fresh server for every case.
        PerTest = "per_test",
        /// One session for all cases; after a crash the rest is errored.
        Never = "never",
    }
}

choice! {
    /// The order in which cases begin.
    #[derive(Default)]
    pub enum Order {
        /// As they are written.
        #[default]
        Declared = "declared",
        /// As a seed says, within each server and revision.
        Shuffled = "shuffled",
    }
}

/// The number of cases that run at a time at most.
pub const MOST_PARALLEL: usize = 1024;

settings! {
    /// The options of a run.
    #[derive(Copy, Default)]
    pub struct RunOptions as "run_options" {
        /// `per_suite` shares one session, `per_test` gives every case a fresh server, or a fresh session if the server
        /// has a `url` and no `command`, and `never` does not restart a crashed server.
        pub restart_policy: RestartPolicy => default("per_suite"),
        /// The number of cases that run at a time. By default hand-written cases run one after another, and as many
        /// generated ones as there are processors.
        pub parallel: Option<usize> => range(1, MOST_PARALLEL as u64),
        /// The time that a case may take.
        pub timeout: Option<Duration> => default("30s"),
        /// The time that one request may take; while a request with `progress` and without a `timeout` of its own reports
        /// progress, it begins anew.
        pub request_timeout: Option<Duration> => default("10s"),
        /// The time that a server may take to start and shake hands.
        pub start_timeout: Option<Duration> => default("30s"),
        /// The number of retries of a failed case; a case that passes then is flaky.
        pub retries: u32 => shape(RETRIES) default("0"),
        /// The order of the cases: as written, or shuffled with a seed, which the run prints and `--shuffle=SEED`
        /// repeats.
        pub order: Order => default("declared"),
    }
}

settings! {
    /// The answers of the client when the server asks.
    #[derive(Default)]
    pub struct Answers as "answers" {
        /// The result of `sampling/createMessage`, or its text; a list has one answer per request.
        pub sampling: Option<Node>,
        /// The result of `elicitation/create`, or the content of an accepted form; a list has one answer per request. One
        /// with `mode: url` answers a request to open a URL, which is never opened.
        pub elicitation: Option<Node>,
        /// The roots: folders, relative to the suite's file, URIs, or `{ uri, name }`.
        pub roots: Option<Node> => shape(Shape::List(&Shape::Any)),
    }
}

impl Answers {
    /// Returns true if there are none.
    pub fn is_empty(&self) -> bool {
        self.sampling.is_none() && self.elicitation.is_none() && self.roots.is_none()
    }

    /// The same, with others where it has none.
    #[must_use]
    pub fn or(&self, others: &Self) -> Self {
        let one = |own: &Option<Node>, other: &Option<Node>| own.as_ref().or(other.as_ref()).cloned();
        Self {
            sampling: one(&self.sampling, &others.sampling),
            elicitation: one(&self.elicitation, &others.elicitation),
            roots: one(&self.roots, &others.roots),
        }
    }
}
