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
use super::ServerState;
use super::refused::Refused;

/// Who asks, and what for.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Caller {
    pub(crate) user: TokenUser,
    scopes: Scopes,
    flaw: Option<AuthorizationFlaw>,
}

/// The caller whose token the request carries; without tokens of the server's own, everybody is one.
pub(crate) fn check(request: &Request, server: &ServerState) -> Result<Caller, Refused> {
    let (headers, rules) = (request.headers(), &server.conduct.rules);
    if !rules.needs_tokens() || !server.conduct.fault.hooks().checks_tokens {
        return Ok(Caller::default());
    }
    let flaw = rules.authorization().and_then(|authorization| authorization.flaw);
    let challenge = Challenge::at(headers, flaw);
    let token = match bearer(headers) {
        Bearer::Missing if flaw == Some(AuthorizationFlaw::TokenInQuery) => {
            token_in_query(request).ok_or_else(|| challenge.missing())?
        }
        Bearer::Missing => return Err(challenge.missing()),
        Bearer::Malformed => return Err(challenge.refuse_malformed()),
        Bearer::Token(token) => token,
    };
    let found = match &server.authorization {
        Some(issuer) => issuer.caller(token, &metadata::resource(headers), Instant::now()),
        None => find_caller(rules, token),
    };
    match found {
        Some(caller) if caller.scopes.reads => Ok(Caller { flaw, ..caller }),
        Some(_) => Err(challenge.narrow(None, Scopes::READING)),
        None if flaw == Some(AuthorizationFlaw::AcceptsAnyToken) => Ok(Caller { flaw, ..Caller::default() }),
        None => Err(challenge.foreign()),
    }
}

/// Refuses a message, or an array of them, that takes more than the caller's token allows.
pub(crate) fn permit(caller: Caller, headers: &HeaderMap, message: &Value) -> Result<(), Refused> {
    let messages = message.as_array().map_or(std::slice::from_ref(message), Vec::as_slice);
    let is_checked = caller.flaw != Some(AuthorizationFlaw::NoScopeCheck);
    if is_checked && messages.iter().any(changes) && !caller.scopes.changes {
        let named =
            if caller.flaw == Some(AuthorizationFlaw::NarrowChallenge) { Scopes::READING } else { Scopes::default() };
        return Err(Challenge::at(headers, caller.flaw).narrow(message.get("id"), named));
    }
    Ok(())
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
