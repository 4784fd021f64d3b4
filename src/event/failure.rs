//! Findings with their evidence.

use std::collections::BTreeSet;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Code, FindingKind, Reproduction, Severity};
use crate::source::Quote;

/// The name of the evidence that says how a server ended.
pub const EXIT: &str = "exit";

/// The requirement level of the broken rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RequirementLevel {
    /// An expectation of the suite, or a MUST of the specification.
    Must,
    /// A SHOULD of the specification.
    Should,
}

impl RequirementLevel {
    /// The word of the specification.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Must => "MUST",
            Self::Should => "SHOULD",
        }
    }
}

/// The name of a failure that is none of an expectation's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FailureClass {
    /// The server's program could not be started.
    CommandNotFound,
    /// The server ended.
    ProcessExited,
    /// The server did not answer in time.
    Timeout,
    /// The server said something that is not the protocol.
    ProtocolError,
    /// Nothing listens there.
    ConnectionRefused,
    /// The connection broke in mid-exchange.
    ConnectionLost,
    /// The secure connection could not be made.
    TlsError,
    /// An HTTP status that ends the exchange.
    HttpStatus,
    /// Credentials are needed.
    AuthRequired,
    /// This program broke.
    Internal,
}

impl FailureClass {
    /// The name in reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::CommandNotFound => "command_not_found",
            Self::ProcessExited => "process_exited",
            Self::Timeout => "timeout",
            Self::ProtocolError => "protocol_error",
            Self::ConnectionRefused => "connection_refused",
            Self::ConnectionLost => "connection_lost",
            Self::TlsError => "tls_error",
            Self::HttpStatus => "http_status",
            Self::AuthRequired => "auth_required",
            Self::Internal => "internal",
        }
    }

    /// The kind of a finding of this class.
    pub fn kind(self) -> FindingKind {
        match self {
            Self::ProcessExited => FindingKind::Crash,
            Self::ConnectionLost => FindingKind::ConnectionLost,
            Self::Timeout => FindingKind::Hang,
            Self::CommandNotFound
            | Self::ProtocolError
            | Self::ConnectionRefused
            | Self::TlsError
            | Self::HttpStatus
            | Self::AuthRequired
            | Self::Internal => FindingKind::ProtocolError,
        }
    }

    /// The server is gone, or its connection.
    pub fn is_the_end(self) -> bool {
        matches!(self, Self::ProcessExited | Self::ConnectionRefused | Self::ConnectionLost)
    }
}

impl fmt::Display for FailureClass {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// One thing that went wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct Finding {
    /// A stable name: the matcher's, the scan's or the failure class's, kebab-case.
    pub code: Code,
    /// The requirement level of the broken rule.
    pub level: RequirementLevel,
    /// The failure class; `None` for a failed expectation.
    pub class: Option<FailureClass>,
    /// One lowercase sentence without a final period.
    pub message: String,
    /// The line of the suite to look at.
    pub quote: Option<Quote>,
    /// The place in the answer.
    pub path: Option<String>,
    /// The value that was expected there.
    pub expected: Option<String>,
    /// The value that was found there.
    pub actual: Option<String>,
    /// The difference, line by line, where the values are long.
    pub diff: Option<String>,
    /// The exchange that shows it, as an index into the case's exchanges.
    pub exchange: Option<usize>,
    /// The frame that shows it.
    pub frame: Option<u32>,
    /// Evidence: exit status, standard error, stray output, as name and text.
    pub evidence: Vec<(String, String)>,
    /// The cure.
    pub help: Option<String>,
    /// The reason in the baseline that excuses it; `None` for a new finding.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline_reason: Option<String>,
    /// The severity, if it is known better than from the kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub severity: Option<Severity>,
    /// The requests that show it again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reproduction: Option<Box<Reproduction>>,
    /// The expectation that did not hold; known while the run lasts, and in no recording of it.
    #[serde(skip)]
    #[schemars(skip)]
    pub expect: Option<Box<BrokenExpectation>>,
    /// Why the step that found it could not be judged; known while the run lasts, and in no recording of it.
    #[serde(skip)]
    #[schemars(skip)]
    pub step_problem: Option<Box<StepProblem>>,
}

/// An expectation that did not hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BrokenExpectation {
    /// The expectation as a suite writes it, with values in place of all names but those of earlier answers.
    pub expected: Value,
    /// The names of earlier answers that it uses.
    pub uses: BTreeSet<String>,
}

/// Why a step could not be judged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StepProblem {
    /// A template of the suite cannot be filled in.
    Unfilled,
    /// An earlier answer lacks a value that the step uses; holds its path if that is known.
    MissingValue(Option<String>),
    /// There is no token for the server.
    NoToken,
    /// The answer is too large or too deep to be read.
    AnswerNotRead,
    /// The step needs the id of a session, and the server gave none.
    NoSessionId,
    /// The answer lacks something that the step needs and that a server may leave out.
    NotApplicable,
    /// The step would call a tool that may change data, and nobody allowed that.
    ToolNotAllowed,
    /// The step would call a tool that may change data in a run that only reads.
    ReadOnly,
    /// The request was answered before it was cancelled.
    NotCancelled,
    /// The step would call a tool for which other cases waited in vain.
    NeverAnswered,
    /// While the request waited in vain, the server said that its surroundings lack something; holds its words.
    SurroundingsLack(String),
    /// The server refused the request because there were too many; holds its words.
    CallsLimited(String),
    /// A valid call, on which the verdict rests, got no answer.
    ValidCallUnanswered {
        /// Nor did the server answer anything else after it.
        is_silent: bool,
    },
    /// Instead of an answer came a message that breaks this rule of the protocol.
    BrokenAnswer {
        /// The code of the rule's scan.
        code: Code,
        /// The frame of the message.
        frame: u32,
    },
}

impl Finding {
    /// The number of pieces of evidence that reports for people show.
    pub const SHOWN_EVIDENCE: usize = 4;

    /// Returns true if it is about an answer that did not come in time.
    pub fn is_timeout(&self) -> bool {
        self.class == Some(FailureClass::Timeout)
    }

    /// A finding with a code and a sentence, everything else to be added.
    pub fn new(code: impl Into<Code>, message: impl Into<String>) -> Self {
        Self {
            code: code.into(),
            level: RequirementLevel::Must,
            class: None,
            message: message.into(),
            quote: None,
            path: None,
            expected: None,
            actual: None,
            diff: None,
            exchange: None,
            frame: None,
            evidence: Vec::new(),
            help: None,
            baseline_reason: None,
            severity: None,
            reproduction: None,
            expect: None,
            step_problem: None,
        }
    }

    /// A failure of the conversation itself.
    pub fn failure(class: FailureClass, message: impl Into<String>) -> Self {
        Self { class: Some(class), ..Self::new(class, message) }
    }

    /// Says that the step could not be judged.
    #[must_use]
    pub fn with_problem(self, problem: StepProblem) -> Self {
        Self { step_problem: Some(Box::new(problem)), ..self }
    }

    /// The exit of the server, if the finding says so.
    pub fn exit(&self) -> Option<&str> {
        self.evidence.iter().find(|(name, _)| name == EXIT).map(|(_, text)| text.as_str())
    }

    /// Adds a piece of evidence unless it is empty.
    #[must_use]
    pub fn with_evidence(mut self, name: &str, text: impl Into<String>) -> Self {
        let text = text.into();
        if !text.is_empty() {
            self.evidence.push((name.to_owned(), text));
        }
        self
    }
}
