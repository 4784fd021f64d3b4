//! Servers that cases have for themselves, one after another.
//!
//! Starting a server takes longer than most cases. A session that a case leaves intact serves the next one, and over HTTP
//! its server serves a case that speaks without a handshake. Whoever does not pass there is run again with a fresh
//! server, and only that counts: nobody pays for what another left behind.

use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, sleep, timeout_at};

use super::alone::ended_the_server;
use super::attempt::{Bounds, in_own_session, run};
use super::closing::OWN_WATCH;
use super::lane::{Lane, Opened};
use super::pool::Turn;
use super::resolve::Starts;
use crate::event::{CheckResult, Finding, Outcome};
use crate::plan::{Case, Script};
use crate::session::{Closed, OwnedViolation, Session};
use crate::suite::Handshake;

/// The sessions of a lane that cases use one after another.
#[derive(Default)]
pub(super) struct Turns {
    state: Mutex<State>,
    /// Rung whenever a case is through.
    through: Notify,
}

#[derive(Default)]
struct State {
    free: Vec<Opened>,
    /// How many cases are at it, and may leave a session.
    busy: usize,
}

/// The turn of one case; whoever waits looks again when it is over.
struct Seat<'a>(&'a Turns);

impl Drop for Seat<'_> {
    fn drop(&mut self) {
        self.0.lock().busy -= 1;
        self.0.through.notify_waiters();
    }
}

impl Turns {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A free session that will do; where nobody leaves one in the time that a start takes, one is to be started.
    async fn take(&self, start: Duration, will_do: impl Fn(&Opened) -> bool) -> (Seat<'_>, Option<Opened>) {
        let deadline = Instant::now() + start;
        loop {
            let mut through = pin!(self.through.notified());
            through.as_mut().enable();
            {
                let mut state = self.lock();
                let at = state.free.iter().position(&will_do);
                if at.is_some() || state.busy == 0 || Instant::now() >= deadline {
                    state.busy += 1;
                    return (Seat(self), at.map(|at| state.free.swap_remove(at)));
                }
            }
            // Whether somebody is through or the time is over, the next look tells.
            let _ = timeout_at(deadline, through).await;
        }
    }

    fn give(&self, opened: Opened) {
        self.lock().free.push(opened);
    }
}

/// What a case came to with a server that others had used; `Err` says that it proves nothing.
type Tried = Result<CheckResult, Box<Discarded>>;

/// A session in which a case did not pass, and that may be to blame itself.
struct Discarded {
    revision: String,
    closed: Closed,
}

/// Runs a script with a server that earlier cases left intact, or else with a fresh one.
pub(super) async fn in_turn(lane: &Arc<Lane>, case: &Case, script: &Script, bounds: &Bounds<'_>) -> CheckResult {
    // Sessions are told apart by the attempts at a case, which all have one each where there are several.
    if !(bounds.is_once && lane.may_be_used(case)) {
        return in_own_session(lane, case, script, bounds).await;
    }
    let (_seat, free) = lane.free(case).await;
    let Some(opened) = free else { return in_own_session(lane, case, script, bounds).await };
    let tried = match case.handshake {
        Handshake::Made => in_free_session(lane, opened, case, script, bounds).await,
        Handshake::Left => beside_free_session(lane, opened, case, script, bounds).await,
    };
    let discarded = match tried {
        Ok(attempted) => return attempted,
        Err(discarded) => *discarded,
    };
    let again = in_own_session(lane, case, script, &Bounds { turn: Turn::Again, ..*bounds }).await;
    let Discarded { revision, mut closed } = discarded;
    let end = closed.unreported_exit.take().filter(|_| !ended_the_server(&again));
    lane.judged(&revision, end.map(|exit| lane.at_server(Finding::from(&exit))).into_iter().collect());
    // After that of the case itself, which is the one that counts.
    lane.emitter().session(lane.frames_of(revision, None, closed));
    again
}

