//! The servers that a check gets from the runner: how it opens and closes their sessions.

use std::pin::Pin;
use std::sync::Arc;

use crate::event::{Finding, RunEnd};
use crate::fault::FaultPlayer;
use crate::session::{InVain, Session};
use crate::suite::StartChanges;
use crate::transport::{Owner, Shutdown, ShutdownOrder};
use crate::wire::Revision;

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

    /// Why a valid call of a tool would show `owner` nothing new, if it would not: so no server need be started for it.
    fn in_vain(&self, tool: &str, owner: &Owner) -> Option<InVain>;

    /// Takes note that a server ended at a call for `owner` that was sent in another way than as a request.
    fn note_end(&self, tool: &str, owner: &Owner);

    /// The server processes of this run that are alive at the moment, whichever case started them.
    fn running(&self) -> Vec<RunningServer>;

    /// Waits for the wish to stop, and returns why it was made.
    fn wait_for_stop(&self) -> BoxFuture<'_, RunEnd>;
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
    /// The same, with these changes to its start.
    Configured(&'a StartChanges),
    /// A server that no other session has, spoken to in this revision.
    InRevision(Revision),
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
