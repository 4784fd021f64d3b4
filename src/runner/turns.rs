//! Servers that cases have for themselves, one after another.
//!
//! Starting a server takes longer than most cases. A session that a case leaves intact serves the next one, and over HTTP
//! its server serves a case that speaks without a handshake. Whoever does not pass there is run again with a fresh
//! server, and only that counts: nobody pays for what another left behind.

use std::collections::BTreeSet;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, sleep, timeout_at};

use super::attempt::{Attempted, Bounds, ended_the_server, in_own_session, run};
use super::closing::OWN_WATCH;
use super::lane::{Lane, Opened, Starts};
use super::pool::Turn;
use crate::event::{Finding, Outcome};
use crate::plan::{Case, Script};
use crate::session::OwnedViolation;
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

/// What a case came to with a server that others had used; `Err` says that it proves nothing, with the end of that server.
type Tried = Result<Attempted, Option<Finding>>;

/// Runs a script with a server that earlier cases left intact, or else with a fresh one.
pub(super) async fn in_turn(lane: &Arc<Lane>, case: &Case, script: &Script, bounds: &Bounds<'_>) -> Attempted {
    if !lane.may_be_used(case) {
        return in_own_session(lane, case, script, bounds).await;
    }
    let (_seat, free) = lane.free(case).await;
    let Some(opened) = free else { return in_own_session(lane, case, script, bounds).await };
    let revision = opened.session.server.revision.to_string();
    let tried = match case.handshake {
        Handshake::Made => in_free_session(lane, opened, case, script, bounds).await,
        Handshake::Left => beside_free_session(lane, opened, case, script, bounds).await,
    };
    let end = match tried {
        Ok(attempted) => return attempted,
        Err(end) => end,
    };
    let again = in_own_session(lane, case, script, &Bounds { turn: Turn::Again, ..*bounds }).await;
    if !ended_the_server(&again) {
        lane.judged(&revision, end.into_iter().collect());
    }
    again
}

/// Runs a script in a session that is free.
async fn in_free_session(lane: &Lane, opened: Opened, case: &Case, script: &Script, bounds: &Bounds<'_>) -> Tried {
    let attempted = run(lane, &opened, case, script, bounds).await;
    let (found, is_intact) = lane.settle(&opened, case).await;
    let has_passed = attempted.outcome == Outcome::Passed && found.is_empty();
    if has_passed && is_intact {
        lane.turns.give(opened);
        return Ok(attempted);
    }
    let session = opened.session;
    if !has_passed {
        session.explain_end(false);
    }
    let mut closed = session.close(OWN_WATCH).await;
    let end = closed.untold.take().map(|found| lane.at_server(found));
    let has_passed = has_passed && end.is_none() && lane.sifted(&mut closed, case).is_empty();
    if has_passed {
        lane.scanned.count(&closed.seen);
    } else {
        let own: BTreeSet<u32> = closed.owners.remove(&case.id).unwrap_or_default().into_iter().collect();
        closed.frames.retain(|frame| !own.contains(&frame.seq));
    }
    lane.emitter().session(lane.frames_of(session.server.revision.to_string(), None, closed));
    if has_passed || bounds.stop.is_set() { Ok(attempted) } else { Err(end) }
}

/// Runs a script without a handshake against the server of a session that is free.
async fn beside_free_session(lane: &Lane, host: Opened, case: &Case, script: &Script, bounds: &Bounds<'_>) -> Tried {
    let Ok(session) = lane.beside(&host.session, case).await else {
        lane.turns.give(host);
        return Err(None);
    };
    let guest = Opened { session, names: host.names.clone() };
    let attempted = run(lane, &guest, case, script, bounds).await;
    sleep(OWN_WATCH).await;
    let (mut found, _) = lane.settle(&guest, case).await;
    let mut closed = guest.session.close(OWN_WATCH).await;
    found.extend(lane.sifted(&mut closed, case));
    let is_up = host.session.is_open();
    let has_passed = attempted.outcome == Outcome::Passed && found.is_empty() && is_up;
    if has_passed {
        lane.scanned.count(&closed.seen);
        lane.emitter().session(lane.frames_of(guest.session.server.revision.to_string(), Some(case), closed));
    }
    let mut end = None;
    if is_up {
        lane.turns.give(host);
    } else {
        end = lane.close_but_for_end(&host.session).await;
    }
    if has_passed || bounds.stop.is_set() { Ok(attempted) } else { Err(end) }
}

impl Lane {
    /// Whether a server that others have used will do for a case: where it takes a start to have another one.
    fn may_be_used(&self, case: &Case) -> bool {
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

    /// Leaves the session of a case that was the first in it to the next one, however the case ended; a session that is not
    /// intact ends like any other, and what was broken is returned with the end of the server.
    pub(super) async fn leave(&self, opened: Opened, case: &Case) -> (Vec<OwnedViolation>, Option<Finding>) {
        let mut found = Vec::new();
        if self.may_be_used(case) {
            let (broken, is_intact) = self.settle(&opened, case).await;
            if is_intact {
                self.turns.give(opened);
                return (broken, None);
            }
            found = broken;
        }
        let (more, end) = self.close_own(&opened.session, case).await;
        found.extend(more);
        (found, end)
    }

    /// Waits for what a case may still cause in a session that it has for itself; returns what was broken, and whether the
    /// session serves another case.
    async fn settle(&self, opened: &Opened, case: &Case) -> (Vec<OwnedViolation>, bool) {
        let (found, is_intact) = opened.session.settle(OWN_WATCH).await;
        let found =
            if found.is_empty() { found } else { self.scanned.sift(Some(case), found, &opened.session.frames()) };
        (found, is_intact)
    }

    /// Ends the sessions that are free.
    pub(super) async fn end_free(&self) {
        let free = std::mem::take(&mut self.turns.lock().free);
        for opened in free {
            self.close(&opened.session).await;
        }
    }
}
