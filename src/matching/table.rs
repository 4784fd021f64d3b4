//! One line of a matcher table: the key, its grammar, what it judges and how it is compiled.

use crate::source::Node;
use crate::source::grammar::{Key, Need, Shape, key};

/// A matcher as its file declares it.
pub(crate) struct Matcher<Build> {
    /// The key with its grammar.
    pub key: Key,
    /// The variants of the fault taxonomy that a pass or a failure says something about.
    pub judges: fn(&Node) -> &'static [&'static str],
    /// Compiles the value of the key.
    pub build: Build,
}

/// The keys of a table, in its order, each with the same need and beside one of the same keys; `N` is its length.
pub(crate) const fn keys<Build, const N: usize>(
    matchers: &[&Matcher<Build>],
    need: Need,
    beside: &'static [&'static str],
) -> [Key; N] {
    assert!(matchers.len() == N, "every matcher has a key");
    let mut keys = [const { key("", Shape::Any, "") }; N];
    let mut at = 0;
    while at < N {
        keys[at] = Key { need, ..matchers[at].key.beside(beside) };
        at += 1;
    }
    keys
}

/// The names of the keys of several tables; `N` is their length together.
pub(crate) const fn names<Build, const N: usize>(tables: &[&[&Matcher<Build>]]) -> [&'static str; N] {
    let mut names = [""; N];
    let (mut table, mut filled) = (0, 0);
    while table < tables.len() {
        let mut at = 0;
        while at < tables[table].len() {
            names[filled] = tables[table][at].key.name;
            (at, filled) = (at + 1, filled + 1);
        }
        table += 1;
    }
    assert!(filled == N, "every matcher has a name");
    names
}
