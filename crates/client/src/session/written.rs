//! Requests as a suite writes them, where they use values of earlier answers: a session that is played again has others.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

/// What a suite writes of a request beyond what was sent.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct WrittenRequest {
    /// The parameters with templates for values of earlier answers; `None` where they use none.
    pub params: Option<Value>,
    /// The names that these templates use.
    pub uses: BTreeSet<String>,
    /// The values of its answer that the suite captures: by name, the path.
    pub captures: BTreeMap<String, String>,
}
