//! The login of a person: once, in a browser or with the code of a device, and kept from then on.

use reqwest::Url;
use reqwest::header::{ACCEPT, CONTENT_TYPE, WWW_AUTHENTICATE};
use tokio::time::{Duration, timeout};

use super::asking::{Asking, Problem};
use super::callback::Callback;
use super::code::{AuthorizationCode, CodeRequest, LoginBy};
use super::discovery::{Found, discover, secure_endpoint};
use super::kept::{KeptLogin, unix_now};
use super::token_request::{TokenClient, TokenSet};
use super::{ClientProof, FETCH_TIMEOUT, TokenFlow, TokenGrant, TokenRequest, TokenSource, unasked};
use crate::transport::http::{HttpAddress, NoToken, head};

/// The time for a person to log in, with a second factor and all.
const LOGIN_TIMEOUT: Duration = Duration::from_secs(10 * 60);

/// The time for the answer of the tested server that refuses a request.
const REFUSAL_TIMEOUT: Duration = Duration::from_secs(8);

/// What a person is asked to do.
#[derive(Debug, Clone, Copy)]
pub enum LoginPrompt<'a> {
    /// Opens an address in a browser.
    Open(&'a str),
    /// Opens an address in any browser, and types a code there.
    Enter {
        /// The address.
        address: &'a str,
        /// The code.
        code: &'a str,
    },
}

