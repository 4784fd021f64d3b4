//! Cases that stand for a rule of the specification: no expectation hides another one, and advice does not fail a server.

use super::conversation::Conversation;
use crate::event::{CheckResult, FailureClass, Finding, Outcome, Phase, RequirementLevel, StepProblem};
use crate::plan::{Body, Case};
use crate::suite::{Action, Level as RuleLevel, Step};

impl Conversation<'_> {
    /// Does the steps of a rule and goes on after one that failed; after one that got no answer only with those that ask
    /// whether the server is alive. A step that cannot be judged ends them, unless one before it failed.
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

/// Whether a finding says that a step could not be judged.
fn is_without_verdict(found: &Finding) -> bool {
    use StepProblem::{NoSessionId, NoToken, NotApplicable, NotCancelled, ReadOnly, ToolNotAllowed, Unfilled};
    matches!(
        found.step_problem.as_deref(),
        Some(Unfilled | NoToken | NoSessionId | NotApplicable | NotCancelled | ToolNotAllowed | ReadOnly)
    )
}

/// Whether a finding says that a request got no answer.
fn is_unanswered(found: &Finding) -> bool {
    use FailureClass::{ConnectionLost, ConnectionRefused, ProcessExited, Timeout};
    matches!(found.class, Some(Timeout | ProcessExited | ConnectionLost | ConnectionRefused))
}

/// Breaking a rule that only advises is a warning; a server that ends on an ordinary request has failed all the same.
pub(crate) fn downgrade_should(case: &Case, mut attempted: CheckResult) -> CheckResult {
    let is_advice = case.rule.as_ref().is_some_and(|rule| rule.level == RuleLevel::Should);
    if is_advice && attempted.outcome == Outcome::Failed {
        let is_bound = |found: &Finding| !is_raw(case) && found.class == Some(FailureClass::ProcessExited);
        let has_ended = attempted.findings.iter().any(is_bound);
        attempted.outcome = if has_ended { Outcome::Failed } else { Outcome::Warned };
        attempted
            .findings
            .iter_mut()
            .filter(|found| !is_bound(found))
            .for_each(|found| found.level = RequirementLevel::Should);
    }
    attempted
}

/// Whether a case sends what may be no message at all.
fn is_raw(case: &Case) -> bool {
    let Body::Script(script) = &case.body else { return false };
    script.steps.iter().any(|step| matches!(step.action, Action::Send(_) | Action::Http(_)))
}
