//! The token endpoint: codes, refresh tokens, and the credentials of a client become tokens (OAuth 2.1, 3.2), and the
//! revocation endpoint (RFC 7009).

use std::time::Duration;

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use mcprove_protocol::redact::base64;
use ring::digest::{SHA256, digest};
use serde_json::{Value, json};

use super::super::super::super::authorization_flaw::AuthorizationFlaw;
use super::super::super::super::settings::TokenUser;
use super::super::super::refused::json_response;
use super::super::scopes::Scopes;
use super::authorize::scopes;
use super::book::{ChallengeMethod, CodeChallenge, Grant, IssuedCode};
use super::client::{Client, ClientAuthMethod, GrantType};
use super::form::Form;
use super::oauth_error::OAuthError;
use super::{Asked, AuthorizationServer, ROOT, TOKEN, client_auth, resource, unix_seconds};

/// The seconds by which the clock is ahead, as a flaw has it: an hour, however long a request takes.
const CLOCK_AHEAD: u64 = 60 * 60 + 30;

/// Tokens that were issued.
pub(crate) struct Tokens {
    pub(crate) access: String,
    pub(crate) refresh: Option<String>,
    pub(crate) scopes: Scopes,
    pub(crate) lifetime: Duration,
}

/// What comes with a code.
pub(crate) struct CodeExchange<'a> {
    pub(crate) client: &'a Client,
    pub(crate) redirect_uri: Option<&'a str>,
    pub(crate) verifier: Option<&'a str>,
    pub(crate) resource: String,
}

/// What comes with a refresh token.
pub(crate) struct RefreshExchange<'a> {
    pub(crate) client: &'a Client,
    pub(crate) scopes: Option<Scopes>,
    pub(crate) resource: Option<String>,
}

impl AuthorizationServer {
    pub(crate) async fn token(&self, asked: &Asked<'_>, form: &Form) -> Result<Response, OAuthError> {
        let Some(grant) = form.get("grant_type") else {
            return Err(OAuthError::invalid_request("the parameter `grant_type` is missing"));
        };
        let Some(grant) = GrantType::named(grant) else {
            return Err(OAuthError::new("unsupported_grant_type", "the grant type is unknown here"));
        };
        let client = self.proven_client(asked, form).await?;
        if !client.grants.contains(&grant) {
            return Err(OAuthError::new("unauthorized_client", "the client did not register this grant type"));
        }
        let tokens = match grant {
            GrantType::AuthorizationCode => self.exchange_code(asked, form, &client),
            GrantType::RefreshToken => self.exchange_refresh(asked, form, &client),
            GrantType::ClientCredentials => self.serve_client(asked, form, &client),
            GrantType::DeviceCode => {
                let code = required(form, "device_code")?;
                self.book.lock().exchange_device(code, &client, asked.now)
            }
        }?;
        Ok(self.answer_tokens(&tokens))
    }

    pub(crate) async fn revoke(&self, asked: &Asked<'_>, form: &Form) -> Result<Response, OAuthError> {
        let client = self.proven_client(asked, form).await?;
        self.book.lock().revoke(required(form, "token")?, &client.id);
        Ok(StatusCode::OK.into_response())
    }

    /// The client that proves who it is.
    pub(crate) async fn proven_client(&self, asked: &Asked<'_>, form: &Form) -> Result<Client, OAuthError> {
        let credentials = client_auth::read(asked.headers, form)?;
        let client = self.client(&credentials.id).await;
        let client = client.ok_or_else(|| OAuthError::invalid_client("the client is not known here"))?;
        let audiences = [ROOT, TOKEN].map(|path| format!("{}{path}", asked.origin));
        let assertion = credentials.prove(&client, &audiences, unix_seconds())?;
        if assertion.is_some_and(|id| !self.book.lock().use_assertion(&client.id, &id)) {
            return Err(OAuthError::invalid_client("the assertion was used before"));
        }
        Ok(client)
    }

    fn exchange_code(&self, asked: &Asked<'_>, form: &Form, client: &Client) -> Result<Tokens, OAuthError> {
        let exchange = CodeExchange {
            client,
            redirect_uri: form.get("redirect_uri"),
            verifier: form.get("code_verifier"),
            resource: resource(form.get("resource"), &asked.origin)?,
        };
        self.book.lock().exchange_code(required(form, "code")?, &exchange, asked.now)
    }

    fn exchange_refresh(&self, asked: &Asked<'_>, form: &Form, client: &Client) -> Result<Tokens, OAuthError> {
        let named = form.get("resource").map(|named| resource(Some(named), &asked.origin)).transpose()?;
        let scopes = form.get("scope").map(|_| scopes(form)).transpose()?;
        let exchange = RefreshExchange { client, scopes, resource: named };
        self.book.lock().exchange_refresh(required(form, "refresh_token")?, &exchange, asked.now)
    }

    fn serve_client(&self, asked: &Asked<'_>, form: &Form, client: &Client) -> Result<Tokens, OAuthError> {
        if client.method == ClientAuthMethod::None {
            return Err(OAuthError::new("unauthorized_client", "a public client cannot act for itself"));
        }
        let (scopes, resource) = (scopes(form)?, resource(form.get("resource"), &asked.origin)?);
        let grant = Grant { client: client.id.clone(), user: TokenUser::Service, scopes, resource };
        self.book.lock().issue_tokens(grant, client, asked.now)
    }

