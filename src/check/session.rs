//! A session of a check: every request ends within the limits of the check, whatever the server does.

use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use super::end::{goes_on, with_exit};
use super::{CheckEnd, CheckLimits};
use crate::event::{CheckResult, Finding, Outcome, Reason};
use crate::plan::{CheckContext, CloseServer, OpenServer};
use crate::session::{AwaitedAnswers, CallFailure, RawMessage, Session, SessionReply, SessionRequest};
use crate::transport::Owner;
use crate::wire::ListKind;

/// A session with a fresh server, or another one with the same server, and the check to which it belongs.
pub(crate) struct CheckSession<'a> {
    pub(crate) context: &'a CheckContext<'a>,
    caller: SessionCaller,
}

/// Makes the requests of a session. Clones share the session and its limits, so that tasks can call at once.
#[derive(Debug, Clone)]
pub(crate) struct SessionCaller {
    session: Arc<Session>,
    owner: Owner,
    request_timeout: Duration,
    limits: CheckLimits,
}

/// A request of a check.
#[derive(Debug)]
pub(crate) struct CheckRequest<'a> {
    pub(crate) method: &'a str,
    /// The parameters; null for none.
    pub(crate) params: Value,
    /// The time for the answer; that of the suite without one.
    pub(crate) timeout: Option<Duration>,
    pub(crate) progress: ProgressToken,
}

/// The server reports progress only to requests with a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ProgressToken {
    Sent,
    Absent,
}

impl<'a> CheckRequest<'a> {
    pub(crate) fn new(method: &'a str, params: Value) -> Self {
        Self { method, params, timeout: None, progress: ProgressToken::Absent }
    }

    pub(crate) fn call(tool: &str, arguments: &Value) -> Self {
        Self::new("tools/call", call_params(tool, arguments))
    }

    pub(crate) fn within(self, timeout: Duration) -> Self {
        Self { timeout: Some(timeout), ..self }
    }

    pub(crate) fn with_progress(self) -> Self {
        Self { progress: ProgressToken::Sent, ..self }
    }
}

/// The parameters of a call.
pub(crate) fn call_params(tool: &str, arguments: &Value) -> Value {
    json!({"name": tool, "arguments": arguments})
}

impl<'a> CheckSession<'a> {
    /// Starts a server.
    pub(crate) async fn open(context: &'a CheckContext<'a>, limits: CheckLimits) -> Result<Self, CheckEnd> {
        let opened = context.servers.open(OpenServer::FRESH).await;
        let session = opened.map_err(|found| CheckEnd::Unavailable(Box::new(found)))?;
        Ok(Self::of(session, context, limits))
    }

    /// Takes over a session that was opened in another way.
    pub(crate) fn of(session: Session, context: &'a CheckContext<'a>, limits: CheckLimits) -> Self {
        let (owner, request_timeout) = (context.owner.clone(), context.request_timeout);
        Self { context, caller: SessionCaller { session: Arc::new(session), owner, request_timeout, limits } }
    }

    /// Opens another session with the same server; `None` if the server can have one session only.
    pub(crate) async fn open_beside(&self) -> Option<Self> {
        let session = self.context.servers.open(OpenServer::of(&self.session)).await.ok()?;
        Some(Self::of(session, self.context, self.limits.clone()))
    }

    /// An owned handle for tasks.
    pub(crate) fn caller(&self) -> SessionCaller {
        self.caller.clone()
    }

    /// Ends the session, and its server where that is its own; the finding tells of a server that had ended by itself.
    pub(crate) async fn close(self) -> Option<Finding> {
        self.context.servers.close(&self.session, CloseServer::AfterTeardown).await.exit
    }

    /// Ends the session with the result of a check: a server that had ended by itself fails it, unless it failed already.
    pub(crate) async fn close_with(self, result: CheckResult) -> CheckResult {
        let protocol_revision = self.revision();
        if result.outcome == Outcome::Failed {
            self.session.mark_exit_reported();
        }
        CheckResult { protocol_revision, ..with_exit(result, self.close().await) }
    }
}

impl Deref for CheckSession<'_> {
    type Target = SessionCaller;

    fn deref(&self) -> &SessionCaller {
        &self.caller
    }
}

impl SessionCaller {
    pub(crate) fn session(&self) -> &Session {
        &self.session
    }

    pub(crate) fn owner(&self) -> &Owner {
        &self.owner
    }

    pub(crate) fn limits(&self) -> &CheckLimits {
        &self.limits
    }

    pub(crate) fn revision(&self) -> String {
        self.session.server.revision.to_string()
    }

    /// The time for a request: that of the suite, within the limits of the check.
    pub(crate) fn request_timeout(&self) -> Duration {
        self.request_timeout.min(self.limits.remaining())
    }

    /// The time for a request whose silence is evidence, so that it is not cut short.
    pub(crate) fn whole_request_timeout(&self) -> Result<Duration, CheckEnd> {
        if self.limits.remaining() < self.request_timeout {
            Err(self.limits.out_of_time())
        } else {
            Ok(self.request_timeout)
        }
    }

    /// Makes a request, and waits for its answer.
    pub(crate) async fn request(&self, request: CheckRequest<'_>) -> Result<SessionReply, CheckEnd> {
        self.spend_on(&request)?;
        self.send(request).await.map_err(|failure| self.end_of(failure))
    }

