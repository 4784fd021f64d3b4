//! The kinds of faults that a campaign crosses with tools, and the tools that each of them fits.

use std::time::Duration;

use serde_json::{Value, json};

use super::effect::ToolNature;
use crate::fault::{Fault, decode_named};
use crate::source::template::from_json;
use crate::source::{Span, choice};

/// The factor by which a late answer, or a pause, takes longer than the client waits.
const LATER: u32 = 2;

choice! {
    /// A kind of fault: what strikes a call, and what the client sees of it.
    pub(crate) enum FaultKind {
        /// The server does its work, and its answer does not come.
        LostResponse = "lost_response",
        /// The server does not get the request.
        LostRequest = "lost_request",
        /// The server gets the request twice.
        DuplicateRequest = "duplicate_request",
        /// The server gets the request five times at once, as from a client that loses its patience.
        RetryStorm = "retry_storm",
        /// The answer comes too late: the client has cancelled the request.
        LateAnswer = "late_answer",
        /// The server does its work, and its answer is an error.
        Error = "error",
        /// The server does its work, and bytes that are no text come instead of its answer.
        Garbage = "garbage",
        /// The process of the server is killed when its answer is on the way: it has confirmed the call.
        Kill = "kill",
        /// The process of the server is killed as soon as it has the request.
        KillAtWork = "kill_at_work",
        /// The process of the server stands still for longer than the client waits.
        Pause = "pause",
    }
}

/// The call that a fault strikes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StruckCall<'a> {
    pub(crate) tool: &'a str,
    /// Its number among the calls of the tool.
    pub(crate) number: usize,
    /// The time for which the client waits for its answer.
    pub(crate) timeout: Duration,
    /// The server may be started again before it, so that its session is another one.
    pub(crate) is_counted_across_sessions: bool,
}

/// The outcome of a struck call, as the client sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StruckEnding {
    /// No answer in time.
    Unanswered,
    /// An answer.
    Answered,
    /// No answer, since it cancelled the call.
    Cancelled,
}

impl FaultKind {
    /// It may strike a tool of that nature: a call that must be made once is not made twice.
    pub(crate) fn fits(self, nature: ToolNature) -> bool {
        !self.repeats() || nature.may_be_repeated()
    }

    /// The server hears of the call more than once.
    fn repeats(self) -> bool {
        matches!(self, Self::DuplicateRequest | Self::RetryStorm)
    }

    /// The server receives a call that it strikes.
    pub(crate) fn reaches_server(self) -> bool {
        self != Self::LostRequest
    }

    /// It strikes the process of the server, which must be one that is started here.
    pub(crate) fn needs_process(self) -> bool {
        self.kills() || self == Self::Pause
    }

    /// The server is gone afterwards, and starts again.
    pub(crate) fn kills(self) -> bool {
        matches!(self, Self::Kill | Self::KillAtWork)
    }

    /// The time for which the server stands still from the call on.
    pub(crate) fn stands_still(self, timeout: Duration) -> Duration {
        if self == Self::Pause { timeout * LATER } else { Duration::ZERO }
    }

    pub(crate) fn ending(self) -> StruckEnding {
        match self {
            Self::LostResponse | Self::LostRequest | Self::Garbage | Self::Kill | Self::KillAtWork | Self::Pause => {
                StruckEnding::Unanswered
            }
            Self::DuplicateRequest | Self::RetryStorm | Self::Error => StruckEnding::Answered,
            Self::LateAnswer => StruckEnding::Cancelled,
        }
    }

    /// The client gets the answer of the server.
    pub(crate) fn keeps_answer(self) -> bool {
        self.ending() == StruckEnding::Answered && self != Self::Error
    }

    /// The fault in the words of a suite.
    pub(crate) fn to_json(self, call: StruckCall<'_>) -> Value {
        let mut on = json!({"tools": call.tool, "nth": call.number});
        if call.is_counted_across_sessions {
            on["per"] = "server".into();
        }
        match self {
            Self::LateAnswer => json!({"type": "latency", "added": milliseconds(call.timeout * LATER), "on": on}),
            Self::Pause => json!({"process": {"pause": milliseconds(self.stands_still(call.timeout))}, "on": on}),
            Self::LostResponse
            | Self::LostRequest
            | Self::DuplicateRequest
            | Self::RetryStorm
            | Self::Error
            | Self::Garbage
            | Self::Kill
            | Self::KillAtWork => json!({"type": self.as_str(), "on": on}),
        }
    }