    fn answer_tokens(&self, tokens: &Tokens) -> Response {
        let mut answer = json!({
            "access_token": tokens.access,
            "token_type": "Bearer",
            "expires_in": tokens.lifetime.as_secs(),
            "scope": tokens.scopes.to_string(),
        });
        if self.settings.has(AuthorizationFlaw::NegativeLifetime) {
            answer["expires_in"] = json!(-1);
        }
        if let Some(refresh) = &tokens.refresh {
            answer["refresh_token"] = json!(refresh);
        }
        let mut answer = json_response(StatusCode::OK, &answer);
        if !self.settings.has(AuthorizationFlaw::TokenCacheable) {
            answer.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        }
        answer
    }
}

pub(crate) fn required<'a>(form: &'a Form, name: &str) -> Result<&'a str, OAuthError> {
    form.get(name).ok_or_else(|| OAuthError::invalid_request(format!("the parameter `{name}` is missing")))
}

/// Checks that a code belongs to the request that brings it (OAuth 2.1, 4.1.3).
pub(crate) fn check_code(
    code: &IssuedCode,
    asked: &CodeExchange<'_>,
    flaw: Option<AuthorizationFlaw>,
) -> Result<(), OAuthError> {
    if code.grant.client != asked.client.id && flaw != Some(AuthorizationFlaw::CodeOfAnyClient) {
        return Err(OAuthError::invalid_grant("the code was issued to another client"));
    }
    if asked.redirect_uri.is_some_and(|named| named != code.redirect_uri) {
        return Err(OAuthError::invalid_grant("`redirect_uri` is not the one to which the code was sent"));
    }
    if asked.resource != code.grant.resource {
        return Err(OAuthError::invalid_target("`resource` is not the one for which the code was issued"));
    }
    if flaw != Some(AuthorizationFlaw::NoPkce) && !is_verified(code.challenge.as_ref(), asked.verifier) {
        return Err(OAuthError::invalid_grant("the code verifier does not match the code challenge"));
    }
    Ok(())
}

/// RFC 7636, 4.6; a verifier without a challenge is a downgrade (RFC 9700, 4.8.2).
fn is_verified(challenge: Option<&CodeChallenge>, verifier: Option<&str>) -> bool {
    match (challenge, verifier) {
        (Some(CodeChallenge { challenge, method: ChallengeMethod::S256 }), Some(verifier)) => {
            *challenge == s256(verifier)
        }
        (Some(CodeChallenge { challenge, method: ChallengeMethod::Plain }), Some(verifier)) => challenge == verifier,
        (None, None) => true,
        (Some(_), None) | (None, Some(_)) => false,
    }
}

/// The code challenge of a verifier (RFC 7636, 4.2).
pub(crate) fn s256(verifier: &str) -> String {
    base64_url(digest(&SHA256, verifier.as_bytes()).as_ref())
}

/// Bytes as the text of a challenge or of a part of a token (RFC 7515, 2).
fn base64_url(bytes: &[u8]) -> String {
    base64(bytes).trim_end_matches('=').replace('+', "-").replace('/', "_")
}

/// A token that says what the clock of an authorization server an hour ahead says (RFC 9068, 2.2); nobody checks its
/// signature.
pub(crate) fn token_of_clock_ahead(name: &str, resource: &str, lifetime: Duration) -> String {
    let issued = unix_seconds() + CLOCK_AHEAD;
    let claims = json!({ "aud": resource, "iat": issued, "nbf": issued, "exp": issued + lifetime.as_secs() });
    let part = |value: &Value| base64_url(value.to_string().as_bytes());
    format!("{}.{}.{name}", part(&json!({ "alg": "ES256", "typ": "at+jwt" })), part(&claims))
}

/// Checks that a refresh token allows what is asked for, and returns the scopes.
pub(crate) fn check_refresh(grant: &Grant, asked: &RefreshExchange<'_>) -> Result<Scopes, OAuthError> {
    if asked.resource.as_ref().is_some_and(|named| *named != grant.resource) {
        return Err(OAuthError::invalid_target("`resource` is not the one for which the refresh token was issued"));
    }
    let scopes = asked.scopes.unwrap_or(grant.scopes);
    if !scopes.is_within(grant.scopes) {
        return Err(OAuthError::new("invalid_scope", "the refresh token allows fewer scopes"));
    }
    Ok(scopes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_verifier_must_be_that_of_the_challenge() {
        // RFC 7636, appendix B.
        let (verifier, challenge) =
            ("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk", "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM");
        let with = |challenge: &str, method| Some(CodeChallenge { challenge: challenge.to_owned(), method });
        for (challenge, verifier, expected) in [
            (with(challenge, ChallengeMethod::S256), Some(verifier), true),
            (with(challenge, ChallengeMethod::S256), Some(challenge), false),
            (with(challenge, ChallengeMethod::S256), None, false),
            (with(verifier, ChallengeMethod::Plain), Some(verifier), true),
            (with(challenge, ChallengeMethod::Plain), Some(verifier), false),
            (None, Some(verifier), false),
            (None, None, true),
        ] {
            assert_eq!(is_verified(challenge.as_ref(), verifier), expected, "{challenge:?} {verifier:?}");
        }
    }
}
