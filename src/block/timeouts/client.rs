//! The session of a check, and its requests: every one ends within the time of the check, whatever the server does.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

use super::TimeoutSettings;
use super::slow_call::QuickCall;
use crate::event::{CheckResult, Finding, Outcome, RequirementLevel};
use crate::plan::{CheckContext, CloseServer, OpenServer};
use crate::session::{CallFailure, FailureReason, Session, SessionReply, SessionRequest};
use crate::source::duration_text;
use crate::wire::Era;

/// A session, and the time that is left for it.
pub(crate) struct SlowCallClient<'a> {
    pub(crate) context: &'a CheckContext<'a>,
    pub(crate) session: Session,
    deadline: Instant,
    max_time: Duration,
}

/// Why a check cannot go on.
pub(crate) enum Stuck {
    /// The server is gone, or gave no answer that can be read.
    Failed(Box<CallFailure>),
    /// The time of the check is over.
    OutOfTime,
}

impl<'a> SlowCallClient<'a> {
    /// Starts a server; the result is that of a check without one.
    pub(crate) async fn open(
        context: &'a CheckContext<'a>,
        settings: &TimeoutSettings,
    ) -> Result<Self, Box<CheckResult>> {
        let session =
            context.servers.open(OpenServer::FRESH).await.map_err(|found| Box::new(CheckResult::unavailable(found)))?;
        let (deadline, max_time) = (Instant::now() + settings.max_time, settings.max_time);
        Ok(Self { context, session, deadline, max_time })
    }

    pub(crate) fn left(&self) -> Duration {
        self.deadline.saturating_duration_since(Instant::now())
    }

    /// The request that shows that the server goes on.
    pub(crate) fn sign_of_life(&self) -> &'static str {
        match self.session.server.revision.era() {
            Era::Session => "ping",
            Era::Stateless => "server/discover",
        }
    }

    /// Calls a tool; asks for progress where the server is to report it.
    pub(crate) async fn call(&self, params: &Value, limit: Duration, progress: bool) -> Result<SessionReply, Stuck> {
        let request = SessionRequest {
            owner: self.context.owner,
            method: "tools/call",
            params: Some(params.clone()),
            timeout: Some(limit.min(self.left())),
            progress,
        };
        self.session.request(request).await.map_err(|failure| self.stuck(failure))
    }

    /// Makes a request without parameters.
    pub(crate) async fn ask(&self, method: &str, limit: Duration) -> Result<SessionReply, Stuck> {
        let timeout = Some(limit.min(self.left()));
        let request = SessionRequest { owner: self.context.owner, method, params: None, timeout, progress: false };
        self.session.request(request).await.map_err(|failure| self.stuck(failure))
    }

    /// Shows that the server goes on, within that time: it answers a sign of life, and serves a quick call.
    pub(crate) async fn goes_on(&self, quick: Option<&QuickCall>, limit: Duration) -> Result<Recovery, Stuck> {
        let alive = self.ask(self.sign_of_life(), limit).await?;
        let Some(quick) = quick else { return Ok(Recovery::Served(alive.answer_frame)) };
        let reply = self.call(&quick.params, limit, false).await?;
        if reply.is_served() {
            return Ok(Recovery::Served(reply.answer_frame));
        }
        // A tool may fail once.
        let again = self.call(&quick.params, limit, false).await?;
        let is_served = again.is_served();
        Ok(if is_served { Recovery::Served(again.answer_frame) } else { Recovery::Refused(Box::new(again)) })
    }

    /// Waits for so long, or until the time of the check is over.
    pub(crate) async fn wait(&self, time: Duration) {
        tokio::time::sleep(time.min(self.left())).await;
    }

    pub(crate) fn stuck(&self, failure: CallFailure) -> Stuck {
        let is_late = matches!(failure.reason, FailureReason::Timeout(_)) && self.left().is_zero();
        if is_late { Stuck::OutOfTime } else { Stuck::Failed(Box::new(failure)) }
    }

    /// The result of a check that cannot go on.
    pub(crate) fn stuck_result(&self, stuck: &Stuck) -> CheckResult {
        match stuck {
            Stuck::Failed(failure) => CheckResult {
                frames: failure.frame.into_iter().collect(),
                ..CheckResult::found(Outcome::Failed, vec![Finding::from(&**failure)])
            },
            Stuck::OutOfTime => CheckResult::inconclusive(format!(
                "the check took longer than {}; raise `max_time`, or give `slow_tool` arguments with which it takes a \
                 second or two",
                duration_text(self.max_time)
            )),
        }
    }

    /// Ends the session; a server that had ended by itself fails the check.
    pub(crate) async fn close(self, result: CheckResult) -> CheckResult {
        let protocol_revision = self.session.server.revision.to_string();
        if result.outcome == Outcome::Failed {
            self.session.mark_exit_reported();
        }
        match self.context.servers.close(&self.session, CloseServer::AfterTeardown).await.exit {
            Some(found) => CheckResult { protocol_revision, ..CheckResult::found(Outcome::Failed, vec![found]) },
            None => CheckResult { protocol_revision, ..result },
        }
    }
}

/// A server's answer to a call after a cancellation.
pub(crate) enum Recovery {
    /// The last answer shows that it goes on.
    Served(u32),
    /// It no longer serves what it served before.
    Refused(Box<SessionReply>),
}

/// The parameters of a call.
pub(crate) fn call_params(tool: &str, arguments: &Value) -> Value {
    json!({"name": tool, "arguments": arguments})
}

/// The outcome of findings: a warning, unless one of them fails.
pub(crate) fn outcome_of(findings: &[Finding]) -> Outcome {
    let fails = |found: &Finding| found.level == RequirementLevel::Must;
    if findings.iter().any(fails) { Outcome::Failed } else { Outcome::Warned }
}
