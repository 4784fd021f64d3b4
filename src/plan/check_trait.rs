//! Checks that no steps can say: what a case asks of the server is code, and not YAML.
//!
//! A block makes them with its cases; the runner gives each a [`CheckContext`] to work with.

use std::fmt::Debug;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use super::check_servers::{BoxFuture, FreshServers};
use crate::event::{CheckResult, Exchange, Finding};
use crate::session::{ServerIdentity, Session};
use crate::source::template::{Names, fill};
use crate::source::{Node, Sources};
use crate::suite::{Step, Suite};
use crate::transport::Owner;
use crate::wire::{Catalog, MAX_COMPARED_MEMORY};

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
    /// To whom frames belong.
    pub owner: &'a Owner,
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

    /// Keeps a secret that a check learned out of everything that is shown from now on.
    fn keep_secret(&self, secret: &str);

    /// The absolute path of the server's store, if the suite names one.
    fn store(&self) -> Option<PathBuf>;

    /// A value with the path of the store in the place of those of its copies.
    fn at_store(&self, value: Value) -> Value;

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

    /// Returns true if it says nothing without the lists of the server: where they cannot be had, the case is decided by
    /// that.
    fn needs_lists(&self) -> bool {
        false
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
