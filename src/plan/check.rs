//! Checks that no steps can say: what a case asks of the server is code, and not YAML.
//!
//! A block makes them with its cases; the runner gives each a [`CheckContext`] to work with.

use std::fmt::Debug;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use crate::event::{CheckResult, Exchange, Finding};
use crate::fault::FaultPlayer;
use crate::session::{ServerIdentity, Session};
use crate::source::template::Names;
use crate::source::{Node, Sources};
use crate::suite::{AddedSettings, Step, Suite};
use crate::transport::{Shutdown, ShutdownOrder};
use crate::wire::Catalog;

/// A boxed future, as in the crate `futures`.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A way to fresh servers.
pub trait FreshServers: Send + Sync {
    /// Starts a server and shakes hands; the finding says why not.
    fn open(&self) -> BoxFuture<'_, Result<Session, Finding>>;

    /// The same with faults between client and server.
    fn open_with_faults<'a>(&'a self, faults: &'a Arc<FaultPlayer>) -> BoxFuture<'a, Result<Session, Finding>>;

    /// The same with more settings at the server's start.
    fn open_with<'a>(&'a self, added: &'a AddedSettings) -> BoxFuture<'a, Result<Session, Finding>>;

    /// Opens a second session with the server of another one; `None` where a server has one session only.
    fn beside<'a>(&'a self, session: &'a Session) -> BoxFuture<'a, Option<Session>>;

    /// Opens a session with the server of another one, as one of the users that the suite names; the finding says why not.
    fn beside_as<'a>(&'a self, session: &'a Session, user: &'a str) -> BoxFuture<'a, Result<Session, Finding>>;

    /// Ends a session and its server; the finding tells of a server that had ended by itself.
    fn close(&self, session: Session) -> BoxFuture<'_, Option<Finding>>;

    /// Ends the server of a session in that way, without the suite's teardown, while requests may be under way; `None`
    /// where it is no process of ours, or had ended by itself.
    fn shut_down<'a>(&'a self, session: &'a Session, order: ShutdownOrder) -> BoxFuture<'a, Option<Shutdown>>;

    /// The way to fresh servers of another server of the suite; `None` if the run does not use it.
    fn of_server<'a>(&'a self, server: &str) -> Option<Box<dyn FreshServers + 'a>>;

    /// Waits for the wish to stop.
    fn stopped(&self) -> BoxFuture<'_, ()>;
}

/// Servers with settings of their own, and steps of the suite that are done in their sessions.
///
/// The suite's setup and teardown are left out there: a server that refuses writes would refuse them, too.
pub trait ConfiguredServers: Send + Sync {
    /// Starts a server with more settings and shakes hands; the finding says why not.
    fn start<'a>(&'a self, added: &'a AddedSettings) -> BoxFuture<'a, Result<Session, Finding>>;

    /// Does a step in a session; `names` are there beside those of the suite.
    fn step<'a>(&'a self, session: &'a Session, step: &'a Step, names: &'a Names) -> BoxFuture<'a, StepOutcome>;

    /// Ends such a session and its server; the finding tells of a server that had ended by itself.
    fn end(&self, session: Session) -> BoxFuture<'_, Option<Finding>>;
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
    /// A value of the suite with its templates filled in; `None` where it names what only a step captures.
    pub filled: &'a (dyn Fn(&Node) -> Option<Value> + Sync),
    /// Takes out what is secret or belongs to this machine: recordings have neither.
    pub neutral: &'a (dyn Fn(Value) -> Value + Sync),
    /// The way to fresh servers.
    pub servers: &'a dyn FreshServers,
    /// The way to servers with settings of their own.
    pub configured: &'a dyn ConfiguredServers,
    /// The time for one request.
    pub request_timeout: Duration,
    /// The time for a case, where the command line says it.
    pub case_timeout: Option<Duration>,
    /// The texts that spans of the suite refer to.
    pub sources: &'a Sources,
    /// Hands on a text to be written to a file, whose path is relative to the suite's folder; `None` unless the run
    /// records.
    pub record: Option<&'a (dyn Fn(PathBuf, Value) + Sync)>,
    /// Whether a recording takes the place of the servers; what was recorded has the faults in it.
    pub is_replayed: bool,
}

/// A check that no steps can say.
pub trait Check: Debug + Send + Sync {
    /// Comes to a result. When the run is stopped, it is dropped wherever it waits.
    fn run<'a>(&'a self, context: CheckContext<'a>) -> BoxFuture<'a, CheckResult>;

    /// Whether it ends soon by itself when the run is stopped, with what it has found so far.
    fn ends_by_itself(&self) -> bool {
        false
    }

    /// Whether it sends anything to the server; otherwise it looks at what the server listed.
    fn sends(&self) -> bool {
        true
    }

    /// Whether it sends the same again to a server that answers the same, so that a recording can answer it.
    fn can_be_replayed(&self) -> bool {
        !self.sends()
    }
}
