//! Refusals of a request for its token: status, words, and the header `WWW-Authenticate` (RFC 6750, 3).

use axum::http::{HeaderMap, StatusCode};
use mcprove_server::transport::envelope::{Refusal, UnreadId};
use rmcp::model::ErrorCode;
use serde_json::Value;

use super::super::refused::Refused;
use super::{READ, WRITE, metadata};

/// A refusal that says where the metadata are.
pub(crate) struct Challenge {
    metadata: String,
}

impl Challenge {
    /// For a request with these headers.
    pub(crate) fn at(headers: &HeaderMap) -> Self {
        Self { metadata: metadata::url(headers) }
    }

    /// There is no token; which error that would be is not said (RFC 6750, 3.1).
    pub(crate) fn missing(&self) -> Refused {
        let message = "the header `Authorization` must be `Bearer` and a token of this server";
        Refused::new(StatusCode::UNAUTHORIZED, message).challenging(self.parameters(None, READ))
    }

    /// The header has no token in the right form.
    pub(crate) fn refuse_malformed(&self) -> Refused {
        let message = "the header `Authorization` must come once, as `Bearer` and one token";
        Refused::new(StatusCode::BAD_REQUEST, message).challenging(self.parameters(Some("invalid_request"), READ))
    }

    /// It is nobody's token here.
    pub(crate) fn foreign(&self) -> Refused {
        let message = "the header `Authorization` has a token that was not issued for this server";
        Refused::new(StatusCode::UNAUTHORIZED, message).challenging(self.parameters(Some("invalid_token"), READ))
    }

    /// The token does not allow what the message `id` asks for.
    pub(crate) fn narrow(&self, id: Option<&Value>) -> Refused {
        let message = format!("the token allows no changes; use one with the scope `{WRITE}`");
        let refusal = Refusal::with_id(id, ErrorCode::INVALID_REQUEST, message);
        let parameters = self.parameters(Some("insufficient_scope"), &format!("{READ} {WRITE}"));
        Refused::of(StatusCode::FORBIDDEN, refusal, UnreadId::LeftOut).challenging(parameters)
    }

    fn parameters(&self, error: Option<&str>, scope: &str) -> String {
        let error = error.map(|error| format!("error=\"{error}\", ")).unwrap_or_default();
        format!("Bearer {error}resource_metadata=\"{}\", scope=\"{scope}\"", self.metadata)
    }
}
