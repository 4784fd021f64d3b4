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
    /// What it wants to know of a client.
    pub auth: Option<Auth>,
    /// Which of the two transports.
    pub flavour: HttpFlavour,
    /// The file with the certificates that count, instead of the system's.
    pub ca: Option<Node>,
}

/// What a server wants to know of a client; every text is unfilled.
#[derive(Debug, Clone)]
pub enum Auth {
    /// This token.
    Bearer(Node),
    /// A token that an authorization server gives to whoever knows this.
    ClientCredentials(Box<ClientCredentials>),
}

/// What a client says of itself to get a token; every text is unfilled.
#[derive(Debug, Clone)]
pub struct ClientCredentials {
    /// The authorization server.
    pub issuer: Option<Node>,
    /// Where tokens are given.
    pub token_url: Option<Node>,
    /// Who asks.
    pub client_id: Node,
    /// What proves it.
    pub client_secret: Node,
    /// What the token is to allow.
    pub scopes: Vec<Node>,
    /// What the token is for.
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
