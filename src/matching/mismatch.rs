//! One way in which an answer is not as expected.

use serde_json::Value as Json;

use super::show;
use super::value::ValuePlace;
use crate::source::{Diagnostic, Span};

/// The effect of a mismatch on a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MismatchWeight {
    /// The case fails.
    #[default]
    Fails,
    /// It is a warning only.
    Warns,
    /// Judging was given up.
    Unjudged,
}

/// The kind of a mismatch, beyond its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MismatchKind {
    /// The answer is not as expected.
    #[default]
    Differs,
    /// The answer has no such value.
    MissingValue,
    /// A template of the expectation cannot be filled in.
    Unfilled,
    /// What is expected could not be looked at, so that nothing says the opposite either.
    Unseen,
}

/// The result of all matchers of a group.
#[derive(Debug)]
pub(crate) enum GroupVerdict {
    Holds,
    /// One does not; the first that does not.
    Fails(Mismatch),
    /// None is known to fail, and one could not be judged.
    Unjudged(Mismatch),
}

impl GroupVerdict {
    /// The verdict of matchers that found these mismatches.
    pub(crate) fn of(found: Vec<Mismatch>) -> Self {
        let mut unjudged = None;
        for mismatch in found {
            match mismatch.weight {
                MismatchWeight::Fails if mismatch.kind != MismatchKind::Unseen => return Self::Fails(mismatch),
                MismatchWeight::Fails | MismatchWeight::Unjudged => {
                    unjudged.get_or_insert(mismatch);
                }
                MismatchWeight::Warns => {}
            }
        }
        unjudged.map_or(Self::Holds, Self::Unjudged)
    }

    /// The mismatch of a group that must not hold.
    pub(crate) fn negate(self, holds: impl FnOnce() -> Mismatch) -> Option<Mismatch> {
        match self {
            Self::Holds => Some(holds()),
            Self::Fails(_) => None,
            Self::Unjudged(unjudged) => Some(unjudged),
        }
    }

    /// The mismatch of groups of which one must hold; `fails` is given the reason of each.
    pub(crate) fn none_of(
        verdicts: impl Iterator<Item = Self>,
        fails: impl FnOnce(Vec<Mismatch>) -> Mismatch,
    ) -> Option<Mismatch> {
        let (mut reasons, mut unjudged) = (Vec::new(), None);
        for verdict in verdicts {
            match verdict {
                Self::Holds => return None,
                Self::Fails(mismatch) => reasons.push(mismatch),
                Self::Unjudged(mismatch) => unjudged = unjudged.or(Some(mismatch)),
            }
        }
        Some(unjudged.unwrap_or_else(|| fails(reasons)))
    }
}

/// The sentences of several mismatches.
pub(crate) fn reasons(mismatches: &[Mismatch]) -> String {
    mismatches.iter().map(|mismatch| mismatch.message.as_str()).collect::<Vec<_>>().join("; ")
}

/// A failed expectation, with its evidence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mismatch {
    /// The matcher's name in kebab-case, or a name of its own where one matcher can fail in ways that differ.
    pub code: &'static str,
    /// The kind.
    pub kind: MismatchKind,
    /// The effect on the case.
    pub weight: MismatchWeight,
    /// One lowercase sentence without a final period: what went wrong.
    pub message: String,
    /// The label under the marked text.
    pub label: String,
    /// The key or value of the suite to mark.
    pub span: Span,
    /// The place in the answer.
    pub path: Option<String>,
    /// The expected value.
    pub expected: Option<String>,
    /// The value found.
    pub actual: Option<String>,
    /// The difference, line by line, where the values are long.
    pub diff: Option<String>,
}

impl Mismatch {
    /// A mismatch with its sentence and the text under the mark, everything else to be added.
    pub(crate) fn new(code: &'static str, span: Span, message: impl Into<String>, label: impl AsRef<str>) -> Self {
        let label = show::shorten(label.as_ref(), show::LABEL);
        let (kind, weight, message) = (MismatchKind::Differs, MismatchWeight::Fails, message.into());
        Self { code, kind, weight, message, label, span, path: None, expected: None, actual: None, diff: None }
    }

    /// A value that the answer lacks.
    pub(crate) fn missing(span: Span, message: impl Into<String>, label: impl AsRef<str>) -> Self {
        Self { kind: MismatchKind::MissingValue, ..Self::new("missing-value", span, message, label) }
    }

    /// The same mismatch of a template, whose value an earlier answer lacked.
    #[must_use]
    pub fn into_missing(self) -> Self {
        Self { code: "missing-value", kind: MismatchKind::MissingValue, ..self }
    }

    /// An expectation that could not be judged.
    pub(crate) fn inconclusive(span: Span, message: impl Into<String>, reason: impl AsRef<str>) -> Self {
        Self::new("schema-not-judged", span, message, reason).with_weight(MismatchWeight::Unjudged)
    }

    /// A mistake that only showed once templates were filled in.
    pub(crate) fn from_diagnostic(diagnostic: Diagnostic, fallback: Span) -> Self {
        let (span, label) = diagnostic.label.map_or((fallback, String::new()), |label| (label.span, label.value));
        let label = if label.is_empty() { diagnostic.help.unwrap_or_default() } else { label };
        Self::new(diagnostic.code, span, diagnostic.message, label)
    }

    pub(crate) fn with_weight(mut self, weight: MismatchWeight) -> Self {
        self.weight = weight;
        self
    }

    pub(crate) fn with_path(mut self, path: impl Into<String>) -> Self {
        self.path = Some(path.into());
        self
    }

    pub(crate) fn with_expected(mut self, expected: impl Into<String>) -> Self {
        self.expected = Some(expected.into());
        self
    }

    pub(crate) fn with_actual(mut self, actual: impl Into<String>) -> Self {
        self.actual = Some(actual.into());
        self
    }

    /// The place of a value, and the value as what was found.
    pub(crate) fn at(self, place: ValuePlace<'_>, value: &Json) -> Self {
        self.with_path(place.path()).with_actual(show::compact(value))
    }

    /// Shows two values side by side, and line by line where one of them is long.
    pub(crate) fn with_values(self, expected: &Json, actual: &Json) -> Self {
        let diff = show::diff(expected, actual);
        Self { diff, ..self.with_expected(show::compact(expected)).with_actual(show::compact(actual)) }
    }
}
