//! The ends of a target's sessions: teardown, what was broken outside of any case, frames that are handed on.

use std::sync::Arc;
use std::time::Duration;

use super::conversation::Conversation;
use super::exchange::CaseSpeaker;
use super::target::{OpenSession, TargetSessions};
use super::{SessionFrames, case, case_result, finding};
use crate::diagnosis;
use crate::event::{CheckResult, Event, FailureClass, Finding, Outcome, Phase, SessionJudged};
use crate::plan::Case;
use crate::session::{ClosedSession, OwnedViolation, Session, UnreportedExit};
use crate::source::duration_text;
use crate::source::template::Names;
use crate::transport::{Shutdown, ShutdownOrder};

/// How long a shared server is watched after its last message, so that a crash right after it is seen.
const SHARED_WATCH: Duration = Duration::from_millis(2);

/// The same for a case's own server: its start took longer, and others run meanwhile.
pub(crate) const OWN_WATCH: Duration = Duration::from_millis(20);

/// The end of a session that only one case used.
pub(crate) struct CaseSessionEnd {
    /// Violations outside of the case's exchanges.
    pub(crate) violations: Vec<OwnedViolation>,
    /// The exit of the server, where no failed request reported it.
    pub(crate) exit: Option<Finding>,
}

impl TargetSessions {
    /// Runs the suite's teardown and ends the session; what it broke of the protocol is told.
    pub(crate) async fn finish(self: &Arc<Self>) {
        self.end_unused().await;
        self.end_free().await;
        let opened = self.shared.lock().await.session.take();
        if let Some(opened) = opened {
            self.tear_down(&opened).await;
            self.close(&opened.session).await;
        }
    }

    /// Runs the suite's teardown in one session and reports its failure, which hides nothing.
    pub(crate) async fn tear_down(&self, opened: &OpenSession) {
        let check = self.run_teardown(&opened.session, opened.names.clone()).await;
        if !check.findings.is_empty() {
            let result = case_result::of_suite_teardown(self, check);
            self.emitter().event(Event::CaseFinished(Box::new(result)));
        }
    }

    /// Runs the suite's teardown in one session.
    pub(crate) async fn run_teardown(&self, session: &Session, names: Names) -> CheckResult {
        let steps = &self.planned().suite.teardown;
        if steps.is_empty() || !session.is_open() {
            return CheckResult::new(Outcome::Passed);
        }
        let speaker = CaseSpeaker { session, owner: "", catalog: self.known_catalog() };
        let mut conversation = Conversation::new(speaker, names, self);
        let torn_down = self.stop.bound(case::CASE_TIMEOUT, conversation.every(Phase::SuiteTeardown, steps)).await;
        let mut found = torn_down.unwrap_or_else(|limit| {
            vec![Finding::failure(FailureClass::Timeout, format!("it took longer than {}", duration_text(limit)))]
        });
        found.retain(|found| !finding::is_not_allowed(found));
        CheckResult { exchanges: conversation.exchanges, ..CheckResult::found(Outcome::Errored, found) }
    }

    /// Ends a session of the target; what it broke outside of any case is told.
    pub(crate) async fn close(&self, session: &Session) {
        let revision = session.server.revision.to_string();
        let mut closed = session.close(SHARED_WATCH).await;
        self.scan_results.count(&closed.seen);
        let violations = self.scan_results.take_unclaimed(None, std::mem::take(&mut closed.violations), &closed.frames);
        let exit = closed.unreported_exit.as_ref().map(Finding::from);
        let found = exit.into_iter().chain(diagnosis::of_violations(&violations, &closed.frames));
        self.judged(&revision, found.map(|found| self.at_server(found)).collect());
        self.emitter().session(self.frames_of(revision, None, closed));
    }

    /// Tells what a session broke so far, outside of any case.
    pub(crate) fn judge_so_far(&self, session: &Session) {
        let frames = session.frames();
        let violations = self.scan_results.take_unclaimed(None, session.take_all_violations(), &frames);
        let found = diagnosis::of_violations(&violations, &frames);
        let revision = session.server.revision.to_string();
        self.judged(&revision, found.into_iter().map(|found| self.at_server(found)).collect());
    }

    /// Ends a session that nobody used; that it may have ended by itself says nothing.
    pub(crate) async fn close_unused(&self, session: &Session) {
        session.mark_exit_reported();
        self.close(session).await;
    }

    /// Ends a case's own session.
    pub(crate) async fn close_own(&self, session: &Session, case: &Case) -> CaseSessionEnd {
        let closed = session.close(OWN_WATCH).await;
        self.closed_own(session, case, closed)
    }

    /// Ends the server of such a session in that way.
    pub(crate) async fn shut_down_own(&self, session: &Session, case: &Case, order: ShutdownOrder) -> Option<Shutdown> {
        let (closed, shutdown) = session.shut_down(order).await;
        self.closed_own(session, case, closed);
        shutdown
    }

    fn closed_own(&self, session: &Session, case: &Case, mut closed: ClosedSession) -> CaseSessionEnd {
        self.scan_results.count(&closed.seen);
        let violations =
            self.scan_results.take_unclaimed(Some(case), std::mem::take(&mut closed.violations), &closed.frames);
        // Only one case used this server, so naming the last one says nothing.
        let exit = closed.unreported_exit.take().map(|exit| UnreportedExit { last_owner: None, ..exit });
        self.emitter().session(self.frames_of(session.server.revision.to_string(), Some(case), closed));
        CaseSessionEnd { violations, exit: exit.as_ref().map(Finding::from) }
    }

    /// Hands on what is left of a connection without a conversation.
    pub(crate) fn not_begun(&self, revision: &str, closed: ClosedSession) {
        let mut found = diagnosis::of_violations(&closed.violations, &closed.frames);
        // A server that does not start often says one thing all the time.
        found.dedup_by(|later, earlier| later.message == earlier.message);
        self.judged(revision, found.into_iter().map(|found| self.at_server(found)).collect());
        let frames = self.frames_of(revision.to_owned(), None, closed);
        self.emitter().session(SessionFrames { has_begun: false, ..frames });
    }

    pub(crate) fn frames_of(&self, revision: String, case: Option<&Case>, closed: ClosedSession) -> SessionFrames {
        let planned = self.planned();
        SessionFrames {
            file: planned.suite.file.clone(),
            server: planned.lanes[self.index].server.clone(),
            lane: planned.lane_id(self.index),
            transport: closed.transport,
            revision,
            case: case.map(|case| case.id.clone()),
            has_begun: true,
            frames: closed.frames,
            owners: closed.owners,
            ending: closed.end,
        }
    }

    /// Tells what a server did wrong outside of any case, if it did.
    pub(crate) fn judged(&self, revision: &str, findings: Vec<Finding>) {
        if findings.is_empty() {
            return;
        }
        let planned = self.planned();
        let target = &planned.lanes[self.index];
        self.emitter().event(Event::SessionJudged(SessionJudged {
            file: planned.suite.file.clone(),
            suite: planned.suite.name.value.clone(),
            line: self.plan.sources.place(planned.suite.servers[&target.server].span).1,
            from_command_line: planned.suite.asked.is_some(),
            server: target.server.clone(),
            revision: revision.to_owned(),
            findings: finding::written(&planned.suite, findings),
        }));
    }

    pub(crate) fn at_server(&self, found: Finding) -> Finding {
        let planned = self.planned();
        let server = &planned.suite.servers[&planned.lanes[self.index].server];
        finding::at(found, &self.plan.sources, server.span, "this server")
    }
}
