//! What the program's exit code says.

use std::process::ExitCode;

/// The exit codes, most pressing first where several would hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// Everything that ran passed.
    Passed,
    /// A server failed a case.
    Findings,
    /// The suite or the command line is wrong.
    Usage,
    /// A server could not be used, or a file could not be written.
    Environment,
    /// Nothing was selected, no case reached a verdict, or a tool was not judged.
    Nothing,
    /// Coverage is below the threshold.
    Coverage,
    /// This program broke.
    Internal,
    /// The user or the system stopped the program.
    Interrupted,
}

impl Exit {
    /// Every code with its number and its meaning, for the manual.
    pub const TABLE: [(Self, u8, &'static str); 8] = [
        (Self::Passed, 0, "everything that ran passed"),
        (Self::Findings, 1, "a server failed a case"),
        (Self::Usage, 2, "the suite or the command line is wrong"),
        (Self::Environment, 3, "a server could not be started or reached, or a file could not be written"),
        (Self::Nothing, 4, "nothing was selected, no case reached a verdict, or a tool was not judged"),
        (Self::Coverage, 6, "coverage is below the threshold"),
        (Self::Internal, 70, "mcprove broke; please report it"),
        (Self::Interrupted, 130, "the run was interrupted; reports are written"),
    ];
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        let number = Exit::TABLE.iter().find(|(code, _, _)| *code == exit).map_or(70, |(_, number, _)| *number);
        Self::from(number)
    }
}
