//! Watches a run for its user: shows progress, writes reports and transcripts.

use std::ffi::OsStr;
use std::io::{self, BufRead as _, BufReader, Read as _};
use std::path::Path;

use clap::Args;
use serde_json::json;
use tokio::time::Instant;

use super::observed_calls::ObservedCalls;
use super::run_findings::Severities;
use super::server_ends::ServerEnds;
use super::serving::{ServedCalls, ServingPolicy};
use crate::baseline::BaselineWriter;
use crate::cli::console::Console;
use crate::cli::exit::Exit;

use crate::event::{Event, Outcome, Proof, RunEnd, RunFinished, Section, UnjudgedTools};
use crate::files::{Access, FilePlace, Folder, FolderPlace};
use crate::findings::{Keeper, KeptFinding};
use crate::prove::{RunRecorder, RunRecording};
use crate::redact::Redactor;
use crate::report::sink::{self, EventLog, SinkError};
use crate::report::{self, Cases, Detail, Details, FailureOrder, Families, Format, Live, Report, View, ndjson};
use crate::runner::{Observer, SessionFrames, Stop};
use crate::source::file::RECORDED;
use crate::source::visible_line;

/// The parts of a run that are shown at its end.
#[derive(Debug, Args)]
pub(crate) struct DetailArgs {
    /// Shows every case with its time, its last requests and their answers, and all details.
    #[arg(long, short)]
    verbose: bool,
    /// Shows only failures and totals.
    #[arg(long, short, conflicts_with_all = ["verbose", "coverage", "details"])]
    quiet: bool,
    /// Shows fault coverage for each family of faults; a threshold shows it, too.
    #[arg(long)]
    coverage: bool,
    /// Shows what is only counted otherwise; several are separated by commas.
    #[arg(long, value_name = "PART", value_delimiter = ',')]
    details: Vec<Detail>,
    /// The order in which failures are shown.
    #[arg(skip)]
    pub(crate) order: FailureOrder,
}

impl DetailArgs {
    pub(crate) fn view(&self) -> View {
        let cases = match (self.quiet, self.verbose) {
            (true, _) => Cases::Failed,
            (false, true) => Cases::All,
            (false, false) => Cases::NotPassed,
        };
        let families = if self.coverage { Families::Shown } else { Families::WhereGated };
        let details = if self.verbose { Details::ALL } else { self.details.iter().copied().collect() };
        View { order: self.order, cases, families, details, ..View::SHORT }
    }
}

/// The name of a case, and its outcome.
pub(crate) type CaseOutcome = (String, Outcome);

/// Everything that watches one run.
pub(crate) struct RunWatch {
    report: Report,
    live: Live,
    targets: Vec<(Format, FilePlace)>,
    /// Recordings grow with the run.
    logs: Vec<EventLog>,
    transcripts: Option<FolderPlace>,
    sessions: usize,
    /// The beginning of the run, where a report has a timeline.
    traced_since: Option<Instant>,
    /// The failures that a baseline could list.
    failures: BaselineWriter,
    /// Writes the run down, where it is to be played back.
    pub(crate) recorder: Option<RunRecorder>,
    /// The end of a run of which something is still to be proven.
    held: Option<RunFinished>,
    /// Takes secrets out of what was written down, and out of the names of tools.
    redactor: Redactor,
    /// The parts of the run that are shown at its end.
    pub(crate) view: View,
    /// Keeps findings, where they are to be kept.
    pub(crate) keeper: Option<Keeper>,
    /// The severities of the failures.
    pub(crate) severities: Severities,
    /// How the run ends for each server.
    pub(crate) server_ends: ServerEnds,
    /// The outcomes of calls of tools.
    pub(crate) calls: ObservedCalls,
    /// The calls that the run demands.
    pub(crate) policy: ServingPolicy,
    /// The outcomes of cases, in the order of their ends.
    pub(crate) outcomes: Vec<CaseOutcome>,
    problems: Vec<SinkError>,
}

