//! Tokens by client credentials (RFC 6749, 4.4): where they are given, one at a time, another one where one is refused.
//!
//! Discovery (RFC 9728, RFC 8414) and the request for a token are rmcp's; what it sends leaves through a client of ours,
//! which keeps who answered what. Knows nothing of sessions. Start reading in [`Tokens`].

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

use http::Response as HttpResponse;
use parking_lot::Mutex;
use reqwest::{Client, Url};
use rmcp::transport::auth::{
    AuthorizationManager, AuthorizationMetadata, AuthorizationMetadataResolution, AuthorizationMetadataSource,
    ClientCredentialsConfig, OAuthHttpClient, OAuthHttpClientFuture, OAuthHttpRequest,
};

use super::failure::{self, ConnectionBreak, HttpFailure, NoToken, excerpt, status_text};
use super::post::beginning;
use super::{TrustedRoots, head};
use crate::redact::Redactor;
use crate::source::visible_line;
use crate::transport::ConnectError;

/// The client credentials and parameters of a token request.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct ClientCredentialsGrant {
    /// The authorization server whose metadata names the token endpoint.
    pub issuer: Option<String>,
    /// The token endpoint.
    pub token_url: Option<String>,
    /// The id of the client.
    pub client_id: String,
    /// The secret of the client.
    pub client_secret: String,
    /// The requested scopes; empty for those that the server requests.
    pub scopes: Vec<String>,
    /// The resource for which the token is requested; defaults to the address of the server.
    pub resource: Option<String>,
}

impl fmt::Debug for ClientCredentialsGrant {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("ClientCredentials").field("client_id", &self.client_id).finish_non_exhaustive()
    }
}

/// The token of a server, fetched by whoever needs it first and shared by all its connections.
#[derive(Debug)]
pub struct TokenSource {
    credentials: ClientCredentialsGrant,
    /// Learns every token.
    redactor: Redactor,
    held: tokio::sync::Mutex<Option<String>>,
}

/// A request for a token.
pub(crate) struct TokenRequest<'a> {
    pub url: &'a Url,
    pub client: &'a Client,
    /// The header `www-authenticate` of the refusal that made it necessary.
    pub challenge: Option<&'a str>,
}

impl TokenSource {
    /// No token yet; `redactor` learns every one, so that none is shown.
    pub fn new(credentials: ClientCredentialsGrant, redactor: Redactor) -> Self {
        Self { credentials, redactor, held: tokio::sync::Mutex::default() }
    }

    /// A client for those who give tokens: the headers of the server are none of their business.
    pub fn client(&self, tls: &TrustedRoots) -> Result<Client, ConnectError> {
        let known = self.credentials.token_url.as_deref().or(self.credentials.issuer.as_deref());
        let scheme = if known.is_some_and(|url| url.starts_with("http://")) { "http" } else { "https" };
        head::bare_client(tls, scheme)
    }

    /// The token to begin with; `None` where only the server's refusal says where to get one.
    pub(crate) async fn initial_token(&self, needed: &TokenRequest<'_>) -> Result<Option<String>, HttpFailure> {
        let mut held = self.held.lock().await;
        if held.is_none() && (self.credentials.issuer.is_some() || self.credentials.token_url.is_some()) {
            *held = Some(self.fetch(needed).await?);
        }
        Ok(held.clone())
    }

    /// Another token than the one that was refused; whoever comes second gets what the first fetched.
    pub(crate) async fn refreshed_token(
        &self,
        needed: &TokenRequest<'_>,
        refused: Option<&str>,
    ) -> Result<String, HttpFailure> {
        let mut held = self.held.lock().await;
        if let Some(token) = held.as_ref().filter(|token| Some(token.as_str()) != refused) {
            return Ok(token.clone());
        }
        *held = None;
        let token = self.fetch(needed).await?;
        *held = Some(token.clone());
        Ok(token)
    }

    async fn fetch(&self, needed: &TokenRequest<'_>) -> Result<String, HttpFailure> {
        let asking = RecordingClient { client: needed.client.clone(), asked: Arc::default() };
        let asked = Arc::clone(&asking.asked);
        let token = self.request_token(needed, asking).await.map_err(|reason| {
            let asked = asked.lock();
            HttpFailure::NoToken(Box::new(explain(&asked, &reason)))
        })?;
        self.redactor.learn(&token);
        Ok(token)
    }

    async fn request_token(&self, needed: &TokenRequest<'_>, asking: RecordingClient) -> Result<String, String> {
        let credentials = &self.credentials;
        let words = |error: rmcp::transport::auth::AuthError| error.to_string();
        let base = credentials.issuer.as_deref().unwrap_or(needed.url.as_str());
        let manager = AuthorizationManager::new_with_oauth_http_client(base, Arc::new(asking)).await;
        let mut manager = manager.map_err(words)?;
        let metadata = match &credentials.token_url {
            Some(url) => metadata_of_token_url(url),
            None if credentials.issuer.is_some() => {
                require_secure_endpoint(require_published(manager.resolve_metadata().await.map_err(words)?)?)?
            }
            None => require_secure_endpoint(require_published(
                manager.resolve_metadata_from_challenge(needed.challenge).await.map_err(words)?,
            )?)?,
        };
        manager.set_metadata(metadata);
        let scopes = match credentials.scopes.as_slice() {
            [] => manager.select_initial_scopes(&[]).await,
            scopes => scopes.to_vec(),
        };
        let config = ClientCredentialsConfig::ClientSecret {
            client_id: credentials.client_id.clone(),
            client_secret: credentials.client_secret.clone(),
            scopes,
            resource: Some(credentials.resource.clone().unwrap_or_else(|| needed.url.to_string())),
        };
        manager.validate_client_credentials_metadata(&config).map_err(words)?;
        manager.configure_client_credentials(&config).map_err(words)?;
        let answer = manager.exchange_client_credentials(&config).await.map_err(words)?;
        // The manager's own way to the token would refresh one that does not live long, which nobody here can.
        let answer = serde_json::to_value(&answer).map_err(|error| error.to_string())?;
        answer["access_token"].as_str().filter(|token| !token.is_empty()).map(str::to_owned).ok_or_else(String::new)
    }
}

