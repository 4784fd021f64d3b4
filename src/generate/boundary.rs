//! Valid values at the edges of what a schema allows.

use serde_json::Value;

/// A whole valid value, one place of which is at an edge.
#[derive(Clone, Debug, PartialEq)]
pub struct Boundary {
    /// JSON pointer to the place.
    pub at: String,
    /// What is at the edge there, as `the shortest text`.
    pub what: String,
    /// The whole value.
    pub value: Value,
}
