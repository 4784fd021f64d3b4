//! One watch: what it knows of the suites and files, and the runs that follow from changes and keys.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use super::affected::{AffectedSuite, affected, reason, stages, within_lines};
use super::debounce::Debounce;
use super::events::FolderEvents;
use super::keys::{self, Key};
use super::outline::{SuiteOutline, follow_line};
use super::own_changes::OwnChanges;
use super::watched::{FileStates, Watched};
use super::{Happening, RunState};
use crate::cli::commands::run::{RunArgs, RunRequest, run};
use crate::cli::commands::signals::SignalScope;
use crate::cli::console::Console;
use crate::cli::exit::Exit;
use crate::cli::{paths, report_orphans, state};
use crate::files::{FilePlace, FolderPlace};
use crate::report::Format;
use crate::suite::Servers;

/// The time between two looks where the system does not tell of changes.
const POLL_INTERVAL: Duration = Duration::from_millis(500);

/// A watch.
pub(super) struct Session<'a> {
    console: &'a Console,
    request: RunRequest,
    typed: TypedRun,
    /// The folder for state, the same one whichever suite is run.
    state: FolderPlace,
    /// The suites of the run, as they were last read.
    suites: Vec<SuiteOutline>,
    /// The lines that were asked for, by suite; they move with their tests.
    lines: BTreeMap<String, Vec<usize>>,
    watched: Watched,
    files: FileStates,
    own_changes: OwnChanges,
    /// `None` where the system tells nothing.
    events: Option<FolderEvents>,
    run_state: Arc<RunState>,
    last: Exit,
    /// True if the program shall end.
    quits: bool,
}

/// The run as it was typed.
struct TypedRun {
    words: Vec<String>,
    filters: Vec<String>,
    last_failed: bool,
    state_dir: Option<FolderPlace>,
    reports: Vec<(Format, PathBuf)>,
    /// The filter that was typed meanwhile.
    filter: String,
}

/// A run that is to be made.
#[derive(Default)]
struct Rerun {
    words: Vec<String>,
    only_failed: bool,
    updates: bool,
}

impl<'a> Session<'a> {
    /// Looks at the suites; fails where there is nothing to watch.
    pub(super) fn new(
        args: RunArgs,
        sender: Sender<Happening>,
        run_state: Arc<RunState>,
        console: &'a Console,
    ) -> Result<Self, Exit> {
        let typed = TypedRun {
            words: args.suites.paths.clone(),
            filters: args.suites.filter.clone(),
            last_failed: args.suites.last_failed,
            state_dir: args.suites.state_dir.clone(),
            reports: args.report.iter().map(|(format, place)| (*format, place.to_path_buf())).collect(),
            filter: String::new(),
        };
        let found = paths::find(&typed.words);
        let first = found.files.first().cloned().unwrap_or_default();
        let state = args.suites.state_folder(&first);
        let mut written: Vec<PathBuf> = typed.reports.iter().map(|(_, path)| path.clone()).collect();
        written.extend(args.transcript.as_deref().map(Path::to_owned));
        written.push(state.to_path_buf());
        let mut lines: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        for asked in found.lines {
            lines.entry(asked.file).or_default().push(asked.line);
        }
        let events = FolderEvents::new(sender).inspect_err(|error| note_polling(error, console)).ok();
        let mut session = Self {
            console,
            request: RunRequest { signals: SignalScope::Run, ..RunRequest::from(args) },
            watched: Watched { suite_folders: paths::suite_folders(&typed.words), written, ..Watched::default() },
            typed,
            state,
            suites: Vec::new(),
            lines,
            files: FileStates::default(),
            own_changes: OwnChanges::default(),
            events,
            run_state,
            last: Exit::Passed,
            quits: false,
        };
        session.suites = session.read_suites(&found.files, &[], &BTreeSet::new());
        session.watched.set_suites(&session.suites);
        let watches = |suite: &SuiteOutline| !(suite.reads.is_empty() && suite.sources.is_empty());
        if session.watched.suite_folders.is_empty() && !session.suites.iter().any(watches) {
            let help = "name a suite file or a folder; built-in suites are part of mcprove";
            return Err(console.fail(Exit::Usage, "there is nothing to watch", Some(help)));
        }
        session.files = session.watched.look();
        session.follow_folders();
        Ok(session)
    }

    /// The first run; fails like that where a suite that is named is not there.
    pub(super) fn begin(&mut self) -> Result<(), Exit> {
        let is_missing = |suite: &SuiteOutline| suite.text.is_none() && !suite.reads.iter().any(|path| path.exists());
        let are_missing = self.suites.is_empty() || self.suites.iter().any(is_missing);
        self.run_all();
        if are_missing {
            return Err(self.last);
        }
        if self.suites.iter().any(|suite| suite.starts_server) && self.watched.sources.is_empty() {
            self.console.note("no server names its sources under `watch:`, so only changes of suites are seen");
        }
        Ok(())
    }