/// Tells a person what to do.
pub type TellPerson<'a> = &'a (dyn Fn(LoginPrompt<'_>) + Sync);

impl TokenSource {
    /// The name by which a login is kept: the resource that the suite names, or the address of the server.
    pub fn login_name(&self, url: &Url) -> String {
        let resource = self.grant.resource.as_deref().map(|resource| match Url::parse(resource) {
            Ok(resource) => resource.to_string(),
            Err(_) => resource.to_owned(),
        });
        resource.unwrap_or_else(|| url.to_string())
    }

    /// Returns true if the suite names the authorization server and the resource, so that the server need not be asked.
    pub fn is_independent_of_address(&self) -> bool {
        self.grant.issuer.is_some() && self.grant.resource.is_some()
    }

    /// Returns true if a person logs in, and not the suite.
    pub fn is_of_person(&self) -> bool {
        self.grant.person.is_some()
    }

    /// The user of the suite for whom a person logs in, for a server with several.
    pub fn login_user(&self) -> Option<&str> {
        self.grant.person.as_ref().and_then(|person| person.user.as_deref())
    }

    /// Has a person log in to the server at this address, and keeps what that gives.
    ///
    /// # Errors
    ///
    /// Says who refused, or what could not be written.
    pub async fn log_in(&self, address: &HttpAddress, tell: TellPerson<'_>) -> Result<KeptLogin, Box<NoToken>> {
        let url = Url::parse(&address.url)
            .map_err(|_| Box::new(unasked(Problem::of("the address of the server is not a URL"))))?;
        let client = self.client(&address.tls).map_err(|error| Box::new(unasked(Problem::of(error.to_string()))))?;
        let is_known = self.grant.issuer.is_some() || self.grant.token_url.is_some();
        let challenge = if is_known { None } else { challenge_of(address, &url).await };
        let needed = TokenRequest { url: &url, client: &client, challenge: challenge.as_deref() };
        let asking = Asking::new(&client, &self.redactor);
        self.logged_in(&asking, &needed, tell).await.map_err(|problem| {
            let (asked, excerpt) = asking.exchanges();
            let mask = |text: &str| self.redactor.text(text);
            let reason = mask(&problem.reason);
            Box::new(NoToken {
                reason,
                asked: asked.iter().map(|line| mask(line)).collect(),
                excerpt: mask(&excerpt),
                cure: mask(&problem.cure).into(),
            })
        })
    }

    /// A text without the secrets of the suite and of its logins.
    pub fn masked(&self, text: &str) -> String {
        self.redactor.text(text)
    }

    /// Asks the authorization server to end a login (RFC 7009); returns false where it has no place for that.
    ///
    /// # Errors
    ///
    /// Says what it answered, as half a sentence.
    pub async fn revoke(&self, login: &KeptLogin, address: &HttpAddress) -> Result<bool, String> {
        let Some(endpoint) = &login.revocation_endpoint else { return Ok(false) };
        login.learn(&self.redactor);
        let revoked = self.revoked(login, endpoint, address).await;
        revoked.map(|()| true).map_err(|problem| self.redactor.text(&problem.reason))
    }

    async fn revoked(&self, login: &KeptLogin, endpoint: &str, address: &HttpAddress) -> Result<(), Problem> {
        let url = Url::parse(&address.url).map_err(|_| Problem::of("the address of the server is not a URL"))?;
        let scheme = if endpoint.starts_with("http://") { "http" } else { "https" };
        let client = head::bare_client(&address.tls, scheme).map_err(|error| Problem::of(error.to_string()))?;
        let needed = TokenRequest { url: &url, client: &client, challenge: None };
        let endpoint = match Url::parse(endpoint) {
            // It gets the refresh token anyway, and was found safe when somebody logged in.
            Ok(at) if login.sends_tokens_to(&at) => at,
            Ok(_) | Err(_) => secure_endpoint(Some(endpoint), "revocation endpoint", &self.grant, &needed)?,
        };
        let asking = Asking::new(&client, &self.redactor);
        // The secret of the suite is for the client and the authorization server that it names.
        let proof = if login.fits(&self.grant) { self.grant.proof.clone() } else { ClientProof::Nothing };
        let client = TokenClient::kept(login, proof)?;
        let (token, hint) = match &login.refresh_token {
            Some(refresh) => (refresh, "refresh_token"),
            None => (&login.access_token, "access_token"),
        };
        let form = [("token", token.as_str()), ("token_type_hint", hint)];
        client.post(&asking, &endpoint, &form).await.map(|_| ())
    }

    async fn logged_in(
        &self,
        asking: &Asking<'_>,
        needed: &TokenRequest<'_>,
        tell: TellPerson<'_>,
    ) -> Result<KeptLogin, Problem> {
        let grant = &self.grant;
        let Some(person) = &grant.person else {
            return Err(Problem::of("`auth` has all that its token needs, so that nobody has to log in")
                .with_cure("leave out `login` under `auth`, so that a person logs in"));
        };
        let within = FETCH_TIMEOUT.as_secs();
        let slow = move |_| Problem::of(format!("the authorization server was not ready within {within} s"));
        let found = timeout(FETCH_TIMEOUT, discover(asking, grant, needed)).await.map_err(slow)??;
        // Nobody logs in for nothing.
        person.file.check().await?;
        let (set, client) = match &grant.flow {
            TokenFlow::AuthorizationCode(code) => {
                let begun = begin(code, asking, self, &found, needed);
                let (callback, request) = timeout(FETCH_TIMEOUT, begun).await.map_err(slow)??;
                tell(LoginPrompt::Open(request.start.as_str()));
                let code = in_time(callback.wait(request.expected.clone())).await?;
                request.exchange(asking, code).await?
            }
            TokenFlow::DeviceCode(device) => {
                let begun = device.begin(asking, grant, &found, needed, LoginBy::Person);
                let begun = timeout(FETCH_TIMEOUT, begun).await.map_err(slow)??;
                let page = begun.page(grant, needed)?;
                tell(LoginPrompt::Enter { address: page.as_str(), code: begun.user_code() });
                in_time(begun.wait(asking)).await?
            }
            TokenFlow::ClientCredentials => {
                return Err(Problem::of("`client_credentials` needs no login").with_cure("run the suite as it is"));
            }
        };
        let login =
            KeptLogin { user: person.user.clone(), ..kept(self.login_name(needed.url), grant, &found, &set, &client) };
        let revokes = |at: &String| secure_endpoint(Some(at), "revocation endpoint", grant, needed).is_ok();
        let login = KeptLogin { revocation_endpoint: login.revocation_endpoint.clone().filter(revokes), ..login };
        person.file.keep(&login).await?;
        Ok(login)
    }
}

async fn begin(
    code: &AuthorizationCode,
    asking: &Asking<'_>,
    source: &TokenSource,
    found: &Found,
    needed: &TokenRequest<'_>,
) -> Result<(Callback, CodeRequest), Problem> {
    let callback = Callback::open(code.redirect_uri.as_deref()).await?;
    let redirect_uri = Ok(callback.redirect_uri.clone());
    let request = CodeRequest::prepare(asking, &source.grant, found, needed, redirect_uri, LoginBy::Person).await?;
    Ok((callback, request))
}

/// Waits for a person.
async fn in_time<T>(login: impl Future<Output = Result<T, Problem>>) -> Result<T, Problem> {
    let late = || {
        let minutes = LOGIN_TIMEOUT.as_secs() / 60;
        Problem::of(format!("nobody logged in within {minutes} min")).with_cure("run the command again")
    };
    timeout(LOGIN_TIMEOUT, login).await.unwrap_or_else(|_| Err(late()))
}

fn kept(server: String, grant: &TokenGrant, found: &Found, set: &TokenSet, client: &TokenClient) -> KeptLogin {
    let KeptClient { client_id, client_secret, secret_in_header } = client.to_keep();
    KeptLogin {
        server,
        user: None,
        issuer: found.server.issuer.clone(),
        client_id,
        // Another secret is that of the suite.
        client_secret: client_secret.filter(|_| grant.client_id.is_none()),
        secret_in_header,
        token_endpoint: client.endpoint.to_string(),
        revocation_endpoint: found.server.revocation_endpoint.clone(),
        resource: client.resource.clone(),
        scopes: Some(found.scopes.clone()),
        access_token: String::new(),
        refresh_token: None,
        expires: None,
        logged_in: unix_now(),
    }
    .with(set)
}

/// What is kept of a client.
pub(crate) struct KeptClient {
    pub(crate) client_id: String,
    pub(crate) client_secret: Option<String>,
    pub(crate) secret_in_header: bool,
}

/// The header `www-authenticate` with which the server refuses a request without a token, if it does.
async fn challenge_of(address: &HttpAddress, url: &Url) -> Option<String> {
    const PING: &str = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    let client = head::client(address, url).ok()?;
    let request = client.post(url.clone()).header(CONTENT_TYPE, "application/json");
    let request = request.header(ACCEPT, "application/json, text/event-stream").body(PING);
    let answer = timeout(REFUSAL_TIMEOUT, request.send()).await.ok()?.ok()?;
    let header = answer.headers().get(WWW_AUTHENTICATE).filter(|_| answer.status() == 401)?;
    header.to_str().ok().map(str::to_owned)
}
