//! The authorization code grant (RFC 6749, 4.1; OAuth 2.1) with PKCE (RFC 7636): a login gives a code, the code a token.
//! [`AuthorizationCode::fetch`] logs in with forms, `person.rs` has a person do it.

use reqwest::Url;

use super::asking::{Asking, Problem, is_here};
use super::discovery::{Found, permit_login, secure_endpoint};
use super::login::{Login, LoginEnd, LoginForm, LoginPlace, hosts};
use super::registration::{RegisteredClient, register};
use super::token_request::{ClientProof, TokenClient, TokenSet};
use super::{TokenGrant, TokenRequest};
use crate::source::visible_line;
use crate::transport::http::verifier::{code_challenge, code_verifier};

/// The address to which the authorization server sends the code, where the suite names none. Nobody asks there: the code is
/// read from the redirect.
const REDIRECT_URI: &str = "http://127.0.0.1/callback";

/// A scope for a refresh token (`OpenID` Connect Core, 11).
const OFFLINE: &str = "offline_access";

/// The cure where the authorization server does not take the request for a code.
pub(crate) const REQUEST_CURE: &str = "see whether the authorization server knows `client_id`, `redirect_uri`, `scopes` and `resource` under `auth` as they are";

/// The cure where the answer to a login may come from somebody else.
const ANSWER_CURE: &str =
    "the authorization server must return `state` as it was sent, and its issuer as `iss` if its metadata promise it";

/// How a code is got.
#[derive(Clone)]
pub struct AuthorizationCode {
    /// The address to which the authorization server sends the code; by default one of this machine.
    pub redirect_uri: Option<String>,
    /// The forms of the login, in order.
    pub login: Vec<LoginForm>,
    /// Further hosts to which the login may lead.
    pub login_hosts: Vec<String>,
}

impl AuthorizationCode {
    /// Registers where the client has no id, logs in with the forms of the suite, and exchanges the code.
    pub(crate) async fn fetch(
        &self,
        asking: &Asking<'_>,
        grant: &TokenGrant,
        found: &Found,
        needed: &TokenRequest<'_>,
    ) -> Result<(TokenSet, TokenClient), Problem> {
        let redirect_uri = Url::parse(self.redirect_uri.as_deref().unwrap_or(REDIRECT_URI));
        let redirect_uri = redirect_uri.map_err(|_| Problem::of("`redirect_uri` is not a URL"));
        let by = LoginBy::Forms { hosts: &self.login_hosts };
        let request = CodeRequest::prepare(asking, grant, found, needed, redirect_uri, by).await?;
        let place = LoginPlace {
            start: request.start.clone(),
            end: LoginEnd::Redirect(&request.redirect_uri),
            hosts: hosts(&self.login_hosts, grant, found, &[&request.start, needed.url]),
            issuer: grant.issuer.as_deref().and_then(|issuer| Url::parse(issuer).ok()),
            code: None,
        };
        let back = Login::new(asking, &self.login, place).walk().await?;
        let code = read_redirect(&back, &request.expected)?;
        request.exchange(asking, code).await
    }
}

/// Who logs in.
#[derive(Clone, Copy)]
pub(crate) enum LoginBy<'a> {
    /// Nobody: the forms of the suite are filled in, on these hosts beside those that the suite names otherwise.
    Forms { hosts: &'a [String] },
    /// A person, who sees in the browser where.
    Person,
}

impl LoginBy<'_> {
    /// Only where the suite says may the forms of the suite be sent.
    pub(crate) fn permit(self, at: &Url, grant: &TokenGrant, needed: &TokenRequest<'_>) -> Result<(), Problem> {
        match self {
            Self::Forms { hosts } => permit_login(at, grant.issuer.as_deref(), hosts, needed.url),
            // The secret of the suite goes there, without anybody seeing it.
            Self::Person if !matches!(grant.proof, ClientProof::Nothing) => {
                permit_login(at, grant.issuer.as_deref(), &[], needed.url)
            }
            Self::Person => Ok(()),
        }
    }
}

/// A request for a code, ready to be sent from a browser.
pub(crate) struct CodeRequest {
    /// The first page of the login.
    pub(crate) start: Url,
    pub(crate) redirect_uri: Url,
    pub(crate) expected: Expected,
    verifier: String,
    client: TokenClient,
}

