//! `mcprove merge`: one run, one verdict and one set of reports from the recordings of its parts.

use std::collections::BTreeSet;
use std::path::PathBuf;

use clap::Args;

use super::fault_coverage::ThresholdArgs;
use super::parsing::now;
use super::report::recorded_run;
use super::run_findings::SeverityArgs;
use super::run_watch::{DetailArgs, RunWatch};
use super::server_ends::ExitRules;
use super::serving::{ServedCalls, ServingPolicy, ServingRequirement};
use super::verdict::EndedRun;
use crate::baseline::{Baseline, BaselineMatches, BaselineScope};
use crate::cli::baseline::BaselineArgs;
use crate::cli::console::Console;
use crate::cli::exit::Exit;
use crate::cli::suites::registry;
use crate::cli::written_files;
use crate::event::{Coverage, Event, Outcome, RunEnd, RunFinished};
use crate::files::FilePlace;
use crate::merge::{MergedRun, RecordedPart, merge};
use crate::redact::Redactor;
use crate::report::sink::parse_target;
use crate::report::{Format, format_names, server_of};
use crate::runner::{Observer as _, Summary, score_parts};

/// Makes one run of the recordings of its parts: one verdict, one set of reports, thresholds that hold for all parts.
#[derive(Debug, Args)]
pub(crate) struct MergeArgs {
    /// The recordings that `mcprove run --shard I/N` wrote with `--report ndjson=FILE` or `--record FILE`, one for each part.
    #[arg(value_name = "RECORDING", required = true)]
    recordings: Vec<PathBuf>,
    #[arg(long, value_name = "FORMAT=FILE", value_parser = parse_target, help = format!("Writes a report of the whole run; may be given several times; formats: {}", format_names()))]
    report: Vec<(Format, FilePlace)>,
    #[command(flatten)]
    details: DetailArgs,
    #[command(flatten)]
    thresholds: ThresholdArgs,
    /// Ends with exit code 1 where a case is flaky.
    #[arg(long)]
    fail_on_flaky: bool,
    #[command(flatten)]
    severity: SeverityArgs,
    /// Lets the run pass although a tool served none of its generated calls and was therefore not judged.
    #[arg(long)]
    allow_unjudged: bool,
    #[command(flatten)]
    known: BaselineArgs,
    /// A fault registry to use instead of the built-in one.
    #[arg(long, value_name = "FILE")]
    registry: Option<PathBuf>,
}

pub(crate) fn merge_recordings(args: &MergeArgs, console: &Console) -> Result<Exit, Exit> {
    args.check_targets(&BTreeSet::new(), console)?;
    let registry = registry(args.registry.as_deref(), console)?;
    let baseline = args.known.load(now(), console)?;
    let mut merged = args.read(&baseline, console)?;
    args.check_targets(&merged.events.iter().filter_map(server_of).collect(), console)?;
    let unmatched = apply_baseline(&mut merged, &baseline);
    let coverage = score_parts(&merged.facts, registry.get(), args.thresholds.values());
    let calls = ServedCalls { servers: std::mem::take(&mut merged.facts.calls), policy: args.policy() };
    args.judge(merged, MergedFacts { coverage, calls, unmatched }, console)
}

/// What follows from all parts together.
struct MergedFacts {
    coverage: Coverage,
    calls: ServedCalls,
    /// The number of entries of the baseline that could not be compared.
    unmatched: usize,
}

impl MergeArgs {
    /// Refuses to write over what is read; `servers` are those of the run, once they are known.
    fn check_targets(&self, servers: &BTreeSet<&str>, console: &Console) -> Result<(), Exit> {
        let reports: Vec<PathBuf> = written_files::of_reports(&self.report, servers).collect();
        let inputs =
            self.recordings.iter().map(PathBuf::as_path).chain(self.known.inputs()).chain(self.registry.as_deref());
        let targets = reports.iter().map(PathBuf::as_path).chain(self.known.write_baseline.as_deref());
        written_files::check(targets, inputs).map_err(|reason| console.fail(Exit::Usage, reason, None))
    }

    fn policy(&self) -> ServingPolicy {
        ServingPolicy {
            requirement: ServingRequirement::WhereGenerated,
            allows_unjudged: self.allow_unjudged,
            ..ServingPolicy::default()
        }
    }

