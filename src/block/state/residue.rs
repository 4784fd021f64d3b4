//! Calls that end without effect, refused or cancelled: everything that reading shows must be as it was before.
//!
//! Answers are compared only if two reads in a row are alike, and a tool is judged only if a valid call of it changes an
//! answer: otherwise nothing that it leaves behind could be seen.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

use super::StateSettings;
use super::caller::{Callers, CanaryCaller, visit};
use super::finding::around;
use super::verdict::names;
use crate::check::canary::Canaries;
use crate::check::visit::{ShownText, VisitRound};
use crate::event::{CheckResult, Exchange, Finding, Outcome, Reason, RequirementLevel, Severity};
use crate::plan::arguments::ConfigSource;
use crate::plan::{BoxFuture, Check, CheckContext, OpenServer};
use crate::session::{CancelSignal, CancelTrigger, Cancellation, Session, SessionRequest};
use crate::source::{beginning, duration_text};

/// How long a valid call takes at least that can be cancelled before it has its effect.
const SLOW: Duration = Duration::from_millis(200);

/// How many characters of an answer are shown.
const SHOWN: usize = 200;

/// How a call ends without effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CallEnding {
    /// The server refuses its arguments.
    Refused,
    /// The client takes it back.
    Cancelled,
}

impl CallEnding {
    pub(crate) const ALL: [Self; 2] = [Self::Refused, Self::Cancelled];

    /// The word in names of cases and in messages.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Refused => "refused",
            Self::Cancelled => "cancelled",
        }
    }

    /// The variant that its case judges.
    pub(crate) fn judges(self) -> &'static str {
        match self {
            Self::Refused => "STATE-LOST-UPDATE",
            Self::Cancelled => "TIMEOUT-CANCEL-IGNORED",
        }
    }
}

/// Makes calls that end without effect, and looks for one.
#[derive(Debug)]
pub(crate) struct ResidueCheck {
    pub(crate) settings: Arc<StateSettings>,
    pub(crate) ending: CallEnding,
}

impl Check for ResidueCheck {
    fn run<'a>(&'a self, context: CheckContext<'a>) -> BoxFuture<'a, CheckResult> {
        Box::pin(async move { run(self, &context).await })
    }
}

async fn run(check: &ResidueCheck, context: &CheckContext<'_>) -> CheckResult {
    let callers = Callers::of(context, &check.settings);
    let writers: Vec<&CanaryCaller> =
        callers.called.iter().filter(|caller| !caller.only_reads && !caller.is_shared).collect();
    if writers.is_empty() {
        return callers.without_writers(ConfigSource::of(context.suite));
    }
    let session = match context.servers.open(OpenServer::FRESH).await {
        Ok(session) => session,
        Err(found) => return CheckResult::unavailable(found),
    };
    let mut study = ResidueStudy {
        ending: check.ending,
        settings: &check.settings,
        callers: &callers.called,
        round: VisitRound::new(context, check.settings.time),
        canaries: Canaries::random(),
        judged: Vec::new(),
        unjudged: BTreeMap::new(),
        findings: Vec::new(),
        exchanges: Vec::new(),
    };
    for writer in writers {
        if let Err(why) = study.judge(&session, writer).await {
            study.unjudged.entry(why).or_default().push(writer.name.clone());
        }
    }
    let protocol_revision = session.server.revision.to_string();
    study.round.close(session).await;
    CheckResult { protocol_revision, ..study.result() }
}

/// The answers to reading requests, by request.
struct StateSnapshot(BTreeMap<String, ShownText>);

/// An answer that differs from the one before.
struct ResidueChange<'a> {
    request: &'a str,
    before: &'a ShownText,
    after: &'a ShownText,
}

impl StateSnapshot {
    fn change<'a>(&'a self, later: &'a Self) -> Option<ResidueChange<'a>> {
        self.0.iter().find_map(|(request, before)| {
            let after = later.0.get(request)?;
            (before.result() != after.result()).then_some(ResidueChange { request, before, after })
        })
    }

    /// Only those answers that another snapshot has, too.
    fn shared_with(mut self, other: &Self) -> Self {
        self.0.retain(|request, shown| other.0.get(request).is_some_and(|other| other.result() == shown.result()));
        self
    }
}

/// Why a tool is not judged.
type UnjudgedCall = &'static str;

/// The facts found out about the tools of a server.
struct ResidueStudy<'a> {
    ending: CallEnding,
    settings: &'a StateSettings,
    callers: &'a [CanaryCaller],
    round: VisitRound<'a>,
    canaries: Canaries,
    /// Tools whose calls left nothing.
    judged: Vec<String>,
    unjudged: BTreeMap<UnjudgedCall, Vec<String>>,
    findings: Vec<Finding>,
    exchanges: Vec<Exchange>,
}

