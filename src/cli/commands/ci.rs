//! `mcprove ci`: every check of a server that needs no suite, and one verdict.
//!
//! It is the run of a suite with one server and a block of each kind, which is made from the command line.

use std::num::NonZero;
use std::time::Duration;

use clap::Args;

use super::adhoc::{AT_A_TIME, AdHocSettings, CallingArgs, flag_key, key};
use super::compliance::HintArgs;
use super::observed_calls::ServingRequirement;
use super::parsing::duration;
use crate::cli::console::Console;
use crate::cli::exit::Exit;
use crate::cli::server::Verb;
use crate::suite::AdHocCommand;

const VERB: Verb = Verb { command: AdHocCommand::Ci, does: "check" };

/// Runs every check of a server that needs no suite, and gives CI a verdict.
///
/// Checks the binding rules of the specification, refusals of invalid arguments, structured content and the schemas of
/// tools, tries known attacks, looks for instructions to the model, secrets and texts of other sessions in answers, and
/// makes a few generated calls. `--fail-on` says how severe a finding must be to end the run with exit code 1.
#[derive(Debug, Args)]
pub(crate) struct CiArgs {
    /// The seed of the generated calls; the same seed makes the same calls.
    #[arg(long, value_name = "N", default_value = "1")]
    seed: u64,
    /// The number of calls to generate for each tool.
    #[arg(long, value_name = "N", default_value = "100")]
    cases: NonZero<u64>,
    /// The time for the whole run, such as `60s`; if it is too short for all cases, the run ends with exit code 4.
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    budget: Option<Duration>,
    #[command(flatten)]
    hints: HintArgs,
    #[command(flatten)]
    on: CallingArgs,
}

pub(crate) fn ci(args: CiArgs, console: &Console) -> Result<Exit, Exit> {
    let serving = ServingRequirement::Served;
    let mut own = AdHocSettings { serving, budget: args.budget, ..AdHocSettings::default() };
    own.block("run_options", [key("parallel", AT_A_TIME)]);
    own.flags.extend(args.hints.flags());
    own.block("compliance", [key("level", "must"), key("hints", args.hints.members(console)?)]);
    own.block("negative_path", [key("tools", "*")]);
    own.block("output_schema", [key("tools", "*")]);
    own.block("schema_lint", []);
    own.block("security", []);
    own.block("state", []);
    own.block("fuzz", [flag_key("seed", "--seed", args.seed), flag_key("cases", "--cases", args.cases.get())]);
    args.on.run_with(VERB, own, console)
}
