//! How a run on several servers ended for each of them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The end of a run for one of its servers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ServerEnd {
    /// The server's name in its suites.
    pub server: String,
    /// The exit code that a run of this server alone would have had, before a proof; that of the run is the most pressing one.
    pub exit: u8,
    /// The number of cases that passed.
    pub passed: usize,
    /// The number of failures, in cases and beside them.
    pub failed: usize,
    /// The number of cases that could not be run.
    pub errored: usize,
    /// The number of cases without a verdict: those that ran, and those that were skipped.
    pub undecided: usize,
}
