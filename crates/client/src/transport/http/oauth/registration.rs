//! Clients that register themselves (RFC 7591).

use reqwest::Url;
use serde_json::json;

use super::asking::{Asking, Problem};
use super::token_request::ClientProof;

/// A client as the authorization server registered it.
pub(crate) struct RegisteredClient {
    pub(crate) id: String,
    pub(crate) proof: ClientProof,
    /// How it proves who it is, where the answer says so: a server may register another method than was asked for.
    pub(crate) method: Option<String>,
}

/// Registers a client.
pub(crate) async fn register(
    asking: &Asking<'_>,
    endpoint: &Url,
    redirect_uri: &Url,
    scope: &str,
) -> Result<RegisteredClient, Problem> {
    let mut about = json!({
        "client_name": "mcprove",
        "redirect_uris": [redirect_uri.as_str()],
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": "none",
        // OpenID Connect Registration, 2: native clients come back to this machine, web clients over TLS.
        "application_type": if redirect_uri.scheme() == "https" { "web" } else { "native" },
    });
    if !scope.is_empty() {
        about["scope"] = scope.into();
    }
    let answer = asking.post_json(endpoint, &about).await?;
    let registered = || Problem::of(format!("no client could be registered: {}", answer.summary()));
    let cure = "register a client with the authorization server by hand, and write its `client_id` under `auth`";
    let body: serde_json::Value = serde_json::from_slice(&answer.body).unwrap_or_default();
    let text = |member: &str| body[member].as_str().filter(|text| !text.is_empty());
    for secret in ["client_secret", "registration_access_token"].into_iter().filter_map(text) {
        asking.redactor.learn_foreign(secret);
    }
    match text("client_id").filter(|_| answer.is_success()) {
        Some(id) => {
            let method = text("token_endpoint_auth_method");
            let secret = text("client_secret").filter(|_| method != Some("none"));
            let proof = secret.map_or(ClientProof::Nothing, |secret| ClientProof::Secret(secret.to_owned()));
            Ok(RegisteredClient { id: id.to_owned(), proof, method: method.map(str::to_owned) })
        }
        None => Err(registered().with_cure(cure)),
    }
}