impl RunWatch {
    /// Begins recordings; fails where a file that must grow with the run cannot be written.
    pub(crate) fn new(
        targets: &[(Format, FilePlace)],
        transcripts: Option<FolderPlace>,
        total: usize,
        console: &Console,
    ) -> Result<Self, Exit> {
        let grows = |(format, place): &(Format, FilePlace)| format.name == "ndjson" && **place != *Path::new("-");
        let (logs, targets): (Vec<_>, Vec<_>) = targets.iter().cloned().partition(grows);
        let fail = |error: SinkError| console.fail(Exit::Environment, error, None);
        // Recordings are for every report that may be made later.
        let is_traced = !logs.is_empty() || targets.iter().any(|(format, _)| ["html", "ndjson"].contains(&format.name));
        let logs = logs.iter().map(|(_, path)| EventLog::create(path)).collect::<Result<_, _>>().map_err(fail)?;
        transcripts.as_ref().map_or(Ok(()), forget_transcripts).map_err(fail)?;
        let live = Live::new(console.error_style, total);
        Ok(Self {
            report: Report::default(),
            live,
            targets,
            logs,
            transcripts,
            sessions: 0,
            traced_since: is_traced.then(Instant::now),
            failures: BaselineWriter::default(),
            recorder: None,
            held: None,
            redactor: Redactor::default(),
            view: View::SHORT,
            keeper: None,
            severities: Severities::default(),
            server_ends: ServerEnds::default(),
            calls: ObservedCalls::default(),
            policy: ServingPolicy::default(),
            outcomes: Vec::new(),
            problems: Vec::new(),
        })
    }

    /// The findings that were kept, without secrets, and how many were not.
    pub(crate) fn take_findings(&mut self, redactor: &Redactor) -> KeptFinding {
        self.keeper.take().map(|keeper| keeper.finish(redactor)).unwrap_or_default()
    }

    /// The sections that blocks wrote.
    pub(crate) fn sections(&self) -> Vec<Section> {
        self.report.run_finished().map(|finished| finished.sections.clone()).unwrap_or_default()
    }

    /// The tools that were not judged, as reports say it.
    pub(crate) fn unjudged(&self) -> Vec<UnjudgedTools> {
        self.report.run_finished().map(|finished| finished.unjudged.clone()).unwrap_or_default()
    }

    /// The calls of tools, as they were answered.
    pub(crate) fn served_calls(&self) -> ServedCalls {
        ServedCalls { servers: self.calls.by_server(), policy: self.policy }
    }

    /// The end of the run with what became of tools; one that was interrupted says itself why some were not judged, and of
    /// a part of a run that is decided with the other parts.
    fn with_tools(&self, mut finished: Box<RunFinished>) -> Event {
        let mask = |text: &str| self.redactor.text(text);
        let calls = self.served_calls();
        if let Some(facts) = &mut finished.shard {
            facts.calls.clone_from(&calls.servers);
            facts.calls.iter_mut().for_each(|calls| calls.change_texts(&mask));
        } else if !finished.interrupted {
            finished.unjudged = calls.unjudged();
            finished.unjudged.iter_mut().for_each(|tools| tools.change_texts(&mask));
        }
        if self.traced_since.is_some() {
            finished.tools = calls.tool_use();
            finished.tools.iter_mut().for_each(|tools| tools.change_texts(&mask));
        }
        finished.fails_on_flaky = self.server_ends.rules.fails_on_flaky;
        finished.servers = self.server_ends.ends(&finished);
        Event::RunFinished(finished)
    }

    /// Takes note of what travels when, for a timeline.
    pub(crate) fn trace(&mut self) {
        self.traced_since.get_or_insert_with(Instant::now);
    }

    /// Chooses how much is shown.
    pub(crate) fn show_details(&mut self, view: View) {
        self.live.show(view);
        self.view = view;
    }

    /// The recording, secrets included, and the redactor for them.
    pub(crate) fn recording(&mut self) -> Option<(RunRecording, Redactor)> {
        let redactor = self.redactor.clone();
        self.recorder.take().map(|recorder| (recorder.finish(), redactor))
    }

    /// The events so far, one a line, and the end that was held back.
    pub(crate) fn event_lines(&self) -> String {
        let end = self.held.clone().map(|finished| Event::RunFinished(Box::new(finished)));
        self.report.events().iter().chain(&end).map(ndjson::line).collect()
    }

