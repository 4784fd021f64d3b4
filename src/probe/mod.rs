//! Checks that YAML cannot say: one file or folder and one line each.
//!
//! [`run`] takes a [`Probe`] of the plan and its [`CheckContext`], and returns a result. What a probe
//! does not do: decide which cases there are, or what is reported of them.

mod drift;
mod fuzz;
mod lint;
pub mod replay;

use std::pin::Pin;
use std::time::Duration;

use serde_json::Value;

use crate::event::{CheckResult, Finding};
use crate::plan::Probe;
use crate::session::{ServerIdentity, Session};
use crate::source::Node;
use crate::suite::Suite;
use crate::wire::Catalog;

pub use self::drift::{UNANSWERED, Wanted, record};

/// A future of unknown type.
pub type Eventually<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A way to fresh servers.
pub trait Servers: Send + Sync {
    /// Starts a server and shakes hands; the finding says why not.
    fn open(&self) -> Eventually<'_, Result<Session, Finding>>;

    /// Opens a second session with the server of another one; `None` where a server has one session only.
    fn beside<'a>(&'a self, session: &'a Session) -> Eventually<'a, Option<Session>>;

    /// Ends a session and its server; the finding tells of a server that had ended by itself.
    fn close(&self, session: Session) -> Eventually<'_, Option<Finding>>;

    /// Waits for the wish to stop.
    fn stopped(&self) -> Eventually<'_, ()>;
}

/// What a probe may look at and use, and the way to its servers.
#[derive(Clone, Copy)]
pub struct CheckContext<'a> {
    /// The id of the case: frames belong to it.
    pub owner: &'a str,
    /// The suite: what it allows, which arguments it gives.
    pub suite: &'a Suite,
    /// The name of the server in the suite.
    pub server_name: &'a str,
    /// What the server offers.
    pub catalog: &'a Catalog,
    /// What the server said of itself in its first session; `None` where it said nothing.
    pub server: Option<&'a ServerIdentity>,
    /// A value of the suite with its templates filled in; `None` where it names what only a step captures.
    pub filled: &'a (dyn Fn(&Node) -> Option<Value> + Sync),
    /// Takes out what is secret or belongs to this machine: recordings have neither.
    pub neutral: &'a (dyn Fn(Value) -> Value + Sync),
    /// The way to fresh servers.
    pub servers: &'a dyn Servers,
    /// The time for one request.
    pub request_timeout: Duration,
}

/// Runs a probe.
pub async fn run(probe: &Probe, context: &CheckContext<'_>) -> CheckResult {
    match probe {
        Probe::Fuzz { settings, tools, hazards } => fuzz::run(settings, (tools, hazards), context).await,
        Probe::Lint { lint, level, settings } => lint::run(lint, *level, settings, context),
        Probe::Drift { settings, recorded, subject } => drift::run(settings, (recorded, subject), context).await,
    }
}
