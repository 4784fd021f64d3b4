//! The data that reproduces a finding.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Code;
use crate::source::map_texts;

/// The kind of a finding: what a server did, whatever brought it about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FindingKind {
    /// The server ended.
    Crash,
    /// A request was never answered.
    Hang,
    /// A server that goes on cut the connection in the middle of an exchange.
    ConnectionLost,
    /// A message violates the protocol.
    ProtocolError,
    /// An answer is not what its schema declares, or a call that a schema forbids was served.
    SchemaViolation,
    /// Something that the suite says of all calls does not hold.
    PropertyFailure,
    /// An answer shows data of an earlier call that has nothing to do with it.
    StateLeak,
}

impl FindingKind {
    /// Every kind.
    pub const ALL: [Self; 7] = [
        Self::Crash,
        Self::Hang,
        Self::ConnectionLost,
        Self::ProtocolError,
        Self::SchemaViolation,
        Self::PropertyFailure,
        Self::StateLeak,
    ];

    /// Why it matters to those who use the server; `None` where that depends on what does not hold.
    pub fn impact(self) -> Option<&'static str> {
        Some(match self {
            Self::Crash => "every client of the server loses its session, and one call is enough to end it",
            Self::Hang => "the client waits until it gives up, and the model is told nothing",
            Self::ConnectionLost => "the client cannot know whether its call was done, and may make it twice",
            Self::ProtocolError => "a client that reads by the specification may drop the message or the session",
            Self::SchemaViolation => {
                "whoever relies on the schema, a client or a model, is given or allowed something else"
            }
            Self::StateLeak => "one user or session is shown what belongs to another",
            Self::PropertyFailure => return None,
        })
    }

    /// The word in reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Crash => "crash",
            Self::Hang => "hang",
            Self::ConnectionLost => "connection-lost",
            Self::ProtocolError => "protocol-error",
            Self::SchemaViolation => "schema-violation",
            Self::PropertyFailure => "property-failure",
            Self::StateLeak => "state-leak",
        }
    }

    /// The severity of a finding that has none of its own.
    pub fn severity(self) -> Severity {
        match self {
            Self::StateLeak => Severity::Critical,
            Self::Crash | Self::Hang => Severity::High,
            Self::ConnectionLost | Self::ProtocolError | Self::SchemaViolation | Self::PropertyFailure => {
                Severity::Medium
            }
        }
    }
}

/// The severity of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// Good to know.
    Low,
    /// Some callers meet it.
    Medium,
    /// The server is of no use to whoever meets it.
    High,
    /// It harms others than whoever calls.
    Critical,
}

impl Severity {
    /// Every severity, the least first.
    pub const ALL: [Self; 4] = [Self::Low, Self::Medium, Self::High, Self::Critical];

    /// The word in suites and reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::Critical => "critical",
        }
    }

    /// The severity of that name.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|severity| severity.as_str() == word)
    }
}

/// The requests that reproduce a finding, and the symptom to look for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Reproduction {
    /// The kind of failure.
    pub kind: FindingKind,
    /// The tool that was called last; `None` where it was no call.
    pub tool: Option<String>,
    /// By session in order, each with a fresh server, but for a text that leaks from one session into another, which
    /// takes two sessions of one server: the requests that were sent, one after another. The last request of the last
    /// session shows it.
    pub sessions: Vec<Vec<ReproductionCall>>,
    /// The check that tells if it shows.
    pub check: ReproductionCheck,
    /// Why it says nothing about the server where it does not show; `None` where the finding is gone then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub doubt: Option<Doubt>,
}

/// Why a replay that shows nothing says nothing about the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Doubt {
    /// It was seen while requests were under way side by side, and never by the same requests one after another.
    SideBySide,
    /// The run that met it said the same again, and it did not show.
    NeverAgain,
}

impl Doubt {
    /// The reason, to be continued after `not reproduced: `.
    pub fn words(self) -> &'static str {
        match self {
            Self::SideBySide => "it was seen with calls side by side, and a replay makes one after another",
            Self::NeverAgain => "the run that found it tried again and could not reproduce it",
        }
    }
}

impl Reproduction {
    /// Changes every text that was sent or is looked for.
    pub fn change_texts(&mut self, change: &dyn Fn(&str) -> String) {
        self.tool = self.tool.take().map(|tool| change(&tool));
        for call in self.sessions.iter_mut().flatten() {
            call.params = map_texts(std::mem::take(&mut call.params), change);
            call.written = call.written.take().map(|written| map_texts(written, change));
        }
        match &mut self.check {
            ReproductionCheck::Broken(expectations) | ReproductionCheck::InSequence(expectations) => {
                *expectations =
                    std::mem::take(expectations).into_iter().map(|expected| map_texts(expected, change)).collect();
            }
            ReproductionCheck::Holds(text) => *text = change(text),
            ReproductionCheck::Block(block) => block.suite = map_texts(std::mem::take(&mut block.suite), change),
            ReproductionCheck::Ends
            | ReproductionCheck::Silent(_)
            | ReproductionCheck::Scan(_)
            | ReproductionCheck::Differs => {}
        }
    }

    /// The number of requests.
    pub fn calls(&self) -> usize {
        if let ReproductionCheck::Block(block) = &self.check {
            return block.calls;
        }
        self.sessions.iter().map(Vec::len).sum()
    }
}

/// A request of a reproduction.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReproductionCall {
    /// The method; empty where `params` is a text that is written as it is.
    pub method: String,
    /// The parameters, without what the revision adds to every request; `null` for none.
    pub params: Value,
    /// The same as a suite writes them, with templates for values of earlier answers: a replay fills in what it is
    /// answered. `None` where the parameters use no earlier answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub written: Option<Value>,
    /// The values of the answer that later requests or the check use: by name, the path.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub capture: BTreeMap<String, String>,
}

impl ReproductionCall {
    /// A request that uses no earlier answer.
    pub fn new(method: impl Into<String>, params: Value) -> Self {
        Self { method: method.into(), params, written: None, capture: BTreeMap::new() }
    }

    /// Returns true if both say the same; values of earlier answers differ from run to run.
    pub fn is_same(&self, other: &Self) -> bool {
        let params = |call: &Self| call.written.clone().unwrap_or_else(|| call.params.clone());
        self.method == other.method && self.capture == other.capture && params(self) == params(other)
    }
}

/// The check that tells if a finding shows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ReproductionCheck {
    /// The server ends.
    Ends,
    /// The last request is not answered within so many milliseconds.
    Silent(u64),
    /// A scan of this code finds something.
    Scan(Code),
    /// One of these expectations about the last answer does not hold; no text in them is a template.
    Broken(Vec<Value>),
    /// The same, of a test of several requests, as a suite writes them: the expectations may use values of earlier answers.
    InSequence(Vec<Value>),
    /// The last answer holds this text, which the last request does not.
    Holds(String),
    /// The last answer differs from the answer that the same request gets as the only one of a fresh server.
    Differs,
    /// A block finds it again.
    Block(BlockReproduction),
}

/// A block that finds something again, in place of requests: what it looks for is no matter of single answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BlockReproduction {
    /// The code of the finding.
    pub code: Code,
    /// The members of a suite beside its server: the block, and what it needs.
    pub suite: Value,
    /// The number of calls that it makes at a time.
    pub calls: usize,
}
