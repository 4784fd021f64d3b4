//! `mcprove findings`: what earlier runs kept, shown, seen again, made small, compared.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, Subcommand};

use super::replaying;
use crate::cli::environment::Environment;
use crate::cli::exit::Exit;
use crate::cli::kept;
use crate::cli::output::Output;
use crate::event::{Reproduction, ReproductionCall};
use crate::findings::{Stored, compare, regression};
use crate::report::without_commands;
use crate::source::{legible_json, parse_duration, visible, visible_line};

/// How much of a request is shown.
const SHOWN: usize = 160;

/// Shows what runs have found, and finds it again.
#[derive(Debug, Args)]
pub(in crate::cli) struct FindingsArgs {
    #[command(subcommand)]
    action: FindingsAction,
    /// The folder for state in which findings are kept.
    #[arg(long, global = true, value_name = "FOLDER", default_value = ".mcprove")]
    pub(super) state_dir: PathBuf,
}

#[derive(Debug, Subcommand)]
enum FindingsAction {
    /// Lists every kept finding, the worst first.
    List(ListArgs),
    /// Shows one finding with its evidence and the requests that lead to it.
    Show(ShowArgs),
    /// Plays a finding to fresh servers; ends with exit code 1 where it shows again, and 0 where it is gone.
    Replay(ReplayArgs),
    /// Leaves out of a finding what it does not need, with a fresh server for every attempt; ends with exit code 4 where
    /// it does not show.
    #[command(alias = "minimize")]
    Minimise(MinimiseArgs),
    /// Plays every kept finding to fresh servers, and drops those that are gone.
    Prune(PruneArgs),
    /// Compares the findings of two runs.
    Diff(DiffArgs),
}

