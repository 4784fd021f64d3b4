//! What a token allows.

use std::fmt;

/// The scope that every request requires.
pub(crate) const READ: &str = "users:read";

/// The scope that calls require in addition if they change something.
pub(crate) const WRITE: &str = "users:write";

/// A set of scopes; by default all there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Scopes {
    pub(crate) reads: bool,
    pub(crate) changes: bool,
}

impl Default for Scopes {
    fn default() -> Self {
        Self { reads: true, changes: true }
    }
}

impl Scopes {
    /// Everything but changes.
    pub(crate) const READING: Self = Self { reads: true, changes: false };

    /// Reads a list with spaces in between (RFC 6749, 3.3); nothing where one is unknown, or there is none.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut scopes = Self { reads: false, changes: false };
        for scope in text.split(' ').filter(|scope| !scope.is_empty()) {
            match scope {
                READ => scopes.reads = true,
                WRITE => scopes.changes = true,
                _ => return None,
            }
        }
        (scopes.reads || scopes.changes).then_some(scopes)
    }

    /// Are these no more than the others?
    pub(crate) fn is_within(self, others: Self) -> bool {
        self.reads <= others.reads && self.changes <= others.changes
    }
}

impl fmt::Display for Scopes {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let named: Vec<_> = [(self.reads, READ), (self.changes, WRITE)]
            .into_iter()
            .filter_map(|(is_there, name)| is_there.then_some(name))
            .collect();
        formatter.write_str(&named.join(" "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_scopes() {
        for (written, read) in [
            ("users:read", Some("users:read")),
            ("users:write  users:read", Some("users:read users:write")),
            ("users:write", Some("users:write")),
            ("", None),
            ("users:read admin", None),
        ] {
            assert_eq!(Scopes::parse(written).map(|scopes| scopes.to_string()).as_deref(), read, "{written}");
        }
        assert!(Scopes::READING.is_within(Scopes::default()));
        assert!(!Scopes::default().is_within(Scopes::READING));
    }
}
