//! `mcprove check`: validates suites without running anything.

use clap::Args;

use super::other_server::OtherServerArgs;
use crate::cli::console::Console;
use crate::cli::exit::Exit;
use crate::cli::suites::{AllowedCalls, ChosenRegistry, SuiteArgs, refuse_only};

/// Validates suites without starting a server.
#[derive(Debug, Args)]
pub(crate) struct CheckArgs {
    #[command(flatten)]
    suites: SuiteArgs,
    #[command(flatten)]
    other: OtherServerArgs,
}

pub(crate) fn check(mut args: CheckArgs, console: &Console) -> Result<Exit, Exit> {
    args.other.put_into(&mut args.suites, false, console)?;
    let plan = args.suites.plan(ChosenRegistry::BUILTIN, AllowedCalls::AsSuitesSay, console)?;
    refuse_only(&plan, console)?;
    let suites = if plan.suites.len() == 1 { "suite is" } else { "suites are" };
    let count = plan.cases().count();
    let cases = if count == 1 { "case" } else { "cases" };
    Ok(console.data(&format!("{} {suites} valid, {count} {cases} planned\n", plan.suites.len())))
}
