//! The metadata of the server as a protected resource (RFC 9728), at the well-known path of its address and at the
//! root.

use axum::extract::Request;
use axum::http::uri::Authority;
use axum::http::{HeaderMap, Method, StatusCode, header};
use axum::response::Response;
use serde_json::json;

use super::super::super::authorization_flaw::AuthorizationFlaw;
use super::super::super::server::Conduct;
use super::super::refused::{Refused, json_response};
use super::super::{Place, guard};
use super::scopes::{READ, WRITE};
use super::server;

const WELL_KNOWN: &str = "/.well-known/oauth-protected-resource";

/// Who issues tokens that come from the environment. Nobody listens there.
const ISSUER: &str = "https://127.0.0.1:1";

/// The metadata, if they are what the request is about and there are any.
pub(crate) fn answer(request: &Request, conduct: &Conduct) -> Option<Result<Response, Refused>> {
    if !conduct.rules.needs_tokens() {
        return None;
    }
    let suffix = request.uri().path().strip_prefix(WELL_KNOWN)?;
    let place = if suffix.is_empty() { Place::First } else { Place::of(suffix, conduct)? };
    if *request.method() != Method::GET {
        return Some(Err(Refused::method("GET")));
    }
    let headers = request.headers();
    let authorization = conduct.rules.authorization();
    let issuer = authorization.map_or_else(|| ISSUER.to_owned(), |_| server::issuer(headers));
    let is_other = authorization.is_some_and(|it| it.has(AuthorizationFlaw::MetadataOfOtherResource));
    let metadata = json!({
        "resource": if is_other { "https://other.example/mcp".to_owned() } else { resource(headers, place) },
        "authorization_servers": [issuer],
        "scopes_supported": [READ, WRITE],
        "bearer_methods_supported": ["header"],
        "resource_name": "mcprove demo server",
    });
    Some(Ok(json_response(StatusCode::OK, &metadata)))
}

/// The path of the metadata.
pub(crate) fn url(headers: &HeaderMap, place: Place) -> String {
    format!("{}{WELL_KNOWN}{}", origin(headers), place.path())
}

/// A server as a resource, for which tokens are issued.
pub(crate) fn resource(headers: &HeaderMap, place: Place) -> String {
    format!("{}{}", origin(headers), place.path())
}

/// The server as its client calls it: metadata that name another resource than the one that was asked are not to be
/// trusted.
pub(crate) fn origin(headers: &HeaderMap) -> String {
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok()?.parse::<Authority>().ok());
    match host.filter(|host| guard::is_loopback(host.host())) {
        Some(host) => {
            let port = host.port().map(|port| format!(":{port}")).unwrap_or_default();
            format!("http://{}{port}", host.host())
        }
        None => "http://localhost".to_owned(),
    }
}