/// Metadata that say where tokens are given and nothing else.
fn metadata_of_token_url(token_url: &str) -> AuthorizationMetadata {
    let mut metadata = AuthorizationMetadata::default();
    token_url.clone_into(&mut metadata.token_endpoint);
    // Nobody is sent there; rmcp wants an address all the same.
    token_url.clone_into(&mut metadata.authorization_endpoint);
    metadata
}

/// Addresses that nobody published are a guess, and credentials are not sent on a guess.
fn require_published(found: AuthorizationMetadataResolution) -> Result<AuthorizationMetadata, String> {
    if found.source == AuthorizationMetadataSource::LegacyEndpointFallback {
        return Err("the server publishes no token endpoint".to_owned());
    }
    Ok(found.metadata)
}

/// Whoever is tested names who gives tokens, so the secret goes there only where nobody on the way can read it (RFC 6749,
/// 3.2).
fn require_secure_endpoint(metadata: AuthorizationMetadata) -> Result<AuthorizationMetadata, String> {
    let at = Url::parse(&metadata.token_endpoint).map_err(|_| "the server publishes no token endpoint".to_owned())?;
    let host = at.host_str().unwrap_or_default().trim_matches(['[', ']']);
    let is_here = host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback());
    if at.scheme() == "https" || is_here {
        return Ok(metadata);
    }
    Err(format!("the token endpoint `{at}` has no TLS; the client secret is sent without TLS only within this machine"))
}

/// Asks for rmcp, and remembers who answered what.
struct RecordingClient {
    client: Client,
    asked: Arc<Mutex<Vec<OAuthExchange>>>,
}

/// One question and what came of it.
struct OAuthExchange {
    title: String,
    is_post: bool,
    answer: Result<(u16, Vec<u8>), HttpFailure>,
}

impl OAuthHttpClient for RecordingClient {
    fn execute(&self, asked: OAuthHttpRequest) -> OAuthHttpClientFuture<'_> {
        Box::pin(async move {
            let request = reqwest::Request::try_from(asked.request)?;
            let (method, url) = (request.method().clone(), request.url().clone());
            let note = |answer| {
                let title = visible_line(&format!("{method} {url}")).into_owned();
                self.asked.lock().push(OAuthExchange { title, is_post: method == "POST", answer });
            };
            let response = match self.client.execute(request).await {
                Ok(response) => response,
                Err(error) => {
                    note(Err(failure::of_error(&error, &url, ConnectionBreak::BeforeHeaders)));
                    return Err(error.into());
                }
            };
            let mut answer = HttpResponse::builder().status(response.status());
            for (name, value) in response.headers() {
                answer = answer.header(name, value);
            }
            let body = beginning(response).await;
            let answer = answer.body(body)?;
            note(Ok((answer.status().as_u16(), answer.body().clone())));
            Ok(answer)
        })
    }
}

/// Why there is no token: what the last one who was asked answered, or what is wrong with it.
fn explain(asked: &[OAuthExchange], reason: &str) -> NoToken {
    let came = |asked: &OAuthExchange| match &asked.answer {
        Ok((code, body)) => format!("HTTP {}{}", status_text(*code), oauth_error(body)),
        Err(failure) => failure.message(&asked.title),
    };
    let last = asked.last();
    let reason = match last {
        Some(OAuthExchange { title, answer: Err(_), .. }) => {
            format!("`{title}` got no answer: {}", last.map_or_else(String::new, came))
        }
        Some(OAuthExchange { title, is_post: true, answer: Ok((code, body)) }) if !(200..300).contains(code) => {
            format!("`{title}` was answered with HTTP {}{}", status_text(*code), oauth_error(body))
        }
        Some(OAuthExchange { title, is_post: true, answer: Ok((code, _)) }) => {
            format!("`{title}` was answered with HTTP {} and no token", status_text(*code))
        }
        Some(_) | None => visible_line(reason).into_owned(),
    };
    let excerpt = match last.map(|last| &last.answer) {
        Some(Ok((_, body))) => excerpt(body),
        Some(Err(_)) | None => String::new(),
    };
    NoToken { reason, asked: asked.iter().map(|asked| format!("{}: {}", asked.title, came(asked))).collect(), excerpt }
}

/// The error of OAuth in a body, as an addition to a sentence (RFC 6749, 5.2).
fn oauth_error(body: &[u8]) -> String {
    let body: serde_json::Value = serde_json::from_slice(body).unwrap_or_default();
    let reasons: Vec<&str> = ["error", "error_description"].iter().filter_map(|member| body[member].as_str()).collect();
    if reasons.is_empty() { String::new() } else { format!(": {}", visible_line(&reasons.join(", "))) }
}
