//! Who may ask: the server as a resource server of OAuth 2.1, once it has tokens to hold requests to.
//!
//! Tokens come from the environment, or from an authorization server at the same address (`server`). There are two users,
//! and one narrow token of the first in the environment; every other token is a foreign one, whatever it was issued for.
//! Tokens come in the header `Authorization` alone: the query is never looked at. A request without a good token is told
//! where the metadata are (`challenge`), which say who issues tokens (`metadata`). Knows nothing about sessions and tools,
//! but for whether a tool changes something.

mod challenge;
mod metadata;
mod scopes;
mod server;

use axum::extract::Request;
use axum::http::{HeaderMap, HeaderName, header};
use serde_json::Value;
use tokio::time::Instant;

use self::challenge::Challenge;
pub(crate) use self::metadata::answer as metadata;
use self::scopes::Scopes;
pub(crate) use self::server::{AuthorizationServer, serves};
use super::super::authorization_flaw::AuthorizationFlaw;
use super::super::settings::{Rules, TokenUser, is_token};
use super::super::tools;
use super::refused::Refused;
use super::{Place, ServerState};

/// Who asks, and what for.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Caller {
    pub(crate) user: TokenUser,
    scopes: Scopes,
    /// The server that is asked.
    place: Place,
    flaw: Option<AuthorizationFlaw>,
}

impl Caller {
    /// True if calls that change something are served.
    fn may_change(self) -> bool {
        let is_first = self.user == TokenUser::First;
        match self.flaw {
            Some(AuthorizationFlaw::NoScopeCheck) => true,
            Some(AuthorizationFlaw::ScopesOfFirstUser) => self.scopes.changes || !is_first,
            Some(AuthorizationFlaw::SecondUserRefused) => self.scopes.changes && self.user != TokenUser::Second,
            Some(_) | None => self.scopes.changes,
        }
    }

    /// True for a session of the same user at the same server.
    pub(crate) fn may_use_session_of(self, owner: Self) -> bool {
        let is_same_user = self.user == owner.user || self.flaw == Some(AuthorizationFlaw::SessionOfAnyUser);
        is_same_user && self.place == owner.place
    }
}

/// The caller whose token the request carries; without tokens of the server's own, everybody is one.
pub(crate) fn check(request: &Request, server: &ServerState, place: Place) -> Result<Caller, Refused> {
    let (headers, rules) = (request.headers(), &server.conduct.rules);
    if !rules.needs_tokens() || !server.conduct.fault.hooks().checks_tokens {
        return Ok(Caller::default());
    }
    let flaw = rules.authorization().and_then(|authorization| authorization.flaw);
    let challenge = Challenge::at(headers, place, flaw);
    let of_session =
        || server.sessions.caller(headers).filter(|_| flaw == Some(AuthorizationFlaw::SessionAuthenticates));
    let token = match bearer(headers) {
        Bearer::Missing if flaw == Some(AuthorizationFlaw::TokenInQuery) => {
            token_in_query(request).ok_or_else(|| challenge.missing())?
        }
        Bearer::Missing => return of_session().ok_or_else(|| challenge.missing()),
        Bearer::Malformed => return Err(challenge.refuse_malformed()),
        Bearer::Token(token) => token,
    };
    let found = match &server.authorization {
        Some(issuer) => issuer.caller(token, &metadata::resource(headers, place), Instant::now()),
        None => find_caller(rules, token),
    };
    match found {
        Some(caller) if caller.scopes.reads => Ok(Caller { place, flaw, ..caller }),
        Some(_) => Err(challenge.narrow(None, Scopes::READING)),
        None if flaw == Some(AuthorizationFlaw::AcceptsAnyToken) => Ok(Caller { place, flaw, ..Caller::default() }),
        None => of_session().ok_or_else(|| challenge.foreign()),
    }
}

/// Refuses a message, or an array of them, that takes more than the caller's token allows.
pub(crate) fn permit(caller: Caller, headers: &HeaderMap, message: &Value) -> Result<(), Refused> {
    let messages = message.as_array().map_or(std::slice::from_ref(message), Vec::as_slice);
    if caller.may_change() || !messages.iter().any(changes) {
        return Ok(());
    }
    let named =
        if caller.flaw == Some(AuthorizationFlaw::NarrowChallenge) { Scopes::READING } else { Scopes::default() };
    let refused = Challenge::at(headers, caller.place, caller.flaw).narrow(message.get("id"), named);
    let is_ok = caller.flaw == Some(AuthorizationFlaw::ScopeRefusalOk);
    Err(if is_ok { refused.without_status() } else { refused })
}

fn token_in_query(request: &Request) -> Option<&str> {
    let mut pairs = request.uri().query()?.split('&').filter_map(|pair| pair.split_once('='));
    pairs.find(|(name, _)| *name == "access_token").map(|(_, token)| token)
}

fn changes(message: &Value) -> bool {
    message["method"] == "tools/call" && message["params"]["name"].as_str().is_some_and(tools::changes)
}

/// The content of the header `Authorization`.
enum Bearer<'a> {
    /// None, or something else than a token.
    Missing,
    /// No single token in the form of one.
    Malformed,
    Token(&'a str),
}

fn bearer(headers: &HeaderMap) -> Bearer<'_> {
    const NAME: HeaderName = header::AUTHORIZATION;
    let given = match super::single(headers, &NAME) {
        Ok(Some(given)) => given,
        Ok(None) => return Bearer::Missing,
        Err(_) => return Bearer::Malformed,
    };
    let (scheme, token) = given.split_once(' ').unwrap_or((given, ""));
    let token = token.trim_start();
    match scheme.eq_ignore_ascii_case("bearer") {
        true if is_token(token) => Bearer::Token(token),
        true => Bearer::Malformed,
        false => Bearer::Missing,
    }
}

fn find_caller(rules: &Rules, token: &str) -> Option<Caller> {
    let known = [
        (rules.token(), Caller::default()),
        (rules.second_token(), Caller { user: TokenUser::Second, ..Caller::default() }),
        (rules.low_scope_token(), Caller { scopes: Scopes::READING, ..Caller::default() }),
    ];
    known.into_iter().find(|(known, _)| *known == Some(token)).map(|(_, caller)| caller)
}
