//! `mcprove fuzz`: calls every tool of a server with generated arguments, without a suite.
//!
//! It is the run of a suite with one server and a `fuzz:` block, which is made from what was typed.

use std::num::NonZero;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use clap::Args;
use serde_json::{Value, json};

use super::run_given::{AdHocSettings, CallingArgs};
use crate::cli::environment::Environment;
use crate::cli::exit::Exit;
use crate::cli::output::Output;
use crate::cli::server::{Verb, flags};
use crate::source::parse_duration;
use crate::suite::AdHocCommand;

const VERB: Verb = Verb { command: AdHocCommand::Fuzz, does: "call", block: "fuzz: {}" };

/// Calls every tool of a server with generated arguments, valid ones and wrong ones; no suite is needed.
///
/// What goes wrong is tried again in fresh servers before it is told. Tools that may change data are not called unless
/// `--scratch` says that they may be, or `--allow` names them.
#[derive(Debug, Args)]
pub(in crate::cli) struct FuzzArgs {
    /// The seed from which all calls follow; one is drawn and printed if none is given.
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// How many calls for each tool; 200 where no `--time` is given.
    #[arg(long, value_name = "N")]
    cases: Option<NonZero<u64>>,
    /// How long each tool is called, such as `30s`.
    #[arg(long, value_name = "DURATION", value_parser = time)]
    time: Option<Duration>,
    /// Calls only tools of this name or pattern, such as `get_*`; may be given several times.
    #[arg(long, value_name = "TOOL")]
    tool: Vec<String>,
    /// Leaves out tools of this name or pattern; may be given several times.
    #[arg(long, value_name = "TOOL")]
    block: Vec<String>,
    /// How many calls are under way at a time; 8 by default.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=32))]
    in_flight: Option<u64>,
    /// The longest text in characters; 4096 by default.
    #[arg(long, value_name = "N")]
    max_string: Option<NonZero<u64>>,
    /// The share of calls that break the schema, from 0 to 1; 0.2 by default.
    #[arg(long, value_name = "SHARE", value_parser = share)]
    invalid: Option<f64>,
    /// How long an answer may take before a call counts as hanging; 10s by default.
    #[arg(long, value_name = "DURATION", value_parser = time)]
    request_timeout: Option<Duration>,
    #[command(flatten)]
    on: CallingArgs,
}

fn time(text: &str) -> Result<Duration, String> {
    let duration = parse_duration(text).filter(|duration| !duration.is_zero());
    duration.ok_or_else(|| format!("invalid duration `{text}`; write a number and a unit, such as `30s`"))
}

fn share(text: &str) -> Result<f64, String> {
    let share = text.parse().ok().filter(|share| (0.0..=1.0).contains(share));
    share.ok_or_else(|| format!("`{text}` is no share; write a number from 0 to 1, such as `0.2`"))
}

pub(in crate::cli) fn fuzz(args: FuzzArgs, environment: &Environment, output: &Output) -> Exit {
    let own = own(&args);
    args.on.run_with(VERB, Ok(own), environment, output)
}

fn own(args: &FuzzArgs) -> AdHocSettings {
    let seed = args.seed.unwrap_or_else(drawn);
    let mut own = AdHocSettings::new([("fuzz", settings(args, seed))], own_flags(args, seed));
    if let Some(timeout) = args.request_timeout {
        own.members.insert("run_options".to_owned(), json!({"request_timeout": typed(timeout)}));
    }
    if args.seed.is_none() {
        // At the beginning: a run that hangs must be repeatable.
        own.beforehand = Some(format!("  seed {seed}, drawn; `--seed {seed}` makes the same calls again"));
    }
    own
}

/// Another one every time, short enough to be typed.
fn drawn() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::from(now.subsec_nanos() ^ std::process::id().rotate_left(16)) % 1_000_000
}

/// The `fuzz:` block.
fn settings(args: &FuzzArgs, seed: u64) -> Value {
    let mut settings = json!({"seed": seed});
    let numbers = [
        ("cases", args.cases.map(NonZero::get)),
        ("in_flight", args.in_flight),
        ("max_string", args.max_string.map(NonZero::get)),
    ];
    for (key, number) in numbers {
        if let Some(number) = number {
            settings[key] = number.into();
        }
    }
    if let Some(time) = args.time {
        settings["time"] = typed(time).into();
    }
    if let Some(invalid) = args.invalid {
        settings["invalid"] = invalid.into();
    }
    for (key, tools) in [("tools", &args.tool), ("block", &args.block)] {
        if !tools.is_empty() {
            settings[key] = json!(tools);
        }
    }
    settings
}

/// The flags without which other calls would be made.
fn own_flags(args: &FuzzArgs, seed: u64) -> Vec<String> {
    let number = |number: Option<u64>| number.map(|number| number.to_string()).into_iter().collect();
    let duration = |duration: Option<Duration>| duration.map(typed).into_iter().collect();
    flags([
        ("--seed", vec![seed.to_string()]),
        ("--cases", number(args.cases.map(NonZero::get))),
        ("--time", duration(args.time)),
        ("--tool", args.tool.clone()),
        ("--block", args.block.clone()),
        ("--in-flight", number(args.in_flight)),
        ("--max-string", number(args.max_string.map(NonZero::get))),
        ("--invalid", args.invalid.map(|share| share.to_string()).into_iter().collect()),
        ("--request-timeout", duration(args.request_timeout)),
    ])
}

/// A duration as it is typed.
fn typed(duration: Duration) -> String {
    if duration.subsec_nanos() == 0 {
        format!("{}s", duration.as_secs())
    } else {
        format!("{}ms", duration.as_millis())
    }
}
