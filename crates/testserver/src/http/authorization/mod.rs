//! Who may ask: the server as a resource server of OAuth 2.1, once it has tokens to hold requests to.
//!
//! There are two users, and one narrow token of the first; every other token is a foreign one, whatever it was issued
//! for. Tokens come in the header `Authorization` alone: the query is never looked at. A request without a good token is
//! told where the metadata are (`challenge`), which say who issues tokens (`metadata`). Knows nothing about sessions and
//! tools, but for whether a tool changes something.

mod challenge;
mod metadata;

use axum::http::{HeaderMap, HeaderName, header};
use serde_json::Value;

use self::challenge::Challenge;
pub(crate) use self::metadata::answer as metadata;
use super::super::server::Conduct;
use super::super::settings::{Rules, TokenUser, is_token};
use super::super::tools;
use super::refused::Refused;

/// The scope that every request requires.
const READ: &str = "users:read";

/// The scope that calls require in addition if they change something.
const WRITE: &str = "users:write";

/// Who asks, and what for.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Caller {
    pub(crate) user: TokenUser,
    scope: TokenScope,
}

/// The requests that a token allows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum TokenScope {
    /// Everything.
    #[default]
    Whole,
    /// All but changes.
    Reading,
}

/// The caller whose token the request carries; without tokens of the server's own, everybody is one.
pub(crate) fn check(headers: &HeaderMap, conduct: &Conduct) -> Result<Caller, Refused> {
    if conduct.rules.token().is_none() || !conduct.fault.hooks().checks_tokens {
        return Ok(Caller::default());
    }
    let challenge = Challenge::at(headers);
    match bearer(headers) {
        Bearer::Missing => Err(challenge.missing()),
        Bearer::Malformed => Err(challenge.refuse_malformed()),
        Bearer::Token(token) => find_caller(&conduct.rules, token).ok_or_else(|| challenge.foreign()),
    }
}

/// Refuses a message, or an array of them, that takes more than the caller's token allows.
pub(crate) fn permit(caller: Caller, headers: &HeaderMap, message: &Value) -> Result<(), Refused> {
    let messages = message.as_array().map_or(std::slice::from_ref(message), Vec::as_slice);
    if messages.iter().any(changes) && caller.scope == TokenScope::Reading {
        return Err(Challenge::at(headers).narrow(message.get("id")));
    }
    Ok(())
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
        (rules.second_token(), Caller { user: TokenUser::Second, scope: TokenScope::Whole }),
        (rules.low_scope_token(), Caller { user: TokenUser::First, scope: TokenScope::Reading }),
    ];
    known.into_iter().find(|(known, _)| *known == Some(token)).map(|(_, caller)| caller)
}
