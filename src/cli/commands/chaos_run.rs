//! `mcprove chaos run`: crosses the tools of a suite's servers with faults.
//!
//! It is the run of the block `campaign:` alone, which is the suite's own or made from flags.

use std::num::NonZero;
use std::time::Duration;

use clap::Args;
use serde_json::json;

use super::adhoc::{AdHocSettings, flag_key, key};
use super::other_server::OtherServerArgs;
use super::parsing::{duration, typed_duration};
use super::run::{RunArgs, RunRequest, run};
use crate::block::campaign;
use crate::cli::console::Console;
use crate::cli::exit::Exit;
use crate::cli::server::is_server;
use crate::cli::suites::FlaggedCampaign;
use crate::files::FilePlace;

/// The suite for a server that is named without one.
const READY_MADE: &str = "builtin:faults";

/// Crosses the tools of a suite's servers that may change data with faults of the network: lost, doubled, late and broken
/// messages.
///
/// Each fault strikes a call that the suite makes, or one with generated arguments: a server needs no suite. What reading shows afterwards is compared with runs without faults, and
/// the smallest set of faults that breaks a server is printed as a test.
#[derive(Debug, Args)]
pub(crate) struct ChaosRunArgs {
    /// Strikes only tools with this name or pattern, such as `create_*`; may be given several times.
    #[arg(long, value_name = "TOOL")]
    tool: Vec<String>,
    /// Strikes with this kind of fault only; may be given several times: `lost_response`, `lost_request`,
    /// `duplicate_request`, `retry_storm`, `late_answer`, `error`, `garbage`, `kill`, `kill_at_work`, `pause`.
    #[arg(long, value_name = "FAULT")]
    fault: Vec<String>,
    /// The number of faults that strike calls in a row, of tools that say that they are idempotent; 3 by default.
    #[arg(long, value_name = "N")]
    together: Option<u64>,
    /// Data has to outlive the server, even where it ends with a clean end; else a clean end and a new start tell.
    #[arg(long)]
    durable: bool,
    /// The seed that draws these sets of faults; 0 by default.
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// The most calls that are made of tools in all; 5000 by default.
    #[arg(long, value_name = "N")]
    calls: Option<NonZero<u64>>,
    /// The time for each case; 60s by default.
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    max_time: Option<Duration>,
    /// Writes the tests that fail because of what was found into this file: a suite that includes the one that ran.
    #[arg(long, value_name = "FILE")]
    write: Option<FilePlace>,
    #[command(flatten)]
    run: RunArgs,
    #[command(flatten)]
    other: OtherServerArgs,
}

pub(crate) fn run_campaign(mut args: ChaosRunArgs, console: &Console) -> Result<Exit, Exit> {
    // They hold for the suite's own server, too.
    let may_call = std::mem::take(&mut args.other.calls);
    let paths = &mut args.run.suites.paths;
    if args.other.is_named() && paths.is_empty() || matches!(paths.as_slice(), [word] if is_server(word)) {
        paths.insert(0, READY_MADE.to_owned());
    }
    args.other.put_into(&mut args.run.suites, args.run.read_only, console)?;
    let mut own = AdHocSettings::default();
    own.block(
        campaign::KEY,
        [
            flag_key("tools", "--tool", args.tool),
            flag_key("faults", "--fault", args.fault),
            flag_key("together", "--together", args.together),
            key("durable", args.durable.then_some(true)),
            flag_key("seed", "--seed", args.seed),
            flag_key("calls", "--calls", args.calls.map(NonZero::get)),
            flag_key("max_time", "--max-time", args.max_time.map(typed_duration)),
        ],
    );
    own.flags.extend(args.durable.then(|| "--durable".to_owned()));
    let settings = own.members.remove(campaign::KEY).filter(|settings| *settings != json!({}));
    let flags = [own.flags, may_call.flags()].concat();
    args.run.suites.campaign = Some(FlaggedCampaign {
        settings: settings.map(|settings| settings.to_string()),
        flags: shell_words::join(flags),
        may_call,
    });
    run(&RunRequest { failing_tests: args.write, ..RunRequest::from(args.run) }, console)
}
