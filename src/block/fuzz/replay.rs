//! Makes calls again on a fresh server, one after the other.

use std::time::Duration;

use super::calls::{CallGenerator, GeneratedCall};
use super::judge::judge;
use super::problem::{self, FuzzProblem};
use crate::check::{CheckEnd, CheckLimits, CheckSession};
use crate::event::{Exchange, Phase};
use crate::plan::CheckContext;
use crate::reproduce::Player;
use crate::session::{CallFailure, SessionReply};
use crate::source::beginning;

/// The number of characters of arguments and answers that are shown.
const SHOWN: usize = 600;

/// The means of a replay.
#[derive(Clone, Copy)]
pub(crate) struct FuzzTarget<'a> {
    pub(crate) context: &'a CheckContext<'a>,
    pub(crate) calls: &'a CallGenerator,
}

/// A problem that showed again.
pub(crate) struct Reproduced {
    /// The call at which it showed, as an index.
    pub(crate) at: usize,
    pub(crate) problem: FuzzProblem,
}

impl<'a> FuzzTarget<'a> {
    /// Makes calls on a fresh server until the problem shows. Fails where the server does not start.
    pub(crate) async fn replay(
        self,
        said: &[GeneratedCall],
        sought: &FuzzProblem,
        timeout: Duration,
    ) -> Result<Option<Reproduced>, CheckEnd> {
        let session = self.open().await?;
        let player = player(&session, timeout);
        // Violations of the handshake are reported elsewhere.
        session.session().take_all_violations();
        let mut reproduced = None;
        for (at, made) in said.iter().enumerate() {
            let answered = self.call(player, made).await;
            let mut problems = match &answered {
                Ok(reply) => judge(self.calls, made, &reply.message).problems,
                Err(failure) => vec![problem::of_failure(failure)],
            };
            // A crash right after the last answer belongs to it.
            if at + 1 == said.len() && answered.is_ok() {
                problems.extend(player.ping().await.err().as_ref().map(problem::of_failure));
            }
            problems.extend(player.take_violations().into_iter().map(FuzzProblem::violation));
            if let Some(problem) = problems.into_iter().find(|problem| problem.is_like(sought)) {
                let exchange = Some(exchange(self.calls, made, answered.as_ref()));
                reproduced = Some(Reproduced { at, problem: FuzzProblem { exchange, ..problem } });
                break;
            }
            if !session.session().is_open() {
                break;
            }
        }
        close(session).await;
        Ok(reproduced)
    }

    /// Starts a server.
    pub(crate) async fn open(self) -> Result<CheckSession<'a>, CheckEnd> {
        CheckSession::open(self.context, CheckLimits::none()).await
    }

    pub(crate) async fn call(self, player: Player<'_>, made: &GeneratedCall) -> Result<SessionReply, CallFailure> {
        player.request(&self.calls.reproduction(made)).await
    }
}

/// Makes requests in a session.
pub(crate) fn player<'a>(session: &'a CheckSession<'_>, timeout: Duration) -> Player<'a> {
    Player { session: session.session(), owner: session.owner(), timeout }
}

/// Closes a session whose end is not reported.
pub(crate) async fn close(session: CheckSession<'_>) {
    session.session().mark_exit_reported();
    session.close().await;
}

/// A call and its answer, long texts cut.
pub(crate) fn exchange(
    calls: &CallGenerator,
    made: &GeneratedCall,
    answered: Result<&SessionReply, &CallFailure>,
) -> Exchange {
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
