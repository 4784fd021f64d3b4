//! Why a case has no verdict, or what is to be said of one that has.

use std::borrow::Cow;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::session::InVain;
use crate::wire::{call_limit, surroundings_lack};

/// Why a case was skipped, inconclusive or errored, or a note on a case that passed.
///
/// Decisions rest on the variant; the sentence is made by `Display` alone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "code", content = "details", rename_all = "kebab-case")]
pub enum Reason {
    /// The suite skips it and says why.
    SkippedBySuite(String),
    /// The server, or its answer, lacks something that the case needs.
    NotApplicable(String),
    /// The suite or the command line does not give what the case needs; says what that is, and how to give it.
    NotGiven(String),
    /// It would call a tool that may change data, and nobody allowed that.
    ToolNotAllowed(String),
    /// It would call a tool that may change data in a run that only reads.
    ReadOnly(String),
    /// The server does not support the requested revision.
    RevisionNotSupported {
        /// The revision that the server negotiates.
        supported: String,
        /// The revision that the suite asks for.
        requested: String,
    },
    /// The run ended before its turn.
    NotRun(RunEnd),
    /// The run was interrupted while it ran.
    Interrupted,
    /// The answers were recorded, and compared with nothing.
    Recorded,
    /// Changes since the server was recorded that fail nothing.
    Changed(String),
    /// A lint found something that the suite allows, for this reason.
    Allowed(String),
    /// The figures of a check that counts or measures.
    Measured(String),
    /// No calls can be generated from the input schema.
    NoCallsGenerated(String),
    /// The server listed nothing that could be compared with a recording.
    NothingToCompare,
    /// Neither the recorded nor the current server served a recorded call of the tool.
    NoRecordedCallServed(String),
    /// The server could not be started or reached.
    ServerUnavailable(String),
    /// Its setup failed.
    SetupFailed,
    /// Its teardown failed.
    TeardownFailed,
    /// The suite's teardown failed.
    SuiteTeardownFailed,
    /// There is no token for the server.
    NoToken(String),
    /// An answer is too large or too deep to be read.
    AnswerNotRead(String),
    /// A template of the suite cannot be filled in.
    Unfilled(String),
    /// A step needs the id of a session, and the server gave none.
    NoSessionId,
    /// A request was answered before it was cancelled.
    NotCancelled(String),
    /// A generated step would call a tool for which other cases waited in vain, or at whose calls the server ended.
    NeverAnswered(String),
    /// Messages after a cancellation cannot be seen over HTTP in this revision.
    CancellationUnseen,
    /// An expectation could not be evaluated.
    NotEvaluated(String),
    /// A recorded model would be told something else than when it was recorded, so nobody knows what it would say.
    ModelDiverged,
    /// The answer of a precondition lacks the value at this path, which later steps use.
    MissingValue(String),
    /// A precondition of the case failed.
    PreconditionFailed(String),
    /// The server refused a valid call that the verdict depends on.
    ValidCallRefused(RefusedCall),
    /// A valid call that the verdict depends on got no answer, in this case or an earlier one; holds the method and the
    /// name of the tool.
    ValidCallUnanswered(String),
    /// The server could not do what was asked, since its surroundings lack something; holds its words.
    SurroundingsLack(String),
    /// The server, or a service behind it, refused a call because there were too many; holds its words.
    CallsLimited(String),
    /// No round of a property was served; holds the words of the last answer, and the way to give arguments.
    NothingServed(String),
    /// The time of the case ended before all rounds of a property had run.
    RoundsOutOfTime {
        /// Rounds that passed.
        passed: u32,
        /// Rounds that were planned.
        planned: u32,
        /// The time for all of them, as text.
        limit: String,
    },
    /// No message was received to which the scanned rule applies.
    NothingToScan,
    /// The shared server crashed while several cases used it, and no crash occurred when this one ran alone.
    CrashNotReproduced,
    /// Some of its repetitions did not pass.
    RepetitionsFailed {
        /// The number that passed.
        passed: usize,
        /// The number of all.
        of: usize,
        /// Why the worst of them did not.
        because: Option<Box<Self>>,
    },
    /// Expanding the template took too long; holds the limit as text.
    ExpansionTimedOut(String),
    /// The template became no cases.
    NothingExpanded,
    /// This program failed.
    Internal(String),
}

/// The event that ended a run before its last case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RunEnd {
    /// The user or the system stopped it.
    Interrupted,
    /// Enough cases had failed.
    Bailed,
    /// The time that the user gave it was over.
    OutOfTime,
}

impl fmt::Display for RunEnd {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str(match self {
            Self::Interrupted => "the run was interrupted",
            Self::Bailed => "`--bail` ended the run",
            Self::OutOfTime => "the time of `--budget` was over",
        })
    }
}

