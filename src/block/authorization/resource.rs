//! Rules about the tested server: which tokens it serves.

use std::time::Duration;

use serde_json::Value;

use super::check::{Judged, broken};
use super::client::OAuthClient;
use super::rule::AuthorizationRule;
use super::walk::{Authority, CodeRequest, Issue, ServerAnswer, TokenAnswer, Walk, shown_text};
use crate::check::CheckEnd;
use crate::event::Reason;
use crate::source::duration_text;
use crate::transport::http::{challenge_parameter, token_claims};

/// A server may count whole seconds.
const ROUNDING: Duration = Duration::from_secs(1);

const SERVED: &str = "a request with a token that was issued for this server was served";

/// A token that the server serves, and the way to others.
struct Served {
    authority: Authority,
    client: OAuthClient,
    tokens: TokenAnswer,
}

async fn served(walk: &Walk<'_>) -> Result<Served, CheckEnd> {
    let authority = walk.authority().await?;
    let client = walk.client(&authority).await?;
    let (request, verifier) = walk.code_request(&authority)?;
    let tokens = walk.tokens(&authority, &client, &request, &verifier).await?;
    let answer = walk.ask(Some(tokens.access()?)).await?;
    if answer.status == 200 {
        return Ok(Served { authority, client, tokens });
    }
    Err(token_not_served(&answer))
}

/// The end of a walk whose token, without any mistake, is not served.
pub(crate) fn token_not_served(answer: &ServerAnswer) -> CheckEnd {
    let why = answer.clock.as_deref().unwrap_or("see `scopes`");
    CheckEnd::inconclusive(format!("the server answers a valid token with {}; {why}", answer.status))
}

/// The end of a walk whose token must be refused.
fn token_must_be_refused(rule: AuthorizationRule, answer: &ServerAnswer, message: &str) -> Judged {
    match answer.status {
        200..300 => Err(broken(rule, message, SERVED)),
        400..500 => Ok(format!("the server answered with {}", answer.status)),
        status => Err(CheckEnd::inconclusive(format!("the server answered with {status}"))),
    }
}

pub(crate) async fn audience(walk: &Walk<'_>) -> Judged {
    let Served { authority, client, tokens: own } = served(walk).await?;
    let others = walk.other_resources(&authority.resource.name)?;
    let mut note = None;
    for other in &others {
        note = Some(other_audience(walk, &authority, &client, &own, other).await?);
    }
    let only_own =
        || CheckEnd::Skipped(Reason::NotGiven("`other_resource` names no other resource than the server".to_owned()));
    note.ok_or_else(only_own)
}

/// Tries a token of another resource.
async fn other_audience(
    walk: &Walk<'_>,
    authority: &Authority,
    client: &OAuthClient,
    own: &TokenAnswer,
    other: &str,
) -> Judged {
    let (request, verifier) = walk.code_request(authority)?;
    let request = CodeRequest { resource: other.to_owned(), ..request };
    let code = walk.authorize(authority, client, &request).await?.code()?;
    let tokens = walk.exchange(authority, client, &request, &code, Some(&verifier)).await?;
    if tokens.issue() != Issue::Issued {
        let why = format!("no token was issued for `other_resource`: {}", tokens.answer.summary());
        return Err(CheckEnd::inconclusive(why));
    }
    if names_audience(tokens.access()?, &authority.resource.name) {
        let why = "the token names this server as its audience, whatever `resource` says, so it is not one of another resource";
        return Err(CheckEnd::inconclusive(why));
    }
    if is_for_same(own.access()?, tokens.access()?) {
        let why = "both tokens name the same audience, so the authorization server leaves `resource` out of account";
        return Err(CheckEnd::inconclusive(why));
    }
    let answer = walk.ask(Some(tokens.access()?)).await?;
    let message = format!("a token that was issued for `{}` is served", shown_text(other));
    token_must_be_refused(AuthorizationRule::Audience, &answer, &message)
}

/// True if a token is a JWT for this audience (RFC 9068, 2.2).
fn names_audience(token: &str, audience: &str) -> bool {
    audiences(token).iter().any(|named| named == audience)
}

/// True if two tokens are JWTs for the same audience.
fn is_for_same(one: &str, other: &str) -> bool {
    let named = audiences(one);
    !named.is_empty() && named == audiences(other)
}

/// The audiences of a token; none where it is no JWT.
fn audiences(token: &str) -> Vec<String> {
    let claims = token_claims(token);
    let named = claims["aud"].as_array().map_or(std::slice::from_ref(&claims["aud"]), Vec::as_slice);
    named.iter().filter_map(Value::as_str).map(str::to_owned).collect()
}

