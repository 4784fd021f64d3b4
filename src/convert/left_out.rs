//! Parts of a file that have no counterpart in a suite.

use crate::source::{Diagnostic, Node, Sources, Span, nearest, visible_line};

/// A part of a file that has no counterpart, and why.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct LeftOut {
    key: String,
    why: String,
    span: Span,
}

impl LeftOut {
    pub(crate) fn new(key: impl Into<String>, span: Span, why: impl Into<String>) -> Self {
        Self { key: key.into(), why: why.into(), span }
    }

    /// The comment that stands in its place.
    pub(crate) fn comment(&self, sources: &Sources) -> String {
        let (file, line, _) = sources.place(self.span);
        let is_only_file = sources.ids().all(|id| sources.file(id).name == file);
        let of_file = if is_only_file { String::new() } else { format!(" of {file}") };
        visible_line(&format!("not converted: `{}` of line {line}{of_file}: {}", self.key, self.why)).into_owned()
    }

    /// The warning about it.
    pub(crate) fn warning(&self) -> Diagnostic {
        Diagnostic::warning("not-converted", format!("`{}` is left out: {}", self.key, self.why), self.span)
    }

    /// The reason.
    pub(crate) fn why(&self) -> &str {
        &self.why
    }
}

/// The members that a tool does not read, or that nobody knows here.
pub(crate) fn unknown_members(node: &Node, known: &[&str], of: &str) -> Vec<LeftOut> {
    let unknown = node.entries().iter().filter(|(key, _)| !known.contains(&key.value.as_str()));
    let says = |key: &str| {
        let meant =
            nearest(key, known.iter().copied()).map(|name| format!("; did you mean `{name}`?")).unwrap_or_default();
        format!("{of} has no such key{meant}")
    };
    unknown.map(|(key, _)| LeftOut::new(key.value.clone(), key.span, says(&key.value))).collect()
}

/// The members with these names, each left out for the same reason.
pub(crate) fn members_left_out(node: &Node, keys: &[&str], why: &str) -> Vec<LeftOut> {
    let there = node.entries().iter().filter(|(key, _)| keys.contains(&key.value.as_str()));
    there.map(|(key, _)| LeftOut::new(key.value.clone(), key.span, why)).collect()
}
