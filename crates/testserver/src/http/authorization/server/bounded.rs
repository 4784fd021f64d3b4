//! Named things of which only the newest are kept.

use indexmap::IndexMap;

/// The number of things of one kind in memory; the oldest goes when another one comes.
const MOST: usize = 1000;

/// Things by their names.
pub(crate) struct Bounded<T>(IndexMap<String, T>);

impl<T> Default for Bounded<T> {
    fn default() -> Self {
        Self(IndexMap::new())
    }
}

impl<T> Bounded<T> {
    pub(crate) fn insert(&mut self, name: String, thing: T) {
        if self.0.len() == MOST {
            self.0.shift_remove_index(0);
        }
        self.0.insert(name, thing);
    }

    pub(crate) fn get(&self, name: &str) -> Option<&T> {
        self.0.get(name)
    }

    pub(crate) fn get_mut(&mut self, name: &str) -> Option<&mut T> {
        self.0.get_mut(name)
    }

    pub(crate) fn values_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.0.values_mut()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_goes_first() {
        let mut bounded = Bounded::default();
        for number in 0..=MOST {
            bounded.insert(number.to_string(), number);
        }
        assert_eq!((bounded.get("0"), bounded.get("1"), bounded.get("1000")), (None, Some(&1), Some(&1000)));
    }
}
