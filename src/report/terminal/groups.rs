//! Which of many failures are shown in full, so that one broken server does not make a wall of text.

use std::collections::BTreeMap;

use crate::event::{CaseResult, FailureClass, Finding, Outcome};
use crate::source::Style;

use super::failure;
use super::layout;

/// How many cases with one cause are shown.
const PER_CAUSE: usize = 3;
/// How many cases are quoted in full; those after them get one line.
const IN_FULL: usize = 20;
/// How many cases are shown at all.
const AT_ALL: usize = 100;
/// How many names are told of those that are not shown.
const NAMES: usize = 6;

/// How much of a case is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shown {
    /// Everything.
    Full,
    /// Its name and the first finding.
    Line,
    /// Nothing but its name, together with the others of its cause.
    Name,
}

/// The code, class and message of every finding; the reason where there are none.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Cause {
    outcome: Outcome,
    is_flaky: bool,
    findings: Vec<(String, Option<FailureClass>, String)>,
    reason: Option<String>,
}

/// Remembers the causes that were seen.
#[derive(Debug, Default)]
pub(crate) struct Groups {
    causes: BTreeMap<Cause, Group>,
    shown: usize,
}

#[derive(Debug, Default)]
struct Group {
    said: String,
    ids: Vec<String>,
    names: Vec<String>,
}

impl Groups {
    /// Decides about the next case.
    pub(crate) fn admit(&mut self, result: &CaseResult) -> Shown {
        let group = self.causes.entry(cause(result)).or_default();
        if group.ids.contains(&result.case.id) {
            return Shown::Name;
        }
        group.said = failure::said(result).unwrap_or_default();
        if group.ids.len() >= PER_CAUSE || self.shown >= AT_ALL {
            group.names.push(failure::name(&result.case));
            return Shown::Name;
        }
        group.ids.push(result.case.id.clone());
        self.shown += 1;
        if self.shown <= IN_FULL { Shown::Full } else { Shown::Line }
    }

    /// How many cases with the cause of this one are not shown, and some of their names; `None` where all are.
    pub(crate) fn more(&self, result: &CaseResult, style: &Style) -> Option<String> {
        let group = self.causes.get(&cause(result))?;
        (group.ids.last() == Some(&result.case.id)).then(|| more_of(group, style)).flatten()
    }

    /// The same for every cause, with the cause in words, for a reader who saw the cases as they came.
    pub(crate) fn all_more(&self, style: &Style) -> String {
        let told =
            |group: &Group| Some(format!("{}\n{}", layout::crop(&group.said, style.width), more_of(group, style)?));
        self.causes.values().filter_map(told).collect::<String>() + &self.unshown(style)
    }

    /// A word about the cases whose cause is not shown at all.
    pub(crate) fn unshown(&self, style: &Style) -> String {
        let count: usize =
            self.causes.values().filter(|group| group.ids.is_empty()).map(|group| group.names.len()).sum();
        if count == 0 {
            return String::new();
        }
        let cases = layout::plural(count, "case");
        let text = format!("and {cases} not shown here; `--report json=report.json` writes all of them");
        layout::wrap_some(&text, style.width, 3) + "\n"
    }
}

fn more_of(group: &Group, style: &Style) -> Option<String> {
    let more = group.names.len();
    if more == 0 || group.ids.is_empty() {
        return None;
    }
    let mut names = group.names.iter().take(NAMES).map(String::as_str).collect::<Vec<_>>().join(", ");
    if more > NAMES {
        names.push_str(", …");
    }
    let text = format!("and {more} more with the same cause: {names}");
    Some(layout::indent(&layout::wrap_some(&text, style.width - 2, 4), "  "))
}

fn cause(result: &CaseResult) -> Cause {
    let findings = match result.earlier.first() {
        Some(attempt) if result.is_flaky() => &attempt.findings,
        Some(_) | None => &result.findings,
    };
    let told = |finding: &Finding| (finding.code.clone(), finding.class, finding.message.clone());
    Cause {
        outcome: result.outcome,
        is_flaky: result.is_flaky(),
        findings: findings.iter().map(told).collect(),
        reason: if findings.is_empty() { result.reason.clone() } else { None },
    }
}
