//! `mcprove findings`: lists, replays, minimises and compares the findings of earlier runs.

use std::fmt::Write as _;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, Subcommand};

use super::parsing::duration;
use super::replaying::FindingReplay;
use crate::cli::console::Console;
use crate::cli::exit::Exit;
use crate::cli::kept;
use crate::event::{Reproduction, ReproductionCall};
use crate::files::FolderPlace;
use crate::findings::{Stored, compare, regression};
use crate::source::{legible_json, shorten, visible, visible_line};

/// The number of characters of a request that are shown.
const SHOWN: usize = 160;

/// The folder for state, unless another one is named.
const USUAL_STATE: &str = ".mcprove";

/// Lists, replays, minimises and compares the findings that runs have kept.
#[derive(Debug, Args)]
pub(crate) struct FindingsArgs {
    #[command(subcommand)]
    action: FindingsAction,
    /// The folder for state in which findings are kept.
    #[arg(long, global = true, value_name = "FOLDER", default_value = USUAL_STATE)]
    state_dir: FolderPlace,
}

#[derive(Debug, Subcommand)]
enum FindingsAction {
    /// Lists the kept findings, the worst first.
    List {
        /// Prints all of them as one JSON document, which `findings diff` reads.
        #[arg(long)]
        json: bool,
    },
    /// Shows one finding, with its evidence and the requests that lead to it.
    Show(ShowArgs),
    /// Replays a finding on fresh servers; ends with exit code 1 if it shows again, and 0 if it is gone.
    Replay {
        /// The id, or its beginning.
        #[arg(value_name = "ID", required_unless_present = "all", conflicts_with = "all")]
        id: Option<String>,
        /// Replays every kept finding.
        #[arg(long)]
        all: bool,
        #[command(flatten)]
        times: TimesArgs,
        #[command(flatten)]
        playing: PlayingArgs,
    },
    /// Removes the requests that a finding does not need, on a fresh server for every attempt; ends with exit code 4 if
    /// the finding does not show.
    #[command(alias = "minimize")]
    Minimise {
        /// The id, or its beginning.
        #[arg(value_name = "ID")]
        id: String,
        /// The number of fresh servers that may be started.
        #[arg(long, value_name = "N", default_value = "200")]
        max_attempts: NonZero<usize>,
        #[command(flatten)]
        playing: PlayingArgs,
    },
    /// Replays every kept finding on fresh servers, and deletes those that are gone.
    Prune {
        #[command(flatten)]
        times: TimesArgs,
        #[command(flatten)]
        playing: PlayingArgs,
    },
    /// Compares the findings of two runs.
    Diff(DiffArgs),
}

