//! The result of a proof: which mutants turned a suite red, and which survived.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Code, Gate, SuiteScore};
use crate::taxonomy::VariantSeverity;
use crate::taxonomy::score::Score;

/// The verdict on every mutant.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Proof {
    /// The baseline run: the replay without any mutant.
    pub control: Control,
    /// The baseline run against the real servers; absent if none was requested or needed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub live: Option<Control>,
    /// The fault operators in the order of the registry, with their mutants.
    pub mutants: Vec<MutantResult>,
    /// What the suites lack, the addition that gains most first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub additions: Vec<Addition>,
    /// The faults at each tool, prompt, resource and session: the table that the figures are counted from.
    pub table: Vec<FaultAtSubject>,
    /// Variants that can occur here and stay out of the percentage, with the reason.
    pub left_out: Vec<LeftOut>,
    /// Proven coverage: by variants that can occur here and can be planted.
    pub proven: Score,
    /// The same for each suite on each server, if there are several; thresholds are about these.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub suites: Vec<ProvenSuite>,
    /// The thresholds that were asked for, if there is one suite on one server.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gates: Vec<Gate>,
    /// The time that proving took, in microseconds.
    pub duration_us: u64,
}

/// The proven coverage of one suite on one server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProvenSuite {
    /// The suite's file.
    pub file: String,
    /// The server's name in the suite.
    pub server: String,
    /// By variants that can occur here and can be planted.
    pub proven: Score,
    /// The thresholds that were asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gates: Vec<Gate>,
}

/// The verdict on one fault at one tool, prompt, resource or session, over all operators that imitate it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FaultAtSubject {
    /// The suite file, the server and the revision.
    pub target: String,
    /// The offer of the server.
    pub subject: MutantSubject,
    /// The fault.
    pub variant: String,
    /// The leaf of the fault.
    pub leaf: String,
    /// Killed if the fault is proven there.
    pub verdict: Verdict,
    /// The number of places whose change was noticed.
    pub killed: usize,
    /// The number of places that were changed.
    pub planted: usize,
}

/// The run without any mutant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Control {
    /// The number of cases that were recorded with a verdict.
    pub cases: usize,
    /// The number of them that passed, in the recording and again from the recording: only these can kill.
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
    /// A flag of the user is the reason, so that the user knows which ones they are.
    #[serde(default, skip_serializing_if = "is_false")]
    pub on_purpose: bool,
}

impl LeftOut {
    /// Something that takes no part for a reason that the user did not give.
    pub fn new(id: impl Into<String>, reason: impl Into<String>) -> Self {
        Self { id: id.into(), reason: reason.into(), on_purpose: false }
    }
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
    /// No case calls the tool, gets the prompt or reads the resource.
    NotCalled,
    /// The suite never says anything to the server that it could change.
    Unreached,
    /// The healthy server does it already.
    Redundant,
    /// The declaration of the tool leaves no room for it.
    CannotOccur,
    /// It takes the real server: its start, or a companion.
    LiveOnly,
    /// The time was over before it was tried.
    Untried,
}

/// A fault operator, and the mutants that it made: one for each tool, prompt, resource or session.
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
    /// The worst verdict on its mutants: survived, undecided, not called, unreached, killed, or the rest; untried ones have no mutants.
    pub verdict: Verdict,
    /// It was tried in front of the real server rather than in the recording.
    #[serde(default, skip_serializing_if = "is_false")]
    pub live: bool,
    /// Standard error is all that it changes, which tests of a proof do not see.
    #[serde(default, skip_serializing_if = "is_false")]
    pub only_on_stderr: bool,
    /// Why it has no better verdict, as a sentence without a final period.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The changes of the first message that it changed unnoticed, or else of the first that it changed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub change: Vec<String>,
    /// Its mutants.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mutants: Vec<PlantedMutant>,
    /// Tests that would have noticed the survivors.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<Missing>,
}

/// A fault of one tool, prompt, resource or session of one target.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PlantedMutant {
    /// The suite file, the server and the revision: `users.yml@users/2025-11-25`.
    pub target: String,
    /// The offer of the server that has the fault.
    pub subject: MutantSubject,
    /// The verdict: killed if the suite notices the fault in every value of one of the recorded answers.
    pub verdict: Verdict,
    /// Why it has no better verdict, as a sentence without a final period.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The places of the answers that were changed, each alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub places: Vec<MutantPlace>,
}

/// The offer of a server that has a fault.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub struct MutantSubject {
    /// Its kind.
    pub kind: SubjectKind,
    /// Its name, its address or its template; empty for a session.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
}

/// A kind of offer that can have a fault by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SubjectKind {
    /// A tool.
    Tool,
    /// A prompt.
    Prompt,
    /// A resource.
    Resource,
    /// A resource template.
    ResourceTemplate,
    /// Everything that belongs to no offer of its own.
    Session,
}

/// A place of an answer, changed alone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MutantPlace {
    /// The field: `price`, `content[0].text`; empty for a fault that changes an answer as a whole.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub field: String,
    /// The verdict there.
    pub verdict: Verdict,
    /// The first case that turned red.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kill: Option<Kill>,
}

