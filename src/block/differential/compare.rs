//! A server against a recorded one, and how one is recorded.
//!
//! Definitions are compared with what the server listed; answers are asked for again, each tool on a fresh server.
//! The module `drift` decides what a change means. Start reading in [`run`] and [`record`].

use std::sync::Arc;

use serde_json::{Value, json};

use super::finding::{finding, needless, summary};
use super::{Differential, IgnoredChange};
use crate::drift::{
    ChangeSubject, Recorded, RecordedAnswer, RecordedIdentity, RecordedOutcome as Came, ServerChange, compare_subject,
    stable_answer,
};
use crate::event::{CheckResult, Finding, Outcome, Reason};
use crate::plan::{BoxFuture, Check, CheckContext, CloseServer, OpenServer};
use crate::session::{Session, SessionRequest};

/// A comparison of one part of the server.
#[derive(Debug)]
pub(crate) struct DriftCheck {
    pub(crate) settings: Arc<Differential>,
    /// The recorded server.
    pub(crate) recorded: Arc<Recorded>,
    pub(crate) subject: ChangeSubject,
}

impl Check for DriftCheck {
    fn run<'a>(&'a self, context: CheckContext<'a>) -> BoxFuture<'a, CheckResult> {
        Box::pin(async move { run(self, &context).await })
    }

    fn sends(&self) -> bool {
        matches!(self.subject, ChangeSubject::Answers(_))
    }
}

async fn run(check: &DriftCheck, context: &CheckContext<'_>) -> CheckResult {
    let DriftCheck { settings, recorded, subject } = check;
    let Some(mut now) = offered(context, &recorded.name, &recorded.protocol) else {
        return CheckResult::because(Outcome::Errored, Reason::NothingToCompare);
    };
    let mut result = CheckResult::new(Outcome::Passed);
    if let ChangeSubject::Answers(tool) = subject {
        match answers(context, tool, recorded, &mut result).await {
            Ok(answers) => now.answers = answers,
            Err(found) => {
                let outcome = if found.class.is_some() { Outcome::Failed } else { Outcome::Errored };
                return CheckResult { outcome, reason: None, findings: vec![found], ..result };
            }
        }
    }
    let now = now.neutral(context.neutral);
    let idle = if *subject == ChangeSubject::Server { idle(settings, recorded, &now, context) } else { Vec::new() };
    let result = verdict(settings, compare_subject(subject, recorded, &now), idle, result);
    let ChangeSubject::Answers(tool) = subject else { return result };
    if result.outcome != Outcome::Passed || is_served(tool, recorded) || is_served(tool, &now) {
        return result;
    }
    let reason = Some(Reason::NoRecordedCallServed(tool.clone()));
    CheckResult { outcome: Outcome::Inconclusive, reason, ..result }
}

/// Whether a tool served a call.
fn is_served(tool: &str, recorded: &Recorded) -> bool {
    let mut answers = recorded.answers.iter().filter(|answer| answer.tool == tool);
    answers.any(|answer| answer.outcome == Came::Served)
}

/// Reports the entries of `ignore` that fit no change, since they could hide a later one. With several servers or
/// revisions none is reported, since the change may occur on another. When calls are replayed, entries that may be
/// about answers are left out, since not all answers are known here.
fn idle(settings: &Differential, recorded: &Recorded, now: &Recorded, context: &CheckContext<'_>) -> Vec<Finding> {
    if context.suite.servers.len() != 1 || context.suite.servers.values().any(|server| server.protocol.len() != 1) {
        return Vec::new();
    }
    let defined =
        ChangeSubject::of(recorded, now).into_iter().filter(|subject| !matches!(subject, ChangeSubject::Answers(_)));
    let changes: Vec<ServerChange> = defined.flat_map(|subject| compare_subject(&subject, recorded, now)).collect();
    let asks = |ignored: &&IgnoredChange| !settings.replay_calls || !ignored.may_be_of_answers();
    let idle = settings.ignore.iter().filter(asks);
    idle.filter(|ignored| !changes.iter().any(|change| ignored.is_about(change)))
        .map(|ignored| needless(ignored, &changes))
        .collect()
}

