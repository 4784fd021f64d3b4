//! Members of small objects, found without hashing their names.

use serde_json::{Map, Value};

/// The number of members that are compared one by one; a keyed hash costs as much as a dozen comparisons.
const FEW: usize = 12;

/// Looks up members of JSON objects, of which messages hold many small ones.
pub trait Members {
    /// The member of that name; `None` where there is none, and for values that are no object.
    fn member(&self, name: &str) -> Option<&Value>;
}

impl Members for Map<String, Value> {
    fn member(&self, name: &str) -> Option<&Value> {
        if self.len() > FEW {
            return self.get(name);
        }
        self.iter().find(|(known, _)| *known == name).map(|(_, value)| value)
    }
}

impl Members for Value {
    fn member(&self, name: &str) -> Option<&Value> {
        self.as_object()?.member(name)
    }
}
