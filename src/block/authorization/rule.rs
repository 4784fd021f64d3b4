//! The rules, and where they are written.

use std::fmt::Write as _;

use crate::event::RequirementLevel;
use crate::source::choice;

choice! {
    /// A rule about a server or its authorization server, each checked by a case.
    pub(crate) enum AuthorizationRule {
        /// The authorization server publishes metadata.
        Metadata = "metadata",
        /// The metadata name the issuer that was asked.
        Issuer = "issuer",
        /// The metadata list `S256`.
        PkceAnnounced = "pkce_announced",
        /// Endpoints have TLS, or are on this machine.
        Endpoints = "endpoints",
        /// Announced addresses are plain URLs.
        Addresses = "addresses",
        /// The authorization response names the issuer.
        ResponseIssuer = "response_issuer",
        /// The authorization response repeats `state`.
        State = "state",
        /// The form with the password is not sent on.
        RedirectStatus = "redirect_status",
        /// Codes go to registered addresses only.
        RedirectUri = "redirect_uri",
        /// A code needs its verifier.
        CodeVerifier = "code_verifier",
        /// A public client needs a challenge.
        PkceRequired = "pkce_required",
        /// A method that is not announced is refused.
        PkcePlain = "pkce_plain",
        /// A code is used once.
        CodeOnce = "code_once",
        /// A code is used by its client.
        CodeClient = "code_client",
        /// Answers with tokens are not stored.
        NoStore = "no_store",
        /// Refusals of the token endpoint have the status and the form of one.
        TokenErrors = "token_errors",
        /// The lifetime of a token is a number.
        ExpiresIn = "expires_in",
        /// A token of another resource is refused.
        Audience = "audience",
        /// An expired token is refused.
        Expiry = "expiry",
        /// A revoked access token is refused.
        Revocation = "revocation",
        /// A token with too few scopes is refused.
        Scope = "scope",
        /// The scopes that a refusal names are enough.
        StepUp = "step_up",
        /// A user's calls are served.
        UserMay = "user_may",
        /// Calls beyond the scopes of a user's token are refused.
        UserMayNot = "user_may_not",
        /// Such a refusal names the scopes.
        InsufficientScope = "insufficient_scope",
        /// A session is used by its user.
        SessionUser = "session_user",
        /// A session replaces no token.
        SessionToken = "session_token",
        /// A refresh token is replaced when it is used.
        RefreshRotation = "refresh_rotation",
        /// A replaced refresh token is refused.
        RefreshReuse = "refresh_reuse",
        /// A revoked refresh token is refused.
        RefreshRevocation = "refresh_revocation",
        /// Redirect URIs without TLS are not registered.
        Registration = "registration",
    }
}

impl AuthorizationRule {
    /// True if the rule is about what each user may call.
    pub(crate) const fn is_of_users(self) -> bool {
        matches!(self, Self::UserMay | Self::UserMayNot | Self::InsufficientScope)
    }
}

/// A rule in words.
pub(crate) struct RuleText {
    /// The rule, as a sentence.
    pub(crate) sentence: &'static str,
    /// The text that says so.
    pub(crate) source: &'static str,
    pub(crate) level: RequirementLevel,
    /// The cure.
    pub(crate) cure: &'static str,
    /// The flaw of the demo server that breaks it.
    pub(crate) flaw: &'static str,
}

const fn must(sentence: &'static str, source: &'static str, cure: &'static str, flaw: &'static str) -> RuleText {
    RuleText { sentence, source, level: RequirementLevel::Must, cure, flaw }
}

const fn should(sentence: &'static str, source: &'static str, cure: &'static str, flaw: &'static str) -> RuleText {
    RuleText { sentence, source, level: RequirementLevel::Should, cure, flaw }
}

