//! One mistake in what the user wrote, with everything needed to mend it.

use super::{Located, Span};

/// The severity of a message about the user's own text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum DiagnosticSeverity {
    /// Legal but unwise; the program goes on.
    Warning,
    /// The program refuses to go on.
    Error,
}

/// A place and the text about it.
pub type Label = Located<String>;

/// The kind of a mistake, as far as other code asks for it; everything else about it is for people.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum MistakeKind {
    /// Nothing depends on it.
    #[default]
    Other,
    /// A key that is none, with the key that was meant as far as that is clear.
    UnknownKey(Option<String>),
    /// A key that is missing.
    MissingKey,
    /// A value of another type.
    WrongType,
    /// A name that nothing has.
    UnknownName,
    /// No server.
    MissingServer,
}

/// One mistake in a suite, a registry, a filter or an argument.
#[derive(Debug, Clone, PartialEq)]
pub struct Diagnostic {
    /// A stable kebab-case name, listed in `docs/reference/errors.md`.
    pub code: &'static str,
    /// An error stops the program, a warning does not.
    pub severity: DiagnosticSeverity,
    /// One lowercase sentence without a final period.
    pub message: String,
    /// The key or value that the user typed; `None` where no text is to blame, such as a missing file.
    pub label: Option<Label>,
    /// A second place that matters, such as the first of two equal names.
    pub other: Option<Label>,
    /// The remedy, ready to type where possible.
    pub help: Option<String>,
    /// The kind, for code that looks at mistakes.
    pub kind: MistakeKind,
}

impl Diagnostic {
    /// An error at a place.
    pub fn error(code: &'static str, message: impl Into<String>, span: Span) -> Self {
        Self::without_place(code, message).with_label(span, "")
    }

    /// A warning at a place.
    pub fn warning(code: &'static str, message: impl Into<String>, span: Span) -> Self {
        Self { severity: DiagnosticSeverity::Warning, ..Self::error(code, message, span) }
    }

    /// An error for which no text is to blame.
    pub fn without_place(code: &'static str, message: impl Into<String>) -> Self {
        let (severity, kind) = (DiagnosticSeverity::Error, MistakeKind::Other);
        Self { code, severity, message: message.into(), label: None, other: None, help: None, kind }
    }

    /// The same of a kind.
    #[must_use]
    pub fn of_kind(self, kind: MistakeKind) -> Self {
        Self { kind, ..self }
    }

    /// It is about a key that is none, at this place.
    pub fn is_unknown_key_at(&self, place: Span) -> bool {
        matches!(self.kind, MistakeKind::UnknownKey(_)) && self.label.as_ref().is_some_and(|label| label.span == place)
    }

    /// Both are warnings that say the same, wherever.
    pub fn is_same_warning(&self, other: &Self) -> bool {
        let is_warning = self.severity == DiagnosticSeverity::Warning && self.severity == other.severity;
        is_warning && self.code == other.code && self.message == other.message
    }

    /// Lets the program go on.
    #[must_use]
    pub fn into_warning(self) -> Self {
        Self { severity: DiagnosticSeverity::Warning, ..self }
    }

    /// Says something under the marked place.
    #[must_use]
    pub fn with_label(mut self, span: Span, text: impl Into<String>) -> Self {
        self.label = Some(Located::new(text.into(), span));
        self
    }

    /// Points at a second place.
    #[must_use]
    pub fn with_other(mut self, span: Span, text: impl Into<String>) -> Self {
        self.other = Some(Located::new(text.into(), span));
        self
    }

    /// Adds what to do; `None` adds nothing.
    #[must_use]
    pub fn with_help(mut self, help: impl Into<Option<String>>) -> Self {
        self.help = help.into().or(self.help);
        self
    }
}
