//! `mcprove snapshot`: records a server, and shows how it has changed since.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use serde_json::{Map, json};

use super::snapshot_text::{ChangeText, of_changes, of_recording};
use super::visiting::{CurrentStep, VisitWords, visit};
use crate::block;
use crate::block::differential::{Recording, RecordingSelection, UNANSWERED, record};
use crate::cli::calls::{CallArgs, unknown_tool_warning};
use crate::cli::console::{Console, ListFormat};
use crate::cli::exit::Exit;
use crate::cli::server::{ServerArgs, Verb, is_suite};
use crate::cli::suites::{AdHocSuite, ChosenRegistry, refuse_bad_stores};
use crate::drift::{ChangeLevel, Recorded, RecordedAnswer, RecordedOutcome, ServerSnapshot, compare};
use crate::event::Finding;
use crate::files::FilePlace;
use crate::plan::{self, BoxFuture, Plan, Selection};
use crate::report::sink;
use crate::runner::{ServerVisit, Visitor};
use crate::source::file::{WRITTEN, read_bytes, read_text};
use crate::source::{Located, SourceFile, Sources, Span, visible_line};
use crate::suite::{AdHocCommand, ToolSelection, why_unreadable};

const VERB: Verb = Verb { command: AdHocCommand::Snapshot, does: "record" };

/// The file for a server without a suite.
const DEFAULT: &str = "server.snapshot.json";

const WORDS: VisitWords = VisitWords {
    undone: "nothing was recorded",
    slow: Some("recording; every call is made twice, on two servers, so a server that starts slowly takes a while"),
};

/// Records a server, or shows how it has changed since it was recorded.
#[derive(Debug, Args)]
pub(crate) struct SnapshotArgs {
    /// The server: a URL, `demo`, after `--` the command that starts it, or a suite with its servers; or
    /// `diff A.json B.json`.
    #[arg(value_name = "TARGET")]
    words: Vec<String>,
    /// The file to write, even if it exists; by default the one that the suite names, or `server.snapshot.json`.
    #[arg(long, short, value_name = "FILE", conflicts_with = "against")]
    output: Option<FilePlace>,
    /// Replaces a different snapshot.
    #[arg(long, conflicts_with = "against")]
    update: bool,
    /// Records only what the server lists, and calls no tool.
    #[arg(long)]
    no_answers: bool,
    /// Records only these tools, by name or pattern; may be given several times.
    #[arg(long, value_name = "TOOL")]
    tool: Vec<String>,
    #[command(flatten)]
    calls: CallArgs,
    /// Calls only tools that change nothing, even if the suite or another flag allows more.
    #[arg(long)]
    read_only: bool,
    /// Writes nothing, and shows how the server differs from this snapshot.
    #[arg(long, value_name = "FILE")]
    against: Option<PathBuf>,
    /// The least severe change that ends with exit code 1.
    #[arg(long, value_name = "LEVEL", default_value = "breaking", value_parser = ["breaking", "compatible", "cosmetic"])]
    fail_on: String,
    /// The format of the changes.
    #[arg(long, value_enum, default_value = "text")]
    format: ListFormat,
    #[command(flatten)]
    server: ServerArgs,
}

