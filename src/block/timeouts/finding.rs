//! Results that show calls.

use std::time::Duration;

use super::late::{LateMessage, LateMessageKind};
use super::slow_call::SlowCall;
use crate::check::evidence::{SHOWN, exchange};
use crate::check::outcome_of;
use crate::event::{CheckResult, Exchange, Finding, Outcome, Phase, Reason};
use crate::session::SessionReply;
use crate::source::{beginning_of_json, duration_text};

/// The number of late messages a finding lists.
const LISTED: usize = 5;

/// A result that grows with the exchanges and findings of a check.
#[derive(Debug)]
pub(crate) struct CallEvidence {
    exchanges: Vec<Exchange>,
    findings: Vec<Finding>,
    frames: Vec<u32>,
}

impl CallEvidence {
    pub(crate) fn new() -> Self {
        Self { exchanges: Vec::new(), findings: Vec::new(), frames: Vec::new() }
    }

    /// Adds a request that was answered.
    pub(crate) fn add_answered(&mut self, title: &str, reply: &SessionReply) {
        self.add(exchange(title, reply));
    }

    /// Adds a slow call whose answer nobody awaited after that time, and what came all the same.
    pub(crate) fn given_up(&mut self, slow: &SlowCall, frame: u32, after: Duration, late: &[LateMessage]) {
        self.add(Exchange {
            phase: Phase::Steps,
            title: format!("tools/call {}", slow.tool),
            tool: Some(slow.tool.clone()),
            sent: beginning_of_json(&slow.params["arguments"], SHOWN),
            received: String::new(),
            frame,
            answer_frame: late.first().map(|message| message.frame),
            elapsed_us: u64::try_from(after.as_micros()).unwrap_or(u64::MAX),
        });
        self.frames.extend(late.iter().map(|message| message.frame));
    }

    /// Adds the messages that a verdict without a call rests on.
    pub(crate) fn saw(&mut self, frames: impl IntoIterator<Item = u32>) {
        self.frames.extend(frames);
    }

    /// Nothing was found so far.
    pub(crate) fn is_clean(&self) -> bool {
        self.findings.is_empty()
    }

    fn add(&mut self, exchange: Exchange) {
        self.frames.push(exchange.frame);
        self.frames.extend(exchange.answer_frame);
        self.exchanges.push(exchange);
    }

    /// Adds a finding that the last exchange shows.
    pub(crate) fn find(&mut self, mut found: Finding) {
        found.exchange = self.exchanges.len().checked_sub(1);
        if found.frame.is_none() {
            found.frame = self.exchanges.last().and_then(|last| last.answer_frame.or(Some(last.frame)));
        }
        self.findings.push(found);
    }

    /// The result: that of the findings, or else a pass with this note.
    pub(crate) fn result(self, note: String) -> CheckResult {
        let Self { exchanges, findings, frames } = self;
        if findings.is_empty() {
            let reason = Some(Reason::Measured(note));
            return CheckResult { reason, exchanges, frames, ..CheckResult::new(Outcome::Passed) };
        }
        CheckResult { exchanges, frames, ..CheckResult::with_findings(outcome_of(&findings), findings) }
    }
}

/// Late messages, a line for each.
pub(crate) fn list_late_messages(late: &[LateMessage]) -> String {
    let line = |message: &LateMessage| {
        let kind = match message.kind {
            LateMessageKind::Progress => "progress",
            LateMessageKind::Result => "a result",
            LateMessageKind::Error => "an error",
        };
        format!("{kind} {} after the cancellation, frame {}", duration_text(message.after), message.frame)
    };
    let mut lines: Vec<String> = late.iter().take(LISTED).map(line).collect();
    if late.len() > LISTED {
        lines.push(format!("… and {} more", late.len() - LISTED));
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::event::RequirementLevel;

    fn late(frame: u32, millis: u64, kind: LateMessageKind) -> LateMessage {
        LateMessage { frame, after: Duration::from_millis(millis), kind }
    }

    fn slow() -> SlowCall {
        SlowCall {
            tool: "export".to_owned(),
            params: json!({"arguments": {"seconds": 2}}),
            time: Duration::from_secs(2),
        }
    }

    #[test]
    fn a_result_is_that_of_its_findings_or_a_pass() {
        let found = |level| Finding { level, ..Finding::new("slow-call-blocks", "it waits") };
        let (must, should) = (RequirementLevel::Must, RequirementLevel::Should);
        for (levels, expected) in [
            (&[][..], Outcome::Passed),
            (&[should], Outcome::Warned),
            (&[must], Outcome::Failed),
            (&[should, must], Outcome::Failed),
        ] {
            let mut evidence = CallEvidence::new();
            assert!(evidence.is_clean());
            for level in levels {
                evidence.find(found(*level));
            }
            let result = evidence.result("all is well".to_owned());
            assert_eq!((result.outcome, result.findings.len()), (expected, levels.len()), "{levels:?}");
            assert_eq!(result.reason.is_some(), expected == Outcome::Passed, "{levels:?}");
        }
    }

    #[test]
    fn a_finding_points_to_the_last_call() {
        let mut evidence = CallEvidence::new();
        evidence.saw([1, 2]);
        evidence.given_up(&slow(), 5, Duration::from_millis(500), &[late(8, 900, LateMessageKind::Result)]);
        evidence.find(Finding::new("cancelled-call-continues", "it goes on"));
        let result = evidence.result(String::new());
        assert_eq!(result.frames, [1, 2, 5, 8, 8]);
        assert_eq!((result.findings[0].exchange, result.findings[0].frame), (Some(0), Some(8)));
        assert_eq!(result.exchanges[0].sent, r#"{"seconds":2}"#);
        // A call whose answer nobody saw is shown by its request.
        let mut evidence = CallEvidence::new();
        evidence.given_up(&slow(), 5, Duration::ZERO, &[]);
        evidence.find(Finding::new("cancelled-call-continues", "it goes on"));
        assert_eq!(evidence.result(String::new()).findings[0].frame, Some(5));
    }

    #[test]
    fn late_messages_are_listed_and_a_flood_is_cut() {
        let progress = late(8, 1_200, LateMessageKind::Progress);
        assert_eq!(list_late_messages(&[]), "");
        assert_eq!(
            list_late_messages(&[progress.clone(), late(9, 1_500, LateMessageKind::Error)]),
            "progress 1.20 s after the cancellation, frame 8\nan error 1.50 s after the cancellation, frame 9"
        );
        let flood = list_late_messages(&vec![progress; LISTED + 3]);
        assert!(flood.ends_with("\n… and 3 more") && flood.lines().count() == LISTED + 1, "{flood}");
    }
}
