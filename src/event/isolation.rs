//! The verdicts of three ways to run cases, which show those that depend on one another.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Outcome;

/// The result of `--verify-isolation`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct IsolationReport {
    /// The seed of the shuffled order.
    pub seed: u32,
    /// The number of cases with one verdict in all three ways.
    pub agreeing: usize,
    /// The cases whose verdict differs.
    pub differing: Vec<Verdicts>,
}

/// A case and its verdicts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Verdicts {
    /// The case id.
    pub id: String,
    /// The name with its row.
    pub name: String,
    /// In declared order, in the session that cases share.
    pub shared: Outcome,
    /// Alone, on a fresh server.
    pub isolated: Outcome,
    /// In shuffled order, in the session that cases share.
    pub shuffled: Outcome,
    /// The names of the cases that may have made the difference, where there are few.
    pub suspects: Vec<String>,
}