/// Runs a script in a session that is free.
async fn in_free_session(lane: &Lane, opened: Opened, case: &Case, script: &Script, bounds: &Bounds<'_>) -> Tried {
    let attempted = run(lane, &opened, case, script, bounds).await;
    let (found, is_intact) = opened.session.settle(OWN_WATCH).await;
    let has_passed = attempted.outcome == Outcome::Passed && found.is_empty();
    if has_passed && is_intact {
        lane.turns.give(opened);
        return Ok(attempted);
    }
    let closed = lane.closed(&opened.session, has_passed).await;
    let has_passed = has_passed && closed.unreported_exit.is_none() && closed.violations.is_empty();
    let revision = opened.session.server.revision.to_string();
    if has_passed || bounds.stop.is_set() {
        lane.emitter().session(lane.frames_of(revision, None, closed));
        return Ok(attempted);
    }
    Err(Box::new(Discarded { revision, closed }))
}

/// Runs a script without a handshake against the server of a session that is free.
async fn beside_free_session(lane: &Lane, host: Opened, case: &Case, script: &Script, bounds: &Bounds<'_>) -> Tried {
    let revision = host.session.server.revision.to_string();
    let Ok(session) = lane.beside(&host.session, (&case.answers, case.handshake), &case.all_names()).await else {
        return Err(Box::new(Discarded { revision, closed: lane.closed(&host.session, false).await }));
    };
    let guest = Opened { session, names: host.names.clone() };
    let attempted = run(lane, &guest, case, script, bounds).await;
    sleep(OWN_WATCH).await;
    let (found, _) = guest.session.settle(OWN_WATCH).await;
    let closed = guest.session.close(OWN_WATCH).await;
    let is_clean = found.is_empty() && closed.violations.is_empty() && host.session.is_open();
    if attempted.outcome == Outcome::Passed && is_clean {
        lane.scanned.count(&closed.seen);
        lane.emitter().session(lane.frames_of(revision, Some(case), closed));
        lane.turns.give(host);
        return Ok(attempted);
    }
    let closed = lane.closed(&host.session, false).await;
    if bounds.stop.is_set() {
        lane.emitter().session(lane.frames_of(revision, None, closed));
        return Ok(attempted);
    }
    Err(Box::new(Discarded { revision, closed }))
}

impl Lane {
    /// Whether a server that others have used will do for a case: where it takes a start to have another one.
    pub(super) fn may_be_used(&self, case: &Case) -> bool {
        match self.starts() {
            // Only who speaks first on a stream can do without a handshake.
            Starts::WithStream => case.handshake == Handshake::Made,
            Starts::WithAddress => true,
            Starts::Nothing => false,
        }
    }

    /// A session that nobody uses; none where one is to be started. One that ended meanwhile is told.
    async fn free(&self, case: &Case) -> (Seat<'_>, Option<Opened>) {
        let start = self.identity().map(|identity| identity.ready).unwrap_or_default();
        loop {
            // Whoever does without a handshake needs the address only.
            let will_do = |opened: &Opened| case.handshake == Handshake::Left || opened.session.has_shaken_hands();
            match self.turns.take(start, will_do).await {
                (_, Some(opened)) if !opened.session.is_open() => self.close(&opened.session).await,
                taken => return taken,
            }
        }
    }

    /// Leaves the session in which a case passed as the first to the next one; a session that is not intact ends like any
    /// other, and what was broken is returned with the end of the server.
    pub(super) async fn leave(&self, opened: Opened, case: &Case) -> (Vec<OwnedViolation>, Option<Finding>) {
        let (mut found, is_intact) = opened.session.settle(OWN_WATCH).await;
        if is_intact {
            self.turns.give(opened);
            return (found, None);
        }
        if !found.is_empty() {
            found = self.scanned.sift(Some(case), found, &opened.session.frames());
        }
        let (more, end) = self.close_own(&opened.session, case).await;
        found.extend(more);
        (found, end)
    }

    /// Ends a session; unless its last case passed, the end of its server is still to be told, whoever saw it.
    async fn closed(&self, session: &Session, has_passed: bool) -> Closed {
        if !has_passed {
            session.explain_end(false);
        }
        let closed = session.close(OWN_WATCH).await;
        self.scanned.count(&closed.seen);
        closed
    }

    /// Ends the sessions that are free.
    pub(super) async fn end_free(&self) {
        let free = std::mem::take(&mut self.turns.lock().free);
        for opened in free {
            self.close(&opened.session).await;
        }
    }
}
