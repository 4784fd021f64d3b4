//! Writes a baseline from the failures of a run.

use std::fmt::Write as _;

use indexmap::IndexMap;

use crate::event::{CaseResult, Finding, Outcome, RequirementLevel, SessionJudged};
use crate::source::yaml_writer;

/// The reason of a new entry, for the user to replace.
const TO_BE_EXPLAINED: &str = "to be explained";

/// Collects failures.
#[derive(Debug, Clone, Default)]
pub struct BaselineWriter {
    /// The reasons by case and check.
    reasons: IndexMap<(String, String), String>,
}

impl BaselineWriter {
    /// Adds the failures of a case.
    pub fn case(&mut self, result: &CaseResult) {
        if result.outcome == Outcome::Failed {
            self.findings(&result.case.id, &result.findings);
        }
    }

    /// Adds the findings that belong to no case.
    pub fn session(&mut self, judged: &SessionJudged) {
        self.findings(&judged.id(), &judged.findings);
    }

    fn findings(&mut self, id: &str, findings: &[Finding]) {
        for finding in findings.iter().filter(|finding| finding.level == RequirementLevel::Must) {
            let reason = finding.baseline_reason.clone().unwrap_or_else(|| TO_BE_EXPLAINED.to_owned());
            self.reasons.entry((id.to_owned(), finding.code.to_string())).or_insert(reason);
        }
    }

    /// The number of entries.
    pub fn len(&self) -> usize {
        self.reasons.len()
    }

    /// Nothing failed.
    pub fn is_empty(&self) -> bool {
        self.reasons.is_empty()
    }

    /// The file.
    pub fn text(&self) -> String {
        let mut text = "# Known failures: `mcprove run --baseline FILE` does not count them.\n".to_owned();
        text +=
            "# Once a case no longer fails, its entry fails the run. `until: 2026-12-31` gives an entry a last day.\n";
        if self.is_empty() {
            return text + "[]\n";
        }
        for ((case, check), reason) in &self.reasons {
            let [case, check, reason] = [case, check, reason].map(|text| yaml_writer::quote(text));
            let _ = write!(text, "- case: {case}\n  check: {check}\n  reason: {reason}\n");
        }
        text
    }
}
