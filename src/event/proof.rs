//! The result of a proof: which mutants turned a suite red, and which survived.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Gate;
use crate::taxonomy::score::Score;

/// The verdict on every mutant.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Proof {
    /// The baseline run: the replay without any mutant.
    pub control: Control,
    /// The baseline run against the real servers; absent if none was requested or needed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub live: Option<Control>,
    /// The mutants in the order of the registry.
    pub mutants: Vec<MutantResult>,
    /// Variants that can occur here and stay out of the percentage, with the reason.
    pub left_out: Vec<LeftOut>,
    /// Proven coverage: by variants that can occur here and can be planted.
    pub proven: Score,
    /// The thresholds that were asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gates: Vec<Gate>,
    /// How long proving took, in microseconds.
    pub duration_us: u64,
}

/// The run without any mutant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Control {
    /// How many cases were recorded with a verdict.
    pub cases: usize,
    /// How many of them passed, in the recording and again from the recording: only these can kill.
    pub green: usize,
    /// The cases that take no part, with the reason.
    pub left_out: Vec<LeftOut>,
}

/// Something that takes no part.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LeftOut {
    /// The case id or the variant.
    pub id: String,
    /// Why, as a sentence without a final period.
    pub reason: String,
}

/// The verdict on a mutant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// A case that was green turned red because of it.
    Killed,
    /// It changed what the server sent, and everything stayed green.
    Survived,
    /// The conversation left the recording before anything failed: only the real server can tell.
    Undecided,
    /// The suite never says anything to the server that it could change.
    Unreached,
    /// The healthy server does it already.
    Redundant,
    /// It takes the real server: its start, or a companion.
    LiveOnly,
}

/// One mutant and what became of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MutantResult {
    /// Its id.
    pub id: String,
    /// Its effect.
    pub meaning: String,
    /// The fault that it imitates.
    pub variant: String,
    /// The leaf of that fault.
    pub leaf: String,
    /// The verdict.
    pub verdict: Verdict,
    /// Whether it was tried in front of the real server rather than in the recording.
    #[serde(default, skip_serializing_if = "is_false")]
    pub live: bool,
    /// Why it has no better verdict, as a sentence without a final period.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// How many exchanges it changed.
    pub places: usize,
    /// The first message that it changed, as a diff.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub change: Vec<String>,
    /// The cases that turned red, the first failure of each.
    pub kills: Vec<Kill>,
    /// The same for each tool, with the mutant planted in the calls of that tool only; empty for what is no tool's.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<AtTool>,
    /// For a survivor: what would have noticed it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<Missing>,
}

/// A case that turned red.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Kill {
    /// The case id, or that of a session which broke the protocol.
    pub case: String,
    /// The reason why a case turned red.
    pub by: By,
    /// The code of the finding.
    pub code: String,
    /// The sentence of the finding.
    pub message: String,
}

/// The reason why a case turned red.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum By {
    /// Something that the suite asked for.
    Expectation,
    /// A scan that every run makes.
    Scan,
}

/// The verdict on a mutant at one tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AtTool {
    /// The tool.
    pub tool: String,
    /// The verdict there.
    pub verdict: Verdict,
}

/// A test that would kill a survivor.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Missing {
    /// The tool that could be wrong; `None` for what is no tool's.
    pub tool: Option<String>,
    /// The suite file and the server that it is about.
    pub file: String,
    /// The server's name in the suite.
    pub server: String,
    /// The mistake of the server that no test would notice, as a sentence without a final period.
    pub could: String,
    /// The YAML that kills it: an entry of `tests:`, or a block of the suite.
    pub yaml: String,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_false(flag: &bool) -> bool {
    !flag
}

impl Missing {
    /// Whether the YAML is an entry of `tests:`, rather than a block of the suite.
    pub fn is_test(&self) -> bool {
        self.yaml.trim_start().starts_with("- ")
    }
}
