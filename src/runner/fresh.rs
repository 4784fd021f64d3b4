//! A way to fresh servers of one target, for whoever speaks to them without cases.

use std::sync::Arc;

use tokio::sync::mpsc;

use super::opening::Opening;
use super::snapshot::Recordings;
use super::target::{SessionError, TargetSessions};
use super::{Emitter, Options, Stop, names};
use crate::event::Finding;
use crate::fault::FaultPlayer;
use crate::plan::Plan;
use crate::plan::{BoxFuture, FreshServers};
use crate::redact::Redactor;
use crate::session::Session;
use crate::suite::AddedSettings;
use crate::transport::{Shutdown, ShutdownOrder};
use crate::wire::Catalog;

/// Fresh servers of the first target of a plan.
pub struct Fresh {
    target: Arc<TargetSessions>,
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
        let target = Arc::new(TargetSessions::new(plan, 0, 0, options, &emitter));
        Self { target, redactor, stop: options.stop.clone() }
    }

    /// The server's catalog, from a session of its own; `None` if it cannot be listed.
    pub async fn catalog(&self) -> Arc<Catalog> {
        let catalog = self.target.catalog().await;
        self.target.finish().await;
        catalog.unwrap_or_default()
    }

    /// A session that knows what the server listed.
    fn learned(&self, opened: Result<Session, SessionError>) -> Result<Session, Finding> {
        let session = opened.map_err(SessionError::into_finding)?;
        session.learn(&self.target.known_catalog());
        Ok(session)
    }

    /// Takes secrets out of what servers say.
    pub fn redactor(&self) -> &Redactor {
        &self.redactor
    }
}

impl FreshServers for Fresh {
    fn open(&self) -> BoxFuture<'_, Result<Session, Finding>> {
        Box::pin(async {
            let answers = Opening::with(&self.target.planned().suite.answers);
            self.learned(self.target.open(self.target.known_revision(), answers).await)
        })
    }

    fn open_with_faults<'a>(&'a self, faults: &'a Arc<FaultPlayer>) -> BoxFuture<'a, Result<Session, Finding>> {
        Box::pin(async {
            faults.learn(&self.target.known_catalog());
            let opening = Opening { faults: Some(faults), ..Opening::with(&self.target.planned().suite.answers) };
            self.learned(self.target.open(self.target.known_revision(), opening).await)
        })
    }

    fn open_with<'a>(&'a self, added: &'a AddedSettings) -> BoxFuture<'a, Result<Session, Finding>> {
        Box::pin(async {
            let answers = Opening::with(&self.target.planned().suite.answers);
            self.learned(self.target.open_with(added, answers).await)
        })
    }

    fn beside<'a>(&'a self, session: &'a Session) -> BoxFuture<'a, Option<Session>> {
        Box::pin(async {
            session.endpoint()?;
            let answers = Opening::with(&self.target.planned().suite.answers);
            self.target.beside(session, answers).await.ok()
        })
    }

    fn beside_as<'a>(&'a self, session: &'a Session, user: &'a str) -> BoxFuture<'a, Result<Session, Finding>> {
        Box::pin(async move {
            let answers = Opening::with(&self.target.planned().suite.answers);
            self.target.beside_as(session, user, answers).await.map_err(SessionError::into_finding)
        })
    }

    fn close(&self, session: Session) -> BoxFuture<'_, Option<Finding>> {
        Box::pin(
            async move { session.close(std::time::Duration::ZERO).await.unreported_exit.as_ref().map(Finding::from) },
        )
    }

    fn shut_down<'a>(&'a self, session: &'a Session, order: ShutdownOrder) -> BoxFuture<'a, Option<Shutdown>> {
        Box::pin(async move { session.shut_down(order).await.1 })
    }

    fn of_server<'a>(&'a self, _: &str) -> Option<Box<dyn FreshServers + 'a>> {
        None
    }

    fn stopped(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.stop.wait())
    }
}
