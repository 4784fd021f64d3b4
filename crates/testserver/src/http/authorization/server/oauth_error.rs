//! Refusals in JSON (RFC 6749, 5.2).

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use serde_json::json;

use super::super::super::refused::json_response;

/// A refusal: its code, and a sentence for people.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct OAuthError {
    pub(crate) code: &'static str,
    pub(crate) description: String,
}

impl OAuthError {
    pub(crate) fn new(code: &'static str, description: impl Into<String>) -> Self {
        Self { code, description: description.into() }
    }

    pub(crate) fn invalid_request(description: impl Into<String>) -> Self {
        Self::new("invalid_request", description)
    }

    pub(crate) fn invalid_client(description: impl Into<String>) -> Self {
        Self::new("invalid_client", description)
    }

    pub(crate) fn invalid_grant(description: impl Into<String>) -> Self {
        Self::new("invalid_grant", description)
    }

    /// RFC 8707, 2.
    pub(crate) fn invalid_target(description: impl Into<String>) -> Self {
        Self::new("invalid_target", description)
    }

    pub(crate) fn without_random_numbers() -> Self {
        Self::new("server_error", "the system gives no random numbers")
    }

    pub(crate) fn answer(&self) -> Response {
        let status = match self.code {
            "invalid_client" => StatusCode::UNAUTHORIZED,
            "server_error" => StatusCode::INTERNAL_SERVER_ERROR,
            _ => StatusCode::BAD_REQUEST,
        };
        let mut answer = json_response(status, &json!({ "error": self.code, "error_description": self.description }));
        answer.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        if self.code == "invalid_client" {
            answer
                .headers_mut()
                .insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Basic realm=\"mcprove demo\""));
        }
        answer
    }
}
