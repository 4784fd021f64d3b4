//! An authorization server of OAuth 2.1 at the address of the demo server, for tests of clients and of suites.
//!
//! A request goes by its path to `authorize` (a person logs in and allows), `token` (codes and other grants become
//! tokens), `registration`, `revocation` or `device`. `client` are those who may ask, `client_auth` is how they prove who
//! they are, and `book` is what was issued: random names in memory, bounded in number. Functions that decide take the
//! time and the texts of a request, and know nothing of HTTP. The one thing that can be wrong is an [`AuthorizationFlaw`].

mod assertion;
mod authorize;
mod book;
mod bounded;
mod client;
mod client_auth;
mod client_document;
mod device;
mod form;
mod metadata;
mod oauth_error;
mod page;
mod redirect;
mod registration;
mod token;
mod user;

use std::time::{SystemTime, UNIX_EPOCH};

use axum::body::to_bytes;
use axum::extract::Request;
use axum::http::{HeaderMap, Method, StatusCode, header};
use axum::response::Response;
use parking_lot::Mutex;
use tokio::time::Instant;

use self::book::Book;
use self::client::Client;
use self::form::Form;
use self::oauth_error::OAuthError;
use super::super::super::authorization_flaw::AuthorizationFlaw;
use super::super::super::settings::AuthorizationSettings;
use super::super::{guard, refused};
use super::{Caller, metadata as resource_metadata};

/// Every path of the authorization server begins with this one, and its issuer ends with it.
const ROOT: &str = "/oauth";

const AUTHORIZE: &str = "/oauth/authorize";
const TOKEN: &str = "/oauth/token";
const REGISTER: &str = "/oauth/register";
const REVOKE: &str = "/oauth/revoke";
const DEVICE_AUTHORIZATION: &str = "/oauth/device_authorization";
const DEVICE: &str = "/oauth/device";
/// A client ID metadata document, for those who have none.
const CLIENT_DOCUMENT: &str = "/oauth/client.json";

/// Where the metadata are (RFC 8414, 3; and for `OpenID` Connect Discovery, with the path in front and behind).
const METADATA: [&str; 3] = [
    "/.well-known/oauth-authorization-server/oauth",
    "/.well-known/openid-configuration/oauth",
    "/oauth/.well-known/openid-configuration",
];

/// Longer bodies are refused instead of filling the memory.
const LONGEST_BODY: usize = 64 * 1024;

/// The authorization server, with everything that it issued.
pub(crate) struct AuthorizationServer {
    settings: AuthorizationSettings,
    book: Mutex<Book>,
}

/// The surroundings of a request.
pub(crate) struct Asked<'a> {
    headers: &'a HeaderMap,
    /// The address of the demo server without a path.
    origin: String,
    now: Instant,
}

/// Is this path one of the authorization server?
pub(crate) fn serves(path: &str) -> bool {
    METADATA.contains(&path) || path == ROOT || path.strip_prefix(ROOT).is_some_and(|rest| rest.starts_with('/'))
}

/// The name of the authorization server for the client that sends these headers.
pub(crate) fn issuer(headers: &HeaderMap) -> String {
    format!("{}{ROOT}", resource_metadata::origin(headers))
}

impl AuthorizationServer {
    /// Nothing is issued yet.
    pub(crate) fn new(settings: AuthorizationSettings) -> Self {
        Self { settings, book: Mutex::new(Book::new(settings)) }
    }

    /// The caller to whom a token was issued for this resource, if it is valid.
    pub(crate) fn caller(&self, token: &str, resource: &str, now: Instant) -> Option<Caller> {
        let grant = self.book.lock().find_access(token, resource, now)?;
        Some(Caller { user: grant.user, scopes: grant.scopes, ..Caller::default() })
    }

