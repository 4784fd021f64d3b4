//! A recording as a file: lines of JSON, each sealed together with all before it, so that nothing is missing or changed.

use std::borrow::Cow;
use std::io::{BufRead, Read as _};

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::seal::{BrokenSeal, Seal, SealedWriter};
use super::{RecordedCase, RunRecording, TargetRecording};
use crate::fault::MessageExchange;
use crate::source::{FNV, fnv, hash_text, visible_line};

/// The version of this format.
const FORMAT: u64 = 3;

/// The most bytes of the first line: a file that is something else need not be read to its end.
const LONGEST_HEAD: u64 = 1 << 20;

/// A line after the first one; exchanges belong to the target above them.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum RecordingLine<'a> {
    Suite(Cow<'a, RecordedText>),
    Target(Cow<'a, str>, Cow<'a, TargetRecording>),
    Exchange(Cow<'a, MessageExchange>),
    Case(Cow<'a, RecordedCase>),
    /// The event as `--report ndjson` writes it.
    Event(Cow<'a, RawValue>),
    End(usize),
}

/// The beginnings of lines that only reports and people read.
const EVENT: &str = "{\"event\":";
const SUITE: &str = "{\"suite\":";

/// The first line: where a recording comes from.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RecordingHeader {
    /// The program that wrote it, with its version.
    pub program: String,
    /// The version of the taxonomy by which the run was scored.
    pub taxonomy: String,
    /// The suite files as they were typed.
    pub suites: Vec<String>,
    /// The hash of all their texts.
    pub fingerprint: String,
    /// The names of the environment variables that the suites read; their values are no part of a recording.
    pub environment: Vec<String>,
}

/// A file of a suite, without secrets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedText {
    /// The file as it was typed or included.
    pub file: String,
    /// Its text.
    pub text: String,
}

/// The parts of a run that a file holds beside its first line, all without secrets.
#[derive(Debug, Clone, Copy)]
pub struct RecordedParts<'a> {
    /// The files of the suites.
    pub texts: &'a [RecordedText],
    /// The messages and verdicts.
    pub recording: &'a RunRecording,
    /// The events, one a line, as `--report ndjson` writes them.
    pub events: &'a str,
}

/// Why a file is not taken for a recording; the sentence says what to do.
pub type InvalidRecording = String;

/// The file's text.
pub fn write(of: &RecordingHeader, parts: RecordedParts<'_>) -> String {
    let RecordedParts { texts, recording, events } = parts;
    let mut sealed = SealedWriter::default();
    sealed.line(json!({
        "recording": FORMAT,
        "program": PROGRAM,
        "taxonomy": of.taxonomy,
        "suites": of.suites,
        "fingerprint": of.fingerprint,
        "environment": of.environment,
    }));
    for text in texts {
        sealed.line(RecordingLine::Suite(Cow::Borrowed(text)));
    }
    for (name, target) in &recording.targets {
        sealed.line(RecordingLine::Target(name.into(), Cow::Borrowed(target)));
        for exchange in &target.exchanges {
            sealed.line(RecordingLine::Exchange(Cow::Borrowed(exchange)));
        }
    }
    for case in &recording.cases {
        sealed.line(RecordingLine::Case(Cow::Borrowed(case)));
    }
    for event in events.lines().filter_map(|line| serde_json::from_str::<&RawValue>(line).ok()) {
        sealed.line(RecordingLine::Event(Cow::Borrowed(event)));
    }
    sealed.line(RecordingLine::End(recording.cases.len()));
    sealed.text
}

/// The program that writes recordings, with its version.
pub(in crate::prove) const PROGRAM: &str = concat!("mcprove ", env!("CARGO_PKG_VERSION"));

/// Returns true if a file begins as a recording does.
pub fn is_recording(begin: &[u8]) -> bool {
    begin.starts_with(b"{\"recording\":")
}

/// Reads a recording line by line, so that a large one is in memory only as what it holds.
#[derive(Debug)]
pub struct RecordingReader<R> {
    /// What the first line says.
    pub header: RecordingHeader,
    /// The first line, until its seal is looked at.
    first: Option<String>,
    /// The first line that is no text of a suite, after those were read.
    unread: Option<String>,
    reader: R,
    /// Of the lines so far.
    seal: Seal,
    /// The number of lines so far.
    count: usize,
    has_ended: bool,
}

impl<R: BufRead> RecordingReader<R> {
    /// Reads the first line.
    ///
    /// # Errors
    ///
    /// Fails on a text that is no recording, and on one of another format.
    pub fn new(mut reader: R) -> Result<Self, InvalidRecording> {
        let mut bytes = Vec::new();
        let read = reader.by_ref().take(LONGEST_HEAD).read_until(b'\n', &mut bytes);
        read.map_err(|error| format!("it cannot be read: {error}"))?;
        let line = String::from_utf8_lossy(&bytes);
        let header = header_of(&line)?;
        Ok(Self {
            header,
            first: Some(line.into_owned()),
            unread: None,
            reader,
            seal: Seal::default(),
            count: 0,
            has_ended: false,
        })
    }

    /// Refuses a recording of another program: what is asked and answered may differ.
    ///
    /// # Errors
    ///
    /// Fails with the names of both.
    pub fn require_this_program(&self) -> Result<(), InvalidRecording> {
        let program = visible_line(&self.header.program);
        if program == PROGRAM {
            return Ok(());
        }
        Err(format!(
            "it was made by {program}, and this is {PROGRAM}: what is asked and answered may differ; record it again"
        ))
    }