    /// The run that the recordings make, if they are all of its parts and got this baseline.
    fn read(&self, baseline: &Baseline, console: &Console) -> Result<MergedRun, Exit> {
        let mut parts = Vec::new();
        for path in &self.recordings {
            parts.push(RecordedPart { name: path.display().to_string(), events: recorded_run(path, console)? });
        }
        let merged = merge(parts).map_err(|mistakes| {
            for mistake in &mistakes {
                console.error(&mistake.message, Some(mistake.help));
            }
            Exit::Usage
        })?;
        if merged.shard.baseline.is_some() && merged.shard.baseline != baseline.hash() {
            let what = if baseline.hash().is_some() { "another one is given" } else { "it is missing" };
            let help = "give the `--baseline` that every part got, so that entries which no part needs are found";
            let message = format!("the parts were run with a baseline, and {what} here");
            return Err(console.fail(Exit::Usage, message, Some(help)));
        }
        Ok(merged)
    }

    /// Shows the run, writes its reports, and comes to its verdict.
    fn judge(&self, merged: MergedRun, facts: MergedFacts, console: &Console) -> Result<Exit, Exit> {
        let MergedFacts { coverage, calls, unmatched } = facts;
        let mut summary = summary_of(&merged);
        summary.coverage = Some(coverage.clone());
        let unjudged = if summary.interrupted { Vec::new() } else { calls.unjudged() };
        let mut watch = RunWatch::new(&self.report, None, summary.decided.len(), console)?;
        watch.show_details(self.details.view());
        watch.server_ends.rules = ExitRules { least: self.severity.fail_on, fails_on_flaky: self.fail_on_flaky };
        merged.events.iter().for_each(|event| watch.event(event));
        let finished = RunFinished { coverage: Some(coverage), unjudged: unjudged.clone(), ..merged.finished };
        let is_out_of_time = finished.ended_by == Some(RunEnd::OutOfTime);
        watch.end(finished);
        let severities = watch.severities;
        let (failures, reported) = watch.finish(RunEnd::Interrupted, console);
        self.known.note_unmatched(unmatched, console);
        let written = [reported, self.known.write(&failures, console)];
        let requirement = calls.policy.requirement;
        summary.failed = self.severity.count_failures(summary.failed, &severities, requirement, console);
        let hidden = Redactor::default();
        let ended = EndedRun {
            summary: &summary,
            hidden: &hidden,
            is_out_of_time,
            is_part: false,
            fails_on_flaky: self.fail_on_flaky,
            thresholds: &self.thresholds,
            console,
        };
        let exit = calls.gate(ended.verdict(None), &unjudged, &hidden, console);
        let gives_way = matches!(exit, Exit::Passed | Exit::Coverage | Exit::Nothing);
        Ok(if written.iter().any(Result::is_err) && gives_way { Exit::Environment } else { exit })
    }
}

/// Marks what is known, and adds a failed case for each entry that no part bears out; returns how many entries could not
/// be compared.
fn apply_baseline(merged: &mut MergedRun, baseline: &Baseline) -> usize {
    let mut matches = BaselineMatches::new(baseline);
    let mut files = Vec::new();
    let mut has_errors = false;
    for event in &mut merged.events {
        match event {
            Event::RunStarted(started) => files.extend(started.suites.iter().map(|suite| suite.file.clone())),
            Event::CaseFinished(result) => {
                baseline.mark(&result.case.id, &mut result.findings);
                matches.case(result);
                files.push(result.case.file.clone());
                has_errors |= result.outcome == Outcome::Errored;
            }
            Event::SessionJudged(judged) => {
                matches.mark(judged);
                matches.session(judged);
            }
            Event::ServerReady(_)
            | Event::ToolsChosen(_)
            | Event::CaseStarted(_)
            | Event::SessionTraced(_)
            | Event::RunFinished(_) => {}
        }
    }
    let RunFinished { not_run, interrupted, .. } = merged.finished;
    let is_whole = not_run == 0 && !interrupted && !has_errors && merged.shard.selected.is_empty();
    let verdict = matches.close(if is_whole { BaselineScope::Whole } else { BaselineScope::Part }, &files);
    merged.events.extend(verdict.broken.into_iter().map(|broken| Event::CaseFinished(Box::new(broken))));
    verdict.unmatched
}

/// The counts from which the exit code follows.
fn summary_of(merged: &MergedRun) -> Summary {
    let RunFinished { not_run, interrupted, .. } = merged.finished;
    let mut summary = Summary { interrupted, not_run, ..Summary::default() };
    for event in &merged.events {
        summary.count_event(event);
    }
    summary
}
