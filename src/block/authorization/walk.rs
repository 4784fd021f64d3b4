//! The steps of a client of OAuth, from the refusal of the server to a token.

use std::collections::BTreeSet;

use reqwest::Url;
use serde_json::{Map, Value, json};
use tokio::time::{Instant, timeout};

use super::client::{OAuthClient, registered, registration, secret_place};
use super::listed_tools::ToolSearch;
use super::login::fill_form;
use super::web::{Web, WebAnswer, WebBody, WebRequest, known_error, shown_url, with_query};
use super::{AuthorizationSettings, NamedCall, OAuthUser};
use crate::check::raw_http::{HttpProbe, SESSION_ID, session_id_of};
use crate::check::{CheckEnd, CheckSession, call_params};
use crate::event::{CheckResult, Outcome, Reason};
use crate::plan::CheckContext;
use crate::redact::names_login_secret;
use crate::session::{ListPages, RawExchange, time_for_list};
use crate::source::{Located, Node, shorten, visible_line};
use crate::transport::http::{
    ReadUntil, challenge_parameter, clock_fault, code_challenge, code_verifier, is_here, issuer_places, resource_places,
};
use crate::wire::Era;

/// The address to which codes are sent, if the suite names none.
const REDIRECT_URI: &str = "http://127.0.0.1/callback";

/// The number of pages and redirects of a login.
const MOST_PAGES: usize = 12;

/// A walk of one case: its server, its settings, and what it may send.
pub(crate) struct Walk<'a> {
    pub(crate) context: &'a CheckContext<'a>,
    pub(crate) session: &'a CheckSession<'a>,
    pub(crate) settings: &'a AuthorizationSettings,
    pub(crate) web: Web,
    pub(crate) redirect_uri: String,
    pub(crate) server: Url,
    /// The user who logs in, if it is another one than that of `login` in the settings.
    pub(crate) user: Option<&'a (Located<String>, OAuthUser)>,
    login: Map<String, Value>,
    /// The scopes that tokens get; none for those that the server asks for.
    scopes: &'a [String],
}

/// What the server says about its tokens.
#[derive(Debug, Clone)]
pub(crate) struct Resource {
    /// Its own name, for which tokens are issued.
    pub(crate) name: String,
    /// The authorization server.
    pub(crate) issuer: String,
    /// The scopes of tokens, with spaces in between.
    pub(crate) scopes: String,
}

/// An authorization server whose metadata clients may use.
#[derive(Debug, Clone)]
pub(crate) struct Authority {
    pub(crate) resource: Resource,
    pub(crate) metadata: Value,
}

/// An answer of the tested server.
#[derive(Debug, Clone)]
pub(crate) struct ServerAnswer {
    pub(crate) status: u16,
    pub(crate) challenge: Option<String>,
    /// Why the time of the server refuses the token, if it is the reason.
    pub(crate) clock: Option<String>,
    /// The message in it; null if there is none.
    pub(crate) message: Value,
}

/// The head of an answer to a request that is no message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SessionHead {
    pub(crate) status: u16,
    pub(crate) is_stream: bool,
}

/// A request for a code.
#[derive(Debug, Clone)]
pub(crate) struct CodeRequest {
    pub(crate) redirect_uri: String,
    pub(crate) resource: String,
    pub(crate) scopes: String,
    pub(crate) challenge: Option<String>,
    pub(crate) method: Option<&'static str>,
    pub(crate) state: String,
}

/// Where a request for a code led.
#[derive(Debug)]
pub(crate) struct Landing {
    pub(crate) end: LandingEnd,
    /// The status of a redirect that answered the form with the password.
    pub(crate) login_redirect: Option<u16>,
}

#[derive(Debug)]
pub(crate) enum LandingEnd {
    /// To the client, with these parameters.
    Client(Vec<(String, String)>),
    /// To an address that may not be asked.
    Elsewhere(Url),
    /// To a page that leads no further.
    Page(WebAnswer),
}

/// An answer of the token endpoint.
#[derive(Debug, Clone)]
pub(crate) struct TokenAnswer {
    pub(crate) answer: WebAnswer,
    pub(crate) access: Option<String>,
    pub(crate) refresh: Option<String>,
    /// The lifetime of the access token, in seconds.
    pub(crate) expires_in: Option<u64>,
}

/// What a request for tokens came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Issue {
    Issued,
    Refused,
    /// The answer is neither.
    Unclear,
}

impl TokenAnswer {
    fn of(answer: WebAnswer) -> Self {
        let body = answer.json();
        let text = |name: &str| body[name].as_str().filter(|text| !text.is_empty()).map(str::to_owned);
        let (access, refresh) = (text("access_token"), text("refresh_token"));
        Self { answer, access, refresh, expires_in: body["expires_in"].as_u64() }
    }