    /// The files of the suites, which stand before everything else.
    ///
    /// # Errors
    ///
    /// Fails on a file that was changed or cut there.
    pub fn texts(&mut self) -> Result<Vec<RecordedText>, InvalidRecording> {
        let mut texts = Vec::new();
        while let Some(line) = self.next_line()? {
            if line.starts_with(SUITE) {
                let read = serde_json::from_str(&line);
                let read = read.map_err(|_| format!("line {} cannot be read; record it again", self.count))?;
                if let RecordingLine::Suite(text) = read {
                    texts.push(text.into_owned());
                }
            } else if self.count > 1 {
                self.unread = Some(line);
                break;
            }
        }
        Ok(texts)
    }

    /// The messages and verdicts.
    ///
    /// # Errors
    ///
    /// Fails on a file that was changed or cut.
    pub fn run(mut self) -> Result<RunRecording, InvalidRecording> {
        let mut recording = RunRecording::default();
        let mut target = String::new();
        while let Some(line) = self.next_line()? {
            if self.count == 1 || line.starts_with(EVENT) || line.starts_with(SUITE) {
                continue;
            }
            let unreadable = || format!("line {} cannot be read; record it again", self.count);
            match serde_json::from_str(&line).map_err(|_| unreadable())? {
                RecordingLine::Target(name, recorded) => {
                    target = name.into_owned();
                    recording.targets.insert(target.clone(), recorded.into_owned());
                }
                RecordingLine::Exchange(exchange) => {
                    let recorded = recording.targets.get_mut(&target).ok_or_else(unreadable)?;
                    recorded.exchanges.push(exchange.into_owned());
                }
                RecordingLine::Case(case) => recording.cases.push(case.into_owned()),
                RecordingLine::Suite(_) | RecordingLine::Event(_) | RecordingLine::End(_) => {}
            }
        }
        recording.seal = self.seal;
        Ok(recording)
    }

    /// The events, one a line, as `--report ndjson` writes them.
    ///
    /// # Errors
    ///
    /// Fails on a file that was changed or cut.
    pub fn events(mut self) -> Result<String, InvalidRecording> {
        let mut events = String::new();
        while let Some(line) = self.next_line()? {
            if let Some(event) = line.strip_prefix(EVENT).and_then(|event| event.strip_suffix('}')) {
                events.push_str(event);
                events.push('\n');
            }
        }
        Ok(events)
    }

    /// The next line without its seal; `None` at the end of a file that is whole and as it was written.
    fn next_line(&mut self) -> Result<Option<String>, InvalidRecording> {
        if let Some(line) = self.unread.take() {
            return Ok(Some(line));
        }
        let mut line = self.first.take().unwrap_or_default();
        let length = if line.is_empty() { self.reader.read_line(&mut line) } else { Ok(line.len()) };
        match length.map_err(|error| format!("line {} cannot be read: {error}", self.count + 1))? {
            0 if self.has_ended => Ok(None),
            0 => Err(TRUNCATED.to_owned()),
            _ if self.has_ended => Err(explain_edit(self.count + 1)),
            _ => self.unseal(line.trim_end_matches(['\n', '\r'])).map(Some),
        }
    }

    fn unseal(&mut self, line: &str) -> Result<String, InvalidRecording> {
        self.count += 1;
        let line = self.seal.take_off(line).map_err(|broken| {
            let is_cut = broken == BrokenSeal::Cut && self.reader.fill_buf().is_ok_and(<[u8]>::is_empty);
            if is_cut { TRUNCATED.to_owned() } else { explain_edit(self.count) }
        })?;
        self.has_ended = line.starts_with("{\"end\":");
        Ok(line)
    }
}

/// Reads the first line.
fn header_of(line: &str) -> Result<RecordingHeader, InvalidRecording> {
    let value: Value = serde_json::from_str(line).unwrap_or_default();
    let Some(format) = value["recording"].as_u64() else {
        return Err("it is no recording; `mcprove run SUITE --record FILE` writes one".to_owned());
    };
    let text = |name: &str| value[name].as_str().unwrap_or_default().to_owned();
    let texts = |name: &str| -> Vec<String> {
        let items = value[name].as_array().into_iter().flatten();
        items.filter_map(|item| item.as_str().map(str::to_owned)).collect()
    };
    let program = text("program");
    if format != FORMAT {
        let program = visible_line(&program);
        return Err(format!(
            "it has format {format}, was made by {program}, and this is {PROGRAM}, which reads format {FORMAT}; record it again"
        ));
    }
    Ok(RecordingHeader {
        program,
        taxonomy: text("taxonomy"),
        suites: texts("suites"),
        fingerprint: text("fingerprint"),
        environment: texts("environment"),
    })
}

/// Reads a recording of the suites with that fingerprint, made by this program.
pub fn parse_recording<R: BufRead>(
    reader: RecordingReader<R>,
    fingerprint: &str,
) -> Result<RunRecording, InvalidRecording> {
    let of = &reader.header;
    if of.fingerprint == fingerprint {
        return reader.run();
    }
    let suites = visible_line(&of.suites.join(", ")).into_owned();
    // A file that is not whole says nothing of its suite.
    reader.run()?;
    Err(format!(
        "it is a recording of another suite, or of {suites} as it was before it was changed; record it again, or name no suite to prove with the recorded one"
    ))
}

const TRUNCATED: &str = "its end is missing, so the run that wrote it was cut off or the file was; record it again";

fn explain_edit(line: usize) -> InvalidRecording {
    format!("line {line} was changed after it was written, so it proves nothing; record it again")
}

/// The hash of texts, whatever their files are called.
pub fn fingerprint<'a>(texts: impl Iterator<Item = &'a str>) -> String {
    let of_text = |hash: u64, text: &str| fnv(fnv(hash, &(text.len() as u64).to_le_bytes()), text.as_bytes());
    hash_text(texts.fold(FNV, of_text))
}
