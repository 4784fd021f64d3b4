//! Finds out which era a server speaks where nobody said so.
//!
//! `server/discover` is asked first, and anything but an answer of the newer era leads to `initialize` (2026-07-28,
//! basic/versioning). Silence does too, yet it may be a slow start: then both questions are open, and the newer era
//! wins whenever its answer comes.

use std::future::Future;
use std::pin::{Pin, pin};
use std::time::Duration;

use serde_json::Value;
use tokio::time::{Instant, timeout_at};

use super::handshake::{self, UNSUPPORTED_REVISION, discover, identity_of_discovery, judge_initialize};
use super::peer::{Connection, RequestAnswer};
use super::{CallFailure, FailureReason, OpenFailure, ServerIdentity, SessionSettings};
use crate::transport::{HttpFailure, TransportKind};
use crate::wire::{Era, Revision};

/// How long the question for the newer era may go unanswered before the older handshake is tried as well.
const PROBE_TIMEOUT: Duration = Duration::from_secs(5);

/// The era that an answer to `server/discover` shows.
enum ServerEra {
    Newer(ServerIdentity),
    Older,
}

/// The revision of the older handshake.
const OLDER: Revision = Revision::NEWEST_WITH_SESSION;

/// Settles the era within the time for a start.
pub(super) async fn negotiate(
    peer: &Connection,
    settings: &SessionSettings,
    deadline: Instant,
) -> Result<ServerIdentity, OpenFailure> {
    // HTTP+SSE is older than the newer era.
    if peer.transport() == TransportKind::Sse {
        return initialize(peer, settings, deadline).await;
    }
    let mut discovering = pin!(discover(peer, settings, deadline));
    let soon = deadline.min(Instant::now() + PROBE_TIMEOUT.min(settings.start_timeout / 2));
    let Ok(answered) = timeout_at(soon, &mut discovering).await else {
        return ask_both(peer, settings, deadline, discovering).await;
    };
    match era_of_answer(peer, answered)? {
        ServerEra::Newer(identity) => Ok(identity),
        ServerEra::Older => initialize(peer, settings, deadline).await,
    }
}

fn era_of_answer(peer: &Connection, answered: Result<RequestAnswer, CallFailure>) -> Result<ServerEra, OpenFailure> {
    match answered {
        Ok(answered) if refuses_newer_request(&answered.message) => Err(OpenFailure::Refused {
            message: format!("the server refused `server/discover`: {}", answered.message["error"]),
            stderr: peer.lock().transcript.stderr_tail(12),
        }),
        Ok(answered) => Ok(identity_of_discovery(peer, &answered.message).map_or(ServerEra::Older, ServerEra::Newer)),
        Err(CallFailure { reason: FailureReason::Timeout(_) | FailureReason::Protocol(_), alive: true, .. }) => {
            Ok(ServerEra::Older)
        }
        Err(CallFailure { reason: FailureReason::Http(failure), alive: true, .. }) if is_of_older(&failure) => {
            Ok(ServerEra::Older)
        }
        Err(failure) => Err(OpenFailure::Handshake(failure)),
    }
}

/// Whether a server that knows the newer era refuses what it was asked (2026-07-28, error codes).
fn refuses_newer_request(message: &Value) -> bool {
    matches!(message["error"]["code"].as_i64(), Some(-32020 | -32021))
}

/// Statuses with which a server may refuse what it does not understand; others mean the same in both eras.
fn is_of_older(failure: &HttpFailure) -> bool {
    let is_silent = matches!(failure, HttpFailure::StreamEnded { .. });
    is_silent || matches!(failure.bare_status(), Some(400 | 404 | 405 | 406 | 415))
}

/// The older handshake alone.
async fn initialize(
    peer: &Connection,
    settings: &SessionSettings,
    deadline: Instant,
) -> Result<ServerIdentity, OpenFailure> {
    let answered = handshake::send_initialize(peer, OLDER, settings, deadline).await?;
    settle(peer, settings, deadline, &answered.message).await
}

/// Judges the answer to `initialize`; a refusal that names the newer era leads back to it.
async fn settle(
    peer: &Connection,
    settings: &SessionSettings,
    deadline: Instant,
    message: &Value,
) -> Result<ServerIdentity, OpenFailure> {
    if names_newer_era(message)
        && let ServerEra::Newer(identity) = era_of_answer(peer, discover(peer, settings, deadline).await)?
    {
        return Ok(identity);
    }
    judge_initialize(peer, OLDER, settings, message)
}

fn names_newer_era(message: &Value) -> bool {
    let error = &message["error"];
    let supported = error["data"]["supported"].as_array().into_iter().flatten();
    let mut supported = supported.filter_map(|version| Revision::parse(version.as_str()?));
    error["code"] == UNSUPPORTED_REVISION && supported.any(|revision| revision.era() == Era::Stateless)
}

/// Waits for the answers to both questions after a silence.
async fn ask_both<D>(
    peer: &Connection,
    settings: &SessionSettings,
    deadline: Instant,
    mut discovering: Pin<&mut D>,
) -> Result<ServerIdentity, OpenFailure>
where
    D: Future<Output = Result<RequestAnswer, CallFailure>>,
{
    let mut initializing = pin!(handshake::send_initialize(peer, OLDER, settings, deadline));
    let answered = tokio::select! {
        biased;
        answered = &mut discovering => {
            return match era_of_answer(peer, answered)? {
                ServerEra::Newer(identity) => Ok(identity),
                ServerEra::Older => settle(peer, settings, deadline, &initializing.await?.message).await,
            };
        }
        answered = &mut initializing => answered?,
    };
    if answered.message.get("result").is_some() {
        return judge_initialize(peer, OLDER, settings, &answered.message);
    }
    // Whoever refuses the older handshake may still be about to answer the newer question.
    let until =
        if names_newer_era(&answered.message) { deadline } else { deadline.min(Instant::now() + PROBE_TIMEOUT) };
    match timeout_at(until, discovering).await.map(|answered| era_of_answer(peer, answered)) {
        Ok(Ok(ServerEra::Newer(identity))) => Ok(identity),
        Ok(Err(failure)) => Err(failure),
        Ok(Ok(ServerEra::Older)) | Err(_) => settle(peer, settings, deadline, &answered.message).await,
    }
}
