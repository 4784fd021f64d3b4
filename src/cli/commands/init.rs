//! `mcprove init`: writes a suite for a server from what it answers, and runs it.

use std::ffi::OsStr;
use std::path::Path;
use std::time::Duration;

use clap::{Args, Parser};
use serde_json::json;

use super::run::{RunArgs, RunRequest, run_and_tell};
use super::visiting::{CurrentStep, VisitWords, plan_of_server, visit};
use crate::cli::calls::{CallArgs, unknown_tool_warning};
use crate::cli::console::Console;
use crate::cli::exit::Exit;
use crate::cli::server::{ServerArgs, Verb, seen_from};
use crate::cli::written_files::{shown_difference, spare};
use crate::event::Finding;
use crate::files::FilePlace;
use crate::init::{CiSystem, Observations, PlainPath, Promises, SuitePage, observe, observe_after_run};
use crate::plan::BoxFuture;
use crate::report::sink;
use crate::runner::{ServerVisit, Visitor};
use crate::source::file::{WRITTEN, read_text};
use crate::source::visible_line;
use crate::suite::AdHocCommand;
use crate::wire::Catalog;

const VERB: Verb = Verb { command: AdHocCommand::Init, does: "write a suite for" };

const WORDS: VisitWords = VisitWords { undone: "no suite was written", slow: None };
const WORDS_AFTER_RUN: VisitWords =
    VisitWords { undone: "the suite still expects what its run may have changed in the data", slow: None };

/// The time that the proof at the end may take.
const PROOF_TIME: Duration = Duration::from_secs(20);

/// Writes a suite for a server from what it answers, and runs it.
///
/// Calls each tool that only reads, on two servers that know nothing of each other, and expects what both answers have
/// in common; adds what CI should check of any server. After the run, it proves how many imitated faults the suite
/// catches. A file that is there is never changed.
#[derive(Debug, Args)]
pub(crate) struct InitArgs {
    /// The server: a URL, `demo`, a file that describes servers (`mcp.json:NAME`), or after `--` the command that starts it.
    #[arg(value_name = "SERVER")]
    words: Vec<String>,
    /// The file to write; by default the name of the server, with `.yml`.
    #[arg(long, short, value_name = "FILE")]
    output: Option<FilePlace>,
    /// Writes nothing, and shows in which lines the file differs from the suite that would be written.
    #[arg(long)]
    diff: bool,
    /// Writes the job that runs the suite in CI too, where the system reads it; run this in the root of the repository.
    #[arg(long, value_name = "SYSTEM", value_enum, conflicts_with = "diff")]
    ci: Option<CiSystem>,
    /// Writes the suite without running it.
    #[arg(long, conflicts_with = "diff")]
    no_run: bool,
    /// Leaves out the proof after the run.
    #[arg(long)]
    no_prove: bool,
    #[command(flatten)]
    calls: CallArgs,
    #[command(flatten)]
    server: ServerArgs,
}

/// The command line of the run at the end.
#[derive(Debug, Parser)]
struct FinalRun {
    #[command(flatten)]
    args: RunArgs,
}

/// A server and what it showed.
struct VisitedServer {
    name: String,
    catalog: Catalog,
    seen: Observations,
}

/// Asks the servers that it visits.
struct SuiteObserver {
    current: CurrentStep,
}

impl Visitor for SuiteObserver {
    type Output = VisitedServer;

    fn visit<'a>(&'a self, visit: ServerVisit<'a>) -> BoxFuture<'a, Result<VisitedServer, Finding>> {
        Box::pin(async move {
            let ServerVisit { context, redactor, .. } = visit;
            let doing = |step| self.current.set(step);
            let seen = observe(&context, redactor, &doing).await;
            let implementation = context.server.and_then(|server| server.implementation.clone());
            let name = implementation.as_deref().map_or(context.server_name, without_version).to_owned();
            Ok(VisitedServer { name, catalog: context.catalog.clone(), seen })
        })
    }
}

/// Asks a server once more, after a run that may have left something in its data.
struct LaterObserver<'a> {
    current: CurrentStep,
    seen: &'a Observations,
}

