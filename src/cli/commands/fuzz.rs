//! `mcprove fuzz`: calls every tool of a server with generated arguments, without a suite.
//!
//! It is the run of a suite with one server and a `fuzz:` block, which is made from the command line.

use std::num::NonZero;
use std::time::Duration;

use clap::Args;
use serde_json::{Value, json};

use super::adhoc::{AdHocSettings, CallingArgs, flag_key};
use super::parsing::{drawn_seed, duration, share, typed_duration};
use super::serving::ServingRequirement;
use crate::cli::console::Console;
use crate::cli::exit::Exit;
use crate::cli::server::Verb;
use crate::suite::AdHocCommand;

const VERB: Verb = Verb { command: AdHocCommand::Fuzz, does: "call" };

/// Calls every tool of a server with generated arguments, valid and invalid; needs no suite.
///
/// A failure is reported only after it was tried again on fresh servers. Tools that may change data are called only with
/// `--scratch`, or if `--allow` names them; a run that leaves out most tools for that does not pass.
#[derive(Debug, Args)]
pub(crate) struct FuzzArgs {
    /// The seed of the generated calls; the same seed makes the same calls. By default one is drawn and printed.
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// The number of calls to make of each tool; 200 by default, unless `--time` is given.
    #[arg(long, value_name = "N")]
    cases: Option<NonZero<u64>>,
    /// The time for calls of each tool, such as `30s`.
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    time: Option<Duration>,
    /// Calls only tools with this name or pattern, such as `get_*`; may be given several times.
    #[arg(long, value_name = "TOOL")]
    tool: Vec<String>,
    /// Leaves out tools with this name or pattern; may be given several times.
    #[arg(long, value_name = "TOOL")]
    block: Vec<String>,
    /// The number of calls in flight at a time; 8 by default.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=32))]
    in_flight: Option<u64>,
    /// The longest generated string, in characters; 4096 by default.
    #[arg(long, value_name = "N")]
    max_string: Option<NonZero<u64>>,
    /// Lets numbers that ask for amounts, such as `limit`, be as large as the schema allows; otherwise they stay small.
    #[arg(long)]
    large: bool,
    /// The share of calls that break the schema, from 0 to 1; 0.2 by default.
    #[arg(long, value_name = "SHARE", value_parser = share)]
    invalid: Option<f64>,
    /// The time that an answer may take before a call counts as hanging; 10s by default.
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    request_timeout: Option<Duration>,
    #[command(flatten)]
    on: CallingArgs,
}

pub(crate) fn fuzz(args: FuzzArgs, console: &Console) -> Result<Exit, Exit> {
    let seed = args.seed.unwrap_or_else(|| drawn_seed().into());
    let run = &args.on.run;
    let is_narrowed = !args.tool.is_empty() || !args.block.is_empty() || run.read_only || run.suites.narrows_cases();
    let serving = if is_narrowed { ServingRequirement::default() } else { ServingRequirement::HalfGenerated };
    let mut own = AdHocSettings { serving, ..AdHocSettings::default() };
    own.block(
        "fuzz",
        [
            flag_key("seed", "--seed", seed),
            flag_key("cases", "--cases", args.cases.map(NonZero::get)),
            flag_key("time", "--time", args.time.map(typed_duration)),
            flag_key("tools", "--tool", args.tool),
            flag_key("block", "--block", args.block),
            flag_key("in_flight", "--in-flight", args.in_flight),
            flag_key("max_string", "--max-string", args.max_string.map(NonZero::get)),
            flag_key("large", "--large", args.large.then_some(true)),
            flag_key("invalid", "--invalid", args.invalid.map_or(Value::Null, |share| json!(share))),
        ],
    );
    if let Some(timeout) = args.request_timeout {
        own.block("run_options", [flag_key("request_timeout", "--request-timeout", typed_duration(timeout))]);
    }
    // Before the run: one that hangs must be repeatable.
    own.beforehand =
        args.seed.is_none().then(|| format!("  seed {seed} was drawn; `--seed {seed}` makes the same calls again"));
    args.on.run_with(VERB, own, console)
}
