//! Steps of the suite in sessions of a check.

use super::{CheckEnd, CheckLimits, CheckLog};
use crate::event::{CheckResult, Finding};
use crate::plan::{CheckContext, OpenServer, StepOutcome};
use crate::session::Session;
use crate::source::template::Names;
use crate::suite::Step;

/// A check that does steps of the suite, in one session after another.
pub(crate) struct StepRun<'a> {
    pub(crate) context: &'a CheckContext<'a>,
    pub(crate) limits: CheckLimits,
    pub(crate) log: CheckLog,
}

/// A step that was done.
pub(crate) struct DoneStep {
    /// The index of its exchange in the log.
    pub(crate) exchange: usize,
    pub(crate) outcome: StepOutcome,
}

impl<'a> StepRun<'a> {
    pub(crate) fn new(context: &'a CheckContext<'a>, limits: CheckLimits) -> Self {
        Self { context, limits, log: CheckLog::default() }
    }

    /// Opens a session; the finding says why there is none.
    pub(crate) async fn open(&mut self, request: OpenServer<'_>) -> Result<Session, Finding> {
        let session = self.context.servers.open(request).await?;
        self.log.protocol_revision = session.server.revision.to_string();
        Ok(session)
    }

    /// Does a step; `Err` if the limits leave none.
    pub(crate) async fn step(&mut self, session: &Session, step: &Step, names: &Names) -> Result<DoneStep, CheckEnd> {
        self.limits.spend(1)?;
        let outcome = self.context.steps.run(session, step, names).await;
        Ok(DoneStep { exchange: self.log.add(outcome.exchange.clone()), outcome })
    }

    /// The result with everything that was exchanged.
    pub(crate) fn into_result(self, verdict: Result<CheckResult, CheckEnd>) -> CheckResult {
        self.log.attach(verdict.unwrap_or_else(CheckEnd::into_result))
    }
}
