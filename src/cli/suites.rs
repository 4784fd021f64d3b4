//! From words on the command line to a plan, with every mistake shown.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use parking_lot::Mutex;
use serde_json::{Map, Value};

use super::calls::CallArgs;
use super::console::Console;
use super::exit::Exit;
use super::paths::{self, LinkEnd, SkippedLink};
use super::recorded_suites::RecordedSuites;
use super::state;
use crate::block::{self, campaign};
use crate::files::FolderPlace;
use crate::plan::{self, CaseSource, Failed, Filter, Plan, Selection, Shard};
use crate::runner::{Options, Stop, store_mistakes};
use crate::source::file::{WRITTEN, read_text};
use crate::source::{Diagnostic, Label, SourceId, Sources, parse};
use crate::suite::{
    AdHocCommand, CommandLine, Files, LoadedSuite, Servers, Suite, builtin_name, builtin_text, is_named,
};
use crate::taxonomy::Registry;

/// Which suites, and which of their cases.
#[derive(Debug, Args)]
pub(crate) struct SuiteArgs {
    /// Suite files, folders, patterns such as `suites/**/*.yml`, `FILE:LINE`, or `builtin:NAME`; the current folder by default.
    #[arg(value_name = "PATH")]
    pub(crate) paths: Vec<String>,
    /// Selects cases: `tag(smoke) & !name(/slow/)`; the fields are name, tag, server, revision, suite, file, probe, variant and id, and a bare word matches names that contain it.
    #[arg(long, short, value_name = "EXPRESSION")]
    pub(crate) filter: Vec<String>,
    /// Selects the rows of data-driven tests that have this name.
    #[arg(long, value_name = "ROW")]
    row: Vec<String>,
    /// Selects the cases that did not pass last time.
    #[arg(long)]
    pub(crate) last_failed: bool,
    /// The folder for state, such as the failures of the last run; `.mcprove` beside the first suite by default.
    #[arg(long, value_name = "FOLDER")]
    pub(crate) state_dir: Option<FolderPlace>,
    /// A suite that was made from the command line.
    #[arg(skip)]
    pub(crate) adhoc: Option<AdHocSuite>,
    /// The servers on which the suites run, in the place of their own.
    #[arg(skip)]
    pub(crate) given: Option<GivenServers>,
    /// The campaign that runs instead of the tests.
    #[arg(skip)]
    pub(crate) campaign: Option<FlaggedCampaign>,
    /// The suites of a recording, which are read instead of files.
    #[arg(skip)]
    pub(crate) recorded: Option<RecordedSuites>,
    /// The part of the cases that runs here.
    #[arg(skip)]
    pub(crate) shard: Option<Arc<Shard>>,
}

/// The calls that a command may make.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AllowedCalls {
    /// Those that the suites allow.
    AsSuitesSay,
    /// Those that change nothing, whatever the suites allow.
    OnlyReading,
}

/// A campaign that flags ask for.
#[derive(Debug, Clone)]
pub(crate) struct FlaggedCampaign {
    /// Its settings as YAML.
    pub(crate) settings: Option<String>,
    /// The flags that stand for them, quoted for a shell.
    pub(crate) flags: String,
    /// Which tools it may call, and with what.
    pub(crate) may_call: CallArgs,
}

/// Servers that the command line names for suites.
#[derive(Debug, Clone)]
pub(crate) struct GivenServers {
    /// A suite that has the servers.
    pub(crate) suite: AdHocSuite,
    /// Which tools may be called, and with what.
    pub(crate) may_call: CallArgs,
}

/// A suite that was made from the command line.
#[derive(Debug, Clone)]
pub(crate) struct AdHocSuite {
    /// Stands where other suites have the name of their file.
    pub(crate) name: PathBuf,
    pub(crate) text: String,
    /// The command line that asked for it.
    pub(crate) asked: CommandLine,
    /// The tools that flags name.
    pub(crate) tools: Vec<FlaggedTool>,
    /// The tools whose `arguments` were found by calling.
    pub(crate) found_arguments: BTreeSet<String>,
    /// The tools that did not answer before the run.
    pub(crate) silent_tools: BTreeSet<String>,
    /// Words that hold secrets.
    pub(crate) hidden: Vec<HiddenWord>,
}

/// A tool that a flag names, or a pattern of tools.
#[derive(Debug, Clone)]
pub(crate) struct FlaggedTool {
    pub(crate) flag: &'static str,
    pub(crate) tool: String,
}

