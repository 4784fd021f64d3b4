//! Rules about several users: the calls that the scopes of each one's token allow, and the refusal of others.

use super::cases::calls_of;
use super::check::{Judged, broken};
use super::resource::{covers, is_served, token_not_served};
use super::rule::AuthorizationRule;
use super::walk::{ServerAnswer, Walk, shown_text};
use super::{NamedCall, OAuthUser};
use crate::check::CheckEnd;
use crate::source::Node;
use crate::transport::http::challenge_parameter;

const SERVED: &str = "a request with the token of the user was served";

/// A user's token, which the server serves.
struct UserToken {
    text: String,
    /// The scopes that were asked for.
    asked: String,
    /// The scopes that it has: those that were asked for, or others where the authorization server says so.
    scopes: String,
}

impl UserToken {
    /// Why it says nothing of a call that must be served (RFC 6749, 3.3).
    fn lack(&self) -> Option<CheckEnd> {
        let why = || format!("the token has fewer scopes than were asked for: `{}`", shown_text(&self.scopes));
        (!covers(&self.scopes, &self.asked)).then(|| CheckEnd::inconclusive(why()))
    }

    /// Why it says nothing of a call that must be refused; whoever asks for no scopes gets those that are usual.
    fn excess(&self) -> Option<CheckEnd> {
        let why = || format!("the token has more scopes than were asked for: `{}`", shown_text(&self.scopes));
        (!self.asked.is_empty() && !covers(&self.asked, &self.scopes)).then(|| CheckEnd::inconclusive(why()))
    }
}

async fn token(walk: &Walk<'_>) -> Result<UserToken, CheckEnd> {
    let authority = walk.authority().await?;
    let client = walk.client(&authority).await?;
    let (request, verifier) = walk.code_request(&authority)?;
    let tokens = walk.tokens(&authority, &client, &request, &verifier).await?;
    let text = tokens.access()?.to_owned();
    let answer = walk.ask(Some(&text)).await?;
    if answer.status != 200 {
        return Err(token_not_served(&answer));
    }
    let asked = authority.resource.scopes;
    Ok(UserToken { text, scopes: tokens.granted().unwrap_or_else(|| asked.clone()), asked })
}

/// The calls of the user whom a case is about.
fn calls<'a>(walk: &Walk<'a>, rule: AuthorizationRule) -> &'a [NamedCall] {
    walk.user.map(|(_, user)| calls_of(user, rule)).unwrap_or_default()
}

async fn make(walk: &Walk<'_>, token: &UserToken, call: &NamedCall) -> Result<ServerAnswer, CheckEnd> {
    walk.call(&token.text, &call.call.value, &walk.arguments(call)?).await
}

pub(crate) async fn may(walk: &Walk<'_>) -> Judged {
    let (token, name) = (token(walk).await?, walk.user_name());
    let calls = calls(walk, AuthorizationRule::UserMay);
    for call in calls {
        let (tool, answer) = (&call.call.value, make(walk, &token, call).await?);
        match answer.status {
            _ if is_served(&answer) => {}
            status @ (401 | 403) => {
                if let Some(unclear) = token.lack() {
                    return Err(unclear);
                }
                let scopes = shown_text(&token.scopes);
                let message =
                    format!("`{name}` may call `{tool}`, and with the scopes `{scopes}` is refused with {status}");
                return Err(broken(AuthorizationRule::UserMay, message, SERVED));
            }
            status => {
                let why =
                    format!("the call of `{tool}` by `{name}` failed, with the status {status}; check its `args`");
                return Err(CheckEnd::inconclusive(why));
            }
        }
    }
    Ok(format!("`{name}` is served {}", names(calls)))
}

pub(crate) async fn may_not(walk: &Walk<'_>) -> Judged {
    let (token, name) = (token(walk).await?, walk.user_name());
    let calls = calls(walk, AuthorizationRule::UserMayNot);
    for call in calls {
        let (tool, answer) = (&call.call.value, make(walk, &token, call).await?);
        if is_served(&answer) {
            if let Some(unclear) = token.excess() {
                return Err(unclear);
            }
            let scopes = shown_text(&token.scopes);
            let message = format!("`{name}` may not call `{tool}`, and with the scopes `{scopes}` is served");
            return Err(broken(AuthorizationRule::UserMayNot, message, SERVED));
        }
        if !matches!(answer.status, 401 | 403) {
            is_served_to_another(walk, call).await?;
        }
    }
    Ok(format!("`{name}` is refused {}", names(calls)))
}

