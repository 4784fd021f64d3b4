//! Logins that are kept: a file in the home folder of its user, which nobody else can read.
//!
//! Refresh tokens are often replaced when they are used (OAuth 2.1, 4.3.1), so that whoever uses one holds a lock from
//! reading the file to writing what came back.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::{File, TryLockError};
use std::io::{self, ErrorKind, Read as _};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use reqwest::Url;
use serde::{Deserialize, Serialize};
use tokio::time::{Duration, Instant, sleep};

use super::TokenGrant;
use super::asking::{Asking, Problem};
use super::token_request::{TokenClient, TokenSet};
use crate::files::{Access, Folder, FolderPlace, is_readable_by_others};
use crate::redact::Redactor;

/// The variable of the environment with the content of the file, for machines on which nobody logs in.
pub const LOGINS_VARIABLE: &str = "MCPROVE_LOGINS";

/// The file, as messages name it.
pub const LOGINS_FILE: &str = "~/.mcprove/logins.json";

const FOLDER: &str = ".mcprove";
const FILE: &str = "logins.json";
const LOCK: &str = "logins.lock";
const FORMAT: u32 = 1;

/// The largest file that is read, in bytes.
const MOST_BYTES: u64 = 4 << 20;

/// The time for which a login or a logout waits for the lock: whoever holds it waits for an answer of an authorization server.
const LOCK_TIMEOUT: Duration = Duration::from_secs(20);

/// The time for which a request waits for the lock, so that a part of its own time is left for the refresh.
const REFRESH_LOCK_TIMEOUT: Duration = Duration::from_secs(3);

/// The time for which the end of a run waits for refreshes; more than one takes.
const REFRESHES_TIMEOUT: Duration = Duration::from_secs(10);

const LOCK_INTERVAL: Duration = Duration::from_millis(50);

/// The refreshes that have begun, and whose tokens are not written yet.
static REFRESHES: AtomicUsize = AtomicUsize::new(0);

/// A refresh that has begun.
struct Refreshing;

impl Refreshing {
    fn begin() -> Self {
        REFRESHES.fetch_add(1, Ordering::SeqCst);
        Self
    }
}

impl Drop for Refreshing {
    fn drop(&mut self) {
        REFRESHES.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Waits until the tokens of all refreshes that have begun are written: the end of the runtime would lose them, and the
/// logins with them. Not longer than a refresh may take.
pub async fn finish_refreshes() {
    let until = Instant::now() + REFRESHES_TIMEOUT;
    while REFRESHES.load(Ordering::SeqCst) > 0 && Instant::now() < until {
        sleep(LOCK_INTERVAL).await;
    }
}

/// What a login gave: a token, and how to get the next one.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptLogin {
    /// The server: `resource` where the suite names it, or its address.
    pub server: String,
    /// The user of the suite who logged in, for a server with several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// The authorization server.
    pub issuer: String,
    /// The id of the client.
    pub client_id: String,
    /// The secret that a registration gave.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) client_secret: Option<String>,
    /// The secret goes into the header `authorization`.
    #[serde(default)]
    pub(crate) secret_in_header: bool,
    pub(crate) token_endpoint: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) revocation_endpoint: Option<String>,
    /// The resource for which tokens are requested.
    pub(crate) resource: String,
    /// The scopes that were asked for; `None` in the files of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) scopes: Option<Vec<String>>,
    pub(crate) access_token: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) refresh_token: Option<String>,
    /// The end of the token, in seconds since 1970; `None` where the authorization server did not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) expires: Option<u64>,
    /// When somebody logged in, in seconds since 1970.
    pub(crate) logged_in: u64,
}

impl fmt::Debug for KeptLogin {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("KeptLogin").field("server", &self.server).finish_non_exhaustive()
    }
}

impl KeptLogin {
    /// Returns true if the token gets a successor without a login.
    pub fn is_renewable(&self) -> bool {
        self.refresh_token.is_some()
    }

    /// Returns true if the time of the token is over.
    pub fn has_expired(&self) -> bool {
        self.expires.is_some_and(|expires| unix_now() >= expires)
    }

    /// The same login with the next token. A server that does not replace refresh tokens sends none.
    pub(crate) fn with(&self, set: &TokenSet) -> Self {
        Self {
            access_token: set.access.clone(),
            refresh_token: set.refresh.clone().or_else(|| self.refresh_token.clone()),
            expires: set.expires.map(|expires| unix_now() + (expires - Instant::now()).as_secs()),
            ..self.clone()
        }
    }

