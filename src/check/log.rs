//! Everything that a check sent and received, for its result.

use crate::event::{CheckResult, Code, Exchange, Finding};

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{Outcome, Phase};

    fn exchange(frame: u32, answer_frame: Option<u32>) -> Exchange {
        let (title, sent, received) = ("ping".to_owned(), String::new(), String::new());
        Exchange { phase: Phase::Steps, title, tool: None, sent, received, frame, answer_frame, elapsed_us: 0 }
    }

    #[test]
    fn results_get_all_exchanges_unless_they_have_some() {
        let log = || {
            let mut log = CheckLog { protocol_revision: "2025-11-25".to_owned(), ..CheckLog::default() };
            assert_eq!(log.add(exchange(4, Some(5))), 0);
            assert_eq!(log.add(exchange(2, None)), 1);
            assert_eq!(log.add(exchange(0, Some(0))), 2);
            log
        };
        let found = log().finding(Code::new("leak"), "it leaks".to_owned(), 0);
        assert_eq!((found.exchange, found.frame), (Some(0), Some(5)));
        let result = log().attach(CheckResult { frames: vec![5, 9], ..CheckResult::new(Outcome::Passed) });
        assert_eq!((result.exchanges.len(), result.frames), (3, vec![2, 4, 5, 9]));
        assert_eq!(result.protocol_revision, "2025-11-25");
        let own = CheckResult { exchanges: vec![exchange(1, None)], ..CheckResult::new(Outcome::Passed) };
        assert_eq!(log().attach(own).exchanges.len(), 1);
    }
}
