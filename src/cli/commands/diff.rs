//! `mcprove diff`: what differs between two recorded runs.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::{json, to_value};

use super::proving::RecordingFile;
use super::report::recorded_events;
use super::snapshot_text::{ChangeText, of_changes};
use crate::cli::console::{Console, ListFormat};
use crate::cli::exit::Exit;
use crate::diff::{ComparedRun, RunDiff, compare_runs};
use crate::drift::{ChangeLevel, ServerChange};
use crate::report::{Report, read_events};
use crate::source::{duration_text, visible_line};

/// Shows what differs between two recordings: lists, answers, broken rules, verdicts of cases, latencies of tools.
///
/// It fails if something breaks callers, or if a case that passed fails; latencies are only shown.
#[derive(Debug, Args)]
pub(crate) struct DiffArgs {
    /// The earlier recording that `mcprove run --record FILE` wrote.
    before: PathBuf,
    /// The later one.
    after: PathBuf,
    /// The least severe difference that ends with exit code 1.
    #[arg(long, value_name = "LEVEL", default_value = "breaking", value_parser = ["breaking", "compatible", "cosmetic"])]
    fail_on: String,
    /// The format of the differences.
    #[arg(long, value_enum, default_value = "text")]
    format: ListFormat,
}

pub(crate) fn diff(args: &DiffArgs, console: &Console) -> Result<Exit, Exit> {
    let compared = compare_runs(&read(&args.before, console)?, &read(&args.after, console)?);
    let text = match args.format {
        ListFormat::Text => text(&compared),
        ListFormat::Json => {
            let mut value = to_value(&compared).unwrap_or_default();
            value["format"] = json!(1);
            format!("{value:#}\n")
        }
    };
    let written = console.data(&text);
    let limit = ChangeLevel::parse(&args.fail_on).unwrap_or(ChangeLevel::Breaking);
    let is_found = compared.changes().any(|change| change.level >= limit);
    if written != Exit::Passed {
        return Err(written);
    }
    Ok(if is_found { Exit::Findings } else { Exit::Passed })
}

/// A recording is read twice, since its events stand behind all that is compared otherwise.
fn read(file: &Path, console: &Console) -> Result<ComparedRun, Exit> {
    let (sources, id) = recorded_events(file, console)?;
    let events = read_events(id, &sources).map_err(|mistakes| console.refuse(&mistakes, &sources))?;
    let protocol = Report::of(&events.events).protocol_cases();
    Ok(ComparedRun { recording: RecordingFile::open(file, console)?.run(console)?, protocol })
}

/// The changes, the worst first, and then what is only worth a look.
fn text(compared: &RunDiff) -> String {
    let is_one = compared.servers.len() == 1;
    let servers = compared.servers.iter().flat_map(|server| {
        let whose = if is_one { String::new() } else { format!("{}, {}: ", server.name, server.protocol) };
        server.changes.iter().map(move |change| ServerChange { at: format!("{whose}{}", change.at), ..change.clone() })
    });
    let changes = compared.cases.iter().chain(&compared.rules).cloned().chain(servers).collect();
    let mut text = of_changes(&[ChangeText { name: "", protocol: "", changes }]);
    for line in &compared.unpaired {
        let _ = writeln!(text, "{}", visible_line(line));
    }
    for latency in compared.latencies.iter().filter(|latency| latency.notable) {
        let (server, tool) = (visible_line(&latency.server), visible_line(&latency.tool));
        let whose = if is_one { String::new() } else { format!(" of {server}") };
        let word = if latency.after > latency.before { "slower" } else { "faster" };
        let (before, after) = (duration_text(latency.before), duration_text(latency.after));
        let _ = writeln!(text, "{word}: {tool}{whose} took {before}, and now {after} (median)");
    }
    text
}
