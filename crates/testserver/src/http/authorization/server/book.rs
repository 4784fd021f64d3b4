//! What was issued: clients, codes, tokens, and logins of devices, in memory.

use std::time::Duration;

use tokio::time::Instant;

use super::super::super::super::authorization_flaw::AuthorizationFlaw;
use super::super::super::super::random;
use super::super::super::super::settings::{AuthorizationSettings, TokenUser};
use super::super::scopes::Scopes;
use super::bounded::Bounded;
use super::client::{self, Client, GrantType};
use super::oauth_error::OAuthError;
use super::token::{self, Tokens};

const CODE_LIFETIME: Duration = Duration::from_secs(60);
const REFRESH_LIFETIME: Duration = Duration::from_secs(24 * 60 * 60);
pub(crate) const DEVICE_LIFETIME: Duration = Duration::from_secs(600);

/// A device may ask once in this time (RFC 8628, 3.5).
pub(crate) const DEVICE_INTERVAL: Duration = Duration::from_secs(1);

/// What somebody allowed a client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Grant {
    pub(crate) client: String,
    pub(crate) user: TokenUser,
    pub(crate) scopes: Scopes,
    /// The resource for which tokens are issued.
    pub(crate) resource: String,
}

/// A code that is waiting for its client.
pub(crate) struct IssuedCode {
    pub(crate) grant: Grant,
    pub(crate) redirect_uri: String,
    /// The code challenge and its method.
    pub(crate) challenge: Option<CodeChallenge>,
    pub(crate) issued: Instant,
}

/// What the verifier of a code must give (RFC 7636, 4.3).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CodeChallenge {
    pub(crate) challenge: String,
    pub(crate) method: ChallengeMethod,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ChallengeMethod {
    S256,
    /// Only where it is the flaw of the server.
    Plain,
}

struct KeptCode {
    code: IssuedCode,
    /// The tokens that were issued for it, once they were.
    family: Option<u64>,
}

struct AccessToken {
    grant: Grant,
    issued: Instant,
    family: u64,
    is_revoked: bool,
}

struct RefreshToken {
    grant: Grant,
    issued: Instant,
    family: u64,
    state: RefreshState,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RefreshState {
    Usable,
    Replaced,
    Revoked,
}

/// A device that waits for somebody to allow something.
struct DeviceLogin {
    client: String,
    scopes: Scopes,
    resource: String,
    user_code: String,
    begun: Instant,
    last_asked: Option<Instant>,
    decision: DeviceDecision,
}

/// What a person decided about a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DeviceDecision {
    None,
    Allowed(TokenUser),
    Denied,
}

/// Everything that was issued.
pub(crate) struct Book {
    settings: AuthorizationSettings,
    known: [Client; 3],
    clients: Bounded<Client>,
    codes: Bounded<KeptCode>,
    access: Bounded<AccessToken>,
    refresh: Bounded<RefreshToken>,
    devices: Bounded<DeviceLogin>,
    /// Ids of assertions, which count once.
    assertions: Bounded<()>,
    families: u64,
}

impl Book {
    pub(crate) fn new(settings: AuthorizationSettings) -> Self {
        Self {
            settings,
            known: client::known(),
            clients: Bounded::default(),
            codes: Bounded::default(),
            access: Bounded::default(),
            refresh: Bounded::default(),
            devices: Bounded::default(),
            assertions: Bounded::default(),
            families: 0,
        }
    }

    fn has(&self, flaw: AuthorizationFlaw) -> bool {
        self.settings.has(flaw)
    }

    pub(crate) fn client(&self, id: &str) -> Option<Client> {
        self.known.iter().find(|client| client.id == id).or_else(|| self.clients.get(id)).cloned()
    }

    pub(crate) fn register(&mut self, client: Client) {
        self.clients.insert(client.id.clone(), client);
    }

    /// Takes note of the id of an assertion; false if it was used before.
    pub(crate) fn use_assertion(&mut self, client: &str, id: &str) -> bool {
        let name = format!("{client} {id}");
        let is_new = self.assertions.get(&name).is_none();
        self.assertions.insert(name, ());
        is_new
    }

    /// A new code.
    pub(crate) fn issue_code(&mut self, code: IssuedCode) -> Result<String, OAuthError> {
        let name = new_name()?;
        self.codes.insert(name.clone(), KeptCode { code, family: None });
        Ok(name)
    }