#[derive(Debug, Args)]
struct ShowArgs {
    /// The id, or its beginning.
    #[arg(value_name = "ID")]
    id: String,
    /// Prints only the regression test for a suite.
    #[arg(long, conflicts_with = "json")]
    yaml: bool,
    /// Prints the finding as it is kept.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
struct TimesArgs {
    /// The number of replays of each finding.
    #[arg(long, value_name = "N", default_value = "3")]
    times: NonZero<u32>,
}

/// The settings of a replay.
#[derive(Debug, Args)]
pub(crate) struct PlayingArgs {
    /// The time for one request, and after which a server counts as hanging; by default as in the recorded run.
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    pub(crate) timeout: Option<Duration>,
    /// Replays no finding that calls a tool which may change data, according to its hints, or to its name and description.
    #[arg(long)]
    pub(crate) read_only: bool,
}

#[derive(Debug, Args)]
struct DiffArgs {
    /// The earlier run: a folder for state, or a file that `findings list --json` wrote.
    #[arg(value_name = "BEFORE")]
    before: PathBuf,
    /// The later run.
    #[arg(value_name = "AFTER")]
    after: PathBuf,
    /// Ends with exit code 1 if the later run has findings that the earlier one does not have.
    #[arg(long)]
    fail_on_regression: bool,
}

pub(crate) fn findings(args: &FindingsArgs, console: &Console) -> Result<Exit, Exit> {
    // The usual folder is no choice of the user's, and a server may have left a link in its place.
    let usual = FolderPlace::resolve(Path::new("")).below(USUAL_STATE);
    let state = if *args.state_dir == *usual { &usual } else { &args.state_dir };
    let replay = |playing| FindingReplay { state, playing, console };
    match &args.action {
        FindingsAction::List { json } => list(state, *json, console),
        FindingsAction::Show(wanted) => show(&one(state, &wanted.id, console)?, wanted, console),
        FindingsAction::Replay { id, times, playing, .. } => {
            let chosen = match id {
                Some(id) => vec![one(state, id, console)?],
                None => all(state, console)?,
            };
            replay(playing).replay(&chosen, times.times.get())
        }
        FindingsAction::Prune { times, playing } => replay(playing).prune(&all(state, console)?, times.times.get()),
        FindingsAction::Minimise { id, max_attempts, playing } => {
            replay(playing).minimise(one(state, id, console)?, max_attempts.get())
        }
        FindingsAction::Diff(wanted) => diff(wanted, console),
    }
}

/// Every kept finding, the worst first.
fn all(state: &Path, console: &Console) -> Result<Vec<Stored>, Exit> {
    let mut found = Vec::new();
    for one in kept::read_all(state).map_err(|reason| console.fail(Exit::Environment, reason, None))? {
        match one {
            Ok(stored) => found.push(stored),
            Err(reason) => console.note(&format!("warning: {reason}; it is left out")),
        }
    }
    found.sort_by(|a, b| {
        b.severity.cmp(&a.severity).then_with(|| (a.kind, &a.tool, &a.id).cmp(&(b.kind, &b.tool, &b.id)))
    });
    Ok(found)
}

/// The one finding whose id begins so.
fn one(state: &Path, id: &str, console: &Console) -> Result<Stored, Exit> {
    let mut found = all(state, console)?;
    found.retain(|stored| stored.id.starts_with(id));
    match (found.pop(), found.len()) {
        (Some(stored), 0) => Ok(stored),
        (Some(_), others) => {
            let message = format!("the ids of {} findings begin with `{id}`", others + 1);
            Err(console.fail(Exit::Usage, message, Some("write more of the id")))
        }
        (None, _) => {
            let help = format!("`mcprove findings list{}` lists the ids", state_flag(state));
            Err(console.fail(Exit::Nothing, format!("no finding has an id that begins with `{id}`"), Some(&help)))
        }
    }
}

/// The width of a column at most.
const WIDEST: usize = 30;

fn list(state: &Path, json: bool, console: &Console) -> Result<Exit, Exit> {
    let found = all(state, console)?;
    if json {
        return Ok(console.data(&(legible_json(&found) + "\n")));
    }
    if found.is_empty() {
        console.note(&format!("no finding is kept in `{}`", state.display()));
        return Ok(Exit::Passed);
    }
    Ok(console.data(&table(&found)))
}

/// A line for each finding.
fn table(found: &[Stored]) -> String {
    let rows: Vec<[String; 6]> = found.iter().map(cells).collect();
    rows.iter().map(|row| line(row, &rows)).collect()
}

/// The columns of a finding in a list; the last may be long.
fn cells(stored: &Stored) -> [String; 6] {
    let Stored { id, kind, severity, tool, title, .. } = stored;
    let how = match (&stored.reproduction, stored.minimised) {
        (None, _) => "not playable".to_owned(),
        (Some(_), true) => format!("{}, minimal", stored.length()),
        (Some(_), false) => stored.length(),
    };
    let tool = if tool.is_empty() { "-" } else { tool };
    let texts = [id, severity.as_str(), kind.as_str(), tool, &how, &shorten(title, SHOWN)];
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

fn show(stored: &Stored, args: &ShowArgs, console: &Console) -> Result<Exit, Exit> {
    let test = regression(stored);
    Ok(console.data(&match test {
        _ if args.json => stored.text(),
        Some(test) if args.yaml => test,
        None if args.yaml => return Err(unplayable(stored, console)),
        test => describe(stored, test.as_deref()),
    }))
}

fn why_unplayable(stored: &Stored) -> String {
    let why = stored.unplayable.as_deref().unwrap_or("the requests that led to it are unknown");
    format!("finding {} cannot be replayed: {why}", stored.id)
}

/// Refuses to replay a finding whose requests are not known.
pub(crate) fn unplayable(stored: &Stored, console: &Console) -> Exit {
    console.fail(Exit::Environment, why_unplayable(stored), Some(&format!("run the case again: `{}`", stored.again)))
}

fn describe(stored: &Stored, example: Option<&str>) -> String {
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
        ("line", &at),
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
            0 | 1 => writeln!(text, "{:<9} {}", visible_line(name), visible_line(value)),
            _ => writeln!(text, "{}\n{}", visible_line(name), indent(&visible(value))),
        };
    }
    if !stored.frames.is_empty() {
        let _ = writeln!(text, "frames    the last {}: `--json` shows them", stored.frames.len());
    }
    match (&stored.reproduction, example) {
        (Some(reproduction), Some(example)) => {
            if !reproduction.sessions.is_empty() {
                text += &requests(stored, reproduction);
            }
            let _ = writeln!(text, "\nto add to a suite\n{}", indent(example));
        }
        _ => {
            let _ = writeln!(text, "\n{}", why_unplayable(stored));
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
            let _ = writeln!(text, "  {}", visible_line(&shorten(&request(call), SHOWN)));
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

fn indent(text: &str) -> String {
    text.trim_end().lines().map(|line| format!("  {line}").trim_end().to_owned()).collect::<Vec<_>>().join("\n")
}

/// The flag that names a folder for state, where it is not the usual one.
pub(crate) fn state_flag(state: &Path) -> String {
    if state == Path::new(USUAL_STATE) {
        return String::new();
    }
    format!(" --state-dir {}", shell_words::quote(&state.display().to_string()))
}

fn diff(args: &DiffArgs, console: &Console) -> Result<Exit, Exit> {
    let read = |path: &Path| {
        // A finding that is left out could be the regression.
        let found = kept::load(path).and_then(|found| found.into_iter().collect::<Result<Vec<_>, _>>());
        found.map_err(|reason| console.fail(Exit::Environment, reason, None))
    };
    let compared = compare(read(&args.before)?, read(&args.after)?);
    let mut text = String::new();
    for (word, found) in [("new", &compared.new), ("fixed", &compared.fixed), ("still there", &compared.still)] {
        let _ = writeln!(text, "{word}: {}", found.len());
        text.extend(table(found).lines().map(|line| format!("  {line}\n")));
    }
    let shown = console.data(&text);
    let is_worse = args.fail_on_regression && !compared.new.is_empty();
    Ok(if is_worse { Exit::Findings } else { shown })
}