impl FlaggedTool {
    /// Returns true if the flag stands for a tool; `--arguments` takes names only.
    pub(crate) fn is_match(&self, tool: &str) -> bool {
        if self.flag == "--arguments" { self.tool == tool } else { is_named(&self.tool, tool) }
    }

    /// Returns true if it may stand for several tools.
    pub(crate) fn is_pattern(&self) -> bool {
        self.flag != "--arguments" && self.tool.contains(['*', '?', '[', '{'])
    }
}

/// A word of the command line that holds a secret.
#[derive(Debug, Clone)]
pub(crate) struct HiddenWord {
    pub(crate) typed: String,
    /// The word without its secret.
    pub(crate) shown: String,
}

impl SuiteArgs {
    /// Returns true if flags select some of the cases.
    pub(crate) fn narrows_cases(&self) -> bool {
        !self.filter.is_empty() || !self.row.is_empty() || self.last_failed
    }

    /// Returns true if the command line names suites, and no servers for them.
    pub(crate) fn are_files(&self) -> bool {
        self.adhoc.is_none() && self.given.is_none()
    }

    /// The tools that flags name.
    pub(crate) fn flagged_tools(&self) -> &[FlaggedTool] {
        let suite = self.adhoc.as_ref().or(self.given.as_ref().map(|given| &given.suite));
        suite.map_or(&[], |suite| &suite.tools)
    }

    /// A number in the place of a suite.
    pub(crate) fn number(&self) -> Option<&str> {
        let is_number = |word: &&String| word.parse::<u64>().is_ok() && !Path::new(word).exists();
        self.paths.iter().find(is_number).map(String::as_str)
    }

    /// The folder for state; unless the user names it, it is never reached through a link.
    pub(crate) fn state_folder(&self, first: &Path) -> FolderPlace {
        let beside = || FolderPlace::resolve(first.parent().unwrap_or(Path::new(""))).below(".mcprove");
        self.state_dir.clone().unwrap_or_else(beside)
    }

    /// Loads and plans the named suites; mistakes are shown.
    pub(crate) fn plan(&self, registry: ChosenRegistry, calls: AllowedCalls, console: &Console) -> Result<Plan, Exit> {
        let mut sources = Sources::default();
        let mut mistakes = Vec::new();
        let (selection, mut suites): (_, Vec<_>) = if let Some(adhoc) = &self.adhoc {
            let selection = self.selection(Vec::new(), std::slice::from_ref(&adhoc.name), &mut sources, &mut mistakes);
            (selection, adhoc.load(&mut sources, console).map_err(|found| mistakes.extend(found)).into_iter().collect())
        } else {
            let found = paths::find(&self.paths);
            let doubtful = found.doubtful.iter().map(|file| passed_over(file));
            let skipped: Vec<Diagnostic> = doubtful.chain(found.links.iter().map(SkippedLink::warning)).collect();
            console.diagnostics(&skipped, &Sources::default());
            let nothing: Vec<&String> = found.unmatched.iter().chain(&found.only_parts).collect();
            for reason in &nothing {
                console.error(reason, None);
            }
            if !nothing.is_empty() {
                return Err(Exit::Nothing);
            }
            let selection = self.selection(found.lines, &found.files, &mut sources, &mut mistakes);
            let servers = if self.given.is_some() { Servers::Given } else { Servers::Written };
            let files =
                |path: &Path| self.recorded.as_ref().map_or_else(|| read_suite(path), |recorded| recorded.read(path));
            (selection, load_all(&found.files, servers, &files, &mut sources, &mut mistakes, console))
        };
        if let Some(given) = &self.given {
            given.put_into(&mut suites, &mut sources, &mut mistakes, console);
        }
        for loaded in &mut suites {
            // Cases are chosen by it, so it is known before they are planned.
            loaded.suite.read_only = calls == AllowedCalls::OnlyReading;
            loaded.suite.environment = Some(Arc::clone(&console.environment.variables));
            if let Some(campaign) = &self.campaign {
                campaign.add_to(loaded, &mut sources, &mut mistakes);
            }
        }
        if !mistakes.is_empty() {
            return Err(console.refuse(&mistakes, &sources));
        }
        let sources = Arc::new(sources);
        let mut plan = plan::build(suites, selection, registry.get(), Arc::clone(&sources))
            .map_err(|mistakes| console.refuse(&mistakes, &sources))?;
        // No server of a recording is started, so that nothing copies its stores.
        if self.recorded.is_none() {
            refuse_bad_stores(&plan, console)?;
        }
        if self.campaign.is_some() {
            plan = plan.only_block(campaign::KEY);
        }
        // An empty plan is reported by the command.
        if plan.cases().next().is_some() {
            let missed = plan::unmatched_places(&plan).into_iter().map(Diagnostic::into_warning);
            console.diagnostics(&missed.collect::<Vec<_>>(), &plan.sources);
        }
        Ok(plan)
    }

