//! The parts of a run that are shown. Knows nothing about drawing.

use super::proof::Survivors;

/// The part of a summary about failures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failures {
    /// They are shown.
    Shown,
    /// The reader saw them as they came.
    SeenLive,
}

/// The parts of a run that are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct View {
    /// The failures.
    pub failures: Failures,
    /// Which cases are.
    pub cases: Cases,
    /// The detail in which coverage is shown.
    pub families: Families,
    /// The survivors that are shown.
    pub survivors: Survivors,
}

impl View {
    /// For a document, which is read when nothing more can be asked.
    pub const WHOLE: Self = Self {
        failures: Failures::Shown,
        cases: Cases::NotPassed,
        families: Families::Shown,
        survivors: Survivors::Worst,
    };
}

/// Which cases are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cases {
    /// Those that failed, and nothing else but the totals.
    Failed,
    /// Those that need attention.
    NotPassed,
    /// All of them, each with its time.
    All,
}

/// The detail in which coverage is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Families {
    /// Only if a threshold or a proof is about them.
    WhereGated,
    /// Always.
    Shown,
}
