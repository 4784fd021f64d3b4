//! The one vocabulary between running and watching.
//!
//! The runner emits [`Event`]s in one total order; reports fold them and know nothing of the runner.
//! Everything here is owned and serialisable, one JSON object a line, so that a recorded run can be turned into any
//! report later. Start reading in [`Event`].

mod case;
mod check;
mod code;
mod coverage;
mod failure;
mod identity;
mod isolation;
mod proof;
mod reason;
mod reproduction;
mod rule;
mod section;
mod server_calls;
mod server_end;
mod shard;
mod texts;
mod tool_use;
mod trace;
mod unjudged;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::suite::AdHocCommand;
use crate::transport::TransportKind;

pub use self::case::{Attempt, CaseInfo, CaseResult, Exchange, Outcome, Phase};
pub use self::check::CheckResult;
pub use self::code::{Code, CodeInfo, manual};
pub use self::coverage::{Coverage, Figure, Gate, GateVerdict, SuiteScore};
pub use self::failure::{BrokenExpectation, EXIT, FailureClass, Finding, RequirementLevel, StepProblem};
pub use self::identity::FindingIdentity;
pub use self::isolation::{IsolationReport, Verdicts};
pub use self::proof::{
    Addition, By, Control, FaultAtSubject, Kill, LeftOut, Missing, MutantPlace, MutantResult, MutantSubject,
    PlantedMutant, Proof, ProvenSuite, StepOfTest, SubjectKind, Verdict, severity_weight,
};
pub use self::reason::{CallPurpose, Reason, RefusedCall, RunEnd};
pub use self::reproduction::{
    BlockReproduction, Doubt, FindingKind, Reproduction, ReproductionCall, ReproductionCheck, Severity,
};
pub use self::rule::RuleInfo;
pub use self::section::{Cell, Section, SectionPart, SectionTable, Tone};
pub use self::server_calls::{CommonRefusal, ServerCallCounts, ToolCallCounts, ToolListing};
pub use self::server_end::ServerEnd;
pub use self::shard::{CoverageFacts, ShardFacts, ShardInfo, ShardUnit, TargetFacts};
pub use self::tool_use::ToolUse;
pub use self::trace::{ServerEnded, SessionTraced, Span, SpanKind};
pub use self::unjudged::{UnjudgedReason, UnjudgedTool, UnjudgedTools};

/// The version of this vocabulary; a reader refuses what is newer than itself.
pub const FORMAT: u32 = 1;

/// One thing that happened in a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Event {
    /// The first event of every run.
    RunStarted(RunStarted),
    /// A server answered its first request.
    ServerReady(ServerReady),
    /// It is known which tools generated cases call.
    ToolsChosen(ToolsChosen),
    /// A case begins an attempt.
    CaseStarted(CaseStarted),
    /// A case is decided.
    CaseFinished(Box<CaseResult>),
    /// A server broke the protocol in frames that belong to no case.
    SessionJudged(SessionJudged),
    /// A session is over; only where a report has a timeline.
    SessionTraced(Box<SessionTraced>),
    /// The last event of every run, an interrupted one included.
    RunFinished(Box<RunFinished>),
}

/// Facts known before the first case.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunStarted {
    /// The version of the event vocabulary.
    pub format: u32,
    /// The program and its version.
    pub program: String,
    /// When the run began, in milliseconds since 1970.
    pub started_unix_ms: u64,
    /// The suites, as file and name.
    pub suites: Vec<SuiteInfo>,
    /// The paths that were typed, none for the current folder; nothing where no suite was asked for by its path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paths: Option<Vec<String>>,
    /// The number of planned cases; blocks that depend on the server's tools may add more.
    pub planned: usize,
    /// The seed of the order where it was shuffled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u32>,
    /// The part of the run that this is, where several machines share it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shard: Option<Box<ShardInfo>>,
    /// The number of parts of which several machines ran one each; nothing for a run of one machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parts: Option<usize>,
}

/// One suite of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SuiteInfo {
    /// The file as the user knows it.
    pub file: String,
    /// The suite's name.
    pub name: String,
    /// The suite was made from a command line, so that its file is on no disk.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub from_command_line: bool,
    /// The command that made the suite; nothing for a suite that is a file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<AdHocCommand>,
}

/// Facts known of a server once it answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ServerReady {
    /// The suite's file.
    pub file: String,
    /// The server's name in the suite.
    pub server: String,
    /// The transport of messages.
    pub transport: TransportKind,
    /// The negotiated revision.
    pub revision: String,
    /// The name and version that the server gives itself.
    pub implementation: Option<String>,
    /// From start to the end of the handshake, in microseconds.
    pub ready_us: u64,
}