    fn selection(
        &self,
        lines: Vec<plan::LineSelection>,
        files: &[PathBuf],
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
                // If all of it runs again, the run is a whole one.
                Ok(found) if files.iter().all(|file| found.files.contains(&file.display().to_string())) => {}
                Ok(found) => failed = Some(found),
                Err(reason) => {
                    let message = format!("there is no last run to take failures from: {reason}");
                    let help = "run without `--last-failed` first, or name the folder with `--state-dir`".to_owned();
                    mistakes.push(Diagnostic::without_place("no-last-run", message).with_help(help));
                }
            }
        }
        Selection { filters, lines, rows: self.row.clone(), failed, shard: self.shard.clone() }
    }
}

fn passed_over(file: &Path) -> Diagnostic {
    let message = format!("`{}` is skipped: it looks like a suite, but has no `suite:`", file.display());
    let help = "add a line such as `suite: My server`; the name of an included file begins with `_`".to_owned();
    Diagnostic::without_place("passed-over", message).with_help(help).into_warning()
}

impl SkippedLink {
    /// The link in a warning, with what to do about it.
    pub(crate) fn warning(&self) -> Diagnostic {
        let path = self.path.display();
        let named = || format!("name `{path}` itself to follow it");
        let (leads, help) = match &self.leads {
            LinkEnd::OutOf(folder) => (format!("out of `{}`", folder.display()), named()),
            LinkEnd::PassedOver => ("into a folder that is not searched".to_owned(), named()),
            LinkEnd::Nowhere => ("nowhere".to_owned(), "remove the link, or mend it".to_owned()),
        };
        let message = format!("`{path}` is skipped: it is a link that leads {leads}");
        Diagnostic::without_place("passed-over", message).with_help(help).into_warning()
    }
}

impl FlaggedCampaign {
    /// Adds the block to a suite, in the place of its own, unless there is one and no flag asks for another.
    fn add_to(
        &self,
        loaded: &mut LoadedSuite<Arc<dyn CaseSource>>,
        sources: &mut Sources,
        mistakes: &mut Vec<Diagnostic>,
    ) {
        self.may_call.add_to(&mut loaded.suite);
        let by_file = |suite: &Suite| CommandLine {
            command: AdHocCommand::Chaos,
            flags: String::new(),
            target: shell_words::quote(&suite.file).into_owned(),
            is_program: false,
        };
        let on = loaded.suite.ran_by.take().unwrap_or_else(|| by_file(&loaded.suite));
        let flags = format!("{} {}", on.flags, self.flags).trim().to_owned();
        loaded.suite.ran_by = Some(CommandLine { command: AdHocCommand::Chaos, flags, ..on });
        let is_own = |block: &plan::Block| block.key == campaign::KEY;
        if self.settings.is_none() && loaded.blocks.iter().any(is_own) {
            return;
        }
        let own = loaded.blocks.iter().find(|block| is_own(block)).map(|block| block.span.source);
        let settings = self.settings_over(own.and_then(|file| written_campaign(file, sources)));
        match campaign::block_of_flags(settings, loaded.suite.name.span, sources) {
            Ok(block) => {
                loaded.blocks.retain(|block| !is_own(block));
                loaded.blocks.push(block);
            }
            // Every suite has the same ones.
            Err(found) if mistakes.is_empty() => mistakes.extend(found),
            Err(_) => {}
        }
    }

    /// The settings of the flags, and those of the suite's own block that no flag gives.
    fn settings_over(&self, own: Option<Value>) -> String {
        let of_flags = self.settings.as_deref().and_then(|settings| serde_json::from_str(settings).ok());
        let members = |settings: Option<Value>| match settings {
            Some(Value::Object(members)) => members,
            Some(_) | None => Map::new(),
        };
        let mut settings = members(own);
        settings.extend(members(of_flags));
        Value::Object(settings).to_string()
    }
}

/// The campaign as its file has it.
fn written_campaign(file: SourceId, sources: &Sources) -> Option<Value> {
    Some(parse(sources, file).ok()?.get(campaign::KEY)?.to_json())
}