impl CodeRequest {
    /// Registers where the client has no id, and draws what the answer must repeat.
    pub(crate) async fn prepare(
        asking: &Asking<'_>,
        grant: &TokenGrant,
        found: &Found,
        needed: &TokenRequest<'_>,
        redirect_uri: Result<Url, Problem>,
        by: LoginBy<'_>,
    ) -> Result<Self, Problem> {
        let server = &found.server;
        if server
            .code_challenge_methods_supported
            .as_ref()
            .is_some_and(|methods| !methods.iter().any(|it| it == "S256"))
        {
            let issuer = visible_line(&server.issuer);
            return Err(Problem::of(format!("the authorization server `{issuer}` does not support PKCE with `S256`")));
        }
        let authorize =
            secure_endpoint(server.authorization_endpoint.as_deref(), "authorization endpoint", grant, needed)?;
        let permit = |at: &Url| by.permit(at, grant, needed);
        permit(&authorize)?;
        let redirect_uri = redirect_uri?;
        let scope = scope(grant, found);
        let registered = match (&grant.client_id, &server.registration_endpoint) {
            (Some(id), _) => RegisteredClient { id: id.clone(), proof: grant.proof.clone(), method: None },
            (None, Some(at)) => {
                let at = secure_endpoint(Some(at), "registration endpoint", grant, needed)?;
                register(asking, &at, &redirect_uri, &scope).await?
            }
            (None, None) => {
                let cure = "register a client with the authorization server, and write its `client_id` under `auth`";
                let issuer = visible_line(&server.issuer);
                let message =
                    format!("the authorization server `{issuer}` registers no clients, and there is no `client_id`");
                return Err(Problem::of(message).with_cure(cure));
            }
        };
        let RegisteredClient { id, proof, method } = registered;
        let client = TokenClient::new(grant, found, needed, id, proof)?.with_method(method.as_deref());
        permit(&client.endpoint)?;
        let (verifier, state) = (draw().map_err(Problem::of)?, draw().map_err(Problem::of)?);
        asking.redactor.learn(&verifier);
        asking.redactor.learn(&state);
        let mut start = authorize;
        start
            .query_pairs_mut()
            .append_pair("response_type", "code")
            .append_pair("client_id", &client.id)
            .append_pair("redirect_uri", redirect_uri.as_str())
            .append_pair("code_challenge", &code_challenge(&verifier))
            .append_pair("code_challenge_method", "S256")
            .append_pair("state", &state)
            .append_pair("resource", &client.resource);
        if !scope.is_empty() {
            start.query_pairs_mut().append_pair("scope", &scope);
        }
        let expected = Expected {
            state,
            issuer: server.issuer.clone(),
            names_issuer: server.authorization_response_iss_parameter_supported,
        };
        Ok(Self { start, redirect_uri, expected, verifier, client })
    }

    /// Exchanges the code for a token.
    pub(crate) async fn exchange(self, asking: &Asking<'_>, code: String) -> Result<(TokenSet, TokenClient), Problem> {
        asking.redactor.learn_foreign(&code);
        let form = [
            ("grant_type", "authorization_code"),
            ("code", code.as_str()),
            ("redirect_uri", self.redirect_uri.as_str()),
            ("code_verifier", self.verifier.as_str()),
        ];
        Ok((self.client.ask(asking, &form).await?, self.client))
    }
}

/// What the suite asks for; else what the server wants, and a refresh token where there are any.
fn scope(grant: &TokenGrant, found: &Found) -> String {
    let mut scopes: Vec<&str> = found.scopes.iter().map(String::as_str).collect();
    let offers = found.server.scopes_supported.iter().flatten().any(|scope| scope == OFFLINE);
    if grant.scopes.is_empty() && offers && !scopes.contains(&OFFLINE) {
        scopes.push(OFFLINE);
    }
    scopes.join(" ")
}

/// What the redirect that ends a login must carry.
#[derive(Clone)]
pub(crate) struct Expected {
    pub(crate) state: String,
    pub(crate) issuer: String,
    /// The authorization server promises to name itself (RFC 9207, 3).
    pub(crate) names_issuer: bool,
}