    pub(crate) fn set(&self) -> TokenSet {
        let left = self.expires.map(|expires| Duration::from_secs(expires.saturating_sub(unix_now())));
        TokenSet {
            access: self.access_token.clone(),
            refresh: self.refresh_token.clone(),
            expires: left.and_then(|left| Instant::now().checked_add(left)),
        }
    }

    fn is_of(&self, server: &str, user: Option<&str>) -> bool {
        self.server == server && self.user.as_deref() == user
    }

    /// The suite does not ask for another authorization server, or another client.
    pub(crate) fn fits(&self, grant: &TokenGrant) -> bool {
        let is_same = |written: &Option<String>, kept: &str| {
            written.as_ref().is_none_or(|written| written.trim_end_matches('/') == kept.trim_end_matches('/'))
        };
        is_same(&grant.issuer, &self.issuer) && is_same(&grant.client_id, &self.client_id)
    }

    /// The token endpoint has this origin.
    pub(crate) fn sends_tokens_to(&self, at: &Url) -> bool {
        Url::parse(&self.token_endpoint).is_ok_and(|endpoint| endpoint.origin() == at.origin())
    }

    /// A scope that the suite asks for, and the login did not.
    fn missing_scope<'a>(&self, grant: &'a TokenGrant) -> Option<&'a str> {
        let asked = self.scopes.as_ref()?;
        grant.scopes.iter().find(|scope| !asked.contains(scope)).map(String::as_str)
    }

    pub(crate) fn learn(&self, redactor: &Redactor) {
        let others = [&self.client_secret, &self.refresh_token].into_iter().flatten();
        for secret in others.chain([&self.access_token]) {
            redactor.learn_foreign(secret);
        }
    }
}

pub(crate) fn unix_now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

/// The content of the file.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Logins {
    /// The version of the file.
    format: u32,
    logins: Vec<KeptLogin>,
}

impl Logins {
    fn read(text: &[u8]) -> Result<Vec<KeptLogin>, String> {
        let logins: Self = serde_json::from_slice(text).map_err(|_| "holds no logins".to_owned())?;
        if logins.format > FORMAT {
            return Err("was written by a newer mcprove".to_owned());
        }
        Ok(logins.logins)
    }
}

/// Why logins cannot be read or kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoginFileError {
    /// What is wrong, as a sentence.
    pub reason: String,
    /// What to do about it.
    pub cure: &'static str,
}

impl LoginFileError {
    fn unreadable(why: impl fmt::Display) -> Self {
        let cure = "remove the file, and log in again";
        Self { reason: format!("`{LOGINS_FILE}` {why}"), cure }
    }

    fn unwritable(error: &io::Error) -> Self {
        let cure = "let the folder be written, or set `HOME` to one that can be";
        Self { reason: format!("`{LOGINS_FILE}` cannot be written: {error}"), cure }
    }
}

/// Where logins are kept, and which others the environment gives.
#[derive(Debug, Clone)]
pub struct LoginFile {
    /// `None` where the environment names no home.
    folder: Option<FolderPlace>,
    given: Option<String>,
}

/// Nobody else reads or writes the file while this lives.
struct Locked {
    folder: Folder,
    _lock: File,
}

impl LoginFile {
    /// The file of a user, whose environment this is.
    pub fn of(environment: &BTreeMap<String, String>) -> Self {
        let get = |name: &str| environment.get(name).filter(|value| !value.is_empty());
        let home = get("HOME").or_else(|| get("USERPROFILE"));
        Self {
            folder: home.map(|home| FolderPlace::resolve(Path::new(home)).below(FOLDER)),
            given: get(LOGINS_VARIABLE).cloned(),
        }
    }

    /// Every login, with those of the environment that are newer, or of servers that the file does not know.
    ///
    /// # Errors
    ///
    /// Says why they cannot be read.
    pub fn logins(&self) -> Result<Vec<KeptLogin>, LoginFileError> {
        let mut logins = self.in_file()?;
        let given = self.given.as_deref().map(|text| Logins::read(text.as_bytes())).transpose();
        let given = given.map_err(|why| LoginFileError {
            reason: format!("the variable `{LOGINS_VARIABLE}` {why}"),
            cure: "set it to the content of `~/.mcprove/logins.json`",
        })?;
        for login in given.into_iter().flatten() {
            let known = logins.iter().position(|known| known.is_of(&login.server, login.user.as_deref()));
            match known {
                Some(at) if logins[at].logged_in < login.logged_in => logins[at] = login,
                Some(_) => {}
                None => logins.push(login),
            }
        }
        Ok(logins)
    }

