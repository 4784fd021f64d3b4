//! `inject:` and `recovery:`, faults that strike calls, and how soon the agent is served again.

use super::{JudgedView, Judgement};
use crate::block::agents::run::AgentRun;
use crate::diagnosis;
use crate::event::Finding;
use crate::fault::PassedCall;
use crate::source::{Quote, Span};
use crate::suite::Recovery;

/// Every fault changes something, and the agent calls again after it.
#[derive(Debug)]
pub(crate) struct AgentRecovery {
    pub(crate) span: Span,
    pub(crate) recovery: Option<Recovery>,
}

impl Judgement for AgentRecovery {
    fn judge(&self, run: &AgentRun, view: &JudgedView<'_>) -> Vec<Finding> {
        // In a recording nobody knows which answers faults have changed.
        let Some(faults) = run.faults.as_ref().filter(|_| !view.context.is_replayed) else { return Vec::new() };
        let at = |found: Finding, span, label: &str| Finding {
            quote: Some(Quote::new(view.context.sources, span, label)),
            ..found
        };
        let idle = faults.idle().into_iter().map(|name| at(diagnosis::of_idle_fault(name), self.span, "these faults"));
        let mut found: Vec<Finding> = idle.collect();
        if found.is_empty()
            && let Some(recovery) = self.recovery
        {
            let made: Vec<PassedCall> = run.calls.iter().filter_map(|call| call.passed).collect();
            // A call that never left is none that is served.
            let all: Vec<PassedCall> = run.calls.iter().map(|call| call.passed.unwrap_or_default()).collect();
            let unrecovered =
                |calls: &[PassedCall], recovery| diagnosis::unrecovered(calls, recovery, "let the agent call again");
            let missed = unrecovered(&all, Recovery { detected: None, ..recovery }).map(|missed| Finding {
                help: Some("the calls in between reached no server: look at what the agent does".to_owned()),
                ..missed
            });
            let late = unrecovered(&made, recovery).or(missed);
            found.extend(late.map(|late| at(late, recovery.span, "this recovery")));
        }
        found
    }
}
