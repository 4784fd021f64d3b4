//! Rules about the answers of the token endpoint, and about refresh tokens.

use serde_json::Value;

use super::check::{Judged, broken, must_be_refused};
use super::client::OAuthClient;
use super::rule::AuthorizationRule;
use super::walk::{Authority, Issue, TokenAnswer, Walk, shown_text};
use super::web::WebAnswer;
use crate::check::CheckEnd;

/// A code that no server issued.
const UNKNOWN_CODE: &str = "mcprove-unknown-code";

const CONTROL: &str = "a code that came without any mistake was exchanged for a token";
const REFRESHED: &str = "a refresh token was exchanged for another access token";

/// Tokens without any mistake, and who got them.
async fn issued(walk: &Walk<'_>) -> Result<(Authority, OAuthClient, TokenAnswer), CheckEnd> {
    let authority = walk.authority().await?;
    let client = walk.client(&authority).await?;
    let (request, verifier) = walk.code_request(&authority)?;
    let tokens = walk.tokens(&authority, &client, &request, &verifier).await?;
    Ok((authority, client, tokens))
}

pub(crate) async fn no_store(walk: &Walk<'_>) -> Judged {
    let (_, _, tokens) = issued(walk).await?;
    if is_unstored(&tokens.answer.cache_control) {
        return Ok("the answer has `Cache-Control: no-store`".to_owned());
    }
    let message = "an answer with tokens has no `Cache-Control: no-store`, so that caches may keep it";
    Err(broken(AuthorizationRule::NoStore, message, CONTROL))
}

pub(crate) async fn expires_in(walk: &Walk<'_>) -> Judged {
    let (_, _, tokens) = issued(walk).await?;
    let written = &tokens.answer.json()["expires_in"];
    match lifetime_fault(written) {
        _ if written.is_null() => Err(CheckEnd::not_applicable("the answer with the token has no `expires_in`")),
        None => Ok(format!("`expires_in` is {}", shown_text(&written.to_string()))),
        Some(fault) => {
            let message = format!("`expires_in` is `{}`, which is {fault}", shown_text(&written.to_string()));
            Err(broken(AuthorizationRule::ExpiresIn, message, CONTROL))
        }
    }
}

/// What is wrong with the lifetime of a token, as half a sentence.
fn lifetime_fault(written: &Value) -> Option<&'static str> {
    match written.as_f64() {
        Some(seconds) if seconds < 0.0 => Some("less than no time"),
        Some(_) => None,
        None => Some("no number"),
    }
}

fn is_unstored(cache_control: &str) -> bool {
    cache_control.split(',').any(|directive| directive.trim().eq_ignore_ascii_case("no-store"))
}

pub(crate) async fn token_errors(walk: &Walk<'_>) -> Judged {
    let (authority, client, _) = issued(walk).await?;
    let (request, verifier) = walk.code_request(&authority)?;
    let refused = walk.exchange(&authority, &client, &request, UNKNOWN_CODE, Some(&verifier)).await?;
    if refused.answer.status == 429 || refused.answer.status >= 500 {
        return Err(CheckEnd::inconclusive(refused.answer.summary()));
    }
    match token_error(&refused.answer) {
        None => Ok(refused.answer.summary()),
        Some(message) => Err(broken(AuthorizationRule::TokenErrors, message, CONTROL)),
    }
}

/// What is wrong with the refusal of an unknown code.
fn token_error(answer: &WebAnswer) -> Option<String> {
    let body = answer.json();
    if !matches!(answer.status, 400 | 401) {
        return Some(format!("an unknown code is answered with {} instead of 400", answer.status));
    }
    if !answer.content_type.to_ascii_lowercase().contains("json") {
        return Some("the refusal of an unknown code is not declared as JSON".to_owned());
    }
    (!body["error"].is_string()).then(|| "the refusal of an unknown code has no `error`".to_owned())
}

/// A refresh token, and the answer to its use, which is the control of what follows.
async fn refreshed(walk: &Walk<'_>) -> Result<(Authority, OAuthClient, String, TokenAnswer), CheckEnd> {
    let (authority, client, tokens) = issued(walk).await?;
    let no_refresh = || CheckEnd::not_applicable("the authorization server issues no refresh tokens");
    let refresh = tokens.refresh.ok_or_else(no_refresh)?;
    let next = walk.refresh(&authority, &client, &refresh).await?;
    if next.issue() != Issue::Issued {
        return Err(CheckEnd::inconclusive(format!("a fresh refresh token was refused: {}", next.answer.summary())));
    }
    Ok((authority, client, refresh, next))
}