    fn in_file(&self) -> Result<Vec<KeptLogin>, LoginFileError> {
        let Some(place) = &self.folder else { return Ok(Vec::new()) };
        let failed = |error: io::Error| LoginFileError::unreadable(format!("cannot be read: {error}"));
        let file = match place.open().and_then(|folder| folder.open_to_read(FILE)) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            opened => opened.map_err(failed)?,
        };
        if is_readable_by_others(&file) {
            let cure = "run `chmod 600 ~/.mcprove/logins.json`, and log in again if you do not know who has read it";
            return Err(LoginFileError { cure, ..LoginFileError::unreadable("can be read by other users") });
        }
        let mut text = Vec::new();
        file.take(MOST_BYTES).read_to_end(&mut text).map_err(failed)?;
        Logins::read(&text).map_err(LoginFileError::unreadable)
    }

    /// The login for a server.
    ///
    /// # Errors
    ///
    /// As [`Self::logins`].
    pub fn find(&self, server: &str, user: Option<&str>) -> Result<Option<KeptLogin>, LoginFileError> {
        Ok(self.logins()?.into_iter().find(|login| login.is_of(server, user)))
    }

    /// Says why a login could not be kept, before somebody logs in.
    pub(crate) async fn check(&self) -> Result<(), LoginFileError> {
        let _locked = self.lock(LOCK_TIMEOUT).await?;
        self.in_file().map(|_| ())
    }

    /// Keeps a login in the place of an earlier one for the same server and user.
    pub(crate) async fn keep(&self, login: &KeptLogin) -> Result<(), LoginFileError> {
        let locked = self.lock(LOCK_TIMEOUT).await?;
        self.replace(&locked, login, Some(login))
    }

    /// Forgets a login.
    ///
    /// # Errors
    ///
    /// Says why that fails.
    pub async fn forget(&self, login: &KeptLogin) -> Result<(), LoginFileError> {
        let locked = self.lock(LOCK_TIMEOUT).await?;
        self.replace(&locked, login, None)
    }

    fn replace(&self, locked: &Locked, old: &KeptLogin, new: Option<&KeptLogin>) -> Result<(), LoginFileError> {
        let mut logins = self.in_file()?;
        logins.retain(|login| !login.is_of(&old.server, old.user.as_deref()));
        logins.extend(new.cloned());
        let text = serde_json::to_string_pretty(&Logins { format: FORMAT, logins }).unwrap_or_default();
        let written = locked.folder.replace(FILE, format!("{text}\n").as_bytes(), Access::Private);
        written.map_err(|error| LoginFileError::unwritable(&error))
    }

    async fn lock(&self, within: Duration) -> Result<Locked, LoginFileError> {
        let failed = |error: io::Error| LoginFileError::unwritable(&error);
        let place = self.folder.as_ref().ok_or_else(|| LoginFileError {
            reason: "logins are kept in the home folder, and the variable `HOME` names none".to_owned(),
            cure: "set `HOME` to a folder that can be written",
        })?;
        let folder = place.create(Access::Private).map_err(failed)?;
        let lock = folder.open_lock(LOCK, Access::Private).map_err(failed)?;
        let until = Instant::now() + within;
        loop {
            match lock.try_lock() {
                Err(TryLockError::WouldBlock) if Instant::now() < until => sleep(LOCK_INTERVAL).await,
                Err(TryLockError::WouldBlock) => break,
                // Where a file system knows no locks, the last one wins.
                Ok(()) | Err(TryLockError::Error(_)) => return Ok(Locked { folder, _lock: lock }),
            }
        }
        Err(LoginFileError {
            reason: format!("another process has locked `~/{FOLDER}/{LOCK}` for {} s", within.as_secs()),
            cure: "another run refreshes the token: run this again when that run is done, or end it",
        })
    }
}

/// The login of a person, which a grant rests on.
#[derive(Debug, Clone)]
pub struct PersonLogin {
    /// Where it is kept.
    pub file: LoginFile,
    /// The user of the suite, for a server with several.
    pub user: Option<String>,
    /// The command with which somebody logs in.
    pub command: String,
}

