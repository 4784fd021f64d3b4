//! Rules of the specification.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::RequirementLevel;

/// The rule for which a case stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RuleInfo {
    /// The id, such as `B2`.
    pub id: String,
    /// Its requirement level.
    pub level: RequirementLevel,
    /// The page and the section of the specification.
    pub section: String,
    /// The address at which the sentence stands, in the newest revision in which the rule holds.
    pub link: String,
    /// The newest revision in which it holds, whose rule book it stands in.
    pub revision: String,
    /// The sentence that demands it, word for word.
    pub quote: String,
}
