//! `mcprove chaos run`: crosses the tools of a suite's servers with faults.
//!
//! It is the run of the block `campaign:` alone, which is the suite's own or made from flags.

use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use serde_json::{Value, json};

use super::adhoc::{AdHocSettings, flagged, key};
use super::parsing::{duration, typed_duration};
use super::run::{RunArgs, run};
use crate::block::campaign;
use crate::cli::calls::CallArgs;
use crate::cli::console::Console;
use crate::cli::exit::Exit;
use crate::cli::suites::FlaggedCampaign;
use crate::event::Section;
use crate::plan::Plan;
use crate::prove::{FileRelation, head_including};
use crate::report::sink;
use crate::source::file::{WRITTEN, read_text};
use crate::source::yaml_writer;

/// How every file begins, so that no other is overwritten.
const MARK: &str = "# Faults that break a server of ";

/// Crosses the tools of a suite's servers that may change data with faults of the network: lost, doubled, late and broken
/// messages.
///
/// Each fault strikes a call that the suite makes. What reading shows afterwards is compared with runs without faults, and
/// the smallest set of faults that breaks a server is printed as a test.
#[derive(Debug, Args)]
pub(crate) struct ChaosRunArgs {
    /// Strikes only tools with this name or pattern, such as `create_*`; may be given several times.
    #[arg(long, value_name = "TOOL")]
    tool: Vec<String>,
    /// Strikes with this kind of fault only; may be given several times: `lost_response`, `lost_request`,
    /// `duplicate_request`, `late_answer`, `error`, `garbage`, `kill`, `kill_at_work`, `pause`.
    #[arg(long, value_name = "FAULT")]
    fault: Vec<String>,
    /// How many faults strike calls in a row, of tools that say that they are idempotent; 3 by default.
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
    write: Option<PathBuf>,
    #[command(flatten)]
    may_call: CallArgs,
    #[command(flatten)]
    run: RunArgs,
}

pub(crate) fn run_campaign(mut args: ChaosRunArgs, console: &Console) -> Result<Exit, Exit> {
    let mut own = AdHocSettings::default();
    own.block(
        campaign::KEY,
        [
            flagged("tools", "--tool", args.tool),
            flagged("faults", "--fault", args.fault),
            flagged("together", "--together", args.together),
            key("durable", args.durable.then_some(true)),
            flagged("seed", "--seed", args.seed),
            flagged("calls", "--calls", args.calls.map(NonZero::get)),
            flagged("max_time", "--max-time", args.max_time.map(typed_duration)),
        ],
    );
    own.flags.extend(args.durable.then(|| "--durable".to_owned()));
    let settings = own.members.remove(campaign::KEY).filter(|settings| *settings != json!({}));
    let flags = [own.flags, args.may_call.flags()].concat();
    args.run.suites.campaign = Some(FlaggedCampaign {
        settings: settings.map(|settings| settings.to_string()),
        flags: shell_words::join(flags),
        may_call: args.may_call,
    });
    args.run.failing_tests = args.write;
    run(&args.run, console)
}

/// Writes the tests of a campaign's sections; a file that was not written by this flag stays as it is.
pub(crate) fn write_tests(path: &Path, sections: &[Section], plan: &Plan, console: &Console) -> Result<(), Exit> {
    let [planned] = plan.suites.as_slice() else {
        let help = "run the campaign of one suite at a time";
        return Err(console.fail(Exit::Usage, "`--write` writes tests for one suite", Some(help)));
    };
    let of_campaigns = sections.iter().filter(|section| section.block == campaign::KEY);
    let mut tests: Vec<&Value> = Vec::new();
    for test in of_campaigns.filter_map(|section| section.data["tests"].as_array()).flatten() {
        // A server breaks in the same way in each of its revisions.
        if !tests.iter().any(|known| known["name"] == test["name"]) {
            tests.push(test);
        }
    }
    if tests.is_empty() {
        console.note(&format!("`{}` was not written: no fault broke a server", path.display()));
        return Ok(());
    }
    let known = read_text(path, WRITTEN).unwrap_or_default();
    if !known.is_empty() && !known.starts_with(MARK) {
        let help = "it was not written by `--write`; name another file, or move it away";
        return Err(console.fail(Exit::Usage, format!("`{}` already exists", path.display()), Some(help)));
    }
    let suite = &planned.suite;
    let name = format!("{}, faults that break it", suite.name.value);
    let head = head_including(suite, &name, FileRelation { path, here: Path::new("") }, None);
    let text = format!(
        "{MARK}`{}`; each test fails as long as it does.\n{}\ntests:\n{}",
        suite.file,
        yaml_writer::block(&head, 0),
        yaml_writer::block(&json!(tests), 2),
    );
    sink::write(path, &text).map_err(|error| console.fail(Exit::Environment, error, None))?;
    console.note(&format!("wrote `{0}`; `mcprove run {0}` runs it", path.display()));
    Ok(())
}
