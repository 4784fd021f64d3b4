//! Answers POST requests: reads a body of bounded size, and in it a message of one era or the other.

use std::future::{pending, poll_fn};
use std::pin::Pin;

use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use futures_core::Stream;
use mcprove_server::era::{LEGACY, MODERN};
use mcprove_server::transport::envelope::{Refusal, UnreadId};
use rmcp::model::ErrorCode;
use serde_json::Value;

use super::authorization::{self, Caller};
use super::refused::Refused;
use super::{SESSION_ID, ServerState, guard, stateless};

/// Longer bodies are refused instead of filling the memory.
const LONGEST_BODY: usize = 32 * 1024 * 1024;

/// Answers a POST.
pub(crate) async fn answer(server: &ServerState, request: Request) -> Result<Response, Refused> {
    let (parts, body) = request.into_parts();
    let headers = &parts.headers;
    if !accepts_answers(headers) {
        let message = "the header `Accept` must list `application/json` and `text/event-stream`";
        return Err(Refused::new(StatusCode::NOT_ACCEPTABLE, message));
    }
    if !guard::brings_json(headers) {
        let message = "the header `Content-Type` must be `application/json`";
        return Err(Refused::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, message));
    }
    let body = read(body).await?;
    if let Some(answer) = server.conduct.fault.answer_at_once(&body) {
        server.sessions.say(headers, &answer);
    }
    if server.conduct.fault.has_crashed() {
        return pending().await;
    }
    let message: Value = serde_json::from_slice(&body).map_err(|error| {
        let refusal = Refusal::without_id(ErrorCode::PARSE_ERROR, format!("the body is not JSON: {error}"));
        Refused::of(StatusCode::BAD_REQUEST, refusal, server.sessions.unread_id(headers))
    })?;
    let caller = parts.extensions.get().copied().unwrap_or_default();
    authorization::permit(caller, headers, &message)?;
    dispatch(server, headers, caller, message).await
}

/// A POST must be ready for both kinds of answers.
fn accepts_answers(headers: &HeaderMap) -> bool {
    guard::accepts(headers, "application/json") && guard::accepts(headers, "text/event-stream")
}

async fn dispatch(
    server: &ServerState,
    headers: &HeaderMap,
    caller: Caller,
    message: Value,
) -> Result<Response, Refused> {
    let has_session = headers.contains_key(SESSION_ID);
    let version = super::version(headers)?;
    let method = message.get("method").and_then(Value::as_str);
    let is_stateless = stateless::names_version(&message)
        || (method == Some("server/discover") && !has_session)
        || (method != Some("initialize") && version.is_some_and(|version| super::is_one_of(&MODERN, version)));
    if is_stateless && !message.is_array() {
        return stateless::answer(server, headers, caller, message).await;
    }
    match version {
        Some(version) if !super::is_one_of(&LEGACY, version) && !super::is_one_of(&MODERN, version) => {
            return Err(if has_session {
                Refused::unknown_version(message.get("id"), version)
            } else {
                Refused::unsupported_version(message.get("id"), version)
            });
        }
        Some(_) | None => {}
    }
    if let Value::Array(messages) = message {
        if !has_session {
            return Err(no_batch(UnreadId::LeftOut));
        }
        return server.sessions.find(headers, None)?.answer_all(messages).await;
    }
    if method == Some("initialize") && !has_session {
        return server.sessions.open(caller, message).await;
    }
    server.sessions.find(headers, message.get("id"))?.answer(message).await
}

/// The answer to an array where there must be a message.
pub(crate) fn no_batch(unread_id: UnreadId) -> Refused {
    let message = "a body must hold one message; only revision 2025-03-26 has batches, and none is empty";
    Refused::of(StatusCode::BAD_REQUEST, Refusal::without_id(ErrorCode::INVALID_REQUEST, message), unread_id)
}

/// Refuses notifications and answers of the wrong shape, over which stdio has to pass in silence.
pub(crate) fn check(message: &Value, unread_id: UnreadId) -> Result<(), Refused> {
    let is_answer = message.get("result").is_some() || message.get("error").is_some();
    let asks_nothing = message.get("id").is_none() || message.get("method").is_none();
    if !message.is_object() || !(is_answer || message.get("method").is_some()) || !asks_nothing {
        return Ok(());
    }
    let speaks_2_0 = message.get("jsonrpc").is_some_and(|version| version == "2.0");
    let has_params = message.get("params").is_none_or(Value::is_object);
    if speaks_2_0 && has_params && message.get("id").is_some() == is_answer {
        return Ok(());
    }
    let text = "a notification needs `jsonrpc` (`2.0`), a `method`, and no `params` but an object; an answer needs the \
        `id` of its request";
    Err(Refused::of(StatusCode::BAD_REQUEST, Refusal::without_id(ErrorCode::INVALID_REQUEST, text), unread_id))
}

/// The whole body. What goes beyond the limit is read and dropped, up to the limit again: a client that is still
/// writing does not read.
async fn read(body: Body) -> Result<Vec<u8>, Refused> {
    let mut chunks = body.into_data_stream();
    let (mut bytes, mut dropped) = (Vec::new(), 0);
    while let Some(chunk) = poll_fn(|context| Pin::new(&mut chunks).poll_next(context)).await {
        let chunk: Bytes =
            chunk.map_err(|error| Refused::new(StatusCode::BAD_REQUEST, format!("the body broke off: {error}")))?;
        if bytes.len() + chunk.len() > LONGEST_BODY || dropped > 0 {
            dropped += chunk.len();
            if dropped > LONGEST_BODY {
                break;
            }
        } else {
            bytes.extend_from_slice(&chunk);
        }
    }
    if dropped > 0 {
        let message = format!("the body is longer than {LONGEST_BODY} bytes");
        return Err(Refused::new(StatusCode::PAYLOAD_TOO_LARGE, message));
    }
    Ok(bytes)
}
