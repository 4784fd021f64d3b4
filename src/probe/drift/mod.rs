//! A server against a recorded one, and how one is recorded.
//!
//! Definitions are compared with what the server listed; answers are asked for again, each tool on a fresh server.
//! What a change means is decided by `drift`. Start reading in [`run`] and [`record`].

mod record;
mod told;
mod twice;

use serde_json::{Value, json};

use self::told::{finding, needless, summary};
use super::{Ground, Probed};
use crate::drift::{Answer, Change, Identity, Outcome as Came, Recorded, Subject, compare_subject, heard};
use crate::event::{Finding, Outcome};
use crate::session::{Request, Session};
use crate::suite::{Differential, IgnoredChange, Recalling};

pub use self::record::{UNANSWERED, Wanted, record};

/// Compares one part of the server.
pub(super) async fn run(
    settings: &Differential,
    (recorded, subject): (&Recorded, &Subject),
    ground: &Ground<'_>,
) -> Probed {
    let Some(mut now) = offered(ground, (&recorded.name, &recorded.protocol)) else {
        return Probed::because(Outcome::Errored, "the server said nothing that could be compared");
    };
    let mut probed = Probed::because(Outcome::Passed, "");
    if let Subject::Answers(tool) = subject {
        match answers(ground, tool, recorded, &mut probed).await {
            Ok(answers) => now.answers = answers,
            Err(found) => {
                let outcome = if found.class.is_some() { Outcome::Failed } else { Outcome::Errored };
                return Probed { outcome, reason: None, findings: vec![found], ..probed };
            }
        }
    }
    let now = now.neutral(ground.neutral);
    let idle = if *subject == Subject::Server { idle(settings, (recorded, &now), ground) } else { Vec::new() };
    let probed = verdict(settings, (compare_subject(subject, recorded, &now), idle), probed);
    let Subject::Answers(tool) = subject else { return probed };
    if probed.outcome != Outcome::Passed || is_served(tool, recorded) || is_served(tool, &now) {
        return probed;
    }
    let reason = format!("`{tool}` served no recorded call, then or now, so nothing is known of its answers");
    Probed { outcome: Outcome::Inconclusive, reason: Some(reason), ..probed }
}

/// Whether a tool served a call.
fn is_served(tool: &str, recorded: &Recorded) -> bool {
    let mut answers = recorded.answers.iter().filter(|answer| answer.tool == tool);
    answers.any(|answer| answer.outcome == Came::Served)
}

/// What is ignored and is not there hides what may come; where there are several servers or revisions, it may be there
/// on another. What was ignored of answers is not known before all of them are there.
fn idle(settings: &Differential, (recorded, now): (&Recorded, &Recorded), ground: &Ground<'_>) -> Vec<Finding> {
    if ground.suite.servers.len() != 1 || ground.suite.servers.values().any(|server| server.protocol.len() != 1) {
        return Vec::new();
    }
    let defined = Subject::of(recorded, now).into_iter().filter(|subject| !matches!(subject, Subject::Answers(_)));
    let changes: Vec<Change> = defined.flat_map(|subject| compare_subject(&subject, recorded, now)).collect();
    let asks = |ignored: &&IgnoredChange| settings.answers == Recalling::Left || !ignored.may_be_of_answers();
    let idle = settings.ignore.iter().filter(asks);
    idle.filter(|ignored| !changes.iter().any(|change| ignored.is_about(change)))
        .map(|ignored| needless(ignored, &changes))
        .collect()
}

/// The server as it is, without answers.
fn offered(ground: &Ground<'_>, names: (&str, &str)) -> Option<Recorded> {
    let said = ground.server?;
    let identity = Identity::of(&said.said, said.revision.as_str());
    Some(Recorded::offered(names, identity, ground.catalog))
}

/// What the tool answers to the recorded calls.
async fn answers(
    ground: &Ground<'_>,
    tool: &str,
    recorded: &Recorded,
    probed: &mut Probed,
) -> Result<Vec<Answer>, Finding> {
    let session = ground.servers.open().await?;
    probed.spoken = session.server.revision.to_string();
    let mut answers = Vec::new();
    let mut broken = None;
    for known in recorded.answers.iter().filter(|answer| answer.tool == tool) {
        match ask(ground, &session, (tool, &sent(ground, tool, &known.arguments)), probed).await {
            Ok((outcome, told)) => answers.push(Answer {
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
    let ended = ground.servers.close(session).await;
    match broken.or(ended) {
        Some(found) => Err(found),
        None => Ok(answers),
    }
}

/// The arguments of a recorded call with what was taken out of them.
fn sent(ground: &Ground<'_>, tool: &str, recorded: &Value) -> Value {
    let written = given(ground, tool).filter(|given| (ground.neutral)(given.clone()) == *recorded);
    written.unwrap_or_else(|| recorded.clone())
}

/// The arguments that the suite has for a tool.
fn given(ground: &Ground<'_>, tool: &str) -> Option<Value> {
    (ground.filled)(ground.suite.arguments.get(tool)?)
}

/// Makes one call.
async fn ask(
    ground: &Ground<'_>,
    session: &Session,
    (tool, arguments): (&str, &Value),
    probed: &mut Probed,
) -> Result<(Came, Value), Finding> {
    let params = Some(json!({"name": tool, "arguments": arguments}));
    let timeout = Some(ground.request_timeout);
    let request = Request { owner: ground.owner, method: "tools/call", params, timeout, progress: false };
    let reply = session.request(request).await.map_err(|failure| failure.finding())?;
    probed.frames.extend([reply.frame, reply.answer_frame]);
    let message = (ground.neutral)((*reply.message).clone());
    heard(&message).ok_or_else(|| Finding::new("protocol-error", "the answer has neither a result nor an error"))
}

fn verdict(settings: &Differential, (changes, idle): (Vec<Change>, Vec<Finding>), probed: Probed) -> Probed {
    let is_meant = |change: &Change| settings.ignore.iter().any(|ignored| ignored.is_about(change));
    let (meant, changes): (Vec<_>, Vec<_>) = changes.into_iter().partition(is_meant);
    let (bad, mild): (Vec<_>, Vec<_>) = changes.into_iter().partition(|change| change.level >= settings.fail_on);
    let outcome = match (bad.is_empty(), idle.is_empty()) {
        (true, true) => Outcome::Passed,
        (true, false) => Outcome::Warned,
        (false, _) => Outcome::Failed,
    };
    let findings = bad.iter().map(|change| finding(change, &settings.file)).chain(idle).collect();
    Probed { outcome, reason: summary(&mild, &meant), findings, ..probed }
}
