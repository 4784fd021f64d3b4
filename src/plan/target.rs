//! The servers on which the cases of a suite run.

use crate::suite::Protocol;

/// A server spoken to in one revision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// The server's name in the suite.
    pub server: String,
    /// The revision.
    pub protocol: Protocol,
}
