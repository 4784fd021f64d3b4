//! The metadata of the authorization server (RFC 8414, 2).

use serde_json::{Value, json};

use super::super::super::super::authorization_flaw::AuthorizationFlaw;
use super::super::scopes::{READ, WRITE};
use super::{AUTHORIZE, DEVICE_AUTHORIZATION, REGISTER, REVOKE, ROOT, TOKEN};

/// The metadata for clients that find the server at this origin.
pub(crate) fn document(origin: &str, flaw: Option<AuthorizationFlaw>) -> Value {
    let at = |path: &str| format!("{origin}{path}");
    let methods = json!(["none", "client_secret_basic", "client_secret_post", "private_key_jwt"]);
    let mut document = json!({
        "issuer": at(ROOT),
        "authorization_endpoint": at(AUTHORIZE),
        "token_endpoint": at(TOKEN),
        "registration_endpoint": at(REGISTER),
        "revocation_endpoint": at(REVOKE),
        "device_authorization_endpoint": at(DEVICE_AUTHORIZATION),
        "scopes_supported": [READ, WRITE],
        "response_types_supported": ["code"],
        "response_modes_supported": ["query"],
        "grant_types_supported": [
            "authorization_code", "refresh_token", "client_credentials", "urn:ietf:params:oauth:grant-type:device_code",
        ],
        "token_endpoint_auth_methods_supported": methods,
        "token_endpoint_auth_signing_alg_values_supported": ["ES256", "RS256"],
        "revocation_endpoint_auth_methods_supported": methods,
        "code_challenge_methods_supported": ["S256"],
        "authorization_response_iss_parameter_supported": true,
        "client_id_metadata_document_supported": true,
    });
    match flaw {
        Some(AuthorizationFlaw::IssuerMismatch) => document["issuer"] = json!("https://issuer.example/oauth"),
        Some(AuthorizationFlaw::HttpEndpoints) => {
            document["introspection_endpoint"] = json!("http://tokens.example/introspect");
        }
        Some(AuthorizationFlaw::CommandEndpoint) => document["authorization_endpoint"] = json!("a:$(id)"),
        Some(AuthorizationFlaw::PkceNotAnnounced) => {
            document.as_object_mut().map(|members| members.shift_remove("code_challenge_methods_supported"));
        }
        _ => {}
    }
    document
}
