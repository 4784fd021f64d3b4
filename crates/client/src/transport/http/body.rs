//! Classifies the response to a posted message; pure, so that recorded responses are classified alike.

use super::failure::{HttpFailure, HttpRefusal, excerpt, status_text};
use crate::wire::{HttpHead, response_of};

/// Code of JSON-RPC for a method that does not exist.
const NO_METHOD: i64 = -32601;

/// The properties of a posted message on which the meaning of its response depends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Posted {
    /// It is a request.
    pub expects_an_answer: bool,
    /// It carried a session id.
    pub in_session: bool,
    /// It carried a token that was fetched for it.
    pub has_token: bool,
}

/// The kind of a response body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BodyKind {
    /// A message, or what should be one.
    Message,
    /// Nothing that anybody waits for.
    Nothing,
}

/// Weighs a response that is no stream of events.
pub fn classify_body(http: &HttpHead, body: &[u8], posted: Posted) -> Result<BodyKind, HttpFailure> {
    if !http.is_success() {
        return read_refusal(http, body, posted);
    }
    if !posted.expects_an_answer {
        return Ok(BodyKind::Nothing);
    }
    let status = || status_text(http.status);
    if body.iter().all(u8::is_ascii_whitespace) {
        return Err(HttpFailure::StreamEnded { status: status() });
    }
    if has_type(http, "application/json") {
        return Ok(BodyKind::Message);
    }
    let got = http.header("content-type").unwrap_or_default().to_owned();
    Err(HttpFailure::ContentType { status: status(), got, excerpt: excerpt(body) })
}

/// A refusal with a message in it is an answer, but for those that end a session or want credentials.
fn read_refusal(http: &HttpHead, body: &[u8], posted: Posted) -> Result<BodyKind, HttpFailure> {
    let refusal = HttpRefusal::new(http, status_text(http.status), body);
    let message = response_of(body);
    let is_unknown_method = message.as_ref().is_some_and(|message| message["error"]["code"] == NO_METHOD);
    match http.status {
        401 if posted.has_token => Err(HttpFailure::TokenRefused(refusal)),
        401 => Err(HttpFailure::AuthRequired(refusal)),
        404 if posted.in_session && !is_unknown_method => Err(HttpFailure::SessionLost(refusal)),
        _ if message.is_some() => Ok(BodyKind::Message),
        _ => Err(HttpFailure::Status(refusal)),
    }
}

/// A response declares this media type.
pub(crate) fn has_type(http: &HttpHead, media_type: &str) -> bool {
    let kind = http.header("content-type").unwrap_or_default().split(';').next().unwrap_or_default();
    kind.trim().eq_ignore_ascii_case(media_type)
}
