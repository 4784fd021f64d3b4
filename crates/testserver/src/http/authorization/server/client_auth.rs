//! Who a client is, and whether it can prove that (RFC 6749, 2.3; RFC 7523, 2.2).

use axum::http::{HeaderMap, header};
use mcprove_protocol::redact::from_base64;

use super::assertion::{self, Assertion};
use super::client::{Client, ClientAuthMethod};
use super::form::Form;
use super::oauth_error::OAuthError;

/// The type of an assertion that is a JWT.
const JWT_BEARER: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

/// The credentials of a request for tokens.
#[derive(Debug)]
pub(crate) struct ClientCredentials {
    pub(crate) id: String,
    proof: ClientProof,
}

#[derive(Debug, PartialEq, Eq)]
enum ClientProof {
    None,
    Basic(String),
    Post(String),
    Assertion(String),
}

/// Reads the credentials of a request; a client may use one method only.
pub(crate) fn read(headers: &HeaderMap, form: &Form) -> Result<ClientCredentials, OAuthError> {
    let basic = headers.get(header::AUTHORIZATION).map(|value| value.to_str().unwrap_or_default());
    let basic = basic.map(|value| read_basic(value).ok_or_else(unreadable)).transpose()?;
    let posted = form.get("client_secret").map(str::to_owned);
    let assertion = match (form.get("client_assertion_type"), form.get("client_assertion")) {
        (Some(JWT_BEARER), Some(assertion)) => Some(assertion.to_owned()),
        (None, None) => None,
        _ => return Err(OAuthError::invalid_request("`client_assertion` and its type belong together")),
    };
    let named = form.get("client_id").map(str::to_owned);
    let (id, proof) = match (basic, posted, assertion) {
        (Some((id, secret)), None, None) if named.as_ref().is_none_or(|named| *named == id) => {
            (Some(id), ClientProof::Basic(secret))
        }
        (None, Some(secret), None) => (named, ClientProof::Post(secret)),
        (None, None, Some(assertion)) => {
            let id = named.or_else(|| Assertion::read(&assertion).map(|assertion| assertion.subject()));
            (id, ClientProof::Assertion(assertion))
        }
        (None, None, None) => (named, ClientProof::None),
        _ => return Err(OAuthError::invalid_request("the client must prove who it is in one way only")),
    };
    let id = id.ok_or_else(|| OAuthError::invalid_client("the request names no client"))?;
    Ok(ClientCredentials { id, proof })
}

fn unreadable() -> OAuthError {
    OAuthError::invalid_client("the header `Authorization` must be `Basic` with id and secret in base64")
}

/// Id and secret, each encoded as in a form (RFC 6749, 2.3.1).
fn read_basic(header: &str) -> Option<(String, String)> {
    let (scheme, encoded) = header.split_once(' ')?;
    let text = String::from_utf8(from_base64(encoded).filter(|_| scheme.eq_ignore_ascii_case("basic"))?).ok()?;
    let (id, secret) = text.split_once(':')?;
    let decode = |text: &str| {
        let pair = format!("={text}");
        form_urlencoded::parse(pair.as_bytes()).next().map(|(_, value)| value.into_owned())
    };
    Some((decode(id)?, decode(secret)?))
}

impl ClientCredentials {
    /// Checks that they are those of the client; `audiences` are the names of the server in assertions, `now` are seconds
    /// since 1970. Returns the id of an assertion, which may be used once.
    pub(crate) fn prove(&self, client: &Client, audiences: &[String], now: u64) -> Result<Option<String>, OAuthError> {
        let is_proven = match (&self.proof, client.method) {
            (ClientProof::None, ClientAuthMethod::None) => true,
            (ClientProof::Basic(secret), ClientAuthMethod::SecretBasic | ClientAuthMethod::Secret)
            | (ClientProof::Post(secret), ClientAuthMethod::SecretPost | ClientAuthMethod::Secret) => {
                client.secret.as_ref() == Some(secret)
            }
            (ClientProof::Assertion(assertion), ClientAuthMethod::PrivateKeyJwt) => {
                return assertion::check(assertion, client, audiences, now).map_err(OAuthError::invalid_client);
            }
            _ => false,
        };
        if is_proven {
            return Ok(None);
        }
        Err(OAuthError::invalid_client("the client did not prove who it is in the way that it registered"))
    }
}

#[cfg(test)]
mod tests {
    use super::super::client::known;
    use super::*;

    #[test]
    fn credentials_prove_one_client_in_one_way() {
        // demo-service:demo-service-secret, and with another secret.
        let (good, bad) = ("Basic ZGVtby1zZXJ2aWNlOmRlbW8tc2VydmljZS1zZWNyZXQ=", "Basic ZGVtby1zZXJ2aWNlOng=");
        let secret = "client_id=demo-service&client_secret=demo-service-secret";
        for (header, form, expected) in [
            (None, "client_id=demo-app", Ok("demo-app")),
            (Some(good), "", Ok("demo-service")),
            (Some("basic ZGVtby1zZXJ2aWNlOmRlbW8tc2VydmljZS1zZWNyZXQ"), "client_id=demo-service", Ok("demo-service")),
            (None, secret, Ok("demo-service")),
            (Some(bad), "", Err("invalid_client")),
            (Some("Bearer x"), "", Err("invalid_client")),
            (Some(good), secret, Err("invalid_request")),
            (Some(good), "client_id=demo-app", Err("invalid_request")),
            (None, "client_id=demo-service", Err("invalid_client")),
            (None, "client_id=demo-app&client_secret=x", Err("invalid_client")),
            (None, "client_id=demo-signer&client_secret=x", Err("invalid_client")),
            (None, "client_assertion=x", Err("invalid_request")),
            (None, "", Err("invalid_client")),
        ] {
            let headers: HeaderMap =
                header.iter().map(|value| (header::AUTHORIZATION, value.parse().unwrap())).collect();
            let proven = read(&headers, &Form::parse(form)).and_then(|credentials| {
                let client = known().into_iter().find(|client| client.id == credentials.id).unwrap();
                credentials.prove(&client, &[], 0).map(|_| client.id)
            });
            assert_eq!(proven.as_deref().map_err(|error| error.code), expected, "{header:?} {form}");
        }
    }
}
