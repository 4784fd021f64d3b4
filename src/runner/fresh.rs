//! A way to fresh servers of one target, for whoever speaks to them without cases.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use tokio::sync::mpsc;

use super::opening::open_requested;
use super::sessions::TargetSessions;
use super::snapshot::Recordings;
use super::{Emitter, Options, Stop, names};
use crate::event::{Finding, RunEnd};
use crate::plan::{BoxFuture, CloseServer, ClosedServer, FreshServers, OpenServer, Plan, RunningServer};
use crate::redact::Redactor;
use crate::session::{InVain, Session};
use crate::transport::Owner;
use crate::wire::Catalog;

/// Fresh servers of the first target of a plan.
pub struct Fresh {
    sessions: TargetSessions,
    /// The number of the attempt that has the copies of the server's store.
    attempt: AtomicU32,
    redactor: Redactor,
    stop: Stop,
}

impl Fresh {
    /// Starts nothing yet.
    pub fn new(plan: &Arc<Plan>, options: &Options) -> Self {
        let redactor = names::redactor(plan, options);
        let recordings = Arc::new(Recordings { snapshots: Arc::clone(&options.snapshots), redactor: redactor.clone() });
        // Nobody listens: whoever speaks sees everything in the session itself.
        let (sender, _) = mpsc::unbounded_channel();
        let emitter = Emitter::new(sender, recordings, options);
        let sessions = TargetSessions::new(plan, 0, 0, options, &emitter);
        Self { sessions, attempt: AtomicU32::new(0), redactor, stop: options.stop.clone() }
    }

    /// Begins another attempt, which finds the store as it was before the first one.
    pub fn begin_attempt(&self) {
        let over = self.attempt.fetch_add(1, Ordering::Relaxed);
        self.sessions.target.retire_stores(&over.to_string());
    }

    /// The server's catalog, from a session of its own; `None` if it cannot be listed.
    pub async fn catalog(&self) -> Arc<Catalog> {
        let catalog = self.sessions.shared.catalog(&self.sessions.target).await;
        self.sessions.finish().await;
        catalog.unwrap_or_default()
    }

    /// Takes secrets out of what servers say.
    pub fn redactor(&self) -> &Redactor {
        &self.redactor
    }
}

impl FreshServers for Fresh {
    fn open<'a>(&'a self, request: OpenServer<'a>) -> BoxFuture<'a, Result<Session, Finding>> {
        let target = &self.sessions.target;
        let owner = self.attempt.load(Ordering::Relaxed).to_string();
        Box::pin(async move { open_requested(target, &request, &target.suite().answers, &owner).await })
    }

    fn close<'a>(&'a self, session: &'a Session, way: CloseServer) -> BoxFuture<'a, ClosedServer> {
        Box::pin(async move {
            let closed = match way {
                CloseServer::Shutdown(order) => session.shut_down(order).await,
                CloseServer::AfterTeardown | CloseServer::WithoutTeardown => session.close(Duration::ZERO).await,
            };
            ClosedServer { exit: closed.unreported_exit.as_ref().map(Finding::from), shutdown: closed.shutdown }
        })
    }

    fn of_server<'a>(&'a self, _: &str) -> Option<Box<dyn FreshServers + 'a>> {
        None
    }

    fn in_vain(&self, tool: &str, owner: &Owner) -> Option<InVain> {
        self.sessions.target.answered.as_ref()?.in_vain(tool, owner, || true)
    }

    fn note_end(&self, tool: &str, owner: &Owner) {
        self.sessions.target.answered.iter().for_each(|answered| answered.note_end(tool, owner));
    }

    fn running(&self) -> Vec<RunningServer> {
        self.sessions.target.emitter.running.list()
    }

    fn wait_for_stop(&self) -> BoxFuture<'_, RunEnd> {
        Box::pin(async {
            self.stop.wait().await;
            self.stop.end()
        })
    }
}
