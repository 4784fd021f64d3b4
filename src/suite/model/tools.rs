//! Which tools something works on.

use crate::source::Located;

/// Which tools a block works on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolSelection {
    /// All of them.
    All,
    /// Those whose names match one of these, where `*` stands for anything.
    Named(Vec<Located<String>>),
}

impl ToolSelection {
    /// Whether a tool is selected.
    pub fn selects(&self, tool: &str) -> bool {
        match self {
            Self::All => true,
            Self::Named(patterns) => patterns.iter().any(|pattern| is_match(&pattern.value, tool)),
        }
    }

    /// The names and patterns that select none of these tools.
    pub fn idle<'a>(&'a self, offered: &'a [&str]) -> impl Iterator<Item = &'a Located<String>> {
        let patterns = if let Self::Named(patterns) = self { patterns.as_slice() } else { &[] };
        patterns.iter().filter(move |pattern| !offered.iter().any(|tool| is_match(&pattern.value, tool)))
    }
}

/// Whether a name fits a pattern, where `*` stands for anything.
pub(crate) fn is_match(pattern: &str, tool: &str) -> bool {
    globset::Glob::new(pattern).is_ok_and(|glob| glob.compile_matcher().is_match(tool))
}
