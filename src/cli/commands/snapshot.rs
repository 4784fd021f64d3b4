//! `mcprove snapshot`: records a server, and tells what has changed since.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use clap::{Args, ValueEnum};
use serde_json::json;

use super::signals::{self, RunEnding, RunningTask, Urgency};
use super::snapshot_text::{ChangeText, of_changes, of_recording};
use crate::block;
use crate::block::differential::{Recording, UNANSWERED, Wanted, record};
use crate::cli::calls::{CallArgs, unknown_tool};
use crate::cli::environment::Environment;
use crate::cli::exit::Exit;
use crate::cli::output::Output;
use crate::cli::server::{Mistake, ServerArgs, Verb};
use crate::cli::suites::{ChosenRegistry, Given};
use crate::drift::{ChangeLevel, Recorded, RecordedAnswer, RecordedOutcome, ServerChange, ServerSnapshot, compare};
use crate::event::Finding;
use crate::plan::{self, Eventually, Plan, Selection};
use crate::report::{Ticker, sink};
use crate::runner::{self, Options, ServerVisit, Stop, Visitor};
use crate::source::file::{WRITTEN, read_bytes, read_text};
use crate::source::{Located, SourceFile, Sources, Span, duration_text, visible_line};
use crate::suite::{AdHocCommand, Files, ToolSelection, why_unreadable};

const VERB: Verb = Verb { command: AdHocCommand::Snapshot, does: "record", block: "differential: {}" };

/// Where a server is recorded that no suite names a file for.
const DEFAULT: &str = "server.snapshot.json";

/// After how long somebody who waits is told why.
const SILENCE: Duration = Duration::from_secs(5);

/// Records a server, or tells what has changed since it was recorded.
#[derive(Debug, Args)]
pub(in crate::cli) struct SnapshotArgs {
    /// The server: an address, `demo`, after `--` the command that starts it, or a suite whose servers are meant; or
    /// `diff A.json B.json`.
    #[arg(value_name = "TARGET")]
    words: Vec<String>,
    /// The file to write, whatever is in it; by default the one that the suite names, or `server.snapshot.json`.
    #[arg(long, short, value_name = "FILE", conflicts_with = "against")]
    output: Option<PathBuf>,
    /// Replaces a recording that is there and says something else.
    #[arg(long, conflicts_with = "against")]
    update: bool,
    /// Records what the server offers, and calls no tool.
    #[arg(long)]
    no_answers: bool,
    /// Records only these tools, by name or pattern; may be given several times.
    #[arg(long, value_name = "TOOL")]
    tool: Vec<String>,
    #[command(flatten)]
    calls: CallArgs,
    /// Calls only tools that change nothing, whatever the suite or other flags allow.
    #[arg(long)]
    read_only: bool,
    /// Writes nothing, and tells what has changed since this file was written.
    #[arg(long, value_name = "FILE")]
    against: Option<PathBuf>,
    /// The mildest change that ends with exit code 1.
    #[arg(long, value_name = "LEVEL", default_value = "breaking", value_parser = ["breaking", "compatible", "cosmetic"])]
    fail_on: String,
    /// How changes are told.
    #[arg(long, value_enum, default_value = "text")]
    format: DiffFormat,
    #[command(flatten)]
    server: ServerArgs,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum DiffFormat {
    /// For people.
    Text,
    /// For programs.
    Json,
}

pub(in crate::cli) fn snapshot(args: &SnapshotArgs, environment: &Environment, output: &Output) -> Exit {
    done(args, environment, output).unwrap_or_else(|exit| exit)
}

fn done(args: &SnapshotArgs, environment: &Environment, output: &Output) -> Result<Exit, Exit> {
    if let [word, files @ ..] = args.words.as_slice()
        && word == "diff"
    {
        let [before, after] = files else {
            output.error("`diff` compares two recordings", Some("write `mcprove snapshot diff A.json B.json`"));
            return Err(Exit::Usage);
        };
        let (before, after) = (read(Path::new(before), output)?, read(Path::new(after), output)?);
        return tell(args, &before, (&after.servers, None), output);
    }
    let before = args.against.as_deref().map(|file| read(file, output)).transpose()?;
    let plan = planned(args, output)?;
    let file = args.output.clone().unwrap_or_else(|| default_file(&plan));
    let recording = recorded(args, (plan, before.as_ref()), environment, output)?;
    args.name_known_tools((before.as_ref(), &recording.servers), output)?;
    if let Some(before) = before {
        let lack = uncompared(args, &before, &recording);
        let exit = tell(args, &before, (&recording.servers, lack), output)?;
        let Some(lack) = lack.filter(|_| exit == Exit::Passed) else { return Ok(exit) };
        tell_notes(recording.notes.iter().filter(|note| note.contains(UNANSWERED)), output);
        output.error(lack, Some("`--no-answers` compares what the server offers alone"));
        return Ok(Exit::Nothing);
    }
    if recording.servers.is_empty() {
        output.error("nothing is recorded: the server speaks none of the revisions that were asked for", None);
        return Err(Exit::Nothing);
    }
    if is_unserved(&recording) {
        tell_notes(recording.notes.iter(), output);
        let help = "give valid arguments with `--arguments 'TOOL={…}'`, or record no answers with `--no-answers`";
        output.error("nothing is recorded: no call of a tool was served", Some(help));
        return Err(Exit::Nothing);
    }
    let snapshot = ServerSnapshot::new(recording.servers);
    args.spare(&file, &snapshot, output)?;
    sink::write(&file, &snapshot.text()).map_err(|error| {
        output.error(&error.to_string(), None);
        Exit::Environment
    })?;
    output.note(&of_recording(&snapshot, &recording.notes, &file));
    Ok(Exit::Passed)
}

/// Whether tools were called, and none of them served a call.
fn is_unserved(recording: &Recording) -> bool {
    let answers: Vec<&RecordedAnswer> = recording.servers.iter().flat_map(|recorded| &recorded.answers).collect();
    let is_called = recording.notes.iter().any(|note| note.contains(UNANSWERED)) || !answers.is_empty();
    is_called && !answers.iter().any(|answer| answer.outcome == RecordedOutcome::Served)
}

/// Why it says little that nothing has changed, where that is so: nothing is known of answers that nobody gave.
fn uncompared(args: &SnapshotArgs, before: &ServerSnapshot, now: &Recording) -> Option<&'static str> {
    let recorded = before.servers.iter().flat_map(|recorded| &recorded.answers);
    let tools: BTreeSet<&str> = recorded.map(|answer| answer.tool.as_str()).collect();
    let is_lost = |note: &String| tools.iter().any(|tool| note.contains(&format!("{UNANSWERED}`{tool}`")));
    if args.no_answers {
        return None;
    }
    if now.notes.iter().any(is_lost) {
        return Some("not every recorded call has an answer that could be compared");
    }
    // Refusals say little of a server that was recorded without answers: nobody gave it valid arguments.
    let is_asked = !tools.is_empty() || now.notes.iter().any(|note| note.contains(UNANSWERED));
    (is_asked && is_unserved(now)).then_some("no call of a tool was served, so nothing is known of answers")
}

