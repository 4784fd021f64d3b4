//! Says to fresh servers what was said before, and looks whether the same shows again.
//!
//! Knows nothing of where reproductions are kept, nor of how servers are started. Start reading in [`replay`].

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use crate::event::{FailureClass, Finding, FindingKind, Reproduction, ReproductionCall, ReproductionCheck};
use crate::matching::{Answer, Expectation};
use crate::plan::FreshServers;
use crate::session::{Awaited, OwnedViolation, RawMessage, Session, SessionReply, SessionRequest};
use crate::source::template::{Names, from_json};
use crate::source::{Node, SourceFile, Sources, Span};
use crate::wire::{Catalog, canonical};

/// What frames of a replay belong to.
const OWNER: &str = "replay";

/// How long a server is watched after its last answer.
const WATCH: Duration = Duration::from_millis(20);

/// The same where it is expected to end.
const DEATH_WATCH: Duration = Duration::from_millis(100);

/// How long to wait for what may come for a raw message.
const RAW_PATIENCE: Duration = Duration::from_secs(1);

/// The evidence that says how a request was answered: what is wrong with a result is not what is wrong with a refusal.
pub const ANSWER: &str = "answer";

/// The code of what no matcher finds.
const LEAKED: &str = "leaked";

/// What a replay may use.
#[derive(Clone, Copy)]
pub struct ReplayStage<'a> {
    /// The way to fresh servers.
    pub servers: &'a dyn FreshServers,
    /// What the server offers.
    pub catalog: &'a Catalog,
    /// The time for one request that is not expected to hang.
    pub patience: Duration,
}

/// What came of a replay.
#[derive(Debug, Clone)]
pub enum ReplayOutcome {
    /// It shows again: as this.
    Shows(Box<Finding>),
    /// Something else went wrong.
    Otherwise(Box<Finding>),
    /// Nothing went wrong.
    Gone,
    /// There was no server to speak to.
    NoServer(Box<Finding>),
}

/// Plays every session with a fresh server, one request after another, and judges by the check.
pub async fn replay(reproduction: &Reproduction, stage: &ReplayStage<'_>) -> ReplayOutcome {
    let mut played = PlayedCalls::default();
    let empty = [Vec::new()];
    let sessions = if reproduction.sessions.is_empty() { &empty[..] } else { &reproduction.sessions[..] };
    let host = match host(reproduction, stage).await {
        Ok(host) => host,
        Err(found) => return ReplayOutcome::NoServer(found),
    };
    for calls in sessions.iter().skip(usize::from(host.is_some())) {
        match play((calls, host.as_ref()), &reproduction.check, stage).await {
            Ok(part) => played = part,
            Err(found) => return ReplayOutcome::NoServer(found),
        }
    }
    if let Some(host) = host {
        host.close(WATCH).await;
    }
    let last = sessions.last().and_then(|calls| calls.last());
    let shown = match (&reproduction.check, last) {
        (ReproductionCheck::Differs, Some(call)) => {
            match play((std::slice::from_ref(call), None), &ReproductionCheck::Differs, stage).await {
                Ok(alone) => differs(&played, &alone),
                Err(found) => return ReplayOutcome::NoServer(found),
            }
        }
        _ => shown(&played, (reproduction, last), stage.catalog),
    };
    match (shown, played.findings.into_iter().next()) {
        (Some(found), _) => ReplayOutcome::Shows(Box::new(found)),
        (None, Some(found)) => ReplayOutcome::Otherwise(Box::new(found)),
        (None, None) => ReplayOutcome::Gone,
    }
}

/// What one session came to.
#[derive(Debug, Default)]
struct PlayedCalls {
    /// What went wrong, each with the tool or method of the request during which it did.
    findings: Vec<Finding>,
    /// The tool or method of the request that each call failure is about.
    failed: Vec<(String, Finding)>,
    /// The answer to the last request.
    answer: Option<SessionReply>,
}

