//! The grant of devices (RFC 8628): a device shows a code, its user allows it on a page, and the device asks until that is
//! done. Here the forms of the suite are the user.

use reqwest::Url;
use serde::Deserialize;
use tokio::time::{Duration, sleep};

use super::asking::{Asking, Problem};
use super::discovery::{Found, permit_login, secure_endpoint};
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

impl DeviceCode {
    /// Begins, allows the device, and asks for the token until it comes.
    pub(crate) async fn fetch(
        &self,
        asking: &Asking<'_>,
        grant: &TokenGrant,
        found: &Found,
        needed: &TokenRequest<'_>,
    ) -> Result<(TokenSet, TokenClient), Problem> {
        let at = found.server.device_authorization_endpoint.as_deref();
        let at = secure_endpoint(at, "device authorization endpoint", grant, needed)?;
        permit_login(&at, grant.issuer.as_deref(), &self.login_hosts, needed.url)?;
        let id = grant.client_id.clone().unwrap_or_default();
        let client = TokenClient::new(grant, found, needed, id, grant.proof.clone())?;
        permit_login(&client.endpoint, grant.issuer.as_deref(), &self.login_hosts, needed.url)?;
        let scope = found.scopes.join(" ");
        let form: Vec<_> = (!scope.is_empty()).then_some(("scope", scope.as_str())).into_iter().collect();
        let answer = client.post(asking, &at, &form).await?;
        let begun: Begun = serde_json::from_slice(&answer.body).map_err(|error| {
            Problem::of(format!("{}, which is no beginning for a device: {error}", answer.summary()))
        })?;
        asking.redactor.learn(&begun.device_code);
        asking.redactor.learn(&begun.user_code);
        let page = begun.verification_uri_complete.as_deref().unwrap_or(&begun.verification_uri);
        let start = Url::parse(page).map_err(|_| Problem::of(format!("{}, whose page is no URL", answer.summary())))?;
        let place = LoginPlace {
            start,
            end: LoginEnd::LastForm,
            hosts: hosts(&self.login_hosts, grant, found, &[&at, needed.url]),
            issuer: grant.issuer.as_deref().and_then(|issuer| Url::parse(issuer).ok()),
            code: Some(("user_code".to_owned(), begun.user_code)),
        };
        Login::new(asking, &self.login, place).walk().await?;
        let form = [
            ("grant_type", "urn:ietf:params:oauth:grant-type:device_code"),
            ("device_code", begun.device_code.as_str()),
        ];
        let mut interval = begun.interval.unwrap_or(INTERVAL).max(1);
        // The time for a token ends this.
        loop {
            let problem = match client.ask(asking, &form).await {
                Ok(set) => return Ok((set, client)),
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