fn tell_notes<'a>(notes: impl Iterator<Item = &'a String>, output: &Output) {
    for note in notes {
        output.note(&format!("  {}", visible_line(note)));
    }
}

/// The file that the suite names, or one beside it.
fn default_file(plan: &Plan) -> PathBuf {
    let Some(planned) = plan.suites.first().filter(|planned| planned.suite.asked.is_none()) else {
        return PathBuf::from(DEFAULT);
    };
    let named = planned.blocks.iter().find_map(|block| block.settings.snapshot_file()).map(str::to_owned);
    let stem = || Path::new(&planned.suite.file).file_stem().unwrap_or_default().to_string_lossy().into_owned();
    planned.suite.folder.join(named.unwrap_or_else(|| format!("{}.snapshot.json", stem())))
}

/// Tells what has changed; the exit code says whether that is too much. Where the comparison lacks something, nobody is
/// told that nothing has changed.
fn tell(
    args: &SnapshotArgs,
    before: &ServerSnapshot,
    (after, lack): (&[Recorded], Option<&str>),
    output: &Output,
) -> Result<Exit, Exit> {
    let mut told = Vec::new();
    for recorded in after {
        let Some(earlier) = before.of(&recorded.name, &recorded.protocol) else {
            output.error(&format!("the server `{}` was not recorded", recorded.name), None);
            return Err(Exit::Usage);
        };
        let changes = compare(&selected(args, earlier), &selected(args, recorded));
        told.push(ChangeText { name: &recorded.name, protocol: &recorded.protocol, changes });
    }
    let limit = ChangeLevel::parse(&args.fail_on).unwrap_or(ChangeLevel::Breaking);
    let is_bad = |change: &ServerChange| change.level >= limit;
    let exit = if told.iter().flat_map(|told| &told.changes).any(is_bad) { Exit::Findings } else { Exit::Passed };
    let is_unchanged = told.iter().all(|told| told.changes.is_empty());
    let text = match args.format {
        DiffFormat::Text if is_unchanged && lack.is_some() => String::new(),
        DiffFormat::Text => of_changes(&told),
        DiffFormat::Json => {
            let servers = told.iter();
            let servers = servers
                .map(|told| json!({"name": told.name, "protocol": told.protocol, "changes": told.changes}))
                .collect::<Vec<_>>();
            format!("{:#}\n", json!({"format": 1, "servers": servers}))
        }
    };
    let written = output.data(&text);
    if written == Exit::Passed { Ok(exit) } else { Err(written) }
}