    /// The scopes of the token, where the answer says that they differ from those that were asked for (RFC 6749, 5.1).
    pub(crate) fn granted(&self) -> Option<String> {
        self.answer.json()["scope"].as_str().map(str::to_owned)
    }

    /// What it came to: a token, or a refusal in whatever form.
    pub(crate) fn issue(&self) -> Issue {
        let is_error = self.answer.json()["error"].is_string();
        match self.answer.status {
            200..300 if self.access.is_some() => Issue::Issued,
            200..300 if is_error => Issue::Refused,
            400..500 => Issue::Refused,
            _ => Issue::Unclear,
        }
    }

    /// The access token of an answer that must have one.
    pub(crate) fn access(&self) -> Result<&str, CheckEnd> {
        self.access.as_deref().ok_or_else(|| CheckEnd::inconclusive(self.answer.summary()))
    }
}

impl Authority {
    /// An endpoint of the metadata.
    pub(crate) fn endpoint(&self, name: &str) -> Result<Url, CheckEnd> {
        let written = self.metadata[name].as_str();
        let written = written.ok_or_else(|| CheckEnd::not_applicable(format!("the metadata have no `{name}`")))?;
        written.parse().map_err(|_| CheckEnd::inconclusive(format!("`{name}` in the metadata is no address")))
    }
}

impl Landing {
    /// The parameters that came back to the client.
    pub(crate) fn parameters(&self) -> Result<&[(String, String)], CheckEnd> {
        let why = match &self.end {
            LandingEnd::Client(parameters) => return Ok(parameters),
            LandingEnd::Elsewhere(url) => {
                format!("the login leads to {}, which may not be asked; name its host under `hosts`", shown_url(url))
            }
            LandingEnd::Page(answer) => {
                format!("the login ended at a page: {}; give the fields of its form under `login`", answer.summary())
            }
        };
        Err(CheckEnd::inconclusive(why))
    }

    /// The code that came back.
    pub(crate) fn code(&self) -> Result<String, CheckEnd> {
        let parameters = self.parameters()?;
        if let Some(code) = parameter(parameters, "code") {
            return Ok(code.to_owned());
        }
        let error = parameter(parameters, "error").map_or("no code", known_error);
        let why = format!("a request for a code without any mistake was answered with `{error}`");
        Err(CheckEnd::inconclusive(why))
    }
}

impl<'a> Walk<'a> {
    /// The walk of the user of `login`.
    pub(crate) fn new(
        context: &'a CheckContext<'a>,
        session: &'a CheckSession<'a>,
        settings: &'a AuthorizationSettings,
    ) -> Result<Self, CheckEnd> {
        Self::of(context, session, settings, None)
    }

    /// The walk of one of the users.
    pub(crate) fn of_user(
        context: &'a CheckContext<'a>,
        session: &'a CheckSession<'a>,
        settings: &'a AuthorizationSettings,
        user: usize,
    ) -> Result<Self, CheckEnd> {
        Self::of(context, session, settings, settings.users.get(user))
    }

    fn of(
        context: &'a CheckContext<'a>,
        session: &'a CheckSession<'a>,
        settings: &'a AuthorizationSettings,
        user: Option<&'a (Located<String>, OAuthUser)>,
    ) -> Result<Self, CheckEnd> {
        let no_address = || CheckEnd::not_applicable("rules about OAuth apply to servers over HTTP");
        let endpoint = session.session().endpoint().ok_or_else(no_address)?;
        let server: Url = endpoint.url().parse().map_err(|_| no_address())?;
        let mut hosts: BTreeSet<String> = settings.hosts.iter().cloned().collect();
        if let Some(issuer) = filled(context, settings.issuer.as_ref())? {
            hosts.extend(Url::parse(&issuer).ok().and_then(|url| url.host_str().map(str::to_owned)));
        }
        let login = user.map(|(_, user)| &user.login).or(settings.login.as_ref());
        let login = login.map(|login| context.fill(login).ok_or_else(unfilled)).transpose()?;
        let login = login.as_ref().and_then(Value::as_object).cloned().unwrap_or_default();
        let redirect_uri = filled(context, settings.redirect_uri.as_ref())?.unwrap_or_else(|| REDIRECT_URI.to_owned());
        let web = Web::new(server.clone(), hosts, endpoint.address().tls.clone(), context.request_timeout);
        let own_scopes = user.map(|(_, user)| user.scopes.as_slice()).filter(|scopes| !scopes.is_empty());
        let scopes = own_scopes.unwrap_or(&settings.scopes);
        let walk = Self { context, session, settings, web, redirect_uri, server, user, login, scopes };
        walk.learn_login(&walk.login);
        for (_, user) in &settings.users {
            if let Some(Value::Object(login)) = context.fill(&user.login) {
                walk.learn_login(&login);
            }
        }
        Ok(walk)
    }