pub(crate) async fn expiry(walk: &Walk<'_>) -> Judged {
    let tokens = served(walk).await?.tokens;
    let lifetime = tokens.expires_in.map(Duration::from_secs);
    let lifetime = lifetime.ok_or_else(|| CheckEnd::not_applicable("the answer with the token has no `expires_in`"))?;
    let (leeway, longest) = (walk.settings.leeway, walk.settings.longest_wait);
    let wait = lifetime.saturating_add(leeway);
    if wait > longest {
        let why = format!(
            "a token lives {}, and {} more are allowed for clocks that differ; let the authorization server issue shorter ones, \
             or give a longer `longest_wait`",
            duration_text(lifetime),
            duration_text(leeway)
        );
        return Err(CheckEnd::Skipped(Reason::NotGiven(why)));
    }
    tokio::time::sleep(wait + ROUNDING).await;
    let answer = walk.ask(Some(tokens.access()?)).await?;
    let message = format!(
        "a token that lives {} is served {} after its end",
        duration_text(lifetime),
        duration_text(leeway + ROUNDING)
    );
    token_must_be_refused(AuthorizationRule::Expiry, &answer, &message)
}

pub(crate) async fn revocation(walk: &Walk<'_>) -> Judged {
    let Served { authority, client, tokens } = served(walk).await?;
    let endpoint = authority.endpoint("revocation_endpoint")?;
    let access = tokens.access()?;
    let answer = walk.post_as(&client, &endpoint, &[("token", access), ("token_type_hint", "access_token")]).await?;
    if answer.status != 200 {
        return Err(CheckEnd::not_applicable(format!("access tokens cannot be revoked: {}", answer.summary())));
    }
    let answer = walk.ask(Some(access)).await?;
    token_must_be_refused(AuthorizationRule::Revocation, &answer, "an access token is served after it was revoked")
}

/// The call that needs more scopes.
fn step_up_call(walk: &Walk<'_>) -> Result<(String, Value), CheckEnd> {
    let not_given = || CheckEnd::Skipped(Reason::NotGiven("name a call under `step_up`".to_owned()));
    let step_up = walk.settings.step_up.as_ref().ok_or_else(not_given)?;
    Ok((step_up.call.value.clone(), walk.arguments(step_up)?))
}

/// True if a call was served: with a result that is no error.
pub(crate) fn is_served(answer: &ServerAnswer) -> bool {
    answer.status == 200 && answer.message["result"].is_object() && answer.message["result"]["isError"] != true
}

pub(crate) async fn scope(walk: &Walk<'_>) -> Judged {
    let Served { authority, tokens, .. } = served(walk).await?;
    let (tool, arguments) = step_up_call(walk)?;
    if let Some(granted) = tokens.granted().filter(|granted| !covers(&authority.resource.scopes, granted)) {
        let why = format!("the token has more scopes than were asked for: `{}`", shown_text(&granted));
        return Err(CheckEnd::inconclusive(why));
    }
    let answer = walk.call(tokens.access()?, &tool, &arguments).await?;
    if is_served(&answer) {
        let scopes = shown_text(&authority.resource.scopes);
        let message = format!("`{tool}` is served with a token of the scopes `{scopes}`, though it needs more");
        return Err(broken(AuthorizationRule::Scope, message, SERVED));
    }
    Ok(format!("the call was answered with {}", answer.status))
}

pub(crate) async fn step_up(walk: &Walk<'_>) -> Judged {
    let Served { authority, client, tokens } = served(walk).await?;
    let (tool, arguments) = step_up_call(walk)?;
    let refused = walk.call(tokens.access()?, &tool, &arguments).await?;
    let named = needed_scopes(&refused);
    let no_scopes = "the refusal has no `insufficient_scope` with scopes; see the compliance rules about scopes";
    let named = named.ok_or_else(|| CheckEnd::not_applicable(no_scopes))?;
    let (request, verifier) = walk.code_request(&authority)?;
    let wider = CodeRequest { scopes: union(&request.scopes, &named), ..request };
    let tokens = walk.tokens(&authority, &client, &wider, &verifier).await?;
    if let Some(granted) = tokens.granted().filter(|granted| !covers(granted, &named)) {
        let why = format!("the token has fewer scopes than were asked for: `{}`", shown_text(&granted));
        return Err(CheckEnd::inconclusive(why));
    }
    let answer = walk.call(tokens.access()?, &tool, &arguments).await?;
    match needed_scopes(&answer) {
        None if answer.status < 400 => Ok(format!("with `{}`, the call is not refused", shown_text(&wider.scopes))),
        None => Err(CheckEnd::inconclusive(format!(
            "with the scopes that it needs, the call is answered with {}",
            answer.status
        ))),
        Some(_) => {
            let message = format!(
                "`{tool}` is refused for its scopes with a token of all that the refusal named: `{}`",
                shown_text(&named)
            );
            Err(broken(AuthorizationRule::StepUp, message, SERVED))
        }
    }
}

