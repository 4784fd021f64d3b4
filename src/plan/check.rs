//! Checks that no steps can say: what a case asks of the server is code, and not YAML.
//!
//! A block makes them with its cases; the runner gives each a [`CheckContext`] to work with.

use std::fmt::Debug;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use crate::event::{CheckResult, Exchange, Finding};
use crate::fault::FaultPlayer;
use crate::session::{ServerIdentity, Session};
use crate::source::template::{Names, fill};
use crate::source::{Node, Sources};
use crate::suite::{AddedSettings, Step, Suite};
use crate::transport::{Shutdown, ShutdownOrder};
use crate::wire::{Catalog, MAX_COMPARED_MEMORY};

/// A boxed future, as in the crate `futures`.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// The servers of one target, for a check.
pub trait FreshServers: Send + Sync {
    /// Opens a session; the finding is the reason why there is none.
    fn open<'a>(&'a self, request: OpenServer<'a>) -> BoxFuture<'a, Result<Session, Finding>>;

    /// Ends a session, and its server if it has one of its own.
    fn close<'a>(&'a self, session: &'a Session, way: CloseServer) -> BoxFuture<'a, ClosedServer>;

    /// The servers of another name in the suite; `None` if the run does not use it.
    fn of_server<'a>(&'a self, server: &str) -> Option<Box<dyn FreshServers + 'a>>;

    /// The server processes of this run that are alive at the moment, whichever case started them.
    fn running(&self) -> Vec<RunningServer>;

    /// Waits for the wish to stop.
    fn wait_for_stop(&self) -> BoxFuture<'_, ()>;
}

/// A request for a session.
#[derive(Debug, Clone, Copy)]
pub struct OpenServer<'a> {
    /// The server of the session.
    pub server: ServerChoice<'a>,
    /// The faults between client and server.
    pub faults: Option<&'a Arc<FaultPlayer>>,
    /// The part of the suite's setup in a server that is started for the session.
    pub setup: SuiteSetup,
    /// The copy of the server's store that a started process gets, if the suite names a store.
    pub store: CaseStore,
}

/// The copy of a store that a process of a case gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CaseStore {
    /// The one that earlier processes of the case have left, unless another process uses it.
    Continued,
    /// A fresh one.
    Anew,
}

/// The server that a session is opened with.
#[derive(Debug, Clone, Copy)]
pub enum ServerChoice<'a> {
    /// A server that no other session has.
    Fresh,
    /// The same, started with more settings.
    Configured(&'a AddedSettings),
    /// The server of another session; an error if that server can have one session only.
    Of(&'a Session),
    /// The same, in the name of a user of the suite.
    AsUser {
        /// The other session.
        session: &'a Session,
        /// The user's name.
        user: &'a str,
    },
}

/// The suite's setup in a server that is started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SuiteSetup {
    /// It runs where the suite asks for it.
    Run,
    /// It is left out: a server that refuses writes would refuse it, too.
    Skip,
}

impl<'a> OpenServer<'a> {
    /// A fresh server with the suite's setup and without faults.
    pub const FRESH: Self =
        Self { server: ServerChoice::Fresh, faults: None, setup: SuiteSetup::Run, store: CaseStore::Continued };

    /// Another session with the server of `session`.
    pub fn of(session: &'a Session) -> Self {
        Self { server: ServerChoice::Of(session), ..Self::FRESH }
    }
}

/// The way in which a session ends.
#[derive(Debug, Clone, Copy)]
pub enum CloseServer {
    /// After the suite's teardown, if the suite's setup ran in it.
    AfterTeardown,
    /// Without the teardown.
    WithoutTeardown,
    /// By this order, without the teardown; requests may be under way.
    Shutdown(ShutdownOrder),
}

/// The end of a session.
#[derive(Debug)]
pub struct ClosedServer {
    /// The exit of a server that had ended by itself.
    pub exit: Option<Finding>,
    /// The end of a process of ours by an order; `None` if there was none, or it had ended by itself.
    pub shutdown: Option<Shutdown>,
}

/// A server process that this run started and that is alive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunningServer {
    /// The name of the server in its suite.
    pub name: String,
    /// The revision that its suite asks for, or `auto`.
    pub revision: &'static str,
    /// The id of its process.
    pub pid: u32,
}