pub(crate) fn snapshot(args: &SnapshotArgs, console: &Console) -> Result<Exit, Exit> {
    if let [word, files @ ..] = args.words.as_slice()
        && word == "diff"
    {
        let [before, after] = files else {
            let help = Some("write `mcprove snapshot diff A.json B.json`");
            return Err(console.fail(Exit::Usage, "`diff` compares two snapshots", help));
        };
        let (before, after) = (load_snapshot(Path::new(before), console)?, load_snapshot(Path::new(after), console)?);
        return args.compare(&before, &after.servers, None, console);
    }
    let before = args.against.as_deref().map(|file| load_snapshot(file, console)).transpose()?;
    let plan = build_plan(args, console)?;
    let file = args.output.clone().unwrap_or_else(|| FilePlace::resolve(&default_file(&plan)));
    let recording = record_server(args, plan, before.as_ref(), console)?;
    args.check_tool_names(before.as_ref(), &recording.servers, console)?;
    if let Some(before) = before {
        let lack = reason_not_compared(args, &before, &recording);
        let exit = args.compare(&before, &recording.servers, lack, console)?;
        let Some(lack) = lack.filter(|_| exit == Exit::Passed) else { return Ok(exit) };
        print_notes(recording.notes.iter().filter(|note| note.contains(UNANSWERED)), console);
        let help = Some("`--no-answers` compares only what the server lists");
        return Err(console.fail(Exit::Nothing, lack, help));
    }
    if recording.servers.is_empty() {
        let message = "nothing was recorded: the server speaks none of the revisions that were asked for";
        return Err(console.fail(Exit::Nothing, message, None));
    }
    if is_unserved(&recording) {
        print_notes(recording.notes.iter(), console);
        let help = "give valid arguments with `--arguments 'TOOL={…}'`, or record no answers with `--no-answers`";
        return Err(console.fail(Exit::Nothing, "nothing was recorded: no tool call was served", Some(help)));
    }
    let snapshot = ServerSnapshot::new(recording.servers);
    args.spare(&file, &snapshot, console)?;
    sink::write(&file, &snapshot.text()).map_err(|error| console.fail(Exit::Environment, error, None))?;
    console.note(&of_recording(&snapshot, &recording.notes, &file));
    Ok(Exit::Passed)
}

/// Returns true if tools were called, and none of them served a call.
fn is_unserved(recording: &Recording) -> bool {
    let answers: Vec<&RecordedAnswer> = recording.servers.iter().flat_map(|recorded| &recorded.answers).collect();
    let is_called = recording.notes.iter().any(|note| note.contains(UNANSWERED)) || !answers.is_empty();
    is_called && !answers.iter().any(|answer| answer.outcome == RecordedOutcome::Served)
}

/// Why the comparison is incomplete, if it is.
fn reason_not_compared(args: &SnapshotArgs, before: &ServerSnapshot, now: &Recording) -> Option<&'static str> {
    let recorded = before.servers.iter().flat_map(|recorded| &recorded.answers);
    let tools: BTreeSet<&str> = recorded.map(|answer| answer.tool.as_str()).collect();
    let is_lost = |note: &String| tools.iter().any(|tool| note.contains(&format!("{UNANSWERED}`{tool}`")));
    if args.no_answers {
        return None;
    }
    if now.notes.iter().any(is_lost) {
        return Some("some recorded calls got no answer that could be compared");
    }
    // Refusals say little of a server that was recorded without answers: nobody gave it valid arguments.
    let is_asked = !tools.is_empty() || now.notes.iter().any(|note| note.contains(UNANSWERED));
    (is_asked && is_unserved(now)).then_some("no tool call was served, so answers could not be compared")
}

