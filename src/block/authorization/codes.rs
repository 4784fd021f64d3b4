//! Rules about requests for codes, and about the exchange of codes for tokens.

use reqwest::Url;

use super::check::{Judged, broken, must_be_refused};
use super::client::OAuthClient;
use super::rule::AuthorizationRule;
use super::walk::{Authority, CodeRequest, Issue, LandingEnd, TokenAnswer, Walk, parameter, shown_text};
use super::web::shown_url;
use crate::check::CheckEnd;
use crate::transport::http::code_verifier as random_text;

/// A redirect URI that no client registered; nothing is sent there.
const FOREIGN_REDIRECT: &str = "https://mcprove.invalid/callback";

/// What is behind the path of the registered address in one that is not registered.
const OTHER_PATH: &str = "/mcprove-elsewhere";

const CONTROL: &str = "a code that came without any mistake was exchanged for a token";

/// A walk that got a token without any mistake, and can now make one.
struct Begun<'a> {
    walk: &'a Walk<'a>,
    authority: Authority,
    client: OAuthClient,
}

impl<'a> Begun<'a> {
    /// Finds the authorization server and the client.
    async fn new(walk: &'a Walk<'a>) -> Result<Self, CheckEnd> {
        let authority = walk.authority().await?;
        let client = walk.client(&authority).await?;
        Ok(Self { walk, authority, client })
    }

    /// The same, once tokens were issued.
    async fn served(walk: &'a Walk<'a>) -> Result<Self, CheckEnd> {
        let begun = Self::new(walk).await?;
        let (request, verifier) = begun.request()?;
        walk.tokens(&begun.authority, &begun.client, &request, &verifier).await?;
        Ok(begun)
    }

    fn request(&self) -> Result<(CodeRequest, String), CheckEnd> {
        self.walk.code_request(&self.authority)
    }

    async fn code(&self, request: &CodeRequest) -> Result<String, CheckEnd> {
        self.walk.authorize(&self.authority, &self.client, request).await?.code()
    }

    async fn exchange(
        &self,
        client: &OAuthClient,
        request: &CodeRequest,
        code: &str,
        verifier: Option<&str>,
    ) -> Result<TokenAnswer, CheckEnd> {
        self.walk.exchange(&self.authority, client, request, code, verifier).await
    }

    /// The parameters that come back with a code.
    async fn response(&self) -> Result<(CodeRequest, Vec<(String, String)>), CheckEnd> {
        let (request, _) = self.request()?;
        let landing = self.walk.authorize(&self.authority, &self.client, &request).await?;
        landing.code()?;
        Ok((request, landing.parameters()?.to_vec()))
    }
}

pub(crate) async fn response_issuer(walk: &Walk<'_>) -> Judged {
    let begun = Begun::new(walk).await?;
    let (_, parameters) = begun.response().await?;
    let is_announced = begun.authority.metadata["authorization_response_iss_parameter_supported"] == true;
    let issuer = &begun.authority.resource.issuer;
    match response_issuer_of(is_announced, parameter(&parameters, "iss"), issuer) {
        Ok(note) => Ok(note.to_owned()),
        Err(None) => Err(CheckEnd::not_applicable("the metadata do not announce `iss`, and no response has it")),
        Err(Some(message)) => Err(broken(AuthorizationRule::ResponseIssuer, message, "a code came back to the client")),
    }
}

/// Judges `iss` of a response; `Err(None)` where the rule does not apply.
fn response_issuer_of(is_announced: bool, named: Option<&str>, issuer: &str) -> Result<&'static str, Option<String>> {
    match named {
        Some(named) if named == issuer => Ok("the response names the issuer"),
        Some(named) => Err(Some(format!(
            "the response names the issuer `{}` instead of `{}`",
            shown_text(named),
            shown_text(issuer)
        ))),
        None if is_announced => Err(Some("the metadata announce `iss`, and the response has none".to_owned())),
        None => Err(None),
    }
}

