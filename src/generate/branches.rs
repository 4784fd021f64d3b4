//! Which branches of a schema values have taken.

/// A set of branches that were taken.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    words: Vec<u64>,
}

impl Seen {
    /// How many branches were taken.
    pub fn count(&self) -> usize {
        self.words.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// Whether a branch was taken.
    pub fn has(&self, branch: usize) -> bool {
        self.words.get(branch / 64).is_some_and(|word| word & (1 << (branch % 64)) != 0)
    }

    /// Adds what another set has.
    pub fn merge(&mut self, other: &Self) {
        self.words.resize(self.words.len().max(other.words.len()), 0);
        for (own, more) in self.words.iter_mut().zip(&other.words) {
            *own |= more;
        }
    }

    /// Adds a branch.
    pub(super) fn add(&mut self, branch: usize) {
        if self.words.len() <= branch / 64 {
            self.words.resize(branch / 64 + 1, 0);
        }
        self.words[branch / 64] |= 1 << (branch % 64);
    }
}