impl AuthorizationRule {
    /// The rule in words.
    pub(crate) const fn text(self) -> RuleText {
        match self {
            Self::Metadata => must(
                "The authorization server publishes metadata at a well-known address of its issuer.",
                "MCP authorization, Authorization Server Discovery; RFC 8414, 3",
                "serve the metadata at `/.well-known/oauth-authorization-server` with the path of the issuer behind it, or as OpenID Connect Discovery",
                "no-metadata",
            ),
            Self::Issuer => must(
                "`issuer` in the metadata is identical to the issuer that was asked.",
                "RFC 8414, 3.3",
                "write the same text as `issuer` and in `authorization_servers`; clients compare them character by character",
                "issuer-mismatch",
            ),
            Self::PkceAnnounced => must(
                "The metadata list `S256` in `code_challenge_methods_supported`.",
                "MCP authorization, Authorization Code Protection",
                "add `\"code_challenge_methods_supported\": [\"S256\"]`; without it, clients of MCP refuse to go on",
                "pkce-not-announced",
            ),
            Self::Endpoints => must(
                "Every endpoint in the metadata has TLS, or is on the machine of its server.",
                "MCP authorization, Communication Security",
                "name endpoints with `https`",
                "http-endpoints",
            ),
            Self::Addresses => must(
                "Every address that clients are told to use is a plain `https` or `http` URL, without credentials and commands in it.",
                "RFC 8414, 2; RFC 9728, 2; MCP security best practices, OAuth Authorization URL Validation",
                "write plain `https` URLs into the metadata; clients that open anything else can be made to run commands (CVE-2025-6514)",
                "command-endpoint",
            ),
            Self::ResponseIssuer => must(
                "If the metadata announce `iss`, the authorization response has it, and it is identical to the issuer.",
                "RFC 9207, 2 and 2.3",
                "add `iss` to every authorization response, errors included, or do not announce it",
                "no-iss",
            ),
            Self::State => must(
                "The authorization response repeats `state`.",
                "RFC 6749, 4.1.2",
                "send `state` back as it came",
                "no-state",
            ),
            Self::RedirectStatus => must(
                "After a login, the browser is not redirected with 307 or 308, which would send the password on.",
                "RFC 9700, 4.12",
                "redirect with 303",
                "redirect-307",
            ),
            Self::RedirectUri => must(
                "Nobody is redirected to an address that the client did not register.",
                "MCP authorization, Open Redirection; OAuth 2.1, 2.3.1",
                "compare `redirect_uri` as a text with the registered ones, and show an error page if it is none of them",
                "open-redirect",
            ),
            Self::CodeVerifier => must(
                "A code that was requested with a challenge is refused with another verifier, or none.",
                "RFC 7636, 4.6",
                "compare the hash of `code_verifier` with the challenge of the code",
                "no-pkce",
            ),
            Self::PkceRequired => must(
                "A public client gets no token for a code that was requested without a challenge.",
                "OAuth 2.1, 4.1.1 and 7.5.1",
                "refuse requests of public clients without `code_challenge`",
                "pkce-optional",
            ),
            Self::PkcePlain => should(
                "A code challenge method that the metadata do not list is refused.",
                "RFC 7636, 4.4.1; RFC 8414, 2",
                "refuse `code_challenge_method=plain` with `invalid_request`, also as the default of a missing method",
                "pkce-plain",
            ),
            Self::CodeOnce => must(
                "A code is exchanged for tokens once.",
                "RFC 6749, 4.1.2",
                "remember used codes until they expire, refuse them, and revoke the tokens that they gave",
                "code-twice",
            ),
            Self::CodeClient => must(
                "A code is exchanged by the client to which it was issued.",
                "RFC 6749, 4.1.3",
                "compare the client of the request with that of the code",
                "code-of-any-client",
            ),
            Self::NoStore => must(
                "Answers with tokens have `Cache-Control: no-store`.",
                "RFC 6749, 5.1; OAuth 2.1, 3.2.3",
                "add `Cache-Control: no-store`",
                "token-cacheable",
            ),
            Self::TokenErrors => must(
                "The token endpoint refuses a bad code with 400 or 401, as JSON with `error`.",
                "RFC 6749, 5.2",
                "answer with 400 and `{\"error\": \"invalid_grant\"}`",
                "token-error-ok",
            ),
            Self::ExpiresIn => must(
                "`expires_in` of a token, if there is one, is a number from 0.",
                "RFC 6749, 5.1 and A.14",
                "write the lifetime of the token in seconds, or leave `expires_in` out",
                "negative-lifetime",
            ),
            Self::Audience => must(
                "The server refuses a token that was issued for another resource.",
                "MCP authorization, Token Audience Binding; RFC 8707, 2",
                "accept only tokens whose audience is the address of the server",
                "accepts-any-audience",
            ),
            Self::Expiry => must(
                "The server refuses a token that has expired.",
                "MCP authorization, Token Handling; OAuth 2.1, 5.2",
                "check the expiry of every token with every request",
                "serves-expired",
            ),
            Self::Revocation => should(
                "The server refuses an access token that was revoked.",
                "RFC 7009, 2.1",
                "ask the authorization server about the token (RFC 7662), or issue tokens that live for minutes",
                "serves-revoked",
            ),
            Self::Scope => must(
                "The server does not serve a call beyond the scopes of its token.",
                "OAuth 2.1, 5.2; RFC 6750, 3.1",
                "check the scopes of the token before the tool runs, and answer with 403 and `WWW-Authenticate: Bearer error=\"insufficient_scope\", scope=\"…\"`",
                "no-scope-check",
            ),
            Self::StepUp => should(
                "A token with the scopes that such a refusal names is served.",
                "MCP authorization, Runtime Insufficient Scope Errors",
                "name every scope that the call needs in `scope`",
                "narrow-challenge",
            ),
            Self::UserMay => must(
                "A call that the scopes of a user's token allow is not refused for the token.",
                "OAuth 2.1, 5.2; RFC 6750, 3.1",
                "check the scopes of the token that comes with the call, and refuse no others",
                "second-user-refused",
            ),
            Self::UserMayNot => must(
                "A call beyond the scopes of a user's token is not served, whoever the user is.",
                "OAuth 2.1, 5.2; RFC 6750, 3.1",
                "check the scopes of every token, before the tool runs",
                "scopes-of-first-user",
            ),
            Self::InsufficientScope => should(
                "A call with too few scopes is refused with 403, and the challenge names a missing one.",
                "MCP authorization, Runtime Insufficient Scope Errors; RFC 6750, 3.1",
                "answer with 403 and `WWW-Authenticate: Bearer error=\"insufficient_scope\", scope=\"…\"`, with every scope that the call needs",
                "scope-refusal-ok",
            ),
            Self::SessionUser => should(
                "A session is used with tokens of the user who opened it, and of nobody else.",
                "MCP security best practices, Session Hijacking",
                "keep the user of the token with the session, and answer other users as if there were no such session",
                "session-of-any-user",
            ),
            Self::SessionToken => must(
                "A request in a session needs a valid token, too.",
                "MCP security best practices, Session Hijacking",
                "check the token of every request; a session id proves nothing about who sends it",
                "session-authenticates",
            ),
            Self::RefreshRotation => must(
                "The refresh token of a public client is replaced when it is used.",
                "MCP authorization, Token Theft; OAuth 2.1, 4.3.1",
                "answer with a new `refresh_token`, or bind the token to a key of the client",
                "refresh-not-rotated",
            ),
            Self::RefreshReuse => should(
                "A refresh token of a public client that was replaced is refused.",
                "OAuth 2.1, 4.3.1; RFC 9700, 4.14.2",
                "refuse replaced refresh tokens, and revoke the one that took their place",
                "refresh-reusable",
            ),
            Self::RefreshRevocation => must(
                "A refresh token that was revoked is refused.",
                "RFC 7009, 2.1",
                "look revoked refresh tokens up before a new token is issued",
                "refresh-not-revoked",
            ),
            // The text says what redirect URIs must be, and not who has to refuse others.
            Self::Registration => should(
                "Clients cannot register redirect URIs of other machines without TLS.",
                "MCP authorization, Communication Security; RFC 7591, 5",
                "refuse such a registration with `invalid_redirect_uri`",
                "registers-any-redirect",
            ),
        }
    }
}