pub(crate) async fn state(walk: &Walk<'_>) -> Judged {
    let (request, parameters) = Begun::new(walk).await?.response().await?;
    let message = match parameter(&parameters, "state") {
        Some(state) if state == request.state => return Ok("`state` came back as it was sent".to_owned()),
        Some(_) => "the response has another `state` than the request",
        None => "the response has no `state`",
    };
    Err(broken(AuthorizationRule::State, message, "a code came back to the client"))
}

pub(crate) async fn redirect_status(walk: &Walk<'_>) -> Judged {
    let begun = Begun::new(walk).await?;
    let (request, _) = begun.request()?;
    let landing = walk.authorize(&begun.authority, &begun.client, &request).await?;
    landing.code()?;
    match landing.login_redirect {
        Some(status @ (307 | 308)) => {
            let message = format!("after the login, the browser is redirected with {status}");
            Err(broken(AuthorizationRule::RedirectStatus, message, "a code came back to the client"))
        }
        Some(status) => Ok(format!("the login is redirected with {status}")),
        None => Err(CheckEnd::not_applicable("the form with the password is not answered with a redirect")),
    }
}

pub(crate) async fn redirect_uri(walk: &Walk<'_>) -> Judged {
    let begun = Begun::served(walk).await?;
    for address in [FOREIGN_REDIRECT.to_owned(), beside(&walk.redirect_uri)] {
        let (request, _) = begun.request()?;
        let request = CodeRequest { redirect_uri: address.clone(), ..request };
        let landing = walk.authorize(&begun.authority, &begun.client, &request).await?;
        match landing.end {
            LandingEnd::Client(_) => {
                let message =
                    format!("the browser is redirected to `{}`, which no client registered", shown_text(&address));
                return Err(broken(AuthorizationRule::RedirectUri, message, CONTROL));
            }
            LandingEnd::Elsewhere(url) if walk.is_own_redirect(&url) => {}
            LandingEnd::Elsewhere(url) => {
                return Err(CheckEnd::inconclusive(format!(
                    "the request led to {}, which may not be asked",
                    shown_url(&url)
                )));
            }
            LandingEnd::Page(answer) if answer.status >= 500 => return Err(CheckEnd::inconclusive(answer.summary())),
            LandingEnd::Page(_) => {}
        }
    }
    Ok("addresses that were not registered lead to a page, and to no redirect".to_owned())
}

/// Another address on the same host.
fn beside(redirect_uri: &str) -> String {
    Url::parse(redirect_uri).map_or_else(
        |_| FOREIGN_REDIRECT.to_owned(),
        |mut url| {
            url.set_path(&format!("{}{OTHER_PATH}", url.path().trim_end_matches('/')));
            url.to_string()
        },
    )
}

pub(crate) async fn code_verifier(walk: &Walk<'_>) -> Judged {
    let begun = Begun::served(walk).await?;
    let other = random_text().ok_or_else(|| CheckEnd::inconclusive("the system gives no random numbers"))?;
    let mut note = String::new();
    for (verifier, message) in [
        (Some(other.as_str()), "a code was exchanged with a verifier that does not match its challenge"),
        (None, "a code that was requested with a challenge was exchanged without a verifier"),
    ] {
        let (request, _) = begun.request()?;
        let code = begun.code(&request).await?;
        let tokens = begun.exchange(&begun.client, &request, &code, verifier).await?;
        note = must_be_refused(AuthorizationRule::CodeVerifier, &tokens, message, CONTROL)?;
    }
    Ok(note)
}

pub(crate) async fn pkce_required(walk: &Walk<'_>) -> Judged {
    let begun = Begun::served(walk).await?;
    if !begun.client.is_public() {
        return Err(CheckEnd::not_applicable("the rule is about public clients, and this one has a secret"));
    }
    let (request, _) = begun.request()?;
    let request = CodeRequest { challenge: None, method: None, ..request };
    let message = "a public client got a token for a code that was requested without a challenge";
    exchange_odd_request(&begun, AuthorizationRule::PkceRequired, &request, None, message).await
}

