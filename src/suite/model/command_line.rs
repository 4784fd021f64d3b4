//! The command line that a suite was made from, where nobody wrote a file.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A command that makes a suite, or its cases.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AdHocCommand {
    /// `mcprove audit`.
    Audit,
    /// `mcprove chaos run`, of a suite that is a file.
    Chaos,
    /// `mcprove call`.
    Call,
    /// `mcprove ci`.
    Ci,
    /// `mcprove complete`.
    Complete,
    /// `mcprove compliance`.
    Compliance,
    /// `mcprove doctor`.
    Doctor,
    /// `mcprove fuzz`.
    Fuzz,
    /// `mcprove init`.
    Init,
    /// `mcprove lint`.
    Lint,
    /// `mcprove login`.
    Login,
    /// `mcprove logout`.
    Logout,
    /// `mcprove prompt`.
    Prompt,
    /// `mcprove read`.
    Read,
    /// `mcprove run`, on a server that the command line names.
    Run,
    /// `mcprove snapshot`.
    Snapshot,
    /// `mcprove tools`.
    Tools,
}

impl AdHocCommand {
    /// Returns true if it works with one server alone.
    pub fn takes_one_server(self) -> bool {
        matches!(
            self,
            Self::Call | Self::Complete | Self::Init | Self::Login | Self::Logout | Self::Prompt | Self::Read
        )
    }

    /// Returns true if it is about the login of a person, and so about an address.
    pub fn is_of_person(self) -> bool {
        matches!(self, Self::Login | Self::Logout)
    }

    /// The word after `mcprove`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Audit => "audit",
            Self::Chaos => "chaos run",
            Self::Call => "call",
            Self::Ci => "ci",
            Self::Complete => "complete",
            Self::Compliance => "compliance",
            Self::Doctor => "doctor",
            Self::Fuzz => "fuzz",
            Self::Init => "init",
            Self::Lint => "lint",
            Self::Login => "login",
            Self::Logout => "logout",
            Self::Prompt => "prompt",
            Self::Read => "read",
            Self::Run => "run",
            Self::Snapshot => "snapshot",
            Self::Tools => "tools",
        }
    }
}

/// A command line with its flags and its server, without secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandLine {
    /// The command.
    pub command: AdHocCommand,
    /// The flags, quoted for a shell.
    pub flags: String,
    /// The server's URL, or its program with arguments; empty where the flags name it.
    pub target: String,
    /// True if the target is a program, which is written after `--`.
    pub is_program: bool,
}

impl CommandLine {
    /// The command line with one more flag.
    pub fn with_flag(&self, flag: &str) -> String {
        if self.is_program {
            let flags = format!("{} {flag}", self.flags);
            Self { flags: flags.trim_start().to_owned(), ..self.clone() }.to_string()
        } else {
            format!("{self} {flag}")
        }
    }
}

impl fmt::Display for CommandLine {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "mcprove {}", self.command.as_str())?;
        let dashes = if self.is_program { "--" } else { "" };
        let mut words = [&self.flags, dashes, &self.target].into_iter().filter(|word| !word.is_empty());
        words.try_for_each(|word| write!(to, " {word}"))
    }
}
