//! `mcprove run` and `mcprove prove` as they are typed.

use clap::Args;

use super::other_server::OtherServerArgs;
use super::run::{RunArgs, RunRequest, run};
use crate::cli::console::Console;
use crate::cli::exit::Exit;

/// Runs test suites against their servers, or against the one that follows them.
#[derive(Debug, Args)]
pub(crate) struct RunCommandArgs {
    #[command(flatten)]
    run: RunArgs,
    #[command(flatten)]
    other: OtherServerArgs,
}

impl RunCommandArgs {
    /// The run that is asked for, on the server that the command line names, if it names one.
    pub(crate) fn into_run(self, console: &Console) -> Result<RunArgs, Exit> {
        let Self { mut run, mut other } = self;
        other.put_into(&mut run.suites, run.read_only, console)?;
        Ok(run)
    }
}

pub(crate) fn run_command(typed: RunCommandArgs, console: &Console) -> Result<Exit, Exit> {
    run(&RunRequest::from(typed.into_run(console)?), console)
}
