//! One case and how it ended.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Finding, Reason, RequirementLevel, RuleInfo};

/// The identity of a case and its place in the suite.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct CaseInfo {
    /// `file::test name[row]@server/revision`, unique in a run.
    pub id: String,
    /// The file as the user knows it.
    pub file: String,
    /// The line of the test or block, counted from one.
    pub line: usize,
    /// The column, counted from one.
    pub column: usize,
    /// The suite was made from a command line, so that file and line are places on no disk.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub from_command_line: bool,
    /// Its place among the cases of its suite, for those of one line: rows and servers, and then what a block or
    /// loop became.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub position: Vec<usize>,
    /// The suite's name.
    pub suite: String,
    /// The test's name, or the generated case's.
    pub name: String,
    /// The row of a data-driven test.
    pub row: Option<String>,
    /// The server's name in the suite.
    pub server: String,
    /// The revision asked for: a date or `auto`.
    pub revision: String,
    /// The tags.
    pub tags: Vec<String>,
    /// The probes that the case belongs to; none for a plain test.
    pub probes: Vec<String>,
    /// The variants of the fault taxonomy that it can judge.
    pub variants: Vec<String>,
    /// The variants that its test names in `judges:`, although no expectation in it judges them; they count nowhere.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub claims: Vec<String>,
    /// The rule of the specification for which it stands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<Box<RuleInfo>>,
}

/// The verdict on a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// Every expectation held.
    Passed,
    /// An expectation or a MUST was broken.
    Failed,
    /// A SHOULD was broken.
    Warned,
    /// It was not run, for a reason.
    Skipped,
    /// It ran and could not be judged.
    Inconclusive,
    /// The environment or this program broke.
    Errored,
}

impl Outcome {
    /// The word in reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed => "failed",
            Self::Warned => "warned",
            Self::Skipped => "skipped",
            Self::Inconclusive => "inconclusive",
            Self::Errored => "errored",
        }
    }
}

/// One case with everything a report may want to show.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct CaseResult {
    /// The identity of the case.
    pub case: CaseInfo,
    /// The outcome.
    pub outcome: Outcome,
    /// Why it was skipped, inconclusive or errored, or a note on a case that passed.
    #[serde(default, with = "super::reason")]
    #[schemars(with = "Option<super::reason::WrittenReason<'static>>")]
    pub reason: Option<Reason>,
    /// Of the last attempt, setup and teardown included and the start of the server not, in microseconds.
    pub duration_us: u64,
    /// The attempts before the last one; a passed case with any is flaky.
    pub earlier: Vec<Attempt>,
    /// Every run of the case in order where it was repeated; it passes only if all of them pass.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub repetitions: Vec<Attempt>,
    /// The findings of the last attempt, or of the repetition that is shown: the first of the worst.
    pub findings: Vec<Finding>,
    /// The messages that were sent and answered, in order; long texts cut.
    pub exchanges: Vec<Exchange>,
    /// The negotiated revision; empty where nothing was sent.
    pub protocol_revision: String,
    /// The command that runs this case again.
    pub rerun_command: String,
    /// The variants that this run judged, each with the frames that show it.
    pub judged: Vec<String>,
    /// The numbers of its frames in the session's transcript.
    pub frames: Vec<u32>,
}

#[cfg(test)]
impl CaseResult {
    /// A case of the suite `s.yml` that ended like this, with its name as its id.
    pub(crate) fn of_test(name: &str, outcome: Outcome) -> Self {
        let case = CaseInfo {
            id: name.to_owned(),
            file: "s.yml".to_owned(),
            line: 1,
            column: 1,
            from_command_line: false,
            position: Vec::new(),
            suite: "s".to_owned(),
            name: name.to_owned(),
            row: None,
            server: "server".to_owned(),
            revision: "auto".to_owned(),
            tags: Vec::new(),
            probes: Vec::new(),
            variants: Vec::new(),
            claims: Vec::new(),
            rule: None,
        };
        Self::beside(case, outcome, String::new())
    }
}

