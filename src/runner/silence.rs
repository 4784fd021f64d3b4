//! A shared session in which the server has gone silent for good, although each of its cases passes alone.
//!
//! What only a long session shows is a finding about state or exhaustion. It is an accusation only where the same
//! requests, made one after another, silence a fresh server again, and the last of them alone does not.

use std::time::Duration;

use tokio::time::Instant;

use super::ending::{SessionEndReason, end};
use super::opening::{self, OpenSession, SessionOpening};
use super::target::RunTarget;
use crate::event::{FailureClass, Finding, FindingKind, Reproduction, ReproductionCall, ReproductionCheck};
use crate::plan::Case;
use crate::reproduce::{Player, SlowDdmin, is_discovery, is_handshake, sent_call};
use crate::source::duration_text;
use crate::transport::Owner;
use crate::wire::{Direction, Frame};

/// The most attempts to find out which requests silence the server.
const MOST_ATTEMPTS: usize = 12;

/// The time to make the requests of the session again, and that of all attempts to leave some out.
const SEARCH_TIME: Duration = Duration::from_secs(60);

/// The time for an answer in an attempt is that of the slowest one before, so many times over, and at least this long.
const SLOWER: u32 = 20;
const LEAST_WAIT: Duration = Duration::from_secs(1);

/// How a server took requests that were made one after another.
#[derive(Debug, Clone, Copy)]
struct Playing {
    /// The number of the request, counted from 0, after which it answered nothing any more, not even a ping.
    silent_at: Option<usize>,
    /// The slowest answer before that.
    slowest: Duration,
}

/// Returns true if the server of a session does not answer a ping in time, and its process still runs.
pub(crate) async fn is_silent(opened: &OpenSession, timeout: Duration) -> bool {
    let player = Player { session: &opened.session, owner: &Owner::Session, timeout };
    player.ping().await.is_err_and(|failure| failure.is_timeout()) && opened.session.is_open()
}

/// Makes the requests of a silent session again, and looks for those that it takes; `None` where they do not silence a
/// fresh server, or where one of them alone does, which its own case tells.
pub(crate) async fn confirm(target: &RunTarget, opened: &OpenSession, case: &Case) -> Option<Finding> {
    let calls = sent_calls(&opened.session.frames());
    if calls.iter().any(|call| is_hazardous(target, call) || is_known_silent(target, call)) {
        return None;
    }
    let limit = PlayingLimit { wait: target.request_timeout(), until: Instant::now() + SEARCH_TIME };
    let whole = play(target, case, &calls, limit).await?;
    // The first request silences it alone.
    let (last, earlier) = calls[..=whole.silent_at.filter(|at| *at > 0)?].split_last()?;
    let until = Instant::now() + SEARCH_TIME;
    let alone = play(target, case, std::slice::from_ref(last), PlayingLimit { until, ..limit }).await?;
    let silent_at = silent_request(whole, alone)?;
    let wait = whole.slowest.saturating_mul(SLOWER).clamp(LEAST_WAIT.min(limit.wait), limit.wait);
    let needed = needed_calls(target, case, earlier, last, PlayingLimit { wait, until }).await;
    Some(describe(&needed, silent_at + 1, wait))
}

/// The limits of requests that are made again.
#[derive(Debug, Clone, Copy)]
struct PlayingLimit {
    /// The time for one answer.
    wait: Duration,
    /// No request is made after that: a server may answer each one just in time.
    until: Instant,
}

/// The request that silences a server after those before it, counted from 0; `None` where it does alone.
fn silent_request(whole: Playing, alone: Playing) -> Option<usize> {
    whole.silent_at.filter(|at| *at > 0 && alone.silent_at.is_none())
}

/// The requests that cases sent in a session.
fn sent_calls(frames: &[Frame]) -> Vec<ReproductionCall> {
    let sent = frames.iter().filter(|frame| frame.direction == Direction::Sent).filter_map(sent_call);
    sent.filter(|call| !is_handshake(call) && !is_discovery(call)).collect()
}

/// A call that may not be made twice: it may change data, and nobody allowed that.
fn is_hazardous(target: &RunTarget, call: &ReproductionCall) -> bool {
    let tool = call.params["name"].as_str().filter(|_| call.method == "tools/call");
    let catalog = target.known_catalog();
    let listed = tool.and_then(|name| catalog.tool(name));
    listed.is_some_and(|tool| target.suite().hazard(target.server_name(), tool).is_some())
}

