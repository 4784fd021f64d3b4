//! What to type next.

use crate::event::{CaseResult, Outcome};
use crate::source::{Style, visible_line};

use super::super::fold::{Report, Suite, Totals};
use super::layout::{self, DIM};

/// Whether `--last-failed` finds anything to run: that cases depend on one another shows in all of them only.
fn is_remembered(suites: &[Suite<'_>]) -> bool {
    let broken = |case: &CaseResult| matches!(case.outcome, Outcome::Failed | Outcome::Errored);
    let mut broken = suites.iter().flat_map(|suite| suite.cases.iter().copied().filter(|case| broken(case))).peekable();
    let is_of_order = |case: &CaseResult| case.findings.first().is_some_and(|found| found.code == "not-isolated");
    broken.peek().is_none() || !broken.all(is_of_order)
}

/// The suites as they are typed.
pub(super) fn files(report: &Report) -> String {
    let named: Vec<&str> = report.started().into_iter().flat_map(|run| &run.suites).map(|info| &*info.file).collect();
    let files = if named.len() > 3 || named.is_empty() { "SUITES".to_owned() } else { named.join(" ") };
    visible_line(&files).into_owned()
}

/// The command that explains the first rule that was broken, where the suite is no file that could be run again.
fn explained(suites: &[Suite<'_>]) -> Option<String> {
    let mut cases = suites.iter().flat_map(|suite| suite.cases.iter().copied());
    // Where there is no suite to run again, cases say themselves how to run them.
    if ["mcprove fuzz ", "mcprove ci "].iter().any(|command| cases.clone().any(|case| case.again.starts_with(command)))
    {
        return Some(String::new());
    }
    let again = cases.clone().next()?.again.strip_prefix("mcprove ")?;
    let command = ["compliance", "lint"].into_iter().find(|command| again.split(' ').next() == Some(command))?;
    let broken = cases.find(|case| matches!(case.outcome, Outcome::Failed | Outcome::Warned));
    let id = broken.and_then(|case| match command {
        "lint" => case.findings.first().map(|found| found.code.clone()),
        _ => case.case.rule.as_ref().map(|rule| rule.id.clone()),
    });
    Some(id.map_or(String::new(), |id| format!("mcprove {command} --explain {id}")))
}

/// The command that looks closer at what went wrong.
pub(super) fn command(report: &Report, totals: &Totals, suites: &[Suite<'_>], style: &Style) -> String {
    // Where no command runs a case again, none runs all of them: the run was part of a program.
    if suites.iter().flat_map(|suite| &suite.cases).all(|result| result.again.is_empty()) {
        return String::new();
    }
    if let Some(explain) = explained(suites) {
        if explain.is_empty() {
            return explain;
        }
        return format!("  {}   {explain}\n", layout::paint("next", DIM, style));
    }
    let files = files(report);
    if !is_remembered(suites) {
        return String::new();
    }
    let command = match *totals {
        Totals { failed: 1.., .. } | Totals { errored: 1.., .. } => format!("mcprove run {files} --last-failed"),
        Totals { passed: 0, flaky: 0, warned: 0, known: 0, .. } if !suites.is_empty() => {
            format!("mcprove plan {files}")
        }
        Totals { .. } => return String::new(),
    };
    format!("  {}   {command}\n", layout::paint("next", DIM, style))
}
