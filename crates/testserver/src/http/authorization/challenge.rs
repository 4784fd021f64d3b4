//! Refusals of a request for its token: status, words, and the header `WWW-Authenticate` (RFC 6750, 3).

use axum::http::{HeaderMap, StatusCode};
use mcprove_server::transport::envelope::{Refusal, UnreadId};
use rmcp::model::ErrorCode;
use serde_json::Value;

use super::super::super::authorization_flaw::AuthorizationFlaw;
use super::super::Place;
use super::super::refused::Refused;
use super::metadata;
use super::scopes::{READ, Scopes, WRITE};

/// A refusal that says where the metadata are.
pub(crate) struct Challenge {
    /// The address of the metadata, unless the flaw of the server is that it names none.
    metadata: Option<String>,
}

impl Challenge {
    /// For a request with these headers to one of the servers.
    pub(crate) fn at(headers: &HeaderMap, place: Place, flaw: Option<AuthorizationFlaw>) -> Self {
        let is_named = flaw != Some(AuthorizationFlaw::ChallengeWithoutMetadata);
        Self { metadata: is_named.then(|| metadata::url(headers, place)) }
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

    /// The token does not allow what the message `id` asks for, which `needed` would.
    pub(crate) fn narrow(&self, id: Option<&Value>, needed: Scopes) -> Refused {
        let message = if needed.changes {
            format!("the token allows no changes; use one with the scope `{WRITE}`")
        } else {
            format!("the token allows nothing here; use one with the scope `{READ}`")
        };
        let refusal = Refusal::with_id(id, ErrorCode::INVALID_REQUEST, message);
        let parameters = self.parameters(Some("insufficient_scope"), &needed.to_string());
        Refused::of(StatusCode::FORBIDDEN, refusal, UnreadId::LeftOut).challenging(parameters)
    }

    fn parameters(&self, error: Option<&str>, scope: &str) -> String {
        let error = error.map(|error| format!("error=\"{error}\", ")).unwrap_or_default();
        let metadata = self.metadata.as_ref().map(|url| format!("resource_metadata=\"{url}\", ")).unwrap_or_default();
        format!("Bearer {error}{metadata}scope=\"{scope}\"")
    }
}
