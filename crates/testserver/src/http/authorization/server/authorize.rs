//! The authorization endpoint: what a client asks for, who allows it, and where the answer goes (OAuth 2.1, 4.1).

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};

use super::super::super::super::authorization_flaw::AuthorizationFlaw;
use super::super::super::super::settings::TokenUser;
use super::super::scopes::Scopes;
use super::book::{ChallengeMethod, CodeChallenge, Grant, IssuedCode};
use super::client::{Client, GrantType};
use super::form::{Form, with_parameters};
use super::oauth_error::OAuthError;
use super::{AUTHORIZE, Asked, AuthorizationServer, ROOT, page, redirect, resource, user};

/// What follows from a request for a code.
#[derive(Debug, PartialEq, Eq)]
enum Decision {
    /// Nobody knows where the answer would go, so a person is told.
    Refuse(&'static str),
    /// The client is told.
    Return { redirect_uri: String, error: OAuthError },
    /// A person is asked.
    Ask(Box<CodeRequest>),
}

/// A request that a person can allow.
#[derive(Debug, PartialEq, Eq)]
struct CodeRequest {
    client: String,
    client_name: String,
    redirect_uri: String,
    scopes: Scopes,
    resource: String,
    challenge: Option<CodeChallenge>,
}

impl AuthorizationServer {
    /// Shows the page on which a person logs in.
    pub(crate) async fn authorize(&self, asked: &Asked<'_>, form: &Form) -> Response {
        match self.decide(asked, form).await {
            Decision::Ask(request) => ask(&request, form, StatusCode::OK),
            Decision::Refuse(reason) => page::sentence(StatusCode::BAD_REQUEST, reason),
            Decision::Return { redirect_uri, error } => self.return_error(asked, form, &redirect_uri, &error),
        }
    }

    /// Takes the form of that page.
    pub(crate) async fn log_in(&self, asked: &Asked<'_>, form: &Form) -> Response {
        let request = match self.decide(asked, form).await {
            Decision::Ask(request) => *request,
            Decision::Refuse(reason) => return page::sentence(StatusCode::BAD_REQUEST, reason),
            Decision::Return { redirect_uri, error } => return self.return_error(asked, form, &redirect_uri, &error),
        };
        if form.get("decision") == Some("deny") {
            let error = OAuthError::new("access_denied", "the user denied it");
            return self.return_error(asked, form, &request.redirect_uri, &error);
        }
        let Some(user) = user::log_in(form) else {
            return ask(&request, form, StatusCode::FORBIDDEN);
        };
        let redirect_uri = request.redirect_uri.clone();
        let code = self.book.lock().issue_code(request.into_code(user, asked));
        match code {
            Ok(code) => self.return_to_client(asked, form, &redirect_uri, &[("code", &code)]),
            Err(error) => self.return_error(asked, form, &redirect_uri, &error),
        }
    }

    async fn decide(&self, asked: &Asked<'_>, form: &Form) -> Decision {
        let client = match form.get("client_id") {
            Some(id) => self.client(id).await,
            None => None,
        };
        decide(form, client.as_ref(), &asked.origin, self.settings.flaw)
    }

    fn return_error(&self, asked: &Asked<'_>, form: &Form, redirect_uri: &str, error: &OAuthError) -> Response {
        let parameters = [("error", error.code), ("error_description", error.description.as_str())];
        self.return_to_client(asked, form, redirect_uri, &parameters)
    }