    /// The name of the fault that strikes the call with this number.
    pub(crate) fn fault_name(self, number: usize) -> String {
        format!("{}, call {number}", self.as_str())
    }

    /// The fault itself.
    pub(crate) fn faults(self, call: StruckCall<'_>, span: Span) -> Vec<Fault> {
        let mut found = Vec::new();
        let faults = decode_named(&self.fault_name(call.number), &from_json(&self.to_json(call), span), &mut found);
        debug_assert!(found.is_empty(), "a fault of campaigns has mistakes: {found:?}");
        faults
    }
}

/// A duration as suites write it.
pub(crate) fn milliseconds(duration: Duration) -> String {
    format!("{}ms", duration.as_millis())
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
            let timeout = Duration::from_millis(500);
            let call = StruckCall { tool: "create_user", number: 2, timeout, is_counted_across_sessions: kind.kills() };
            let faults = kind.faults(call, span);
            assert_eq!(faults.len(), 1, "{kind:?}");
            assert_eq!(faults[0].needs_process(), kind.needs_process(), "{kind:?}");
            assert_eq!(faults[0].name(), kind.fault_name(2));
        }
    }

    #[test]
    fn tools_that_may_have_their_effect_again_are_called_once() {
        let doubled = |nature| FaultKind::ALL.into_iter().filter(|kind| kind.fits(nature)).count();
        assert_eq!(doubled(ToolNature::Plain), FaultKind::ALL.len() - 2);
        assert_eq!(doubled(ToolNature::Idempotent), FaultKind::ALL.len());
    }

    #[test]
    fn faults_are_written_as_suites_write_them() {
        let on = json!({"tools": "add", "nth": 2});
        let timeout = Duration::from_millis(500);
        for (kind, is_counted_across_sessions, expected) in [
            (FaultKind::LostResponse, false, json!({"type": "lost_response", "on": on})),
            // The client has given up when the answer comes, and the server still stands when it asks again.
            (FaultKind::LateAnswer, false, json!({"type": "latency", "added": "1000ms", "on": on})),
            (FaultKind::Pause, false, json!({"process": {"pause": "1000ms"}, "on": on})),
            // A server that was started again has had no call yet.
            (FaultKind::Kill, true, json!({"type": "kill", "on": {"tools": "add", "nth": 2, "per": "server"}})),
            (FaultKind::Error, true, json!({"type": "error", "on": {"tools": "add", "nth": 2, "per": "server"}})),
        ] {
            let call = StruckCall { tool: "add", number: 2, timeout, is_counted_across_sessions };
            assert_eq!(kind.to_json(call), expected);
        }
    }

    #[test]
    fn a_client_sees_of_a_fault_what_comes_back() {
        use FaultKind::{
            DuplicateRequest, Error, Garbage, Kill, KillAtWork, LateAnswer, LostRequest, LostResponse, Pause,
            RetryStorm,
        };
        let timeout = Duration::from_millis(500);
        for (kinds, ending, keeps_answer) in [
            (&[LostResponse, LostRequest, Garbage, Kill, KillAtWork, Pause][..], StruckEnding::Unanswered, false),
            (&[DuplicateRequest, RetryStorm], StruckEnding::Answered, true),
            // The answer that comes is not the server's.
            (&[Error], StruckEnding::Answered, false),
            (&[LateAnswer], StruckEnding::Cancelled, false),
        ] {
            for kind in kinds {
                assert_eq!((kind.ending(), kind.keeps_answer()), (ending, keeps_answer), "{kind:?}");
                assert_eq!(kind.stands_still(timeout) > timeout, *kind == Pause, "{kind:?}");
                assert_eq!(kind.reaches_server(), *kind != LostRequest, "{kind:?}");
            }
        }
    }
}
