//! Requests to the token endpoint (RFC 6749, 3.2), and how a client shows there who it is.

use std::sync::Arc;

use reqwest::Url;
use tokio::time::{Duration, Instant};

use super::asking::{Asking, OAuthAnswer, Problem};
use super::assertion::AssertionKey;
use super::discovery::{Found, secure_endpoint};
use super::kept::KeptLogin;
use super::person::KeptClient;
use super::token_time::difference_text;
use super::{TokenGrant, TokenRequest};
use crate::redact::{base64, percent_encode};

/// The difference of clocks from which an assertion may be refused for its time, in seconds.
const CLOCK_DIFFERENCE: u64 = 60;

/// The largest token, in bytes: it is sent in a header.
const MOST_BYTES: usize = 16 << 10;

/// What shows that a client is who it says.
#[derive(Clone)]
pub enum ClientProof {
    /// Nothing: a public client.
    Nothing,
    /// A secret that the authorization server knows as well.
    Secret(String),
    /// A key that signs an assertion (RFC 7523, 2.2).
    PrivateKey(Arc<AssertionKey>),
}

/// A token with what came beside it.
pub(crate) struct TokenSet {
    pub(crate) access: String,
    pub(crate) refresh: Option<String>,
    pub(crate) expires: Option<Instant>,
}

impl TokenSet {
    /// The time that the server gave it is over.
    pub(crate) fn has_expired(&self) -> bool {
        self.expires.is_some_and(|expires| Instant::now() >= expires)
    }
}

/// Where and as whom tokens are asked for.
#[derive(Clone)]
pub(crate) struct TokenClient {
    pub(crate) endpoint: Url,
    pub(crate) id: String,
    proof: ClientProof,
    /// The secret goes into the header `authorization` (RFC 6749, 2.3.1).
    is_basic: bool,
    /// The audience of an assertion.
    audience: String,
    /// RFC 8707.
    pub(crate) resource: String,
}

impl TokenClient {
    pub(crate) fn new(
        grant: &TokenGrant,
        found: &Found,
        needed: &TokenRequest<'_>,
        id: String,
        proof: ClientProof,
    ) -> Result<Self, Problem> {
        let endpoint = secure_endpoint(found.server.token_endpoint.as_deref(), "token endpoint", grant, needed)?;
        let methods = found.server.token_endpoint_auth_methods_supported.as_deref();
        let wanted: &[&str] = match &proof {
            ClientProof::Nothing => &[],
            ClientProof::Secret(_) => &["client_secret_post", "client_secret_basic"],
            ClientProof::PrivateKey(_) => &["private_key_jwt"],
        };
        if let Some(methods) = methods
            && !wanted.is_empty()
            && !methods.iter().any(|method| wanted.contains(&method.as_str()))
        {
            let (wanted, methods) = (wanted.join("` or `"), methods.join(", "));
            let message = format!("the token endpoint `{endpoint}` does not take `{wanted}`; it takes {methods}");
            return Err(Problem::of(message));
        }
        let takes = |method: &str| methods.is_some_and(|methods| methods.iter().any(|known| known == method));
        // Where both are listed, a client may be registered for the header alone, which every server takes (RFC 6749, 2.3.1).
        let is_basic = takes("client_secret_basic");
        let issuer = Some(&found.server.issuer).filter(|issuer| !issuer.is_empty());
        let audience = issuer.cloned().unwrap_or_else(|| endpoint.to_string());
        let resource = grant.resource.clone().or_else(|| found.resource.clone());
        let resource = resource.unwrap_or_else(|| needed.url.to_string());
        Ok(Self { endpoint, id, proof, is_basic, audience, resource })
    }

    /// The same client, if a registration says how it proves who it is (RFC 7591, 3.2.1).
    pub(crate) fn with_method(self, method: Option<&str>) -> Self {
        let is_basic = match method {
            Some("client_secret_basic") => true,
            Some("client_secret_post") => false,
            Some(_) | None => self.is_basic,
        };
        Self { is_basic, ..self }
    }

    /// The client of a login that was kept; its own secret counts before `proof`.
    pub(crate) fn kept(login: &KeptLogin, proof: ClientProof) -> Result<Self, Problem> {
        let endpoint = Url::parse(&login.token_endpoint);
        Ok(Self {
            endpoint: endpoint.map_err(|_| Problem::of("the token endpoint of the kept login is not a URL"))?,
            id: login.client_id.clone(),
            proof: login.client_secret.clone().map_or(proof, ClientProof::Secret),
            is_basic: login.secret_in_header,
            audience: login.issuer.clone(),
            resource: login.resource.clone(),
        })
    }

    /// What the next process needs to be this client.
    pub(crate) fn to_keep(&self) -> KeptClient {
        let client_secret = if let ClientProof::Secret(secret) = &self.proof { Some(secret.clone()) } else { None };
        KeptClient { client_id: self.id.clone(), client_secret, secret_in_header: self.is_basic }
    }

