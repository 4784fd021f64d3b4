//! A server over HTTP, as a suite writes it.

use crate::source::grammar::Shape;
use crate::source::{Located, Node, choice, settings};
use crate::transport::http::AssertionAlgorithm;

/// A server over HTTP; every text is unfilled.
#[derive(Debug, Clone)]
pub struct Http {
    /// Its address.
    pub url: Node,
    /// The program that serves there; `None` for a server that runs already.
    pub command: Option<Vec<Node>>,
    /// The credentials that every request carries.
    pub credentials: HttpCredentials,
    /// Users with credentials of their own.
    pub users: Vec<HttpUser>,
    /// Which of the two transports.
    pub flavour: HttpFlavour,
    /// The file with the certificates that count, instead of the system's.
    pub ca: Option<Node>,
}

/// The headers and the token with which somebody speaks to a server; every text is unfilled.
#[derive(Debug, Clone)]
pub struct HttpCredentials {
    /// Headers of every request.
    pub headers: Vec<(Located<String>, Node)>,
    /// The token, or how to get one.
    pub auth: Option<Auth>,
}

impl HttpCredentials {
    /// Returns true if there are no credentials.
    pub fn is_empty(&self) -> bool {
        self.headers.is_empty() && self.auth.is_none()
    }
}

/// One of several users of a server.
#[derive(Debug, Clone)]
pub struct HttpUser {
    /// The name in the suite.
    pub name: Located<String>,
    /// The credentials of the user's requests.
    pub credentials: HttpCredentials,
}

impl Http {
    /// The user whose credentials ordinary requests carry: the first, where the server has none of its own.
    pub fn default_user(&self) -> Option<&HttpUser> {
        self.users.first().filter(|_| self.credentials.is_empty())
    }

    /// All credentials that are written.
    pub fn all_credentials(&self) -> impl Iterator<Item = &HttpCredentials> {
        std::iter::once(&self.credentials).chain(self.users.iter().map(|user| &user.credentials))
    }
}

/// The credentials of a client; every text is unfilled.
#[derive(Debug, Clone)]
pub enum Auth {
    /// This token.
    Bearer(Node),
    /// A token that an authorization server gives to whoever knows this.
    ClientCredentials(Box<ClientCredentials>),
    /// A token that an authorization server gives after a login.
    AuthorizationCode(Box<AuthorizationCode>),
    /// A token that an authorization server gives to a device which a login allows.
    DeviceCode(Box<DeviceCode>),
}

settings! {
    /// The parameters for an authorization server. Without `issuer` and `token_url` the tested server names it.
    pub struct ClientCredentials as "client_credentials" {
        /// The authorization server; its metadata has the token endpoint.
        pub issuer: Option<Node> => shape(Shape::Text) choice("endpoint"),
        /// The token endpoint, if the metadata does not name it.
        pub token_url: Option<Node> => shape(Shape::Text) choice("endpoint"),
        /// The id of the client.
        pub client_id: Node => shape(Shape::Text) required(),
        /// The secret of the client; it appears in no output, nor does the token.
        pub client_secret: Option<Node> => alternative() shape(Shape::Text) choice("proof"),
        /// The private key of the client in PEM, or the path of its file relative to the suite's file: it signs an assertion
        /// in place of a secret (`private_key_jwt`).
        pub private_key: Option<Node> => alternative() shape(Shape::Text) choice("proof"),
        /// The algorithm of the signature; by default the usual one of the key: `RS256`, `ES256`, `ES384` or `EdDSA`.
        pub algorithm: Option<String> => shape(Shape::Choice(&AssertionAlgorithm::NAMES)) beside(&["private_key"]),
        /// The id of the key (`kid`), for an authorization server that knows several of the client.
        pub key_id: Option<Node> => shape(Shape::Text) beside(&["private_key"]),
        /// The scopes of the token; by default those that the server requires.
        pub scopes: Vec<Node> => shape(Shape::List(&Shape::Text)),
        /// The resource that the token is for; by default the one that the server publishes, or its `url`.
        pub resource: Option<Node> => shape(Shape::Text),
    }
}

settings! {
    /// A login at an authorization server: of a person, once (`mcprove login`), or without a browser. Without `issuer` the
    /// tested server names it.
    pub struct AuthorizationCode as "authorization_code" {
        /// The authorization server; its metadata has the endpoints.
        pub issuer: Option<Node> => shape(Shape::Text),
        /// The id of the client, or the address of its metadata document; by default the client registers itself.
        pub client_id: Option<Node> => shape(Shape::Text),
        /// The secret of the client, if it has one; it appears in no output, nor does the token.
        pub client_secret: Option<Node> => shape(Shape::Text) beside(&["client_id"]),
        /// The address to which the authorization server sends the code. mcprove reads the code and never asks there; only
        /// `mcprove login` listens there, at a free port where none is named.
        pub redirect_uri: Option<Node> => default("http://127.0.0.1/callback") shape(Shape::Text),
        /// The scopes of the token; by default those that the server requires.
        pub scopes: Vec<Node> => shape(Shape::List(&Shape::Text)),
        /// The resource that the token is for; by default the one that the server publishes, or its `url`.
        pub resource: Option<Node> => shape(Shape::Text),
        /// The forms of the login, in the order of their pages; by default a person logs in, once, with `mcprove login`.
        pub login: Vec<LoginStep> => shape(LOGIN),
        /// Further hosts to which the pages of the login may lead, such as `login.example.com`.
        pub login_hosts: Vec<Node> => shape(Shape::List(&Shape::Text)),
    }
}

settings! {
    /// A login for a device, by the code that it shows: of a person, once (`mcprove login`), or without a browser. Without
    /// `issuer` the tested server names the authorization server.
    pub struct DeviceCode as "device_code" {
        /// The authorization server; its metadata has the endpoints.
        pub issuer: Option<Node> => shape(Shape::Text),
        /// The id of the client.
        pub client_id: Node => shape(Shape::Text) required(),
        /// The secret of the client, if it has one; it appears in no output, nor does the token.
        pub client_secret: Option<Node> => shape(Shape::Text),
        /// The scopes of the token; by default those that the server requires.
        pub scopes: Vec<Node> => shape(Shape::List(&Shape::Text)),
        /// The resource that the token is for; by default the one that the server publishes, or its `url`.
        pub resource: Option<Node> => shape(Shape::Text),
        /// The forms of the pages on which the device is allowed, in order; a field `user_code` gets the code of the device.
        /// By default a person allows it, once, with `mcprove login`.
        pub login: Vec<LoginStep> => shape(LOGIN),
        /// Further hosts to which the pages of the login may lead, such as `login.example.com`.
        pub login_hosts: Vec<Node> => shape(Shape::List(&Shape::Text)),
    }
}

settings! {
    /// A page of a login.
    pub struct LoginStep as "login" {
        /// The values of its form: names of fields, or of a button, with what they get. Everything else is sent as the page
        /// has it.
        pub form: Vec<(Located<String>, Node)> => required()
            shape(Shape::Map(&Shape::Either(&[Shape::Text, Shape::Number, Shape::Flag]))),
    }
}

/// One page, or a list of them.
const LOGIN: Shape =
    Shape::Either(&[Shape::Object(&LoginStep::KEYS), Shape::NonEmpty(&Shape::List(&Shape::Object(&LoginStep::KEYS)))]);

choice! {
    /// Which transport over HTTP.
    pub enum HttpFlavour {
        /// Finds out.
        Auto = "auto",
        /// Streamable HTTP.
        Streamable = "streamable-http",
        /// HTTP+SSE of 2024-11-05.
        OldSse = "sse",
    }
}