    /// Answers a request to one of its paths.
    pub(crate) async fn answer(&self, request: Request) -> Response {
        let (parts, body) = request.into_parts();
        let (path, is_post) = (parts.uri.path(), parts.method == Method::POST);
        if let Some(allowed) = allowed_methods(path)
            && !allowed.split(", ").any(|method| method == parts.method.as_str())
        {
            return page::method_not_allowed(allowed);
        }
        let Ok(body) = to_bytes(body, LONGEST_BODY).await else {
            return OAuthError::invalid_request("the body is longer than 64 KiB").answer();
        };
        let text = String::from_utf8_lossy(&body);
        let origin = resource_metadata::origin(&parts.headers);
        let asked = Asked { headers: &parts.headers, origin, now: Instant::now() };
        let query = || Form::parse(parts.uri.query().unwrap_or_default());
        let form = || brought_form(&parts.headers, &text);
        let answered = match path {
            _ if METADATA.contains(&path) => Ok(self.metadata(&asked)),
            CLIENT_DOCUMENT => Ok(refused::json_response(StatusCode::OK, &client_document::own(&asked.origin))),
            AUTHORIZE if is_post => match form() {
                Ok(form) => Ok(self.log_in(&asked, &form).await),
                Err(error) => Err(error),
            },
            AUTHORIZE => Ok(self.authorize(&asked, &query()).await),
            DEVICE if is_post => form().map(|form| self.approve_device(&asked, &form)),
            DEVICE => Ok(device::ask(&query())),
            TOKEN => match form() {
                Ok(form) => self.token(&asked, &form).await,
                Err(error) => Err(error),
            },
            REGISTER => registration::brought_json(&parts.headers, &text).and_then(|asked| self.register(&asked)),
            REVOKE => match form() {
                Ok(form) => self.revoke(&asked, &form).await,
                Err(error) => Err(error),
            },
            DEVICE_AUTHORIZATION => match form() {
                Ok(form) => self.begin_device(&asked, &form).await,
                Err(error) => Err(error),
            },
            _ => Ok(page::not_found()),
        };
        answered.unwrap_or_else(|error| self.refuse(&error))
    }

    fn metadata(&self, asked: &Asked<'_>) -> Response {
        if self.settings.has(AuthorizationFlaw::NoMetadata) {
            return page::not_found();
        }
        refused::json_response(StatusCode::OK, &metadata::document(&asked.origin, self.settings.flaw))
    }

    fn refuse(&self, error: &OAuthError) -> Response {
        let mut answer = error.answer();
        if self.settings.has(AuthorizationFlaw::TokenErrorOk) {
            *answer.status_mut() = StatusCode::OK;
        }
        answer
    }

    /// The client with this id: one that is known, or one that its document describes.
    async fn client(&self, id: &str) -> Option<Client> {
        if let Some(client) = self.book.lock().client(id) {
            return Some(client);
        }
        client_document::fetch(id).await
    }
}

/// The methods of HTTP that a path takes; nothing where no path is.
fn allowed_methods(path: &str) -> Option<&'static str> {
    match path {
        AUTHORIZE | DEVICE => Some("GET, POST"),
        TOKEN | REGISTER | REVOKE | DEVICE_AUTHORIZATION => Some("POST"),
        CLIENT_DOCUMENT => Some("GET"),
        _ if METADATA.contains(&path) => Some("GET"),
        _ => None,
    }
}

/// The form in a body that is declared as one.
fn brought_form(headers: &HeaderMap, body: &str) -> Result<Form, OAuthError> {
    let declared = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let essence = declared.split(';').next().unwrap_or_default().trim();
    if !essence.eq_ignore_ascii_case("application/x-www-form-urlencoded") {
        let message = "the header `Content-Type` must be `application/x-www-form-urlencoded`";
        return Err(OAuthError::invalid_request(message));
    }
    let form = Form::parse(body);
    match form.repeated() {
        Some(name) => Err(OAuthError::invalid_request(format!("the parameter `{name}` comes more than once"))),
        None => Ok(form),
    }
}

/// The seconds since 1970, for what clients sign and for the time of a registration.
fn unix_seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// The resource that a parameter names, if tokens are issued for it: one of the two servers.
fn resource(asked: Option<&str>, origin: &str) -> Result<String, OAuthError> {
    let known = [super::super::PATH, super::super::SECOND_PATH].map(|path| format!("{origin}{path}"));
    let Some(asked) = asked else {
        return Err(OAuthError::invalid_target("the parameter `resource` is missing (RFC 8707)"));
    };
    let found = known.into_iter().find(|known| known == asked.trim_end_matches('/'));
    found.ok_or_else(|| OAuthError::invalid_target("the parameter `resource` names no resource of this server"))
}

/// True for an address of this machine without TLS.
fn is_loopback_address(uri: &str) -> bool {
    let Ok(uri) = uri.parse::<axum::http::Uri>() else { return false };
    uri.scheme_str() == Some("http") && uri.host().is_some_and(guard::is_loopback)
}