/// Without the tools that are not asked about.
fn selected(args: &SnapshotArgs, recorded: &Recorded) -> Recorded {
    let (tools, mut kept) = (args.tools(), recorded.clone());
    kept.tools.retain(|tool| tools.selects(tool["name"].as_str().unwrap_or_default()));
    kept.answers.retain(|answer| tools.selects(&answer.tool));
    kept
}

fn read(file: &Path, output: &Output) -> Result<ServerSnapshot, Exit> {
    let text = read_text(file, WRITTEN).map_err(|error| why_unreadable(&error));
    let parsed = text.and_then(|text| ServerSnapshot::parse(&text).map_err(|reason| reason.to_string()));
    parsed.map_err(|reason| {
        let help = "record a server with `mcprove snapshot http://127.0.0.1:3000/mcp`";
        output.error(&format!("`{}` cannot be used: {reason}", file.display()), Some(help));
        Exit::Usage
    })
}

impl SnapshotArgs {
    /// Leaves a recording alone that says something else, unless somebody asked for it to be replaced.
    fn spare(&self, file: &Path, snapshot: &ServerSnapshot, output: &Output) -> Result<(), Exit> {
        if self.update || self.output.is_some() {
            return Ok(());
        }
        let Ok(there) = read_bytes(file, WRITTEN) else { return Ok(()) };
        let known = std::str::from_utf8(&there).ok().and_then(|text| ServerSnapshot::parse(text).ok());
        if known.as_ref() == Some(snapshot) {
            return Ok(());
        }
        let name = file.display();
        let (what, help) = match known {
            Some(_) => {
                ("another recording", format!("`--against {name}` tells what has changed, `--update` replaces it"))
            }
            None => ("something else", "`--update` replaces it, `--output FILE` writes another file".to_owned()),
        };
        output.error(&format!("nothing is recorded: `{name}` holds {what}"), Some(&help));
        Err(Exit::Usage)
    }

    /// Refuses names that no tool has, neither as it was recorded nor as it is.
    fn name_known_tools(
        &self,
        (before, now): (Option<&ServerSnapshot>, &[Recorded]),
        output: &Output,
    ) -> Result<(), Exit> {
        let earlier = before.into_iter().flat_map(|before| &before.servers);
        let tools = earlier.chain(now).flat_map(|recorded| &recorded.tools);
        let names: BTreeSet<&str> = tools.filter_map(|tool| tool["name"].as_str()).collect();
        let offered: Vec<&str> = names.iter().copied().collect();
        for (flag, name) in self.calls.named() {
            if !now.is_empty() && !names.contains(name.as_str()) {
                output.note(&unknown_tool(flag, &name, offered.iter().copied()));
            }
        }
        let tools = self.tools();
        let Some(idle) = tools.idle(&offered).next().filter(|_| !now.is_empty()) else { return Ok(()) };
        output.error(&format!("no tool answers to `--tool {}`", visible_line(&idle.value)), None);
        Err(Exit::Usage)
    }

    fn tools(&self) -> ToolSelection {
        if self.tool.is_empty() {
            return ToolSelection::All;
        }
        let typed = Sources::default().add(SourceFile::new("--tool", self.tool.join(" ")));
        let place = Span { source: typed, start: 0, end: 0 };
        ToolSelection::Named(self.tool.iter().map(|name| Located::new(name.clone(), place)).collect())
    }

    /// What to record of a server; calls of an earlier recording are made again.
    fn wanted(&self, before: Option<&Recorded>) -> Wanted {
        let calls = before.into_iter().flat_map(|recorded| &recorded.answers);
        Wanted {
            call_tools: !self.no_answers,
            tools: self.tools(),
            calls: calls.map(|answer| (answer.tool.clone(), answer.arguments.clone())).collect(),
        }
    }

    /// The suite: the one that is named, or one that is made of the server that is.
    fn suite(&self) -> Result<(PathBuf, Option<Given>), Mistake> {
        let is_suite = |word: &String| [".yml", ".yaml"].iter().any(|end| word.ends_with(end));
        if let [word] = self.words.as_slice()
            && is_suite(word)
        {
            return Ok((PathBuf::from(word), None));
        }
        let members = json!({"differential": {"snapshot": DEFAULT}});
        let given = self.server.target(VERB, &self.words)?.given(members, &[]);
        Ok((given.name.clone(), Some(given)))
    }
}

/// The disk, where a recording that is not there yet, or no longer readable, is empty.
struct Unrecorded(Option<Given>);

impl Files for Unrecorded {
    fn read(&self, path: &Path) -> io::Result<String> {
        if let Some(given) = self.0.as_ref().filter(|given| given.name == path) {
            return Ok(given.text.clone());
        }
        let text = read_text(path, WRITTEN);
        let is_recording = path.extension().is_some_and(|end| end == "json");
        let is_usable = text.as_ref().is_ok_and(|text| ServerSnapshot::parse(text).is_ok());
        if is_recording && !is_usable { Ok(ServerSnapshot::new(Vec::new()).text()) } else { text }
    }
}