impl CaseResult {
    /// A case of which nothing but its outcome is known, and the command that runs into it again.
    pub fn beside(case: CaseInfo, outcome: Outcome, rerun_command: String) -> Self {
        Self {
            case,
            outcome,
            reason: None,
            duration_us: 0,
            earlier: Vec::new(),
            repetitions: Vec::new(),
            findings: Vec::new(),
            exchanges: Vec::new(),
            protocol_revision: String::new(),
            rerun_command,
            judged: Vec::new(),
            frames: Vec::new(),
        }
    }

    /// Nothing can be said of it here: it was not reached, or the server does not speak its revision.
    pub fn does_not_apply(&self) -> bool {
        let is_elsewhere = matches!(self.reason, Some(Reason::RevisionNotSupported { .. } | Reason::NotRun(_)));
        self.outcome == Outcome::Skipped && is_elsewhere
    }

    /// The number of its repetitions that passed, and of all; `None` if it was not repeated.
    pub fn passed_of(&self) -> Option<(usize, usize)> {
        let passed = self.repetitions.iter().filter(|run| matches!(run.outcome, Outcome::Passed | Outcome::Warned));
        (!self.repetitions.is_empty()).then(|| (passed.count(), self.repetitions.len()))
    }

    /// It passed only after an earlier attempt had not.
    pub fn is_flaky(&self) -> bool {
        self.outcome == Outcome::Passed && !self.earlier.is_empty()
    }

    /// It was skipped because the server has nothing that it is about.
    pub fn is_inapplicable(&self) -> bool {
        self.outcome == Outcome::Skipped && self.reason.as_ref().is_some_and(Reason::is_inapplicable)
    }

    /// It failed in no way that a baseline does not excuse.
    pub fn is_known(&self) -> bool {
        let mut broken = self.findings.iter().filter(|finding| finding.level == RequirementLevel::Must).peekable();
        self.outcome == Outcome::Failed
            && broken.peek().is_some()
            && broken.all(|finding| finding.baseline_reason.is_some())
    }

    /// Why it failed as was known; `None` for every other case.
    pub fn baseline_reason(&self) -> Option<&str> {
        self.findings.iter().find_map(|finding| finding.baseline_reason.as_deref()).filter(|_| self.is_known())
    }
}

/// An attempt that was followed by another, or one of several repetitions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Attempt {
    /// The outcome.
    pub outcome: Outcome,
    /// In microseconds.
    pub duration_us: u64,
    /// The findings.
    pub findings: Vec<Finding>,
}

/// A request and what came back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Exchange {
    /// The part of the case that sent it; empty for its own steps.
    pub phase: Phase,
    /// The method, with the tool, resource or prompt: `tools/call get_user`.
    pub title: String,
    /// The tool of a call; nothing for any other request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// The arguments or parameters as compact JSON, long ones cut.
    pub sent: String,
    /// The answer as compact JSON, long ones cut; empty where none came.
    pub received: String,
    /// The frame that carried the request, zero where nothing was sent.
    pub frame: u32,
    /// The frame that carried the answer.
    pub answer_frame: Option<u32>,
    /// From request to answer, in microseconds.
    pub elapsed_us: u64,
}

impl Exchange {
    /// The title of a call of a tool.
    pub fn call_title(tool: &str) -> String {
        format!("tools/call {tool}")
    }

    /// The tool that a request with this title and these parameters calls; `None` for any other request.
    pub fn tool_of(title: &str, params: &Value) -> Option<String> {
        params["name"].as_str().filter(|tool| Self::call_title(tool) == title).map(str::to_owned)
    }
}

/// The part of a case or suite that a step belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub enum Phase {
    /// The steps of the case itself.
    #[default]
    #[serde(rename = "")]
    Steps,
    /// The setup of the case.
    #[serde(rename = "setup")]
    Setup,
    /// Steps and calls that must succeed before the others prove anything.
    #[serde(rename = "witness")]
    Precondition,
    /// The teardown of the case.
    #[serde(rename = "teardown")]
    Teardown,
    /// The setup of the suite.
    #[serde(rename = "suite setup")]
    SuiteSetup,
    /// The teardown of the suite.
    #[serde(rename = "suite teardown")]
    SuiteTeardown,
}

impl Phase {
    /// The words in reports; empty for the steps of the case itself.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Steps => "",
            Self::Setup => "setup",
            Self::Precondition => "witness",
            Self::Teardown => "teardown",
            Self::SuiteSetup => "suite setup",
            Self::SuiteTeardown => "suite teardown",
        }
    }
}
