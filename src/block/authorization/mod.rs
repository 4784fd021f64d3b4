//! `authorization:`, the flows of OAuth between a server over HTTP and its authorization server.
//!
//! [`rule`] lists the rules, and [`cases`] plans a case for each. A case walks the flow that its rule is about ([`walk`]):
//! it finds the authorization server, is a client of it ([`client`]), logs a user in ([`login`]), and gets
//! tokens. First it does everything right; only if that is served, it does one thing wrong, and the rules ([`discovered`],
//! [`codes`], [`tokens`], [`resource`], [`sessions`], [`users`]) judge what follows. So a server that refuses everything proves nothing.
//!
//! [`web`] sends requests to this machine, to the host of the tested server and to hosts that the suite names, and to
//! nobody else; whatever leads elsewhere is judged by its address alone. What the compliance rules and the pack `auth`
//! check with tokens that the suite gives is not checked again.

mod cases;
mod check;
mod client;
mod codes;
mod discovered;
mod listed_tools;
mod login;
mod resource;
mod rule;
mod sessions;
mod tokens;
mod users;
mod walk;
mod web;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use self::client::RegisteredClients;
use self::login::KnownLogins;
use self::rule::AuthorizationRule;
pub use self::rule::manual;
use super::Kind;
use crate::plan::planner::Planner;
use crate::plan::{Case, CaseSource, Offer};
use crate::source::grammar::{Shape, key};
use crate::source::settings::Setting;
use crate::source::{Located, Node, choice, settings};
#[cfg(test)]
use crate::source::{SourceFile, Sources, parse};
use crate::suite::{BlockReader, SuiteSettings};

pub(crate) static KIND: Kind = Kind {
    key: key(
        "authorization",
        Shape::Either(&[Shape::Flag, Shape::Object(&AuthorizationSettings::KEYS)]),
        "Walks the flows of OAuth, and checks the rules of the server and of its authorization server.",
    ),
    probes: &[],
    example: "authorization: { login: { username: ann, password: \"{{ env.PASSWORD }}\" }, scopes: [read] }",
    decode,
    decode_in_test: None,
};

settings! {
    /// The flows of OAuth between a server over HTTP and its authorization server; `authorization: true` checks what needs
    /// no login.
    pub(crate) struct AuthorizationSettings as "authorization", at span {
        /// The client; by default one that mcprove registers, where the authorization server lets it.
        client: Option<WrittenClient>,
        /// The address to which codes are sent, one that the client registered; nothing has to listen there, since mcprove
        /// reads the redirect and does not follow it. `http://127.0.0.1/callback` by default.
        redirect_uri: Option<Node> => shape(Shape::Text),
        /// The fields of the login pages and their values, such as `username` and `password`: each form gets those that it
        /// has. The name of a button chooses it by its value, such as `decision: allow`; otherwise the first is pressed.
        login: Option<Node> => shape(Shape::Map(&Shape::Text)),
        /// The authorization server, if the server names several; its host may be sent requests then.
        issuer: Option<Node> => shape(Shape::Text),
        /// Further hosts to which requests may be sent, such as that of a login page: `login.example.com`. Without them, only
        /// this machine and the host of the server are asked.
        hosts: Vec<String>,
        /// The scopes that tokens get; by default those that the server asks for when it refuses a request.
        scopes: Vec<String>,
        /// Other resources for which the authorization server issues tokens, each by its address or by a path on the host of
        /// the server, which must refuse their tokens. In a suite of several servers that share an authorization server, all
        /// of them can be listed: each is left out where it is the tested server itself.
        other_resource: Vec<Node> => shape(RESOURCES),
        /// A call that needs more than `scopes`.
        step_up: Option<NamedCall>,
        /// Further users, by name. The session of the user of `login` is tried with the token of the first of them, and each
        /// of them makes the calls under `may` and `may_not`.
        users: Vec<(Located<String>, OAuthUser)>,
        /// The longest time to wait for the end of a token, its `leeway` included.
        longest_wait: Duration => default("5s"),
        /// The time for which the server may still accept a token that has expired, since clocks differ.
        leeway: Duration => default("5m"),
        /// The rules; all by default.
        rules: BTreeSet<AuthorizationRule>,
        /// The rules that are left out.
        except: BTreeSet<AuthorizationRule>,
    } with {
        /// The clients that were registered, one for each authorization server of the run.
        registered: Arc<RegisteredClients>,
        /// Where logins succeed, and where they fail.
        logins: Arc<KnownLogins>,
    }
}

