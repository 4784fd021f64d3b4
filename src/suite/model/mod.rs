//! The typed settings of a suite.

mod command_line;
mod listen;
mod needed_variable;
mod property;
mod raw;
mod rule;
mod server;
mod step;
mod store;
mod task;
mod test;
mod tools;
mod web;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use indexmap::IndexMap;

use crate::source::{Located, Node};
use crate::wire::Tool;

pub use self::command_line::{AdHocCommand, CommandLine};
pub use self::listen::{ChangingList, Listen, NotificationFilter};
pub use self::needed_variable::NeededVariable;
pub use self::property::{ArgumentKind, Arguments, Generated, Property};
pub use self::raw::{Cancel, CancelWhen, Cuts, Defaults, Extent, HeaderValue, Payload, RawHttp, RawSend, Then, Wanted};
pub use self::rule::{Carrier, Rule, RuleLevel, TestNeed};
pub use self::server::{
    Answers, MOST_PARALLEL, Order, Protocol, RestartPolicy, RunOptions, Server, ServerKind, StartChanges,
};
pub use self::step::{Action, Awaited, Capture, Step, StepNeed};
pub(crate) use self::store::WrittenStore;
pub use self::store::{Fixture, NewStore, Store};
pub use self::task::TaskCall;
pub(crate) use self::task::WantedTask;
pub use self::test::{ForEach, Handshake, Loop, Recovery, RecoveryLimit, Row, SkipReason, Test, TestExtras};
pub use self::tools::{NamePattern, ToolNames, ToolSelection, is_named};
pub use self::web::{
    Auth, AuthorizationCode, ClientCredentials, DeviceCode, Http, HttpCredentials, HttpFlavour, HttpUser, LoginStep,
};

/// One suite file with everything it includes.
#[derive(Debug, Clone)]
pub struct Suite {
    /// Its name.
    pub name: Located<String>,
    /// The file as the user knows it.
    pub file: String,
    /// The command line it was made from; `None` where it is a file.
    pub asked: Option<CommandLine>,
    /// The command line that runs it, where its file alone does not say all: another one runs one of its blocks, or one
    /// that it does not have, or names the server.
    pub ran_by: Option<CommandLine>,
    /// True if the command line names its server, in the place of the one that it names itself.
    pub is_server_given: bool,
    /// True if only tools that change nothing are called, whatever else the suite says.
    pub read_only: bool,
    /// The variables without which none of its cases runs.
    pub needs: Vec<NeededVariable>,
    /// The environment that decides what is skipped for a variable that is not set; `None` where nothing is.
    pub environment: Option<Arc<BTreeMap<String, String>>>,
    /// The files that a run gets a copy of.
    pub fixture: Option<Fixture>,
    /// The folder to which its paths are relative.
    pub folder: PathBuf,
    /// Names for templates, unfilled.
    pub variables: Vec<(Located<String>, Node)>,
    /// The servers by name; a single `server:` is called `server`.
    pub servers: IndexMap<String, Server>,
    /// The options of a run.
    pub options: RunOptions,
    /// The client's answers to requests of the server.
    pub answers: Arc<Answers>,
    /// Valid arguments by tool.
    pub arguments: BTreeMap<String, Node>,
    /// The tools among them whose arguments were found by calling, so that nobody vouches for them.
    pub found_arguments: BTreeSet<String>,
    /// The tools that did not answer before the run, so that no arguments are looked for that they serve.
    pub silent_tools: BTreeSet<String>,
    /// Tools that may change data and may be called all the same.
    pub allow: ToolNames,
    /// Tools that generated cases do not call, whatever else allows them.
    pub never: ToolNames,
    /// Tools of which it is known that they serve no call here.
    pub allow_unjudged: ToolNames,
    /// The tools that its own file names under `allow`, `never`, `allow_unjudged` and `arguments`.
    pub names: Vec<NamedTool>,
    /// Steps at the start of a session.
    pub setup: Vec<Step>,
    /// Steps at the end of a session.
    pub teardown: Vec<Step>,
    /// The tests in declared order.
    pub tests: Vec<Test>,
}

/// The effect of a call that nobody allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hazard {
    /// It may change data, which a server whose data is scratch takes.
    Writes,
    /// It may destroy something, or reach beyond the server.
    Destroys,
    /// It may change data, and the run only reads.
    ReadOnly,
    /// The user says that it is never called.
    Excluded,
}

/// Tools that a suite names for all its cases.
#[derive(Debug, Clone)]
pub struct NamedTool {
    /// The key under which they stand: `allow`, `never`, `allow_unjudged` or `arguments`.
    pub key: &'static str,
    /// The name, or a pattern of names.
    pub tool: NamePattern,
}

impl Suite {
    /// The command line that makes its cases, where that is not `mcprove run` with its file.
    pub fn command_line(&self) -> Option<&CommandLine> {
        self.asked.as_ref().or(self.ran_by.as_ref())
    }

    /// Returns true if the command line names its servers.
    pub fn has_given_servers(&self) -> bool {
        self.file_of_flags().is_some()
    }

    /// The name that stands for what flags say, in the place of a file; `None` where they say nothing.
    pub fn file_of_flags(&self) -> Option<&str> {
        let given = self.ran_by.as_ref().filter(|_| self.is_server_given);
        self.asked.as_ref().map(|_| self.file.as_str()).or(given.map(|line| line.command.as_str()))
    }

    /// Why generated cases do not call a tool of one of its servers; `None` where they may.
    pub fn hazard(&self, server: &str, tool: &Tool) -> Option<Hazard> {
        let is_scratch = || self.servers.get(server).is_some_and(|server| server.scratch);
        if self.never.has(&tool.name) {
            Some(Hazard::Excluded)
        } else if tool.only_reads() {
            None
        } else if self.read_only {
            Some(Hazard::ReadOnly)
        } else if self.allow.has(&tool.name) {
            None
        } else if tool.may_destroy() {
            Some(Hazard::Destroys)
        } else if is_scratch() {
            None
        } else {
            Some(Hazard::Writes)
        }
    }
}
