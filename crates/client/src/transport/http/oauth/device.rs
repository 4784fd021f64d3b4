//! The grant of devices (RFC 8628): a device shows a code, its user allows it on a page, and the device asks until that is
//! done. The user is a person, or the forms of the suite.

use reqwest::Url;
use serde::Deserialize;
use tokio::time::{Duration, sleep};

use super::asking::{Asking, Problem};
use super::code::LoginBy;
use super::discovery::{Found, secure_endpoint};
use super::login::{Login, LoginEnd, LoginForm, LoginPlace, hosts};
use super::token_request::{TokenClient, TokenSet};
use super::{TokenGrant, TokenRequest};

/// The time between two questions where the authorization server names none, in seconds (RFC 8628, 3.2).
const INTERVAL: u64 = 5;

/// The pages on which the user of a device allows it.
#[derive(Clone)]
pub struct DeviceCode {
    /// The forms of the pages, in order; a field `user_code` gets the code of the device.
    pub login: Vec<LoginForm>,
    /// Further hosts to which the pages may lead.
    pub login_hosts: Vec<String>,
}

/// The beginning of the grant (RFC 8628, 3.2).
#[derive(Deserialize)]
struct Begun {
    device_code: String,
    user_code: String,
    verification_uri: String,
    /// The page that knows the code already.
    verification_uri_complete: Option<String>,
    interval: Option<u64>,
}

/// A device that waits to be allowed.
pub(crate) struct BegunDevice {
    begun: Begun,
    /// Where it was asked.
    endpoint: Url,
    client: TokenClient,
}

impl DeviceCode {
    /// Begins, allows the device with the forms of the suite, and asks for the token until it comes.
    pub(crate) async fn fetch(
        &self,
        asking: &Asking<'_>,
        grant: &TokenGrant,
        found: &Found,
        needed: &TokenRequest<'_>,
    ) -> Result<(TokenSet, TokenClient), Problem> {
        let by = LoginBy::Forms { hosts: &self.login_hosts };
        let begun = self.begin(asking, grant, found, needed, by).await?;
        asking.redactor.learn_foreign(begun.user_code());
        let place = LoginPlace {
            start: begun.page(grant, needed)?,
            end: LoginEnd::LastForm,
            hosts: hosts(&self.login_hosts, grant, found, &[&begun.endpoint, needed.url]),
            issuer: grant.issuer.as_deref().and_then(|issuer| Url::parse(issuer).ok()),
            code: Some(("user_code".to_owned(), begun.user_code().to_owned())),
        };
        Login::new(asking, &self.login, place).walk().await?;
        begun.wait(asking).await
    }

    /// Gets the codes of the device.
    pub(crate) async fn begin(
        &self,
        asking: &Asking<'_>,
        grant: &TokenGrant,
        found: &Found,
        needed: &TokenRequest<'_>,
        by: LoginBy<'_>,
    ) -> Result<BegunDevice, Problem> {
        let at = found.server.device_authorization_endpoint.as_deref();
        let at = secure_endpoint(at, "device authorization endpoint", grant, needed)?;
        let permit = |at: &Url| by.permit(at, grant, needed);
        permit(&at)?;
        let id = grant.client_id.clone().unwrap_or_default();
        let client = TokenClient::new(grant, found, needed, id, grant.proof.clone())?;
        permit(&client.endpoint)?;
        let scope = found.scopes.join(" ");
        let form: Vec<_> = (!scope.is_empty()).then_some(("scope", scope.as_str())).into_iter().collect();
        let answer = client.post(asking, &at, &form).await?;
        let begun: Begun = serde_json::from_slice(&answer.body).map_err(|error| {
            Problem::of(format!("{}, which is no beginning for a device: {error}", answer.summary()))
        })?;
        asking.redactor.learn_foreign(&begun.device_code);
        Ok(BegunDevice { begun, endpoint: at, client })
    }
}

impl BegunDevice {
    /// The code that is typed at the page.
    pub(crate) fn user_code(&self) -> &str {
        &self.begun.user_code
    }

    /// The page on which the device is allowed; codes are typed there, so it must be as secure as an endpoint.
    pub(crate) fn page(&self, grant: &TokenGrant, needed: &TokenRequest<'_>) -> Result<Url, Problem> {
        let page = self.begun.verification_uri_complete.as_deref().unwrap_or(&self.begun.verification_uri);
        secure_endpoint(Some(page), "page for the code of the device", grant, needed)
    }

    /// Asks for the token until it comes; whoever calls it limits the time.
    pub(crate) async fn wait(self, asking: &Asking<'_>) -> Result<(TokenSet, TokenClient), Problem> {
        let form = [
            ("grant_type", "urn:ietf:params:oauth:grant-type:device_code"),
            ("device_code", self.begun.device_code.as_str()),
        ];
        let mut interval = self.begun.interval.unwrap_or(INTERVAL).max(1);
        loop {
            let problem = match self.client.ask(asking, &form).await {
                Ok(set) => return Ok((set, self.client)),
                Err(problem) => problem,
            };
            match problem.error.as_str() {
                "authorization_pending" => {}
                "slow_down" => interval = interval.saturating_add(INTERVAL),
                _ => return Err(problem),
            }
            sleep(Duration::from_secs(interval)).await;
        }
    }
}
