//! Sets of names that many cases have in common.

use std::collections::BTreeSet;
use std::ops::Deref;
use std::sync::Arc;

static NOTHING: BTreeSet<String> = BTreeSet::new();

/// A set of names, kept once for all cases that have the same, and copied where one of them changes it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SharedNames(Option<Arc<BTreeSet<String>>>);

impl SharedNames {
    /// Adds names.
    pub fn extend(&mut self, names: impl IntoIterator<Item = String>) {
        let mut names = names.into_iter().peekable();
        if names.peek().is_some() {
            Arc::make_mut(self.0.get_or_insert_default()).extend(names);
        }
    }

    /// Adds a name.
    pub fn insert(&mut self, name: String) {
        self.extend([name]);
    }

    /// Keeps one of those that are equal.
    pub(super) fn share(&mut self, known: &mut BTreeSet<Arc<BTreeSet<String>>>) {
        let Some(own) = &mut self.0 else { return };
        if let Some(same) = known.get(own) {
            *own = Arc::clone(same);
        } else {
            known.insert(Arc::clone(own));
        }
    }
}

impl Deref for SharedNames {
    type Target = BTreeSet<String>;

    fn deref(&self) -> &Self::Target {
        self.0.as_deref().unwrap_or(&NOTHING)
    }
}

impl FromIterator<String> for SharedNames {
    fn from_iter<I: IntoIterator<Item = String>>(names: I) -> Self {
        let mut set = Self::default();
        set.extend(names);
        set
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_sets_are_kept_once_and_changed_apart() {
        let set = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<SharedNames>();
        let mut sets = [set(&["a", "b"]), set(&["b", "a"]), set(&["a"]), set(&[])];
        let mut known = BTreeSet::new();
        for set in &mut sets {
            set.share(&mut known);
        }
        let address = |set: &SharedNames| set.0.as_ref().map(Arc::as_ptr);
        assert_eq!(address(&sets[0]), address(&sets[1]));
        assert_ne!(address(&sets[0]), address(&sets[2]));
        assert_eq!((address(&sets[3]), known.len()), (None, 2));
        sets[1].insert("c".to_owned());
        assert_eq!(sets, [set(&["a", "b"]), set(&["a", "b", "c"]), set(&["a"]), set(&[])]);
    }
}
