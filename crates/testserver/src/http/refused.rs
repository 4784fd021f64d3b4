//! Requests that are answered with an error of HTTP, and an error of JSON-RPC in its body.

use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use mcprove_server::era::{LEGACY, MODERN};
use mcprove_server::transport::envelope::{Refusal, UnreadId};
use rmcp::model::ErrorCode;
use serde_json::{Value, json};

/// A request that goes no further.
pub(crate) struct Refused {
    status: StatusCode,
    answer: Value,
    header: Option<(HeaderName, String)>,
}

impl Refused {
    /// A mistake in the request around the message.
    pub(crate) fn new(status: StatusCode, message: impl Into<String>) -> Self {
        Self::of(status, Refusal::without_id(ErrorCode::INVALID_REQUEST, message), UnreadId::LeftOut)
    }

    /// A mistake in a message.
    pub(crate) fn of(status: StatusCode, refusal: Refusal, unread_id: UnreadId) -> Self {
        Self { status, answer: refusal.into_answer(unread_id), header: None }
    }

    /// A method of HTTP that is not served; `allow` are those that are.
    pub(crate) fn method(allow: &'static str) -> Self {
        let message = format!("this method of HTTP is not served here; use {allow}");
        Self { header: Some((header::ALLOW, allow.to_owned())), ..Self::new(StatusCode::METHOD_NOT_ALLOWED, message) }
    }

    /// The same with what a client needs to get a better token.
    pub(crate) fn challenging(self, challenge: String) -> Self {
        Self { header: Some((header::WWW_AUTHENTICATE, challenge)), ..self }
    }

    /// The same as an answer with the status 200, as a fault has it.
    pub(crate) fn without_status(self) -> Self {
        Self { status: StatusCode::OK, header: None, ..self }
    }

    /// A header of a session that names a revision which there is not.
    pub(crate) fn unknown_version(id: Option<&Value>, version: &str) -> Self {
        let known: Vec<_> = LEGACY.iter().chain(&MODERN).map(|revision| format!("`{revision}`")).collect();
        let message =
            format!("the header `MCP-Protocol-Version` is `{version}`; the server speaks {}", known.join(", "));
        let refusal = Refusal::with_id(id, ErrorCode::INVALID_REQUEST, message);
        Self::of(StatusCode::BAD_REQUEST, refusal, UnreadId::LeftOut)
    }

    /// The same for a request without a session, as 2026-07-28 has it.
    pub(crate) fn unsupported_version(id: Option<&Value>, version: &str) -> Self {
        let mut refused = Self::unknown_version(id, version);
        let supported: Vec<_> = MODERN.iter().map(ToString::to_string).collect();
        refused.answer["error"]["code"] = json!(ErrorCode::UNSUPPORTED_PROTOCOL_VERSION);
        refused.answer["error"]["data"] = json!({ "requested": version, "supported": supported });
        refused
    }
}

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        let mut response = json_response(self.status, &self.answer);
        if let Some((name, value)) = self.header
            && let Ok(value) = HeaderValue::try_from(value)
        {
            response.headers_mut().insert(name, value);
        }
        response
    }
}

/// An answer as JSON.
pub(crate) fn json_response(status: StatusCode, answer: &Value) -> Response {
    (status, [(header::CONTENT_TYPE, "application/json")], answer.to_string()).into_response()
}