/// The code in the redirect that ends a login; `Err` says why it is none.
pub(crate) fn read_redirect(back: &Url, expected: &Expected) -> Result<String, Problem> {
    let parameter = |wanted: &str| {
        let found = back.query_pairs().find(|(name, _)| name == wanted);
        found.map(|(_, value)| value.into_owned())
    };
    if parameter("state").as_deref() != Some(&expected.state) {
        let what = if parameter("state").is_some() { "another `state` than was sent" } else { "no `state`" };
        let message = format!("the authorization server sends {what} back; its answer is not used");
        return Err(Problem::of(message).with_cure(ANSWER_CURE));
    }
    let issuer = parameter("iss");
    if let Some(issuer) = issuer.as_ref().filter(|issuer| **issuer != expected.issuer) {
        let (found, expected) = (visible_line(issuer), visible_line(&expected.issuer));
        let message = format!("the answer to the login names the issuer `{found}` as `iss`, not `{expected}`");
        return Err(Problem::of(message).with_cure(ANSWER_CURE));
    }
    if issuer.is_none() && expected.names_issuer {
        let message = "the answer to the login has no `iss`, which the metadata of the authorization server promise";
        return Err(Problem::of(message).with_cure(ANSWER_CURE));
    }
    if let Some(error) = parameter("error") {
        let why = parameter("error_description").map(|why| format!(", {why}")).unwrap_or_default();
        let cure = if error == "access_denied" {
            "see whether the user of `login` may use this server, and whether its forms agree to the consent"
        } else {
            REQUEST_CURE
        };
        return Err(Problem::of(format!("the authorization server refuses the login: {error}{why}")).with_cure(cure));
    }
    let code = parameter("code").filter(|code| !code.is_empty());
    code.ok_or_else(|| Problem::of("the login ends without a code"))
}

/// The address is that of the redirect that ends a login. A port of this machine may differ (RFC 8252, 7.3).
pub(crate) fn ends_login(at: &Url, redirect_uri: &Url) -> bool {
    let same_place = (at.scheme(), at.host_str(), at.path())
        == (redirect_uri.scheme(), redirect_uri.host_str(), redirect_uri.path());
    let own = redirect_uri.query().unwrap_or_default();
    same_place
        && (at.port_or_known_default() == redirect_uri.port_or_known_default()
            || redirect_uri.port().is_none() && is_here(at))
        && at.query().unwrap_or_default().starts_with(own)
}

/// A text that nobody guesses; the sentence says why there is none.
pub(crate) fn draw() -> Result<String, String> {
    code_verifier().ok_or_else(|| "the system gives no random numbers".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn redirects_that_end_a_login() {
        let check = |redirect_uri: &str, at: &str, expected: bool| {
            let (redirect_uri, at) = (Url::parse(redirect_uri).unwrap(), Url::parse(at).unwrap());
            assert_eq!(ends_login(&at, &redirect_uri), expected, "{redirect_uri} {at}");
        };
        check("http://127.0.0.1/callback", "http://127.0.0.1/callback?code=1", true);
        check("http://127.0.0.1/callback", "http://127.0.0.1/login?code=1", false);
        check("http://127.0.0.1:7/callback", "http://127.0.0.1:8/callback?code=1", false);
        check("https://app.test/cb?x=1", "https://app.test/cb?x=1&code=2", true);
        check("https://app.test/cb?x=1", "https://app.test/cb?code=2", false);
        check("https://app.test/cb", "https://evil.test/cb?code=2", false);
        check("https://app.test/cb", "http://app.test/cb?code=2", false);
    }

    #[test]
    fn redirects_are_read() {
        let check = |query: &str, names_issuer: bool, expected: Result<&str, &str>| {
            let back = Url::parse(&format!("http://127.0.0.1/callback{query}")).unwrap();
            let given = Expected { state: "s".to_owned(), issuer: "https://as.test".to_owned(), names_issuer };
            let read = read_redirect(&back, &given);
            match (read, expected) {
                (Ok(code), Ok(expected)) => assert_eq!(code, expected, "{query}"),
                (Err(problem), Err(expected)) => {
                    assert!(problem.reason.contains(expected), "{query}: {}", problem.reason);
                }
                (read, expected) => panic!("{query}: {read:?}, not {expected:?}"),
            }
        };
        check("?code=c&state=s", false, Ok("c"));
        check("?code=c%2Fd&state=s&iss=https%3A%2F%2Fas.test", true, Ok("c/d"));
        check("?code=c", false, Err("sends no `state` back"));
        check("?code=c&state=t", false, Err("another `state`"));
        check("?code=c&state=s", true, Err("has no `iss`"));
        check("?code=c&state=s&iss=https%3A%2F%2Fevil.test", false, Err("the issuer `https://evil.test` as `iss`"));
        check("?code=c&state=s&iss=https%3A%2F%2Fas.test%2F", false, Err("as `iss`"));
        check(
            "?error=access_denied&error_description=No.&state=s",
            false,
            Err("refuses the login: access_denied, No."),
        );
        check("?error=access_denied&state=t", false, Err("another `state`"));
        check("?state=s", false, Err("without a code"));
        check("?state=s&code=", false, Err("without a code"));
        check("", false, Err("no `state`"));
    }
}
