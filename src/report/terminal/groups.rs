//! Which of many failures are shown in full, so that one broken server does not make a wall of text.

use std::collections::{BTreeMap, BTreeSet};

use crate::event::{CaseResult, Finding, Outcome};
use crate::report::cause::{self, Cause};
use crate::report::wording;
use crate::source::Style;

use super::answer::without_envelope;
use super::failure;
use super::layout;
use super::view::Cases;

/// The most tests with one cause that are shown; one is enough for a cause that is the same wherever it is met, and where
/// there are many causes.
const PER_CAUSE: usize = 3;
/// The number of causes up to which each is shown several times.
const FEW_CAUSES: usize = 5;
/// The most cases that are quoted in full; those after them get one line.
const IN_FULL: usize = 20;
/// The most cases that are shown at all.
const AT_ALL: usize = 100;
/// The most cases that are named without being shown.
const NAMES: usize = 6;

/// The details of a case that are shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum CaseDetail {
    /// Everything but the findings with these causes, which were shown before.
    Full(Vec<Cause>),
    /// Its name and the first finding.
    Line,
    /// Nothing but its name, together with the others of its cause.
    Name,
}

/// Remembers the causes that were seen.
#[derive(Debug, Default)]
pub(crate) struct Groups {
    causes: BTreeMap<Cause, CaseGroup>,
    shown: usize,
    /// The number of cases that are shown nowhere, not even by name.
    unshown: usize,
    /// Each case that was not judged is shown, whatever its reason.
    shows_unjudged: bool,
    /// A case of each cause is enough.
    shows_once: bool,
}

/// The cases with one cause.
#[derive(Debug, Default)]
struct CaseGroup {
    /// The failure of the last one that is shown.
    said: String,
    /// The block, or what stands before the row, that the names of shown cases begin with.
    family: String,
    /// The rule for which the last one that is shown stands.
    rule: Option<String>,
    /// The server and revision of the last one that is shown.
    target: Option<String>,
    /// The ids of those that are shown.
    ids: Vec<String>,
    /// The failures that are shown: a further row of the same test with the same answer shows nothing new.
    shown_failures: Vec<FailureKey>,
    /// Those that are not shown.
    names: Vec<String>,
}

/// The key of a failure: a test, and what it found.
#[derive(Debug, Clone, PartialEq, Eq)]
struct FailureKey {
    file: String,
    line: usize,
    found: Vec<Option<String>>,
}

impl FailureKey {
    fn of(result: &CaseResult) -> Self {
        // The id of an answer is another one each time.
        let actual = |finding: &Finding| finding.actual.as_deref().map(without_envelope).map(str::to_owned);
        let found = result.findings.iter().map(|finding| finding.diff.clone().or_else(|| actual(finding)));
        Self { file: result.case.file.clone(), line: result.case.line, found: found.collect() }
    }
}

impl Groups {
    /// Whoever wants to see every case sees why each of them was not judged.
    pub(crate) fn of(cases: Cases) -> Self {
        Self { shows_unjudged: cases == Cases::All, ..Self::default() }
    }

    /// Shows one case of each cause, for a log in which all of them are shown again.
    pub(crate) fn once() -> Self {
        Self { shows_once: true, ..Self::default() }
    }

