//! The exit codes of the program.

use std::process::ExitCode;

/// The exit codes, most pressing first where several would hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// Everything that ran passed.
    Passed = 0,
    /// A server failed a case.
    Findings = 1,
    /// The suite or the command line is wrong.
    Usage = 2,
    /// A server could not be used, or a file could not be written.
    Environment = 3,
    /// Nothing was selected, no case reached a verdict, or a tool was not judged.
    Nothing = 4,
    /// Coverage is below the threshold.
    Coverage = 6,
    /// This program broke.
    Internal = 70,
    /// The user or the system stopped the program.
    Interrupted = 130,
}

impl Exit {
    /// Every code with its meaning, for the manual.
    pub const TABLE: [(Self, &'static str); 8] = [
        (Self::Passed, "everything that ran passed"),
        (Self::Findings, "a server failed a case"),
        (Self::Usage, "the suite or the command line is wrong"),
        (Self::Environment, "a server could not be started or reached, or a file could not be written"),
        (
            Self::Nothing,
            "nothing was selected, no case reached a verdict, a tool was not judged, or `--budget` was too short",
        ),
        (Self::Coverage, "coverage is below the threshold"),
        (Self::Internal, "mcprove broke; please report it"),
        (Self::Interrupted, "the run was interrupted; reports are written"),
    ];
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}