fn planned(args: &SnapshotArgs, output: &Output) -> Result<Plan, Exit> {
    let (path, given) = args.suite().map_err(|(message, help)| {
        output.error(&message, Some(&help));
        Exit::Usage
    })?;
    let mut sources = Sources::default();
    let files = Unrecorded(given);
    let loaded = block::load(&path, &files, &mut sources, &mut Vec::new());
    let Unrecorded(given) = files;
    let mut loaded = loaded.map_err(|found| {
        let found = match &given {
            Some(given) => found.into_iter().map(|mistake| given.without_place(mistake)).collect(),
            None => found,
        };
        output.diagnostics(&found, &sources);
        Exit::Usage
    })?;
    loaded.suite.asked = given.map(|given| given.asked);
    args.calls.add_to(&mut loaded.suite);
    loaded.suite.read_only = args.read_only;
    let sources = Arc::new(sources);
    let registry = ChosenRegistry::BUILTIN.get();
    plan::build(vec![loaded], Selection::default(), registry, Arc::clone(&sources)).map_err(|found| {
        output.diagnostics(&found, &sources);
        Exit::Usage
    })
}

fn recorded(
    args: &SnapshotArgs,
    (plan, before): (Plan, Option<&ServerSnapshot>),
    environment: &Environment,
    output: &Output,
) -> Result<Recording, Exit> {
    let broken = |message: &str, exit: Exit| {
        output.error(message, None);
        exit
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|_| broken("the system gives no runtime", Exit::Internal))?;
    let (wish, stop) = Stop::new();
    let running = RunningTask { on: runtime.handle().clone(), last: Box::new(|| {}) };
    let mut urgency = signals::listen(wish, RunEnding::Plain, Some(running));
    let options = Options { environment: Arc::clone(&environment.variables), ..Options::new(0, stop.clone()) };
    let doing: Arc<Mutex<String>> = Arc::default();
    let is_done = Arc::clone(&doing);
    let _ticker = Ticker::start(move |elapsed| {
        let doing = is_done.lock().unwrap_or_else(PoisonError::into_inner);
        format!("… {}: {}\n", duration_text(elapsed), visible_line(&doing))
    });
    let tell = |text: String| *doing.lock().unwrap_or_else(PoisonError::into_inner) = text;
    let recorder = Recorder { args, before, tell: &tell };
    let ran = runtime.block_on(async {
        tokio::select! {
            ran = runner::visit_servers(plan, options, &tell, &recorder) => Some(ran),
            _ = urgency.wait_for(|urgency| *urgency == Urgency::Now) => None,
            () = tell_waiting(output) => None,
        }
    });
    // What still runs ends here: servers end with the tasks that hold them.
    runtime.shutdown_timeout(Duration::from_millis(200));
    match ran {
        Some(Ok(parts)) => {
            let mut whole = Recording::default();
            for Recording { servers, notes } in parts {
                whole.servers.extend(servers);
                whole.notes.extend(notes);
            }
            Ok(whole)
        }
        _ if stop.is_set() => Err(broken("nothing was recorded: it was interrupted", Exit::Interrupted)),
        Some(Err(found)) => Err(unusable(&found, output)),
        None => Err(Exit::Interrupted),
    }
}

/// Records the servers that it visits.
struct Recorder<'r> {
    args: &'r SnapshotArgs,
    before: Option<&'r ServerSnapshot>,
    tell: &'r (dyn Fn(String) + Sync),
}

impl Visitor for Recorder<'_> {
    type Output = Recording;

    fn visit<'a>(&'a self, visit: ServerVisit<'a>) -> Eventually<'a, Result<Recording, Finding>> {
        Box::pin(async move {
            let ServerVisit { context, protocol } = visit;
            let before = self.before.and_then(|before| before.of(context.server_name, protocol));
            let calling = |tool: &str| (self.tell)(format!("calling `{tool}` of `{}`", context.server_name));
            record(&self.args.wanted(before), protocol, &context, &calling).await
        })
    }
}

/// Says why nothing is shown for so long, where it takes long; never returns.
async fn tell_waiting(output: &Output) {
    tokio::time::sleep(SILENCE).await;
    output.note("recording; every call is made twice, on two servers, so a server that starts slowly takes a while");
    std::future::pending::<()>().await;
}

fn unusable(found: &Finding, output: &Output) -> Exit {
    output.error(&format!("nothing was recorded: {}", found.message), found.help.as_deref());
    for (name, text) in &found.evidence {
        output.note(&format!("{name}: {text}"));
    }
    Exit::Environment
}