impl GivenServers {
    /// Puts the servers in the place of those that suites name themselves.
    fn put_into(
        &self,
        suites: &mut [LoadedSuite<Arc<dyn CaseSource>>],
        sources: &mut Sources,
        mistakes: &mut Vec<Diagnostic>,
        console: &Console,
    ) {
        let given = match self.suite.load(sources, console) {
            Ok(given) => given.suite.servers,
            Err(found) => return mistakes.extend(found),
        };
        for LoadedSuite { suite, .. } in suites {
            let own = std::mem::take(&mut suite.servers);
            suite.servers = match (own.first(), given.first()) {
                _ if own.len() > 1 => {
                    let message = format!("the suite has {} servers, so that one cannot take their place", own.len());
                    let help = "leave out the server of the command line, and change those of the suite";
                    mistakes.push(
                        Diagnostic::error("several-servers", message, suite.name.span).with_help(help.to_owned()),
                    );
                    continue;
                }
                // Tests may name it.
                (Some((name, _)), Some((_, server))) if given.len() == 1 => {
                    std::iter::once((name.clone(), server.clone())).collect()
                }
                _ => given.clone(),
            };
            suite.is_server_given = true;
            self.may_call.add_to(suite);
            let asked = &self.suite.asked;
            let word = builtin_name(&suite.file).map_or_else(|| suite.file.clone(), |name| format!("builtin:{name}"));
            let flags = format!("{} {}", shell_words::quote(&word), asked.flags).trim_end().to_owned();
            suite.ran_by = Some(CommandLine { flags, ..asked.clone() });
        }
    }
}

impl AdHocSuite {
    /// Loads the suite; warnings about other files are shown.
    pub(crate) fn load(
        &self,
        sources: &mut Sources,
        console: &Console,
    ) -> Result<LoadedSuite<Arc<dyn CaseSource>>, Vec<Diagnostic>> {
        let files = |path: &Path| if path == self.name { Ok(self.text.clone()) } else { read_text(path, WRITTEN) };
        let mut warnings = Vec::new();
        let loaded = block::load(&self.name, &files, sources, &mut warnings);
        let elsewhere = warnings.into_iter().filter(|one| one.label.iter().any(|label| !self.holds(label, sources)));
        console.diagnostics(&elsewhere.collect::<Vec<_>>(), sources);
        self.finish(loaded, sources)
    }

    /// Marks the suite as ad hoc; mistakes lose their place in it, since there is no file, and their secrets.
    pub(crate) fn finish<S>(
        &self,
        loaded: Result<LoadedSuite<S>, Vec<Diagnostic>>,
        sources: &Sources,
    ) -> Result<LoadedSuite<S>, Vec<Diagnostic>> {
        let public = |text: String| self.hidden.iter().fold(text, |text, word| text.replace(&word.typed, &word.shown));
        let mut loaded = loaded.map_err(|found| -> Vec<Diagnostic> {
            let elsewhere = |label: Option<Label>| label.filter(|label| !self.holds(label, sources));
            let told = found.into_iter().map(|one| Diagnostic {
                message: public(one.message),
                help: one.help.map(public),
                label: elsewhere(one.label),
                other: elsewhere(one.other),
                ..one
            });
            told.collect()
        })?;
        loaded.suite.asked = Some(self.asked.clone());
        loaded.suite.found_arguments.clone_from(&self.found_arguments);
        loaded.suite.silent_tools.clone_from(&self.silent_tools);
        Ok(loaded)
    }

    fn holds(&self, label: &Label, sources: &Sources) -> bool {
        sources.file(label.span.source).name == self.name.display().to_string()
    }
}

/// Loads suites; warnings are shown, mistakes are collected.
fn load_all(
    paths: &[PathBuf],
    servers: Servers,
    files: &dyn Files,
    sources: &mut Sources,
    mistakes: &mut Vec<Diagnostic>,
    console: &Console,
) -> Vec<LoadedSuite<Arc<dyn CaseSource>>> {
    let mut suites = Vec::new();
    let mut warnings = Vec::new();
    for path in paths {
        match block::load_with(servers, path, files, sources, &mut warnings) {
            Ok(loaded) => suites.push(loaded),
            Err(found) => mistakes.extend(found.into_iter().map(|mistake| with_near_suite(mistake, path))),
        }
    }
    console.diagnostics(&warnings, sources);
    suites
}

/// The mistake with the suite that may be meant, where it is that there is no such file.
fn with_near_suite(mistake: Diagnostic, path: &Path) -> Diagnostic {
    let is_about_path = mistake.help.is_none() && mistake.label.is_none() && !path.exists();
    match paths::near_suite(path).filter(|_| is_about_path) {
        Some(near) => mistake.with_help(format!("did you mean `{}`?", near.display())),
        None => mistake,
    }
}

