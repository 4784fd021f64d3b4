//! Two versions of a schema: what has changed, and whom that breaks.
//!
//! Both are brought into one spelling first, so that only what they mean is compared; then they are walked side by
//! side, keyword by keyword. What the keywords cannot decide is decided by example, or counts as breaking.
//! Start reading in [`compare_schemas`].

mod bounds;
mod canonical;
mod counterexample;
mod document;
mod merge;
mod object;
mod simplify;
mod union;
mod walk;

use serde_json::Value;

use self::canonical::{NormalizeMode, canonical_both};
use self::walk::SchemaWalk;
use super::change::ServerChange;

pub use self::counterexample::counterexample;
pub(crate) use self::walk::short;

/// Who suffers from a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SchemaDirection {
    /// Callers send it: what was accepted must still be.
    Sent,
    /// Callers read it: what comes must be what could come before.
    Read,
}

/// Compares two schemas; `at` is their location.
pub fn compare_schemas(direction: SchemaDirection, before: &Value, after: &Value, at: &str) -> Vec<ServerChange> {
    if before == after {
        return Vec::new();
    }
    let [old, new] = canonical_both([before, after], NormalizeMode::WithAnnotations);
    let mut walk = SchemaWalk::new(direction);
    walk.pair(&old, &new, at);
    walk.finish()
}

/// Two schemas mean the same.
pub(crate) fn is_same(before: &Value, after: &Value) -> bool {
    let [old, new] = canonical_both([before, after], NormalizeMode::ValidationOnly);
    old == new
}
