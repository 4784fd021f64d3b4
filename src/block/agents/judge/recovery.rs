//! `inject:` and `recovery:`, faults that strike calls, and how soon the agent is served again.

use super::{JudgedView, Judgement};
use crate::block::agents::run::AgentRun;
use crate::diagnosis;
use crate::event::Finding;
use crate::source::{Quote, Span};
use crate::suite::Recovery;

/// Every fault changes something, and the agent calls again after it.
#[derive(Debug)]
pub(in crate::block::agents) struct AgentRecovery {
    pub(in crate::block::agents) span: Span,
    pub(in crate::block::agents) recovery: Option<Recovery>,
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
            let late = diagnosis::unrecovered(&faults.calls(), recovery);
            found.extend(late.map(|late| at(late, recovery.span, "this recovery")));
        }
        found
    }
}
