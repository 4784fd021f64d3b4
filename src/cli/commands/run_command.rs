//! `mcprove run` and `mcprove prove` as they are typed.

use clap::Args;

use super::other_server::OtherServerArgs;
use super::run::{RunArgs, RunRequest, run};
use super::run_shard::check_shard;
use crate::cli::console::Console;
use crate::cli::exit::Exit;
use crate::cli::shard::ShardArgs;
use crate::cli::watch::watch;

/// Runs test suites against their servers, or against a server given after `--`.
#[derive(Debug, Args)]
pub(crate) struct WatchedRunArgs {
    /// Runs again whenever a suite changes, a file that it includes, or a source of its server (`watch` in suites): what failed first, then what is affected. Keys run all, run what failed, filter, write snapshots and quit.
    #[arg(long)]
    watch: bool,
    #[command(flatten)]
    shard: ShardArgs,
    #[command(flatten)]
    typed: RunCommandArgs,
}

/// A run as `mcprove run` and `mcprove prove` take it.
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

pub(crate) fn run_command(args: WatchedRunArgs, console: &Console) -> Result<Exit, Exit> {
    let (watches, mut run_args) = (args.watch, args.typed.into_run(console)?);
    run_args.suites.shard = args.shard.shard(console)?;
    check_shard(&run_args, console)?;
    if watches { watch(run_args, console) } else { run(&RunRequest::from(run_args), console) }
}
