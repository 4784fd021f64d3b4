//! The sessions of a target during a suite: the shared one, those that were started ahead, and those that are reused.

use std::sync::Arc;

use super::history::History;
use super::opening::{self, OpenSession, SessionError, SessionOpening};
use super::other_processes::Turns;
use super::pool::{ServerPool, SessionUse};
use super::reuse::ReusableSessions;
use super::shared::SharedServer;
use super::suite_steps::set_up;
use super::target::RunTarget;
use super::{Emitter, Options};
use crate::fault::FaultPlayer;
use crate::plan::{Case, Plan, SessionNeed};
use crate::session::Session;
use crate::suite::Handshake;

/// A target with its sessions.
pub(crate) struct TargetSessions {
    pub(crate) target: Arc<RunTarget>,
    pub(crate) shared: SharedServer,
    pub(crate) pool: ServerPool,
    pub(crate) reusable: ReusableSessions,
    pub(crate) turns: Turns,
}

impl TargetSessions {
    pub(crate) fn new(plan: &Arc<Plan>, suite: usize, index: usize, options: &Options, emitter: &Emitter) -> Self {
        Self::of(RunTarget::new(plan, suite, index, options, emitter), options)
    }

    pub(crate) fn of(target: RunTarget, options: &Options) -> Self {
        Self {
            pool: ServerPool::new(options.parallel_of(target.suite())),
            target: Arc::new(target),
            shared: SharedServer::default(),
            reusable: ReusableSessions::default(),
            turns: Turns::default(),
        }
    }

    /// A session for one case alone.
    ///
    /// If every case has a fresh server, the suite's setup runs in it unless the case makes the handshake itself; otherwise the setup ran once, in the shared
    /// session, and what it captured is known.
    pub(crate) async fn own(
        &self,
        case: &Case,
        turn: SessionUse,
        faults: Option<&Arc<FaultPlayer>>,
    ) -> Result<OpenSession, SessionError> {
        let target = &self.target;
        match self.shared.catalog(target).await {
            Ok(_) => {}
            // A server whose list is broken may still serve calls.
            Err(SessionError::Broken(_)) if target.catalog.get().is_some() => {}
            Err(error) => return Err(error),
        }
        // Asked for before a server starts: who opens the shared session again waits for a start, and keeps the names.
        let names = self.shared.names(target).await;
        let session = self.fresh(case, turn, faults).await?;
        session.learn(&target.known_catalog());
        if let Some(faults) = faults {
            faults.learn(&target.known_catalog());
        }
        if case.session == SessionNeed::InTurn {
            session.mark();
        }
        if target.sets_up_every_session() && case.handshake == Handshake::Perform {
            return set_up(target, session, None).await.map_err(SessionError::of_setup);
        }
        Ok(OpenSession { session, names })
    }

    /// A server that was started ahead, or one that is started now.
    async fn fresh(
        &self,
        case: &Case,
        turn: SessionUse,
        faults: Option<&Arc<FaultPlayer>>,
    ) -> Result<Session, SessionError> {
        if faults.is_none()
            && let Some(session) = self.pool.take(&self.target, case, turn).await?
        {
            return Ok(session);
        }
        opening::open(&self.target, SessionOpening { faults, ..SessionOpening::of_case(case, &case.all_names()) }).await
    }

    /// Ends every session; the suite's teardown runs in the shared one.
    pub(crate) async fn finish(&self) {
        self.pool.finish(&self.target).await;
        self.reusable.finish(&self.target).await;
        self.shared.finish(&self.target).await;
        if let Some(revision) = self.target.known_revision() {
            let of_calls = self.target.history.iter().flat_map(History::judge);
            let broken = self.target.scan_results.take_beside(None);
            let judged = broken.into_iter().chain(self.target.shutdowns.judge()).chain(of_calls);
            self.target.report(revision.as_str(), judged.chain(self.target.untold_ends.take()));
        }
    }
}
