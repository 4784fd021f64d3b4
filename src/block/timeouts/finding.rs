//! Results that show calls.

use std::time::Duration;

use super::late::{LateMessage, LateMessageKind};
use super::slow_call::SlowCall;
use crate::check::evidence::{SHOWN, exchange};
use crate::check::outcome_of;
use crate::event::{CheckResult, Exchange, Finding, Outcome, Phase, Reason};
use crate::session::SessionReply;
use crate::source::{beginning_of_json, duration_text};

/// How many late messages a finding lists.
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

    /// Adds a call that was answered.
    pub(crate) fn answered(&mut self, tool: &str, reply: &SessionReply) {
        self.add(exchange(&format!("tools/call {tool}"), reply));
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

    /// Whether nothing was found so far.
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
        CheckResult { exchanges, frames, ..CheckResult::found(outcome_of(&findings), findings) }
    }
}

/// Late messages, a line for each.
pub(crate) fn listed(late: &[LateMessage]) -> String {
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
