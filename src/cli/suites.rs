//! From words on the command line to a plan, with every mistake shown.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;

use super::environment::Environment;
use super::exit::Exit;
use super::files::SuiteFiles;
use super::output::Output;
use super::{paths, state};
use crate::block;
use crate::plan::{self, CaseSource, Failed, Filter, Plan, Selection};
use crate::source::{Diagnostic, SourceFile, Sources, file};
use crate::suite::{self, CommandLine, Files, LoadedSuite};
use crate::taxonomy::Registry;

/// Which suites, and which of their cases.
#[derive(Debug, Args)]
pub(super) struct SuiteArgs {
    /// Suite files, folders, patterns such as `suites/**/*.yml`, or `FILE:LINE`; the current folder by default.
    #[arg(value_name = "PATH")]
    pub(super) paths: Vec<String>,
    /// Picks cases: `tag(smoke) & !name(/slow/)`; fields are name, tag, server, revision, suite, file, probe, variant and id, and a bare word is part of a name.
    #[arg(long, short, value_name = "EXPRESSION")]
    filter: Vec<String>,
    /// Picks rows of data-driven tests by name.
    #[arg(long, value_name = "ROW")]
    row: Vec<String>,
    /// Picks the cases that did not pass the last time.
    #[arg(long)]
    last_failed: bool,
    /// The folder for state such as what failed last; `.mcprove` beside the first suite by default.
    #[arg(long, value_name = "FOLDER")]
    pub(super) state_dir: Option<std::path::PathBuf>,
    /// A suite that nobody wrote down.
    #[arg(skip)]
    pub(super) given: Option<Given>,
}

/// A suite that was made from what was typed.
#[derive(Debug, Clone)]
pub(super) struct Given {
    /// What it is called where a file has its name.
    pub(super) name: PathBuf,
    /// Its text.
    pub(super) text: String,
    /// The command line that asked for it.
    pub(super) asked: CommandLine,
    /// The tools that flags name, each with its flag.
    pub(super) tools: Vec<(&'static str, String)>,
    /// Words that hold secrets, each with what may be printed in its place.
    pub(super) hidden: Vec<(String, String)>,
}

/// The disk, and one file that is not on it.
pub(super) struct Beside {
    /// The path of that file.
    pub(super) name: PathBuf,
    /// What is in it.
    pub(super) text: String,
    /// Everything else.
    pub(super) disk: SuiteFiles,
}

impl Files for Beside {
    fn read(&self, path: &Path) -> io::Result<String> {
        if path == self.name { Ok(self.text.clone()) } else { self.disk.read(path) }
    }
}

impl SuiteArgs {
    /// The folder for state.
    pub(super) fn state_folder(&self, first: &Path) -> std::path::PathBuf {
        let beside = || first.parent().unwrap_or(Path::new("")).join(".mcprove");
        self.state_dir.clone().unwrap_or_else(beside)
    }

    /// Loads and plans everything that is named; what is wrong is shown, and the exit code says so.
    pub(super) fn plan(&self, registry: ChosenRegistry, output: &Output) -> Result<Plan, Exit> {
        let found = match &self.given {
            Some(given) => paths::FoundSuites { files: vec![given.name.clone()], ..paths::FoundSuites::default() },
            None => paths::find(&self.paths),
        };
        let doubtful: Vec<Diagnostic> = found.doubtful.iter().map(|file| passed_over(file)).collect();
        output.diagnostics(&doubtful, &Sources::default());
        if !found.unmatched.is_empty() {
            for reason in &found.unmatched {
                output.error(reason, None);
            }
            return Err(Exit::Nothing);
        }
        let mut sources = Sources::default();
        let mut mistakes = Vec::new();
        let selection = self.selection(found.lines, &found.files, &mut sources, &mut mistakes);
        let suites = match &self.given {
            Some(given) => load_given(given, &mut sources, &mut mistakes),
            None => load_all(&found.files, &mut sources, &mut mistakes, output),
        };
        if !mistakes.is_empty() {
            output.diagnostics(&mistakes, &sources);
            return Err(Exit::Usage);
        }
        let sources = Arc::new(sources);
        let plan = plan::build(suites, selection, registry.get(), Arc::clone(&sources)).map_err(|mistakes| {
            output.diagnostics(&mistakes, &sources);
            Exit::Usage
        })?;
        // Where nothing is left, whoever wants to run something says so.
        if plan.cases().next().is_some() {
            let missed = plan::unmatched_places(&plan).into_iter().map(Diagnostic::into_warning);
            output.diagnostics(&missed.collect::<Vec<_>>(), &plan.sources);
        }
        Ok(plan)
    }