/// A case that turned red.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Kill {
    /// The case id, or that of a session which broke the protocol.
    pub case: String,
    /// The reason why a case turned red.
    pub by: By,
    /// The code of the finding.
    pub code: Code,
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

/// A test that would kill a survivor.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Missing {
    /// The tool that could be wrong; `None` for what is no tool's.
    pub tool: Option<String>,
    /// The field that could be wrong; empty if it is no single one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub field: String,
    /// The suite file and the server that it is about.
    pub file: String,
    /// The server's name in the suite.
    pub server: String,
    /// The mistake of the server that no test would notice, as a sentence without a final period.
    pub could: String,
    /// The YAML that kills it: an entry of `tests:`, or a block of the suite.
    pub yaml: String,
}

/// A test that a suite lacks, or what a test of it could expect, and what that would kill.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Addition {
    /// The suite file that lacks it.
    pub file: String,
    /// The tool that could be wrong; `None` for what is no tool's.
    pub tool: Option<String>,
    /// The mistake of the server that no test would notice, as a sentence without a final period.
    pub could: String,
    /// The number of survivors that it kills together with those before it.
    pub kills: usize,
    /// The number of changes that it notices, and none before it does.
    pub notices: usize,
    /// The YAML: an entry of `tests:`.
    pub yaml: String,
    /// The step of a test that makes the same request, which can expect the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<StepOfTest>,
    /// It pins what the server answered, so that somebody has to confirm it.
    #[serde(default, skip_serializing_if = "is_false")]
    pub pinned: bool,
    /// It would hold on another machine and another day, as far as one can see.
    pub lasts: bool,
}

/// A step of a test.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct StepOfTest {
    /// The name of the test.
    pub test: String,
    /// The index of the step in it.
    pub step: usize,
    /// The line of the step in the suite file.
    pub line: usize,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_false(flag: &bool) -> bool {
    !flag
}

impl Proof {
    /// Any case passed without a mutant, from the recording or in front of the real servers.
    pub fn has_green_case(&self) -> bool {
        self.control.green > 0 || self.live.as_ref().is_some_and(|live| live.green > 0)
    }

    /// The number of operators for which there was no time.
    pub fn untried_count(&self) -> usize {
        self.mutants.iter().filter(|result| result.verdict == Verdict::Untried).count()
    }

    /// The time was over before the first operator was tried.
    pub fn has_only_untried(&self) -> bool {
        let is_idle = |result: &MutantResult| matches!(result.verdict, Verdict::Untried | Verdict::LiveOnly);
        self.untried_count() > 0 && self.mutants.iter().all(is_idle)
    }

    /// It says nothing of the suites: no case could notice a mutant, or there was no time for any.
    pub fn proves_nothing(&self) -> bool {
        !self.has_green_case() || self.has_only_untried()
    }

    /// Every threshold, those of single suites and servers included.
    pub fn all_gates(&self) -> impl Iterator<Item = &Gate> {
        self.gates.iter().chain(self.suites.iter().flat_map(|suite| &suite.gates))
    }

    /// Adds the proven scores of suites and servers to their other scores.
    pub fn complete(&self, suites: &mut [SuiteScore]) {
        for suite in suites {
            let is_same = |proven: &&ProvenSuite| proven.file == suite.file && proven.server == suite.server;
            if let Some(found) = self.suites.iter().find(is_same) {
                (suite.proven, suite.gates) = (Some(found.proven.clone()), found.gates.clone());
            }
        }
    }
}

/// The weight of a fault of this severity beside others.
pub fn severity_weight(severity: VariantSeverity) -> f64 {
    match severity {
        VariantSeverity::Critical => 4.0,
        VariantSeverity::High => 3.0,
        VariantSeverity::Medium => 2.0,
        VariantSeverity::Low => 1.0,
    }
}

impl MutantResult {
    /// The first kill of each place at which it was killed.
    pub fn kills(&self) -> impl Iterator<Item = &Kill> {
        self.mutants.iter().flat_map(|mutant| &mutant.places).filter_map(|place| place.kill.as_ref())
    }
}

impl MutantSubject {
    /// The subject of what belongs to a whole session.
    pub fn session() -> Self {
        Self { kind: SubjectKind::Session, name: String::new() }
    }
}

impl Verdict {
    /// It says something about the suite, or would have, rather than about the server or the means of a proof.
    pub fn counts(self) -> bool {
        match self {
            Self::Killed | Self::Survived | Self::Undecided | Self::NotCalled | Self::Unreached | Self::Untried => true,
            Self::Redundant | Self::CannotOccur | Self::LiveOnly => false,
        }
    }
}

impl Missing {
    /// The YAML is an entry of `tests:`, rather than a block of the suite.
    pub fn is_test(&self) -> bool {
        let mut lines =
            self.yaml.lines().map(str::trim_start).filter(|line| !line.is_empty() && !line.starts_with('#'));
        lines.next().is_some_and(|line| line.starts_with("- "))
    }
}