    /// Tells the end that was held back, with what was proven meanwhile.
    pub(crate) fn close(&mut self, proof: Option<Box<Proof>>, stop: &Stop) {
        self.recorder = None;
        if let Some(finished) = self.held.take() {
            let interrupted = finished.interrupted || stop.is_set();
            let ended_by = finished.ended_by.or_else(|| stop.is_set().then(|| stop.end()));
            let mut finished = RunFinished { interrupted, ended_by, proof, ..finished };
            if let (Some(proof), Some(coverage)) = (&finished.proof, &mut finished.coverage) {
                proof.complete(&mut coverage.suites);
            }
            self.event(&Event::RunFinished(Box::new(finished)));
        }
    }

    /// Tells the end of a run that was merged from its parts.
    pub(crate) fn end(&mut self, finished: RunFinished) {
        let servers = self.server_ends.ends(&finished);
        let fails_on_flaky = self.server_ends.rules.fails_on_flaky;
        let finished = RunFinished { fails_on_flaky, servers, ..finished };
        self.tell(&Event::RunFinished(Box::new(finished)));
    }

    /// Some document shows what passed cases sent and were answered.
    fn shows_passed(&self) -> bool {
        let is_written = self.recorder.is_some() || self.traced_since.is_some();
        is_written || self.view.cases == Cases::All || self.targets.iter().any(|(format, _)| format.shows_passed)
    }

    fn tell(&mut self, event: &Event) {
        if let Event::RunStarted(_) = event
            && !self.shows_passed()
        {
            self.report = std::mem::take(&mut self.report).lean();
        }
        for log in &mut self.logs {
            Self::note(&mut self.problems, log.write(event));
        }
        match event {
            Event::CaseFinished(result) => {
                self.failures.case(result);
                self.severities.case(result);
                self.server_ends.case(result);
                self.calls.case(result);
                self.outcomes.push((result.case.name.clone(), result.outcome));
            }
            Event::SessionJudged(judged) => {
                self.failures.session(judged);
                self.severities.session(judged);
                self.server_ends.session(judged);
            }
            Event::RunStarted(_)
            | Event::ServerReady(_)
            | Event::ToolsChosen(_)
            | Event::CaseStarted(_)
            | Event::SessionTraced(_)
            | Event::RunFinished(_) => {}
        }
        self.live.apply(event);
        self.report.apply(event);
    }

    /// Writes the reports and shows the run; returns the failures for a baseline, and whether all reports were written.
    pub(crate) fn finish(mut self, end: RunEnd, console: &Console) -> (BaselineWriter, Result<(), Exit>) {
        let view = View { failures: self.live.finish(), ..self.view };
        self.report.cut_off(end);
        let mut pages = Vec::new();
        let mut by_server = None;
        for (format, path) in &self.targets {
            if sink::is_by_server(path) {
                let parts = by_server.get_or_insert_with(|| self.report.by_server());
                for (server, part) in parts {
                    let place = sink::place_of_server(path, server);
                    let document = report::render(format.name, part, &console.style_for(&place)).unwrap_or_default();
                    self.problems.extend(sink::write(&place, &document).err());
                }
                continue;
            }
            let document = report::render(format.name, &self.report, &console.style_for(path)).unwrap_or_default();
            match sink::write(path, &document) {
                // The others are read by programs.
                Ok(()) if format.name == "html" => {
                    pages.push(format!("  page   {}\n", visible_line(&path.to_string_lossy())));
                }
                Ok(()) => {}
                Err(problem) => self.problems.push(problem),
            }
        }
        // A document on standard output must stay a document.
        let has_document = self.targets.iter().any(|(_, place)| **place == *Path::new("-"));
        let summary = || report::summary(&self.report, view, &console.style) + &pages.concat();
        let shown = has_document || console.data(&summary()) == Exit::Passed;
        self.problems.iter().for_each(|problem| console.error(problem, None));
        (self.failures, if shown && self.problems.is_empty() { Ok(()) } else { Err(Exit::Environment) })
    }

    /// Remembers the first problem of each kind of writing; the run goes on.
    fn note<T>(problems: &mut Vec<SinkError>, written: Result<T, SinkError>) {
        let is_known = |problem: &SinkError| problems.iter().any(|known| known.path == problem.path);
        if let Some(problem) = written.err().filter(|problem| !is_known(problem)) {
            problems.push(problem);
        }
    }
}

