//! `mcprove ci`: every check of a server that needs no suite, and one verdict.
//!
//! It is the run of the ready-made suites that say something of any server, with a few keys set by flags.

use std::num::NonZero;
use std::time::Duration;

use clap::Args;

use super::adhoc::{AT_A_TIME, AdHocSettings, CallingArgs, flag_key, key};
use super::compliance::HintArgs;
use super::parsing::{duration, typed_duration};
use crate::cli::console::Console;
use crate::cli::exit::Exit;
use crate::cli::server::Verb;
use crate::suite::AdHocCommand;

/// The number of calls to generate for each tool where nobody says another.
const CASES: u64 = 100;

/// The time for generated calls of a slow tool where nobody says how many calls are to be made.
const SLOW_TIME: &str = "3s";

const VERB: Verb = Verb { command: AdHocCommand::Ci, does: "check" };

/// The ready-made suites of which the run is made, `builtin:NAME` each.
pub(crate) const CI_SUITES: [&str; 7] =
    ["compliance", "negative-path", "output-schema", "schema-lint", "security", "isolation", "fuzz"];

/// Runs every check of a server that needs no suite, and gives CI a verdict.
///
/// Checks the binding rules of the specification, refusals of invalid arguments, structured content and the schemas of
/// tools, tries known attacks, looks for instructions to the model, secrets and texts of other sessions in answers, and
/// makes a few generated calls. `--fail-on` says how severe a finding must be to end the run with exit code 1.
#[derive(Debug, Args)]
pub(crate) struct CiArgs {
    #[command(flatten)]
    ready_made: ReadyMadeArgs,
    #[command(flatten)]
    on: CallingArgs,
}

/// The keys of ready-made suites that flags set.
#[derive(Debug, Args)]
pub(crate) struct ReadyMadeArgs {
    /// The seed of the generated calls; the same seed makes the same calls.
    #[arg(long, value_name = "N", default_value = "1")]
    seed: u64,
    /// The number of calls to generate for each tool.
    #[arg(long, value_name = "N", default_value = "100")]
    cases: NonZero<u64>,
    /// The time that an answer may take before a call counts as hanging; 10s by default.
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    request_timeout: Option<Duration>,
    #[command(flatten)]
    hints: HintArgs,
}

impl ReadyMadeArgs {
    /// Sets the keys in the blocks.
    pub(crate) fn apply_to(self, own: &mut AdHocSettings, console: &Console) -> Result<(), Exit> {
        own.flags.extend(self.hints.flags());
        own.block("compliance", [key("hints", self.hints.members(console)?)]);
        own.block("fuzz", [flag_key("seed", "--seed", self.seed), flag_key("cases", "--cases", self.cases.get())]);
        if self.cases.get() == CASES {
            own.block("fuzz", [key("slow_time", SLOW_TIME)]);
        }
        let request_timeout = self.request_timeout.map(typed_duration);
        own.block("run_options", [flag_key("request_timeout", "--request-timeout", request_timeout)]);
        Ok(())
    }
}

pub(crate) fn ci(args: CiArgs, console: &Console) -> Result<Exit, Exit> {
    let mut own = AdHocSettings { serving: args.on.serving_of_all(), is_set_up: true, ..AdHocSettings::default() };
    own.block("run_options", [key("parallel", AT_A_TIME)]);
    own.ready_made(&CI_SUITES);
    args.ready_made.apply_to(&mut own, console)?;
    args.on.run_with(VERB, own, console)
}
