//! Settings of the demo server when it starts, and the calls that it refuses because of them.

use std::path::PathBuf;
use std::time::Duration;

use serde_json::Value;

use super::authorization_flaw::AuthorizationFlaw;
use super::data_file::DataFile;
use super::store::Store;

/// Settings as they are written.
#[derive(Debug, Clone, Default)]
pub struct Settings {
    /// Nothing may change the directory.
    pub read_only: bool,
    /// The greatest number of users.
    pub max_users: Option<String>,
    /// The only domain that addresses may have.
    pub domain: Option<String>,
    /// Names with this word in them are refused.
    pub blocked: Option<String>,
    /// The bearer token that is served over HTTP.
    pub token: Option<String>,
    /// The one of a second user.
    pub second_token: Option<String>,
    /// Another one of the first user, which allows no changes.
    pub low_scope_token: Option<String>,
    /// The authorization server that issues tokens at the address of the server; over HTTP only.
    pub authorization: Option<AuthorizationSettings>,
    /// Calls can go on as tasks.
    pub tasks: bool,
    /// The way in which that word is looked for.
    pub spelling: Spelling,
    /// The file that keeps the users, for all conversations.
    pub data: Option<PathBuf>,
    /// The way with lines of that file that cannot be read.
    pub damaged_data: DamagedData,
    /// Besides the directory there is what the official conformance suite asks for.
    pub conformance_fixtures: bool,
}

/// Settings of the authorization server.
#[derive(Debug, Clone, Copy)]
pub struct AuthorizationSettings {
    /// The lifetime of an access token.
    pub token_lifetime: Duration,
    /// The one thing that is wrong about OAuth, if there is one.
    pub flaw: Option<AuthorizationFlaw>,
}

impl AuthorizationSettings {
    /// Is this what is wrong?
    pub(crate) fn has(&self, flaw: AuthorizationFlaw) -> bool {
        self.flaw == Some(flaw)
    }
}

/// Whom a token was issued to. Without tokens everybody is the first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum TokenUser {
    /// The one with two tokens.
    #[default]
    First,
    /// The other one.
    Second,
    /// A client that acts for nobody but itself.
    Service,
}

impl TokenUser {
    /// The name of the user.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::First => "first",
            Self::Second => "second",
            Self::Service => "service",
        }
    }
}

/// The way in which a word is looked for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Spelling {
    /// In upper and lower case alike.
    #[default]
    AnyCase,
    /// As it is written.
    Exact,
}

/// The way of a server with a data file of which lines cannot be read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum DamagedData {
    /// It goes on with the others.
    #[default]
    LeavesOut,
    /// It begins with an empty directory, without a word.
    ForgetsAll,
}

/// Settings that make sense.
#[derive(Debug, Default)]
pub(crate) struct Rules {
    settings: Settings,
    max_users: Option<usize>,
}

impl Settings {
    /// The rules that follow, or what is wrong with a value.
    pub(crate) fn check(self) -> Result<Rules, String> {
        let max_users = match &self.max_users {
            None => None,
            Some(text) => match text.parse() {
                Ok(number) if number > 0 => Some(number),
                Ok(_) | Err(_) => return Err(format!("`--max-users` is `{text}`; it must be a whole number from 1")),
            },
        };
        self.check_tokens()?;
        Ok(Rules { settings: self, max_users })
    }

    fn check_tokens(&self) -> Result<(), String> {
        let all = [&self.token, &self.second_token, &self.low_scope_token];
        let mut tokens: Vec<_> = all.into_iter().flatten().collect();
        if !tokens.iter().all(|token| is_token(token)) {
            return Err(
                "a token may have letters, digits, `-._~+/`, and `=` at its end, and no other characters".to_owned()
            );
        }
        let count = tokens.len();
        tokens.sort();
        tokens.dedup();
        if tokens.len() < count {
            return Err(
                "two tokens are the same, so nobody could tell whose it is; give each user another one".to_owned()
            );
        }
        Ok(())
    }
}

/// Is this what a header can carry as a bearer token (RFC 6750, 2.1)?
pub(crate) fn is_token(text: &str) -> bool {
    let digits = text.trim_end_matches('=');
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._~+/".contains(&byte))
}

impl Rules {
    /// The file that keeps the users, if there is one.
    pub(crate) fn data_file(&self) -> Option<DataFile> {
        self.settings.data.clone().map(|path| DataFile::new(path, self.settings.damaged_data))
    }

    /// The bearer token of the first user; without it, nobody needs one.
    pub(crate) fn token(&self) -> Option<&str> {
        self.settings.token.as_deref()
    }

    /// The authorization server, if the server has one of its own.
    pub(crate) fn authorization(&self) -> Option<AuthorizationSettings> {
        self.settings.authorization
    }

    /// Does every request need a token?
    pub(crate) fn needs_tokens(&self) -> bool {
        self.settings.token.is_some() || self.settings.authorization.is_some()
    }

    /// Is there what the official conformance suite asks for?
    pub(crate) fn wants_fixtures(&self) -> bool {
        self.settings.conformance_fixtures
    }

    /// The one of the second user.
    pub(crate) fn second_token(&self) -> Option<&str> {
        self.settings.second_token.as_deref()
    }

    /// The one of the first user that allows no changes.
    pub(crate) fn low_scope_token(&self) -> Option<&str> {
        self.settings.low_scope_token.as_deref()
    }

    /// Calls can go on as tasks.
    pub(crate) fn has_tasks(&self) -> bool {
        self.settings.tasks
    }

    /// Why a call is refused, if it is.
    pub(crate) fn refuse(&self, tool: &str, changes: bool, arguments: &Value, store: &Store) -> Option<String> {
        if self.settings.read_only && changes {
            return Some(format!("the directory is read-only, so `{tool}` is refused; only read from it"));
        }
        if tool == "create_user" && self.max_users.is_some_and(|most| store.all().len() >= most) {
            let is_full = "the directory is full, so no user can be created; call `delete_user` first";
            return Some(is_full.to_owned());
        }
        if !changes {
            return None;
        }
        self.refuse_email(arguments).or_else(|| self.refuse_name(arguments))
    }

    fn refuse_email(&self, arguments: &Value) -> Option<String> {
        let (domain, email) = (self.settings.domain.as_deref()?, arguments["email"].as_str()?);
        let is_inside = email.rsplit_once('@').is_some_and(|(_, end)| end.eq_ignore_ascii_case(domain));
        (!is_inside).then(|| format!("the parameter `email` is `{email}`; only addresses at `{domain}` are allowed"))
    }

    fn refuse_name(&self, arguments: &Value) -> Option<String> {
        let (word, name) = (self.settings.blocked.as_deref()?, arguments["name"].as_str()?);
        let is_blocked = match self.settings.spelling {
            Spelling::AnyCase => name.to_lowercase().contains(&word.to_lowercase()),
            Spelling::Exact => name.contains(word),
        };
        is_blocked.then(|| format!("the parameter `name` is `{name}`; names with `{word}` are blocked"))
    }
}