    /// The same for cases that are all known: many causes are shown once each, rather than a few of them again and again.
    pub(crate) fn knowing<'c>(self, cases: impl IntoIterator<Item = &'c CaseResult>) -> Self {
        let distinct: BTreeSet<Cause> = cases.into_iter().flat_map(cause::causes).collect();
        Self { shows_once: self.shows_once || distinct.len() > FEW_CAUSES, ..self }
    }

    /// Decides about the next case.
    pub(crate) fn admit(&mut self, result: &CaseResult) -> CaseDetail {
        let causes = cause::causes(result);
        let sight = FailureKey::of(result);
        if causes.iter().any(|cause| self.causes.get(cause).is_some_and(|group| group.ids.contains(&result.case.id))) {
            return CaseDetail::Name;
        }
        let is_full = |cause: &Cause| {
            let most = if cause.is_general || self.shows_once { 1 } else { PER_CAUSE };
            let is_seen = |group: &CaseGroup| group.ids.len() >= most || group.shown_failures.contains(&sight);
            self.causes.get(cause).is_some_and(is_seen)
        };
        let (old, new): (Vec<Cause>, Vec<Cause>) = causes.into_iter().partition(is_full);
        if new.is_empty() && self.shows_unjudged && result.outcome == Outcome::Inconclusive {
            return CaseDetail::Line;
        }
        let has_room = self.shown < AT_ALL;
        for cause in &old {
            self.causes.entry(cause.clone()).or_default().add_name(result);
        }
        if new.is_empty() || !has_room {
            self.unshown += usize::from(old.is_empty());
            return CaseDetail::Name;
        }
        for cause in new {
            let group = self.causes.entry(cause).or_default();
            group.said = failure::summarize(result).unwrap_or_default();
            family(&result.case.name).clone_into(&mut group.family);
            group.rule = rule(result).map(str::to_owned);
            group.ids.push(result.case.id.clone());
            group.shown_failures.push(sight.clone());
            group.target = wording::target(&result.case);
        }
        self.shown += 1;
        if self.shown <= IN_FULL { CaseDetail::Full(old) } else { CaseDetail::Line }
    }

    /// The number of cases with a cause of this one that are not shown, and some of their names; empty if all are shown.
    pub(crate) fn more(&self, result: &CaseResult, style: &Style) -> String {
        let is_last = |group: &&CaseGroup| group.ids.last() == Some(&result.case.id);
        let causes = cause::causes(result);
        let of = |cause: &Cause| {
            let group = self.causes.get(cause).filter(is_last)?;
            let code = cause.code.as_ref().filter(|_| causes.len() > 1);
            let what = code.map_or_else(|| alike(cause).to_owned(), |code| format!("with `{code}`"));
            more_of(group, &what, style)
        };
        causes.iter().filter_map(of).collect()
    }

    /// The same for every cause, with the cause in words, for a reader who saw the cases as they came.
    #[cfg(feature = "cli")]
    pub(crate) fn all_more(&self, style: &Style) -> String {
        let told = |(cause, group): (&Cause, &CaseGroup)| {
            let more = more_of(group, alike(cause), style)?;
            Some(format!("{}\n{more}", layout::crop(&group.said, style.width)))
        };
        self.causes.iter().filter_map(told).collect::<String>() + &self.unshown(style)
    }

    /// A word about the cases whose cause is not shown at all.
    pub(crate) fn unshown(&self, style: &Style) -> String {
        if self.unshown == 0 {
            return String::new();
        }
        let cases = layout::plural(self.unshown, "case");
        let text = format!("and {cases} not shown here; `--report json=report.json` writes all of them");
        layout::wrap_some(&text, style.width, 3) + "\n"
    }

    /// The number of cases that have the first cause of this one and are not shown.
    pub(crate) fn count_more(&self, result: &CaseResult) -> usize {
        let groups = cause::causes(result).into_iter().filter_map(|cause| self.causes.get(&cause));
        let own = groups.filter(|group| group.ids.last() == Some(&result.case.id));
        own.map(|group| group.names.len()).max().unwrap_or_default()
    }
}

impl CaseGroup {
    fn add_name(&mut self, result: &CaseResult) {
        let whole = failure::name(&result.case);
        // The block, or the rule, stands in the name of the case that is shown.
        let name = match &result.case.row {
            Some(row) if self.rule.is_some() && self.rule.as_deref() == rule(result) => row,
            Some(_) | None => whole.strip_prefix(&self.family).unwrap_or(&whole),
        };
        let target = wording::target(&result.case).filter(|target| self.target.as_ref() != Some(target));
        let target = target.map(|target| format!(" on {target}")).unwrap_or_default();
        self.names.push(format!("{name}{target}"));
    }
}

fn rule(result: &CaseResult) -> Option<&str> {
    result.case.rule.as_ref().map(|rule| rule.id.as_str())
}

/// The beginning of a generated case's name, such as `negative_path / `; empty for the names of tests.
fn family(name: &str) -> &str {
    let blocks = ["negative_path / ", "output_schema: ", "fuzz: ", "schema_lint: "];
    blocks.into_iter().find(|block| name.starts_with(block)).unwrap_or_default()
}

/// The words for further cases of a cause: whether an expectation is missed for one reason, nobody knows.
fn alike(cause: &Cause) -> &'static str {
    if cause.about.is_some() && !cause.is_general { "alike" } else { "with the same cause" }
}

fn more_of(group: &CaseGroup, what: &str, style: &Style) -> Option<String> {
    let more = group.names.len();
    if more == 0 || group.ids.is_empty() {
        return None;
    }
    let mut names = group.names.iter().take(NAMES).map(String::as_str).collect::<Vec<_>>().join(", ");
    if more > NAMES {
        names.push_str(", …");
    }
    let text = format!("and {more} more {what}: {names}");
    Some(layout::indent(&layout::wrap_some(&text, style.width - 2, 4), "  "))
}
