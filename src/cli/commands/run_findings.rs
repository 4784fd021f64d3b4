//! The findings that a run keeps, and those that count.

use std::time::Duration;

use clap::Args;

use super::findings::state_flag;
use super::serving::ServingRequirement;
use crate::cli::console::Console;
use crate::cli::kept;
use crate::cli::suites::SuiteArgs;
use crate::event::{CaseResult, Outcome, SessionJudged, Severity};
use crate::files::FolderPlace;
use crate::findings::{Keeper, KeptFinding};
use crate::plan::Plan;
use crate::runner::Summary;

/// Which findings count.
#[derive(Debug, Args)]
pub(crate) struct SeverityArgs {
    /// The least severity that ends the run with exit code 1: low, medium, high or critical; by default any failure does.
    #[arg(long, value_name = "SEVERITY", value_parser = severity)]
    pub(crate) fail_on: Option<Severity>,
}

/// Which findings count and are kept.
#[derive(Debug, Args)]
pub(crate) struct KeepArgs {
    #[command(flatten)]
    pub(crate) severity: SeverityArgs,
    /// Keeps no findings for `mcprove findings`.
    #[arg(long)]
    pub(crate) no_findings: bool,
}

impl KeepArgs {
    /// Keeps the findings of a run, unless `--no-findings` is given.
    pub(crate) fn keeper(&self, plan: &Plan, now: Duration) -> Option<Keeper> {
        let now = u64::try_from(now.as_millis()).unwrap_or(u64::MAX);
        (!self.no_findings).then(|| Keeper::new(plan, now))
    }
}

impl SeverityArgs {
    /// Counts the failures that matter; prints their severities if these decide, and for servers without a suite.
    pub(crate) fn count_failures(
        &self,
        all: usize,
        severities: &Severities,
        serving: ServingRequirement,
        console: &Console,
    ) -> usize {
        let is_whole = serving.is_of_server();
        let is_asked = self.fail_on.is_some() || is_whole;
        if is_asked && !severities.words().is_empty() {
            console.note(&format!("failures by severity: {}", severities.words()));
        }
        let Some(least) = self.fail_on else { return all };
        let counted = severities.at_least(least);
        if all > 0 && counted == 0 {
            let least = least.as_str();
            console.note(&format!("no failure is {least} or worse, so `--fail-on {least}` lets the run pass"));
        }
        counted
    }
}

fn severity(text: &str) -> Result<Severity, String> {
    let invalid = || format!("invalid severity `{text}`; write `low`, `medium`, `high` or `critical`");
    Severity::parse(text).ok_or_else(invalid)
}

/// The number of failures of each severity.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Severities([usize; Severity::ALL.len()]);

impl Severities {
    /// Counts a case.
    pub(crate) fn case(&mut self, result: &CaseResult) {
        if result.outcome == Outcome::Failed && !result.is_known() {
            self.add(result.how_bad().unwrap_or(Severity::Medium));
        }
    }

    /// Counts what was found outside of cases.
    pub(crate) fn session(&mut self, judged: &SessionJudged) {
        if let Some(worst) = judged.failures().map(crate::event::Finding::how_bad).max() {
            self.add(worst);
        }
    }

    fn add(&mut self, severity: Severity) {
        self.0[severity as usize] += 1;
    }

    /// The number of failures that are at least so severe.
    pub(crate) fn at_least(&self, least: Severity) -> usize {
        self.0[least as usize..].iter().sum()
    }

    /// The summary of a run that was cut off: what was found counts, although nobody summed up.
    pub(crate) fn summarize_cut_off_run(&self) -> Summary {
        Summary { interrupted: true, failed: self.at_least(Severity::Low), ..Summary::default() }
    }

    /// `1 critical, 2 high`; empty where there are none.
    pub(crate) fn words(&self) -> String {
        let worst_first = Severity::ALL.into_iter().rev().filter(|severity| self.0[*severity as usize] > 0);
        let words = worst_first.map(|severity| format!("{} {}", self.0[severity as usize], severity.as_str()));
        words.collect::<Vec<_>>().join(", ")
    }
}

/// Keeps the findings of a run and says where; a failure to do so is one warning, and the verdict stands.
///
/// With `--state-dir`, a run without findings leaves an empty folder for them.
pub(crate) fn keep(suites: &SuiteArgs, state: &FolderPlace, found: KeptFinding, console: &Console) {
    let counted = |count: usize| if count == 1 { "1 finding".to_owned() } else { format!("{count} findings") };
    let KeptFinding { findings, left_out } = found;
    let is_any_kept = !findings.is_empty();
    if is_any_kept || suites.state_dir.is_some() {
        match kept::keep(state, findings) {
            Ok(0) => {}
            Ok(count) => console.note(&format!("{} kept: mcprove findings list{}", counted(count), state_flag(state))),
            Err(error) => console.note(&format!("warning: {error}; findings of this run are not kept")),
        }
    }
    for (count, reason) in left_out {
        let more = if is_any_kept { format!("{count} more") } else { counted(count) };
        console.note(&format!("{more} {} not kept: {reason}", if count == 1 { "is" } else { "are" }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_of_a_run_that_is_cut_off_count_by_their_severity() {
        use Severity::{Critical, High, Low, Medium};
        for (found, all, high, words) in [
            (&[][..], 0, 0, ""),
            (&[Low], 1, 0, "1 low"),
            (&[Medium, High], 2, 1, "1 high, 1 medium"),
            (&[Critical, High, High, Low], 4, 3, "1 critical, 2 high, 1 low"),
        ] {
            let mut severities = Severities::default();
            for severity in found {
                severities.add(*severity);
            }
            let summary = severities.summarize_cut_off_run();
            assert_eq!((summary.failed, summary.interrupted, summary.judged), (all, true, 0), "{words}");
            assert_eq!((severities.at_least(High), severities.words().as_str()), (high, words));
        }
    }
}
