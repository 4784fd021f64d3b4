//! How much of a run is shown. Knows nothing about how.

use super::proof::Survivors;

/// Whether the failures are part of a summary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failures {
    /// They are shown.
    Shown,
    /// The reader saw them as they came.
    SeenLive,
}

/// How much of a run is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct View {
    /// Whether the failures are part of it.
    pub failures: Failures,
    /// Which cases are.
    pub cases: Cases,
    /// Whether coverage is shown family by family.
    pub families: Families,
    /// How many survivors are shown.
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

/// Whether coverage is shown family by family.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Families {
    /// Where a threshold or a proof is about them.
    WhereGated,
    /// Always.
    Shown,
}