settings! {
    /// A client that the authorization server knows.
    struct WrittenClient as "client" {
        /// Its id.
        id: Node => required() shape(Shape::Text),
        /// Its secret; a public client has none.
        secret: Option<Node> => shape(Shape::Text),
        /// The place of the secret in requests; by default `basic`, unless the authorization server says that it does not
        /// take it.
        auth: Option<SecretPlace> => beside(&["secret"]),
    }
}

/// One resource, or a list of them.
const RESOURCES: Shape = Shape::Either(&[Shape::Text, Shape::List(&Shape::Text)]);

settings! {
    /// A user of the authorization server.
    pub(crate) struct OAuthUser as "users" {
        /// The fields of the login pages and their values, as under `login` of the block.
        login: Node => required() shape(Shape::Map(&Shape::Text)),
        /// The scopes of the user's tokens; by default those of the block.
        scopes: Vec<String>,
        /// Calls that must be served to the user.
        may: Vec<NamedCall>,
        /// Calls for which the scopes of the user's tokens are too few.
        may_not: Vec<NamedCall>,
    }
}

settings! {
    /// A call of a tool.
    pub(crate) struct NamedCall as "call" {
        /// The tool. It is called, with the scopes that it needs and without them.
        call: Located<String> => required(),
        /// Its arguments.
        args: Option<Node> => shape(Shape::Map(&Shape::Any)),
    }
}

choice! {
    /// The place of a secret in requests to the token endpoint.
    enum SecretPlace {
        /// The header `Authorization`.
        Basic = "basic",
        /// The form.
        Post = "post",
    }
}

impl AuthorizationSettings {
    /// Settings as a suite writes them.
    #[cfg(test)]
    pub(crate) fn of_test(text: &str) -> Self {
        let mut sources = Sources::default();
        let source = sources.add(SourceFile::new("suite.yml", text));
        Self::decode(&parse(&sources, source).expect("YAML"), &mut Vec::new()).expect("settings")
    }

    /// Every call that the settings name.
    fn named_calls(&self) -> impl Iterator<Item = &NamedCall> {
        let of_users = self.users.iter().flat_map(|(_, user)| user.may.iter().chain(&user.may_not));
        self.step_up.iter().chain(of_users)
    }

    /// The rules that are checked.
    fn chosen(&self) -> impl Iterator<Item = AuthorizationRule> {
        let is_chosen = |rule: &AuthorizationRule| {
            (self.rules.is_empty() || self.rules.contains(rule)) && !self.except.contains(rule)
        };
        AuthorizationRule::ALL.into_iter().filter(is_chosen)
    }
}

fn decode(node: &Node, reader: &mut dyn BlockReader) -> Option<Arc<dyn CaseSource>> {
    Some(Arc::new(AuthorizationSettings::decode(node, reader.mistakes())?))
}

impl SuiteSettings for AuthorizationSettings {}

impl CaseSource for AuthorizationSettings {
    fn cases(&self, planner: &Planner<'_>, template: &Case, offer: &Offer<'_>) -> Vec<Case> {
        cases::cases(planner, template, &Arc::new(self.clone()), offer)
    }

    fn calls(&self, tool: &str) -> bool {
        self.named_calls().any(|call| call.call.value == tool)
    }

    fn calls_hidden(&self, tool: &str) -> bool {
        self.calls(tool)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_chosen_and_left_out() {
        let count = AuthorizationRule::ALL.len();
        for (settings, expected) in [
            ("true", count),
            ("{ rules: [code_once, issuer] }", 2),
            ("{ except: [code_once] }", count - 1),
            ("{ rules: [code_once, issuer], except: [issuer] }", 1),
        ] {
            assert_eq!(AuthorizationSettings::of_test(settings).chosen().count(), expected, "{settings}");
        }
    }
}