/// The rules about rotation are those of public clients.
fn only_public(client: &OAuthClient) -> Result<(), CheckEnd> {
    let why = "the rule is about public clients, and this one has a secret";
    if client.is_public() { Ok(()) } else { Err(CheckEnd::not_applicable(why)) }
}

pub(crate) async fn refresh_rotation(walk: &Walk<'_>) -> Judged {
    let (_, client, refresh, next) = refreshed(walk).await?;
    only_public(&client)?;
    if next.refresh.is_some_and(|next| next != refresh) {
        return Ok("a refresh token is replaced when it is used".to_owned());
    }
    let message = "a refresh token of a public client is not replaced when it is used";
    Err(broken(AuthorizationRule::RefreshRotation, message, REFRESHED))
}

pub(crate) async fn refresh_reuse(walk: &Walk<'_>) -> Judged {
    let (authority, client, refresh, next) = refreshed(walk).await?;
    only_public(&client)?;
    if next.refresh.is_none_or(|next| next == refresh) {
        return Err(CheckEnd::not_applicable("refresh tokens are not replaced; see the rule `refresh_rotation`"));
    }
    let message = "a refresh token was accepted again after it was replaced";
    let again = walk.refresh(&authority, &client, &refresh).await?;
    must_be_refused(AuthorizationRule::RefreshReuse, &again, message, REFRESHED)
}

pub(crate) async fn refresh_revocation(walk: &Walk<'_>) -> Judged {
    let (authority, client, refresh, next) = refreshed(walk).await?;
    let current = next.refresh.unwrap_or(refresh);
    let endpoint = authority.endpoint("revocation_endpoint")?;
    let fields = [("token", current.as_str()), ("token_type_hint", "refresh_token")];
    let answer = walk.post_as(&client, &endpoint, &fields).await?;
    if answer.status != 200 {
        return Err(CheckEnd::inconclusive(format!("the refresh token could not be revoked: {}", answer.summary())));
    }
    let message = "a refresh token was accepted after it was revoked";
    let again = walk.refresh(&authority, &client, &current).await?;
    must_be_refused(AuthorizationRule::RefreshRevocation, &again, message, REFRESHED)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_lifetime_is_a_number_from_0() {
        for (written, expected) in [
            (json!(3600), None),
            (json!(3600.0), None),
            (json!(0), None),
            (json!(u64::MAX), None),
            (json!(-1), Some("less than no time")),
            (json!("3600"), Some("no number")),
            (json!([]), Some("no number")),
        ] {
            assert_eq!(lifetime_fault(&written), expected, "{written}");
        }
    }

    #[test]
    fn refusals_have_a_status_and_a_form() {
        for (status, content_type, body, expected) in [
            (400, "application/json", r#"{"error":"invalid_grant"}"#, None),
            (401, "application/json;charset=UTF-8", r#"{"error":"invalid_client"}"#, None),
            (200, "application/json", r#"{"error":"invalid_grant"}"#, Some("with 200")),
            (500, "application/json", r#"{"error":"server_error"}"#, Some("with 500")),
            (400, "text/html", "<p>", Some("not declared as JSON")),
            (400, "application/json", "{}", Some("no `error`")),
        ] {
            let (cache_control, location) = (String::new(), None);
            let (content_type, body) = (content_type.to_owned(), body.to_owned());
            let url = "http://127.0.0.1/token".parse().unwrap();
            let answer = WebAnswer { url, status, cache_control, content_type, location, body };
            let found = token_error(&answer);
            assert_eq!(found.is_some(), expected.is_some(), "{found:?}");
            assert!(found.is_none_or(|found| found.contains(expected.unwrap_or_default())), "{expected:?}");
        }
        for (cache_control, expected) in
            [("no-store", true), ("private, No-Store", true), ("no-cache", false), ("", false)]
        {
            assert_eq!(is_unstored(cache_control), expected, "{cache_control}");
        }
    }
}
