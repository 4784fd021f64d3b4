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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_that_could_not_be_made_says_nothing_of_a_rule() {
        let problem = |problem| Finding::new("x", "x").with_problem(problem);
        for (found, expected) in [
            (problem(StepProblem::Unfilled), true),
            (problem(StepProblem::NoToken), true),
            (problem(StepProblem::ReadOnly), true),
            (problem(StepProblem::NotCancelled), true),
            // A value that is missing in an answer may be what the rule demands.
            (problem(StepProblem::MissingValue(None)), false),
            (Finding::new("equals", "x"), false),
            (Finding::failure(FailureClass::Timeout, "x"), false),
        ] {
            assert_eq!(is_without_verdict(&found), expected, "{found:?}");
        }
    }

    #[test]
    fn a_request_that_got_no_answer_ends_the_steps() {
        use FailureClass::{ConnectionLost, ConnectionRefused, ProcessExited, ProtocolError, Timeout};
        for (class, expected) in [
            (Timeout, true),
            (ProcessExited, true),
            (ConnectionLost, true),
            (ConnectionRefused, true),
            (ProtocolError, false),
        ] {
            assert_eq!(is_unanswered(&Finding::failure(class, "x")), expected, "{class:?}");
        }
        assert!(!is_unanswered(&Finding::new("equals", "x")));
    }
}
