//! The flaws that can be built into the authorization of the demo server, one at a time.

use std::str::FromStr;

macro_rules! flaws {
    ($($(#[doc = $wrong:literal])+ $variant:ident = $name:literal,)+) => {
        /// Something that the server, or its authorization server, does wrong about OAuth.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum AuthorizationFlaw {
            $($(#[doc = $wrong])+ $variant,)+
        }

        impl AuthorizationFlaw {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$variant,)+];

            /// Its name on the command line.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)+
                }
            }

            /// A sentence about it.
            pub fn wrong(self) -> &'static str {
                match self {
                    $(Self::$variant => concat!($($wrong,)+).trim_start(),)+
                }
            }
        }
    };
}

flaws! {
    /// The authorization server publishes no metadata.
    NoMetadata = "no-metadata",
    /// The metadata of the authorization server name another issuer.
    IssuerMismatch = "issuer-mismatch",
    /// The metadata of the authorization server do not list the method `S256` of PKCE.
    PkceNotAnnounced = "pkce-not-announced",
    /// The metadata of the authorization server name an endpoint of another machine without TLS.
    HttpEndpoints = "http-endpoints",
    /// The metadata of the authorization server name an `authorization_endpoint` that is a command for a shell.
    CommandEndpoint = "command-endpoint",
    /// Authorization responses lack `iss`, although the metadata announce it.
    NoIss = "no-iss",
    /// Authorization responses have another issuer in `iss`.
    WrongIss = "wrong-iss",
    /// Authorization responses lack `state`.
    NoState = "no-state",
    /// The code verifier is not compared with the code challenge.
    NoPkce = "no-pkce",
    /// Public clients get a code without a code challenge.
    PkceOptional = "pkce-optional",
    /// The method `plain` of PKCE is accepted, although the metadata do not list it.
    PkcePlain = "pkce-plain",
    /// A code is exchanged for tokens more than once.
    CodeTwice = "code-twice",
    /// A code is exchanged for tokens by any client.
    CodeOfAnyClient = "code-of-any-client",
    /// Codes are sent to any `redirect_uri`, registered or not.
    OpenRedirect = "open-redirect",
    /// After a login, browsers are redirected with 307, and send the password on.
    Redirect307 = "redirect-307",
    /// Tokens that were issued for another resource are served.
    AcceptsAnyAudience = "accepts-any-audience",
    /// Every token is served, whoever issued it.
    AcceptsAnyToken = "accepts-any-token",
    /// Tokens in the query of the address are served.
    TokenInQuery = "token-in-query",
    /// Tokens without the scope `users:write` allow changes.
    NoScopeCheck = "no-scope-check",
    /// The refusal of a token with too few scopes names only the scopes that it has.
    NarrowChallenge = "narrow-challenge",
    /// The scopes of a token are checked for the first user only.
    ScopesOfFirstUser = "scopes-of-first-user",
    /// Changes are refused to the second user, whatever the scopes of the token are.
    SecondUserRefused = "second-user-refused",
    /// The refusal of a token with too few scopes has the status 200, and no challenge.
    ScopeRefusalOk = "scope-refusal-ok",
    /// A session is served with the token of another user.
    SessionOfAnyUser = "session-of-any-user",
    /// A request in a session needs no token.
    SessionAuthenticates = "session-authenticates",
    /// A refresh token can be used any number of times.
    RefreshNotRotated = "refresh-not-rotated",
    /// A refresh token that was replaced by another one is still accepted.
    RefreshReusable = "refresh-reusable",
    /// A refresh token that was revoked is still accepted.
    RefreshNotRevoked = "refresh-not-revoked",
    /// An access token that was revoked is still served.
    ServesRevoked = "serves-revoked",
    /// An access token that has expired is still served.
    ServesExpired = "serves-expired",
    /// Clients can register redirect URIs of other machines without TLS.
    RegistersAnyRedirect = "registers-any-redirect",
    /// Answers with tokens may be stored by caches.
    TokenCacheable = "token-cacheable",
    /// The token endpoint refuses requests with the status 200.
    TokenErrorOk = "token-error-ok",
    /// The lifetime of access tokens is given as a negative number.
    NegativeLifetime = "negative-lifetime",
    /// The clock of the authorization server is an hour ahead, so that the server refuses new tokens as not yet valid.
    ClockAhead = "clock-ahead",
    /// The header `WWW-Authenticate` does not name the metadata of the server.
    ChallengeWithoutMetadata = "challenge-without-metadata",
    /// The metadata of the server name another resource.
    MetadataOfOtherResource = "metadata-of-other-resource",
}

impl FromStr for AuthorizationFlaw {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.iter().find(|flaw| flaw.name() == text);
        found.copied().ok_or_else(|| format!("there is no flaw `{text}`"))
    }
}