fn print_notes<'a>(notes: impl Iterator<Item = &'a String>, console: &Console) {
    for note in notes {
        console.note(&format!("  {}", visible_line(note)));
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

/// Without the tools that are not asked about.
fn select(args: &SnapshotArgs, recorded: &Recorded) -> Recorded {
    let (tools, mut kept) = (args.tools(), recorded.clone());
    kept.tools.retain(|tool| tools.selects(tool["name"].as_str().unwrap_or_default()));
    kept.answers.retain(|answer| tools.selects(&answer.tool));
    kept
}

fn load_snapshot(file: &Path, console: &Console) -> Result<ServerSnapshot, Exit> {
    let text = read_text(file, WRITTEN).map_err(|error| why_unreadable(&error));
    let parsed = text.and_then(|text| ServerSnapshot::parse(&text).map_err(|reason| reason.to_string()));
    parsed.map_err(|reason| {
        let help = "record a server with `mcprove snapshot http://127.0.0.1:3000/mcp`";
        console.fail(Exit::Usage, format!("`{}` cannot be used: {reason}", file.display()), Some(help))
    })
}

impl SnapshotArgs {
    /// Prints the changes; the exit code says whether one is severe enough. If `lack` says that something could not be
    /// compared, the text does not claim that nothing has changed.
    fn compare(
        &self,
        before: &ServerSnapshot,
        after: &[Recorded],
        lack: Option<&str>,
        console: &Console,
    ) -> Result<Exit, Exit> {
        let mut compared = Vec::new();
        for recorded in after {
            let Recorded { name, protocol, .. } = recorded;
            let earlier = before.of(name, protocol).ok_or_else(|| {
                console.fail(Exit::Usage, format!("the snapshot has no server `{name}` in {protocol}"), None)
            })?;
            let changes = compare(&select(self, earlier), &select(self, recorded));
            compared.push(ChangeText { name, protocol, changes });
        }
        let limit = ChangeLevel::parse(&self.fail_on).unwrap_or(ChangeLevel::Breaking);
        let changes = || compared.iter().flat_map(|compared| &compared.changes);
        let exit = if changes().any(|change| change.level >= limit) { Exit::Findings } else { Exit::Passed };
        let text = match self.format {
            ListFormat::Text if changes().next().is_none() && lack.is_some() => String::new(),
            ListFormat::Text => of_changes(&compared),
            ListFormat::Json => format!("{:#}\n", json!({"format": 1, "servers": compared})),
        };
        let written = console.data(&text);
        if written == Exit::Passed { Ok(exit) } else { Err(written) }
    }

    /// Refuses to replace a different snapshot, unless a flag asks for it.
    fn spare(&self, file: &Path, snapshot: &ServerSnapshot, console: &Console) -> Result<(), Exit> {
        if self.update || self.output.is_some() {
            return Ok(());
        }
        let Ok(there) = read_bytes(file, WRITTEN) else { return Ok(()) };
        let known = std::str::from_utf8(&there).ok().and_then(|text| ServerSnapshot::parse(text).ok());
        if known.as_ref() == Some(snapshot) {
            return Ok(());
        }
        let name = file.display();
        let (content, help) = match known {
            Some(_) => {
                ("a different snapshot", format!("`--against {name}` shows the changes, `--update` replaces the file"))
            }
            None => ("something else", "`--update` replaces it, `--output FILE` writes another file".to_owned()),
        };
        Err(console.fail(Exit::Usage, format!("nothing was recorded: `{name}` holds {content}"), Some(&help)))
    }

    /// Refuses names that no tool has, neither in the earlier snapshot nor on the server.
    fn check_tool_names(
        &self,
        before: Option<&ServerSnapshot>,
        now: &[Recorded],
        console: &Console,
    ) -> Result<(), Exit> {
        if now.is_empty() {
            return Ok(());
        }
        let earlier = before.into_iter().flat_map(|before| &before.servers);
        let tools = earlier.chain(now).flat_map(|recorded| &recorded.tools);
        let names: BTreeSet<&str> = tools.filter_map(|tool| tool["name"].as_str()).collect();
        for named in self.calls.named_tools().iter().filter(|named| !names.iter().any(|tool| named.is_match(tool))) {
            console.note(&unknown_tool_warning(named, names.iter().copied()));
        }
        let (tools, offered) = (self.tools(), Vec::from_iter(names));
        let Some(idle) = tools.idle(&offered).next() else { return Ok(()) };
        Err(console.fail(Exit::Usage, format!("no tool matches `--tool {}`", visible_line(&idle.value)), None))
    }

    fn tools(&self) -> ToolSelection {
        if self.tool.is_empty() {
            return ToolSelection::All;
        }
        let typed = Sources::default().add(SourceFile::new("--tool", self.tool.join(" ")));
        let place = Span { source: typed, start: 0, end: 0 };
        ToolSelection::of_names(self.tool.iter().map(|name| Located::new(name.clone(), place)))
    }

    /// The parts of a server to record; calls of an earlier snapshot are repeated.
    fn selection(&self, before: Option<&Recorded>) -> RecordingSelection {
        let calls = before.into_iter().flat_map(|recorded| &recorded.answers);
        RecordingSelection {
            call_tools: !self.no_answers,
            tools: self.tools(),
            calls: calls.map(|answer| (answer.tool.clone(), answer.arguments.clone())).collect(),
        }
    }

    /// A suite for the server that is named; `None` where a suite file is.
    fn adhoc_suite(&self, console: &Console) -> Result<Option<AdHocSuite>, Exit> {
        if matches!(self.words.as_slice(), [word] if is_suite(word)) {
            return Ok(None);
        }
        let members = Map::from_iter([("differential".to_owned(), json!({"snapshot": DEFAULT}))]);
        Ok(Some(self.server.target(VERB, &self.words, console)?.suite(members, &[])))
    }
}

fn build_plan(args: &SnapshotArgs, console: &Console) -> Result<Plan, Exit> {
    let adhoc = args.adhoc_suite(console)?;
    let path = adhoc.as_ref().map_or_else(|| PathBuf::from(&args.words[0]), |adhoc| adhoc.name.clone());
    // A snapshot that does not exist yet, or cannot be read, is empty.
    let files = |file: &Path| {
        if let Some(adhoc) = adhoc.as_ref().filter(|adhoc| adhoc.name == file) {
            return Ok(adhoc.text.clone());
        }
        let text = read_text(file, WRITTEN);
        let is_usable = text.as_ref().is_ok_and(|text| ServerSnapshot::parse(text).is_ok());
        let is_snapshot = file.extension().is_some_and(|end| end == "json");
        if is_snapshot && !is_usable { Ok(ServerSnapshot::new(Vec::new()).text()) } else { text }
    };
    let mut sources = Sources::default();
    let mut loaded = block::load(&path, &files, &mut sources, &mut Vec::new());
    if let Some(adhoc) = &adhoc {
        loaded = adhoc.finish(loaded, &sources);
    }
    let mut loaded = loaded.map_err(|found| console.refuse(&found, &sources))?;
    args.calls.add_to(&mut loaded.suite);
    loaded.suite.read_only = args.read_only;
    loaded.suite.environment = Some(Arc::clone(&console.environment.variables));
    let (sources, registry) = (Arc::new(sources), ChosenRegistry::BUILTIN.get());
    let plan = plan::build(vec![loaded], Selection::default(), registry, Arc::clone(&sources));
    let plan = plan.map_err(|found| console.refuse(&found, &sources))?;
    refuse_bad_stores(&plan, console).map(|()| plan)
}

fn record_server(
    args: &SnapshotArgs,
    plan: Plan,
    before: Option<&ServerSnapshot>,
    console: &Console,
) -> Result<Recording, Exit> {
    let step = CurrentStep::default();
    let recorder = Recorder { args, before, step: &step };
    let mut whole = Recording::default();
    for Recording { servers, notes } in visit(plan, &recorder, &step, WORDS, console)?.outputs {
        whole.servers.extend(servers);
        whole.notes.extend(notes);
    }
    Ok(whole)
}

/// Records the servers that it visits.
struct Recorder<'r> {
    args: &'r SnapshotArgs,
    before: Option<&'r ServerSnapshot>,
    step: &'r CurrentStep,
}

impl Visitor for Recorder<'_> {
    type Output = Recording;

    fn visit<'a>(&'a self, visit: ServerVisit<'a>) -> BoxFuture<'a, Result<Recording, Finding>> {
        Box::pin(async move {
            let ServerVisit { context, protocol, .. } = visit;
            let before = self.before.and_then(|before| before.of(context.server_name, protocol));
            let calling = |tool: &str| self.step.set(format!("calling `{tool}` of `{}`", context.server_name));
            record(&self.args.selection(before), protocol, &context, &calling).await
        })
    }
}