    /// Waits for changes and keys until the program shall end.
    pub(super) fn follow(mut self, happenings: &Receiver<Happening>, has_keys: bool) -> Exit {
        let clock = Instant::now();
        let mut debounce = Debounce::default();
        let mut is_typing = false;
        self.prompt(has_keys);
        while !self.quits {
            let polls = self.events.is_none().then_some(POLL_INTERVAL);
            let wait = debounce.wait(clock.elapsed()).or(polls).filter(|_| !is_typing);
            let happening = match wait {
                Some(wait) => happenings.recv_timeout(wait),
                None => happenings.recv().map_err(RecvTimeoutError::from),
            };
            let has_run = match happening {
                Ok(Happening::Change) => {
                    self.events.iter().for_each(FolderEvents::listen_again);
                    debounce.on_change(clock.elapsed());
                    false
                }
                Ok(Happening::Quit | Happening::Key(Key::Quit)) | Err(RecvTimeoutError::Disconnected) => break,
                Ok(Happening::Key(key)) => {
                    is_typing = key == Key::Filter;
                    self.on_key(key)
                }
                Ok(Happening::Filter(filter)) => {
                    is_typing = false;
                    self.typed.filter = filter;
                    self.console.clear_screen();
                    self.run_all();
                    true
                }
                Err(RecvTimeoutError::Timeout) => self.events.is_none() && self.on_change(),
            };
            let has_rerun = !is_typing && debounce.take_due(clock.elapsed()) && self.on_change();
            if !self.quits && (has_run || has_rerun) {
                self.prompt(has_keys);
            }
        }
        self.last
    }

    /// Does what a key asks for; returns true if something was shown.
    fn on_key(&mut self, key: Key) -> bool {
        match key {
            Key::Quit | Key::Filter => return false,
            Key::Help => self.console.note(&keys::long_help()),
            Key::All | Key::Failed | Key::Update => {
                self.console.clear_screen();
                let (only_failed, updates) = (key == Key::Failed, key == Key::Update);
                self.run_each([Rerun { words: self.all_words(), only_failed, updates }]);
            }
        }
        true
    }

    /// Looks for what changed, and runs what is affected; returns true if something was shown.
    fn on_change(&mut self) -> bool {
        let seen = self.watched.look();
        let changed = self.files.changes(&seen);
        self.files = seen;
        if changed.is_empty() {
            self.follow_folders();
            return false;
        }
        let found = paths::find(&self.typed.words);
        let suites = self.read_suites(&found.files, &self.suites, &changed);
        let before = std::mem::replace(&mut self.suites, suites);
        self.follow_lines(&before);
        self.watched.set_suites(&self.suites);
        // What is watched only now is as it is; everything else may have changed again.
        self.files.add_new(self.watched.look());
        self.follow_folders();
        let affected = within_lines(affected(&changed, &before, &self.suites), &self.lines, &self.suites);
        if affected.is_empty() {
            return self.note_gone(&before);
        }
        self.rerun(&changed, &affected);
        true
    }

    fn rerun(&mut self, changed: &BTreeSet<PathBuf>, affected: &[AffectedSuite]) {
        let files: Vec<PathBuf> = self.suites.iter().map(|suite| PathBuf::from(&suite.file)).collect();
        let failed = state::last_failed(&self.state, &files).unwrap_or_default();
        self.console.clear_screen();
        self.console.note(&reason(changed, affected));
        let stages = stages(affected, &self.suites, &failed);
        // All of them are about what failed, if the user asked for that.
        let skipped = if self.typed.last_failed { stages.len() - 1 } else { 0 };
        let runs = stages.into_iter().skip(skipped);
        let runs = runs.map(|stage| Rerun { words: stage.words, only_failed: stage.only_failed, updates: false });
        self.run_each(runs);
    }

    fn run_all(&mut self) {
        self.run_each([Rerun { words: self.all_words(), ..Rerun::default() }]);
    }

    /// The words of the command line, with the lines at which their tests are now.
    fn all_words(&self) -> Vec<String> {
        if self.lines.is_empty() {
            return self.typed.words.clone();
        }
        let words = self.suites.iter().flat_map(|suite| match self.lines.get(&suite.file) {
            Some(lines) => lines.iter().map(|line| format!("{}:{line}", suite.file)).collect(),
            None => vec![suite.file.clone()],
        });
        words.collect()
    }