impl Observer for RunWatch {
    fn event(&mut self, event: &Event) {
        if let Some(keeper) = &mut self.keeper {
            keeper.event(event);
        }
        if let Some(recorder) = &mut self.recorder {
            recorder.event(event);
            if let Event::RunFinished(finished) = event {
                self.held = Some((**finished).clone());
                return;
            }
        }
        let end = if let Event::RunFinished(end) = event { Some(self.with_tools(end.clone())) } else { None };
        self.tell(end.as_ref().unwrap_or(event));
    }

    fn on_planned(&mut self, more: usize) {
        self.live.on_planned(more);
    }

    fn session(&mut self, session: &SessionFrames, redactor: &Redactor) {
        if let Some(recorder) = &mut self.recorder {
            recorder.session(session);
        }
        self.redactor = redactor.clone();
        if let Some(keeper) = &mut self.keeper {
            keeper.session(session, redactor);
        }
        if self.calls.are_judged || self.traced_since.is_some() {
            self.calls.session(session, redactor);
        }
        if let Some(since) = self.traced_since {
            let mut traced =
                Event::SessionTraced(Box::new(session.trace(session.began.saturating_duration_since(since))));
            traced.change_texts(&|text| redactor.text(text));
            self.event(&traced);
        }
        let Some(folder) = &self.transcripts else { return };
        self.sessions += 1;
        let name = file_name(self.sessions, session);
        let mut text = String::new();
        let mut next = 1;
        for frame in &session.frames {
            text += &left_out(next, frame.seq);
            text += &redactor.value(frame.to_json()).to_string();
            text.push('\n');
            next = frame.seq.saturating_add(1);
        }
        let opened = folder.create(Access::Shared);
        let written = opened.and_then(|opened| opened.replace(&name, text.as_bytes(), Access::Shared));
        Self::note(
            &mut self.problems,
            written.map_err(|reason| SinkError { path: folder.join(name), reason, option: TRANSCRIPT_OPTION }),
        );
    }
}

/// The option that names the folder of transcripts.
const TRANSCRIPT_OPTION: Option<&str> = Some("--transcript FOLDER");

/// The line in the place of frames that were not kept.
fn left_out(next: u32, seq: u32) -> String {
    match seq.saturating_sub(next) {
        0 => String::new(),
        count => json!({"frame": next, "left_out": count}).to_string() + "\n",
    }
}

/// Removes the transcripts of an earlier run, so that the folder tells of one run; everything else stays.
fn forget_transcripts(place: &FolderPlace) -> Result<(), SinkError> {
    let Ok(folder) = place.open() else { return Ok(()) };
    for entry in folder.entries().unwrap_or_default() {
        if is_transcript(&folder, &entry.name) {
            folder.remove_file(&entry.name).map_err(|reason| SinkError {
                path: place.join(&entry.name),
                reason,
                option: TRANSCRIPT_OPTION,
            })?;
        }
    }
    Ok(())
}

/// Returns true if a file is named like a transcript and begins like one.
fn is_transcript(folder: &Folder, name: &OsStr) -> bool {
    let text = name.to_string_lossy();
    let number = text.split('-').next().unwrap_or_default();
    let is_named = text.ends_with(".ndjson") && number.len() >= 3 && number.bytes().all(|byte| byte.is_ascii_digit());
    let first_line = || -> io::Result<String> {
        let mut line = String::new();
        BufReader::new(folder.open_to_read(name)?.take(RECORDED)).read_line(&mut line)?;
        Ok(line)
    };
    let line = if is_named { first_line().unwrap_or_default() } else { String::new() };
    let frame: Option<serde_json::Value> = serde_json::from_str(&line).ok();
    let has = |keys: &[&str]| frame.as_ref().is_some_and(|frame| keys.iter().all(|key| frame.get(key).is_some()));
    has(&["frame", "at_us", "direction", "channel"]) || has(&["frame", "left_out"])
}

/// `003-users-2025-11-25.ndjson`; names come from suites and must not lead out of the folder.
fn file_name(number: usize, session: &SessionFrames) -> String {
    let plain = |text: &str| -> String {
        text.chars().map(|c| if c.is_alphanumeric() || c == '-' { c } else { '_' }).take(60).collect()
    };
    let file = Path::new(&session.file).file_stem().map(|stem| plain(&stem.to_string_lossy())).unwrap_or_default();
    format!("{number:03}-{file}-{}-{}.ndjson", plain(&session.server), plain(&session.revision))
}
