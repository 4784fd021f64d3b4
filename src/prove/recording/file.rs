//! A recording as a file: lines of JSON, each sealed together with all before it, so that nothing is missing or changed.

use std::borrow::Cow;
use std::fmt::Write as _;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{RecordedCase, RunRecording, TargetRecording};
use crate::fault::MessageExchange;
use crate::source::{FNV, fnv};

/// The version of this format.
const FORMAT: u64 = 2;

/// The beginning of the seal of a line.
const SEAL: &str = ",\"seal\":\"";

/// A line after the first one; exchanges belong to the target above them.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum RecordingLine<'a> {
    Target(Cow<'a, str>, Cow<'a, TargetRecording>),
    Exchange(Cow<'a, MessageExchange>),
    Case(Cow<'a, RecordedCase>),
    End(usize),
}

/// The suites that a recording was made of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordingHeader {
    /// The suite files as they were typed.
    pub suites: Vec<String>,
    /// The hash of all their texts.
    pub fingerprint: String,
}

/// Why a file is not taken for a recording; the sentence says what to do.
pub type InvalidRecording = String;

/// The file's text.
pub fn write(of: &RecordingHeader, recording: &RunRecording) -> String {
    let mut sealed = SealedWriter { text: String::new(), seal: 0 };
    sealed.line(json!({
        "recording": FORMAT,
        "program": PROGRAM,
        "suites": of.suites,
        "fingerprint": of.fingerprint,
    }));
    for (name, target) in &recording.targets {
        sealed.line(RecordingLine::Target(name.into(), Cow::Borrowed(target)));
        for exchange in &target.exchanges {
            sealed.line(RecordingLine::Exchange(Cow::Borrowed(exchange)));
        }
    }
    for case in &recording.cases {
        sealed.line(RecordingLine::Case(Cow::Borrowed(case)));
    }
    sealed.line(RecordingLine::End(recording.cases.len()));
    sealed.text
}

const PROGRAM: &str = concat!("mcprove ", env!("CARGO_PKG_VERSION"));

/// Reads the first line: what the recording is of.
pub fn head(text: &str) -> Result<RecordingHeader, InvalidRecording> {
    let first = text.lines().next().unwrap_or_default();
    let value: Value = serde_json::from_str(first).unwrap_or_default();
    let Some(format) = value["recording"].as_u64() else {
        return Err("it is no recording; `mcprove run SUITE --record FILE` writes one".to_owned());
    };
    let program = value["program"].as_str().unwrap_or_default();
    if format != FORMAT || program != PROGRAM {
        return Err(format!(
            "it was made by {program}, and this is {PROGRAM}: what is asked and answered may differ; record it again"
        ));
    }
    let suites = value["suites"].as_array().cloned().unwrap_or_default();
    Ok(RecordingHeader {
        suites: suites.iter().filter_map(|file| file.as_str().map(str::to_owned)).collect(),
        fingerprint: value["fingerprint"].as_str().unwrap_or_default().to_owned(),
    })
}

/// Reads a recording of the suites with that fingerprint.
pub fn parse_recording(text: &str, fingerprint: &str) -> Result<RunRecording, InvalidRecording> {
    let of = head(text)?;
    let lines = unseal(text)?;
    if of.fingerprint != fingerprint {
        let suites = of.suites.join(", ");
        return Err(format!(
            "it is a recording of another suite, or of {suites} as it was before it was changed; record it again"
        ));
    }
    let mut recording = RunRecording::default();
    let mut target = String::new();
    for (number, line) in lines.iter().enumerate().skip(1) {
        let unreadable = || format!("line {} cannot be read; record it again", number + 1);
        match serde_json::from_str(line).map_err(|_| unreadable())? {
            RecordingLine::Target(name, recorded) => {
                target = name.into_owned();
                recording.targets.insert(target.clone(), recorded.into_owned());
            }
            RecordingLine::Exchange(exchange) => {
                let recorded = recording.targets.get_mut(&target).ok_or_else(unreadable)?;
                recorded.exchanges.push(exchange.into_owned());
            }
            RecordingLine::Case(case) => recording.cases.push(case.into_owned()),
            RecordingLine::End(_) => {}
        }
    }
    Ok(recording)
}

/// The lines of a file that is whole and as it was written.
fn unseal(text: &str) -> Result<Vec<String>, InvalidRecording> {
    let mut lines = Vec::new();
    let mut seal = 0;
    for (number, line) in text.lines().enumerate() {
        let is_last = number + 1 == text.lines().count();
        let (body, mark) = match line.rsplit_once(SEAL) {
            Some((body, mark)) if mark.ends_with('}') => (body, mark),
            Some(_) | None => return Err(if is_last { TRUNCATED.to_owned() } else { explain_edit(number) }),
        };
        seal = sealed_with(seal, body);
        if mark != format!("{seal:016x}\"}}") {
            return Err(explain_edit(number));
        }
        lines.push(format!("{body}}}"));
    }
    match lines.last() {
        Some(last) if last.starts_with("{\"end\":") => Ok(lines),
        Some(_) | None => Err(TRUNCATED.to_owned()),
    }
}

const TRUNCATED: &str = "its end is missing, so the run that wrote it was cut off or the file was; record it again";

fn explain_edit(number: usize) -> InvalidRecording {
    format!("line {} was changed after it was written, so it proves nothing; record it again", number + 1)
}

struct SealedWriter {
    text: String,
    seal: u64,
}

impl SealedWriter {
    fn line(&mut self, line: impl Serialize) {
        let text = json!(line).to_string();
        let body = text.strip_suffix('}').unwrap_or(&text);
        self.seal = sealed_with(self.seal, body);
        self.text.push_str(body);
        self.text.push_str(SEAL);
        // Writing to a text cannot fail.
        let _ = writeln!(self.text, "{:016x}\"}}", self.seal);
    }
}

fn sealed_with(seal: u64, body: &str) -> u64 {
    fnv(FNV ^ seal.rotate_left(17), body.as_bytes())
}

/// The hash of texts, whatever their files are called.
pub fn fingerprint<'a>(texts: impl Iterator<Item = &'a str>) -> String {
    let of_text = |hash: u64, text: &str| fnv(fnv(hash, &(text.len() as u64).to_le_bytes()), text.as_bytes());
    format!("{:016x}", texts.fold(FNV, of_text))
}
