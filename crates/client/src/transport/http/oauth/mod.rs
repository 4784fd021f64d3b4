//! Tokens of OAuth 2.1 for a server: where they are given, one at a time, another one where one is refused or has expired.
//!
//! [`TokenSource`] keeps the token of a server. It finds out who gives tokens (`discovery`), asks for one (`token_request`) after
//! a login (`code`) or with the credentials of the client alone, and renews it with its refresh token. Everything that leaves
//! goes through [`asking::Asking`], which bounds answers and keeps who answered what. Knows nothing of sessions.

mod announced_address;
mod asking;
mod assertion;
mod callback;
mod challenge;
mod code;
mod cookies;
mod device;
mod discovery;
mod form;
mod kept;
mod login;
mod person;
mod registration;
mod token_request;
mod token_time;
mod well_known;

use std::fmt;

use parking_lot::Mutex;
use reqwest::{Client, Url};
use tokio::time::{Duration, timeout};

pub use self::announced_address::{address_fault, shown_address};
use self::asking::{Asking, Problem};
pub use self::asking::{is_here, names_host};
pub use self::assertion::{AssertionAlgorithm, AssertionKey};
pub use self::challenge::challenge_parameter;
pub use self::code::AuthorizationCode;
pub use self::cookies::CookieJar;
pub use self::device::DeviceCode;
pub use self::form::{Form, forms_of};
pub use self::kept::{
    KeptLogin, LOGINS_FILE, LOGINS_VARIABLE, LoginFile, LoginFileError, PersonLogin, finish_refreshes,
};
pub use self::login::LoginForm;
pub use self::person::{LoginPrompt, TellPerson};
pub use self::token_request::{ClientProof, client_credentials};
use self::token_request::{TokenClient, TokenSet};
pub use self::token_time::{clock_fault, token_claims};
pub use self::well_known::{issuer_places, resource_places};
use super::failure::{HttpFailure, NoToken};
use super::{TrustedRoots, head};
use crate::redact::Redactor;
use crate::transport::ConnectError;

/// The time for everything that gives a token: a login has several pages.
const FETCH_TIMEOUT: Duration = Duration::from_secs(25);

/// The time for which a request waits for the token of a kept login: more than one answer takes, and less than a request of a
/// session has by default.
const KEPT_TIMEOUT: Duration = Duration::from_secs(9);

/// The grant of OAuth by which a token is fetched, with its parameters.
#[derive(Clone)]
pub struct TokenGrant {
    /// The authorization server whose metadata name its endpoints.
    pub issuer: Option<String>,
    /// The token endpoint, where no metadata are read.
    pub token_url: Option<String>,
    /// The id of the client; without one the client registers (RFC 7591).
    pub client_id: Option<String>,
    /// What shows that the client is who it says.
    pub proof: ClientProof,
    /// The requested scopes; empty for those that the server requests.
    pub scopes: Vec<String>,
    /// The resource for which the token is requested (RFC 8707); defaults to what the server publishes, or to its address.
    pub resource: Option<String>,
    /// How the token is got.
    pub flow: TokenFlow,
    /// The login that a person did before, which gives the token; `None` where nobody is needed.
    pub person: Option<PersonLogin>,
}

/// How a token is got.
#[derive(Clone)]
pub enum TokenFlow {
    /// By the credentials of the client alone (RFC 6749, 4.4).
    ClientCredentials,
    /// By a code that a login gives (RFC 6749, 4.1).
    AuthorizationCode(AuthorizationCode),
    /// By a code of a device, which a login allows (RFC 8628).
    DeviceCode(DeviceCode),
}

impl fmt::Debug for TokenGrant {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("TokenGrant").field("client_id", &self.client_id).finish_non_exhaustive()
    }
}

/// The token of a server, fetched by whoever needs it first and shared by all its connections.
#[derive(Debug)]
pub struct TokenSource {
    grant: TokenGrant,
    /// Learns every token, and every other secret that is drawn on the way to one.
    redactor: Redactor,
    held: tokio::sync::Mutex<Option<HeldToken>>,
    /// The last token, for requests that wait for nothing.
    last: Mutex<Option<String>>,
}

/// A token, and who renews it.
struct HeldToken {
    set: TokenSet,
    client: TokenClient,
}

