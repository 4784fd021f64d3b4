//! A baseline made from what failed.

use std::fmt::Write as _;

use indexmap::IndexMap;

use crate::event::{CaseResult, Finding, Outcome, RequirementLevel, SessionJudged};
use crate::source::is_hidden;

/// What stands where somebody has to say why.
const TO_BE_EXPLAINED: &str = "to be explained";

/// Collects failures.
#[derive(Debug, Clone, Default)]
pub struct Writer {
    /// The reasons by case and check.
    reasons: IndexMap<(String, String), String>,
}

impl Writer {
    /// Takes in how a case ended.
    pub fn case(&mut self, result: &CaseResult) {
        if result.outcome == Outcome::Failed {
            self.findings(&result.case.id, &result.findings);
        }
    }

    /// Takes in what was found outside of any case.
    pub fn session(&mut self, judged: &SessionJudged) {
        self.findings(&judged.id(), &judged.findings);
    }

    fn findings(&mut self, id: &str, findings: &[Finding]) {
        for finding in findings.iter().filter(|finding| finding.level == RequirementLevel::Must) {
            let reason = finding.baseline_reason.clone().unwrap_or_else(|| TO_BE_EXPLAINED.to_owned());
            self.reasons.entry((id.to_owned(), finding.code.clone())).or_insert(reason);
        }
    }

    /// How many entries there are.
    pub fn len(&self) -> usize {
        self.reasons.len()
    }

    /// Whether nothing failed.
    pub fn is_empty(&self) -> bool {
        self.reasons.is_empty()
    }

    /// The file.
    pub fn text(&self) -> String {
        let mut text = "# Failures that are known; `mcprove run --baseline` does not count them.\n".to_owned();
        text += "# An entry that is no longer true fails the run. `until: 2026-12-31` lets one end by itself.\n";
        if self.is_empty() {
            return text + "[]\n";
        }
        for ((case, check), reason) in &self.reasons {
            let [case, check, reason] = [case, check, reason].map(|text| quoted(text));
            let _ = write!(text, "- case: {case}\n  check: {check}\n  reason: {reason}\n");
        }
        text
    }
}

/// A text in double quotes, where YAML lets everything be escaped.
fn quoted(text: &str) -> String {
    let mut shown = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => shown.extend(['\\', c]),
            c if is_hidden(c) => {
                let _ = write!(shown, "\\U{:08x}", u32::from(c));
            }
            c => shown.push(c),
        }
    }
    shown + "\""
}