/// A valid call that the server refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RefusedCall {
    /// The method and the name of the tool, resource or prompt.
    pub call: String,
    /// The beginning of the answer.
    pub answer: String,
    /// The way to give arguments that the server serves.
    pub help: String,
    /// The purpose of the call.
    pub purpose: CallPurpose,
}

/// The purpose of a valid call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CallPurpose {
    /// Refusals of invalid calls count only where a valid call is served.
    Precondition,
    /// Its own answer is checked.
    Check,
}

impl Reason {
    /// Changes every text that a server or a user wrote.
    pub fn change_texts(&mut self, change: &dyn Fn(&str) -> String) {
        for text in self.texts() {
            *text = change(text);
        }
    }

    /// Every text that a server or a user wrote.
    pub fn texts(&mut self) -> Vec<&mut String> {
        match self {
            Self::SkippedBySuite(text)
            | Self::NotApplicable(text)
            | Self::NotGiven(text)
            | Self::ToolNotAllowed(text)
            | Self::ReadOnly(text)
            | Self::Changed(text)
            | Self::Allowed(text)
            | Self::Measured(text)
            | Self::NoCallsGenerated(text)
            | Self::NoRecordedCallServed(text)
            | Self::ServerUnavailable(text)
            | Self::NoToken(text)
            | Self::AnswerNotRead(text)
            | Self::Unfilled(text)
            | Self::NotCancelled(text)
            | Self::NeverAnswered(text)
            | Self::NotEvaluated(text)
            | Self::MissingValue(text)
            | Self::PreconditionFailed(text)
            | Self::NothingServed(text)
            | Self::ValidCallUnanswered(text)
            | Self::SurroundingsLack(text)
            | Self::CallsLimited(text)
            | Self::Internal(text) => vec![text],
            Self::RevisionNotSupported { supported, requested } => vec![supported, requested],
            Self::ValidCallRefused(RefusedCall { call, answer, help, purpose: _ }) => vec![call, answer, help],
            Self::RepetitionsFailed { because: Some(because), .. } => because.texts(),
            Self::NotRun(_)
            | Self::Interrupted
            | Self::Recorded
            | Self::NothingToCompare
            | Self::SetupFailed
            | Self::TeardownFailed
            | Self::SuiteTeardownFailed
            | Self::NoSessionId
            | Self::CancellationUnseen
            | Self::ModelDiverged
            | Self::RoundsOutOfTime { .. }
            | Self::NothingToScan
            | Self::CrashNotReproduced
            | Self::RepetitionsFailed { because: None, .. }
            | Self::ExpansionTimedOut(_)
            | Self::NothingExpanded => Vec::new(),
        }
    }
}

impl Reason {
    /// The server has nothing that the case is about, so that there is nothing to do about it.
    pub fn is_inapplicable(&self) -> bool {
        matches!(self, Self::NotApplicable(_) | Self::NothingToScan | Self::RevisionNotSupported { .. })
    }

    /// Why a refusal in these words says nothing about the call; `None` where it may.
    pub fn of_refusal(words: &str) -> Option<Self> {
        let lack = surroundings_lack(words).map(Self::SurroundingsLack);
        lack.or_else(|| call_limit(words).map(Self::CallsLimited))
    }

    /// Why no case calls a tool any more.
    pub fn in_vain(tool: &str, why: InVain) -> Self {
        let seen = match why {
            InVain::Silent => "other cases waited for it in vain",
            InVain::EndsServer => "the server ended when other cases called it",
        };
        Self::NeverAnswered(format!("`{tool}` has served no call of this run, and {seen}"))
    }

    /// Why no case waits for an answer of a tool any more.
    pub fn never_answered(tool: &str) -> Self {
        Self::in_vain(tool, InVain::Silent)
    }
}

impl RefusedCall {
    /// Why nothing follows from it; `words` are the server's own.
    pub fn reason(self, words: &str) -> Reason {
        Reason::of_refusal(words).unwrap_or(Reason::ValidCallRefused(self))
    }
}

