//! `inject:` and `recovery:`, faults that strike calls, and how soon the agent is served again.

use super::{JudgedView, Judgement};
use crate::block::agents::run::AgentRun;
use crate::diagnosis;
use crate::event::Finding;
use crate::fault::PassedCall;
use crate::source::Span;
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
        let Some(faults) = run.faults.as_ref().filter(|_| !view.is_replayed) else { return Vec::new() };
        let at = |found: Finding, span, label: &str| Finding { quote: Some(view.quote(span, label)), ..found };
        let idle = faults.idle().into_iter().map(|name| at(diagnosis::of_idle_fault(name), self.span, "these faults"));
        let mut found: Vec<Finding> = idle.collect();
        if found.is_empty()
            && let Some(recovery) = self.recovery
        {
            let made: Vec<PassedCall> = run.calls.iter().filter_map(|call| call.passed).collect();
            // A call that never left is none that is served.
            let all: Vec<PassedCall> = run.calls.iter().map(|call| call.passed.unwrap_or_default()).collect();
            let unrecovered =
                |calls: &[PassedCall], recovery| diagnosis::judge_recovery(calls, recovery, "let the agent call again");
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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::block::agents::run::AgentCall;
    use crate::block::agents::tests::{Scene, calls, messages, run_of};
    use crate::fault::FaultPlayer;
    use crate::suite::RecoveryLimit;

    fn passed(is_struck: bool, is_served: bool) -> Option<PassedCall> {
        Some(PassedCall { is_struck, is_served, answered: Some(Duration::ZERO), ..PassedCall::default() })
    }

    #[test]
    fn an_agent_is_served_soon_after_the_last_fault() {
        let (struck, served, failed) = (passed(true, false), passed(false, true), passed(false, false));
        for (made, expected) in [
            (vec![struck, served], ""),
            (vec![struck, failed, served], "only call 2 after the last struck one was served, not one of 1"),
            (vec![struck], "no call followed the last struck one, so nobody knows whether the server recovered"),
            (vec![served], "no call of a tool was struck, so nothing had to recover"),
            // A call that reached no server, as one of a tool that is not offered.
            (vec![struck, None, served], "only call 2 after the last struck one was served, not one of 1"),
        ] {
            let scene = Scene::new("[lost]");
            let recovery = Recovery { detected: None, within: RecoveryLimit::Calls(1), span: scene.node.span };
            let judgement = AgentRecovery { span: scene.node.span, recovery: Some(recovery) };
            let names = vec!["get"; made.len()];
            let made = calls(&names).into_iter().zip(made).map(|(call, passed)| AgentCall { passed, ..call }).collect();
            let faults = Some(std::sync::Arc::new(FaultPlayer::new(Vec::new())));
            let found = judgement.judge(&AgentRun { faults, ..run_of(made) }, &scene.view());
            assert_eq!(messages(&found).concat(), expected);
        }
    }

    #[test]
    fn a_fault_that_changes_nothing_is_reported_unless_the_run_is_replayed() {
        let mut scene = Scene::new(
            "{ name: a, provider: { scripted: [{ answer: x }] }, prompt: p, inject: [{ type: lost_response, tools: get }] }",
        );
        let (agent, mistakes) = scene.agent();
        assert_eq!(agent.faults.len(), 1, "{mistakes:?}");
        let faults = Some(std::sync::Arc::new(FaultPlayer::new(agent.faults.clone())));
        let run = AgentRun { faults, ..run_of(calls(&["search"])) };
        let judgement = AgentRecovery { span: scene.node.span, recovery: None };
        assert_eq!(judgement.judge(&run, &scene.view()).len(), 1);
        scene.is_replayed = true;
        assert!(judgement.judge(&run, &scene.view()).is_empty());
    }
}