    /// Tokens for a code, which is used up by that; a second use revokes those of the first (RFC 6749, 4.1.2).
    pub(crate) fn exchange_code(
        &mut self,
        code: &str,
        asked: &token::CodeExchange<'_>,
        now: Instant,
    ) -> Result<Tokens, OAuthError> {
        let (may_repeat, flaw) = (self.has(AuthorizationFlaw::CodeTwice), self.settings.flaw);
        let unknown = || OAuthError::invalid_grant("the code is unknown, used, or has expired");
        let kept = self.codes.get(code).ok_or_else(unknown)?;
        if let Some(family) = kept.family.filter(|_| !may_repeat) {
            self.revoke_family(family);
            return Err(unknown());
        }
        if now.duration_since(kept.code.issued) > CODE_LIFETIME {
            return Err(unknown());
        }
        token::check_code(&kept.code, asked, flaw)?;
        let grant = kept.code.grant.clone();
        self.families += 1;
        let family = self.families;
        if let Some(kept) = self.codes.get_mut(code) {
            kept.family = Some(family);
        }
        self.issue(grant, family, asked.client, now)
    }

    /// Tokens of a new family, for a grant that needs no code.
    pub(crate) fn issue_tokens(&mut self, grant: Grant, client: &Client, now: Instant) -> Result<Tokens, OAuthError> {
        self.families += 1;
        let family = self.families;
        self.issue(grant, family, client, now)
    }

    /// Whoever acts for nobody can always ask again, so only users have refresh tokens (RFC 6749, 4.4.3).
    fn issue(&mut self, grant: Grant, family: u64, client: &Client, now: Instant) -> Result<Tokens, OAuthError> {
        let has_refresh = grant.user != TokenUser::Service && client.grants.contains(&GrantType::RefreshToken);
        let refresh = has_refresh.then(new_name).transpose()?;
        let tokens = self.issue_access(&grant, family, now, refresh.clone())?;
        if let Some(refresh) = refresh {
            self.refresh.insert(refresh, RefreshToken { grant, issued: now, family, state: RefreshState::Usable });
        }
        Ok(tokens)
    }

    fn issue_access(
        &mut self,
        grant: &Grant,
        family: u64,
        now: Instant,
        refresh: Option<String>,
    ) -> Result<Tokens, OAuthError> {
        let (scopes, lifetime) = (grant.scopes, self.settings.token_lifetime);
        let name = new_name()?;
        let access = if self.has(AuthorizationFlaw::ClockAhead) {
            token::token_of_clock_ahead(&name, &grant.resource, lifetime)
        } else {
            name
        };
        let kept = AccessToken { grant: grant.clone(), issued: now, family, is_revoked: false };
        self.access.insert(access.clone(), kept);
        Ok(Tokens { access, refresh, scopes, lifetime })
    }

    /// Other tokens for a refresh token, which is replaced; if it was replaced before, somebody else may have it, and its
    /// whole family ends (RFC 9700, 4.14.2).
    pub(crate) fn exchange_refresh(
        &mut self,
        refresh: &str,
        asked: &token::RefreshExchange<'_>,
        now: Instant,
    ) -> Result<Tokens, OAuthError> {
        let unknown = || OAuthError::invalid_grant("the refresh token is unknown, replaced, revoked, or has expired");
        let kept = self.refresh.get(refresh).ok_or_else(unknown)?;
        if kept.grant.client != asked.client.id || now.duration_since(kept.issued) > REFRESH_LIFETIME {
            return Err(unknown());
        }
        let family = kept.family;
        match kept.state {
            RefreshState::Replaced if !self.has(AuthorizationFlaw::RefreshReusable) => {
                self.revoke_family(family);
                return Err(unknown());
            }
            RefreshState::Revoked if !self.has(AuthorizationFlaw::RefreshNotRevoked) => return Err(unknown()),
            RefreshState::Usable | RefreshState::Replaced | RefreshState::Revoked => {}
        }
        let narrowed = token::check_refresh(&kept.grant, asked)?;
        let (whole, grant) = (kept.grant.clone(), Grant { scopes: narrowed, ..kept.grant.clone() });
        if self.has(AuthorizationFlaw::RefreshNotRotated) {
            return self.issue_access(&grant, family, now, None);
        }
        if let Some(kept) = self.refresh.get_mut(refresh) {
            kept.state = RefreshState::Replaced;
        }
        let next = new_name()?;
        let tokens = self.issue_access(&grant, family, now, Some(next.clone()))?;
        self.refresh.insert(next, RefreshToken { grant: whole, issued: now, family, state: RefreshState::Usable });
        Ok(tokens)
    }

    fn revoke_family(&mut self, family: u64) {
        for token in self.access.values_mut().filter(|token| token.family == family) {
            token.is_revoked = true;
        }
        for token in self.refresh.values_mut().filter(|token| token.family == family) {
            token.state = RefreshState::Revoked;
        }
    }

