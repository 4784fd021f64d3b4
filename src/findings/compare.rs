//! The findings of two runs, compared.

use std::collections::BTreeMap;

use super::Stored;

/// The changes of findings between two runs.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Compared {
    /// Only the second run has them.
    pub new: Vec<Stored>,
    /// Only the first run has them.
    pub fixed: Vec<Stored>,
    /// Both have them.
    pub still: Vec<Stored>,
}

/// Tells the findings of two runs apart by their ids.
pub fn compare(before: Vec<Stored>, after: Vec<Stored>) -> Compared {
    let mut before: BTreeMap<String, Stored> = before.into_iter().map(|stored| (stored.id.clone(), stored)).collect();
    let mut compared = Compared::default();
    let after: BTreeMap<String, Stored> = after.into_iter().map(|stored| (stored.id.clone(), stored)).collect();
    for (id, stored) in after {
        match before.remove(&id) {
            Some(_) => compared.still.push(stored),
            None => compared.new.push(stored),
        }
    }
    compared.fixed = before.into_values().collect();
    compared
}
