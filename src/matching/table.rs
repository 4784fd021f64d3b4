//! One line of a matcher table: the key, its grammar, what it judges and how it is compiled.

use crate::source::Node;
use crate::source::grammar::{Key, Shape, key};

/// A matcher as its file declares it.
pub(super) struct Matcher<Build> {
    /// The key with its grammar.
    pub key: Key,
    /// The variants of the fault taxonomy that a pass or a failure says something about.
    pub judges: fn(&Node) -> &'static [&'static str],
    /// Compiles the value of the key.
    pub build: Build,
}

/// The keys of a table, in its order.
pub(super) const fn keys<Build, const N: usize>(matchers: &[&Matcher<Build>; N]) -> [Key; N] {
    let mut keys = [const { key("", Shape::Any, "") }; N];
    let mut at = 0;
    while at < N {
        keys[at] = matchers[at].key;
        at += 1;
    }
    keys
}