    /// Revokes a token of the client, a refresh token with all that follow from it (RFC 7009, 2.1).
    pub(crate) fn revoke(&mut self, token: &str, client: &str) {
        if let Some(access) = self.access.get_mut(token).filter(|access| access.grant.client == client) {
            access.is_revoked = true;
        }
        let family = self.refresh.get(token).filter(|refresh| refresh.grant.client == client).map(|found| found.family);
        if let Some(family) = family {
            self.revoke_family(family);
        }
    }

    /// What an access token allows at a resource.
    pub(crate) fn find_access(&self, token: &str, resource: &str, now: Instant) -> Option<Grant> {
        let found = self.access.get(token)?;
        let is_expired = now.duration_since(found.issued) >= self.settings.token_lifetime;
        let is_foreign = found.grant.resource != resource;
        let is_refused = (is_expired && !self.has(AuthorizationFlaw::ServesExpired))
            || (is_foreign && !self.has(AuthorizationFlaw::AcceptsAnyAudience))
            || (found.is_revoked && !self.has(AuthorizationFlaw::ServesRevoked))
            || self.has(AuthorizationFlaw::ClockAhead);
        (!is_refused).then(|| found.grant.clone())
    }

    /// Begins the login of a device, and gives its code and the one for its user.
    pub(crate) fn begin_device(
        &mut self,
        client: &str,
        scopes: Scopes,
        resource: String,
        now: Instant,
    ) -> Result<(String, String), OAuthError> {
        let (device_code, user_code) = (new_name()?, readable(&new_name()?));
        let login = DeviceLogin {
            client: client.to_owned(),
            scopes,
            resource,
            user_code: user_code.clone(),
            begun: now,
            last_asked: None,
            decision: DeviceDecision::None,
        };
        self.devices.insert(device_code.clone(), login);
        Ok((device_code, user_code))
    }

    /// Notes what somebody decided about the device that shows this code; false if none does.
    pub(crate) fn decide_device(&mut self, user_code: &str, decision: DeviceDecision, now: Instant) -> bool {
        let typed = user_code.to_ascii_uppercase().replace(['-', ' '], "");
        let is_open = |login: &&mut DeviceLogin| {
            login.decision == DeviceDecision::None && now.duration_since(login.begun) <= DEVICE_LIFETIME
        };
        let found = self.devices.values_mut().filter(is_open).find(|login| login.user_code.replace('-', "") == typed);
        found.map(|login| login.decision = decision).is_some()
    }

    /// Tokens for a device, once somebody allowed them (RFC 8628, 3.5).
    pub(crate) fn exchange_device(
        &mut self,
        device_code: &str,
        client: &Client,
        now: Instant,
    ) -> Result<Tokens, OAuthError> {
        let unknown = || OAuthError::invalid_grant("the device code is unknown or used");
        let login = self.devices.get_mut(device_code).filter(|login| login.client == client.id).ok_or_else(unknown)?;
        if now.duration_since(login.begun) > DEVICE_LIFETIME {
            return Err(OAuthError::new("expired_token", "the device code has expired"));
        }
        let last_asked = login.last_asked.replace(now);
        if last_asked.is_some_and(|last| now.duration_since(last) < DEVICE_INTERVAL) {
            return Err(OAuthError::new("slow_down", "the device asks more often than `interval` allows"));
        }
        match login.decision {
            DeviceDecision::None => Err(OAuthError::new("authorization_pending", "nobody has decided yet")),
            DeviceDecision::Denied => Err(OAuthError::new("access_denied", "the user denied it")),
            DeviceDecision::Allowed(user) => {
                let (scopes, resource) = (login.scopes, login.resource.clone());
                // A code is used once: whoever asks again asks for nobody's code.
                login.client.clear();
                self.issue_tokens(Grant { client: client.id.clone(), user, scopes, resource }, client, now)
            }
        }
    }
}

/// A name that nobody can guess.
pub(crate) fn new_name() -> Result<String, OAuthError> {
    random::name().ok_or_else(OAuthError::without_random_numbers)
}

/// Eight letters that spell no word (RFC 8628, 6.1), from a random name.
fn readable(name: &str) -> String {
    const LETTERS: &[u8; 16] = b"BCDFGHJKLMNPQRST";
    let digits = name.chars().filter_map(|digit| digit.to_digit(16)).take(8);
    let letters: String = digits.map(|digit| char::from(LETTERS[digit as usize])).collect();
    format!("{}-{}", &letters[..4], &letters[4..])
}
