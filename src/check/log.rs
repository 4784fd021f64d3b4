//! Everything that a check sent and received, for its result.

use super::evidence::exchange;
use crate::event::{CheckResult, Code, Exchange, Finding};
use crate::session::SessionReply;

/// The exchanges and frames of a check so far.
#[derive(Debug, Default)]
pub(crate) struct CheckLog {
    exchanges: Vec<Exchange>,
    frames: Vec<u32>,
    /// The revision that the last session speaks.
    pub(crate) protocol_revision: String,
}

impl CheckLog {
    /// The log of sessions that speak this revision.
    pub(crate) fn of(protocol_revision: String) -> Self {
        Self { protocol_revision, ..Self::default() }
    }

    /// Adds an exchange; returns its index.
    pub(crate) fn add(&mut self, exchange: Exchange) -> usize {
        let shown = [Some(exchange.frame), exchange.answer_frame];
        self.frames.extend(shown.into_iter().flatten().filter(|frame| *frame > 0));
        self.exchanges.push(exchange);
        self.exchanges.len() - 1
    }

    /// Adds a request and its answer; returns its index.
    pub(crate) fn add_reply(&mut self, title: &str, reply: &SessionReply) -> usize {
        self.add(exchange(title, reply))
    }

    pub(crate) fn exchanges(&self) -> &[Exchange] {
        &self.exchanges
    }

    /// A finding about the answer of an exchange.
    pub(crate) fn finding(&self, code: Code, message: String, exchange: usize) -> Finding {
        let frame = self.exchanges[exchange].answer_frame;
        Finding { exchange: Some(exchange), frame, ..Finding::new(code, message) }
    }

    /// The result with everything that was exchanged, unless it says itself what belongs to it.
    pub(crate) fn attach(self, mut result: CheckResult) -> CheckResult {
        if result.exchanges.is_empty() {
            result.exchanges = self.exchanges;
        }
        result.frames.extend(self.frames);
        result.frames.sort_unstable();
        result.frames.dedup();
        result.protocol_revision = self.protocol_revision;
        result
    }
}