pub(crate) async fn pkce_plain(walk: &Walk<'_>) -> Judged {
    let begun = Begun::served(walk).await?;
    let methods = begun.authority.metadata["code_challenge_methods_supported"].as_array().cloned().unwrap_or_default();
    if methods.is_empty() || methods.iter().any(|method| method == "plain") {
        let why = "the metadata list `plain`, or no method at all; see the rule `pkce_announced`";
        return Err(CheckEnd::not_applicable(why));
    }
    let (request, verifier) = begun.request()?;
    let request = CodeRequest { challenge: Some(verifier.clone()), method: Some("plain"), ..request };
    let message = "a code was exchanged by the method `plain`, which the metadata do not list";
    exchange_odd_request(&begun, AuthorizationRule::PkcePlain, &request, Some(&verifier), message).await
}

/// Makes a request that must be refused, at one endpoint or the other.
async fn exchange_odd_request(
    begun: &Begun<'_>,
    rule: AuthorizationRule,
    request: &CodeRequest,
    verifier: Option<&str>,
    message: &str,
) -> Judged {
    let landing = begun.walk.authorize(&begun.authority, &begun.client, request).await?;
    let code = match &landing.end {
        LandingEnd::Client(parameters) => parameter(parameters, "code"),
        LandingEnd::Page(answer) if answer.status < 500 => None,
        LandingEnd::Page(answer) => return Err(CheckEnd::inconclusive(answer.summary())),
        LandingEnd::Elsewhere(_) => {
            landing.parameters()?;
            None
        }
    };
    let Some(code) = code else { return Ok("the request for a code was refused".to_owned()) };
    let tokens = begun.exchange(&begun.client, request, code, verifier).await?;
    must_be_refused(rule, &tokens, message, CONTROL)
}

pub(crate) async fn code_once(walk: &Walk<'_>) -> Judged {
    let begun = Begun::new(walk).await?;
    let (request, verifier) = begun.request()?;
    let code = begun.code(&request).await?;
    let first = begun.exchange(&begun.client, &request, &code, Some(&verifier)).await?;
    if first.issue() != Issue::Issued {
        return Err(CheckEnd::inconclusive(format!(
            "a code was refused when it was used first: {}",
            first.answer.summary()
        )));
    }
    let second = begun.exchange(&begun.client, &request, &code, Some(&verifier)).await?;
    must_be_refused(AuthorizationRule::CodeOnce, &second, "a code was exchanged for tokens twice", CONTROL)
}

pub(crate) async fn code_client(walk: &Walk<'_>) -> Judged {
    let begun = Begun::served(walk).await?;
    if begun.authority.metadata["registration_endpoint"].is_null() {
        return Err(CheckEnd::not_applicable("it takes a second client, and the authorization server registers none"));
    }
    let other = walk.new_client(&begun.authority).await?;
    let (request, verifier) = begun.request()?;
    // The other client is one that gets tokens for codes of its own.
    walk.tokens(&begun.authority, &other, &request, &verifier).await?;
    let (request, verifier) = begun.request()?;
    let code = begun.code(&request).await?;
    let tokens = begun.exchange(&other, &request, &code, Some(&verifier)).await?;
    let message = "a code of one client was exchanged by another one";
    must_be_refused(AuthorizationRule::CodeClient, &tokens, message, CONTROL)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_beside_the_registered_one() {
        for (registered, expected) in [
            ("http://127.0.0.1/callback", "http://127.0.0.1/callback/mcprove-elsewhere"),
            ("http://127.0.0.1/?a=1", "http://127.0.0.1/mcprove-elsewhere?a=1"),
        ] {
            assert_eq!(beside(registered), expected);
        }
    }

    #[test]
    fn the_issuer_of_a_response_is_identical_if_it_is_announced() {
        for (is_announced, named, expected) in [
            (true, Some("https://a"), Ok(())),
            (false, Some("https://a"), Ok(())),
            (true, Some("https://a/"), Err(true)),
            (false, Some("https://b"), Err(true)),
            (true, None, Err(true)),
            (false, None, Err(false)),
        ] {
            let judged = response_issuer_of(is_announced, named, "https://a");
            assert_eq!(judged.map(|_| ()).map_err(|message| message.is_some()), expected, "{named:?}");
        }
    }
}
