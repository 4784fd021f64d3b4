//! Replays a kept finding on fresh servers, and checks whether it shows again.
//!
//! Knows nothing of where findings are kept, nor of how servers are started. Start reading in [`replay`].

use std::borrow::Cow;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use serde_json::{Value, json};

use super::Stored;
use crate::diagnosis::{MISSING, of_violations};
use crate::event::{Finding, FindingKind, Reproduction, ReproductionCall, ReproductionCheck};
use crate::matching::{Expectation, MismatchKind, ValuePath};
use crate::plan::{FreshServers, OpenServer};
use crate::reproduce::{Player, WATCH};
use crate::runner::as_answer;
use crate::session::{Session, SessionReply};
use crate::source::template::{Names, fill, from_json, literal_text};
use crate::source::{Node, SourceFile, Sources, Span, map_texts};
use crate::transport::Owner;
use crate::wire::{Catalog, canonical};

/// The owner of a replay's frames.
static OWNER: LazyLock<Owner> = LazyLock::new(|| Owner::of_case("replay"));

/// The time for which a server that is expected to end is watched after its last answer.
const EXIT_GRACE: Duration = Duration::from_millis(100);

/// The evidence that says how a request was answered: what is wrong with a result is not what is wrong with a refusal.
pub(crate) const ANSWER: &str = "answer";

/// The code of what no matcher finds.
const LEAKED: &str = "leaked";

/// The means of a replay.
#[derive(Clone, Copy)]
pub struct ReplayStage<'a> {
    /// The way to fresh servers.
    pub servers: &'a dyn FreshServers,
    /// The server's lists.
    pub catalog: &'a Catalog,
    /// The time for one request that is not expected to hang.
    pub patience: Duration,
}

/// The result of a replay.
#[derive(Debug, Clone)]
pub enum ReplayResult {
    /// The same finding: the same kind at the same tool, with the same signature.
    Again(Box<Finding>),
    /// Another finding.
    Otherwise(Box<Finding>),
    /// No finding.
    Gone,
    /// There was no verdict, as where the server could not be started.
    NoServer(Box<Finding>),
}

/// Replays every session on a fresh server, one request after another.
pub async fn replay(stored: &Stored, reproduction: &Reproduction, stage: &ReplayStage<'_>) -> ReplayResult {
    match play_all(stored, reproduction, stage).await {
        Ok(result) => result,
        Err(found) => ReplayResult::NoServer(found),
    }
}

async fn play_all(
    stored: &Stored,
    reproduction: &Reproduction,
    stage: &ReplayStage<'_>,
) -> Result<ReplayResult, Box<Finding>> {
    let mut played = PlayedCalls::default();
    let mut names = Names::new();
    let empty = [Vec::new()];
    let sessions = if reproduction.sessions.is_empty() { &empty[..] } else { &reproduction.sessions[..] };
    let host = host(reproduction, stage).await?;
    for calls in sessions.iter().skip(usize::from(host.is_some())) {
        played = play(calls, host.as_ref(), &reproduction.check, stage, &mut names).await?;
    }
    if let Some(host) = host {
        host.close(WATCH).await;
    }
    let last = sessions.last().and_then(|calls| calls.last());
    let shown = match (&reproduction.check, last) {
        (ReproductionCheck::Differs, Some(call)) => {
            let alone = std::slice::from_ref(call);
            let alone = play(alone, None, &ReproductionCheck::Differs, stage, &mut names).await?;
            differs(&played, &alone)
        }
        _ => find_finding(&played, reproduction, stage.catalog, &names),
    };
    Ok(match (shown, played.findings.into_iter().next()) {
        (Some(found), _) if is_same(stored, &found) => ReplayResult::Again(Box::new(found)),
        (Some(found), _) | (None, Some(found)) => ReplayResult::Otherwise(Box::new(found)),
        (None, None) => ReplayResult::Gone,
    })
}

fn is_same(stored: &Stored, found: &Finding) -> bool {
    let signature = found.signature(stored.kind);
    if stored.kind != FindingKind::Crash {
        // An answer that lacks what is compared says nothing about the comparison.
        return found.code.as_str() != MISSING || signature == stored.signature;
    }
    // A recording may not know how the server ended.
    stored.signature.is_empty() || signature.is_empty() || signature == stored.signature
}

