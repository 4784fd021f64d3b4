//! Ends the sessions of a target; the reason decides who answers for the server's exit and for broken rules.

use std::time::Duration;

use super::target::RunTarget;
use super::{SessionFrames, SessionPurpose};
use crate::diagnosis;
use crate::event::Finding;
use crate::fault::Fault;
use crate::plan::{Body, Case};
use crate::session::{OwnedViolation, Session, UnreportedExit};
use crate::transport::{Shutdown, ShutdownOrder};
use crate::wire::ScanRule;

/// The time for which a shared server is watched after its last message, so that a crash right after it is seen.
const SHARED_WATCH: Duration = Duration::from_millis(2);

/// The same for a case's own server: its start took longer, and others run meanwhile.
pub(crate) const OWN_WATCH: Duration = Duration::from_millis(20);

/// The reason for which a session ends.
#[derive(Clone, Copy)]
pub(crate) enum SessionEndReason<'a> {
    /// Its cases are over: an exit or a violation that none of them reported is reported against the server.
    CasesOver,
    /// No case used it: an exit of its server has no meaning.
    Unused,
    /// The only case that used it is over, and reports exit and violations.
    CaseOver(&'a Case),
    /// The same of a search for arguments.
    SearchOver(&'a Case),
    /// The same as for a case, and the server is to be shut down in this way.
    Shutdown(&'a Case, ShutdownOrder),
    /// A case passed in a session that earlier cases had used, and the session cannot be used again.
    ReusedAndPassed,
    /// A case did not pass in such a session, and runs again: until then nothing is reported.
    ReusedAndFailed,
}

/// The end of a session.
pub(crate) struct EndedSession {
    /// Violations in a reused session, left to the caller.
    pub(crate) violations: Vec<OwnedViolation>,
    /// Those of them that are the server's, whatever earlier cases have left behind, and that no case looks for.
    pub(crate) broken: Vec<Finding>,
    /// The exit of the server that no failed request reported, left to the caller to report.
    pub(crate) exit: Option<Finding>,
    /// The end of a process of ours by an order.
    pub(crate) shutdown: Option<Shutdown>,
    /// The frames of a reused session, left to the caller to hand on.
    pub(crate) frames: Option<SessionFrames>,
}

impl EndedSession {
    /// Takes in the violations of a reused session that rest on one message; others may rest on what earlier cases began.
    pub(crate) fn with_broken_rules(mut self, target: &RunTarget, case: &Case, session: &Session) -> Self {
        let mut alone = std::mem::take(&mut self.violations);
        alone.retain(|owned| owned.violation.rule.is_some_and(ScanRule::needs_no_past));
        let frames = self.frames.as_ref().map(|frames| frames.frames.as_slice()).unwrap_or_default();
        let alone = target.scan_results.take_unclaimed(Some(case), alone, session, frames);
        if !session.has_faults() && case.inject.iter().all(Fault::keeps_protocol) {
            self.broken = diagnosis::of_violations(&alone, frames);
        }
        self
    }
}

/// Ends a session and its server.
pub(crate) async fn end(target: &RunTarget, session: &Session, reason: SessionEndReason<'_>) -> EndedSession {
    let revision = session.server.revision.to_string();
    let mut closed = match reason {
        SessionEndReason::Shutdown(_, order) => session.shut_down(order).await,
        SessionEndReason::CasesOver => session.close(SHARED_WATCH).await,
        SessionEndReason::Unused => {
            session.mark_exit_reported();
            session.close(SHARED_WATCH).await
        }
        SessionEndReason::CaseOver(_) | SessionEndReason::SearchOver(_) | SessionEndReason::ReusedAndPassed => {
            session.close(OWN_WATCH).await
        }
        SessionEndReason::ReusedAndFailed => {
            // The exit is still to be reported, whichever request has seen it.
            session.attribute_exit(false);
            session.close(OWN_WATCH).await
        }
    };
    let shutdown = closed.shutdown.take();
    if !matches!(reason, SessionEndReason::Shutdown(..)) {
        target.shutdowns.count(shutdown.as_ref(), &closed);
    }
    target.scan_results.count(&closed.seen);
    let violations = std::mem::take(&mut closed.violations);
    let exit = closed.unreported_exit.take();
    match reason {
        SessionEndReason::CasesOver | SessionEndReason::Unused => {
            let violations = target.scan_results.take_unclaimed(None, violations, session, &closed.frames);
            target.scan_results.add_beside(None, diagnosis::of_violations(&violations, &closed.frames));
            let broken = target.scan_results.take_beside(None);
            target.report(&revision, exit.as_ref().map(Finding::from).into_iter().chain(broken));
            target.emitter.session(target.frames_of(revision, None, closed));
            EndedSession { violations: Vec::new(), broken: Vec::new(), exit: None, shutdown, frames: None }
        }
        SessionEndReason::CaseOver(case) | SessionEndReason::SearchOver(case) | SessionEndReason::Shutdown(case, _) => {
            let violations = target.scan_results.take_unclaimed(Some(case), violations, session, &closed.frames);
            // Only one case used this server, so naming the last one says nothing.
            let exit = exit.map(|exit| Finding::from(&UnreportedExit { last_case: None, ..exit }));
            let purpose = match reason {
                SessionEndReason::SearchOver(_) => SessionPurpose::Arguments,
                SessionEndReason::CasesOver
                | SessionEndReason::Unused
                | SessionEndReason::CaseOver(_)
                | SessionEndReason::Shutdown(..)
                | SessionEndReason::ReusedAndPassed
                | SessionEndReason::ReusedAndFailed => SessionPurpose::Verdict,
            };
            // A check may have said what no client says, and a fault may have broken a message.
            if matches!(case.body, Body::Script(_)) && case.inject.iter().all(Fault::keeps_protocol) {
                target.scan_results.add_beside(Some(case), diagnosis::of_violations(&violations, &closed.frames));
            }
            // Whoever keeps findings takes the calls that led to one from the session that follows.
            target.report(&revision, target.scan_results.take_beside(Some(case)));
            let frames = target.frames_of(revision, Some(case), closed);
            target.emitter.session(SessionFrames { purpose, ..frames });
            EndedSession { violations: Vec::new(), broken: Vec::new(), exit, shutdown, frames: None }
        }
        SessionEndReason::ReusedAndPassed | SessionEndReason::ReusedAndFailed => {
            let frames = Some(target.frames_of(revision, None, closed));
            EndedSession { violations, broken: Vec::new(), exit: exit.as_ref().map(Finding::from), shutdown, frames }
        }
    }
}

/// Takes in the violations of a session so far, which belong to no case.
pub(crate) fn note_violations(target: &RunTarget, session: &Session) {
    let frames = session.frames();
    let violations = target.scan_results.take_unclaimed(None, session.take_all_violations(), session, &frames);
    target.scan_results.add_beside(None, diagnosis::of_violations(&violations, &frames));
}
