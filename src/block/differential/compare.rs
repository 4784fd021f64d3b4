//! A server against a recorded one, and how one is recorded.
//!
//! Definitions are compared with what the server listed; answers are asked for again, each tool on a fresh server.
//! The module `drift` decides what a change means. Start reading in [`run`] and [`record`].

use std::sync::Arc;

use serde_json::Value;

use super::finding::{finding, needless, summary};
use super::{Differential, IgnoredChange};
use crate::check::{CheckEnd, CheckLimits, CheckRequest, CheckSession};
use crate::drift::{
    ChangeSubject, Recorded, RecordedAnswer, RecordedIdentity, RecordedOutcome as Came, ServerChange, compare_subject,
    stable_answer,
};
use crate::event::{CheckResult, Finding, Outcome, Reason};
use crate::plan::arguments::valid_arguments;
use crate::plan::{BoxFuture, Check, CheckContext};

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
    let Some(mut now) = record_without_calls(context, &recorded.name, &recorded.protocol) else {
        return CheckResult::because(Outcome::Errored, Reason::NothingToCompare);
    };
    let mut result = CheckResult::new(Outcome::Passed);
    if let ChangeSubject::Answers(tool) = subject {
        match answers(context, tool, recorded, &mut result).await {
            Ok(answers) => now.answers = answers,
            Err(end) => {
                let CheckResult { outcome, reason, findings, frames, .. } = end.into_result();
                result.frames.extend(frames);
                return CheckResult { outcome, reason, findings, ..result };
            }
        }
    }
    let now = now.neutral(&|value| context.machine.neutral(value));
    let idle = if *subject == ChangeSubject::Server { idle(settings, recorded, &now, context) } else { Vec::new() };
    let result = verdict(settings, compare_subject(subject, recorded, &now), idle, result);
    let ChangeSubject::Answers(tool) = subject else { return result };
    if is_served(tool, recorded) || is_served(tool, &now) { result } else { without_proof(tool, result) }
}

/// The result for a tool that served no call, neither then nor now: equal refusals prove nothing.
fn without_proof(tool: &str, result: CheckResult) -> CheckResult {
    if result.outcome != Outcome::Passed {
        return result;
    }
    let reason = Some(Reason::NoRecordedCallServed(tool.to_owned()));
    CheckResult { outcome: Outcome::Inconclusive, reason, ..result }
}

/// The tool served a call.
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
    needless_entries(settings, recorded, now)
}

/// The entries of `ignore` that fit no change of a server.
fn needless_entries(settings: &Differential, recorded: &Recorded, now: &Recorded) -> Vec<Finding> {
    let defined =
        ChangeSubject::of(recorded, now).into_iter().filter(|subject| !matches!(subject, ChangeSubject::Answers(_)));
    let changes: Vec<ServerChange> = defined.flat_map(|subject| compare_subject(&subject, recorded, now)).collect();
    idle_entries(settings, &changes)
}

/// The entries of `ignore` that fit none of the changes of what a server lists.
pub(crate) fn idle_entries(settings: &Differential, changes: &[ServerChange]) -> Vec<Finding> {
    let asks = |ignored: &&IgnoredChange| !settings.compares_calls || !ignored.may_be_of_answers();
    let idle = settings.ignore.iter().filter(asks);
    idle.filter(|ignored| !changes.iter().any(|change| ignored.is_about(change)))
        .map(|ignored| needless(ignored, changes))
        .collect()
}

/// The server as it is, without answers.
pub(crate) fn record_without_calls(context: &CheckContext<'_>, name: &str, protocol: &str) -> Option<Recorded> {
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
) -> Result<Vec<RecordedAnswer>, CheckEnd> {
    let session = CheckSession::open(context, CheckLimits::none()).await?;
    result.protocol_revision = session.revision();
    let calls = recorded.answers.iter().filter(|answer| answer.tool == tool).map(|answer| &answer.arguments);
    let answered = answers_in(&session, tool, calls, &mut result.frames).await;
    let exit = session.close().await;
    let answers = answered?;
    exit.map_or(Ok(answers), |found| Err(CheckEnd::failed(found)))
}

async fn answers_in(
    session: &CheckSession<'_>,
    tool: &str,
    calls: impl Iterator<Item = &Value>,
    frames: &mut Vec<u32>,
) -> Result<Vec<RecordedAnswer>, CheckEnd> {
    let mut answers = Vec::new();
    for recorded in calls {
        let (outcome, told) = ask(session, tool, &filled_arguments(session.context, tool, recorded), frames).await?;
        let (tool, arguments, volatile) = (tool.to_owned(), recorded.clone(), Vec::new());
        answers.push(RecordedAnswer { tool, arguments, outcome, told, volatile });
    }
    Ok(answers)
}

/// The arguments of a recorded call with what was taken out of them.
pub(crate) fn filled_arguments(context: &CheckContext<'_>, tool: &str, recorded: &Value) -> Value {
    let known = [suite_arguments(context, tool), served_arguments(context, tool)].into_iter().flatten();
    let written = { known }.find(|known| context.machine.neutral(known.clone()) == *recorded);
    written.unwrap_or_else(|| recorded.clone())
}

/// The arguments with which a tool is called where nobody says any.
fn served_arguments(context: &CheckContext<'_>, tool: &str) -> Option<Value> {
    context.fill(&valid_arguments(context.suite, context.server_name, context.catalog.tool(tool)?).ok()?)
}

/// The arguments that the suite has for a tool.
fn suite_arguments(context: &CheckContext<'_>, tool: &str) -> Option<Value> {
    context.fill(context.suite.arguments.get(tool)?)
}

