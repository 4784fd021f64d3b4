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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::agents::tests::{calls, decoy, malformed, run_of, unknown};

    #[test]
    fn calls_of_tools_that_servers_have_are_right() {
        let mut made = calls(&["search", "get"]);
        made.extend([malformed("get"), decoy("get_archive"), unknown("shell")]);
        let mut count = SelectionCount::default();
        count.add(&run_of(made));
        assert_eq!(count, SelectionCount { right: 3, all: 5 });
        assert_eq!(share_text(count.interval()), "60% (23% to 88%)");
    }
}