impl Visitor for LaterObserver<'_> {
    type Output = Observations;

    fn visit<'a>(&'a self, visit: ServerVisit<'a>) -> BoxFuture<'a, Result<Observations, Finding>> {
        Box::pin(async move {
            let doing = |step| self.current.set(step);
            Ok(observe_after_run(&visit.context, visit.redactor, &doing, self.seen).await)
        })
    }
}

pub(crate) fn init(args: &InitArgs, console: &Console) -> Result<Exit, Exit> {
    if let Some(file) = args.output.as_ref().filter(|_| !args.diff) {
        spare_suite(file, console)?;
    }
    if let (Some(file), Some(_)) = (&args.output, args.ci) {
        plain_path(file, console)?;
    }
    args.calls.refuse_secrets(console)?;
    // Followed before a server runs, which could put a link there.
    let folder = FilePlace::resolve(Path::new("server.yml"));
    let job = args.ci.map(|system| (system, FilePlace::resolve(Path::new(system.file()))));
    let mut server = args.server.suite_entry(VERB, &args.words, console)?;
    let mut target = args.server.target(VERB, &args.words, console)?;
    if args.calls.scratch {
        server["scratch"] = true.into();
        target.set_scratch();
    }
    let mut members = args.calls.members();
    // Its cases list what is there, and call nothing.
    members.insert("schema_lint".to_owned(), json!({}));
    let plan = plan_of_server(target.clone(), members.clone(), console)?;
    let current = CurrentStep::default();
    let asker = SuiteObserver { current: current.clone() };
    let Some(visited) = visit(plan, &asker, &current, WORDS, console)?.outputs.into_iter().next() else {
        let message = "no suite was written: the server speaks none of the revisions that were asked for";
        return Err(console.fail(Exit::Nothing, message, None));
    };
    let tools = || visited.catalog.tools.iter().map(|tool| tool.name.as_str());
    for named in args.calls.named_tools().iter().filter(|named| !tools().any(|tool| named.is_match(tool))) {
        console.note(&unknown_tool_warning(named, tools()));
    }
    let file = args.output.clone().unwrap_or_else(|| folder.beside(OsStr::new(&file_name(&visited.name))));
    let mut page = SuitePage {
        name: &visited.name,
        server: &seen_from(file.parent().unwrap_or(Path::new("")), server),
        calls: &args.calls.members(),
        catalog: &visited.catalog,
        seen: &visited.seen,
        promises: Promises::default(),
    };
    let text = page.text();
    if args.diff {
        return show_difference(&file, &text, console);
    }
    spare_suite(&file, console)?;
    sink::write(&file, &text).map_err(|error| console.fail(Exit::Environment, error, None))?;
    if let Some(reason) = &visited.seen.failed_start {
        console.note(&format!(
            "warning: no second server could be asked, so nothing is known to last: {}",
            visible_line(reason)
        ));
    }
    console.note(&summary(&file, &visited));
    if let Some((system, place)) = job {
        write_job(system, &place, &plain_path(&file, console)?, console)?;
    }
    if args.no_run {
        return Ok(Exit::Passed);
    }
    let words = [Path::new("run"), Path::new("--"), &file];
    let FinalRun { args: run_args } =
        FinalRun::try_parse_from(words).map_err(|error| console.fail(Exit::Internal, error, None))?;
    let brief_proof = (!args.no_prove).then_some(PROOF_TIME);
    let (exit, cases) = run_and_tell(&RunRequest { brief_proof, ..run_args.into() }, console)?;
    page.promises = Promises::of(&cases);
    let promised = page.text();
    let later = if visited.seen.shares_data {
        let asker = LaterObserver { current: current.clone(), seen: &visited.seen };
        let plan = plan_of_server(target, members, console)?;
        match visit(plan, &asker, &current, WORDS_AFTER_RUN, console) {
            Ok(visited) => visited.outputs.into_iter().next(),
            Err(Exit::Interrupted) => return Err(Exit::Interrupted),
            // The run has come to its verdict.
            Err(_) => None,
        }
    } else {
        None
    };
    if let Some(later) = &later {
        page.seen = later;
    }
    let lasting = page.text();
    let notes = [
        (promised != text).then_some("now also checks what this run showed of slow calls and addresses"),
        (lasting != promised).then_some("no longer expects what this run has changed in the data of the server"),
    ];
    keep_shown(&file, &text, &lasting, &notes, console)?;
    Ok(exit)
}

