//! Dynamic registration of clients (RFC 7591).

use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::Response;
use serde_json::{Value, json};

use super::super::super::super::authorization_flaw::AuthorizationFlaw;
use super::super::super::guard;
use super::super::super::refused::json_response;
use super::book::new_name;
use super::client::{Client, ClientAuthMethod, GrantType};
use super::oauth_error::OAuthError;
use super::{AuthorizationServer, redirect, unix_seconds};

/// A client may have so many addresses and keys at most.
const MOST_ENTRIES: usize = 16;

/// The longest name of a client that is kept, in characters.
const LONGEST_NAME: usize = 100;

/// The metadata in a body that is declared as JSON.
pub(crate) fn brought_json(headers: &HeaderMap, body: &str) -> Result<Value, OAuthError> {
    if !guard::brings_json(headers) {
        return Err(invalid("the header `Content-Type` must be `application/json`"));
    }
    serde_json::from_str(body).map_err(|_| invalid("the body is not JSON"))
}

impl AuthorizationServer {
    pub(crate) fn register(&self, asked: &Value) -> Result<Response, OAuthError> {
        let described = describe(asked, self.settings.flaw)?;
        let has_secret = matches!(described.method, ClientAuthMethod::SecretBasic | ClientAuthMethod::SecretPost);
        let secret = has_secret.then(new_name).transpose()?;
        let client = Client { id: format!("client-{}", new_name()?), secret, ..described };
        let mut answer = asked.clone();
        answer["client_id"] = json!(client.id);
        answer["client_id_issued_at"] = json!(unix_seconds());
        answer["grant_types"] = client.grants.iter().map(|grant| grant.name()).collect();
        answer["response_types"] = json!(["code"]);
        answer["token_endpoint_auth_method"] = json!(method_name(asked));
        if let Some(secret) = &client.secret {
            answer["client_secret"] = json!(secret);
            answer["client_secret_expires_at"] = json!(0);
        }
        self.book.lock().register(client);
        let mut answer = json_response(StatusCode::CREATED, &answer);
        answer.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        Ok(answer)
    }
}

fn invalid(description: impl Into<String>) -> OAuthError {
    OAuthError::new("invalid_client_metadata", description)
}

fn method_name(asked: &Value) -> &str {
    asked["token_endpoint_auth_method"].as_str().unwrap_or("client_secret_basic")
}

/// The client that its metadata describe, without an id and without a secret.
pub(crate) fn describe(asked: &Value, flaw: Option<AuthorizationFlaw>) -> Result<Client, OAuthError> {
    if !asked.is_object() {
        return Err(invalid("the metadata of a client are an object"));
    }
    let method = ClientAuthMethod::named(method_name(asked));
    let method = method.ok_or_else(|| invalid("`token_endpoint_auth_method` is unknown here"))?;
    let grants = match texts(asked, "grant_types")? {
        None => vec![GrantType::AuthorizationCode],
        Some(named) => {
            let grants = named.iter().map(|name| GrantType::named(name)).collect::<Option<Vec<_>>>();
            grants.ok_or_else(|| invalid("a value of `grant_types` is unknown here"))?
        }
    };
    let redirect_uris = texts(asked, "redirect_uris")?.unwrap_or_default();
    let takes_any = flaw == Some(AuthorizationFlaw::RegistersAnyRedirect);
    let is_wrong = |uri: &&String| !takes_any && !redirect::may_be_registered(uri);
    if redirect_uris.iter().find(is_wrong).is_some() {
        let description = "a redirect URI must have TLS, lead to this machine, or have the scheme of a program";
        return Err(OAuthError::new("invalid_redirect_uri", description));
    }
    if redirect_uris.is_empty() && grants.contains(&GrantType::AuthorizationCode) {
        return Err(OAuthError::new("invalid_redirect_uri", "`redirect_uris` is missing"));
    }
    let keys = asked["jwks"]["keys"].as_array().cloned().unwrap_or_default();
    if method == ClientAuthMethod::PrivateKeyJwt && (keys.is_empty() || keys.len() > MOST_ENTRIES) {
        return Err(invalid("a client that signs needs its keys in `jwks`"));
    }
    let name = asked["client_name"].as_str().unwrap_or("A client").chars().take(LONGEST_NAME).collect();
    Ok(Client { id: String::new(), name, method, secret: None, keys, redirect_uris, grants })
}

/// The texts of a list; nothing where there is no list.
fn texts(asked: &Value, name: &str) -> Result<Option<Vec<String>>, OAuthError> {
    let Some(list) = asked.get(name) else { return Ok(None) };
    let texts = list
        .as_array()
        .filter(|list| list.len() <= MOST_ENTRIES)
        .and_then(|list| list.iter().map(|entry| entry.as_str().map(str::to_owned)).collect::<Option<Vec<_>>>());
    texts.map(Some).ok_or_else(|| invalid(format!("`{name}` must be a list of at most {MOST_ENTRIES} texts")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metadata_of_clients() {
        let here = json!(["http://127.0.0.1/cb"]);
        for (metadata, expected) in [
            (json!({ "redirect_uris": here }), Ok(ClientAuthMethod::SecretBasic)),
            (json!({ "redirect_uris": here, "token_endpoint_auth_method": "none" }), Ok(ClientAuthMethod::None)),
            (
                json!({ "grant_types": ["client_credentials"], "token_endpoint_auth_method": "client_secret_post" }),
                Ok(ClientAuthMethod::SecretPost),
            ),
            (json!({ "redirect_uris": ["http://app.example/cb"] }), Err("invalid_redirect_uri")),
            (json!({ "redirect_uris": [] }), Err("invalid_redirect_uri")),
            (json!({}), Err("invalid_redirect_uri")),
            (json!({ "redirect_uris": "x" }), Err("invalid_client_metadata")),
            (json!({ "redirect_uris": here, "grant_types": ["password"] }), Err("invalid_client_metadata")),
            (json!({ "redirect_uris": here, "token_endpoint_auth_method": "x" }), Err("invalid_client_metadata")),
            (
                json!({ "redirect_uris": here, "token_endpoint_auth_method": "private_key_jwt" }),
                Err("invalid_client_metadata"),
            ),
            (json!([]), Err("invalid_client_metadata")),
        ] {
            let described = describe(&metadata, None).map(|client| client.method).map_err(|error| error.code);
            assert_eq!(described, expected, "{metadata}");
        }
    }
}