pub(crate) async fn insufficient_scope(walk: &Walk<'_>) -> Judged {
    let (token, name) = (token(walk).await?, walk.user_name());
    let calls = calls(walk, AuthorizationRule::InsufficientScope);
    let mut refused = Vec::new();
    for call in calls {
        let (tool, answer) = (&call.call.value, make(walk, &token, call).await?);
        if is_served(&answer) {
            let why = format!("the call of `{tool}` by `{name}` is served; see the rule `user_may_not`");
            return Err(CheckEnd::inconclusive(why));
        }
        let Some(fault) = refusal_fault(&answer, &token.scopes) else {
            refused.push(call);
            continue;
        };
        let control = if matches!(answer.status, 401 | 403) {
            SERVED.to_owned()
        } else if walk.hides(&token.text, tool).await? {
            // A tool that the user does not have is unknown, and no scope is missing.
            continue;
        } else {
            is_served_to_another(walk, call).await?
        };
        let message = format!("the refusal of `{tool}` to `{name}` {fault}");
        return Err(broken(AuthorizationRule::InsufficientScope, message, &control));
    }
    if refused.is_empty() {
        let why = format!("the server hides {} from `{name}`, so no refusal names a scope", names(calls));
        return Err(CheckEnd::not_applicable(why));
    }
    Ok(format!("the refusals of {} name the missing scopes", names(refused)))
}

/// What is wrong with the refusal of a call for the scopes of its token, as half a sentence (RFC 6750, 3.1).
fn refusal_fault(answer: &ServerAnswer, scopes: &str) -> Option<String> {
    if answer.status != 403 {
        return Some(format!("has the status {} instead of 403", answer.status));
    }
    let Some(challenge) = &answer.challenge else { return Some("has no `WWW-Authenticate`".to_owned()) };
    if challenge_parameter(challenge, "error").as_deref() != Some("insufficient_scope") {
        return Some("does not say `error=\"insufficient_scope\"`".to_owned());
    }
    match challenge_parameter(challenge, "scope") {
        None => Some("names no `scope`".to_owned()),
        Some(named) if covers(scopes, &named) => {
            Some(format!("names only scopes that the token has: `{}`", shown_text(&named)))
        }
        Some(_) => None,
    }
}

/// A call that fails for any reason says nothing of scopes, unless another user is served it; says who.
async fn is_served_to_another(walk: &Walk<'_>, call: &NamedCall) -> Result<String, CheckEnd> {
    let tool = &call.call.value;
    let arguments = |call: &NamedCall| call.args.as_ref().map(Node::to_json);
    let is_same = |other: &NamedCall| other.call.value == *tool && arguments(other) == arguments(call);
    let makes_it = |user: &OAuthUser| user.may.iter().any(is_same);
    let other = walk.settings.users.iter().position(|(_, user)| makes_it(user));
    let nobody = || {
        CheckEnd::inconclusive(format!(
            "the call of `{tool}` failed without the status 403, and nobody shows that it works; list it under `may` of \
             another user"
        ))
    };
    let other = Walk::of_user(walk.context, walk.session, walk.settings, other.ok_or_else(nobody)?)?;
    let token = token(&other).await?;
    if is_served(&make(&other, &token, call).await?) {
        return Ok(format!("the same call was served to `{}`", other.user_name()));
    }
    let why = format!("the call of `{tool}` fails for `{}`, too, who may make it", other.user_name());
    Err(CheckEnd::inconclusive(why))
}

fn names<'a>(calls: impl IntoIterator<Item = &'a NamedCall>) -> String {
    calls.into_iter().map(|call| format!("`{}`", call.call.value)).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn other_scopes_than_those_asked_for_leave_a_call_unclear() {
        for (asked, granted, lacks, exceeds) in [
            ("read", "read", false, false),
            ("read write", "write read", false, false),
            ("read write", "read", true, false),
            ("read", "read write", false, true),
            ("read", "write", true, true),
            ("", "read write", false, false),
        ] {
            let token = UserToken { text: String::new(), asked: asked.to_owned(), scopes: granted.to_owned() };
            assert_eq!((token.lack().is_some(), token.excess().is_some()), (lacks, exceeds), "{asked}: {granted}");
        }
    }

    #[test]
    fn a_refusal_says_which_scopes_are_missing() {
        let good = r#"Bearer error="insufficient_scope", scope="read write""#;
        for (status, challenge, expected) in [
            (403, Some(good), None),
            (401, Some(good), Some("the status 401")),
            (200, None, Some("the status 200")),
            (403, None, Some("no `WWW-Authenticate`")),
            (403, Some(r#"Bearer error="invalid_token", scope="write""#), Some("does not say")),
            (403, Some(r#"Bearer error="insufficient_scope""#), Some("names no `scope`")),
            (403, Some(r#"Bearer error="insufficient_scope", scope="read""#), Some("only scopes that the token has")),
            (403, Some(r#"Bearer error="insufficient_scope", scope="""#), Some("only scopes that the token has")),
        ] {
            let challenge = challenge.map(str::to_owned);
            let answer = ServerAnswer { status, challenge, clock: None, message: Value::Null };
            let found = refusal_fault(&answer, "read");
            assert_eq!(found.is_some(), expected.is_some(), "{answer:?}: {found:?}");
            assert!(found.is_none_or(|found| found.contains(expected.unwrap_or_default())), "{answer:?}");
        }
    }
}