/// The scopes that a refusal names, if it is one for too few (RFC 6750, 3.1).
fn needed_scopes(answer: &ServerAnswer) -> Option<String> {
    let challenge = answer.challenge.as_deref().filter(|_| answer.status == 403)?;
    let error = challenge_parameter(challenge, "error");
    challenge_parameter(challenge, "scope").filter(|_| error.as_deref() == Some("insufficient_scope"))
}

/// Returns true if every scope of `wanted` is among `scopes`.
pub(crate) fn covers(scopes: &str, wanted: &str) -> bool {
    let all: Vec<&str> = scopes.split_whitespace().collect();
    wanted.split_whitespace().all(|scope| all.contains(&scope))
}

/// All scopes of both lists; a client asks for what it has, too.
fn union(scopes: &str, others: &str) -> String {
    let mut all: Vec<&str> = scopes.split_whitespace().collect();
    for scope in others.split_whitespace() {
        if !all.contains(&scope) {
            all.push(scope);
        }
    }
    all.join(" ")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn answer(status: u16, challenge: Option<&str>, message: Value) -> ServerAnswer {
        ServerAnswer { status, challenge: challenge.map(str::to_owned), clock: None, message }
    }

    #[test]
    fn a_refusal_for_scopes_names_them() {
        let whole = r#"Bearer error="insufficient_scope", scope="a b""#;
        for (status, challenge, expected) in [
            (403, Some(whole), Some("a b")),
            (401, Some(whole), None),
            (403, Some(r#"Bearer scope="a""#), None),
            (403, Some(r#"Bearer error="insufficient_scope""#), None),
            (403, None, None),
        ] {
            let needed = needed_scopes(&answer(status, challenge, Value::Null));
            assert_eq!(needed.as_deref(), expected, "{challenge:?}");
        }
        assert_eq!(union("a b", "b c"), "a b c");
        for (scopes, wanted, expected) in [("a b", "b", true), ("a", "a b", false), ("", "", true), ("a", "", true)] {
            assert_eq!(covers(scopes, wanted), expected, "{scopes} {wanted}");
        }
    }

    #[test]
    fn a_token_may_name_its_audience() {
        // {"aud":["a","b"]} and {"aud":"a"}
        for (token, expected) in [
            ("e30.eyJhdWQiOlsiYSIsImIiXX0.x", true),
            ("e30.eyJhdWQiOiJhIn0.x", true),
            ("e30.e30.x", false),
            ("opaque", false),
            ("a.b.c", false),
        ] {
            assert_eq!(names_audience(token, "a"), expected, "{token}");
        }
        assert!(is_for_same("e30.eyJhdWQiOiJhIn0.x", "e30.eyJhdWQiOiJhIn0.y"));
        assert!(!is_for_same("e30.eyJhdWQiOiJhIn0.x", "e30.eyJhdWQiOlsiYSIsImIiXX0.x"));
        assert!(!is_for_same("opaque", "opaque"));
    }

    #[test]
    fn only_a_result_without_an_error_is_served() {
        for (status, message, expected) in [
            (200, json!({"result": {"content": []}}), true),
            (200, json!({"result": {"content": [], "isError": true}}), false),
            (200, json!({"error": {"code": -32602}}), false),
            (403, json!({"result": {}}), false),
            (200, Value::Null, false),
        ] {
            assert_eq!(is_served(&answer(status, None, message.clone())), expected, "{status} {message}");
        }
    }

    #[test]
    fn a_status_decides_about_a_token() {
        for (status, expected) in [(200, "broken"), (401, "kept"), (403, "kept"), (500, "unclear"), (302, "unclear")] {
            let judged =
                token_must_be_refused(AuthorizationRule::Audience, &answer(status, None, Value::Null), "it is served");
            let shown = match judged {
                Ok(_) => "kept",
                Err(CheckEnd::Failed(_)) => "broken",
                Err(_) => "unclear",
            };
            assert_eq!(shown, expected, "{status}");
        }
    }
}
