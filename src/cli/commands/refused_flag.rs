//! Flags that make no sense beside another one, each with the reason.

use super::run::RunArgs;
use crate::cli::console::Console;
use crate::cli::exit::Exit;

/// A flag of a run that makes no sense beside another one.
pub(crate) struct RefusedFlag {
    pub(crate) flag: &'static str,
    pub(crate) is_given: fn(&RunArgs) -> bool,
    pub(crate) reason: &'static str,
    pub(crate) help: &'static str,
}

impl RefusedFlag {
    /// Refuses the first of them that is given.
    pub(crate) fn refuse(refused: &[Self], beside: &str, args: &RunArgs, console: &Console) -> Result<(), Exit> {
        let Some(Self { flag, reason, help, .. }) = refused.iter().find(|flag| (flag.is_given)(args)) else {
            return Ok(());
        };
        Err(console.fail(Exit::Usage, format!("`{flag}` does not go with `{beside}`: {reason}"), Some(help)))
    }
}
