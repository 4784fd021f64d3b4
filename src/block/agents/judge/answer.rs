//! `expect:`, the final answer.

use serde_json::Value;

use super::{JudgedView, Judgement};
use crate::block::agents::run::AgentRun;
use crate::diagnosis;
use crate::event::{Finding, RequirementLevel};
use crate::matching::Expectation;

/// Expectations of the final answer.
#[derive(Debug)]
pub(crate) struct AnswerExpectations(pub(crate) Vec<Expectation>);

impl Judgement for AnswerExpectations {
    fn judge(&self, run: &AgentRun, view: &JudgedView<'_>) -> Vec<Finding> {
        if run.answer().is_none() {
            // Why there is none is told of the run.
            return Vec::new();
        }
        let message = run.as_message();
        let answer = view.answer(&message, &Value::Null);
        let mismatches = self.0.iter().flat_map(|expectation| expectation.evaluate(&answer));
        let found = mismatches.map(|mismatch| diagnosis::of_mismatch(mismatch, view.sources, None));
        found.filter(|found| found.level == RequirementLevel::Must).collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::block::agents::run::AgentEnd;
    use crate::block::agents::tests::{Scene, call, run_of};

    #[test]
    fn expectations_look_at_the_answer_and_at_the_calls() {
        for (expect, is_met) in [
            ("{ text: { equals: done } }", true),
            ("{ text: { equals: other } }", false),
            ("{ at: 'calls[0].tool', equals: get }", true),
            ("{ at: 'calls[0].arguments.id', equals: u1 }", true),
            ("{ at: 'calls[0].arguments.id', equals: u2 }", false),
            ("{ at: 'calls[1].tool', equals: get }", false),
        ] {
            let scene = Scene::new(expect);
            let judgement = AnswerExpectations(Expectation::build(&scene.node, &mut Vec::new()).into_iter().collect());
            let run = run_of(vec![call("get", json!({ "id": "u1" }))]);
            assert_eq!(judgement.judge(&run, &scene.view()).is_empty(), is_met, "{expect}");
            // Another judgement says that the run has no answer.
            let cut = AgentRun { end: AgentEnd::OverBudget("3 calls".to_owned()), ..run };
            assert!(judgement.judge(&cut, &scene.view()).is_empty(), "{expect}");
        }
    }
}
