//! Which cases an entry means.

/// An id of a case, or the `file::name` before its row and server; `*` stands for any text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Pattern(String);

impl Pattern {
    /// `None` where the text cannot name a case.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let text = text.trim_start_matches("./");
        (text.contains("::") || text.contains('*')).then(|| Self(text.to_owned()))
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// It may mean several cases.
    pub(crate) fn is_open(&self) -> bool {
        self.0.contains('*')
    }

    /// It means the case of that id.
    pub(crate) fn matches(&self, id: &str) -> bool {
        let bare = id.rsplit_once('@').map_or(id, |(bare, _)| bare);
        let without_row = bare.strip_suffix(']').and_then(|inner| inner.rfind('[').map(|at| &bare[..at]));
        [Some(id), Some(bare), without_row].into_iter().flatten().any(|name| matches(&self.0, name))
    }

    /// It may mean a case of that file.
    pub(crate) fn is_about(&self, file: &str) -> bool {
        self.0.split_once("::").is_none_or(|(pattern, _)| matches(pattern, file))
    }
}

fn matches(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else { return false };
    let mut parts = parts.peekable();
    if parts.peek().is_none() {
        return rest.is_empty();
    }
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return rest.ends_with(part);
        }
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_names_and_stars() {
        let id = "a/users.yml::get [x] user[id=1]@users/auto";
        for pattern in [
            id,
            "a/users.yml::get [x] user[id=1]",
            "a/users.yml::get [x] user",
            "./a/users.yml::get [x] user",
            "a/users.yml::*",
            "*",
            "*::get*user*@*/auto",
            "*users.yml::get [x] user[id=1]@*",
        ] {
            assert!(Pattern::parse(pattern).unwrap().matches(id), "{pattern}");
        }
        for pattern in ["users.yml::get [x] user", "a/users.yml::get", "*::get*user*@*/2025", "a*a*user"] {
            assert!(!Pattern::parse(pattern).unwrap().matches(id), "{pattern}");
        }
        assert_eq!(Pattern::parse("get user"), None);
        assert!(Pattern::parse("a/*::x").unwrap().is_about("a/b.yml"));
        assert!(!Pattern::parse("c.yml::x").unwrap().is_about("a/b.yml"));
    }
}
