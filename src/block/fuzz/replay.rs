//! Calls said again to a fresh server, one after the other.

use std::time::Duration;

use super::calls::{Calls, Made};
use super::judge::judge;
use super::problem::{self, Problem};
use crate::event::{Exchange, Finding, Phase};
use crate::plan::CheckContext;
use crate::session::{CallFailure, FailureReason, ReceivedLine, Session, SessionReply, SessionRequest};
use crate::source::beginning;
use crate::wire::Era;

/// How many characters of arguments and answers are shown.
const SHOWN: usize = 600;

/// What a replay came to.
pub(super) struct Replayed {
    /// The call at which it showed, as an index.
    pub(super) shown: Option<usize>,
    /// How it showed this time.
    pub(super) problem: Option<Problem>,
}

/// Says calls to a fresh server, until the problem shows; waits so long for each answer. An error is a server that does not
/// start.
pub(super) async fn replay(
    (context, calls): (&CheckContext<'_>, &Calls),
    said: &[&Made],
    sought: &Problem,
    wait: Duration,
) -> Result<Replayed, Box<Finding>> {
    let session = context.servers.open().await.map_err(Box::new)?;
    let speaker = Speaker::new(context, &session, wait);
    // What the handshake broke is told elsewhere.
    session.take_all_violations();
    let mut replayed = Replayed { shown: None, problem: None };
    for (at, made) in said.iter().enumerate() {
        let answered = speaker.call(calls, made).await;
        let mut problems = match &answered {
            Ok(reply) => judge(calls, made, &reply.message).problems,
            Err(failure) => vec![problem::failed(failure)],
        };
        // What comes right after the last answer belongs to it.
        if at + 1 == said.len() && answered.is_ok() {
            problems.extend(speaker.alive().await.err().as_ref().map(problem::failed));
        }
        problems.extend(speaker.broken());
        if let Some(problem) = problems.into_iter().find(|problem| problem.is_like(sought)) {
            let exchange = Some(exchange(calls, made, answered.as_ref()));
            (replayed.shown, replayed.problem) = (Some(at), Some(Problem { exchange, ..problem }));
            break;
        }
        if !session.is_open() {
            break;
        }
    }
    end(context, session).await;
    Ok(replayed)
}

/// A call and its answer, long texts cut.
pub(super) fn exchange(calls: &Calls, made: &Made, answered: Result<&SessionReply, &CallFailure>) -> Exchange {
    let (frame, answer_frame, elapsed) = match answered {
        Ok(reply) => (reply.frame, Some(reply.answer_frame), reply.elapsed),
        Err(failure) => (failure.frame.unwrap_or_default(), None, Duration::ZERO),
    };
    Exchange {
        phase: Phase::Steps,
        title: format!("tools/call {}", calls.callees[made.tool].name),
        tool: Some(calls.callees[made.tool].name.clone()),
        sent: beginning(&made.arguments.to_string(), SHOWN),
        received: answered.map_or_else(|_| String::new(), |reply| beginning(&reply.message.to_string(), SHOWN)),
        frame,
        answer_frame,
        elapsed_us: u64::try_from(elapsed.as_micros()).unwrap_or(u64::MAX),
    }
}

/// Says a few calls to a fresh server, and returns the last answer.
pub(super) async fn last_answer(
    (context, calls): (&CheckContext<'_>, &Calls),
    said: &[&Made],
    wait: Duration,
) -> Option<SessionReply> {
    let session = context.servers.open().await.ok()?;
    let speaker = Speaker::new(context, &session, wait);
    let mut last = None;
    for made in said {
        last = speaker.call(calls, made).await.ok();
    }
    end(context, session).await;
    last
}

/// Ends a session whose end says nothing.
pub(super) async fn end(context: &CheckContext<'_>, session: Session) {
    session.mark_exit_reported();
    context.servers.close(session).await;
}

/// Asks whether a server still answers anything.
pub(super) async fn is_alive(session: &Session, owner: &str, wait: Duration) -> bool {
    Speaker { session, owner, wait }.alive().await.is_ok()
}

/// Makes calls one after another.
pub(super) struct Speaker<'a> {
    session: &'a Session,
    owner: &'a str,
    wait: Duration,
}

impl<'a> Speaker<'a> {
    /// Waits so long for each answer.
    pub(super) fn new(context: &CheckContext<'a>, session: &'a Session, wait: Duration) -> Self {
        Self { session, owner: context.owner, wait }
    }

    pub(super) async fn call(&self, calls: &Calls, made: &Made) -> Result<SessionReply, CallFailure> {
        let params = Some(calls.told(made).params);
        let timeout = Some(self.wait);
        let request = SessionRequest { owner: self.owner, method: "tools/call", params, timeout, progress: false };
        self.session.request(request).await
    }

    async fn alive(&self) -> Result<(), CallFailure> {
        let method = match self.session.server.revision.era() {
            Era::Session => "ping",
            Era::Stateless => "server/discover",
        };
        let request =
            SessionRequest { owner: self.owner, method, params: None, timeout: Some(self.wait), progress: false };
        match self.session.request(request).await {
            // A server that does not know the method is alive.
            Ok(_) => Ok(()),
            Err(failure) if matches!(failure.reason, FailureReason::Http(_)) && failure.alive => Ok(()),
            Err(failure) => Err(failure),
        }
    }

    /// The rules of the protocol that were broken meanwhile.
    fn broken(&self) -> Vec<Problem> {
        let violations = self.session.take_all_violations();
        if violations.is_empty() {
            return Vec::new();
        }
        let frames = self.session.frames();
        violations
            .iter()
            .map(|owned| {
                let frame = frames.iter().find(|frame| frame.seq == owned.violation.frame);
                let line = frame.map(|frame| frame.bytes.clone()).unwrap_or_default();
                let told = ReceivedLine { line, frame: owned.violation.frame, violations: Vec::new(), beyond: None };
                problem::broken(&owned.violation, &told)
            })
            .collect()
    }
}
