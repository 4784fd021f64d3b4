//! Why a suite cannot run.

use std::fmt;

use crate::source::{Diagnostic, Sources, Style, render_all};

/// Everything that keeps a suite from running, shown with the lines of YAML that are to blame.
///
/// A test that fails with an error shows its `Debug` form, so that is the same text.
#[derive(Clone)]
pub struct Error {
    diagnostics: Vec<Diagnostic>,
    text: String,
}

impl Error {
    pub(crate) fn new(diagnostics: Vec<Diagnostic>, sources: &Sources, style: Style) -> Self {
        let text = render_all(&diagnostics, sources, "nothing was run", style);
        Self { diagnostics, text }
    }

    /// The stable names of the mistakes, in the order in which they were found; `docs/reference/errors.md` explains each.
    ///
    /// ```
    /// let error = mcprove::testing::Suite::parse("suite: s\ntest: []").unwrap_err();
    /// assert!(error.codes().any(|code| code == "unknown-key"));
    /// assert!(error.to_string().contains("did you mean `tests`?"));
    /// ```
    pub fn codes(&self) -> impl Iterator<Item = &'static str> {
        self.diagnostics.iter().map(|diagnostic| diagnostic.code)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.text.trim_end())
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "the suite cannot run\n\n{self}")
    }
}

impl std::error::Error for Error {}
