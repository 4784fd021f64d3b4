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
    /// Which of the two transports.
    pub flavour: HttpFlavour,
    /// The file with the certificates that count, instead of the system's.
    pub ca: Option<Node>,
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