    /// Counts a request that is about to be made; `Err` if there is no time for it, or nobody needs to wait for its tool.
    fn spend_on(&self, request: &CheckRequest<'_>) -> Result<(), CheckEnd> {
        self.limits.spend(1)?;
        let tool = request.params["name"].as_str().filter(|_| request.method == "tools/call");
        match tool.and_then(|tool| Some((tool, self.session.in_vain(tool, &self.owner, || true)?))) {
            Some((tool, why)) => Err(CheckEnd::Inconclusive(Reason::in_vain(tool, why))),
            None => Ok(()),
        }
    }

    /// Makes a request; `None` if its answer cannot be read and the server goes on.
    pub(crate) async fn try_request(&self, request: CheckRequest<'_>) -> Result<Option<SessionReply>, CheckEnd> {
        self.spend_on(&request)?;
        self.or_go_on(self.send(request).await)
    }

    /// A message of one line that is answered by a response with this id.
    pub(crate) fn raw_line(&self, id: Value, line: Vec<u8>, timeout: Duration) -> RawMessage<'_> {
        RawMessage {
            owner: &self.owner,
            pieces: vec![[line.as_slice(), b"\n"].concat()],
            lines: vec![line],
            awaited: AwaitedAnswers::Ids(vec![id]),
            timeout: Some(timeout),
            watch: Duration::ZERO,
        }
    }

    /// Makes a request of which the failure itself is looked at. Counts as no call.
    pub(crate) async fn send(&self, request: CheckRequest<'_>) -> Result<SessionReply, CallFailure> {
        let CheckRequest { method, params, timeout, progress } = request;
        let timeout = timeout.unwrap_or(self.request_timeout).min(self.limits.remaining());
        let request = SessionRequest {
            owner: &self.owner,
            method,
            params: (!params.is_null()).then_some(params),
            timeout: Some(timeout),
            progress: progress == ProgressToken::Sent,
        };
        self.session.request(request).await
    }

    /// The request that any server of its era answers.
    pub(crate) fn sign_of_life(&self) -> &'static str {
        self.session.sign_of_life()
    }

    /// Makes the request that any server of its era answers.
    pub(crate) async fn ping(&self, timeout: Duration) -> Result<SessionReply, CheckEnd> {
        self.request(CheckRequest::new(self.sign_of_life(), Value::Null).within(timeout)).await
    }

    /// The server says in its handshake that it has such a list.
    pub(crate) fn offers(&self, kind: ListKind) -> bool {
        self.session.server.capabilities.get(kind.capability()).is_some_and(|declared| !declared.is_null())
    }

    /// Waits for so long, or until the time of the check is over.
    pub(crate) async fn wait(&self, time: Duration) {
        self.limits.wait(time).await;
    }

    pub(crate) fn remaining(&self) -> Duration {
        self.limits.remaining()
    }

    pub(crate) fn end_of(&self, failure: CallFailure) -> CheckEnd {
        CheckEnd::of(failure, self.limits.remaining(), || self.limits.out_of_time())
    }

    fn or_go_on<R>(&self, answered: Result<R, CallFailure>) -> Result<Option<R>, CheckEnd> {
        answered.map(Some).or_else(|failure| {
            let end = end_or_go_on(failure, self.session.is_open(), &self.limits);
            end.map_or(Ok(None), Err)
        })
    }
}

/// The end of a check whose request failed; `None` if it may go on with others.
fn end_or_go_on(failure: CallFailure, is_open: bool, limits: &CheckLimits) -> Option<CheckEnd> {
    match limits.end_if_over() {
        Some(spent) => Some(spent),
        None if goes_on(&failure.reason, is_open) => None,
        None => Some(CheckEnd::Unanswered(Box::new(failure))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::failure_of_test;
    use crate::session::FailureReason;
    use crate::transport::ServerExit;

    #[tokio::test(start_paused = true)]
    async fn a_check_goes_on_after_an_answer_that_cannot_be_read() {
        let late = || FailureReason::Timeout(Duration::from_secs(1));
        let torn = || FailureReason::Protocol("no JSON".to_owned());
        for (server, reason, is_open, left, expected) in [
            ("answers no JSON", torn(), true, 9, None),
            ("answers no JSON and goes away", torn(), false, 9, Some(Outcome::Failed)),
            ("answers nothing", late(), true, 9, Some(Outcome::Failed)),
            ("ends", FailureReason::Exited(ServerExit::Status(3)), false, 9, Some(Outcome::Failed)),
            // Nobody knows what it would have answered with more time.
            ("answers nothing at the end of the time", late(), true, 0, Some(Outcome::Inconclusive)),
            (
                "ends at the end of the time",
                FailureReason::Exited(ServerExit::Status(3)),
                false,
                0,
                Some(Outcome::Inconclusive),
            ),
        ] {
            let limits = CheckLimits::new(Duration::from_secs(left), "raise `time`");
            let end = end_or_go_on(failure_of_test(reason), is_open, &limits);
            assert_eq!(end.map(|end| end.into_result().outcome), expected, "a server that {server}");
        }
    }
}
