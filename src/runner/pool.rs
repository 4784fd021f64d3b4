//! Servers that are started ahead, so that a case with a fresh server does not wait for its start.
//!
//! Never more than are still wanted: every case is counted on once, and what is started for it is used or ended.

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::task::{JoinHandle, JoinSet};

use super::ending::{SessionEndReason, end};
use super::opening::{self, SessionError, SessionOpening};
use super::target::RunTarget;
use crate::plan::{Body, Case};
use crate::session::Session;
use crate::source::Span;
use crate::suite::{Answers, Handshake};

/// The announcement of a session to the pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SessionUse {
    /// It is the one that every case was announced to need.
    First,
    /// It comes on top: after a restart, or for another attempt.
    Again,
}

/// Servers of one target.
pub(crate) struct ServerPool {
    /// The number of servers that may wait at a time.
    limit: usize,
    state: Mutex<PoolState>,
}

#[derive(Default)]
struct PoolState {
    /// The number of sessions that are still to be asked for.
    wanted: usize,
    waiting: VecDeque<StartingServer>,
}

/// A server that starts; forgetting it ends it.
struct StartingServer(JoinHandle<Result<Session, SessionError>>);

impl Drop for StartingServer {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl ServerPool {
    pub(crate) fn new(limit: usize) -> Self {
        Self { limit, state: Mutex::default() }
    }

    /// Counts on a case that will need a server of its own so many times.
    pub(crate) fn expect(&self, target: &RunTarget, case: &Case, times: usize) {
        if matches!(case.body, Body::Script(_)) && takes_any_server(target, case) {
            self.state.lock().wanted += times;
        }
    }

    /// A server that was started ahead for a case; `None` where one is to be started on the spot.
    pub(crate) async fn take(
        &self,
        target: &Arc<RunTarget>,
        case: &Case,
        turn: SessionUse,
    ) -> Result<Option<Session>, SessionError> {
        if !takes_any_server(target, case) {
            return Ok(None);
        }
        let waiting = self.next(turn, || {
            let target = Arc::clone(target);
            StartingServer(tokio::spawn(async move {
                opening::open(&target, SessionOpening::with(&target.suite().answers)).await
            }))
        });
        let Some(mut waiting) = waiting else { return Ok(None) };
        let Ok(opened) = (&mut waiting.0).await else { return Ok(None) };
        let session = opened?;
        if session.is_open() {
            return Ok(Some(session));
        }
        // It ended while nobody spoke to it; a server that is started now may live long enough.
        end(target, &session, SessionEndReason::Unused).await;
        Ok(None)
    }

    /// The server that has waited longest, and others started in its place while more are wanted.
    fn next(&self, turn: SessionUse, start: impl Fn() -> StartingServer) -> Option<StartingServer> {
        let mut state = self.state.lock();
        if turn == SessionUse::First {
            state.wanted = state.wanted.saturating_sub(1);
        }
        let taken = state.waiting.pop_front();
        while state.waiting.len() < self.limit.min(state.wanted) {
            state.waiting.push_back(start());
        }
        taken
    }

    /// Ends the servers that nobody used, all at once; nothing is started any more.
    pub(crate) async fn finish(&self, target: &Arc<RunTarget>) {
        let waiting: Vec<StartingServer> = {
            let mut state = self.state.lock();
            state.wanted = 0;
            state.waiting.drain(..).filter(|waiting| waiting.0.is_finished()).collect()
        };
        let mut ending = JoinSet::new();
        for mut unused in waiting {
            let target = Arc::clone(target);
            ending.spawn(async move {
                if let Ok(Ok(session)) = (&mut unused.0).await {
                    end(&target, &session, SessionEndReason::Unused).await;
                }
            });
        }
        while ending.join_next().await.is_some() {}
    }
}

/// Returns true if any server of the target will do for a case: it needs nothing that only its own session has.
fn takes_any_server(target: &RunTarget, case: &Case) -> bool {
    let answers = &target.suite().answers;
    let is_same =
        is_same(answers, &case.answers) && (answers.is_empty() || case.names.is_empty() && case.offered.is_empty());
    // The copy of a store belongs to a case.
    target.stores.is_none() && target.sets_up_every_session() && is_same && case.handshake == Handshake::Perform
}

/// Returns true if two cases answer the server alike: a test without answers of its own has those of its suite.
pub(crate) fn is_same(answers: &Answers, others: &Answers) -> bool {
    let spans = |answers: &Answers| -> [Option<Span>; 3] {
        [&answers.sampling, &answers.elicitation, &answers.roots].map(|node| node.as_ref().map(|node| node.span))
    };
    spans(answers) == spans(others)
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    /// Takes sessions in reusable and returns how many were started, ahead and on the spot, and the most that waited.
    fn check(limit: usize, announced: usize, reusable: &[SessionUse], expected: (usize, usize)) {
        let (pool, started) = (ServerPool::new(limit), Cell::new(0));
        pool.state.lock().wanted = announced;
        let mut most = 0;
        for turn in reusable {
            let taken = pool.next(*turn, || {
                started.set(started.get() + 1);
                StartingServer(tokio::spawn(std::future::pending()))
            });
            if taken.is_none() {
                started.set(started.get() + 1);
            }
            most = most.max(pool.state.lock().waiting.len());
        }
        assert_eq!((started.get(), most), expected, "{limit} {announced} {reusable:?}");
    }

    #[tokio::test]
    async fn as_many_are_started_as_are_used() {
        use SessionUse::{Again, First};
        check(1, 1, &[First], (1, 0));
        check(1, 4, &[First; 4], (4, 1));
        check(8, 4, &[First; 4], (4, 3));
        check(2, 3, &[First, Again, First, Again, Again, First], (6, 2));
        // The run ended early: one that waits is left over, and is ended with the pool.
        check(1, 4, &[First, First], (3, 1));
        check(3, 0, &[Again, Again], (2, 0));
    }
}
