//! Rules about sessions of a user, in the revisions that have them: whose they are, and that they replace no token (MCP
//! security best practices, Session Hijacking).

use super::check::{Judged, broken};
use super::resource::token_not_served;
use super::rule::AuthorizationRule;
use super::walk::{ServerAnswer, Walk};
use crate::check::CheckEnd;

/// An id of a session that no server gave.
const UNKNOWN_SESSION: &str = "7c1f0b52-5a0e-4b6c-9d1e-6d6370726f76";

/// A token that no server issued.
const UNKNOWN_TOKEN: &str = "mcprove-unknown-token";

const CONTROL: &str = "each user is served in a session of their own, and an unknown session id is refused";

const OWN: &str = "a request with a token is served in the session, and one outside without a valid token is refused";

/// A session that a user opened with a token.
struct UserSession<'a> {
    walk: &'a Walk<'a>,
    token: String,
    id: String,
}

impl<'a> UserSession<'a> {
    /// Logs the user in, and opens a session that serves a request.
    async fn open(walk: &'a Walk<'a>) -> Result<Self, CheckEnd> {
        if !walk.is_in_sessions() {
            return Err(CheckEnd::not_applicable("this revision has no sessions over HTTP"));
        }
        let authority = walk.authority().await?;
        let client = walk.client(&authority).await?;
        let (request, verifier) = walk.code_request(&authority)?;
        let token = walk.tokens(&authority, &client, &request, &verifier).await?.access()?.to_owned();
        let (opened, id) = walk.open_session(&token).await?;
        if opened.status != 200 {
            return Err(token_not_served(&opened));
        }
        let id = id.ok_or_else(|| CheckEnd::not_applicable("the server gives no session ids"))?;
        let session = Self { walk, token, id };
        if is_served(&session.ping(&session.id).await?) {
            return Ok(session);
        }
        session.end().await;
        Err(CheckEnd::inconclusive(format!("`ping` of {} is not served in a session of their own", walk.user_name())))
    }

    /// Sends `ping` with the token of the user.
    async fn ping(&self, session_id: &str) -> Result<ServerAnswer, CheckEnd> {
        self.walk.ping(Some(&self.token), session_id).await
    }

    /// True if the user gets a stream of events under a session id.
    async fn listens(&self, session_id: &str) -> bool {
        let head = self.walk.head("GET", Some(&self.token), session_id).await;
        head.is_some_and(|head| head.status == 200 && head.is_stream)
    }

    async fn end(&self) {
        self.walk.end_session(Some(&self.token), Some(&self.id)).await;
    }
}

pub(crate) async fn user(walk: &Walk<'_>) -> Judged {
    let other = Walk::of_user(walk.context, walk.session, walk.settings, 0)?;
    if other.has_login_of(walk) {
        let why = format!("`{}` under `users` has the login of the block, so both are one user", other.user_name());
        return Err(CheckEnd::inconclusive(why));
    }
    let owner = UserSession::open(walk).await?;
    let judged = match UserSession::open(&other).await {
        Ok(other) => {
            let judged = judge_user(&owner, &other).await;
            other.end().await;
            judged
        }
        Err(end) => Err(end),
    };
    owner.end().await;
    judged
}

/// Uses the session of one user with the token of another one.
async fn judge_user(owner: &UserSession<'_>, other: &UserSession<'_>) -> Judged {
    if owner.id == other.id || is_served(&other.ping(UNKNOWN_SESSION).await?) {
        return Err(CheckEnd::not_applicable("the server serves any session id, so sessions belong to nobody"));
    }
    let name = other.walk.user_name();
    let stolen = |what: &str| {
        let message = format!("in the session of another user, the server {what} `{name}`");
        broken(AuthorizationRule::SessionUser, message, CONTROL)
    };
    if is_served(&other.ping(&owner.id).await?) {
        return Err(stolen("serves a request of"));
    }
    if other.listens(&owner.id).await && !other.listens(UNKNOWN_SESSION).await {
        return Err(stolen("opens a stream of events for"));
    }
    let ended = || CheckEnd::inconclusive("the owner is no longer served in the session, for an unclear reason");
    if !is_served(&owner.ping(&owner.id).await?) {
        return Err(ended());
    }
    let deleted = other.walk.head("DELETE", Some(&other.token), &owner.id).await;
    match is_ended_by(deleted.map(|head| head.status), &owner.ping(&owner.id).await?) {
        Some(true) => Err(stolen("ends the session for")),
        Some(false) => Ok(format!("requests, streams and the end of the session are refused to `{name}`")),
        None => Err(ended()),
    }
}

/// True if a `DELETE` with this status ended a session, whose owner then gets this answer; `None` where that is unclear.
fn is_ended_by(deleted: Option<u16>, owner: &ServerAnswer) -> Option<bool> {
    if is_served(owner) {
        return Some(false);
    }
    let is_taken = deleted.is_some_and(|status| (200..300).contains(&status));
    (is_taken && owner.status == 404).then_some(true)
}

pub(crate) async fn token(walk: &Walk<'_>) -> Judged {
    let session = UserSession::open(walk).await?;
    let judged = judge_token(&session).await;
    session.end().await;
    judged
}

/// Sends requests in a session without a valid token.
async fn judge_token(session: &UserSession<'_>) -> Judged {
    // A server that serves any token, or fails over one that it does not know, says nothing about sessions.
    let outside = session.walk.ask(Some(UNKNOWN_TOKEN)).await?;
    let is_judged = |token: Option<&str>| token.is_none() || (400..500).contains(&outside.status);
    for (token, message) in [
        (None, "in a session, a request without a token is served"),
        (Some(UNKNOWN_TOKEN), "in a session, a request with a token that nobody issued is served"),
    ] {
        if is_judged(token) && is_served(&session.walk.ping(token, &session.id).await?) {
            return Err(broken(AuthorizationRule::SessionToken, message, OWN));
        }
    }
    Ok("requests in a session are refused without a valid token".to_owned())
}

/// True for a result, and for nothing that refuses in whatever form.
fn is_served(answer: &ServerAnswer) -> bool {
    (200..300).contains(&answer.status) && answer.message["result"].is_object()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn only_a_result_is_served() {
        for (status, message, expected) in [
            (200, json!({ "result": {} }), true),
            (200, json!({ "error": { "code": -32600 } }), false),
            (202, Value::Null, false),
            (404, json!({ "result": {} }), false),
            (500, Value::Null, false),
        ] {
            let answer = ServerAnswer { status, challenge: None, clock: None, message };
            assert_eq!(is_served(&answer), expected, "{answer:?}");
        }
    }

    #[test]
    fn a_session_ends_for_a_delete_that_is_taken() {
        let served = json!({ "result": {} });
        for (deleted, status, message, expected) in [
            (Some(200), 404, Value::Null, Some(true)),
            (Some(204), 404, Value::Null, Some(true)),
            (Some(200), 200, served.clone(), Some(false)),
            (Some(403), 200, served, Some(false)),
            (Some(403), 404, Value::Null, None),
            (None, 404, Value::Null, None),
            (Some(200), 500, Value::Null, None),
        ] {
            let owner = ServerAnswer { status, challenge: None, clock: None, message };
            assert_eq!(is_ended_by(deleted, &owner), expected, "{deleted:?} {owner:?}");
        }
    }
}
