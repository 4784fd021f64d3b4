//! Fresh servers of a target: started before a case needs them where any will do, or left over from listing the tools.

use std::sync::Arc;

use tokio::task::JoinSet;

use super::opening::Opening;
use super::pool::{SessionUse, StartingServer};
use super::resolve::Starts;
use super::target::{SessionError, TargetSessions};
use crate::fault::FaultPlayer;
use crate::plan::{Body, Case};
use crate::session::Session;
use crate::source::Span;
use crate::suite::{Answers, Handshake};
use crate::wire::Revision;

impl TargetSessions {
    /// A server that was started ahead, or one that is started now.
    pub(crate) async fn fresh_session(
        self: &Arc<Self>,
        known: Option<Revision>,
        case: &Case,
        turn: SessionUse,
        faults: Option<&Arc<FaultPlayer>>,
    ) -> Result<Session, SessionError> {
        if faults.is_none() && self.may_be_prestarted(case) {
            let prestarted = self.pool.take(turn, || {
                let target = Arc::clone(self);
                StartingServer::new(tokio::spawn(async move {
                    let answers = &target.planned().suite.answers;
                    target.open(known, Opening::with(answers)).await
                }))
            });
            let session = match prestarted {
                Some(prestarted) => prestarted.session().await.transpose()?,
                None => None,
            };
            match session {
                Some(session) if session.is_open() => return Ok(session),
                // It ended while nobody spoke to it; a server that is started now may live long enough.
                Some(dead) => self.close_unused(&dead).await,
                None => {}
            }
        }
        let names = case.all_names();
        let opening =
            Opening { answers: &case.answers, handshake: case.handshake, names: &names, faults, may_end: false };
        self.open(known, opening).await
    }

    /// The session in which the server was asked what it offers, where no case has used it: as good as a fresh one, and
    /// its server has started.
    pub(crate) async fn take_untouched(&self, case: &Case) -> Option<Session> {
        let suite = &self.planned().suite;
        let is_bare = suite.setup.is_empty() && suite.teardown.is_empty();
        if self.starts() == Starts::Nothing || !is_bare || answer_spans(&suite.answers) != answer_spans(&case.answers) {
            return None;
        }
        let mut shared = self.shared.lock().await;
        let session = match Arc::try_unwrap(shared.session.take()?) {
            Ok(opened) if opened.session.is_untouched() => opened.session,
            Ok(opened) => {
                shared.session = Some(Arc::new(opened));
                return None;
            }
            Err(used) => {
                shared.session = Some(used);
                return None;
            }
        };
        self.judge_so_far(&session);
        Some(session)
    }

    /// Whether any server of the target will do for a case: it needs nothing that only its own session has.
    fn may_be_prestarted(&self, case: &Case) -> bool {
        let answers = &self.planned().suite.answers;
        let is_same = answer_spans(answers) == answer_spans(&case.answers)
            && (answers.is_empty() || case.names.is_empty() && case.offered.is_empty());
        self.sets_up_every_session() && is_same && case.handshake == Handshake::Perform
    }

    /// Counts on a case that will need a server of its own so many times.
    pub(crate) fn expect(&self, case: &Case, times: usize) {
        if matches!(case.body, Body::Script(_)) && self.may_be_prestarted(case) {
            self.pool.expect(times);
        }
    }

    /// Ends the servers that were started ahead and not used, all at once.
    pub(crate) async fn end_unused(self: &Arc<Self>) {
        let mut ending = JoinSet::new();
        for unused in self.pool.drain().into_iter().filter(StartingServer::is_decided) {
            let target = Arc::clone(self);
            ending.spawn(async move {
                if let Some(Ok(session)) = unused.session().await {
                    target.close_unused(&session).await;
                }
            });
        }
        while ending.join_next().await.is_some() {}
    }
}

/// The places of the client's answers in suite files, by which they are compared: a test without any has the suite's.
fn answer_spans(answers: &Answers) -> [Option<Span>; 3] {
    [&answers.sampling, &answers.elicitation, &answers.roots].map(|node| node.as_ref().map(|node| node.span))
}
