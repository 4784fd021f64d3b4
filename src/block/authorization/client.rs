//! Clients of the authorization server: one that the suite names, or one that is registered (RFC 7591).

use std::collections::BTreeMap;
use std::fmt;

use parking_lot::Mutex;
use serde_json::{Value, json};

use super::SecretPlace;
use crate::transport::http::client_credentials;

/// A client.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct OAuthClient {
    pub(crate) id: String,
    /// Its secret and where that stands; `None` for a public client.
    pub(crate) secret: Option<(String, SecretPlace)>,
}

impl fmt::Debug for OAuthClient {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("OAuthClient").field("id", &self.id).finish_non_exhaustive()
    }
}

/// Clients that were registered, by the address where they were: one of each is enough for a run.
#[derive(Debug, Default)]
pub(crate) struct RegisteredClients(Mutex<BTreeMap<String, OAuthClient>>);

impl RegisteredClients {
    pub(crate) fn get(&self, endpoint: &str) -> Option<OAuthClient> {
        self.0.lock().get(endpoint).cloned()
    }

    pub(crate) fn keep(&self, endpoint: &str, client: &OAuthClient) {
        self.0.lock().insert(endpoint.to_owned(), client.clone());
    }
}

impl OAuthClient {
    pub(crate) fn is_public(&self) -> bool {
        self.secret.is_none()
    }

    /// Adds what proves who the client is to the fields of a form, and returns the header `Authorization`, if that proves
    /// it (RFC 6749, 2.3.1).
    pub(crate) fn authenticate(&self, fields: &mut Vec<(String, String)>) -> Option<String> {
        match &self.secret {
            None => fields.push(("client_id".to_owned(), self.id.clone())),
            Some((secret, SecretPlace::Post)) => {
                fields.push(("client_id".to_owned(), self.id.clone()));
                fields.push(("client_secret".to_owned(), secret.clone()));
            }
            Some((secret, SecretPlace::Basic)) => {
                return Some(format!("Basic {}", client_credentials(&self.id, secret)));
            }
        }
        None
    }
}

/// The place of a secret, if the suite does not say it: the header, which every server must take, unless the metadata
/// list only the form.
pub(crate) fn secret_place(metadata: &Value) -> SecretPlace {
    let listed: Vec<&str> = metadata["token_endpoint_auth_methods_supported"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    if listed.contains(&"client_secret_post") && !listed.contains(&"client_secret_basic") {
        SecretPlace::Post
    } else {
        SecretPlace::Basic
    }
}

/// The metadata of a client that registers.
pub(crate) fn registration(redirect_uri: &str) -> Value {
    json!({
        "client_name": "mcprove",
        "redirect_uris": [redirect_uri],
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": "none",
        "application_type": "native",
    })
}

/// The client that the answer to a registration describes.
pub(crate) fn registered(answer: &Value) -> Option<OAuthClient> {
    let id = answer["client_id"].as_str()?.to_owned();
    let place = match answer["token_endpoint_auth_method"].as_str() {
        Some("client_secret_post") => SecretPlace::Post,
        Some(_) | None => SecretPlace::Basic,
    };
    let is_public = answer["token_endpoint_auth_method"] == "none";
    let secret = answer["client_secret"].as_str().filter(|_| !is_public);
    Some(OAuthClient { id, secret: secret.map(|secret| (secret.to_owned(), place)) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_proves_who_it_is_in_its_way() {
        for (secret, header, fields) in [
            (None, None, &["client_id=a b"][..]),
            (Some(("s:1", SecretPlace::Basic)), Some("Basic YSUyMGI6cyUzQTE="), &[]),
            (Some(("s:1", SecretPlace::Post)), None, &["client_id=a b", "client_secret=s:1"]),
        ] {
            let secret = secret.map(|(secret, place)| (secret.to_owned(), place));
            let mut sent = Vec::new();
            assert_eq!(OAuthClient { id: "a b".to_owned(), secret }.authenticate(&mut sent).as_deref(), header);
            let sent: Vec<_> = sent.iter().map(|(name, value)| format!("{name}={value}")).collect();
            assert_eq!(sent, fields);
        }
    }

    #[test]
    fn answers_to_a_registration() {
        let basic = Some(("s".to_owned(), SecretPlace::Basic));
        let post = Some(("s".to_owned(), SecretPlace::Post));
        for (answer, expected) in [
            (json!({"client_id": "c"}), Some(None)),
            (json!({"client_id": "c", "client_secret": "s", "token_endpoint_auth_method": "none"}), Some(None)),
            (json!({"client_id": "c", "client_secret": "s"}), Some(basic)),
            (
                json!({"client_id": "c", "client_secret": "s", "token_endpoint_auth_method": "client_secret_post"}),
                Some(post),
            ),
            (json!({"error": "invalid_redirect_uri"}), None),
        ] {
            assert_eq!(registered(&answer).map(|client| client.secret), expected, "{answer}");
        }
        let only_post = json!({"token_endpoint_auth_methods_supported": ["none", "client_secret_post"]});
        assert_eq!(secret_place(&only_post), SecretPlace::Post);
        assert_eq!(secret_place(&Value::Null), SecretPlace::Basic);
    }
}