impl From<String> for Reason {
    fn from(text: String) -> Self {
        Self::NotApplicable(text)
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SkippedBySuite(text)
            | Self::NotApplicable(text)
            | Self::NotGiven(text)
            | Self::ToolNotAllowed(text)
            | Self::ReadOnly(text)
            | Self::Measured(text)
            | Self::ServerUnavailable(text)
            | Self::NoToken(text)
            | Self::AnswerNotRead(text)
            | Self::Unfilled(text)
            | Self::NotCancelled(text)
            | Self::NeverAnswered(text)
            | Self::NotEvaluated(text)
            | Self::Internal(text) => to.write_str(text),
            Self::RevisionNotSupported { supported, requested } => {
                write!(to, "the server speaks {supported}, not {requested}")
            }
            Self::NotRun(end) => write!(to, "not run: {end}"),
            Self::Interrupted => RunEnd::Interrupted.fmt(to),
            Self::Recorded => to.write_str("recorded"),
            Self::Changed(changes) => write!(to, "changed: {changes}"),
            Self::Allowed(why) => write!(to, "allowed: {why}"),
            Self::NoCallsGenerated(why) => write!(to, "no calls can be generated from its input schema: {why}"),
            Self::NothingToCompare => to.write_str("the server listed nothing to compare"),
            Self::NoRecordedCallServed(tool) => {
                write!(to, "`{tool}` served none of its recorded calls, neither when they were recorded nor now, so its answers cannot be compared")
            }
            Self::SetupFailed => to.write_str("its setup failed"),
            Self::TeardownFailed => to.write_str("its teardown failed"),
            Self::SuiteTeardownFailed => to.write_str("the suite's teardown failed"),
            Self::NoSessionId => to.write_str("the server gave no session id"),
            Self::ModelDiverged => {
                to.write_str("the model's input differs from the recording, so the recorded answers do not apply")
            }
            Self::CancellationUnseen => to.write_str(
                "over HTTP, 2026-07-28 cancels a request by closing its response, so nothing that the server sends \
                 after that can be seen",
            ),
            Self::MissingValue(path) => write!(to, "the server's answer has no `{path}`, which the next step needs"),
            Self::PreconditionFailed(why) => {
                write!(to, "a precondition failed: {why}")
            }
            Self::ValidCallRefused(RefusedCall { call, answer, help, purpose }) => {
                let so = match purpose {
                    CallPurpose::Precondition => "a refusal proves nothing",
                    CallPurpose::Check => "there is nothing to check",
                };
                write!(to, "the valid call `{call}` was refused, so {so}: the server answered {answer}; ")?;
                write!(to, "give valid arguments {help}")
            }
            Self::ValidCallUnanswered(call) => {
                write!(to, "the valid call `{call}` got no answer in time, so nothing follows for calls of this tool")
            }
            Self::SurroundingsLack(words) => {
                write!(to, "the server lacks something here, so its calls say nothing: \"{words}\"; provide it, or exempt ")?;
                to.write_str("the tools that need it with `allow_unjudged`")
            }
            Self::CallsLimited(words) => {
                write!(to, "the server limits how often it is called, so this refusal says nothing: \"{words}\"; raise ")?;
                to.write_str("the limit for tests, or exempt the tools behind it with `allow_unjudged`")
            }
            Self::NothingServed(answer) => {
                write!(to, "no call was served, so nothing was tried: the last answer was {answer}")
            }
            Self::RoundsOutOfTime { passed, planned, limit } => {
                write!(to, "{passed} of {planned} rounds passed before the limit of {limit} ended the case; ")?;
                to.write_str("lower `cases` or raise `timeout`")
            }
            Self::NothingToScan => to.write_str("the server sent no message to which the rule applies"),
            Self::CrashNotReproduced => to.write_str(
                "the server ended while requests of several cases were pending; this case passes alone with a fresh server",
            ),
            Self::RepetitionsFailed { passed, of, because: None } => write!(to, "passed {passed} of {of}"),
            Self::RepetitionsFailed { passed, of, because: Some(because) } => {
                write!(to, "passed {passed} of {of}: {because}")
            }
            Self::ExpansionTimedOut(limit) => {
                write!(to, "its cases could not be derived from the server's lists within {limit}")
            }
            Self::NothingExpanded => to.write_str("it became no cases"),
        }
    }
}

/// A reason as it is written: with its sentence, which is not read back.
#[derive(Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Reason")]
pub(crate) struct WrittenReason<'a> {
    /// The sentence.
    #[serde(default)]
    text: String,
    /// The code, and what the sentence is made of.
    #[serde(flatten)]
    reason: Cow<'a, Reason>,
}

#[expect(clippy::ref_option, reason = "serde passes the field as it is")]
pub(crate) fn serialize<S: Serializer>(reason: &Option<Reason>, to: S) -> Result<S::Ok, S::Error> {
    let written = |reason| WrittenReason { text: Reason::to_string(reason), reason: Cow::Borrowed(reason) };
    reason.as_ref().map(written).serialize(to)
}

pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Reason>, D::Error> {
    let written = Option::<WrittenReason<'static>>::deserialize(from)?;
    Ok(written.map(|written| written.reason.into_owned()))
}
