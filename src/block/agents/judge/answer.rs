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
        let found = mismatches.map(|mismatch| diagnosis::of_mismatch(mismatch, view.context.sources, None));
        found.filter(|found| found.level == RequirementLevel::Must).collect()
    }
}
