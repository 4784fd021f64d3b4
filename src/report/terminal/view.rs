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

/// The order in which the failures of a run are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FailureOrder {
    /// As they are declared.
    #[default]
    Declared,
    /// The most severe ones first, each with its severity and why it matters: nobody wrote the cases, so nobody knows.
    WorstFirst,
}

/// The parts of a run that are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct View {
    /// The failures.
    pub failures: Failures,
    /// Their order.
    pub order: FailureOrder,
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
        order: FailureOrder::Declared,
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