/// The results of one session.
#[derive(Debug, Default)]
struct PlayedCalls {
    /// The findings, each with the tool or method of its request.
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
    let session = stage.servers.open(OpenServer::FRESH).await.map_err(Box::new)?;
    let player = Player { session: &session, owner: &OWNER, timeout: stage.patience };
    for call in first {
        // The finding shows in the second session.
        let _ = player.send(call).await;
    }
    Ok(Some(session))
}

/// Plays one session with a fresh server, or with that of another session; what its answers provide is added to `names`.
async fn play(
    calls: &[ReproductionCall],
    host: Option<&Session>,
    check: &ReproductionCheck,
    stage: &ReplayStage<'_>,
    names: &mut Names,
) -> Result<PlayedCalls, Box<Finding>> {
    let beside = match host {
        Some(host) => stage.servers.open(OpenServer::of(host)).await.ok(),
        None => None,
    };
    let session = match beside {
        Some(session) => session,
        None => stage.servers.open(OpenServer::FRESH).await.map_err(Box::new)?,
    };
    let mut played = PlayedCalls::default();
    if calls.is_empty()
        && let Err(failure) = session.catalog().await
    {
        played.failed.push((failure.method.clone(), Finding::from(&failure)));
    }
    for (index, call) in calls.iter().enumerate() {
        let timeout = match check {
            ReproductionCheck::Silent(limit) if index + 1 == calls.len() => Duration::from_millis(*limit),
            ReproductionCheck::Ends
            | ReproductionCheck::Silent(_)
            | ReproductionCheck::Scan(_)
            | ReproductionCheck::Broken(_)
            | ReproductionCheck::InSequence(_)
            | ReproductionCheck::Holds(_)
            | ReproductionCheck::Differs
            | ReproductionCheck::Block(_) => stage.patience,
        };
        let call = match with_values(call, names) {
            Ok(call) => call,
            Err(found) => {
                played.answer = None;
                played.failed.push((about(call).to_owned(), found));
                break;
            }
        };
        match (Player { session: &session, owner: &OWNER, timeout }).send(&call).await {
            Ok(reply) => {
                if let Err(found) = capture(&call, reply.as_ref(), names) {
                    played.failed.push((about(&call).to_owned(), found));
                }
                played.answer = reply;
            }
            Err(failure) => {
                played.answer = None;
                played.failed.push((about(&call).to_owned(), Finding::from(&failure)));
            }
        }
        if !session.is_open() {
            break;
        }
    }
    let mut violations = session.take_violations(&OWNER);
    violations.extend(session.take_violations(&Owner::Session));
    let frames = session.frames();
    let ends = matches!(check, ReproductionCheck::Ends) && played.failed.is_empty();
    let closed = session.close(if ends { EXIT_GRACE } else { WATCH }).await;
    violations.extend(closed.violations);
    played.findings = played.failed.iter().map(|(_, found)| found.clone()).collect();
    if let Some(exit) = &closed.unreported_exit {
        let whose = calls.last().map(|call| about(call).to_owned()).unwrap_or_default();
        played.failed.push((whose, exit.into()));
        played.findings.push(exit.into());
    }
    played.findings.extend(of_violations(&violations, &frames));
    Ok(played)
}

/// A request with the values that earlier answers of this replay provided.
fn with_values<'a>(call: &'a ReproductionCall, names: &Names) -> Result<Cow<'a, ReproductionCall>, Finding> {
    let Some(written) = &call.written else { return Ok(Cow::Borrowed(call)) };
    let filled = fill(&node_of(written), names);
    let filled = filled.map_err(|unfilled| Finding::new(MISSING, unfilled.reason.to_string()))?;
    Ok(Cow::Owned(ReproductionCall { params: filled.to_json(), ..call.clone() }))
}