/// Runs steps of the suite in the sessions of a check.
pub trait StepRunner: Send + Sync {
    /// Runs one step; `names` are known there beside those of the suite.
    fn run<'a>(&'a self, session: &'a Session, step: &'a Step, names: &'a Names) -> BoxFuture<'a, StepOutcome>;
}

/// The outcome of a step.
#[derive(Debug)]
pub struct StepOutcome {
    /// The messages.
    pub exchange: Exchange,
    /// The answer, or why there is none.
    pub answer: Result<Arc<Value>, Finding>,
    /// The expectations that the answer does not meet.
    pub unmet: Vec<Finding>,
    /// Every name that later steps can use.
    pub names: Names,
}

/// The facts that a check can use, and the way to its servers.
#[derive(Clone, Copy)]
pub struct CheckContext<'a> {
    /// The id of the case: frames belong to it.
    pub owner: &'a str,
    /// The suite: what it allows, which arguments it gives.
    pub suite: &'a Suite,
    /// The name of the server in the suite.
    pub server_name: &'a str,
    /// The server's lists.
    pub catalog: &'a Catalog,
    /// The server's identity from its first session; `None` if it gave none.
    pub server: Option<&'a ServerIdentity>,
    /// The names that templates of the suite can use.
    pub names: &'a Names,
    /// What this machine has to do with values and paths.
    pub machine: &'a dyn CheckMachine,
    /// The target's servers.
    pub servers: &'a dyn FreshServers,
    /// Runs steps of the suite.
    pub steps: &'a dyn StepRunner,
    /// The time for one request.
    pub request_timeout: Duration,
    /// The time for a case, where the command line says it.
    pub case_timeout: Option<Duration>,
    /// The texts that spans of the suite refer to.
    pub sources: &'a Sources,
    /// Hands on a text to be written to a file, whose path is relative to the suite's folder; `None` unless the run
    /// records.
    pub record: Option<&'a (dyn Fn(PathBuf, Value) + Sync)>,
    /// True if a recording takes the place of the servers; what was recorded has the faults in it.
    pub is_replayed: bool,
}

impl CheckContext<'_> {
    /// A value of the suite with its templates filled in; `None` where it names what only a step captures.
    pub fn fill(&self, node: &Node) -> Option<Value> {
        fill(node, self.names).ok().map(|filled| filled.to_json())
    }
}

/// What a check must know of the machine on which it runs.
pub trait CheckMachine: Send + Sync {
    /// A value without what is secret or belongs to this machine: recordings have neither.
    fn neutral(&self, value: Value) -> Value;

    /// The path in the copy of the server's store that this case uses, for a path that leads into the store.
    ///
    /// # Errors
    ///
    /// Fails, with a reason, where the store cannot be copied.
    fn path_in_copy(&self, path: &Path) -> Result<Option<PathBuf>, String>;
}

/// A check that no steps can say.
pub trait Check: Debug + Send + Sync {
    /// Comes to a result. When the run is stopped, it is dropped wherever it waits.
    fn run<'a>(&'a self, context: CheckContext<'a>) -> BoxFuture<'a, CheckResult>;

    /// Returns true if it ends soon by itself when the run is stopped, with what it has found so far.
    fn ends_by_itself(&self) -> bool {
        false
    }

    /// The memory that a message may take to be read, in bytes: several are kept and compared. `None` for any message, where
    /// nothing of them is kept.
    fn largest_message(&self) -> Option<usize> {
        Some(MAX_COMPARED_MEMORY)
    }

    /// Returns true if it sends anything to the server; otherwise it looks at what the server listed.
    fn sends(&self) -> bool {
        true
    }

    /// Returns true if it writes several things at once, or ends the server in the middle of a write, so that what the
    /// server has stored may be damaged. Such checks come after all others, which read what is stored.
    fn may_damage_store(&self) -> bool {
        false
    }

    /// Returns true if it sends the same again to a server that answers the same, so that a recording can answer it.
    fn can_be_replayed(&self) -> bool {
        !self.sends()
    }
}
