//! Servers that cases have for themselves, one after another.
//!
//! Starting a server takes longer than most cases. A session that a case leaves intact serves the next one, and over HTTP
//! its server serves a case that speaks without a handshake. Whoever does not pass there is run again with a fresh
//! server, and only that counts: nobody pays for what another left behind.

use std::pin::pin;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep, timeout_at};

use super::case::CaseRun;
use super::closing::{CaseSessionEnd, OWN_WATCH};
use super::crash::ended_the_server;
use super::opening::Opening;
use super::pool::SessionUse;
use super::resolve::Starts;
use super::target::{OpenSession, TargetSessions};
use crate::event::{CheckResult, Finding, Outcome};
use crate::plan::Case;
use crate::session::{ClosedSession, Session};
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
    /// How many cases are at it, and may leave a session.
    busy: usize,
}

/// The turn of one case; whoever waits looks again when it is over.
struct SessionLease<'a>(&'a ReusableSessions);

impl Drop for SessionLease<'_> {
    fn drop(&mut self) {
        self.0.state.lock().busy -= 1;
        self.0.through.notify_waiters();
    }
}

impl ReusableSessions {
    /// A free session that will do; where nobody leaves one in the time that a start takes, one is to be started.
    async fn take(
        &self,
        start: Duration,
        will_do: impl Fn(&OpenSession) -> bool,
    ) -> (SessionLease<'_>, Option<OpenSession>) {
        let deadline = Instant::now() + start;
        loop {
            let mut through = pin!(self.through.notified());
            through.as_mut().enable();
            {
                let mut state = self.state.lock();
                let at = state.free.iter().position(&will_do);
                if at.is_some() || state.busy == 0 || Instant::now() >= deadline {
                    state.busy += 1;
                    return (SessionLease(self), at.map(|at| state.free.swap_remove(at)));
                }
            }
            // Whether somebody is through or the time is over, the next look tells.
            let _ = timeout_at(deadline, through).await;
        }
    }

    fn give(&self, opened: OpenSession) {
        self.state.lock().free.push(opened);
    }
}

/// A session in which a case did not pass, and that may be to blame itself.
struct DiscardedSession {
    revision: String,
    closed: ClosedSession,
}

/// Runs a script with a server that earlier cases left intact, or else with a fresh one.
pub(crate) async fn run_in_reused_session(run: &CaseRun<'_>) -> CheckResult {
    let target = run.target;
    // Sessions are told apart by the attempts at a case, which all have one each where there are several.
    if !(run.limits.is_once && target.may_be_used(run.case)) {
        return run.run_in_own_session().await;
    }
    let (_lease, free) = target.free(run.case).await;
    let Some(opened) = free else { return run.run_in_own_session().await };
    let tried = match run.case.handshake {
        Handshake::Perform => in_free_session(run, opened).await,
        Handshake::Skip => beside_free_session(run, opened).await,
    };
    let DiscardedSession { revision, mut closed } = match tried {
        Ok(result) => return result,
        Err(discarded) => *discarded,
    };
    let again = run.with_turn(SessionUse::Again).run_in_own_session().await;
    let end = closed.unreported_exit.take().filter(|_| !ended_the_server(&again));
    target.judged(&revision, end.map(|exit| target.at_server(Finding::from(&exit))).into_iter().collect());
    // After that of the case itself, which is the one that counts.
    target.emitter().session(target.frames_of(revision, None, closed));
    again
}

/// Runs a script in a session that is free; an error proves nothing about the server.
async fn in_free_session(run: &CaseRun<'_>, opened: OpenSession) -> Result<CheckResult, Box<DiscardedSession>> {
    let target = run.target;
    let result = run.run_script(&opened).await;
    let (found, is_intact) = opened.session.settle(OWN_WATCH).await;
    let has_passed = result.outcome == Outcome::Passed && found.is_empty();
    if has_passed && is_intact {
        target.reusable.give(opened);
        return Ok(result);
    }
    let closed = target.closed(&opened.session, has_passed).await;
    let has_passed = has_passed && closed.unreported_exit.is_none() && closed.violations.is_empty();
    let revision = opened.session.server.revision.to_string();
    if has_passed || run.limits.stop.is_set() {
        target.emitter().session(target.frames_of(revision, None, closed));
        return Ok(result);
    }
    Err(Box::new(DiscardedSession { revision, closed }))
}