    fn selection(
        &self,
        lines: Vec<plan::LineSelection>,
        files: &[std::path::PathBuf],
        sources: &mut Sources,
        mistakes: &mut Vec<Diagnostic>,
    ) -> Selection {
        let mut filters = Vec::new();
        for text in &self.filter {
            match Filter::parse(text, sources) {
                Ok(filter) => filters.push(filter),
                Err(mistake) => mistakes.push(mistake),
            }
        }
        let mut failed = None;
        if self.last_failed {
            let folder = self.state_folder(files.first().map_or(Path::new(""), |file| file));
            match state::last_failed(&folder, files) {
                // Only where all of it runs again is it told what a run of the whole would tell.
                Ok(found) if files.iter().all(|file| found.files.contains(&file.display().to_string())) => {}
                Ok(found) => failed = Some(found),
                Err(reason) => mistakes.push(
                    Diagnostic::without_place(
                        "no-last-run",
                        format!("there is no last run to take failures from: {reason}"),
                    )
                    .with_help("run without `--last-failed` first, or say where with `--state-dir`".to_owned()),
                ),
            }
        }
        Selection { filters, lines, rows: self.row.clone(), failed }
    }
}

fn passed_over(file: &Path) -> Diagnostic {
    let message = format!("`{}` is passed over: it reads like a suite and has no `suite:`", file.display());
    let help = "add a line such as `suite: My server`; a file that others include begins with `_`".to_owned();
    Diagnostic::without_place("passed-over", message).with_help(help).into_warning()
}

/// Loads a suite that nobody wrote down.
fn load_given(
    given: &Given,
    sources: &mut Sources,
    mistakes: &mut Vec<Diagnostic>,
) -> Vec<LoadedSuite<Arc<dyn CaseSource>>> {
    let files = Beside { name: given.name.clone(), text: given.text.clone(), disk: SuiteFiles };
    match block::load(&given.name, &files, sources, &mut Vec::new()) {
        Ok(mut loaded) => {
            loaded.suite.asked = Some(given.asked.clone());
            vec![loaded]
        }
        Err(found) => {
            mistakes.extend(found.into_iter().map(|mistake| given.without_place(mistake)));
            Vec::new()
        }
    }
}

impl Given {
    /// A mistake in what was typed, without a place in a file that nobody wrote, and without secrets.
    pub(super) fn without_place(&self, mistake: Diagnostic) -> Diagnostic {
        let public = |text: String| self.hidden.iter().fold(text, |text, (typed, shown)| text.replace(typed, shown));
        let (message, help) = (public(mistake.message), mistake.help.map(public));
        Diagnostic { message, help, label: None, other: None, ..mistake }
    }
}

/// Loads suites; warnings are shown, mistakes are collected.
fn load_all(
    files: &[std::path::PathBuf],
    sources: &mut Sources,
    mistakes: &mut Vec<Diagnostic>,
    output: &Output,
) -> Vec<LoadedSuite<Arc<dyn CaseSource>>> {
    let mut suites = Vec::new();
    let mut warnings = Vec::new();
    for file in files {
        match block::load(file, &SuiteFiles, sources, &mut warnings) {
            Ok(loaded) => suites.push(loaded),
            Err(found) => mistakes.extend(found),
        }
    }
    output.diagnostics(&warnings, sources);
    suites
}

/// A registry that is read when it is wanted.
#[derive(Debug, Clone, Copy)]
pub(super) struct ChosenRegistry(Option<&'static Registry>);

impl ChosenRegistry {
    /// The one that is part of the program.
    pub(super) const BUILTIN: Self = Self(None);

    /// The registry.
    pub(super) fn get(self) -> &'static Registry {
        self.0.unwrap_or_else(Registry::builtin)
    }
}

/// The registry that was named, or the one that is part of the program.
pub(super) fn registry(path: Option<&Path>, output: &Output) -> Result<ChosenRegistry, Exit> {
    let Some(path) = path else { return Ok(ChosenRegistry::BUILTIN) };
    let text = file::read_text(path, file::WRITTEN).map_err(|error| {
        output
            .error(&format!("cannot read the registry `{}`: {}", path.display(), suite::why_unreadable(&error)), None);
        Exit::Usage
    })?;
    let mut sources = Sources::default();
    let id = sources.add(SourceFile::new(path.display().to_string(), text));
    match Registry::load(&sources, id) {
        // One registry serves the whole run of the program.
        Ok(registry) => Ok(ChosenRegistry(Some(Box::leak(Box::new(registry))))),
        Err(mistakes) => {
            output.diagnostics(&mistakes, &sources);
            Err(Exit::Usage)
        }
    }
}

/// Says that nothing failed, where only what failed was asked for.
pub(super) fn nothing_failed(plan: &Plan, output: &Output) -> bool {
    let nothing = plan.selection.failed.as_ref().is_some_and(|failed| *failed == Failed::default());
    if nothing {
        output.note("nothing failed last time");
    }
    nothing
}

/// Says that nothing is left to do, and why that may be.
pub(super) fn nothing_selected(plan: &Plan, output: &Output) {
    let missed = [plan::unmatched_places(plan), plan::unmatched_words(plan)].concat();
    output.diagnostics(&missed, &plan.sources);
    if !missed.is_empty() {
        return;
    }
    let has_choice = !plan.selection.is_everything();
    let message = if has_choice { "no case matches what was asked for" } else { "the suites plan no cases" };
    let help = if has_choice {
        "`mcprove plan` lists the cases and their names"
    } else {
        "add `tests:` or a block with `tools: \"*\"`"
    };
    output.error(message, Some(help));
}

/// Refuses a run in CI that a forgotten `only` would cut down to almost nothing.
pub(super) fn refuse_only(plan: &Plan, environment: &Environment, output: &Output) -> Result<(), Exit> {
    let marked =
        plan.suites.iter().flat_map(|planned| &planned.suite.tests).filter_map(|test| Some((test, test.only?)));
    let found: Vec<Diagnostic> = marked
        .map(|(test, span)| {
            let message = format!("only tests such as `{}` would run", test.name.value);
            let help = "take `only` out before it reaches CI".to_owned();
            let mistake = if environment.is_ci {
                Diagnostic::error("only-in-ci", message, span)
            } else {
                Diagnostic::warning("only-marked", message, span)
            };
            mistake.with_help(help)
        })
        .collect();
    output.diagnostics(&found, &plan.sources);
    if environment.is_ci && !found.is_empty() { Err(Exit::Usage) } else { Ok(()) }
}
