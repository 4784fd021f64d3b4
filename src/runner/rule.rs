//! Cases that stand for a rule of the specification: no expectation hides another one.

use super::conversation::Conversation;
use crate::event::{FailureClass, Finding, Phase, StepProblem};
use crate::suite::{Action, Step};

impl Conversation<'_> {
    /// Does the steps of a rule and goes on after one that failed; after one that got no answer only with those that
    /// ask whether the server is alive. A step that cannot be judged ends them, unless one before it failed.
    pub(crate) async fn judge_all(&mut self, steps: &[Step]) -> Result<(), Vec<Finding>> {
        let mut is_answered = true;
        for step in steps {
            let is_possible = (is_answered || matches!(step.action, Action::Alive)) && self.speaker.session.is_open();
            if !(is_possible || self.broken.is_empty()) {
                continue;
            }
            let mut found = self.step(Phase::Steps, step).await;
            if self.broken.is_empty() && found.iter().any(is_without_verdict) {
                return Err(found);
            }
            if !self.broken.is_empty() {
                // Without what an earlier step was to provide, this one says nothing.
                found.retain(|found| {
                    !matches!(found.step_problem.as_deref(), Some(StepProblem::MissingValue(_)))
                        && !is_without_verdict(found)
                });
            }
            is_answered &= !found.iter().any(is_unanswered);
            self.broken.append(&mut found);
        }
        let broken = std::mem::take(&mut self.broken);
        if broken.is_empty() { Ok(()) } else { Err(broken) }
    }
}

/// Returns true if a finding says that a step could not be judged.
fn is_without_verdict(found: &Finding) -> bool {
    use StepProblem::{
        NeverAnswered, NoSessionId, NoToken, NotApplicable, NotCancelled, ReadOnly, ToolNotAllowed, Unfilled,
    };
    matches!(
        found.step_problem.as_deref(),
        Some(
            Unfilled | NoToken | NoSessionId | NotApplicable | NotCancelled | NeverAnswered | ToolNotAllowed | ReadOnly
        )
    )
}

/// Returns true if a finding says that a request got no answer.
fn is_unanswered(found: &Finding) -> bool {
    use FailureClass::{ConnectionLost, ConnectionRefused, ProcessExited, Timeout};
    matches!(found.class, Some(Timeout | ProcessExited | ConnectionLost | ConnectionRefused))
}