impl ResidueStudy<'_> {
    async fn judge(&mut self, session: &Session, writer: &CanaryCaller) -> Result<(), UnjudgedCall> {
        let before = self.stable(session).await;
        let arguments = self.valid_arguments(writer);
        let begun = Instant::now();
        let served = self.round.call(session, &writer.name, &arguments).await.ok_or("no valid call was answered")?;
        let elapsed = begun.elapsed();
        if !served.is_served {
            return Err("the server refused a valid call");
        }
        let after = self.stable(session).await;
        if before.change(&after).is_none() {
            return Err("nothing that reading shows changes with a valid call");
        }
        match self.ending {
            CallEnding::Refused => self.refused(session, writer, after).await,
            CallEnding::Cancelled => self.cancelled(session, writer, after, elapsed).await,
        }
    }

    fn valid_arguments(&mut self, writer: &CanaryCaller) -> Value {
        let calls = writer.canary_calls(&mut self.canaries);
        calls.into_iter().next().map_or_else(|| writer.arguments.clone(), |call| call.arguments)
    }

    /// Makes every invalid call of a tool, and those that leave a change once more.
    async fn refused(
        &mut self,
        session: &Session,
        writer: &CanaryCaller,
        mut before: StateSnapshot,
    ) -> Result<(), UnjudgedCall> {
        let mut is_refused = false;
        for index in 0..writer.invalid_calls(&mut self.canaries).len() {
            let Some((call, after)) = self.refused_call(session, writer, index).await else { continue };
            is_refused = true;
            if let Some(change) = before.change(&after) {
                let then = self.stable(session).await;
                let again = self.refused_call(session, writer, index).await;
                let is_confirmed = again
                    .is_some_and(|(_, again)| then.0.contains_key(change.request) && then.change(&again).is_some());
                self.found(writer, &call, &change, is_confirmed);
                return Ok(());
            }
            before = self.stable(session).await;
        }
        if !is_refused {
            return Err("no call with invalid arguments was refused");
        }
        self.judged.push(writer.name.clone());
        Ok(())
    }

    /// A call with invalid arguments, and what reading shows after it; `None` where it was not refused.
    async fn refused_call(
        &mut self,
        session: &Session,
        writer: &CanaryCaller,
        index: usize,
    ) -> Option<(ShownText, StateSnapshot)> {
        let arguments = writer.invalid_calls(&mut self.canaries).into_iter().nth(index)?;
        let call = self.round.call(session, &writer.name, &arguments).await.filter(|call| !call.is_served)?;
        Some((call, self.snapshot(session).await))
    }

    /// Cancels a call of a tool long before it would be done, and once more if that leaves a change.
    async fn cancelled(
        &mut self,
        session: &Session,
        writer: &CanaryCaller,
        before: StateSnapshot,
        elapsed: Duration,
    ) -> Result<(), UnjudgedCall> {
        if elapsed < SLOW {
            return Err("a call is done too soon to be cancelled");
        }
        let (call, after) = self.cancelled_call(session, writer, elapsed).await?;
        if let Some(change) = before.change(&after) {
            let then = self.stable(session).await;
            let again = self.cancelled_call(session, writer, elapsed).await;
            let is_confirmed = again.is_ok_and(|(_, again)| then.change(&again).is_some());
            self.found(writer, &call, &change, is_confirmed);
        } else {
            self.judged.push(writer.name.clone());
        }
        Ok(())
    }

    /// A call that was cancelled, and what reading shows when it would have been done.
    async fn cancelled_call(
        &mut self,
        session: &Session,
        writer: &CanaryCaller,
        elapsed: Duration,
    ) -> Result<(ShownText, StateSnapshot), UnjudgedCall> {
        let arguments = self.valid_arguments(writer);
        let left = self.round.deadline.saturating_duration_since(Instant::now());
        let request = SessionRequest {
            owner: self.round.context.owner,
            method: "tools/call",
            params: Some(json!({"name": writer.name, "arguments": arguments})),
            timeout: Some(self.round.context.request_timeout.min(left)),
            progress: false,
        };
        let cancellation = Cancellation {
            request,
            trigger: CancelTrigger::After(elapsed / 4),
            signal: CancelSignal::Standard,
            reason: Some("the client does not need it any more".to_owned()),
            watch: (elapsed * 2).min(left),
        };
        let cancelled = session.cancel(cancellation).await.map_err(|_| "a cancelled call ended the session")?;
        if !cancelled.is_cancelled || !cancelled.late.is_empty() {
            return Err("a call was answered although it was cancelled");
        }
        let call = ShownText::cancelled(&writer.name, &arguments, &cancelled);
        Ok((call, self.snapshot(session).await))
    }

    /// The answers to reads, as far as they are the same twice.
    async fn stable(&mut self, session: &Session) -> StateSnapshot {
        let first = self.snapshot(session).await;
        let second = self.snapshot(session).await;
        second.shared_with(&first)
    }

    async fn snapshot(&mut self, session: &Session) -> StateSnapshot {
        let reads = |caller: &CanaryCaller| {
            if caller.only_reads { vec![caller.arguments.clone()] } else { Vec::new() }
        };
        let shown = visit(&mut self.round, session, self.callers, &reads).await;
        let served = shown.into_iter().filter(|shown| shown.is_served && !self.settings.shares(shown));
        StateSnapshot(served.filter_map(|shown| Some((shown.request_key()?, shown))).collect())
    }

    fn found(&mut self, writer: &CanaryCaller, call: &ShownText, change: &ResidueChange<'_>, is_confirmed: bool) {
        let ending = self.ending.as_str();
        let message = format!(
            "a call of `{}` that was {ending} left a change: {} differs from the one before",
            writer.name, change.after.place
        );
        let excerpt = |shown: &ShownText| match self.canaries.find(&shown.text).last() {
            Some(canary) if call.exchange.sent.contains(canary.as_str()) => around(&shown.text, canary),
            _ => beginning(&shown.result().to_string(), SHOWN),
        };
        let (before, after) = (excerpt(change.before), excerpt(change.after));
        self.exchanges.extend([call.exchange.clone(), change.after.exchange.clone()]);
        // The specification does not ask that work is undone which was done before the cancellation came.
        let is_certain = is_confirmed && self.ending == CallEnding::Refused;
        let help = match self.ending {
            CallEnding::Refused => {
                "check all arguments before anything is changed, or undo what was changed; if it is a log of calls, say \
                 `shared: [NAME]`"
            }
            CallEnding::Cancelled => "stop the work when a cancellation comes, and undo what it has changed",
        };
        let found = Finding {
            level: if is_certain { RequirementLevel::Must } else { RequirementLevel::Should },
            severity: Some(if is_certain { Severity::High } else { Severity::Low }),
            exchange: Some(self.exchanges.len() - 1),
            frame: change.after.exchange.answer_frame,
            help: Some(help.to_owned()),
            ..Finding::new("residue", message)
        };
        let reproduced = if is_confirmed { "by a second call" } else { "not by a second call, so it is a warning" };
        self.findings.push(
            found
                .with_evidence(ending, format!("{} {}", call.exchange.title, call.exchange.sent))
                .with_evidence("before", before)
                .with_evidence("after", after)
                .with_evidence("reproduced", reproduced),
        );
    }

    fn result(mut self) -> CheckResult {
        let result = CheckResult { frames: self.round.take_frames(), ..CheckResult::new(Outcome::Passed) };
        if !self.findings.is_empty() {
            let is_failure = self.findings.iter().any(|found| found.level == RequirementLevel::Must);
            let outcome = if is_failure { Outcome::Failed } else { Outcome::Warned };
            return CheckResult { outcome, findings: self.findings, exchanges: self.exchanges, ..result };
        }
        if let Some(exit) = self.round.exit() {
            return CheckResult { outcome: Outcome::Failed, findings: vec![exit], ..result };
        }
        let because = |outcome: Outcome, reason: Reason| CheckResult { outcome, reason: Some(reason), ..result };
        if self.round.is_over() {
            let limit = duration_text(self.settings.time);
            let why = format!("the time of {limit} ended before all tools were called; raise `time` or select `tools`");
            return because(Outcome::Inconclusive, Reason::NotEvaluated(why));
        }
        let unjudged: Vec<String> =
            self.unjudged.iter().map(|(why, tools)| format!("{} ({why})", names(tools))).collect();
        if self.judged.is_empty() {
            let why = format!("no {} call could be judged: {}", self.ending.as_str(), unjudged.join(", "));
            return because(Outcome::Skipped, Reason::NotApplicable(why));
        }
        let mut note = format!("{} calls left nothing behind: {}", self.ending.as_str(), names(&self.judged));
        if !unjudged.is_empty() {
            note.push_str("; not judged: ");
            note.push_str(&unjudged.join(", "));
        }
        because(Outcome::Passed, Reason::Measured(note))
    }
}