/// The server as it is, without answers.
pub(crate) fn offered(context: &CheckContext<'_>, name: &str, protocol: &str) -> Option<Recorded> {
    let said = context.server?;
    let identity = RecordedIdentity::of(&said.result, said.revision.as_str());
    Some(Recorded::without_calls(name, protocol, identity, context.catalog))
}

/// The tool's answers to the recorded calls.
async fn answers(
    context: &CheckContext<'_>,
    tool: &str,
    recorded: &Recorded,
    result: &mut CheckResult,
) -> Result<Vec<RecordedAnswer>, Finding> {
    let session = context.servers.open(OpenServer::FRESH).await?;
    result.protocol_revision = session.server.revision.to_string();
    let mut answers = Vec::new();
    let mut broken = None;
    for known in recorded.answers.iter().filter(|answer| answer.tool == tool) {
        match ask(context, &session, tool, &sent(context, tool, &known.arguments), &mut result.frames).await {
            Ok((outcome, told)) => answers.push(RecordedAnswer {
                tool: tool.to_owned(),
                arguments: known.arguments.clone(),
                outcome,
                told,
                volatile: Vec::new(),
            }),
            Err(found) => {
                broken = Some(found);
                break;
            }
        }
    }
    let ended = context.servers.close(&session, CloseServer::AfterTeardown).await.exit;
    match broken.or(ended) {
        Some(found) => Err(found),
        None => Ok(answers),
    }
}

/// The arguments of a recorded call with what was taken out of them.
pub(crate) fn sent(context: &CheckContext<'_>, tool: &str, recorded: &Value) -> Value {
    let written = given(context, tool).filter(|given| (context.neutral)(given.clone()) == *recorded);
    written.unwrap_or_else(|| recorded.clone())
}

/// The arguments that the suite has for a tool.
fn given(context: &CheckContext<'_>, tool: &str) -> Option<Value> {
    (context.filled)(context.suite.arguments.get(tool)?)
}

/// Makes one call.
pub(crate) async fn ask(
    context: &CheckContext<'_>,
    session: &Session,
    tool: &str,
    arguments: &Value,
    frames: &mut Vec<u32>,
) -> Result<(Came, Value), Finding> {
    let params = Some(json!({"name": tool, "arguments": arguments}));
    let timeout = Some(context.request_timeout);
    let request = SessionRequest { owner: context.owner, method: "tools/call", params, timeout, progress: false };
    let reply = session.request(request).await.map_err(|failure| Finding::from(&failure))?;
    frames.extend([reply.frame, reply.answer_frame]);
    let message = (context.neutral)((*reply.message).clone());
    stable_answer(&message)
        .ok_or_else(|| Finding::new("protocol-error", "the answer has neither a result nor an error"))
}

fn verdict(
    settings: &Differential,
    changes: Vec<ServerChange>,
    idle: Vec<Finding>,
    result: CheckResult,
) -> CheckResult {
    let is_meant = |change: &ServerChange| settings.ignore.iter().any(|ignored| ignored.is_about(change));
    let (meant, changes): (Vec<_>, Vec<_>) = changes.into_iter().partition(is_meant);
    let (bad, mild): (Vec<_>, Vec<_>) = changes.into_iter().partition(|change| change.level >= settings.fail_on);
    let outcome = match (bad.is_empty(), idle.is_empty()) {
        (true, true) => Outcome::Passed,
        (true, false) => Outcome::Warned,
        (false, _) => Outcome::Failed,
    };
    let findings = bad.iter().map(|change| finding(change, &settings.file)).chain(idle).collect();
    CheckResult { outcome, reason: summary(&mild, &meant), findings, ..result }
}