/// The first session of a text that leaks from one session into another, which stays open for the second; `None` for
/// everything else.
async fn host(reproduction: &Reproduction, stage: &ReplayStage<'_>) -> Result<Option<Session>, Box<Finding>> {
    let (FindingKind::StateLeak, ReproductionCheck::Holds(_), [first, _, ..]) =
        (reproduction.kind, &reproduction.check, reproduction.sessions.as_slice())
    else {
        return Ok(None);
    };
    let session = stage.servers.open().await.map_err(Box::new)?;
    for call in first {
        // What is looked for shows in the second session.
        let _ = say(&session, call, stage.patience).await;
    }
    Ok(Some(session))
}

/// Plays one session with a fresh server, or with that of another session.
async fn play(
    (calls, host): (&[ReproductionCall], Option<&Session>),
    check: &ReproductionCheck,
    stage: &ReplayStage<'_>,
) -> Result<PlayedCalls, Box<Finding>> {
    let beside = match host {
        Some(host) => stage.servers.beside(host).await,
        None => None,
    };
    let session = match beside {
        Some(session) => session,
        None => stage.servers.open().await.map_err(Box::new)?,
    };
    let mut played = PlayedCalls::default();
    if calls.is_empty()
        && let Err(failure) = session.catalog().await
    {
        played.failed.push((failure.method.clone(), Finding::from(&failure)));
    }
    for (index, call) in calls.iter().enumerate() {
        let patience = match check {
            ReproductionCheck::Silent(limit) if index + 1 == calls.len() => Duration::from_millis(*limit),
            ReproductionCheck::Ends
            | ReproductionCheck::Silent(_)
            | ReproductionCheck::Scan(_)
            | ReproductionCheck::Broken(_)
            | ReproductionCheck::Holds(_)
            | ReproductionCheck::Differs => stage.patience,
        };
        match say(&session, call, patience).await {
            Ok(reply) => played.answer = reply,
            Err(found) => {
                played.answer = None;
                played.failed.push((about(call).to_owned(), *found));
            }
        }
        if !session.is_open() {
            break;
        }
    }
    let mut violations = session.take_violations(OWNER);
    violations.extend(session.take_violations(""));
    let ends = matches!(check, ReproductionCheck::Ends) && played.failed.is_empty();
    let closed = session.close(if ends { DEATH_WATCH } else { WATCH }).await;
    violations.extend(closed.violations);
    played.findings = played.failed.iter().map(|(_, found)| found.clone()).collect();
    if let Some(exit) = &closed.unreported_exit {
        let whose = calls.last().map(|call| about(call).to_owned()).unwrap_or_default();
        played.failed.push((whose, exit.into()));
        played.findings.push(exit.into());
    }
    played.findings.extend(violations.iter().map(broken));
    Ok(played)
}

async fn say(
    session: &Session,
    call: &ReproductionCall,
    patience: Duration,
) -> Result<Option<SessionReply>, Box<Finding>> {
    if let (true, Some(text)) = (call.method.is_empty(), call.params.as_str()) {
        let line = text.as_bytes().to_vec();
        let raw = RawMessage {
            owner: OWNER,
            pieces: vec![[line.as_slice(), b"\n"].concat()],
            lines: vec![line],
            awaited: Awaited::Next,
            timeout: Some(patience.min(RAW_PATIENCE)),
            watch: WATCH,
        };
        return match session.send_raw(raw).await.map_err(|failure| Finding::from(&failure)) {
            // That nothing comes for what is no message is no hang.
            Err(found) if found.class != Some(FailureClass::Timeout) => Err(Box::new(found)),
            Ok(_) | Err(_) => Ok(None),
        };
    }
    let params = Some(call.params.clone()).filter(|params| !params.is_null());
    if call.method.starts_with("notifications/") {
        session.notify(OWNER, &call.method, params.as_ref());
        return Ok(None);
    }
    let request =
        SessionRequest { owner: OWNER, method: &call.method, params, timeout: Some(patience), progress: false };
    session.request(request).await.map(Some).map_err(|failure| Box::new(Finding::from(&failure)))
}

