//! `mcprove check`: validates suites without running anything.

use clap::Args;

use crate::cli::environment::Environment;
use crate::cli::exit::Exit;
use crate::cli::output::Output;
use crate::cli::suites::{ChosenRegistry, SuiteArgs, refuse_only};

/// Validates suites without starting a server.
#[derive(Debug, Args)]
pub(in crate::cli) struct CheckArgs {
    #[command(flatten)]
    suites: SuiteArgs,
}

pub(in crate::cli) fn check(args: &CheckArgs, environment: &Environment, output: &Output) -> Exit {
    let plan = match args.suites.plan(ChosenRegistry::BUILTIN, output) {
        Ok(plan) => plan,
        Err(exit) => return exit,
    };
    if let Err(exit) = refuse_only(&plan, environment, output) {
        return exit;
    }
    let (suites, cases) = (plan.suites.len(), plan.cases().count());
    let plural = |count: usize, one: &str, many: &str| format!("{count} {}", if count == 1 { one } else { many });
    output.data(&format!(
        "{} valid, {} planned\n",
        plural(suites, "suite is", "suites are"),
        plural(cases, "case", "cases")
    ))
}
