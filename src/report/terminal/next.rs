//! The next command to type.

use crate::event::{CaseResult, Code, Outcome};
use crate::source::{Style, visible_line};
use crate::suite::AdHocCommand;

use super::super::fold::{Report, SuiteReport, Totals};
use super::layout::{self, DIM};

/// `--last-failed` finds anything to run: that cases depend on one another shows in all of them only.
fn is_remembered(suites: &[SuiteReport<'_>]) -> bool {
    let mut broken =
        suites.iter().flat_map(|suite| suite.cases.iter().copied().filter(|case| is_broken(case))).peekable();
    let is_of_order = |case: &CaseResult| case.findings.first().is_some_and(|found| found.code == Code::NOT_ISOLATED);
    broken.peek().is_none() || !broken.all(is_of_order)
}

fn is_broken(case: &CaseResult) -> bool {
    matches!(case.outcome, Outcome::Failed | Outcome::Errored)
}

/// A command with the suites of a run, as it is typed.
fn with_suites(command: &str, report: &Report) -> String {
    let run = report.run_started();
    let typed = run.and_then(|run| run.paths.clone());
    let named = || run.into_iter().flat_map(|run| &run.suites).map(|info| info.file.clone()).collect();
    let words = typed.unwrap_or_else(named);
    let quoted = words.iter().map(|word| shell_words::quote(word));
    visible_line(&std::iter::once(command.into()).chain(quoted).collect::<Vec<_>>().join(" ")).into_owned()
}

/// The command that proves the suites of a run again; empty if a command made one of them.
pub(crate) fn prove_again(report: &Report) -> String {
    let are_files = report.run_started().is_some_and(|run| run.suites.iter().all(|suite| suite.command.is_none()));
    if are_files { with_suites("mcprove prove", report) } else { String::new() }
}

/// The suggestion if a command made the suite, so that there is no file to run again.
enum Suggestion {
    /// Cases say themselves how to run them.
    Nothing,
    Explain(String),
}

/// The suggestion for a run that a command made; `None` where suites are files.
fn of_command(report: &Report, suites: &[SuiteReport<'_>]) -> Option<Suggestion> {
    let command = report.run_started()?.suites.iter().find_map(|suite| suite.command)?;
    let mut broken = suites
        .iter()
        .flat_map(|suite| suite.cases.iter().copied())
        .filter(|case| matches!(case.outcome, Outcome::Failed | Outcome::Warned));
    let explained = match command {
        AdHocCommand::Audit | AdHocCommand::Chaos | AdHocCommand::Ci | AdHocCommand::Fuzz | AdHocCommand::Run => {
            return Some(Suggestion::Nothing);
        }
        AdHocCommand::Call
        | AdHocCommand::Complete
        | AdHocCommand::Doctor
        | AdHocCommand::Init
        | AdHocCommand::Login
        | AdHocCommand::Logout
        | AdHocCommand::Prompt
        | AdHocCommand::Read
        | AdHocCommand::Snapshot
        | AdHocCommand::Tools => return None,
        AdHocCommand::Lint => {
            broken.next().and_then(|case| case.findings.first()).map(|found| ("lint", found.code.as_str()))
        }
        AdHocCommand::Compliance => {
            broken.next().and_then(|case| case.case.rule.as_ref()).map(|rule| ("compliance", rule.id.as_str()))
        }
    };
    let explain = |(command, id)| Suggestion::Explain(format!("mcprove {command} --explain {id}"));
    Some(explained.map_or(Suggestion::Nothing, explain))
}

/// The command that explains the rules that servers broke, where no case failed: no case can be run to see them again.
fn of_protocol(suites: &[SuiteReport<'_>]) -> Option<String> {
    if suites.iter().flat_map(|suite| &suite.cases).copied().any(is_broken) {
        return None;
    }
    let broken = suites.iter().flat_map(|suite| &suite.sessions).filter(|case| is_broken(case) && !case.is_known());
    let mut codes: Vec<&str> = Vec::new();
    for code in broken.flat_map(|case| &case.findings).map(|finding| finding.code.as_str()) {
        if !codes.contains(&code) {
            codes.push(code);
        }
    }
    codes.truncate(EXPLAINED);
    (!codes.is_empty()).then(|| format!("mcprove explain {}", codes.join(" ")))
}

/// The most codes that a command explains.
const EXPLAINED: usize = 4;

/// The command that looks closer at what went wrong, on a line of its own.
pub(crate) fn command(report: &Report, totals: &Totals, suites: &[SuiteReport<'_>], style: &Style) -> String {
    let line = |command| format!("  {}   {command}\n", layout::paint("next", DIM, style));
    suggested(report, totals, suites).map(line).unwrap_or_default()
}

/// The command that looks closer at what went wrong, as it is typed.
pub(crate) fn suggested(report: &Report, totals: &Totals, suites: &[SuiteReport<'_>]) -> Option<String> {
    // Where no command runs a case again, none runs all of them: the run was part of a program.
    if suites.iter().flat_map(|suite| &suite.cases).all(|result| result.rerun_command.is_empty()) {
        return None;
    }
    match of_command(report, suites) {
        Some(Suggestion::Nothing) => return None,
        Some(Suggestion::Explain(explain)) => return Some(explain),
        None => {}
    }
    // What several machines ran, none of them remembers.
    let is_merged = report.run_started().is_some_and(|run| run.parts.is_some());
    if is_merged || !is_remembered(suites) {
        return None;
    }
    let is_interrupted = report.run_finished().is_some_and(|run| run.interrupted);
    if let Some(explain) = of_protocol(suites) {
        return Some(explain);
    }
    match *totals {
        // Nothing was remembered.
        _ if report.is_cut_off() => Some(with_suites("mcprove run", report)),
        _ if is_interrupted => Some(with_suites("mcprove run", report) + " --last-failed"),
        Totals { failed: 1.., .. } | Totals { errored: 1.., .. } => {
            Some(with_suites("mcprove run", report) + " --last-failed")
        }
        Totals { passed: 0, flaky: 0, warned: 0, known: 0, .. } if !suites.is_empty() => {
            Some(with_suites("mcprove plan", report))
        }
        Totals { .. } => None,
    }
}
