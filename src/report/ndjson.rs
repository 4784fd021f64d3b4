//! The events themselves, one JSON object a line, and the way back.
//!
//! A recording turns into every other document later: `mcprove report events.ndjson --as junit`.

use serde::Deserialize;
use serde_json::error::Category;

use crate::event::{Event, FORMAT as VERSION};
use crate::source::{Diagnostic, SourceId, Sources, Span};

use super::json_text::{self, Layout};
use super::{Format, limit};

pub(crate) const FORMAT: Format = Format {
    name: "ndjson",
    about: "every event, one a line; `mcprove report` makes the other documents from it",
    shows_passed: true,
    render: |report, _| report.events().iter().map(line).collect(),
};

/// The most bad lines that are reported; a file that is no recording has nothing but bad lines.
const PROBLEMS: usize = 10;

/// Events that were read back.
#[derive(Debug, Clone, PartialEq)]
pub struct EventRecording {
    /// In order.
    pub events: Vec<Event>,
    /// The oddities of a recording that can be used all the same.
    pub warnings: Vec<Diagnostic>,
}

/// One event on one line, long texts cut; ends with a line break.
pub fn line(event: &Event) -> String {
    json_text::write(&limit::event(event), Layout::Line) + "\n"
}

/// Reads a recording; a last line that was not written to its end is left out with a warning.
///
/// # Errors
///
/// Fails on every other line that is no event, on a recording of a newer format, and on text that is no recording.
pub fn read_events(source: SourceId, sources: &Sources) -> Result<EventRecording, Vec<Diagnostic>> {
    let file = sources.file(source);
    let mut reader =
        RecordingReader { source, text: &file.text, events: Vec::new(), warnings: Vec::new(), problems: Vec::new() };
    reader.check_first()?;
    for (at, _) in file.text.match_indices('\n').chain([(file.text.len(), "")]) {
        reader.line_ending_at(at);
        if reader.problems.len() >= PROBLEMS {
            break;
        }
    }
    reader.finish(&file.name)
}

struct RecordingReader<'a> {
    source: SourceId,
    text: &'a str,
    events: Vec<Event>,
    warnings: Vec<Diagnostic>,
    problems: Vec<Diagnostic>,
}

/// As much of the first event as every version has.
#[derive(Deserialize)]
struct FirstEvent {
    #[serde(rename = "run-started")]
    run_started: Option<Version>,
}

#[derive(Deserialize)]
struct Version {
    format: u32,
}

impl RecordingReader<'_> {
    fn line_ending_at(&mut self, end: usize) {
        let start = self.text[..end].rfind('\n').map_or(0, |line_break| line_break + 1);
        let line = &self.text[start..end];
        if line.trim().is_empty() {
            return;
        }
        let is_first = self.events.is_empty() && self.problems.is_empty();
        match serde_json::from_str::<Event>(line) {
            Ok(Event::RunStarted(_)) if !is_first => self.problems.push(
                Diagnostic::error("recording-joined", "a second run starts here", self.span(start, start + 16))
                    .with_help("keep each run in a recording of its own".to_owned()),
            ),
            Ok(event) => self.events.push(event),
            Err(error) if error.classify() == Category::Eof && end == self.text.len() => self.cut_off(start, end),
            Err(error) => self.problems.push(self.bad_line(&error, start, end)),
        }
    }

    /// Looks at the version before anything else, since a newer format may hold events that nobody here knows.
    fn check_first(&self) -> Result<(), Vec<Diagnostic>> {
        let Some(line) = self.text.lines().find(|line| !line.trim().is_empty()) else {
            let help = "`mcprove run SUITES --report ndjson=events.ndjson` writes a recording".to_owned();
            return Err(vec![
                Diagnostic::without_place("recording-empty", "no event is recorded here").with_help(help),
            ]);
        };
        let start = self.text.find(line).unwrap_or_default();
        let span = self.span(start, start + line.len().min(16));
        let Ok(FirstEvent { run_started: Some(version) }) = serde_json::from_str(line) else {
            let message = "this is not a recording of a run: its first line is not a `run-started` event";
            return Err(vec![
                Diagnostic::error("not-a-recording", message, span)
                    .with_help("`mcprove run SUITES --report ndjson=events.ndjson` writes one".to_owned()),
            ]);
        };
        if version.format <= VERSION {
            return Ok(());
        }
        let message =
            format!("this recording has format {}, and this program reads up to format {VERSION}", version.format);
        let help = "read it with the version of mcprove that wrote it, or a newer one".to_owned();
        Err(vec![Diagnostic::error("recording-newer", message, span).with_help(help)])
    }

    fn cut_off(&mut self, start: usize, end: usize) {
        let message = "the last line was not written to its end and is left out";
        self.warnings.push(Diagnostic::warning("recording-cut", message, self.span(start, end)));
    }

    fn bad_line(&self, error: &serde_json::Error, start: usize, end: usize) -> Diagnostic {
        let at = (start + error.column().saturating_sub(1)).clamp(start, end);
        let number = self.text[..start].matches('\n').count() + 1;
        // serde_json ends with a position within the line, which the excerpt shows better.
        let shown = error.to_string();
        let reason = shown.split(" at line ").next().unwrap_or(&shown).to_owned();
        let message = format!("line {number} is not an event");
        Diagnostic::error("recording-line", message, self.span(at, at)).with_label(self.span(at, at), reason)
    }

    fn span(&self, start: usize, end: usize) -> Span {
        let offset = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
        Span { source: self.source, start: offset(start), end: offset(end) }
    }

    fn finish(mut self, name: &str) -> Result<EventRecording, Vec<Diagnostic>> {
        if !self.problems.is_empty() {
            return Err(self.problems);
        }
        if !matches!(self.events.last(), Some(Event::RunFinished(_))) {
            let message = format!("`{name}` ends before the run does; the document lacks the rest");
            self.warnings.push(Diagnostic::without_place("recording-unfinished", message).into_warning());
        }
        Ok(EventRecording { events: self.events, warnings: self.warnings })
    }
}
