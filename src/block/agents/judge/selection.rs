//! `distractors:`, whether the model chooses tools that the servers have.

use crate::block::agents::run::{AgentRun, CallTarget};
use crate::reliability::Interval;

/// The number of calls that chose a tool of the servers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct SelectionCount {
    pub(crate) right: u64,
    pub(crate) all: u64,
}

impl SelectionCount {
    /// Adds the calls of a run.
    pub(crate) fn add(&mut self, run: &AgentRun) {
        for call in &run.calls {
            self.all += 1;
            self.right += u64::from(matches!(call.target, CallTarget::Tool { .. } | CallTarget::Malformed { .. }));
        }
    }

    /// The share of right choices, with its interval.
    pub(crate) fn interval(self) -> Interval {
        Interval::wilson(self.right, self.all)
    }
}

/// A share with its interval: `67% (21% to 94%)`.
pub(crate) fn share_text(interval: Interval) -> String {
    let percent = |share: f64| format!("{:.0}%", share * 100.0);
    format!("{} ({} to {})", percent(interval.share), percent(interval.low), percent(interval.high))
}