impl PersonLogin {
    /// The kept token for a server, or its successor where it has expired or is the refused one.
    pub(crate) async fn token(
        &self,
        asking: &Asking<'_>,
        grant: &TokenGrant,
        server: &str,
        refused: Option<&str>,
    ) -> Result<(TokenSet, TokenClient), Problem> {
        let login = self.find(asking, grant, server)?;
        if is_good(&login, refused) {
            return Ok((login.set(), TokenClient::kept(&login, grant.proof.clone())?));
        }
        let locked = self.file.lock(REFRESH_LOCK_TIMEOUT).await?;
        // Another process may have been faster.
        let login = self.find(asking, grant, server)?;
        let client = TokenClient::kept(&login, grant.proof.clone())?;
        if is_good(&login, refused) {
            return Ok((login.set(), client));
        }
        let Some(refresh) = &login.refresh_token else {
            let why = if login.has_expired() { "has expired" } else { "is refused" };
            return Err(self.problem(format!("the token of the login {why}, and there is no refresh token")));
        };
        let form = [("grant_type", "refresh_token"), ("refresh_token", refresh.as_str())];
        let _refreshing = Refreshing::begin();
        let renewed = client.ask(asking, &form).await;
        let set = renewed.map_err(|problem| {
            // Other refusals, such as too many requests, say nothing about the login.
            let has_ended =
                ["invalid_grant", "invalid_client", "unauthorized_client"].contains(&problem.error.as_str());
            if has_ended { self.problem(format!("the login has ended: {}", problem.reason)) } else { problem }
        })?;
        let login = login.with(&set);
        self.file.replace(&locked, &login, Some(&login))?;
        Ok((login.set(), client))
    }

    fn find(&self, asking: &Asking<'_>, grant: &TokenGrant, server: &str) -> Result<KeptLogin, Problem> {
        let logins = self.file.logins()?;
        for login in &logins {
            login.learn(asking.redactor);
        }
        let login = logins.into_iter().find(|login| login.is_of(server, self.user.as_deref()));
        let login = login.ok_or_else(|| self.problem("nobody has logged in to it"))?;
        if !login.fits(grant) {
            return Err(self.problem("the login to it is one of another client, or at another authorization server"));
        }
        if let Some(scope) = login.missing_scope(grant) {
            return Err(self.problem(format!("the login to it did not ask for the scope `{scope}`")));
        }
        Ok(login)
    }

    fn problem(&self, reason: impl Into<String>) -> Problem {
        Problem::of(reason).with_cure(format!("run `{}`", self.command))
    }
}

impl From<LoginFileError> for Problem {
    fn from(error: LoginFileError) -> Self {
        Self::of(error.reason).with_cure(error.cure)
    }
}

fn is_good(login: &KeptLogin, refused: Option<&str>) -> bool {
    !login.has_expired() && refused != Some(login.access_token.as_str())
}

#[cfg(test)]
mod tests {
    use super::super::{AuthorizationCode, ClientProof, TokenFlow};
    use super::*;
    use crate::files::TemporaryFolder;

    fn login(server: &str, access: &str, logged_in: u64) -> KeptLogin {
        KeptLogin {
            server: server.to_owned(),
            user: None,
            issuer: "https://as.test".to_owned(),
            client_id: "me".to_owned(),
            client_secret: None,
            secret_in_header: false,
            token_endpoint: "https://as.test/token".to_owned(),
            revocation_endpoint: None,
            resource: server.to_owned(),
            scopes: None,
            access_token: access.to_owned(),
            refresh_token: Some("refresh".to_owned()),
            expires: None,
            logged_in,
        }
    }

    fn temporary(name: &str) -> TemporaryFolder {
        let name = format!("mcprove-logins-{name}-{}", std::process::id());
        TemporaryFolder::create(&std::env::temp_dir(), name, Access::Private).unwrap()
    }

    fn file(home: &Path, given: &[KeptLogin]) -> LoginFile {
        let text = serde_json::to_string(&Logins { format: FORMAT, logins: given.to_vec() }).unwrap();
        let home = ("HOME".to_owned(), home.display().to_string());
        LoginFile::of(&BTreeMap::from([home, (LOGINS_VARIABLE.to_owned(), text)]))
    }

    #[tokio::test]
    async fn logins_are_kept_by_server_and_the_newer_one_counts() {
        let home = temporary("counted");
        let kept = file(home.path(), &[]);
        kept.keep(&login("https://a.test/", "old", 5)).await.unwrap();
        kept.keep(&login("https://b.test/", "b", 5)).await.unwrap();
        kept.keep(&login("https://a.test/", "new", 6)).await.unwrap();
        kept.keep(&KeptLogin { user: Some("ben".to_owned()), ..login("https://a.test/", "of ben", 6) }).await.unwrap();
        let check = |given: &[KeptLogin], server: &str, user: Option<&str>, expected: Option<&str>| {
            let found = file(home.path(), given).find(server, user).unwrap();
            assert_eq!(found.as_ref().map(|login| login.access_token.as_str()), expected, "{server} {user:?}");
        };
        check(&[], "https://a.test/", None, Some("new"));
        check(&[], "https://a.test/", Some("ben"), Some("of ben"));
        check(&[], "https://b.test/", Some("ben"), None);
        check(&[login("https://a.test/", "given", 6)], "https://a.test/", None, Some("new"));
        check(&[login("https://a.test/", "given", 7)], "https://a.test/", None, Some("given"));
        check(&[login("https://c.test/", "given", 1)], "https://c.test/", None, Some("given"));
        kept.forget(&login("https://a.test/", "", 0)).await.unwrap();
        check(&[], "https://a.test/", None, None);
        check(&[], "https://a.test/", Some("ben"), Some("of ben"));
    }

