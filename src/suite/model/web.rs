//! A server over HTTP, as a suite writes it.

use crate::source::grammar::Shape;
use crate::source::{Located, Node, choice, settings};

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
        pub client_secret: Node => shape(Shape::Text) required(),
        /// The scopes of the token; by default those that the server requires.
        pub scopes: Vec<Node> => shape(Shape::List(&Shape::Text)),
        /// The resource that the token is for; by default the `url` of the server.
        pub resource: Option<Node> => shape(Shape::Text),
    }
}

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
