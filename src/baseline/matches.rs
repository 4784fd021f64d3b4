//! Compares entries with a run: which of them match a failure, and which no longer do.

use crate::event::{CaseInfo, CaseResult, Finding, Outcome, SessionJudged};
use crate::source::did_you_mean;

use super::{Baseline, BaselineEntry};

/// The beginning of the name under which ids hold what belongs to no case.
const BESIDE_CASES: &str = "::protocol of ";

/// The part of the suites that a run covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BaselineScope {
    /// Every case ran or said why not.
    Whole,
    /// Somebody chose among the cases, or the run did not get to all of them.
    Part,
}

/// The entries that a run refutes.
#[derive(Debug, Default)]
pub struct BaselineVerdict {
    /// A failed case for each entry that is no longer true.
    pub broken: Vec<CaseResult>,
    /// The number of entries that name no case of a run that did not cover everything.
    pub unmatched: usize,
}

/// Collects which entries match the cases of a run.
#[derive(Debug)]
pub struct BaselineMatches<'a> {
    baseline: &'a Baseline,
    matches: Vec<EntryMatches>,
    ids: Vec<String>,
}

/// The cases that one entry names.
#[derive(Debug, Clone, Default)]
struct EntryMatches {
    is_matched: bool,
    /// The ids of the cases that it names and that did not fail so.
    refuted_by: Vec<String>,
}

impl<'a> BaselineMatches<'a> {
    /// Begins with nothing seen.
    pub fn new(baseline: &'a Baseline) -> Self {
        Self { baseline, matches: vec![EntryMatches::default(); baseline.entries.len()], ids: Vec::new() }
    }

    /// Adds the result of a case.
    pub fn case(&mut self, result: &CaseResult) {
        if self.matches.is_empty() {
            return;
        }
        let earlier = result.earlier.iter().flat_map(|attempt| &attempt.findings);
        let findings: Vec<&Finding> = result.findings.iter().chain(earlier).collect();
        let is_judged = matches!(result.outcome, Outcome::Passed | Outcome::Warned | Outcome::Failed)
            // A conversation that broke may have hidden what would have been found later.
            && findings.iter().all(|finding| finding.class.is_none());
        for (entry, matches) in self.baseline.entries.iter().zip(&mut self.matches) {
            if !self.baseline.names(entry, &result.case.id) {
                continue;
            }
            matches.is_matched = true;
            if is_judged && !findings.iter().any(|finding| entry.covers(finding)) {
                matches.refuted_by.push(result.case.id.clone());
            }
        }
        self.ids.push(result.case.id.clone());
    }

    /// Marks the known findings among those that belong to no case.
    pub fn mark(&self, judged: &mut SessionJudged) {
        self.baseline.mark(&judged.id(), &mut judged.findings);
    }

    /// Adds the findings that belong to no case.
    pub fn session(&mut self, judged: &SessionJudged) {
        let id = judged.id();
        for (entry, matches) in self.baseline.entries.iter().zip(&mut self.matches) {
            matches.is_matched |=
                judged.findings.iter().any(|finding| entry.covers(finding)) && self.baseline.names(entry, &id);
        }
    }

    /// Decides about every entry; `files` are those of the run.
    pub fn close(&self, scope: BaselineScope, files: &[String]) -> BaselineVerdict {
        let mut verdict = BaselineVerdict::default();
        for (entry, matches) in self.baseline.entries.iter().zip(&self.matches).filter(|(entry, _)| !entry.has_expired)
        {
            if !matches.refuted_by.is_empty() {
                verdict.broken.push(stale_entry(entry, unexpected_pass(entry, &matches.refuted_by)));
            } else if !matches.is_matched
                && scope == BaselineScope::Whole
                && files.iter().any(|file| entry.case.is_about(file))
            {
                verdict.broken.push(stale_entry(entry, self.stale(entry)));
            } else if !matches.is_matched {
                verdict.unmatched += 1;
            }
        }
        verdict
    }

    fn stale(&self, entry: &BaselineEntry) -> Finding {
        if entry.case.as_str().contains(BESIDE_CASES) {
            let message = match &entry.check {
                Some(check) => format!("`{check}` was not found this time"),
                None => "the server kept the protocol this time".to_owned(),
            };
            let found = finding(entry, "stale-entry", &message, "listed as a known failure");
            return Finding { help: Some("remove the entry: the server no longer does it".to_owned()), ..found };
        }
        let meant = did_you_mean(entry.case.as_str(), self.ids.iter().map(String::as_str));
        Finding {
            help: Some(meant.unwrap_or_else(|| "remove the entry; `mcprove plan` lists the cases".to_owned())),
            ..finding(entry, "stale-entry", "no case has this name", "matches no case")
        }
    }
}

fn unexpected_pass(entry: &BaselineEntry, ids: &[String]) -> Finding {
    let more = match ids.len() {
        1 => String::new(),
        count => format!(" (and {} more)", count - 1),
    };
    let message = match &entry.check {
        Some(check) => format!("`{check}` was not found in `{}`{more}", ids[0]),
        None => format!("`{}`{more} passed", ids[0]),
    };
    let help = if entry.case.is_open() {
        "remove the entry, or name only the cases that still fail"
    } else {
        "remove the entry: the case no longer fails"
    };
    let listed = if ids.len() > 1 { ids.join("\n") } else { String::new() };
    let found = finding(entry, "unexpected-pass", &message, "listed as a known failure");
    Finding { help: Some(help.to_owned()), ..found }.with_evidence("cases", listed)
}

fn finding(entry: &BaselineEntry, code: &'static str, message: &str, label: &str) -> Finding {
    let mut quote = entry.quote.clone();
    label.clone_into(&mut quote.label);
    Finding { quote: Some(quote), ..Finding::new(code, message) }
}

/// An entry that is no longer true, as a case, so that every report shows it with its place.
fn stale_entry(entry: &BaselineEntry, finding: Finding) -> CaseResult {
    let check = entry.check.as_ref().map(|check| format!(" ({check})")).unwrap_or_default();
    let name = format!("known failure{check}: {}", entry.case.as_str());
    let case = CaseInfo {
        id: format!("{}::{name}", entry.quote.file),
        file: entry.quote.file.clone(),
        line: entry.quote.line,
        column: entry.quote.column,
        from_command_line: false,
        position: Vec::new(),
        suite: "Known failures".to_owned(),
        name,
        row: None,
        server: String::new(),
        revision: String::new(),
        tags: Vec::new(),
        probes: Vec::new(),
        variants: Vec::new(),
        claims: Vec::new(),
        rule: None,
    };
    CaseResult { findings: vec![finding], ..CaseResult::beside(case, Outcome::Failed, String::new()) }
}
