//! `mcprove ci`: everything that can be asked of a server without a suite, and one verdict.
//!
//! It is the run of a suite with one server and a block of each kind, which is made from what was typed.

use std::num::NonZero;
use std::time::Duration;

use clap::Args;
use serde_json::json;

use super::parsing::duration;
use super::run_given::{AdHocSettings, CallingArgs};
use super::run_serving::Serving;
use crate::cli::environment::Environment;
use crate::cli::exit::Exit;
use crate::cli::output::Output;
use crate::cli::server::{Verb, flags};
use crate::suite::AdHocCommand;

const VERB: Verb = Verb { command: AdHocCommand::Ci, does: "check", block: "compliance: {}" };

/// How many cases run at a time: most of them wait for silence, or for a server that starts.
const AT_A_TIME: usize = 8;

/// Checks a server in every way that needs no suite, and gives CI a verdict.
///
/// The rules of the specification that bind, refusals, structured content, schemas of tools, and a few generated calls.
/// `--fail-on` says how bad a finding must be to end the run with exit code 1.
#[derive(Debug, Args)]
pub(in crate::cli) struct CiArgs {
    /// The seed of generated calls: the same calls in every run.
    #[arg(long, value_name = "N", default_value = "1")]
    seed: u64,
    /// How many calls are generated for each tool.
    #[arg(long, value_name = "N", default_value = "100")]
    cases: NonZero<u64>,
    /// How long all of it may take, such as `60s`; what is not done by then is not judged, and nothing passes (exit code 4).
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    budget: Option<Duration>,
    #[command(flatten)]
    on: CallingArgs,
}

pub(in crate::cli) fn ci(mut args: CiArgs, environment: &Environment, output: &Output) -> Exit {
    args.on.run.serving = Serving::ServedAndListed;
    args.on.run.budget = args.budget;
    let own = own(&args);
    args.on.run_with(VERB, Ok(own), environment, output)
}

fn own(args: &CiArgs) -> AdHocSettings {
    let members = [
        ("run_options", json!({"parallel": AT_A_TIME})),
        ("compliance", json!({"level": "must"})),
        ("negative_path", json!({"tools": "*"})),
        ("output_schema", json!({"tools": "*"})),
        ("schema_lint", json!({})),
        ("fuzz", json!({"seed": args.seed, "cases": args.cases})),
    ];
    let flags = flags([("--seed", vec![args.seed.to_string()]), ("--cases", vec![args.cases.to_string()])]);
    AdHocSettings::new(members, flags)
}
