//! `mcprove ci`: everything that can be asked of a server without a suite, and one verdict.
//!
//! It is the run of a suite with one server and a block of each kind, which is made from what was typed.

use std::num::NonZero;

use clap::Args;
use serde_json::json;

use super::run::RunArgs;
use super::run_given::run_given;
use super::run_serving::Serving;
use crate::cli::calls::CallArgs;
use crate::cli::environment::Environment;
use crate::cli::exit::Exit;
use crate::cli::output::Output;
use crate::cli::server::{Mistake, ServerArgs, Verb, flags};
use crate::cli::suites::Given;

const VERB: Verb = Verb { name: "ci", does: "check", block: "compliance: {}" };

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
    #[command(flatten)]
    calls: CallArgs,
    #[command(flatten)]
    server: ServerArgs,
    #[command(flatten)]
    run: RunArgs,
}

pub(in crate::cli) fn ci(mut args: CiArgs, environment: &Environment, output: &Output) -> Exit {
    let words = std::mem::take(&mut args.run.suites.paths);
    args.run.keeping.serving = Serving::ServedAndListed;
    let given = given(&words, &args);
    run_given(given, &mut args.run, environment, output)
}

/// The suite that the words and flags stand for.
fn given(words: &[String], args: &CiArgs) -> Result<Given, Mistake> {
    let target = args.server.target(VERB, words)?;
    let mut members = json!({
        "run_options": {"parallel": AT_A_TIME},
        "compliance": {"level": "must"},
        "negative_path": {"tools": "*"},
        "output_schema": {"tools": "*"},
        "schema_lint": {},
        "fuzz": {"seed": args.seed, "cases": args.cases},
    });
    if let Some(members) = members.as_object_mut() {
        members.extend(args.calls.members());
    }
    let own = flags([("--seed", vec![args.seed.to_string()]), ("--cases", vec![args.cases.to_string()])]);
    Ok(target.given(members, &[own, args.calls.flags()].concat()))
}
