//! The kinds of transport.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How messages reach a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TransportKind {
    /// A stream inside this process.
    #[default]
    Memory,
    /// Standard input and output of a process.
    Stdio,
    /// Streamable HTTP.
    Http,
    /// HTTP with server-sent events, as of revision 2024-11-05.
    Sse,
}

impl TransportKind {
    /// The word in recordings and reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Stdio => "stdio",
            Self::Http => "http",
            Self::Sse => "sse",
        }
    }

    /// The transport of that name.
    pub fn parse(word: &str) -> Option<Self> {
        [Self::Memory, Self::Stdio, Self::Http, Self::Sse].into_iter().find(|kind| kind.as_str() == word)
    }

    /// Whether messages travel over HTTP.
    pub fn is_over_http(self) -> bool {
        matches!(self, Self::Http | Self::Sse)
    }
}
