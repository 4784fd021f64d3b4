//! Which cases end differently on different servers or in different revisions.

use schemars::JsonSchema;
use serde::Serialize;

use super::fold::SuiteReport;
use crate::event::{CaseInfo, CaseResult, Outcome};

/// The cases of one suite compared across its targets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Parity {
    /// The targets: what tells them apart, a server, a revision or both.
    pub targets: Vec<String>,
    /// The cases whose verdict differs, in declared order.
    pub differing: Vec<ParityRow>,
    /// The number of cases with one verdict on all targets.
    pub agreeing: usize,
    /// The number of cases with a verdict on some targets only, and no two that differ.
    pub partial: usize,
}

/// A case and its verdict on each target.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ParityRow {
    /// The name of the test, or of the generated case.
    pub name: String,
    /// The row of a data-driven test.
    pub row: Option<String>,
    /// The line.
    pub line: usize,
    /// The outcomes in the order of the targets; nothing where the case does not apply or was not reached.
    pub outcomes: Vec<Option<Outcome>>,
}

impl ParityRow {
    /// The name with its row.
    pub fn title(&self) -> String {
        let row = self.row.as_ref().map(|row| format!(" [{row}]")).unwrap_or_default();
        format!("{}{row}", self.name)
    }
}

/// A server and a revision.
type TargetName<'a> = (&'a str, &'a str);

/// Compares the targets of a suite; `None` where there is only one.
pub(crate) fn of(suite: &SuiteReport<'_>) -> Option<Parity> {
    let targets = targets(suite);
    if targets.len() < 2 {
        return None;
    }
    let mut parity = Parity { targets: labels(&targets), differing: Vec::new(), agreeing: 0, partial: 0 };
    for row in rows(suite, &targets) {
        let mut known: Vec<Outcome> = row.outcomes.iter().copied().flatten().collect();
        let is_whole = known.len() == targets.len();
        known.dedup();
        match known.as_slice() {
            // A case that nobody ran cannot be compared.
            [] | [Outcome::Skipped] => {}
            [_] if is_whole => parity.agreeing += 1,
            [_] => parity.partial += 1,
            [_, ..] => parity.differing.push(row),
        }
    }
    Some(parity)
}

fn target(info: &CaseInfo) -> TargetName<'_> {
    (&info.server, &info.revision)
}

/// The targets in the order in which the suite has them, which is that in which their first cases are reported.
fn targets<'a>(suite: &SuiteReport<'a>) -> Vec<TargetName<'a>> {
    let mut targets: Vec<TargetName<'a>> = Vec::new();
    for case in &suite.cases {
        let of_case = target(&case.case);
        if !targets.contains(&of_case) {
            targets.push(of_case);
        }
    }
    targets
}

fn labels(targets: &[TargetName<'_>]) -> Vec<String> {
    let has_servers = targets.iter().any(|target| target.0 != targets[0].0);
    let has_revisions = targets.iter().any(|target| target.1 != targets[0].1);
    let label = |(server, revision): &TargetName<'_>| match (has_servers, has_revisions) {
        (true, true) => format!("{server}/{revision}"),
        (true, false) => (*server).to_owned(),
        (false, _) => (*revision).to_owned(),
    };
    targets.iter().map(label).collect()
}

fn rows(suite: &SuiteReport<'_>, targets: &[TargetName<'_>]) -> Vec<ParityRow> {
    let mut rows: Vec<ParityRow> = Vec::new();
    // Cases are in declared order, so those of one test follow one another.
    let mut first = 0;
    for case in &suite.cases {
        let info = &case.case;
        if rows.last().is_some_and(|row| row.line != info.line) {
            first = rows.len();
        }
        let known = rows[first..].iter().position(|row| row.name == info.name && row.row == info.row);
        let at = known.map_or(rows.len(), |at| first + at);
        if at == rows.len() {
            let (name, row) = (info.name.clone(), info.row.clone());
            rows.push(ParityRow { name, row, line: info.line, outcomes: vec![None; targets.len()] });
        }
        if let Some(column) = targets.iter().position(|known| *known == target(info)) {
            rows[at].outcomes[column] = verdict(case);
        }
    }
    rows
}

fn verdict(case: &CaseResult) -> Option<Outcome> {
    (!case.does_not_apply()).then_some(case.outcome)
}
