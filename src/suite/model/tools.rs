//! Tools and other things by name and pattern.

use globset::{Glob, GlobMatcher};

use crate::source::Located;

/// Tools by name and pattern; by default none.
#[derive(Debug, Clone, Default)]
pub struct ToolNames(pub Vec<NamePattern>);

impl ToolNames {
    /// Returns true if a name or pattern stands for a tool.
    pub fn has(&self, tool: &str) -> bool {
        self.0.iter().any(|pattern| pattern.is_match(tool))
    }

    /// Adds other names and patterns.
    pub fn extend(&mut self, more: impl IntoIterator<Item = Located<String>>) {
        self.0.extend(more.into_iter().map(NamePattern::new));
    }
}

/// The tools that a block works on.
#[derive(Debug, Clone)]
pub enum ToolSelection {
    /// All of them.
    All,
    /// Those whose names match one of these.
    Named(ToolNames),
}

impl ToolSelection {
    /// The tools with these names, or whose names match these patterns.
    pub fn of_names(names: impl IntoIterator<Item = Located<String>>) -> Self {
        Self::Named(ToolNames(names.into_iter().map(NamePattern::new).collect()))
    }

    /// Returns true if a tool is selected.
    pub fn selects(&self, tool: &str) -> bool {
        match self {
            Self::All => true,
            Self::Named(names) => names.has(tool),
        }
    }

    /// The names and patterns that select none of these tools.
    pub fn idle<'a>(&'a self, offered: &'a [&str]) -> impl Iterator<Item = &'a Located<String>> {
        let patterns = if let Self::Named(names) = self { names.0.as_slice() } else { &[] };
        let idle = patterns.iter().filter(|pattern| !offered.iter().any(|tool| pattern.is_match(tool)));
        idle.map(|pattern| &pattern.name)
    }
}

/// A name, or a pattern of names in which `*` stands for anything; compiled once.
#[derive(Debug, Clone)]
pub struct NamePattern {
    /// The name or pattern as it is written.
    pub name: Located<String>,
    /// The compiled pattern; `None` for a name.
    glob: Option<GlobMatcher>,
}

impl PartialEq for NamePattern {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for NamePattern {}

impl NamePattern {
    /// Compiles a pattern; one that is malformed matches only itself.
    pub fn new(name: Located<String>) -> Self {
        Self { glob: compile(&name.value), name }
    }

    /// A name that is no pattern, whatever characters it has.
    pub fn name(name: Located<String>) -> Self {
        Self { glob: None, name }
    }

    /// Returns true if it is a pattern, which may stand for several names.
    pub fn is_pattern(&self) -> bool {
        self.glob.is_some()
    }

    /// Returns true if a name matches.
    pub fn is_match(&self, name: &str) -> bool {
        self.glob.as_ref().map_or(self.name.value == name, |glob| glob.is_match(name))
    }
}

/// Returns true if a tool has a name, or one that a pattern stands for.
pub fn is_named(pattern: &str, tool: &str) -> bool {
    compile(pattern).map_or(pattern == tool, |glob| glob.is_match(tool))
}

fn compile(pattern: &str) -> Option<GlobMatcher> {
    let is_pattern = pattern.contains(['*', '?', '[', '{', '\\']);
    is_pattern.then(|| Glob::new(pattern).ok()).flatten().map(|glob| glob.compile_matcher())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::{SourceFile, Sources, Span};

    #[test]
    fn names_and_patterns_match() {
        let source = Sources::default().add(SourceFile::new("suite.yml", String::new()));
        let span = Span { source, start: 0, end: 0 };
        for (pattern, name, expected) in [
            ("add", "add", true),
            ("add", "add_user", false),
            ("add*", "add_user", true),
            ("*/name", "tools/add/name", true),
            ("{add,sub}", "sub", true),
            ("[add", "[add", true),
            ("[add", "add", false),
        ] {
            let pattern = NamePattern::new(Located::new(pattern.to_owned(), span));
            assert_eq!(pattern.is_match(name), expected, "{pattern:?} and {name}");
        }
    }
}
