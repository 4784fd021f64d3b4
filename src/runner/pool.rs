//! Servers that were started ahead, so that a case with a fresh server does not wait for its start.
//!
//! Never more than are still wanted: every case is counted on once, and what is started for it is used or ended.

use std::collections::VecDeque;

use parking_lot::Mutex;
use tokio::task::JoinHandle;

use super::target::SessionError;
use crate::session::Session;

/// Whether somebody counted on this session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SessionUse {
    /// It is the one that every case was announced to need.
    First,
    /// It comes on top: after a restart, or for another attempt.
    Again,
}

/// Servers of one target.
pub(crate) struct ServerPool {
    /// How many may wait at a time.
    limit: usize,
    state: Mutex<PoolState>,
}

#[derive(Default)]
struct PoolState {
    /// How many sessions are still to be asked for.
    wanted: usize,
    waiting: VecDeque<StartingServer>,
}

/// A server that starts; forgetting it ends it.
pub(crate) struct StartingServer(JoinHandle<Result<Session, SessionError>>);

impl Drop for StartingServer {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl StartingServer {
    pub(crate) fn new(task: JoinHandle<Result<Session, SessionError>>) -> Self {
        Self(task)
    }

    /// The session once the server has answered; `None` where this program broke.
    pub(crate) async fn session(mut self) -> Option<Result<Session, SessionError>> {
        (&mut self.0).await.ok()
    }

    /// Whether it has come to something.
    pub(crate) fn is_decided(&self) -> bool {
        self.0.is_finished()
    }
}

impl ServerPool {
    pub(crate) fn new(limit: usize) -> Self {
        Self { limit, state: Mutex::default() }
    }

    /// Counts on so many sessions more.
    pub(crate) fn expect(&self, sessions: usize) {
        self.state.lock().wanted += sessions;
    }

    /// The server that has waited longest, and others started in its place while more are wanted.
    pub(crate) fn take(&self, turn: SessionUse, start: impl Fn() -> StartingServer) -> Option<StartingServer> {
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

    /// Everything that waits; nothing is started any more.
    pub(crate) fn drain(&self) -> Vec<StartingServer> {
        let mut state = self.state.lock();
        state.wanted = 0;
        state.waiting.drain(..).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    /// Takes sessions in reusable and returns how many were started, ahead and on the spot, and the most that waited.
    fn check(limit: usize, announced: usize, reusable: &[SessionUse], expected: (usize, usize)) {
        let (pool, started) = (ServerPool::new(limit), Cell::new(0));
        pool.expect(announced);
        let mut most = 0;
        for turn in reusable {
            let taken = pool.take(*turn, || {
                started.set(started.get() + 1);
                StartingServer::new(tokio::spawn(std::future::pending()))
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