impl fmt::Debug for HeldToken {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("HeldToken").finish_non_exhaustive()
    }
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
    pub fn new(grant: TokenGrant, redactor: Redactor) -> Self {
        Self { grant, redactor, held: tokio::sync::Mutex::default(), last: Mutex::default() }
    }

    /// A client for those who give tokens: the headers of the server are none of their business.
    pub fn client(&self, tls: &TrustedRoots) -> Result<Client, ConnectError> {
        let known = self.grant.token_url.as_deref().or(self.grant.issuer.as_deref());
        let scheme = if known.is_some_and(|url| url.starts_with("http://")) { "http" } else { "https" };
        head::bare_client(tls, scheme)
    }

    /// The last token that was fetched; `None` before the first.
    pub fn last_token(&self) -> Option<String> {
        self.last.lock().clone()
    }

    /// Renews a token whose time is over; where that fails, its refresh token is kept for the next attempt.
    pub(crate) async fn renew_expired(&self, url: &Url, tls: &TrustedRoots) -> Result<(), HttpFailure> {
        let mut held = self.held.lock().await;
        let Some(spent) = held.as_ref().filter(|held| held.set.has_expired()) else { return Ok(()) };
        let client = self
            .client(tls)
            .map_err(|error| HttpFailure::NoToken(Box::new(unasked(Problem::of(error.to_string())))))?;
        let needed = TokenRequest { url, client: &client, challenge: None };
        let renewed = self.another(Some(spent), &needed, None).await?;
        *self.last.lock() = Some(renewed.set.access.clone());
        *held = Some(renewed);
        Ok(())
    }

    /// The token to begin with; `None` where only the server's refusal says where to get one.
    pub(crate) async fn initial_token(&self, needed: &TokenRequest<'_>) -> Result<Option<String>, HttpFailure> {
        let mut held = self.held.lock().await;
        if self.grant.person.is_some() {
            if held.as_ref().is_none_or(|held| held.set.has_expired()) {
                *held = Some(self.kept(needed, None).await?);
            }
        } else if held.as_ref().is_some_and(|held| held.set.has_expired()) {
            let renewed = self.renewed(held.as_ref(), needed).await?;
            *held = renewed;
        }
        if held.is_none() && (self.grant.issuer.is_some() || self.grant.token_url.is_some()) {
            *held = Some(self.fetched(needed).await?);
        }
        let token = held.as_ref().map(|held| held.set.access.clone());
        self.last.lock().clone_from(&token);
        Ok(token)
    }

    /// Another token than the one that was refused; whoever comes second gets what the first fetched.
    pub(crate) async fn refreshed_token(
        &self,
        needed: &TokenRequest<'_>,
        refused: Option<&str>,
    ) -> Result<String, HttpFailure> {
        let mut held = self.held.lock().await;
        if let Some(held) = held.as_ref().filter(|held| Some(held.set.access.as_str()) != refused) {
            return Ok(held.set.access.clone());
        }
        let renewed = self.another(held.as_ref(), needed, refused).await;
        if renewed.is_err() {
            // A refresh token is good for another attempt.
            *held = held.take().filter(|held| held.set.refresh.is_some());
        }
        let renewed = renewed?;
        let token = renewed.set.access.clone();
        *self.last.lock() = Some(token.clone());
        *held = Some(renewed);
        Ok(token)
    }

    /// Another token than one that is spent: that of a person's login, or one by a refresh token, or by the grant.
    async fn another(
        &self,
        spent: Option<&HeldToken>,
        needed: &TokenRequest<'_>,
        refused: Option<&str>,
    ) -> Result<HeldToken, HttpFailure> {
        if self.grant.person.is_some() {
            return self.kept(needed, refused).await;
        }
        match self.renewed(spent, needed).await? {
            Some(renewed) => Ok(renewed),
            None => self.fetched(needed).await,
        }
    }

    /// A token by the refresh token of the last one (RFC 6749, 6); `None` where it has none or the refresh token is refused.
    async fn renewed(
        &self,
        spent: Option<&HeldToken>,
        needed: &TokenRequest<'_>,
    ) -> Result<Option<HeldToken>, HttpFailure> {
        let Some(HeldToken { set: TokenSet { refresh: Some(refresh), .. }, client }) = spent else { return Ok(None) };
        let asking = Asking::new(needed.client, &self.redactor);
        let form = [("grant_type", "refresh_token"), ("refresh_token", refresh.as_str())];
        match client.ask(&asking, &form).await {
            Ok(set) => {
                // A server that does not rotate refresh tokens sends none.
                let refresh = set.refresh.or_else(|| Some(refresh.clone()));
                Ok(Some(HeldToken { set: TokenSet { refresh, ..set }, client: client.clone() }))
            }
            Err(problem) if problem.is_refusal => Ok(None),
            Err(problem) => Err(no_token(&asking, problem)),
        }
    }

    /// The token of the login that is kept, or the next one. Goes on when nobody waits for it any more: a refresh token
    /// that was used is worth nothing before the next one is written.
    async fn kept(&self, needed: &TokenRequest<'_>, refused: Option<&str>) -> Result<HeldToken, HttpFailure> {
        let (grant, redactor, client) = (self.grant.clone(), self.redactor.clone(), needed.client.clone());
        let (server, refused) = (self.login_name(needed.url), refused.map(str::to_owned));
        let taken = tokio::spawn(async move {
            let asking = Asking::new(&client, &redactor);
            let taken = match &grant.person {
                Some(person) => person.token(&asking, &grant, &server, refused.as_deref()).await,
                None => Err(Problem::of("nobody logs in")),
            };
            taken.map(|(set, client)| HeldToken { set, client }).map_err(|problem| no_token(&asking, problem))
        });
        let lost = |problem: Problem| Err(HttpFailure::NoToken(Box::new(unasked(problem))));
        let late = || {
            let within = KEPT_TIMEOUT.as_secs();
            Problem::of(format!("the token of the login was not refreshed within {within} s")).with_cure(
                "run this again when the authorization server is faster, and no other run refreshes the token",
            )
        };
        match timeout(KEPT_TIMEOUT, taken).await {
            Ok(Ok(taken)) => taken,
            Ok(Err(_)) => lost(Problem::of("the program ends")),
            Err(_) => lost(late()),
        }
    }

    async fn fetched(&self, needed: &TokenRequest<'_>) -> Result<HeldToken, HttpFailure> {
        let asking = Asking::new(needed.client, &self.redactor);
        let late = || Problem::of(format!("nobody gave one within {} s", FETCH_TIMEOUT.as_secs()));
        let fetched = timeout(FETCH_TIMEOUT, self.fetch(&asking, needed)).await.unwrap_or_else(|_| Err(late()));
        fetched.map_err(|problem| no_token(&asking, problem))
    }

    async fn fetch(&self, asking: &Asking<'_>, needed: &TokenRequest<'_>) -> Result<HeldToken, Problem> {
        let found = discovery::discover(asking, &self.grant, needed).await?;
        match &self.grant.flow {
            TokenFlow::ClientCredentials => {
                let id = self.grant.client_id.clone().unwrap_or_default();
                let client = TokenClient::new(&self.grant, &found, needed, id, self.grant.proof.clone())?;
                let scope = found.scopes.join(" ");
                let mut form = vec![("grant_type", "client_credentials")];
                form.extend((!scope.is_empty()).then_some(("scope", scope.as_str())));
                let set = client.ask(asking, &form).await?;
                Ok(HeldToken { set, client })
            }
            TokenFlow::AuthorizationCode(code) => {
                let (set, client) = code.fetch(asking, &self.grant, &found, needed).await?;
                Ok(HeldToken { set, client })
            }
            TokenFlow::DeviceCode(code) => {
                let (set, client) = code.fetch(asking, &self.grant, &found, needed).await?;
                Ok(HeldToken { set, client })
            }
        }
    }
}

/// Nobody was asked for a token.
fn unasked(problem: Problem) -> NoToken {
    let Problem { reason, cure, .. } = problem;
    NoToken { reason, cure, asked: Vec::new(), excerpt: String::new() }
}

fn no_token(asking: &Asking<'_>, problem: Problem) -> HttpFailure {
    let (asked, excerpt) = asking.exchanges();
    HttpFailure::NoToken(Box::new(NoToken { reason: problem.reason, cure: problem.cure, asked, excerpt }))
}