/// Rules of the same texts that are not checked, and why.
const NOT_CHECKED: &[(&str, &str, &str)] = &[
    (
        "MCP authorization, Access Token Privilege Restriction",
        "The server does not pass the token on to other services.",
        "only those services see it",
    ),
    (
        "RFC 8707, 2",
        "The authorization server takes `resource`.",
        "MCP binds clients to send it, not servers to support it",
    ),
    ("RFC 8414, 2", "`scopes_supported` of both metadata agree.", "servers need not list all scopes"),
    ("RFC 6749, 4.1.3", "`redirect_uri` of the token request is compared.", "OAuth 2.1 leaves the parameter out"),
    (
        "RFC 6750, 2.3; RFC 9728, 2 and 3.3",
        "Tokens in the address, missing and invalid tokens, and the metadata of the resource.",
        "the compliance rules A1 to A8 and the pack `auth` check them",
    ),
    (
        "MCP tasks, Task Isolation and Access Control",
        "A task is used by the user who created it.",
        "the compliance rules K27 and X1n check it",
    ),
    (
        "MCP security best practices, Mix-Up Attacks",
        "Clients refuse an authorization response of another issuer.",
        "the rule is about clients; `mcprove login` keeps it",
    ),
    ("RFC 9068, 4", "The signature and the claims of a JWT.", "tokens are opaque to clients"),
    ("RFC 7523; RFC 8628", "Assertions of clients; logins of devices.", "no rule of MCP is about them"),
];

/// The table of rules, and of those that are not checked, in Markdown.
pub fn manual() -> String {
    let mut text = String::from(
        "\n| rule | what holds | level | source | broken by `--authorization-flaw` |\n| --- | --- | --- | --- | --- |\n",
    );
    for rule in AuthorizationRule::ALL {
        let RuleText { sentence, source, level, flaw, .. } = rule.text();
        let level = match level {
            RequirementLevel::Must => "MUST",
            RequirementLevel::Should => "SHOULD",
        };
        let _ = writeln!(text, "| `{}` | {sentence} | {level} | {source} | `{flaw}` |", rule.as_str());
    }
    text.push_str("\nNot checked:\n\n| source | rule | why |\n| --- | --- | --- |\n");
    for (source, rule, why) in NOT_CHECKED {
        let _ = writeln!(text, "| {source} | {rule} | {why} |");
    }
    text
}