    #[cfg(unix)]
    #[tokio::test]
    async fn nobody_else_reads_the_file_and_no_link_is_followed() {
        use std::os::unix::fs::PermissionsExt as _;
        let home = temporary("closed");
        let kept = file(home.path(), &[]);
        kept.keep(&login("https://a.test/", "a", 5)).await.unwrap();
        let path = home.path().join(FOLDER).join(FILE);
        let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
        assert!(kept.logins().unwrap_err().reason.contains("can be read by other users"));
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
        std::fs::rename(&path, home.path().join("elsewhere")).unwrap();
        std::os::unix::fs::symlink(home.path().join("elsewhere"), &path).unwrap();
        assert!(kept.logins().unwrap_err().reason.contains("is a link"));
    }

    fn grant(issuer: Option<&str>, client_id: Option<&str>, scopes: &[&str]) -> TokenGrant {
        let code = AuthorizationCode { redirect_uri: None, login: Vec::new(), login_hosts: Vec::new() };
        TokenGrant {
            issuer: issuer.map(str::to_owned),
            token_url: None,
            client_id: client_id.map(str::to_owned),
            proof: ClientProof::Nothing,
            scopes: scopes.iter().copied().map(str::to_owned).collect(),
            resource: None,
            flow: TokenFlow::AuthorizationCode(code),
            person: None,
        }
    }

    #[test]
    fn a_login_with_fewer_scopes_is_not_used() {
        let check = |asked: Option<&[&str]>, wanted: &[&str], expected: Option<&str>| {
            let scopes = asked.map(|asked| asked.iter().copied().map(str::to_owned).collect());
            let login = KeptLogin { scopes, ..login("https://a.test/", "a", 5) };
            assert_eq!(login.missing_scope(&grant(None, None, wanted)), expected, "{asked:?} {wanted:?}");
        };
        check(None, &["read"], None);
        check(Some(&["read"]), &[], None);
        check(Some(&["read", "write"]), &["write"], None);
        check(Some(&["read"]), &["read", "write"], Some("write"));
        check(Some(&[]), &["read"], Some("read"));
    }

    #[test]
    fn tokens_go_to_the_origin_of_the_token_endpoint() {
        for (at, expected) in [
            ("https://as.test/revoke", true),
            ("http://as.test/revoke", false),
            ("https://as.test:8443/revoke", false),
            ("https://other.test/revoke", false),
        ] {
            let login = login("https://a.test/", "a", 5);
            assert_eq!(login.sends_tokens_to(&Url::parse(at).unwrap()), expected, "{at}");
        }
    }

    #[tokio::test]
    async fn a_run_ends_after_its_refreshes() {
        let refreshing = Refreshing::begin();
        let ending = tokio::spawn(finish_refreshes());
        tokio::task::yield_now().await;
        assert!(!ending.is_finished());
        drop(refreshing);
        ending.await.unwrap();
    }

    #[tokio::test]
    async fn a_lock_of_another_run_is_not_waited_for_long() {
        let home = temporary("locked");
        let kept = file(home.path(), &[]);
        let locked = kept.lock(Duration::ZERO).await.unwrap();
        let error = kept.lock(Duration::ZERO).await.err().unwrap();
        assert!(error.cure.contains("another run refreshes the token"), "{error:?}");
        drop(locked);
        kept.check().await.unwrap();
    }

    #[test]
    fn a_login_of_another_client_is_not_used() {
        let check = |issuer: Option<&str>, client_id: Option<&str>, expected: bool| {
            let grant = grant(issuer, client_id, &[]);
            assert_eq!(login("https://a.test/", "a", 5).fits(&grant), expected, "{issuer:?} {client_id:?}");
        };
        check(None, None, true);
        check(Some("https://as.test/"), Some("me"), true);
        check(Some("https://other.test"), None, false);
        check(None, Some("you"), false);
    }
}
