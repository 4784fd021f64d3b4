//! A finding as it is kept.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::ServerStart;
use crate::event::{CaseInfo, FindingKind, Reproduction, ReproductionCall, ReproductionCheck, Severity};
use crate::redact::RESTORED_FROM;
use crate::source::{legible_json, schema_address};

/// The version of the file.
pub const FORMAT: u32 = 2;

/// The first version in which nothing that a server wrote passes for a secret.
const TELLS_SECRETS: u32 = 2;

/// Why a finding of an earlier version is not played.
const FORGEABLE: &str =
    "an earlier version of mcprove wrote it, which could not tell masked secrets from text of the server";

/// A finding with everything that it takes to see it again; no secret is in it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Stored {
    /// The version of this file.
    pub format: u32,
    /// The name: the same finding has the same one in every run.
    pub id: String,
    /// The identity that minimising keeps: the kind, the tool, and how the server ended or which rule it broke.
    pub class: String,
    /// The kind of failure.
    pub kind: FindingKind,
    /// The severity.
    pub severity: Severity,
    /// One sentence.
    pub title: String,
    /// The tool that was called last, or the method where it was no call.
    pub tool: String,
    /// The detail that tells it from others of its kind at that tool.
    pub signature: String,
    /// The place.
    pub place: FindingPlace,
    /// The revision that was spoken.
    pub revision: String,
    /// The start of the server.
    pub start: ServerStart,
    /// The requests that reproduce it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reproduction: Option<Reproduction>,
    /// Why it cannot be played again, where it cannot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unplayable: Option<String>,
    /// Nothing of the sequence can be left out.
    #[serde(default)]
    pub minimised: bool,
    /// The longer sequence with which it was last met, where a smaller one is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub original: Option<Vec<Vec<ReproductionCall>>>,
    /// Evidence, such as the exit status and the end of standard error, as name and text.
    pub evidence: Vec<(String, String)>,
    /// The last frames, as in a transcript.
    pub frames: Vec<Value>,
    /// The command that ran into it.
    pub again: String,
    /// The number of runs that have met it.
    pub times: u32,
    /// When it was first met, in milliseconds since 1970.
    pub first_unix_ms: u64,
    /// When it was last met.
    pub last_unix_ms: u64,
}

/// The place of a finding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Place")]
pub struct FindingPlace {
    /// The suite's file, or the one that it includes.
    pub file: String,
    /// The line, counted from one.
    pub line: usize,
    /// The suite was made from a command line, so that file and line are places on no disk.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub from_command_line: bool,
    /// The id of the case.
    pub case: String,
}

impl FindingPlace {
    /// The place of a case.
    pub fn of(case: &CaseInfo) -> Self {
        let (file, case_id) = (case.file.clone(), case.id.clone());
        Self { file, line: case.line, from_command_line: case.from_command_line, case: case_id }
    }
}

impl Stored {
    /// Reads one; the error says in words what is wrong with it.
    pub fn parse(text: &str) -> Result<Self, String> {
        let value: Value = serde_json::from_str(text).map_err(|error| format!("it is not valid JSON: {error}"))?;
        match value["format"].as_u64() {
            None => return Err("it is not a finding".to_owned()),
            Some(format) if format > u64::from(FORMAT) => {
                return Err(format!("it has format {format}, and this program reads {FORMAT}; update mcprove"));
            }
            Some(_) => {}
        }
        let read: Self = serde_json::from_value(value).map_err(|error| format!("it is not a finding: {error}"))?;
        Ok(read.without_forgeries())
    }

    /// The same in this version: where a server could have written a mark itself, nothing is said again.
    fn without_forgeries(mut self) -> Self {
        let is_forgeable = |told: &Reproduction| json!(told).to_string().contains(RESTORED_FROM);
        if self.format < TELLS_SECRETS && self.sequences().iter().any(is_forgeable) {
            (self.reproduction, self.original) = (None, None);
            self.unplayable = Some(FORGEABLE.to_owned());
        }
        self.format = FORMAT;
        self
    }

    /// The text of its file.
    pub fn text(&self) -> String {
        legible_json(self) + "\n"
    }

    /// The same finding, met in one more run: what that run said, and in front of it what earlier runs made smaller of the
    /// same requests.
    #[must_use]
    pub fn met_again(self, earlier: &Self) -> Self {
        let this = Self { times: earlier.times + 1, first_unix_ms: earlier.first_unix_ms, ..self };
        let (Some(known), Some(met)) = (&earlier.reproduction, &this.reproduction) else { return this };
        let whole = earlier.original.as_ref().unwrap_or(&known.sessions);
        let met_whole = this.original.as_ref().unwrap_or(&met.sessions);
        let is_of_these = [(&known.sessions, &met.sessions), (whole, met_whole), (met_whole, whole)];
        let stays = earlier.class == this.class
            && is_alike(&known.check, &met.check)
            && known.calls() <= met.calls()
            && is_of_these.into_iter().any(|(part, whole)| is_part(part, whole));
        if !stays {
            return this;
        }
        let original = (known.sessions != *met_whole).then(|| met_whole.clone());
        let doubt = known.doubt.and(met.doubt);
        let reproduction = Reproduction { sessions: known.sessions.clone(), doubt, ..met.clone() };
        Self { reproduction: Some(reproduction), minimised: earlier.minimised, original, ..this }
    }

    /// The sequences to replay: first the minimised one, then the one of the last run that found it.
    pub fn sequences(&self) -> Vec<Reproduction> {
        let Some(small) = &self.reproduction else { return Vec::new() };
        let whole = self.original.clone().filter(|sessions| *sessions != small.sessions);
        let whole = whole.map(|sessions| Reproduction { sessions, ..small.clone() });
        [Some(small.clone()), whole].into_iter().flatten().collect()
    }

    /// The number of requests, in words.
    pub fn length(&self) -> String {
        let calls = self.reproduction.as_ref().map_or(0, Reproduction::calls);
        if calls == 1 { "1 call".to_owned() } else { format!("{calls} calls") }
    }
}

/// Two look for the same; their waiting times do not matter.
fn is_alike(one: &ReproductionCheck, other: &ReproductionCheck) -> bool {
    matches!((one, other), (ReproductionCheck::Silent(_), ReproductionCheck::Silent(_))) || one == other
}

/// A sequence is another one, or the rest of it where requests are left out before the last one.
fn is_part(part: &[Vec<ReproductionCall>], whole: &[Vec<ReproductionCall>]) -> bool {
    let ends_alike = part.last().and_then(|calls| calls.last()) == whole.last().and_then(|calls| calls.last());
    let mut sessions = whole.iter();
    ends_alike
        && part.iter().all(|calls| {
            sessions.any(|said| {
                let mut said = said.iter();
                calls.iter().all(|call| said.any(|other| other.is_same(call)))
            })
        })
}

/// The JSON Schema of the file.
pub fn json_schema() -> Value {
    let mut schema = schemars::schema_for!(Stored).to_value();
    schema["title"] = "mcprove finding".into();
    schema["$id"] = schema_address("finding").into();
    schema
}
