//! The session that the cases of a target share, and the catalog that its first session lists.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::{Mutex, OnceCell};

use super::ending::{SessionEndReason, end, note_violations};
use super::opening::{self, OpenSession, SessionError, SessionOpening};
use super::resolve::Starts;
use super::store_copies::StoreUse;
use super::suite_steps::{set_up, tear_down_and_report};
use super::target::RunTarget;
use super::{finding, pool, silence, verdict};
use crate::diagnosis;
use crate::event::Finding;
use crate::plan::Case;
use crate::session::Session;
use crate::source::template::Names;
use crate::suite::RestartPolicy;
use crate::transport::Owner;
use crate::wire::Catalog;

/// The time for a sign of life of a server that only gets another one for it, and is accused of nothing.
const SIGN_OF_LIFE: Duration = Duration::from_secs(2);

/// The shared session of a target.
#[derive(Default)]
pub(crate) struct SharedServer {
    state: Mutex<SharedState>,
    /// A call gets no answer in time, even alone: what waits behind it says nothing about the server.
    has_slow_call: AtomicBool,
    /// The names after the suite's setup in a session of its own, where every session has one.
    set_up_names: OnceCell<Option<Names>>,
}

#[derive(Default)]
struct SharedState {
    session: Option<Arc<OpenSession>>,
    /// Sessions whose server went silent: cases may still wait for it.
    silent: Vec<Arc<OpenSession>>,
    /// Set where the session may not be opened again, with the reason.
    closed: Option<Finding>,
    /// The names after the suite's setup in the last session.
    set_up_names: Option<Names>,
}

impl SharedServer {
    /// The server's catalog; requested on first use.
    pub(crate) async fn catalog(&self, target: &RunTarget) -> Result<Arc<Catalog>, SessionError> {
        if target.catalog.get().is_none() {
            self.list(target).await?;
        }
        let listed = target.catalog.get().cloned().unwrap_or_else(|| Ok(Arc::default()));
        listed.map_err(SessionError::broken)
    }

    /// Opens the first session, so that the catalog and the era are known before the first case.
    async fn list(&self, target: &RunTarget) -> Result<(), SessionError> {
        if !target.sets_up_every_session() {
            return self.session(target).await.map(drop);
        }
        let mut state = self.state.lock().await;
        if target.catalog.get().is_some() {
            return Ok(());
        }
        // A server that hangs while it starts costs its time once, not once per case.
        if let Some(reason) = &state.closed {
            return Err(SessionError::of_setup(reason.clone()));
        }
        let session = state.open(target).await?;
        end(target, &session, SessionEndReason::CasesOver).await;
        Ok(())
    }

    /// The session that cases share; a dead one is replaced where the suite allows it.
    pub(crate) async fn session(&self, target: &RunTarget) -> Result<Arc<OpenSession>, SessionError> {
        let mut state = self.state.lock().await;
        if let Some(opened) = state.session.as_ref().filter(|opened| opened.session.is_open()) {
            return Ok(Arc::clone(opened));
        }
        if let Some(reason) = &state.closed {
            return Err(SessionError::of_setup(reason.clone()));
        }
        if let Some(dead) = state.session.take() {
            Box::pin(end(target, &dead.session, SessionEndReason::CasesOver)).await;
            if target.suite().options.restart_policy == RestartPolicy::Never {
                let reason = "the server ended earlier, and `restart_policy: never` does not start it again";
                let reason = Finding::new("server-ended", reason);
                state.closed = Some(reason.clone());
                return Err(SessionError::broken(reason));
            }
        }
        let session = state.open(target).await?;
        let opened = set_up(target, session, state.set_up_names.clone()).await.map_err(|found| {
            state.closed = Some(found.clone());
            SessionError::of_setup(found)
        })?;
        state.set_up_names = Some(opened.names.clone());
        Ok(Arc::clone(state.session.insert(Arc::new(opened))))
    }

    /// The target's names, with what the suite's setup captured in the shared session.
    pub(crate) async fn names(&self, target: &RunTarget) -> Names {
        // Without a setup nothing is captured, and nobody waits until the session can be used again.
        let has_setup = !target.suite().setup.is_empty();
        let shared = if has_setup { self.state.lock().await.session.clone() } else { None };
        shared.map_or_else(|| target.names.clone().unwrap_or_default(), |shared| shared.names.clone())
    }