/// A call of a tool for which others waited alone, and in vain: their cases tell of it.
fn is_known_silent(target: &RunTarget, call: &ReproductionCall) -> bool {
    let tool = call.params["name"].as_str().filter(|_| call.method == "tools/call");
    let known = target.answered.as_ref();
    tool.is_some_and(|tool| known.is_some_and(|known| known.is_silent(tool, &Owner::Session, || true)))
}

/// Makes requests one after another with a fresh server; `None` where none could be started, or it ended.
async fn play(target: &RunTarget, case: &Case, calls: &[ReproductionCall], limit: PlayingLimit) -> Option<Playing> {
    let opening = SessionOpening::with(&target.suite().answers);
    let session = opening::open(target, opening).await.ok()?;
    session.learn(&target.known_catalog());
    let player = Player { session: &session, owner: &case.owner(), timeout: limit.wait };
    let mut playing = Playing { silent_at: None, slowest: Duration::ZERO };
    for (index, call) in calls.iter().enumerate() {
        let begun = Instant::now();
        match player.send(call).await {
            Err(failure) if failure.is_timeout() && is_known_silent(target, call) => break,
            Err(failure) if failure.is_timeout() && player.ping().await.is_err_and(|failure| failure.is_timeout()) => {
                playing.silent_at = Some(index);
                break;
            }
            Err(_) | Ok(_) => playing.slowest = playing.slowest.max(begun.elapsed()),
        }
        if !session.is_open() || target.stop.is_set() || Instant::now() >= limit.until {
            break;
        }
    }
    let is_open = session.is_open();
    session.mark_exit_reported();
    end(target, &session, SessionEndReason::CaseOver(case)).await;
    is_open.then_some(playing)
}

/// The requests before the last one that it takes, and the last one, as far as the attempts went.
async fn needed_calls(
    target: &RunTarget,
    case: &Case,
    earlier: &[ReproductionCall],
    last: &ReproductionCall,
    limit: PlayingLimit,
) -> Vec<ReproductionCall> {
    let mut search = SlowDdmin::new(earlier.to_vec());
    while let Some(rest) = search.next_part() {
        if search.answers() >= MOST_ATTEMPTS || Instant::now() >= limit.until || target.stop.is_set() {
            break;
        }
        let calls: Vec<ReproductionCall> = rest.into_iter().chain([last.clone()]).collect();
        let played = if calls.len() == 1 { None } else { play(target, case, &calls, limit).await };
        search.answer(played.is_some_and(|played| played.silent_at.is_some()));
    }
    let mut needed = search.smallest();
    needed.push(last.clone());
    needed
}

/// The finding about a server that these requests silence.
fn describe(needed: &[ReproductionCall], session_calls: usize, wait: Duration) -> Finding {
    let count = needed.len();
    let message = format!(
        "the server stops answering for good, a `ping` too, at request {session_calls} of a session; \
         the last of them alone is answered"
    );
    let reproduced = format!("with a fresh server, {count} requests one after another are enough");
    let help = "something is used up or left locked by each request: look for what is not given back".to_owned();
    let waited = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
    let reproduction = Reproduction {
        kind: FindingKind::Hang,
        tool: None,
        sessions: vec![needed.to_vec()],
        check: ReproductionCheck::Silent(waited),
        doubt: None,
    };
    Finding {
        help: Some(help),
        reproduction: Some(Box::new(reproduction)),
        ..Finding::failure(FailureClass::Timeout, message)
            .with_evidence("reproduced", reproduced)
            .with_evidence("waited", duration_text(wait))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_a_long_session_shows_is_a_finding() {
        let playing = |silent_at| Playing { silent_at, slowest: Duration::ZERO };
        for (what, whole, alone, expected) in [
            ("it uses something up", Some(4), None, Some(4)),
            ("one call is slow, or hangs alone", Some(4), Some(0), None),
            ("it is the first call", Some(0), None, None),
            ("it was late in company", None, None, None),
        ] {
            assert_eq!(silent_request(playing(whole), playing(alone)), expected, "{what}");
        }
    }

    #[test]
    fn the_finding_keeps_the_requests() {
        let call = ReproductionCall::new("ping", serde_json::Value::Null);
        let found = describe(&[call.clone(), call], 7, Duration::from_secs(2));
        assert!(found.message.contains("at request 7 of a session"), "{}", found.message);
        let kept = found.reproduction.unwrap();
        assert_eq!((kept.sessions[0].len(), kept.check), (2, ReproductionCheck::Silent(2_000)));
    }
}
