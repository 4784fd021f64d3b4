//! Failures that are known: a file of entries that excuse findings, each with a reason, and that must stay true.
//!
//! An entry excuses findings of the cases that it names; [`BaselineMatches`] fails an entry whose case passes, so that it
//! is removed. Knows nothing about how cases run. Start reading in [`Baseline`].

mod grammar;
mod load;
mod matches;
mod pattern;
mod write;

use crate::event::Finding;
use crate::redact::{MASK, Redactor};
use crate::source::{Quote, hash_text};

use self::pattern::Pattern;

pub use self::grammar::{BASELINE, json_schema};
pub use self::load::load;
pub use self::matches::{BaselineMatches, BaselineScope, BaselineVerdict};
pub use self::write::BaselineWriter;

/// The failures that are known; none by default.
#[derive(Debug, Clone, Default)]
pub struct Baseline {
    entries: Vec<BaselineEntry>,
    /// Of its text; nothing where there are no entries.
    hash: Option<u64>,
    /// Masks ids as they were masked where entries were written from a run.
    redactor: Redactor,
}

/// One line of a baseline.
#[derive(Debug, Clone)]
struct BaselineEntry {
    case: Pattern,
    /// The code of the finding; `None` for every finding.
    check: Option<String>,
    reason: String,
    /// Its time is over, so that it excuses nothing.
    has_expired: bool,
    quote: Quote,
}

impl BaselineEntry {
    fn excuses(&self, finding: &Finding) -> bool {
        !self.has_expired && self.covers(finding)
    }

    fn covers(&self, finding: &Finding) -> bool {
        self.check.as_ref().is_none_or(|check| check == finding.code.as_str())
    }
}

impl Baseline {
    /// The hash of its text, by which parts of a run have the same one; nothing where it excuses nothing.
    pub fn hash(&self) -> Option<String> {
        self.hash.map(hash_text)
    }

    /// The same for a run whose reports are without these secrets.
    #[must_use]
    pub fn masked_by(&self, redactor: &Redactor) -> Self {
        Self { redactor: redactor.clone(), ..self.clone() }
    }

    /// An entry names the case of that id, as it is or as reports show it.
    fn names(&self, entry: &BaselineEntry, id: &str) -> bool {
        entry.case.matches(id) || entry.case.as_str().contains(MASK) && entry.case.matches(&self.redactor.text(id))
    }

    /// Marks the findings of a case that are known, and puts those that are new first.
    pub fn mark(&self, id: &str, findings: &mut [Finding]) {
        for finding in findings.iter_mut() {
            let entry = self.entries.iter().find(|entry| entry.excuses(finding) && self.names(entry, id));
            finding.baseline_reason =
                entry.map(|entry| entry.reason.clone()).or_else(|| finding.baseline_reason.take());
        }
        findings.sort_by_key(|finding| finding.baseline_reason.is_some());
    }
}

#[cfg(test)]
mod tests;