/// What shows of what is looked for.
fn shown(
    played: &PlayedCalls,
    (wanted, last): (&Reproduction, Option<&ReproductionCall>),
    catalog: &Catalog,
) -> Option<Finding> {
    let of_kind = |kind: FindingKind| {
        // What several requests brought about is nobody's.
        let is_meant = |whose: &str| wanted.tool.is_none() || last.is_none_or(|call| about(call) == whose);
        let found = played.failed.iter().find(|(whose, found)| found.kind() == kind && is_meant(whose));
        found.map(|(_, found)| found.clone())
    };
    match &wanted.check {
        ReproductionCheck::Ends => of_kind(FindingKind::Crash),
        ReproductionCheck::Silent(_) => of_kind(FindingKind::Hang),
        ReproductionCheck::Scan(code) => played.findings.iter().find(|found| found.code == *code).cloned(),
        ReproductionCheck::Broken(expectations) => unmet(expectations, last?, played.answer.as_ref()?, catalog),
        ReproductionCheck::Holds(text) => {
            let answer = played.answer.as_ref()?;
            let holds = answer.message.to_string().contains(text) || said(&answer.message).contains(text);
            let was_asked = last.is_some_and(|call| call.params.to_string().contains(text));
            let message = "the answer holds what another request brought there";
            let found = || Finding::new(LEAKED, message).with_evidence(ANSWER, manner(&answer.message));
            (holds && !was_asked).then(found)
        }
        ReproductionCheck::Differs => None,
    }
}

/// The first thing about an answer that is not as expected.
fn unmet(expectations: &[Value], call: &ReproductionCall, reply: &SessionReply, catalog: &Catalog) -> Option<Finding> {
    let names = Names::new();
    let answer = Answer {
        method: &call.method,
        params: &reply.params,
        message: &reply.message,
        notifications: &reply.notifications,
        elapsed: reply.elapsed,
        catalog,
        names: &names,
    };
    let built = expectations.iter().filter_map(|written| Expectation::build(&literal(written), &mut Vec::new()));
    let mismatch = built.flat_map(|expectation| expectation.evaluate(&answer)).next()?;
    let found = Finding {
        path: mismatch.path,
        expected: mismatch.expected,
        actual: mismatch.actual,
        ..Finding::new(mismatch.code, mismatch.message)
    };
    Some(found.with_evidence(ANSWER, manner(&reply.message)))
}

/// Whether an answer serves the request or refuses it, and how.
fn manner(message: &Value) -> &'static str {
    match (message.get("error"), message["result"]["isError"] == true) {
        (Some(_), _) => "an error",
        (None, true) => "a tool's error",
        (None, false) => "served",
    }
}

/// An expectation that somebody wrote, without a text that it could be quoted from.
fn literal(written: &Value) -> Node {
    let source = Sources::default().add(SourceFile::new("", ""));
    from_json(written, Span { source, start: 0, end: 0 })
}

fn differs(played: &PlayedCalls, alone: &PlayedCalls) -> Option<Finding> {
    let result = |played: &PlayedCalls| played.answer.as_ref().map(|reply| outcome(&reply.message));
    let (after, alone) = (result(played)?, result(alone)?);
    let message = "the answer differs from that of a fresh server";
    (after != alone).then(|| Finding { expected: Some(alone), actual: Some(after), ..Finding::new(LEAKED, message) })
}

fn outcome(message: &Arc<Value>) -> String {
    canonical(&json!([message.get("result"), message.get("error")]))
}

/// The texts of an answer as they are read, not as they are quoted.
fn said(message: &Value) -> String {
    match message {
        Value::String(text) => text.clone() + "\n",
        Value::Array(items) => items.iter().map(said).collect(),
        Value::Object(members) => members.values().map(said).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) => String::new(),
    }
}

fn broken(owned: &OwnedViolation) -> Finding {
    let class = Some(FailureClass::ProtocolError);
    Finding { class, ..Finding::new(owned.violation.code, owned.violation.message.clone()) }
}

/// The tool that a request calls, or its method.
pub fn about(call: &ReproductionCall) -> &str {
    let tool = call.params["name"].as_str().filter(|_| call.method == "tools/call");
    tool.unwrap_or(&call.method)
}