    /// Redirects with 303, so that the browser does not send the form on (RFC 9700, 4.12).
    fn return_to_client(
        &self,
        asked: &Asked<'_>,
        form: &Form,
        redirect_uri: &str,
        answer: &[(&str, &str)],
    ) -> Response {
        let issuer = if self.settings.has(AuthorizationFlaw::WrongIss) {
            "https://issuer.example/oauth".to_owned()
        } else {
            format!("{}{ROOT}", asked.origin)
        };
        let mut parameters = answer.to_vec();
        if let Some(state) = form.get("state").filter(|_| !self.settings.has(AuthorizationFlaw::NoState)) {
            parameters.push(("state", state));
        }
        if !self.settings.has(AuthorizationFlaw::NoIss) {
            parameters.push(("iss", &issuer));
        }
        let is_307 = self.settings.has(AuthorizationFlaw::Redirect307);
        let status = if is_307 { StatusCode::TEMPORARY_REDIRECT } else { StatusCode::SEE_OTHER };
        match HeaderValue::try_from(with_parameters(redirect_uri, &parameters)) {
            Ok(location) => {
                let no_store = HeaderValue::from_static("no-store");
                (status, [(header::LOCATION, location), (header::CACHE_CONTROL, no_store)]).into_response()
            }
            Err(_) => {
                page::sentence(StatusCode::BAD_REQUEST, "The redirect URI has characters that no header can carry.")
            }
        }
    }
}

/// The page on which a person logs in.
fn ask(request: &CodeRequest, form: &Form, status: StatusCode) -> Response {
    let wrong = if status == StatusCode::OK { "" } else { "The name or the password is wrong. " };
    let CodeRequest { client_name, scopes, resource, redirect_uri, .. } = request;
    // Whoever logs in must see where the code goes.
    let about = format!("{wrong}{client_name} asks for {scopes} at {resource}. You return to {redirect_uri}.");
    page::login(status, AUTHORIZE, &about, "", form)
}

impl CodeRequest {
    fn into_code(self, user: TokenUser, asked: &Asked<'_>) -> IssuedCode {
        let Self { client, redirect_uri, scopes, resource, challenge, .. } = self;
        IssuedCode { grant: Grant { client, user, scopes, resource }, redirect_uri, challenge, issued: asked.now }
    }
}

/// Decides about a request of a client at the server with this origin. Until client and address are known to belong
/// together, nothing is sent to the address.
fn decide(form: &Form, client: Option<&Client>, origin: &str, flaw: Option<AuthorizationFlaw>) -> Decision {
    let Some(client) = client else { return Decision::Refuse("The client is not known here.") };
    let Some(redirect_uri) = form.get("redirect_uri") else {
        return Decision::Refuse("The request names no redirect URI.");
    };
    let is_open = flaw == Some(AuthorizationFlaw::OpenRedirect);
    if !is_open && !redirect::is_registered(&client.redirect_uris, redirect_uri) {
        return Decision::Refuse("The redirect URI is not one that the client registered.");
    }
    match request(form, client, redirect_uri, origin, flaw) {
        Ok(request) => Decision::Ask(Box::new(request)),
        Err(error) => Decision::Return { redirect_uri: redirect_uri.to_owned(), error },
    }
}

fn request(
    form: &Form,
    client: &Client,
    redirect_uri: &str,
    origin: &str,
    flaw: Option<AuthorizationFlaw>,
) -> Result<CodeRequest, OAuthError> {
    if let Some(name) = form.repeated() {
        return Err(OAuthError::invalid_request(format!("the parameter `{name}` comes more than once")));
    }
    if form.get("response_type") != Some("code") {
        return Err(OAuthError::new("unsupported_response_type", "`response_type` must be `code`"));
    }
    if !client.grants.contains(&GrantType::AuthorizationCode) {
        return Err(OAuthError::new("unauthorized_client", "the client registered no grant with codes"));
    }
    Ok(CodeRequest {
        client: client.id.clone(),
        client_name: client.name.clone(),
        redirect_uri: redirect_uri.to_owned(),
        scopes: scopes(form)?,
        resource: resource(form.get("resource"), origin)?,
        challenge: challenge(form, flaw)?,
    })
}

/// The scopes that a request names; without any, those that change nothing.
pub(crate) fn scopes(form: &Form) -> Result<Scopes, OAuthError> {
    form.get("scope").map_or(Ok(Scopes::READING), |scopes| {
        Scopes::parse(scopes).ok_or_else(|| OAuthError::new("invalid_scope", "a scope is unknown here"))
    })
}

fn challenge(form: &Form, flaw: Option<AuthorizationFlaw>) -> Result<Option<CodeChallenge>, OAuthError> {
    let Some(challenge) = form.get("code_challenge") else {
        if flaw == Some(AuthorizationFlaw::PkceOptional) {
            return Ok(None);
        }
        return Err(OAuthError::invalid_request("the parameter `code_challenge` is missing (PKCE)"));
    };
    let method = match form.get("code_challenge_method") {
        Some("S256") => ChallengeMethod::S256,
        // `plain` is the default (RFC 7636, 4.3).
        Some("plain") | None if flaw == Some(AuthorizationFlaw::PkcePlain) => ChallengeMethod::Plain,
        Some(_) | None => return Err(OAuthError::invalid_request("`code_challenge_method` must be `S256`")),
    };
    Ok(Some(CodeChallenge { challenge: challenge.to_owned(), method }))
}

#[cfg(test)]
mod tests {
    use super::super::client::known;
    use super::*;

    const GOOD: &str = "response_type=code&client_id=demo-app&redirect_uri=http://127.0.0.1:9/callback&state=s\
        &resource=http://localhost/mcp&scope=users:read&code_challenge=c&code_challenge_method=S256";

    #[test]
    fn a_request_is_asked_returned_or_refused() {
        let [app, ..] = known();
        for (from, to, expected) in [
            ("", "", "asked"),
            ("scope=users:read&", "", "asked"),
            ("/mcp", "/other", "asked"),
            ("/mcp", "/mcp/", "asked"),
            ("/callback", "/elsewhere", "refused"),
            ("http://127.0.0.1:9", "https://evil.example", "refused"),
            ("redirect_uri", "x", "refused"),
            ("=code&", "=token&", "unsupported_response_type"),
            ("users:read", "admin", "invalid_scope"),
            ("resource", "x", "invalid_target"),
            ("http://localhost/mcp", "https://elsewhere.example/mcp", "invalid_target"),
            ("code_challenge=c&", "", "invalid_request"),
            ("=S256", "=plain", "invalid_request"),
            ("&code_challenge_method=S256", "", "invalid_request"),
            ("state=s", "state=s&state=t", "invalid_request"),
        ] {
            let decided = decide(
                &Form::parse(&if from.is_empty() { GOOD.to_owned() } else { GOOD.replace(from, to) }),
                Some(&app),
                "http://localhost",
                None,
            );
            let shown = match decided {
                Decision::Ask(_) => "asked",
                Decision::Refuse(_) => "refused",
                Decision::Return { error, .. } => error.code,
            };
            assert_eq!(shown, expected, "{from} {to}");
        }
        assert!(matches!(decide(&Form::parse(GOOD), None, "http://localhost", None), Decision::Refuse(_)));
    }
}