    /// Runs one after another, until one is interrupted; then leaves out what runs change themselves.
    fn run_each(&mut self, reruns: impl IntoIterator<Item = Rerun>) {
        let mut was_partial = false;
        for rerun in reruns {
            if was_partial {
                self.console.note("that is what failed; now everything that is affected:");
            }
            was_partial = rerun.only_failed;
            self.run(rerun);
            if self.quits || self.last == Exit::Interrupted {
                break;
            }
        }
        self.leave_out_own_changes();
    }

    fn run(&mut self, rerun: Rerun) {
        let filter = Some(&self.typed.filter).filter(|filter| !filter.is_empty());
        let first = rerun.words.first().map_or(Path::new(""), Path::new);
        let args = &mut self.request.args;
        args.suites.filter = self.typed.filters.iter().chain(filter).cloned().collect();
        args.suites.last_failed = rerun.only_failed || self.typed.last_failed;
        args.suites.state_dir.clone_from(&self.typed.state_dir);
        if rerun.words != self.typed.words && *args.suites.state_folder(first) != *self.state {
            args.suites.state_dir = Some(self.state.clone());
        }
        args.suites.paths = rerun.words;
        (args.recording.update, args.recording.yes) = (rerun.updates, rerun.updates);
        let reports = self.typed.reports.iter();
        args.report = reports.map(|(format, path)| (*format, FilePlace::resolve(path))).collect();
        let run = || run(&self.request, self.console).unwrap_or_else(|exit| exit);
        let (exit, was_interrupted) = self.run_state.during(run);
        self.last = exit;
        // Ctrl-C came when the run did not listen yet, or any more.
        self.quits |= was_interrupted && self.last != Exit::Interrupted;
        report_orphans(self.console);
    }

    fn leave_out_own_changes(&mut self) {
        let mut changed = self.files.changes(&self.watched.look());
        changed.retain(|path| !self.watched.files.contains(path));
        for path in self.own_changes.after_run(&changed) {
            let path_text = path.display();
            self.console.note(&format!("`{path_text}` changes with every run, so it is not watched any more"));
            self.files.forget(&path);
            self.watched.written.push(path);
        }
    }

    /// Reads the suites of which a file changed; the others are known.
    fn read_suites(
        &self,
        files: &[PathBuf],
        before: &[SuiteOutline],
        changed: &BTreeSet<PathBuf>,
    ) -> Vec<SuiteOutline> {
        let servers = if self.request.args.suites.given.is_some() { Servers::Given } else { Servers::Written };
        let read = |file: &PathBuf| {
            let known = before.iter().find(|suite| Path::new(&suite.file) == file);
            let unchanged = known.filter(|suite| suite.reads.is_disjoint(changed));
            unchanged.cloned().unwrap_or_else(|| SuiteOutline::read(file, servers, known))
        };
        files.iter().map(read).collect()
    }

    fn follow_lines(&mut self, before: &[SuiteOutline]) {
        let text = |suites: &'_ [SuiteOutline], file: &str| {
            suites.iter().find(|suite| suite.file == file).and_then(|suite| suite.text.clone())
        };
        for (file, lines) in &mut self.lines {
            let (old, new) = (text(before, file), text(&self.suites, file));
            for line in lines {
                *line = follow_line(*line, old.as_ref(), new.as_ref());
            }
        }
    }

    fn follow_folders(&mut self) {
        let Some(events) = &mut self.events else { return };
        if let Err(error) = events.follow(&self.files.folders) {
            note_polling(&error, self.console);
            self.events = None;
        }
    }

    /// Names suites that are not there any more; returns true if there are any.
    fn note_gone(&self, before: &[SuiteOutline]) -> bool {
        let is_gone = |suite: &&SuiteOutline| self.suites.iter().all(|kept| kept.file != suite.file);
        let gone: Vec<&SuiteOutline> = before.iter().filter(is_gone).collect();
        for suite in &gone {
            self.console.note(&format!("`{}` is gone", suite.file));
        }
        !gone.is_empty()
    }

    fn prompt(&self, has_keys: bool) {
        let counted = |count: usize, noun: &str| format!("{count} {noun}{}", if count == 1 { "" } else { "s" });
        let sources = self.files.count(|path| self.suites.iter().any(|suite| suite.has_source(path)));
        let sources = if sources == 0 { String::new() } else { format!(" and {}", counted(sources, "source")) };
        let filter = &self.typed.filter;
        let filter = if filter.is_empty() { String::new() } else { format!(", filter `{filter}`") };
        let suites = counted(self.suites.len(), "suite");
        let keys = if has_keys { keys::SHORT_HELP } else { "Ctrl-C quits" };
        self.console.note(&format!("watching {suites}{sources}{filter}: {keys}"));
    }
}

fn note_polling(error: &notify::Error, console: &Console) {
    console
        .note(&format!("warning: the system does not tell of changes ({error}); files are looked at twice a second"));
}