/// Which tools of a server generated cases call although they may change data, and which they do not call since they may.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ToolsChosen {
    /// The suite's file.
    pub file: String,
    /// The server's name in the suite.
    pub server: String,
    /// The negotiated revision.
    pub revision: String,
    /// Tools that may be called although they may change data: somebody allowed it.
    pub writing: Vec<String>,
    /// Tools that are not called, since they may change or destroy data.
    pub left_alone: Vec<String>,
    /// The way to allow calling those.
    pub help: String,
}

/// A case begins.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CaseStarted {
    /// The case id.
    pub id: String,
    /// The file in which the case is written.
    #[serde(default)]
    pub file: String,
    /// The case's name, with its row in brackets.
    #[serde(default)]
    pub name: String,
    /// The attempt, counted from one.
    pub attempt: u32,
}

/// The results of scans in frames that belong to no case.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SessionJudged {
    /// The suite's file.
    pub file: String,
    /// The suite's name.
    pub suite: String,
    /// The line of the server in the suite.
    pub line: usize,
    /// The suite was made from a command line, so that file and line are places on no disk.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub from_command_line: bool,
    /// The server's name in the suite.
    pub server: String,
    /// The negotiated revision.
    pub revision: String,
    /// The violations.
    pub findings: Vec<Finding>,
}

impl SessionJudged {
    /// The violations that fail the server: those of a duty that no baseline knows.
    pub(crate) fn failures(&self) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(|found| found.level == RequirementLevel::Must && found.baseline_reason.is_none())
    }

    /// The id under which reports and baselines know it.
    pub fn id(&self) -> String {
        let Self { file, server, revision, .. } = self;
        format!("{file}::protocol of {server}@{server}/{revision}")
    }

    /// The case that it would be, so that everything that is about cases can be about it.
    pub fn info(&self) -> CaseInfo {
        CaseInfo {
            id: self.id(),
            file: self.file.clone(),
            line: self.line,
            column: 1,
            from_command_line: self.from_command_line,
            position: Vec::new(),
            suite: self.suite.clone(),
            name: format!("protocol of {}", self.server),
            row: None,
            server: self.server.clone(),
            revision: self.revision.clone(),
            tags: Vec::new(),
            probes: Vec::new(),
            variants: Vec::new(),
            claims: Vec::new(),
            rule: None,
        }
    }
}

/// The end of a run.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct RunFinished {
    /// From the first to the last event, in microseconds.
    pub duration_us: u64,
    /// The user or the system stopped it.
    pub interrupted: bool,
    /// The event that ended it before its last case was over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_by: Option<RunEnd>,
    /// The number of cases that were planned and not reached.
    pub not_run: usize,
    /// The fault coverage of the run.
    pub coverage: Option<Coverage>,
    /// Recorded answers that no test uses any more.
    #[serde(default)]
    pub stale_snapshots: Vec<String>,
    /// The verdicts of three ways to run the cases, if `--verify-isolation` asked for them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub isolation: Option<IsolationReport>,
    /// The sections that blocks add to the summary.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sections: Vec<Section>,
    /// The number and duration of server starts.
    #[serde(default, skip_serializing_if = "ServerStarts::are_none")]
    pub starts: ServerStarts,
    /// The result of a proof, if there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proof: Option<Box<Proof>>,
    /// Tools that were not judged, the reason that weighs most first: a run with some has no verdict although nothing failed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unjudged: Vec<UnjudgedTools>,
    /// The tools of each server, and which of them cases called; only where a report has a timeline.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<ToolUse>,
    /// Cases that pass only after a retry fail the run.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub fails_on_flaky: bool,
    /// How the run ended for each of its servers; only where it has several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub servers: Vec<ServerEnd>,
    /// What `mcprove merge` needs of a part of a run beside its cases.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shard: Option<Box<ShardFacts>>,
}

/// The number and duration of server starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct ServerStarts {
    /// The number of processes that were started.
    pub processes: usize,
    /// From each start until the server was ready, or had failed, added up, in microseconds; starts may overlap.
    pub waited_us: u64,
}

impl ServerStarts {
    fn are_none(&self) -> bool {
        self.processes == 0
    }

    /// Adds others.
    pub fn add(&mut self, others: Self) {
        self.processes = self.processes.saturating_add(others.processes);
        self.waited_us = self.waited_us.saturating_add(others.waited_us);
    }
}