/// Makes one call.
pub(crate) async fn ask(
    session: &CheckSession<'_>,
    tool: &str,
    arguments: &Value,
    frames: &mut Vec<u32>,
) -> Result<(Came, Value), CheckEnd> {
    let message = request_call(session, tool, arguments, frames).await?;
    let no_answer = || Finding::new("protocol-error", "the answer has neither a result nor an error");
    stable_answer(&message).ok_or_else(|| CheckEnd::failed(no_answer()))
}

/// The whole answer to a call, without what belongs to this machine.
pub(crate) async fn request_call(
    session: &CheckSession<'_>,
    tool: &str,
    arguments: &Value,
    frames: &mut Vec<u32>,
) -> Result<Value, CheckEnd> {
    let reply = session.request(CheckRequest::call(tool, arguments)).await?;
    frames.extend([reply.frame, reply.answer_frame]);
    Ok(session.context.machine.neutral((*reply.message).clone()))
}

pub(crate) fn verdict(
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
    let findings = bad.iter().map(|change| finding(change, &settings.other)).chain(idle).collect();
    CheckResult { outcome, reason: summary(&mild, &meant), findings, ..result }
}

#[cfg(test)]
mod tests {
    use super::super::Other;
    use super::*;
    use crate::drift::{ChangeLevel, ServerSnapshot};
    use crate::suite::ToolSelection;

    fn settings(fail_on: ChangeLevel) -> Differential {
        Differential {
            other: Other::Recorded {
                file: "recorded.json".to_owned(),
                snapshot: Arc::new(ServerSnapshot { format: 1, servers: Vec::new() }),
            },
            fail_on,
            compares_calls: true,
            tools: ToolSelection::All,
            ignore: vec![IgnoredChange {
                at: None,
                what: Some("tool-added".to_owned()),
                reason: "it is new".to_owned(),
            }],
        }
    }

    fn change(level: ChangeLevel, what: &'static str) -> ServerChange {
        let (at, says) = ("tools/add".to_owned(), "it differs".to_owned());
        ServerChange { level, what, at, before: None, after: None, says, help: None, example: None }
    }

    #[test]
    fn changes_fail_from_a_level_on_unless_they_are_meant() {
        use ChangeLevel::{Breaking, Compatible, Cosmetic};
        let idle = || vec![Finding::new("needless-ignore", "it matches no change")];
        for (changes, fail_on, idle, outcome, findings) in [
            (Vec::new(), Breaking, Vec::new(), Outcome::Passed, 0),
            (vec![change(Breaking, "tool-removed")], Breaking, Vec::new(), Outcome::Failed, 1),
            (vec![change(Compatible, "tool-changed")], Breaking, Vec::new(), Outcome::Passed, 0),
            (vec![change(Compatible, "tool-changed")], Compatible, Vec::new(), Outcome::Failed, 1),
            (vec![change(Cosmetic, "tool-changed")], Compatible, Vec::new(), Outcome::Passed, 0),
            (vec![change(Breaking, "tool-added")], Cosmetic, Vec::new(), Outcome::Passed, 0),
            (Vec::new(), Breaking, idle(), Outcome::Warned, 1),
            (vec![change(Breaking, "tool-removed")], Breaking, idle(), Outcome::Failed, 2),
        ] {
            let text = format!("{changes:?} {fail_on:?}");
            let has_note = !changes.is_empty() && outcome == Outcome::Passed;
            let result = verdict(&settings(fail_on), changes, idle, CheckResult::new(Outcome::Passed));
            assert_eq!((result.outcome, result.findings.len()), (outcome, findings), "{text}");
            assert_eq!(result.reason.is_some(), has_note, "{text}");
        }
    }

    #[test]
    fn equal_refusals_prove_nothing() {
        for (outcome, expected) in [
            (Outcome::Passed, Outcome::Inconclusive),
            (Outcome::Failed, Outcome::Failed),
            (Outcome::Warned, Outcome::Warned),
        ] {
            assert_eq!(without_proof("add", CheckResult::new(outcome)).outcome, expected);
        }
    }

    #[test]
    fn a_tool_is_proven_by_a_served_call_of_its_own() {
        let answer = |tool: &str, outcome| RecordedAnswer {
            tool: tool.to_owned(),
            arguments: Value::Null,
            outcome,
            told: Value::Null,
            volatile: Vec::new(),
        };
        for (answers, expected) in [
            (vec![answer("add", Came::Served)], true),
            (vec![answer("add", Came::Refused), answer("add", Came::Served)], true),
            (vec![answer("add", Came::ToolError), answer("add", Came::Refused)], false),
            (vec![answer("get", Came::Served)], false),
            (Vec::new(), false),
        ] {
            let recorded = Recorded { answers, ..Recorded::default() };
            assert_eq!(is_served("add", &recorded), expected, "{recorded:?}");
        }
    }

    #[test]
    fn entries_of_ignore_are_needless_where_no_change_is_like_them() {
        let tool = |name: &str| serde_json::json!({"name": name, "inputSchema": {"type": "object"}});
        let server =
            |tools: &[&str]| Recorded { tools: tools.iter().map(|name| tool(name)).collect(), ..Recorded::default() };
        for (before, after, is_needless) in [
            (server(&["add"]), server(&["add", "new"]), false),
            (server(&["add"]), server(&["add"]), true),
            (server(&["add"]), server(&[]), true),
        ] {
            let found = needless_entries(&settings(ChangeLevel::Breaking), &before, &after);
            assert_eq!(found.len(), usize::from(is_needless), "{found:?}");
        }
    }
}