    /// The name of the user, in a sentence.
    pub(crate) fn user_name(&self) -> &'a str {
        self.user.map_or("the user of `login`", |(name, _)| name.value.as_str())
    }

    /// True if another walk logs the same user in.
    pub(crate) fn has_login_of(&self, other: &Self) -> bool {
        self.login == other.login
    }

    /// The name under which is kept whether the user can log in at an address.
    fn login_key(&self, endpoint: &Url) -> String {
        format!("{endpoint} {}", self.user.map_or("", |(name, _)| name.value.as_str()))
    }

    fn learn_login(&self, login: &Map<String, Value>) {
        for (_, value) in login.iter().filter(|(name, _)| names_login_secret(name)) {
            self.learn(value.as_str());
        }
    }

    /// Keeps a secret out of everything that is shown.
    pub(crate) fn learn(&self, secret: Option<&str>) {
        if let Some(secret) = secret {
            self.context.machine.keep_secret(secret);
        }
    }

    /// A text of the suite with its templates filled in.
    pub(crate) fn text(&self, node: Option<&Node>) -> Result<Option<String>, CheckEnd> {
        filled(self.context, node)
    }

    /// The resources for which tokens are issued that the server must refuse; `own` is the name of the server itself.
    pub(crate) fn other_resources(&self, own: &str) -> Result<Vec<String>, CheckEnd> {
        let mut others = Vec::new();
        for node in &self.settings.other_resource {
            let written = self.text(Some(node))?.unwrap_or_default();
            let joined = self.server.join(&written);
            let other = joined.map_err(|_| CheckEnd::inconclusive("`other_resource` is no address"))?.to_string();
            if ![own, self.server.as_str()].iter().any(|name| is_same_resource(name, &other)) {
                others.push(other);
            }
        }
        Ok(others)
    }

    /// The arguments of a call that the settings name.
    pub(crate) fn arguments(&self, call: &NamedCall) -> Result<Value, CheckEnd> {
        let arguments = call.args.as_ref().map_or_else(|| Some(json!({})), |args| self.context.fill(args));
        let tool = &call.call.value;
        arguments
            .ok_or_else(|| CheckEnd::inconclusive(format!("`args` of `{tool}` names a value that is not known here")))
    }

    async fn get(&self, url: &Url) -> Result<WebAnswer, CheckEnd> {
        self.web.send(WebRequest { url, body: WebBody::None, authorization: None }).await
    }

    /// The challenge of the server, which refuses a request without a token.
    pub(crate) async fn challenge(&self) -> Result<String, CheckEnd> {
        let refused = self.ask(None).await?;
        if refused.status != 401 {
            let why = format!("a request without a token is answered with {}, not with 401", refused.status);
            return Err(CheckEnd::not_applicable(why));
        }
        Ok(refused.challenge.unwrap_or_default())
    }

    /// The metadata of the server (RFC 9728), as it publishes them.
    pub(crate) async fn resource_metadata(&self, challenge: &str) -> Result<Value, CheckEnd> {
        let named = challenge_parameter(challenge, "resource_metadata").and_then(|named| self.server.join(&named).ok());
        let places = named.map_or_else(|| resource_places(&self.server), |named| vec![named]);
        let mut found = None;
        for place in places {
            let answer = self.get(&place).await?;
            found = Some(answer.json()).filter(|json| answer.status == 200 && json.is_object());
            if found.is_some() {
                break;
            }
        }
        let no_metadata = || CheckEnd::inconclusive("the server has no metadata; see the compliance rules A1 to A3");
        found.ok_or_else(no_metadata)
    }

    /// The authorization server that the suite names, or the first of the metadata.
    pub(crate) fn issuer(&self, metadata: &Value) -> Result<String, CheckEnd> {
        let listed = metadata["authorization_servers"][0].as_str().map(str::to_owned);
        let issuer = self.text(self.settings.issuer.as_ref())?.or(listed);
        let none = || CheckEnd::inconclusive("the metadata name no authorization server; see the compliance rule A2");
        issuer.ok_or_else(none)
    }

    /// What the server says about its tokens, once it has refused a request without one.
    pub(crate) async fn resource(&self) -> Result<Resource, CheckEnd> {
        let challenge = self.challenge().await?;
        let metadata = self.resource_metadata(&challenge).await?;
        let name = metadata["resource"].as_str().unwrap_or(self.server.as_str()).to_owned();
        if !is_name_of(&name, &self.server) {
            let why = format!(
                "the metadata describe `{}` and not this server, so no client asks for a token; the pack `auth` checks that",
                shown_text(&name)
            );
            return Err(CheckEnd::inconclusive(why));
        }
        let issuer = self.issuer(&metadata)?;
        let scopes = if self.scopes.is_empty() {
            let supported = metadata["scopes_supported"].as_array().into_iter().flatten().filter_map(Value::as_str);
            challenge_parameter(&challenge, "scope").unwrap_or_else(|| supported.collect::<Vec<_>>().join(" "))
        } else {
            self.scopes.join(" ")
        };
        Ok(Resource { name, issuer, scopes })
    }

    /// The metadata of an issuer and where they are; `None` if they are at none of its well-known addresses.
    pub(crate) async fn metadata(&self, issuer: &str) -> Result<Option<(Url, Value)>, CheckEnd> {
        let url = Url::parse(issuer);
        let url =
            url.map_err(|_| CheckEnd::inconclusive(format!("the issuer `{}` is no address", shown_text(issuer))))?;
        let mut unclear = None;
        for place in issuer_places(&url) {
            let answer = self.get(&place).await?;
            let document = answer.json();
            if answer.status == 200 && document.is_object() {
                return Ok(Some((place, document)));
            }
            // A server that is busy, or sends us elsewhere, does not say that there are none.
            if !matches!(answer.status, 200 | 404 | 410) {
                unclear.get_or_insert_with(|| answer.summary());
            }
        }
        unclear.map_or(Ok(None), |summary| Err(CheckEnd::inconclusive(summary)))
    }

    /// The authorization server; inconclusive where no client may use its metadata.
    pub(crate) async fn authority(&self) -> Result<Authority, CheckEnd> {
        let resource = self.resource().await?;
        let Some((_, metadata)) = self.metadata(&resource.issuer).await? else {
            let why = "the authorization server publishes no metadata, so no client finds it; see the rule `metadata`";
            return Err(CheckEnd::inconclusive(why));
        };
        if metadata["issuer"] != *resource.issuer {
            let why = "the metadata name another issuer, so no client may use them; see the rule `issuer`";
            return Err(CheckEnd::inconclusive(why));
        }
        Ok(Authority { resource, metadata })
    }

    /// The client: that of the suite, or one that registers once in a run.
    pub(crate) async fn client(&self, authority: &Authority) -> Result<OAuthClient, CheckEnd> {
        if let Some(written) = &self.settings.client {
            let id = self.text(Some(&written.id))?.unwrap_or_default();
            let secret = self.text(written.secret.as_ref())?;
            self.learn(secret.as_deref());
            let place = written.auth.unwrap_or_else(|| secret_place(&authority.metadata));
            return Ok(OAuthClient { id, secret: secret.map(|secret| (secret, place)) });
        }
        if authority.metadata["registration_endpoint"].is_null() {
            let why = "the authorization server registers no clients; name one that it knows under `client`";
            return Err(CheckEnd::Skipped(Reason::NotGiven(why.to_owned())));
        }
        let endpoint = authority.endpoint("registration_endpoint")?;
        let key = format!("{endpoint} {}", self.redirect_uri);
        if let Some(client) = self.settings.registered.get(&key) {
            return Ok(client);
        }
        let client = self.new_client(authority).await?;
        self.settings.registered.keep(&key, &client);
        Ok(client)
    }

    /// A client that is registered for this.
    pub(crate) async fn new_client(&self, authority: &Authority) -> Result<OAuthClient, CheckEnd> {
        let answer = self.register(authority, &self.redirect_uri).await?;
        let client = registered(&answer.json()).filter(|_| (200..300).contains(&answer.status));
        let client = client.ok_or_else(|| {
            let why = format!("no client could be registered: {}; name one under `client`", answer.summary());
            CheckEnd::inconclusive(why)
        })?;
        self.learn(client.secret.as_ref().map(|(secret, _)| secret.as_str()));
        Ok(client)
    }

    /// Asks for the registration of a client with this redirect URI.
    pub(crate) async fn register(&self, authority: &Authority, redirect_uri: &str) -> Result<WebAnswer, CheckEnd> {
        let url = authority.endpoint("registration_endpoint")?;
        let metadata = registration(redirect_uri);
        let answer =
            self.web.send(WebRequest { url: &url, body: WebBody::Json(&metadata), authorization: None }).await?;
        let body = answer.json();
        for name in ["client_secret", "registration_access_token"] {
            self.learn(body[name].as_str());
        }
        Ok(answer)
    }

    /// A request for a code without any mistake, and the verifier of its challenge.
    pub(crate) fn code_request(&self, authority: &Authority) -> Result<(CodeRequest, String), CheckEnd> {
        let no_numbers = || CheckEnd::inconclusive("the system gives no random numbers");
        let (verifier, state) = (code_verifier().ok_or_else(no_numbers)?, code_verifier().ok_or_else(no_numbers)?);
        let Resource { name, scopes, .. } = authority.resource.clone();
        let request = CodeRequest {
            redirect_uri: self.redirect_uri.clone(),
            resource: name,
            scopes,
            challenge: Some(code_challenge(&verifier)),
            method: Some("S256"),
            state,
        };
        Ok((request, verifier))
    }

    /// Asks for a code and logs in, until a redirect leads to the client or away.
    pub(crate) async fn authorize(
        &self,
        authority: &Authority,
        client: &OAuthClient,
        request: &CodeRequest,
    ) -> Result<Landing, CheckEnd> {
        let endpoint = authority.endpoint("authorization_endpoint")?;
        let target = Url::parse(&request.redirect_uri);
        let target = target.map_err(|_| CheckEnd::inconclusive("`redirect_uri` is no address"))?;
        let url = with_query(endpoint.as_str(), &request.fields(client)).unwrap_or_else(|| endpoint.clone());
        self.web.forget_cookies();
        let login_key = self.login_key(&endpoint);
        if let Some(why) = self.settings.logins.failure(&login_key) {
            return Err(CheckEnd::inconclusive(why));
        }
        let (mut answer, mut login_redirect, mut has_password) = (self.get(&url).await?, None, false);
        let mut filled = Vec::new();
        for _ in 0..MOST_PAGES {
            if let Some(next) = answer.redirect() {
                if has_password {
                    login_redirect = Some(answer.status);
                }
                if is_same_place(&next, &target) {
                    let parameters: Vec<(String, String)> = next.query_pairs().into_owned().collect();
                    self.learn(parameter(&parameters, "code"));
                    self.settings.logins.keep_success(&login_key);
                    return Ok(Landing { end: LandingEnd::Client(parameters), login_redirect });
                }
                // Whatever listens at the address of the client is not a part of the login.
                if !self.web.may_ask(&next) || self.is_own_redirect(&next) {
                    return Ok(Landing { end: LandingEnd::Elsewhere(next), login_redirect });
                }
                (answer, has_password) = (self.get(&next).await?, false);
                continue;
            }
            let form =
                fill_form(&answer.body, &answer.url, &self.login).filter(|_| answer.content_type.contains("html"));
            let Some(form) = form else {
                return Ok(Landing { end: LandingEnd::Page(answer), login_redirect });
            };
            if self.login.is_empty() {
                let why = "nobody can log in; give the fields of the login page under `login`";
                return Err(CheckEnd::Skipped(Reason::NotGiven(why.to_owned())));
            }
            // A form that comes again says that the login failed; further attempts could lock the user out.
            if !form.given.is_empty() && filled.contains(&form.given) {
                let names = form.given.join("`, `");
                let why = format!("the page asks for `{names}` again; check the values under `login`");
                self.settings.logins.keep_failure(&login_key, &why);
                return Err(CheckEnd::inconclusive(why));
            }
            if is_same_place(&form.action, &target) {
                return Ok(Landing { end: LandingEnd::Elsewhere(form.action), login_redirect });
            }
            has_password = form.has_password;
            filled.push(form.given);
            answer = if form.is_post {
                let body = WebBody::Form(&form.fields);
                self.web.send(WebRequest { url: &form.action, body, authorization: None }).await?
            } else {
                let url = with_query(form.action.as_str(), &form.fields).unwrap_or(form.action);
                self.get(&url).await?
            };
        }
        Ok(Landing { end: LandingEnd::Page(answer), login_redirect })
    }

    /// True for the address to which codes are sent.
    pub(crate) fn is_own_redirect(&self, url: &Url) -> bool {
        Url::parse(&self.redirect_uri).is_ok_and(|own| is_same_place(url, &own))
    }

    /// Exchanges a code.
    pub(crate) async fn exchange(
        &self,
        authority: &Authority,
        client: &OAuthClient,
        request: &CodeRequest,
        code: &str,
        verifier: Option<&str>,
    ) -> Result<TokenAnswer, CheckEnd> {
        let mut fields = vec![
            ("grant_type", "authorization_code"),
            ("code", code),
            ("redirect_uri", request.redirect_uri.as_str()),
            ("resource", request.resource.as_str()),
        ];
        fields.extend(verifier.map(|verifier| ("code_verifier", verifier)));
        self.ask_for_tokens(authority, client, &fields).await
    }

    /// Exchanges a refresh token.
    pub(crate) async fn refresh(
        &self,
        authority: &Authority,
        client: &OAuthClient,
        refresh: &str,
    ) -> Result<TokenAnswer, CheckEnd> {
        let fields = [
            ("grant_type", "refresh_token"),
            ("refresh_token", refresh),
            ("resource", authority.resource.name.as_str()),
        ];
        self.ask_for_tokens(authority, client, &fields).await
    }

    async fn ask_for_tokens(
        &self,
        authority: &Authority,
        client: &OAuthClient,
        fields: &[(&str, &str)],
    ) -> Result<TokenAnswer, CheckEnd> {
        let answer = self.post_as(client, &authority.endpoint("token_endpoint")?, fields).await?;
        let tokens = TokenAnswer::of(answer);
        self.learn(tokens.access.as_deref());
        self.learn(tokens.refresh.as_deref());
        Ok(tokens)
    }

    /// Posts a form in the name of a client.
    pub(crate) async fn post_as(
        &self,
        client: &OAuthClient,
        url: &Url,
        fields: &[(&str, &str)],
    ) -> Result<WebAnswer, CheckEnd> {
        let mut fields: Vec<(String, String)> =
            fields.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let authorization = client.authenticate(&mut fields);
        let body = WebBody::Form(&fields);
        self.web.send(WebRequest { url, body, authorization: authorization.as_deref() }).await
    }

    /// Tokens by a flow without any mistake, which is the control of what follows.
    pub(crate) async fn tokens(
        &self,
        authority: &Authority,
        client: &OAuthClient,
        request: &CodeRequest,
        verifier: &str,
    ) -> Result<TokenAnswer, CheckEnd> {
        let code = self.authorize(authority, client, request).await?.code()?;
        let tokens = self.exchange(authority, client, request, &code, Some(verifier)).await?;
        if tokens.issue() == Issue::Issued {
            return Ok(tokens);
        }
        let why = format!("a code was refused that came without any mistake: {}", tokens.answer.summary());
        Err(CheckEnd::inconclusive(why))
    }

    /// Sends a request that needs nothing but a token.
    pub(crate) async fn ask(&self, token: Option<&str>) -> Result<ServerAnswer, CheckEnd> {
        let body = if self.is_in_sessions() { self.initialize() } else { self.request("tools/list", json!({})) };
        let (answer, session_id) = self.post(token, None, &body).await?;
        self.end_session(token, session_id.as_deref()).await;
        Ok(answer)
    }

    /// Calls a tool with a token.
    pub(crate) async fn call(&self, token: &str, tool: &str, arguments: &Value) -> Result<ServerAnswer, CheckEnd> {
        self.request_alone(token, "tools/call", call_params(tool, arguments)).await
    }

    /// True if no page of the list that a token may see has a tool; a list that cannot be read to its end says nothing.
    pub(crate) async fn hides(&self, token: &str, tool: &str) -> Result<bool, CheckEnd> {
        if !self.is_in_sessions() {
            return self.is_unlisted(token, None, tool).await;
        }
        let (opened, session_id) = self.open_session(token).await?;
        if opened.status != 200 {
            return Err(self.unreadable_list());
        }
        let id = session_id.as_deref();
        let is_unlisted = self.is_unlisted(token, id, tool).await;
        self.end_session(Some(token), id).await;
        is_unlisted
    }

    async fn is_unlisted(&self, token: &str, session_id: Option<&str>, tool: &str) -> Result<bool, CheckEnd> {
        let limit = time_for_list(self.context.request_timeout);
        let found = timeout(limit, self.search_list(token, session_id, tool)).await;
        found.unwrap_or_else(|_| Err(self.unreadable_list()))
    }

    async fn search_list(&self, token: &str, session_id: Option<&str>, tool: &str) -> Result<bool, CheckEnd> {
        let (mut pages, mut params) = (ListPages::default(), json!({}));
        loop {
            let body = self.request("tools/list", params);
            let (answer, _) = self.post(Some(token), session_id, &body).await?;
            match ToolSearch::take(&mut pages, &answer.message, tool) {
                ToolSearch::GoesOn(cursor) => params = json!({ "cursor": cursor }),
                ToolSearch::Listed => return Ok(false),
                ToolSearch::Unlisted => return Ok(true),
                ToolSearch::Unreadable => return Err(self.unreadable_list()),
            }
        }
    }

    fn unreadable_list(&self) -> CheckEnd {
        let name = self.user_name();
        CheckEnd::inconclusive(format!("the list of tools of `{name}` cannot be read to its end"))
    }

    /// Sends a request in a session of its own where there are sessions.
    async fn request_alone(&self, token: &str, method: &str, params: Value) -> Result<ServerAnswer, CheckEnd> {
        let body = self.request(method, params);
        if !self.is_in_sessions() {
            return Ok(self.post(Some(token), None, &body).await?.0);
        }
        let (opened, session_id) = self.open_session(token).await?;
        if opened.status != 200 {
            return Ok(opened);
        }
        let id = session_id.as_deref();
        let answer = self.post(Some(token), id, &body).await;
        self.end_session(Some(token), id).await;
        Ok(answer?.0)
    }

    /// Opens a session beside that of the case; the id is missing where the server gives none.
    pub(crate) async fn open_session(&self, token: &str) -> Result<(ServerAnswer, Option<String>), CheckEnd> {
        let (opened, session_id) = self.post(Some(token), None, &self.initialize()).await?;
        if opened.status == 200 {
            let initialized = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
            self.post(Some(token), session_id.as_deref(), &initialized).await?;
        }
        Ok((opened, session_id))
    }

    /// Sends `ping` in a session.
    pub(crate) async fn ping(&self, token: Option<&str>, session_id: &str) -> Result<ServerAnswer, CheckEnd> {
        Ok(self.post(token, Some(session_id), &self.request("ping", json!({}))).await?.0)
    }

    /// The head of the answer to a request that is no message: the status, and whether a stream of events follows.
    pub(crate) async fn head(
        &self,
        method: &'static str,
        token: Option<&str>,
        session_id: &str,
    ) -> Option<SessionHead> {
        let exchange = self.send(method, token, session_id, None).await?;
        let http = &exchange.response.head.as_ref()?.http;
        let is_stream = http.header("content-type").is_some_and(|kind| kind.starts_with("text/event-stream"));
        Some(SessionHead { status: http.status, is_stream })
    }

    pub(crate) fn is_in_sessions(&self) -> bool {
        self.session.session().server.revision.era() == Era::Session
    }

    fn initialize(&self) -> Value {
        json!({
            "jsonrpc": "2.0",
            "id": "mcprove-authorization",
            "method": "initialize",
            "params": {
                "protocolVersion": self.session.session().server.revision.as_str(),
                "capabilities": {},
                "clientInfo": { "name": "mcprove", "version": env!("CARGO_PKG_VERSION") },
            },
        })
    }

    fn request(&self, method: &str, params: Value) -> Value {
        let (_, line) = self.session.session().request_line(method, params);
        serde_json::from_slice(&line).unwrap_or_default()
    }

    async fn post(
        &self,
        token: Option<&str>,
        session_id: Option<&str>,
        body: &Value,
    ) -> Result<(ServerAnswer, Option<String>), CheckEnd> {
        let exchange = self.send("POST", token, session_id.unwrap_or_default(), Some(body)).await;
        let exchange = exchange.ok_or_else(|| CheckEnd::inconclusive("the server could not be asked"))?;
        let Some(head) = &exchange.response.head else {
            return Err(CheckEnd::inconclusive("the server gave no answer to a request beside the session"));
        };
        let clock = token.filter(|_| head.http.status == 401);
        let clock = clock.and_then(|token| clock_fault(token, head.http.header("date")));
        let answer = ServerAnswer {
            status: head.http.status,
            clock,
            challenge: head.http.header("www-authenticate").map(str::to_owned),
            message: exchange.messages().into_iter().next_back().unwrap_or_default(),
        };
        Ok((answer, session_id_of(&exchange)))
    }

    /// Sends a request beside the session of the case: a message until its answer is there, or only a head.
    async fn send(
        &self,
        method: &'static str,
        token: Option<&str>,
        session_id: &str,
        body: Option<&Value>,
    ) -> Option<RawExchange> {
        let bearer = token.map(|token| format!("Bearer {token}")).unwrap_or_default();
        let mut headers = vec![("authorization", bearer.as_str()), (SESSION_ID, session_id)];
        let until = if body.is_some() { ReadUntil::Answer } else { ReadUntil::Head };
        headers.extend(body.is_none().then_some(("accept", "text/event-stream")));
        let deadline = Instant::now() + self.context.request_timeout;
        let probe = HttpProbe { method, body, headers: &headers, until, deadline };
        probe.send(self.session.session(), self.context.owner).await
    }

    /// A server may refuse to let clients end sessions.
    pub(crate) async fn end_session(&self, token: Option<&str>, session_id: Option<&str>) {
        if let Some(id) = session_id {
            self.head("DELETE", token, id).await;
        }
    }
}