/// The text of a suite that is a file, or part of the program.
pub(crate) fn read_suite(path: &Path) -> io::Result<String> {
    builtin_of(path).map_or_else(|| read_text(path, WRITTEN), |text| Ok(text.to_owned()))
}

/// The text of a suite that is part of the program.
pub(crate) fn builtin_of(path: &Path) -> Option<&'static str> {
    path.to_str().and_then(builtin_name).and_then(builtin_text)
}

/// Refuses a plan with a store that cannot be copied, or of which nothing tells the server.
pub(crate) fn refuse_bad_stores(plan: &Plan, console: &Console) -> Result<(), Exit> {
    let options = Options { environment: Arc::clone(&console.environment.variables), ..Options::new(0, Stop::new().1) };
    let mistakes = store_mistakes(plan, &options);
    // A suite that was made from flags has no lines to show.
    let has_lines = |plan: &Plan| plan.suites.iter().all(|planned| !planned.suite.has_given_servers());
    let mistakes: Vec<Diagnostic> = if has_lines(plan) {
        mistakes
    } else {
        mistakes.into_iter().map(|mistake| Diagnostic { label: None, other: None, ..mistake }).collect()
    };
    if mistakes.is_empty() { Ok(()) } else { Err(console.refuse(&mistakes, &plan.sources)) }
}

/// A registry that is read on first use.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ChosenRegistry(Option<&'static Registry>);

impl ChosenRegistry {
    pub(crate) const BUILTIN: Self = Self(None);

    pub(crate) fn get(self) -> &'static Registry {
        self.0.unwrap_or_else(Registry::builtin)
    }
}

/// The registry in that file, or the built-in one.
pub(crate) fn registry(path: Option<&Path>, console: &Console) -> Result<ChosenRegistry, Exit> {
    /// The text of the last registry that was read, and what it says.
    static KNOWN: Mutex<Option<(String, &Registry)>> = Mutex::new(None);
    let Some(path) = path else { return Ok(ChosenRegistry::BUILTIN) };
    let (sources, id) = console.read("registry", path, WRITTEN, None)?;
    let text = &sources.file(id).text;
    let mut known = KNOWN.lock();
    if let Some((_, registry)) = known.as_ref().filter(|(known, _)| known == text) {
        return Ok(ChosenRegistry(Some(registry)));
    }
    let registry = Registry::load(&sources, id).map_err(|mistakes| console.refuse(&mistakes, &sources))?;
    // One registry serves the whole run of the program, and all runs of a watch unless it changes.
    let registry: &'static Registry = Box::leak(Box::new(registry));
    *known = Some((text.clone(), registry));
    Ok(ChosenRegistry(Some(registry)))
}

/// Explains why a plan has no cases.
pub(crate) fn require_cases(plan: &Plan, console: &Console) -> Result<(), Exit> {
    if plan.selection.failed.as_ref().is_some_and(|failed| *failed == Failed::default()) {
        console.note("nothing failed last time");
        return Err(Exit::Passed);
    }
    let plan = plan.whole();
    if plan.cases().next().is_some() {
        return Ok(());
    }
    let missed = [plan::unmatched_places(plan), plan::unmatched_words(plan)].concat();
    console.diagnostics(&missed, &plan.sources);
    let (message, help) = if plan.selection.is_everything() {
        ("the suites plan no cases", "add `tests:`, or a block such as `negative_path: { tools: \"*\" }`")
    } else {
        ("no case matches the filters", "`mcprove plan` lists the cases and their names")
    };
    if missed.is_empty() {
        console.error(message, Some(help));
    }
    Err(Exit::Nothing)
}

/// Refuses a run in CI that a forgotten `only` would cut down to almost nothing.
pub(crate) fn refuse_only(plan: &Plan, console: &Console) -> Result<(), Exit> {
    let is_ci = console.environment.is_ci;
    let tests = plan.suites.iter().flat_map(|planned| &planned.suite.tests);
    let found: Vec<Diagnostic> = tests
        .filter_map(|test| {
            let message = format!("only tests such as `{}` would run", test.name.value);
            let mistake = if is_ci {
                Diagnostic::error("only-in-ci", message, test.extras.only?)
            } else {
                Diagnostic::warning("only-marked", message, test.extras.only?)
            };
            Some(mistake.with_help("remove `only` before you commit".to_owned()))
        })
        .collect();
    console.diagnostics(&found, &plan.sources);
    if is_ci && !found.is_empty() { Err(Exit::Usage) } else { Ok(()) }
}
