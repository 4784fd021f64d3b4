//! The kinds of faults that a campaign crosses with tools, and the tools that each of them fits.

use std::time::Duration;

use serde_json::{Value, json};

use super::subject::ToolNature;
use crate::fault::{Fault, decode_named};
use crate::source::Span;
use crate::source::template::from_json;

/// How many times longer than the client waits a late answer takes.
const LATER: u32 = 2;

/// A kind of fault: what strikes a call, and what the client sees of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum FaultKind {
    /// The server does its work, and its answer does not come.
    LostResponse,
    /// The server does not hear of the request.
    LostRequest,
    /// The server hears of the request twice.
    DuplicateRequest,
    /// The answer comes too late: the client has cancelled the request.
    LateAnswer,
    /// The server does its work, and its answer is an error.
    Error,
    /// The server does its work, and bytes that are no text come instead of its answer.
    Garbage,
}

/// What the client sees of a struck call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StruckEnding {
    /// No answer in time.
    Unanswered,
    /// An answer.
    Answered,
    /// No answer, since it cancelled the call.
    Cancelled,
}

/// The names of all kinds, as suites and flags name them.
pub(super) const KIND_NAMES: [&str; FaultKind::ALL.len()] = {
    let mut names = [""; FaultKind::ALL.len()];
    let mut at = 0;
    while at < names.len() {
        names[at] = FaultKind::ALL[at].as_str();
        at += 1;
    }
    names
};

impl FaultKind {
    pub(super) const ALL: [Self; 6] =
        [Self::LostResponse, Self::LostRequest, Self::DuplicateRequest, Self::LateAnswer, Self::Error, Self::Garbage];

    /// The name: the type of the fault, or `late_answer`.
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::LostResponse => "lost_response",
            Self::LostRequest => "lost_request",
            Self::DuplicateRequest => "duplicate_request",
            Self::LateAnswer => "late_answer",
            Self::Error => "error",
            Self::Garbage => "garbage",
        }
    }

    /// Whether it can be held against no tool of that nature: what a tool must be told once is not told twice.
    pub(super) fn fits(self, nature: ToolNature) -> bool {
        self != Self::DuplicateRequest || nature.may_be_repeated()
    }

    /// Whether the server hears of a call that it strikes.
    pub(super) fn is_heard(self) -> bool {
        self != Self::LostRequest
    }

    pub(super) fn ending(self) -> StruckEnding {
        match self {
            Self::LostResponse | Self::LostRequest | Self::Garbage => StruckEnding::Unanswered,
            Self::DuplicateRequest | Self::Error => StruckEnding::Answered,
            Self::LateAnswer => StruckEnding::Cancelled,
        }
    }

    /// The fault in the words of a suite; it strikes the call of the tool with this number, and `timeout` is how long
    /// the client waits.
    pub(super) fn written(self, tool: &str, number: usize, timeout: Duration) -> Value {
        let on = json!({"tools": tool, "nth": number});
        match self {
            Self::LateAnswer => json!({"type": "latency", "added": milliseconds(timeout * LATER), "on": on}),
            Self::LostResponse | Self::LostRequest | Self::DuplicateRequest | Self::Error | Self::Garbage => {
                json!({"type": self.as_str(), "on": on})
            }
        }
    }

    /// The name of the fault that strikes the call with this number.
    pub(super) fn fault_name(self, number: usize) -> String {
        format!("{}, call {number}", self.as_str())
    }

    /// The fault itself.
    pub(super) fn faults(self, tool: &str, number: usize, timeout: Duration, span: Span) -> Vec<Fault> {
        let mut found = Vec::new();
        let faults =
            decode_named(&self.fault_name(number), &from_json(&self.written(tool, number, timeout), span), &mut found);
        debug_assert!(found.is_empty(), "a fault of campaigns has mistakes: {found:?}");
        faults
    }
}

/// A duration as suites write it.
pub(super) fn milliseconds(duration: Duration) -> String {
    format!("{}ms", duration.as_millis())
}

impl std::str::FromStr for FaultKind {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == text).ok_or(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::{SourceFile, Sources};

    #[test]
    fn every_kind_is_one_fault_in_the_words_of_suites() {
        let mut sources = Sources::default();
        let source = sources.add(SourceFile::new("suite.yml", ""));
        let span = Span { source, start: 0, end: 0 };
        for kind in FaultKind::ALL {
            let faults = kind.faults("create_user", 2, Duration::from_millis(500), span);
            assert_eq!(faults.len(), 1, "{kind:?}");
            assert_eq!(faults[0].name(), kind.fault_name(2));
            assert_eq!(kind.as_str().parse(), Ok(kind));
        }
    }

    #[test]
    fn tools_that_may_have_their_effect_again_are_told_once() {
        let doubled = |nature| FaultKind::ALL.into_iter().filter(|kind| kind.fits(nature)).count();
        assert_eq!(doubled(ToolNature::Plain), FaultKind::ALL.len() - 1);
        assert_eq!(doubled(ToolNature::Idempotent), FaultKind::ALL.len());
    }
}