impl CodeRequest {
    fn fields(&self, client: &OAuthClient) -> Vec<(String, String)> {
        let mut fields = vec![
            ("response_type", "code"),
            ("client_id", client.id.as_str()),
            ("redirect_uri", self.redirect_uri.as_str()),
            ("state", self.state.as_str()),
            ("resource", self.resource.as_str()),
        ];
        if !self.scopes.is_empty() {
            fields.push(("scope", self.scopes.as_str()));
        }
        fields.extend(self.challenge.as_deref().map(|challenge| ("code_challenge", challenge)));
        fields.extend(self.method.map(|method| ("code_challenge_method", method)));
        fields.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
    }
}

/// A parameter that came back.
pub(crate) fn parameter<'a>(parameters: &'a [(String, String)], name: &str) -> Option<&'a str> {
    parameters.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
}

/// A text of a server in a sentence.
pub(crate) fn shown_text(text: &str) -> String {
    shorten(&visible_line(text), 120)
}

fn filled(context: &CheckContext<'_>, node: Option<&Node>) -> Result<Option<String>, CheckEnd> {
    let Some(node) = node else { return Ok(None) };
    let value = context.fill(node).ok_or_else(unfilled)?;
    Ok(Some(value.as_str().map_or_else(|| value.to_string(), str::to_owned)))
}

