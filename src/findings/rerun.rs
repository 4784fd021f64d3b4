//! Runs the block of a kept finding again, and looks for the same finding.

use std::sync::Arc;

use super::replay::ReplayResult;
use crate::event::{BlockReproduction, CaseResult, Code, Event, Finding, Outcome};
use crate::plan::Plan;
use crate::redact::Redactor;
use crate::runner::{Observer, Options, SessionFrames, run};
use crate::taxonomy::Registry;

/// The code of a run that came to no verdict.
const NOT_JUDGED: &str = "not-judged";

/// Runs a plan that holds the block.
pub async fn rerun(wanted: &BlockReproduction, plan: &Arc<Plan>, options: Options) -> ReplayResult {
    let mut cases = FinishedCases::default();
    run(Plan::clone(plan), options, Registry::builtin(), &mut cases).await;
    cases.verdict(&wanted.code)
}

#[derive(Default)]
struct FinishedCases(Vec<CaseResult>);

impl Observer for FinishedCases {
    fn event(&mut self, event: &Event) {
        if let Event::CaseFinished(result) = event {
            self.0.push((**result).clone());
        }
    }

    fn session(&mut self, _: &SessionFrames, _: &Redactor) {}
}

impl FinishedCases {
    fn verdict(&self, code: &Code) -> ReplayResult {
        let findings = || self.0.iter().flat_map(|case| case.findings.iter());
        if let Some(found) = findings().find(|found| found.code == *code) {
            return ReplayResult::Again(Box::new(found.clone()));
        }
        let failed = self.0.iter().filter(|case| case.outcome == Outcome::Failed).flat_map(|case| case.findings.iter());
        if let Some(found) = { failed }.next() {
            return ReplayResult::Otherwise(Box::new(found.clone()));
        }
        let is_judged = |case: &CaseResult| matches!(case.outcome, Outcome::Passed | Outcome::Warned);
        if self.0.iter().any(is_judged) {
            return ReplayResult::Gone;
        }
        let why = self.0.iter().find_map(|case| case.reason.as_ref()).map(ToString::to_string);
        let why = findings().next().map(|found| found.message.clone()).or(why).unwrap_or_default();
        ReplayResult::NoServer(Box::new(Finding::new(NOT_JUDGED, why)))
    }
}