/// Writes the suite with what its run showed, unless somebody has changed it meanwhile.
fn keep_shown(
    file: &FilePlace,
    written: &str,
    shown: &str,
    notes: &[Option<&str>],
    console: &Console,
) -> Result<(), Exit> {
    if shown == written || read_text(file, WRITTEN).ok().as_deref() != Some(written) {
        return Ok(());
    }
    sink::write(file, shown).map_err(|error| console.fail(Exit::Environment, error, None))?;
    for note in notes.iter().flatten() {
        console.note(&format!("`{}` {note}", file.display()));
    }
    Ok(())
}

/// The suite's path as a job writes it.
fn plain_path(file: &FilePlace, console: &Console) -> Result<PlainPath, Exit> {
    PlainPath::of(file).ok_or_else(|| {
        let message = format!("no job can name `{}`", file.display());
        let help = "a job needs a file below this folder, in letters, digits, `.`, `_` and `-`";
        console.fail(Exit::Usage, message, Some(help))
    })
}

/// Writes the job of a suite; a file that is there stays, and the job is shown.
fn write_job(system: CiSystem, place: &FilePlace, suite: &PlainPath, console: &Console) -> Result<(), Exit> {
    let (job, shown) = (system.job(suite), place.display());
    if place.exists() || place.is_symlink() {
        console.note(&format!("`{shown}` is there already and stays as it is; this is the job to add to it:\n\n{job}"));
        return Ok(());
    }
    sink::write(place, &job).map_err(|error| console.fail(Exit::Environment, error, None))?;
    console.note(&format!("wrote `{shown}`; {}", system.left_to_do()));
    Ok(())
}

/// Refuses to write over a file.
fn spare_suite(file: &FilePlace, console: &Console) -> Result<(), Exit> {
    let shown = file.display();
    let help = format!(
        "`--diff` shows what a new suite would change, `--output FILE` writes another file; `mcprove run {shown}` runs this one"
    );
    spare(file, &help, console)
}

/// Shows in which lines a file differs from a text.
fn show_difference(file: &FilePlace, text: &str, console: &Console) -> Result<Exit, Exit> {
    let known = read_text(file, WRITTEN).map_err(|error| {
        let help = "without `--diff`, the file is written";
        console.fail(Exit::Usage, format!("`{}` cannot be compared: {error}", file.display()), Some(help))
    })?;
    let shown = shown_difference(&known, text);
    console.part(&shown)?;
    Ok(if shown.is_empty() { Exit::Passed } else { Exit::Findings })
}

/// The suite in one line: what is tested, and what is not.
fn summary(file: &FilePlace, visited: &VisitedServer) -> String {
    let (tools, untested) = (visited.catalog.tools.len(), visited.seen.untested.len());
    let tested = tools - untested.min(tools);
    let rest = match untested {
        0 => String::new(),
        1 => "; the file says why one has no test".to_owned(),
        many => format!("; the file says why {many} have no test"),
    };
    format!("wrote `{}`, with tests of {tested} of {tools} tools{rest}", file.display())
}

/// `users-service 1.2.0` without the version.
fn without_version(implementation: &str) -> &str {
    let is_version = |word: &str| word.trim_start_matches('v').starts_with(|c: char| c.is_ascii_digit());
    let (name, last) = implementation.rsplit_once(' ').unwrap_or((implementation, ""));
    if is_version(last) { name } else { implementation }
}

/// A file name that says which server is tested.
fn file_name(server: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    let name: String = server.chars().map(plain).collect();
    let parts: Vec<&str> = name.split('-').filter(|part| !part.is_empty()).collect();
    let name: String = parts.join("-").chars().take(60).collect();
    if name.is_empty() { "server.yml".to_owned() } else { format!("{name}.yml") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_named_after_servers() {
        for (implementation, name, file) in [
            ("users-service 1.2.0", "users-service", "users-service.yml"),
            ("My Server v2", "My Server", "my-server.yml"),
            ("../../etc/passwd", "../../etc/passwd", "etc-passwd.yml"),
            ("Ünïcode", "Ünïcode", "n-code.yml"),
            ("日本", "日本", "server.yml"),
        ] {
            assert_eq!(without_version(implementation), name);
            assert_eq!(file_name(name), file);
        }
    }
}