    /// Asks for a token; the fields say by which grant.
    pub(crate) async fn ask(&self, asking: &Asking<'_>, grant: &[(&str, &str)]) -> Result<TokenSet, Problem> {
        let answer = self.post(asking, &self.endpoint, grant).await?;
        let body: serde_json::Value = serde_json::from_slice(&answer.body).unwrap_or_default();
        for secret in ["access_token", "refresh_token", "id_token"] {
            if let Some(text) = body[secret].as_str() {
                asking.redactor.learn_foreign(text);
            }
        }
        if ["access_token", "refresh_token"].iter().any(|member| !body[member].as_str().is_none_or(is_plain)) {
            let most = MOST_BYTES >> 10;
            let what = "the authorization server gave a token with control characters, or of more than";
            return Err(Problem::of(format!("{what} {most} KiB")));
        }
        let text = |member: &str| body[member].as_str().filter(|text| !text.is_empty()).map(str::to_owned);
        let access = text("access_token").ok_or_else(|| Problem::of(format!("{} and no token", answer.summary())))?;
        let expires = lifetime(&body["expires_in"]).and_then(|lifetime| Instant::now().checked_add(lifetime));
        Ok(TokenSet { access, refresh: text("refresh_token"), expires })
    }

    /// Sends a form as the client; only a success is an answer.
    pub(crate) async fn post(
        &self,
        asking: &Asking<'_>,
        endpoint: &Url,
        fields: &[(&str, &str)],
    ) -> Result<OAuthAnswer, Problem> {
        let mut form = fields.to_vec();
        form.push(("resource", &self.resource));
        let mut header = None;
        let assertion;
        match &self.proof {
            ClientProof::Nothing => form.push(("client_id", &self.id)),
            ClientProof::Secret(secret) if self.is_basic => {
                let pair = client_credentials(&self.id, secret);
                asking.redactor.learn(&pair);
                header = Some(format!("Basic {pair}"));
            }
            ClientProof::Secret(secret) => form.extend([("client_id", self.id.as_str()), ("client_secret", secret)]),
            ClientProof::PrivateKey(key) => {
                assertion = key.assertion(&self.id, &self.audience).map_err(Problem::of)?;
                asking.redactor.learn(&assertion);
                form.push(("client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"));
                form.push(("client_assertion", &assertion));
            }
        }
        let answer = asking.post_form(endpoint, &form, header.as_deref()).await?;
        if answer.is_success() { Ok(answer) } else { Err(self.refusal(&answer)) }
    }

    /// The problem that an answer is; where the clocks differ by more than an assertion bears, that is said.
    fn refusal(&self, answer: &OAuthAnswer) -> Problem {
        let problem = answer.refusal();
        let ahead = answer.seconds_ahead().filter(|ahead| ahead.unsigned_abs() > CLOCK_DIFFERENCE);
        let (Some(ahead), ClientProof::PrivateKey(_)) = (ahead, &self.proof) else { return problem };
        let side = if ahead > 0 { "ahead of" } else { "behind" };
        let difference = difference_text(ahead);
        let clocks = format!("the clock of the authorization server is {difference} {side} that of this machine");
        let reason = format!("{}; {clocks}, so it may refuse the assertion for its time", problem.reason);
        Problem { reason, ..problem }.with_cure("set both clocks, for example with NTP")
    }
}

/// A client and its secret, as they follow `Basic` in the header `authorization` (RFC 6749, 2.3.1).
pub fn client_credentials(id: &str, secret: &str) -> String {
    base64(format!("{}:{}", percent_encode(id), percent_encode(secret)).as_bytes())
}

/// The lifetime of a token; `None` where the authorization server gives none that makes sense. A token whose end is not known
/// is used until it is refused.
fn lifetime(expires_in: &serde_json::Value) -> Option<Duration> {
    // Some authorization servers write a text.
    let seconds = expires_in.as_f64().or_else(|| expires_in.as_str()?.trim().parse().ok())?;
    Duration::try_from_secs_f64(seconds).ok().filter(|lifetime| !lifetime.is_zero())
}

/// A token can be sent in a header.
fn is_plain(token: &str) -> bool {
    token.len() <= MOST_BYTES && !token.chars().any(char::is_control)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_token_adds_no_header() {
        let long = "t".repeat(MOST_BYTES);
        for (token, expected) in [
            ("abc.def-123", true),
            (long.as_str(), true),
            (format!("{long}t").as_str(), false),
            ("x\r\nX-Injected: 1", false),
            ("x\n", false),
            ("x\u{7f}", false),
        ] {
            assert_eq!(is_plain(token), expected, "{:.20}", token.escape_debug());
        }
    }

    #[test]
    fn lifetimes_that_make_sense_are_believed() {
        for (expires_in, expected) in [
            (json!(3600), Some(3600)),
            (json!(3600.0), Some(3600)),
            (json!("3600"), Some(3600)),
            (json!(0), None),
            (json!(-3600), None),
            (json!(1e300), None),
            (json!("soon"), None),
            (json!("inf"), None),
            (json!(null), None),
            (json!([]), None),
        ] {
            assert_eq!(lifetime(&expires_in).map(|lifetime| lifetime.as_secs()), expected, "{expires_in}");
        }
        assert!(lifetime(&json!(u64::MAX)).is_none_or(|longest| longest > Duration::from_secs(1 << 60)));
    }
}
