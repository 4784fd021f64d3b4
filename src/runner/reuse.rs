//! Sessions that cases have for themselves, one after another.
//!
//! Starting a server takes longer than most cases. A session that a case leaves intact serves the next one, and over
//! HTTP its server serves a case that speaks without a handshake.

use std::pin::pin;

use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::{Instant, timeout_at};

use super::ending::{SessionEndReason, end};
use super::opening::OpenSession;
use super::resolve::Starts;
use super::target::RunTarget;
use crate::suite::Handshake;

/// The sessions of a target that cases use one after another.
#[derive(Default)]
pub(crate) struct ReusableSessions {
    state: Mutex<ReuseState>,
    /// Rung whenever a case is through.
    through: Notify,
}

#[derive(Default)]
struct ReuseState {
    free: Vec<OpenSession>,
    /// The number of running cases that may leave a session.
    busy: usize,
}

/// The turn of one case; others that wait look again when it is over.
pub(crate) struct SessionLease<'a>(&'a ReusableSessions);

impl Drop for SessionLease<'_> {
    fn drop(&mut self) {
        self.0.state.lock().busy -= 1;
        self.0.through.notify_waiters();
    }
}

/// The turn of a case, with a free session if there is one.
pub(crate) struct LeasedSession<'a> {
    pub(crate) opened: Option<OpenSession>,
    _lease: SessionLease<'a>,
}

impl ReusableSessions {
    /// A session that no case uses; none where a server is to be started, since no case leaves a session in the time
    /// that a start takes. Sessions that ended meanwhile are reported.
    pub(crate) async fn take(&self, target: &RunTarget, handshake: Handshake) -> LeasedSession<'_> {
        let deadline = Instant::now() + target.identity().map(|identity| identity.ready).unwrap_or_default();
        loop {
            let mut through = pin!(self.through.notified());
            through.as_mut().enable();
            let taken = {
                let mut state = self.state.lock();
                let fits = |opened: &OpenSession| handshake == Handshake::Skip || opened.session.has_handshake();
                let at = state.free.iter().position(fits);
                (at.is_some() || state.busy == 0 || Instant::now() >= deadline).then(|| {
                    state.busy += 1;
                    LeasedSession { opened: at.map(|at| state.free.swap_remove(at)), _lease: SessionLease(self) }
                })
            };
            match taken {
                Some(LeasedSession { opened: Some(dead), .. }) if !dead.session.is_open() => {
                    end(target, &dead.session, SessionEndReason::CasesOver).await;
                }
                Some(leased) => return leased,
                // The next look shows which of both happened.
                None => drop(timeout_at(deadline, through).await),
            }
        }
    }

    /// Keeps a session for the next case.
    pub(crate) fn give(&self, opened: OpenSession) {
        self.state.lock().free.push(opened);
    }

    /// Ends the sessions that are free.
    pub(crate) async fn finish(&self, target: &RunTarget) {
        let free = std::mem::take(&mut self.state.lock().free);
        for opened in free {
            end(target, &opened.session, SessionEndReason::CasesOver).await;
        }
    }
}

/// Returns true if a server that others have used will do for a case, where another one would have to be started.
pub(crate) fn accepts_used_server(starts: Starts, handshake: Handshake) -> bool {
    match starts {
        // Only the first message on a stream can do without a handshake.
        Starts::WithStream => handshake == Handshake::Perform,
        Starts::WithAddress => true,
        Starts::Nothing => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn used_servers() {
        use Handshake::{Perform, Skip};
        use Starts::{Nothing, WithAddress, WithStream};
        let rows = [
            (WithStream, Perform, true),
            (WithStream, Skip, false),
            (WithAddress, Perform, true),
            (WithAddress, Skip, true),
            (Nothing, Perform, false),
            (Nothing, Skip, false),
        ];
        for (starts, handshake, expected) in rows {
            assert_eq!(accepts_used_server(starts, handshake), expected, "{starts:?} {handshake:?}");
        }
    }
}