fn unfilled() -> CheckEnd {
    let why = "a template under `authorization` names a value that is not known here".to_owned();
    CheckEnd::Decided(Box::new(CheckResult::because(Outcome::Errored, Reason::Unfilled(why))))
}

/// True if both are the same address, whatever their queries are.
fn is_same_place(url: &Url, target: &Url) -> bool {
    url.origin() == target.origin() && url.scheme() == target.scheme() && url.path() == target.path()
}

/// True if both are names of one resource.
fn is_same_resource(one: &str, other: &str) -> bool {
    let plain = |name: &str| {
        let url = Url::parse(name).map(String::from);
        url.unwrap_or_else(|_| name.to_owned()).trim_end_matches('/').to_owned()
    };
    plain(one) == plain(other)
}

/// True if a resource of this name is the server: its address or a folder above it. A server on this machine may have a
/// public name.
fn is_name_of(name: &str, server: &Url) -> bool {
    let Ok(url) = Url::parse(name) else { return false };
    if is_here(server) && url.scheme() == "https" {
        return true;
    }
    let is_one_host = url.host() == server.host() || (is_here(&url) && is_here(server));
    let folder = url.path().trim_end_matches('/');
    let rest = server.path().trim_end_matches('/').strip_prefix(folder);
    is_one_host
        && url.port_or_known_default() == server.port_or_known_default()
        && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_resource_is_the_server_or_a_folder_above_it() {
        for (name, server, expected) in [
            ("http://127.0.0.1:3000/mcp", "http://127.0.0.1:3000/mcp", true),
            ("http://localhost:3000/", "http://127.0.0.1:3000/mcp", true),
            ("https://mcp.example/x", "http://127.0.0.1:3000/mcp", true),
            ("https://mcp.example/x", "https://mcp.example/x/mcp", true),
            ("https://mcp.example/x", "https://mcp.example/xy", false),
            ("https://other.example/mcp", "https://mcp.example/mcp", false),
            ("http://127.0.0.1:3001/mcp", "http://127.0.0.1:3000/mcp", false),
            ("mcp", "https://mcp.example/mcp", false),
        ] {
            assert_eq!(is_name_of(name, &server.parse().unwrap()), expected, "{name} {server}");
        }
    }

    #[test]
    fn resources_are_compared_as_addresses() {
        for (one, other, expected) in [
            ("http://127.0.0.1:3000/mcp", "http://127.0.0.1:3000/mcp/", true),
            ("HTTPS://Mcp.example:443", "https://mcp.example/", true),
            ("https://mcp.example/a", "https://mcp.example/b", false),
            ("mcp", "mcp", true),
        ] {
            assert_eq!(is_same_resource(one, other), expected, "{one} {other}");
        }
    }

    #[test]
    fn tokens_are_issued_refused_or_neither() {
        let answer = |status, body: &str| {
            TokenAnswer::of(WebAnswer {
                url: "http://127.0.0.1/token".parse().unwrap(),
                status,
                cache_control: String::new(),
                content_type: String::new(),
                location: None,
                body: body.to_owned(),
            })
        };
        for (status, body, expected) in [
            (200, r#"{"access_token":"t"}"#, Issue::Issued),
            (200, r#"{"error":"invalid_grant"}"#, Issue::Refused),
            (400, r#"{"error":"invalid_grant"}"#, Issue::Refused),
            (401, "no", Issue::Refused),
            (200, r#"{"access_token":""}"#, Issue::Unclear),
            (302, "", Issue::Unclear),
            (503, r#"{"error":"temporarily_unavailable"}"#, Issue::Unclear),
        ] {
            assert_eq!(answer(status, body).issue(), expected, "{status} {body}");
        }
    }
}
