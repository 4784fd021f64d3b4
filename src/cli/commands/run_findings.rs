//! What a run keeps of its findings, and which of them count.

use std::path::Path;
use std::time::Duration;

use clap::Args;

use super::findings::place;
use crate::cli::kept;
use crate::cli::output::Output;
use crate::event::{CaseResult, Outcome, SessionJudged, Severity};
use crate::findings::{Keeper, KeptFinding};
use crate::plan::Plan;

/// What becomes of findings.
#[derive(Debug, Args)]
pub(super) struct KeepArgs {
    /// The least severity that ends the run with exit code 1: low, medium, high or critical; everything does by default.
    #[arg(long, value_name = "SEVERITY", value_parser = severity)]
    pub(super) fail_on: Option<Severity>,
    /// Does not keep findings for `mcprove findings`.
    #[arg(long)]
    pub(super) no_findings: bool,
}

impl KeepArgs {
    /// Somebody who keeps the findings of a run, where that is wanted.
    pub(super) fn keeper(&self, plan: &Plan, now: Duration) -> Option<Keeper> {
        let now = u64::try_from(now.as_millis()).unwrap_or(u64::MAX);
        (!self.no_findings).then(|| Keeper::new(plan, now))
    }

    /// How many failures count; how bad all of them are is told where that decides, and to whoever asks.
    pub(super) fn failed(&self, all: usize, (severities, is_asked): (&Severities, bool), output: &Output) -> usize {
        let has_words = self.fail_on.is_some() || is_asked;
        if has_words && !severities.words().is_empty() {
            output.note(&format!("failures by severity: {}", severities.words()));
        }
        let Some(least) = self.fail_on else { return all };
        let counted = severities.at_least(least);
        if all > 0 && counted == 0 {
            let least = least.as_str();
            output.note(&format!("none of them is {least} or worse, so `--fail-on {least}` lets them pass"));
        }
        counted
    }
}

fn severity(text: &str) -> Result<Severity, String> {
    let words = || format!("`{text}` is no severity; write `low`, `medium`, `high` or `critical`");
    Severity::parse(text).ok_or_else(words)
}

/// How many failures there are of each severity.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Severities([usize; Severity::ALL.len()]);

impl Severities {
    /// Counts a case.
    pub(super) fn case(&mut self, result: &CaseResult) {
        if result.outcome == Outcome::Failed && !result.is_known() {
            self.add(result.how_bad().unwrap_or(Severity::Medium));
        }
    }

    /// Counts what was found outside of cases.
    pub(super) fn session(&mut self, judged: &SessionJudged) {
        let new = judged.findings.iter().filter(|finding| finding.baseline_reason.is_none());
        if let Some(worst) = new.map(crate::event::Finding::how_bad).max() {
            self.add(worst);
        }
    }

    fn add(&mut self, severity: Severity) {
        self.0[severity as usize] += 1;
    }

    /// How many are at least so bad.
    pub(super) fn at_least(&self, least: Severity) -> usize {
        self.0[least as usize..].iter().sum()
    }

    /// `1 critical, 2 high`; empty where there are none.
    pub(super) fn words(&self) -> String {
        let worst_first = Severity::ALL.into_iter().rev().filter(|severity| self.0[*severity as usize] > 0);
        let words = worst_first.map(|severity| format!("{} {}", self.0[severity as usize], severity.as_str()));
        words.collect::<Vec<_>>().join(", ")
    }
}

/// Keeps what a run found and says where; what cannot be kept is one warning, and the verdict stands.
///
/// In a folder that somebody named, a run that found nothing leaves a place for findings that is empty.
pub(super) fn keep((state, is_named): (&Path, bool), found: KeptFinding, output: &Output) {
    let counted = |count: usize| if count == 1 { "1 finding".to_owned() } else { format!("{count} findings") };
    let KeptFinding { findings, left_out } = found;
    let is_any_kept = !findings.is_empty();
    if is_any_kept || is_named {
        match kept::keep(state, findings) {
            Ok(0) => {}
            Ok(count) => output.note(&format!("{} kept: mcprove findings list{}", counted(count), place(state))),
            Err(error) => output.note(&format!("warning: {error}; findings of this run are not kept")),
        }
    }
    for (count, reason) in left_out {
        let more = if is_any_kept { format!("{count} more") } else { counted(count) };
        output.note(&format!("{more} {} not kept: {reason}", if count == 1 { "is" } else { "are" }));
    }
}