/// Adds the values of an answer that later requests or the check use.
fn capture(call: &ReproductionCall, reply: Option<&SessionReply>, names: &mut Names) -> Result<(), Finding> {
    for (name, path) in &call.capture {
        let found = match (ValuePath::parse(path), reply) {
            (Ok(path), Some(reply)) => path.find(&reply.message).map(Cow::into_owned),
            (Ok(_), None) => Err("there is no answer".to_owned()),
            (Err(reason), _) => Err(reason),
        };
        match found {
            Ok(value) => drop(names.insert(name.clone(), value)),
            Err(reason) => return Err(Finding::new(MISSING, format!("`{name}` cannot be captured: {reason}"))),
        }
    }
    Ok(())
}

/// The finding, where it shows.
fn find_finding(played: &PlayedCalls, wanted: &Reproduction, catalog: &Catalog, names: &Names) -> Option<Finding> {
    let last = wanted.sessions.last().and_then(|calls| calls.last());
    let of_kind = |kind: FindingKind| {
        // An effect of several requests belongs to none of them.
        let is_meant = |whose: &str| wanted.tool.is_none() || last.is_none_or(|call| about(call) == whose);
        let found = played.failed.iter().find(|(whose, found)| found.kind() == kind && is_meant(whose));
        found.map(|(_, found)| found.clone())
    };
    match &wanted.check {
        ReproductionCheck::Ends => of_kind(FindingKind::Crash),
        ReproductionCheck::Silent(_) => of_kind(FindingKind::Hang),
        ReproductionCheck::Scan(code) => {
            let failed = played.failed.iter().map(|(_, found)| found);
            played.findings.iter().chain(failed).find(|found| found.code == *code).cloned()
        }
        ReproductionCheck::Broken(expectations) => {
            let literal: Vec<Value> =
                expectations.iter().map(|expected| map_texts(expected.clone(), &literal_text)).collect();
            unmet(&literal, last?, played.answer.as_ref()?, catalog, names)
        }
        ReproductionCheck::InSequence(expectations) => {
            unmet(expectations, last?, played.answer.as_ref()?, catalog, names)
        }
        ReproductionCheck::Holds(text) => {
            let answer = played.answer.as_ref()?;
            let holds = answer.message.to_string().contains(text) || plain_texts(&answer.message).contains(text);
            let was_asked = last.is_some_and(|call| call.params.to_string().contains(text));
            let message = "the answer holds what another request brought there";
            let found = || Finding::new(LEAKED, message).with_evidence(ANSWER, manner(&answer.message));
            (holds && !was_asked).then(found)
        }
        ReproductionCheck::Differs | ReproductionCheck::Block(_) => None,
    }
}

/// The first thing about an answer that is not as expected.
fn unmet(
    expectations: &[Value],
    call: &ReproductionCall,
    reply: &SessionReply,
    catalog: &Catalog,
    names: &Names,
) -> Option<Finding> {
    let answer = as_answer(&call.method, reply, catalog, names, None);
    let built = expectations.iter().filter_map(|written| Expectation::build(&node_of(written), &mut Vec::new()));
    let mismatch = built.flat_map(|expectation| expectation.evaluate(&answer)).next()?;
    let is_unfilled = mismatch.kind == MismatchKind::Unfilled;
    let mismatch = if is_unfilled { mismatch.into_missing() } else { mismatch };
    let found = Finding {
        path: mismatch.path,
        expected: mismatch.expected,
        actual: mismatch.actual,
        ..Finding::new(mismatch.code, mismatch.message)
    };
    Some(found.with_evidence(ANSWER, manner(&reply.message)))
}

/// The class of an answer: it serves the request or refuses it in one of several ways.
fn manner(message: &Value) -> &'static str {
    match (message.get("error"), message["result"]["isError"] == true) {
        (Some(_), _) => "an error",
        (None, true) => "a tool's error",
        (None, false) => "served",
    }
}

/// An expectation that somebody wrote, without a text that it could be quoted from.
pub(crate) fn node_of(written: &Value) -> Node {
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
fn plain_texts(message: &Value) -> String {
    match message {
        Value::String(text) => text.clone() + "\n",
        Value::Array(items) => items.iter().map(plain_texts).collect(),
        Value::Object(members) => members.values().map(plain_texts).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) => String::new(),
    }
}

/// The tool that a request calls, or its method.
pub(crate) fn about(call: &ReproductionCall) -> &str {
    let tool = call.params["name"].as_str().filter(|_| call.method == "tools/call");
    tool.unwrap_or(&call.method)
}