    /// The names that checks fill into arguments before they open sessions: where every session is set up, those of one
    /// that is opened for them.
    pub(crate) async fn names_of_checks(&self, target: &RunTarget) -> Names {
        let captures = target.suite().setup.iter().any(|step| !step.capture.is_empty());
        // A recording holds no session that nobody opened.
        if !captures || !target.sets_up_every_session() || target.is_replayed || target.tamper.is_some() {
            return self.names(target).await;
        }
        let known = self.set_up_names.get_or_init(|| async {
            let session = opening::open(target, SessionOpening::with(&target.suite().answers)).await.ok()?;
            let opened = set_up(target, session, None).await.ok()?;
            tear_down_and_report(target, &opened).await;
            end(target, &opened.session, SessionEndReason::CasesOver).await;
            Some(opened.names)
        });
        known.await.clone().unwrap_or_else(|| target.names.clone().unwrap_or_default())
    }

    /// The session in which the server was asked what it offers, where no case has used it: as good as a fresh one, and
    /// its server has started.
    pub(crate) async fn take_untouched(&self, target: &RunTarget, case: &Case) -> Option<Session> {
        let suite = target.suite();
        let is_bare = suite.setup.is_empty() && suite.teardown.is_empty();
        if target.starts() == Starts::Nothing
            || target.stores.is_some()
            || !is_bare
            || !pool::is_same(&suite.answers, &case.answers)
        {
            return None;
        }
        let mut state = self.state.lock().await;
        match Arc::try_unwrap(state.session.take()?) {
            Ok(opened) if opened.session.is_untouched() => {
                note_violations(target, &opened.session);
                return Some(opened.session);
            }
            Ok(opened) => state.session = Some(Arc::new(opened)),
            Err(used) => state.session = Some(used),
        }
        None
    }

    /// Takes a session out of use whose server answers nothing any more, so that the next cases get another one;
    /// returns true for the first to see that, unless a slow call explains it. Until it is known, no case begins in it.
    pub(crate) async fn retire_if_silent(&self, target: &RunTarget, opened: &Arc<OpenSession>) -> bool {
        let mut state = self.state.lock().await;
        let is_used = state.session.as_ref().is_some_and(|used| Arc::ptr_eq(used, opened));
        if !is_used || target.suite().options.restart_policy == RestartPolicy::Never {
            return false;
        }
        let is_explained = self.has_slow_call.load(Ordering::Relaxed);
        let wait = target.request_timeout();
        let wait = if is_explained { wait.min(SIGN_OF_LIFE) } else { wait };
        let is_silent = silence::is_silent(opened, wait).await;
        if is_silent {
            let retired = state.session.take();
            state.silent.extend(retired);
        }
        is_silent && !is_explained
    }

    /// Lets the session be opened again, whatever kept it closed.
    pub(crate) async fn allow_again(&self) {
        self.state.lock().await.closed = None;
    }

    /// Takes note of a call that gets no answer in time, even alone.
    pub(crate) fn note_slow_call(&self) {
        self.has_slow_call.store(true, Ordering::Relaxed);
    }

    /// Runs the suite's teardown in the session and ends it.
    pub(crate) async fn finish(&self, target: &RunTarget) {
        let (opened, silent) = {
            let mut state = self.state.lock().await;
            (state.session.take(), std::mem::take(&mut state.silent))
        };
        for retired in silent {
            end(target, &retired.session, SessionEndReason::CasesOver).await;
        }
        if let Some(opened) = opened {
            tear_down_and_report(target, &opened).await;
            end(target, &opened.session, SessionEndReason::CasesOver).await;
        }
    }
}

impl SharedState {
    async fn open(&mut self, target: &RunTarget) -> Result<Session, SessionError> {
        let opened = opening::open(
            target,
            SessionOpening { store: StoreUse::Shared, ..SessionOpening::with(&target.suite().answers) },
        )
        .await;
        let session = opened.inspect_err(|error| {
            if let SessionError::Broken(found) = error {
                self.closed = Some((**found).clone());
            }
        })?;
        target.identify(&session);
        target.catalog.get_or_init(|| list_catalog(target, &session)).await;
        Ok(session)
    }
}

async fn list_catalog(target: &RunTarget, session: &Session) -> Result<Arc<Catalog>, Finding> {
    let revision = session.server.revision.to_string();
    // Work that is done once per server is kept out of the futures of cases, which are copied around.
    match Box::pin(session.catalog()).await {
        Ok(catalog) => {
            target.report(&revision, catalog.find_repeats().into_iter().map(finding::of_repetition));
            target.announce_tools(&catalog, revision);
            Ok(Arc::new(catalog))
        }
        Err(failure) => {
            let broken = diagnosis::of_violations(&session.take_violations(&Owner::Session), &session.frames());
            let mut found = vec![Finding::from(&failure)];
            let others = verdict::explain_by_violations(&mut found, broken);
            target.scan_results.add_beside(None, others);
            let first = target.at_server(found[0].clone());
            target.report(&revision, found);
            Err(first)
        }
    }
}
