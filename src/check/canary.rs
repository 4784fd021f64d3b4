//! Texts that appear nowhere else, so that whoever shows one got it from the call that sent it.

use std::hash::{BuildHasher, RandomState};

/// Makes canaries, and finds them. No two of them are equal, in this run or in any other: a server that keeps data may
/// still have those of earlier runs, and a server that others test at the same time has theirs.
#[derive(Debug)]
pub(crate) struct RandomCanaries {
    prefix: String,
    made: u16,
}

/// The digits that number a canary.
const DIGITS: usize = 3;

impl RandomCanaries {
    pub(crate) fn new() -> Self {
        let random = RandomState::new().hash_one(0);
        Self { prefix: format!("kw{:08x}q", random & 0xffff_ffff), made: 0 }
    }

    /// The next canary.
    pub(crate) fn make(&mut self) -> String {
        self.made = (self.made + 1) & 0xfff;
        format!("{}{:0DIGITS$x}", self.prefix, self.made)
    }

    /// The beginning of all canaries, too short to be taken for one: a search for it finds them, and an answer that only
    /// repeats it shows none.
    pub(crate) fn beginning(&self) -> &str {
        &self.prefix[..self.prefix.len() - 1]
    }

    /// The canaries in a text, whatever case it has them in, each once.
    pub(crate) fn find(&self, text: &str) -> Vec<String> {
        let text = text.to_lowercase();
        let length = self.prefix.len() + DIGITS;
        let found = text.match_indices(&self.prefix).filter_map(|(at, _)| text.get(at..at + length));
        let mut found: Vec<String> = found.map(str::to_owned).collect();
        found.sort_unstable();
        found.dedup();
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn canaries_are_found_and_their_beginning_is_not() {
        let mut canaries = RandomCanaries::new();
        let (one, two) = (canaries.make(), canaries.make());
        assert_ne!(one, two);
        let text = format!("x{two} {} {one}{one}", one.to_uppercase());
        assert_eq!(canaries.find(&text), [one.clone(), two]);
        assert_eq!(canaries.find(canaries.beginning()), [] as [String; 0]);
        assert_eq!(RandomCanaries::new().find(&one), [] as [String; 0]);
    }
}
