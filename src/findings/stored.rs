//! A finding as it is kept.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Start;
use crate::event::{Call, Kind, Reproduction, Severity};

/// The version of the file.
pub const FORMAT: u32 = 1;

/// A finding with everything that it takes to see it again; no secret is in it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Stored {
    /// The version of this file.
    pub format: u32,
    /// The name: the same finding has the same one in every run.
    pub id: String,
    /// What minimising keeps: the kind, the tool, and how the server ended or which rule it broke.
    pub class: String,
    /// What the server did.
    pub kind: Kind,
    /// How bad it is.
    pub severity: Severity,
    /// One sentence.
    pub title: String,
    /// The tool that was called last, or the method where it was no call.
    pub tool: String,
    /// What tells it from others of its kind at that tool.
    pub signature: String,
    /// Where it was found.
    pub place: Place,
    /// The revision that was spoken.
    pub revision: String,
    /// How the server is started.
    pub start: Start,
    /// What to say to see it again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reproduction: Option<Reproduction>,
    /// Why it cannot be played again, where it cannot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unplayable: Option<String>,
    /// Whether nothing of the sequence can be left out.
    #[serde(default)]
    pub minimised: bool,
    /// The sequence as it was before it was minimised.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub original: Option<Vec<Vec<Call>>>,
    /// What shows it, such as the exit status and the end of standard error, as name and text.
    pub evidence: Vec<(String, String)>,
    /// The last frames, as in a transcript.
    pub frames: Vec<Value>,
    /// The command that ran into it.
    pub again: String,
    /// How many runs have met it.
    pub times: u32,
    /// When it was first met, in milliseconds since 1970.
    pub first_unix_ms: u64,
    /// When it was last met.
    pub last_unix_ms: u64,
}

/// Where a finding was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Place {
    /// The suite's file, or the one that it includes.
    pub file: String,
    /// The line, counted from one.
    pub line: usize,
    /// The id of the case.
    pub case: String,
}

impl Stored {
    /// Reads one; the error says in words what is wrong with it.
    pub fn read(text: &str) -> Result<Self, String> {
        let value: Value = serde_json::from_str(text).map_err(|error| format!("it is no JSON: {error}"))?;
        match value["format"].as_u64() {
            None => return Err("it is no finding".to_owned()),
            Some(format) if format > u64::from(FORMAT) => {
                return Err(format!("it has format {format}, and this program reads {FORMAT}; update mcprove"));
            }
            Some(_) => {}
        }
        serde_json::from_value(value).map_err(|error| format!("it is no finding: {error}"))
    }

    /// The text of its file.
    pub fn text(&self) -> String {
        serde_json::to_string_pretty(self).unwrap_or_default() + "\n"
    }

    /// The same finding, met in one more run: what was made small stays so, and of two sequences the shorter is kept.
    #[must_use]
    pub fn met_again(self, earlier: Self) -> Self {
        let calls = |stored: &Self| stored.reproduction.as_ref().map_or(usize::MAX, Reproduction::calls);
        let keeps = earlier.class == self.class && (earlier.minimised || calls(&earlier) < calls(&self));
        let (times, first_unix_ms) = (earlier.times + 1, earlier.first_unix_ms);
        if keeps && earlier.reproduction.is_some() {
            let Self { reproduction, unplayable, minimised, original, .. } = earlier;
            return Self { reproduction, unplayable, minimised, original, times, first_unix_ms, ..self };
        }
        Self { times, first_unix_ms, ..self }
    }

    /// How many requests it takes, in words.
    pub fn length(&self) -> String {
        let calls = self.reproduction.as_ref().map_or(0, Reproduction::calls);
        if calls == 1 { "1 call".to_owned() } else { format!("{calls} calls") }
    }
}

/// The JSON Schema of the file.
pub fn json_schema() -> Value {
    let mut schema = schemars::schema_for!(Stored).to_value();
    schema["title"] = "mcprove finding".into();
    schema
}