/// Runs a script without a handshake against the server of a session that is free.
async fn beside_free_session(run: &CaseRun<'_>, host: OpenSession) -> Result<CheckResult, Box<DiscardedSession>> {
    let (target, case) = (run.target, run.case);
    let revision = host.session.server.revision.to_string();
    let names = case.all_names();
    let opening =
        Opening { answers: &case.answers, handshake: case.handshake, names: &names, faults: None, may_end: false };
    let Ok(session) = target.open_beside(&host.session, opening).await else {
        return Err(Box::new(DiscardedSession { revision, closed: target.closed(&host.session, false).await }));
    };
    let guest = OpenSession { session, names: host.names.clone() };
    let result = run.run_script(&guest).await;
    sleep(OWN_WATCH).await;
    let (found, _) = guest.session.settle(OWN_WATCH).await;
    let closed = guest.session.close(OWN_WATCH).await;
    let is_clean = found.is_empty() && closed.violations.is_empty() && host.session.is_open();
    if result.outcome == Outcome::Passed && is_clean {
        target.scan_results.count(&closed.seen);
        target.emitter().session(target.frames_of(revision, Some(case), closed));
        target.reusable.give(host);
        return Ok(result);
    }
    let closed = target.closed(&host.session, false).await;
    if run.limits.stop.is_set() {
        target.emitter().session(target.frames_of(revision, None, closed));
        return Ok(result);
    }
    Err(Box::new(DiscardedSession { revision, closed }))
}

impl TargetSessions {
    /// Whether a server that others have used will do for a case: where it takes a start to have another one.
    pub(crate) fn may_be_used(&self, case: &Case) -> bool {
        match self.starts() {
            // Only who speaks first on a stream can do without a handshake.
            Starts::WithStream => case.handshake == Handshake::Perform,
            Starts::WithAddress => true,
            Starts::Nothing => false,
        }
    }

    /// A session that nobody uses; none where one is to be started. One that ended meanwhile is told.
    async fn free(&self, case: &Case) -> (SessionLease<'_>, Option<OpenSession>) {
        let start = self.identity().map(|identity| identity.ready).unwrap_or_default();
        loop {
            // Whoever does without a handshake needs the address only.
            let will_do = |opened: &OpenSession| case.handshake == Handshake::Skip || opened.session.has_handshake();
            match self.reusable.take(start, will_do).await {
                (_, Some(opened)) if !opened.session.is_open() => self.close(&opened.session).await,
                taken => return taken,
            }
        }
    }

    /// Keeps the session in which a case passed for the next case; a session that is not intact ends.
    pub(crate) async fn leave(&self, opened: OpenSession, case: &Case) -> CaseSessionEnd {
        let (mut violations, is_intact) = opened.session.settle(OWN_WATCH).await;
        if is_intact {
            self.reusable.give(opened);
            return CaseSessionEnd { violations, exit: None };
        }
        if !violations.is_empty() {
            violations = self.scan_results.take_unclaimed(Some(case), violations, &opened.session.frames());
        }
        let end = self.close_own(&opened.session, case).await;
        violations.extend(end.violations);
        CaseSessionEnd { violations, ..end }
    }

    /// Ends a session; unless its last case passed, the end of its server is still to be told, whoever saw it.
    async fn closed(&self, session: &Session, has_passed: bool) -> ClosedSession {
        if !has_passed {
            session.attribute_exit(false);
        }
        let closed = session.close(OWN_WATCH).await;
        self.scan_results.count(&closed.seen);
        closed
    }

    /// Ends the sessions that are free.
    pub(crate) async fn end_free(&self) {
        let free = std::mem::take(&mut self.reusable.state.lock().free);
        for opened in free {
            self.close(&opened.session).await;
        }
    }
}