#[derive(Debug, Args)]
struct ListArgs {
    /// Prints all of them as one JSON document, which `findings diff` reads.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
struct ShowArgs {
    /// The id, or how it begins.
    #[arg(value_name = "ID")]
    id: String,
    /// Prints only the test that a suite should gain.
    #[arg(long, conflicts_with = "json")]
    yaml: bool,
    /// Prints the finding as it is kept.
    #[arg(long)]
    json: bool,
}

/// What to play, and how often.
#[derive(Debug, Args)]
pub(super) struct ReplayArgs {
    /// The id, or how it begins.
    #[arg(value_name = "ID", required_unless_present = "all", conflicts_with = "all")]
    id: Option<String>,
    /// Plays every kept finding.
    #[arg(long)]
    all: bool,
    /// How often each is played.
    #[arg(long, value_name = "N", default_value = "3")]
    pub(super) times: std::num::NonZero<u32>,
    /// The time for one request, and for a server that hangs; what was recorded by default.
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    pub(super) timeout: Option<Duration>,
    /// Plays no finding that calls a tool that may change data, by its hints or by its name and description.
    #[arg(long)]
    pub(super) read_only: bool,
}

/// How often findings are played before they are dropped.
#[derive(Debug, Args)]
struct PruneArgs {
    /// How often each is played.
    #[arg(long, value_name = "N", default_value = "3")]
    times: std::num::NonZero<u32>,
    /// The time for one request, and for a server that hangs; what was recorded by default.
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    timeout: Option<Duration>,
    /// Plays no finding that calls a tool that may change data, by its hints or by its name and description.
    #[arg(long)]
    read_only: bool,
}

/// What to make small, and with how much effort.
#[derive(Debug, Args)]
pub(super) struct MinimiseArgs {
    /// The id, or how it begins.
    #[arg(value_name = "ID")]
    id: String,
    /// How many fresh servers may be started.
    #[arg(long, value_name = "N", default_value = "200")]
    pub(super) max_attempts: std::num::NonZero<usize>,
    /// The time for one request, and for a server that hangs; what was recorded by default.
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    pub(super) timeout: Option<Duration>,
    /// Plays no finding that calls a tool that may change data, by its hints or by its name and description.
    #[arg(long)]
    pub(super) read_only: bool,
}

#[derive(Debug, Args)]
struct DiffArgs {
    /// The earlier run: a folder for state, or a file that `findings list --json` wrote.
    #[arg(value_name = "BEFORE")]
    before: PathBuf,
    /// The later run.
    #[arg(value_name = "AFTER")]
    after: PathBuf,
    /// Ends with exit code 1 where the later run has findings that the earlier one has not.
    #[arg(long)]
    fail_on_regression: bool,
}

fn duration(text: &str) -> Result<Duration, String> {
    let none = || format!("invalid duration `{text}`; write a number and a unit, such as `2s`");
    parse_duration(text).filter(|duration| !duration.is_zero()).ok_or_else(none)
}

pub(in crate::cli) fn findings(args: &FindingsArgs, environment: &Environment, output: &Output) -> Exit {
    let state = args.state_dir.as_path();
    let done = match &args.action {
        FindingsAction::List(wanted) => list(state, wanted, output),
        FindingsAction::Show(wanted) => one(state, &wanted.id, output).map(|stored| show(&stored, wanted, output)),
        FindingsAction::Replay(wanted) => {
            let chosen = match &wanted.id {
                Some(id) => one(state, id, output).map(|stored| vec![stored]),
                None => all(state, output),
            };
            chosen.map(|chosen| replaying::replay(state, &chosen, wanted, (environment, output)))
        }
        FindingsAction::Prune(wanted) => {
            let PruneArgs { times, timeout, read_only } = *wanted;
            let replay = ReplayArgs { id: None, all: true, times, timeout, read_only };
            all(state, output).map(|found| replaying::prune(state, &found, &replay, (environment, output)))
        }
        FindingsAction::Minimise(wanted) => one(state, &wanted.id, output)
            .map(|stored| replaying::minimise(state, stored, wanted, (environment, output))),
        FindingsAction::Diff(wanted) => diff(wanted, output),
    };
    done.unwrap_or_else(|exit| exit)
}

/// Every kept finding, the worst first.
fn all(state: &Path, output: &Output) -> Result<Vec<Stored>, Exit> {
    let unreadable = |reason: String| {
        output.error(&reason, None);
        Exit::Environment
    };
    let mut found = Vec::new();
    for one in kept::kept(state).map_err(unreadable)? {
        match one {
            Ok(stored) => found.push(stored),
            Err(reason) => output.note(&format!("warning: {reason}; it is left out")),
        }
    }
    found.sort_by(|a, b| {
        b.severity.cmp(&a.severity).then_with(|| (a.kind, &a.tool, &a.id).cmp(&(b.kind, &b.tool, &b.id)))
    });
    Ok(found)
}

/// The one finding whose id begins so.
fn one(state: &Path, id: &str, output: &Output) -> Result<Stored, Exit> {
    let mut found = all(state, output)?;
    found.retain(|stored| stored.id.starts_with(id));
    match (found.pop(), found.len()) {
        (Some(stored), 0) => Ok(stored),
        (Some(_), others) => {
            output.error(&format!("{} findings begin with `{id}`", others + 1), Some("write more of the id"));
            Err(Exit::Usage)
        }
        (None, _) => {
            let help = format!("`mcprove findings list{}` names them", place(state));
            output.error(&format!("no finding begins with `{id}`"), Some(&help));
            Err(Exit::Nothing)
        }
    }
}

/// How wide a column may be.
const WIDEST: usize = 30;

fn list(state: &Path, args: &ListArgs, output: &Output) -> Result<Exit, Exit> {
    let found = all(state, output)?;
    if args.json {
        return Ok(output.data(&(legible_json(&found) + "\n")));
    }
    if found.is_empty() {
        output.note(&format!("nothing is kept in `{}`", state.display()));
        return Ok(Exit::Passed);
    }
    Ok(output.data(&table(&found)))
}

/// A line for each finding.
fn table(found: &[Stored]) -> String {
    let rows: Vec<[String; 6]> = found.iter().map(cells).collect();
    rows.iter().map(|row| line(row, &rows)).collect()
}

/// What is said of a finding in a list; the last may be long.
fn cells(stored: &Stored) -> [String; 6] {
    let Stored { id, kind, severity, tool, title, .. } = stored;
    let how = match (&stored.reproduction, stored.minimised) {
        (None, _) => "not playable".to_owned(),
        (Some(_), true) => format!("{}, minimal", stored.length()),
        (Some(_), false) => stored.length(),
    };
    let tool = if tool.is_empty() { "-" } else { tool };
    let texts = [id, severity.as_str(), kind.as_str(), tool, &how, &short(title)];
    texts.map(|text| visible_line(text).into_owned())
}

/// One row, in columns that are as wide as their widest cell.
fn line(row: &[String; 6], rows: &[[String; 6]]) -> String {
    let mut line = String::new();
    for (at, cell) in row.iter().enumerate() {
        let width = rows.iter().map(|row| row[at].chars().count()).max().unwrap_or_default().min(WIDEST);
        let _ = write!(line, "{cell:width$}  ");
    }
    line.trim_end().to_owned() + "\n"
}

fn show(stored: &Stored, args: &ShowArgs, output: &Output) -> Exit {
    if args.json {
        return output.data(&stored.text());
    }
    let test = regression(stored);
    match (args.yaml, test) {
        (true, Some(test)) => output.data(&test),
        (true, None) => {
            output.error(&unplayable(stored), Some(&format!("run the case again: `{}`", stored.again)));
            Exit::Environment
        }
        (false, test) => output.data(&without_commands(&told(stored, test.as_deref()))),
    }
}

/// Why a finding cannot be played.
pub(super) fn unplayable(stored: &Stored) -> String {
    let why = stored.unplayable.as_deref().unwrap_or("nothing is known of what led to it");
    format!("finding {} cannot be played again: {why}", stored.id)
}

fn told(stored: &Stored, example: Option<&str>) -> String {
    let mut text = String::new();
    let place = &stored.place;
    let _ = writeln!(text, "{}  {}  {}", stored.id, stored.kind.as_str(), stored.severity.as_str());
    let _ = writeln!(text, "{}\n", visible(&stored.title));
    let times = if stored.times == 1 { "once".to_owned() } else { format!("in {} runs", stored.times) };
    let server = format!("{} of {}", stored.start.name, stored.start.suite);
    let at = if place.from_command_line { String::new() } else { format!("{}:{}", place.file, place.line) };
    let lines = [
        ("class", &stored.class),
        ("case", &place.case),
        ("at", &at),
        ("server", &server),
        ("revision", &stored.revision),
        ("met", &times),
        ("run", &stored.again),
    ];
    for (name, value) in lines.into_iter().filter(|(_, value)| !value.is_empty()) {
        let _ = writeln!(text, "{name:<9} {}", visible_line(value));
    }
    for (name, value) in &stored.evidence {
        let _ = match value.lines().count() {
            0 | 1 => writeln!(text, "{name:<9} {}", visible_line(value)),
            _ => writeln!(text, "{name}\n{}", indented(&visible(value))),
        };
    }
    if !stored.frames.is_empty() {
        let _ = writeln!(text, "frames    the last {}: `--json` shows them", stored.frames.len());
    }
    match (&stored.reproduction, example) {
        (Some(reproduction), Some(example)) => {
            text += &requests(stored, reproduction);
            let _ = writeln!(text, "\nas a test for a suite\n{}", indented(example));
        }
        _ => {
            let _ = writeln!(text, "\n{}", unplayable(stored));
        }
    }
    text
}

fn requests(stored: &Stored, reproduction: &Reproduction) -> String {
    let minimal = if stored.minimised { ", minimal" } else { "" };
    let mut text = format!("\nrequests ({}{minimal})\n", stored.length());
    for (at, calls) in reproduction.sessions.iter().enumerate() {
        if reproduction.sessions.len() > 1 {
            let _ = writeln!(text, "  session {}", at + 1);
        }
        for call in calls {
            let _ = writeln!(text, "  {}", visible_line(&short(&request(call))));
        }
    }
    text
}

fn request(call: &ReproductionCall) -> String {
    match (call.method.as_str(), call.params["name"].as_str()) {
        ("", _) => format!("raw {}", call.params.as_str().unwrap_or_default()),
        ("tools/call", Some(tool)) => {
            format!("{tool} {}", call.params.get("arguments").unwrap_or(&serde_json::json!({})))
        }
        (method, _) if call.params.is_null() => method.to_owned(),
        (method, _) => format!("{method} {}", call.params),
    }
}

fn indented(text: &str) -> String {
    text.trim_end().lines().map(|line| format!("  {line}").trim_end().to_owned()).collect::<Vec<_>>().join("\n")
}

fn short(text: &str) -> String {
    let kept: String = text.chars().take(SHOWN).collect();
    if kept.len() < text.len() { kept + "…" } else { kept }
}

/// The flag that names a folder for state, where it is not the usual one.
pub(super) fn place(state: &Path) -> String {
    if state == Path::new(".mcprove") {
        return String::new();
    }
    format!(" --state-dir {}", shell_words::quote(&state.display().to_string()))
}

fn diff(args: &DiffArgs, output: &Output) -> Result<Exit, Exit> {
    let read = |path: &Path| {
        // What is left out could be the regression.
        kept::read(path).and_then(|found| found.into_iter().collect::<Result<Vec<_>, _>>()).map_err(|reason| {
            output.error(&reason, None);
            Exit::Environment
        })
    };
    let compared = compare(read(&args.before)?, read(&args.after)?);
    let mut text = String::new();
    for (word, found) in [("new", &compared.new), ("fixed", &compared.fixed), ("still there", &compared.still)] {
        let _ = writeln!(text, "{word}: {}", found.len());
        text.extend(table(found).lines().map(|line| format!("  {line}\n")));
    }
    let shown = output.data(&text);
    let is_worse = args.fail_on_regression && !compared.new.is_empty();
    Ok(if is_worse { Exit::Findings } else { shown })
}
