//! A server over HTTP, as a suite writes it.

use crate::source::{Located, Node};

/// A server over HTTP; every text is unfilled.
#[derive(Debug, Clone)]
pub struct Http {
    /// Its address.
    pub url: Node,
    /// The program that serves there; `None` for a server that runs already.
    pub command: Option<Vec<Node>>,
    /// Headers of every request.
    pub headers: Vec<(Located<String>, Node)>,
    /// The credentials of the client.
    pub auth: Option<Auth>,
    /// Which of the two transports.
    pub flavour: HttpFlavour,
    /// The file with the certificates that count, instead of the system's.
    pub ca: Option<Node>,
}

/// The credentials of a client; every text is unfilled.
#[derive(Debug, Clone)]
pub enum Auth {
    /// This token.
    Bearer(Node),
    /// A token that an authorization server gives to whoever knows this.
    ClientCredentials(Box<ClientCredentials>),
}

/// The credentials with which a client requests a token; every text is unfilled.
#[derive(Debug, Clone)]
pub struct ClientCredentials {
    /// The authorization server.
    pub issuer: Option<Node>,
    /// Where tokens are given.
    pub token_url: Option<Node>,
    /// Who asks.
    pub client_id: Node,
    /// The secret.
    pub client_secret: Node,
    /// The scopes of the token.
    pub scopes: Vec<Node>,
    /// The resource of the token.
    pub resource: Option<Node>,
}

/// Which transport over HTTP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HttpFlavour {
    /// Finds out.
    Auto,
    /// Streamable HTTP.
    Streamable,
    /// HTTP+SSE of 2024-11-05.
    OldSse,
}
