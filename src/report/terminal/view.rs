//! The parts of a run that are shown. Knows nothing about drawing.

use crate::suite::AdHocCommand;

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
    /// What is only counted unless somebody asks.
    pub details: Details,
}

impl View {
    /// For a document, which is read when nothing more can be asked.
    pub const WHOLE: Self = Self {
        failures: Failures::Shown,
        order: FailureOrder::Declared,
        cases: Cases::NotPassed,
        families: Families::Shown,
        survivors: Survivors::Worst,
        details: Details::ALL,
    };

    /// The short answer of a terminal, where more can be asked.
    pub const SHORT: Self = Self { families: Families::WhereGated, details: Details::NONE, ..Self::WHOLE };
}

/// Something that a summary only counts unless somebody asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "cli", derive(clap::ValueEnum))]
pub enum Detail {
    /// The rules of the specification that the server kept, section by section.
    Compliance,
    /// The calls that were generated for each tool.
    Fuzz,
    /// What the tools cost in tokens, and which providers take them.
    Lint,
    /// Why cases were skipped or do not apply.
    Skips,
}

impl Detail {
    const EACH: [Self; 4] = [Self::Compliance, Self::Fuzz, Self::Lint, Self::Skips];

    /// The word on the command line.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Compliance => "compliance",
            Self::Fuzz => "fuzz",
            Self::Lint => "lint",
            Self::Skips => "skips",
        }
    }

    /// The detail that the section of a block is; `None` for figures that a suite asks for.
    pub(crate) fn of_block(key: &str) -> Option<Self> {
        match key {
            "compliance" => Some(Self::Compliance),
            "fuzz" => Some(Self::Fuzz),
            "schema_lint" => Some(Self::Lint),
            _ => None,
        }
    }

    /// The detail that a command is about.
    pub(crate) fn of_command(command: AdHocCommand) -> Option<Self> {
        match command {
            AdHocCommand::Compliance => Some(Self::Compliance),
            AdHocCommand::Fuzz => Some(Self::Fuzz),
            AdHocCommand::Lint => Some(Self::Lint),
            AdHocCommand::Audit
            | AdHocCommand::Call
            | AdHocCommand::Chaos
            | AdHocCommand::Ci
            | AdHocCommand::Complete
            | AdHocCommand::Doctor
            | AdHocCommand::Init
            | AdHocCommand::Login
            | AdHocCommand::Logout
            | AdHocCommand::Prompt
            | AdHocCommand::Read
            | AdHocCommand::Run
            | AdHocCommand::Snapshot
            | AdHocCommand::Tools => None,
        }
    }
}

/// A set of details.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Details([bool; Detail::EACH.len()]);

impl Details {
    /// None of them.
    pub const NONE: Self = Self([false; Detail::EACH.len()]);
    /// All of them.
    pub const ALL: Self = Self([true; Detail::EACH.len()]);

    pub(crate) fn has(self, detail: Detail) -> bool {
        Detail::EACH.iter().zip(self.0).any(|(each, has)| *each == detail && has)
    }
}

impl FromIterator<Detail> for Details {
    fn from_iter<T: IntoIterator<Item = Detail>>(details: T) -> Self {
        let asked: Vec<Detail> = details.into_iter().collect();
        Self(Detail::EACH.map(|each| asked.contains(&each)))
    }
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
