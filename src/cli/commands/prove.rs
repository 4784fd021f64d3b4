//! `mcprove prove`: which faults a suite would catch, from a run of it or from a recording of one.

use std::path::{Path, PathBuf};

use clap::Args;

use super::parsing::now;
use super::proof_part::{ProofPartArgs, write_part};
use super::proving::{ProofRequest, RecordingFile};
use super::run::{MoreFiles, RunArgs, run};
use super::run_command::RunCommandArgs;
use super::run_watch::RunWatch;
use super::signals::{self, Budget, RunEnding, SignalScope};
use crate::cli::console::Console;
use crate::cli::exit::Exit;
use crate::cli::recorded_suites;
use crate::cli::suites::registry;
use crate::event::{Event, Outcome, RunEnd};
use crate::prove::RecordedSecrets;
use crate::recorded;
use crate::runner::{Observer, Options, Purpose, Snapshots, Stop};

/// Proves which faults suites would catch: imitates each of them in the recorded traffic of a run, and checks that a case fails.
#[derive(Debug, Args)]
pub(crate) struct ProveArgs {
    /// Proves from this recording of `mcprove run --record FILE`; starts and calls no server.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["record", "transcript", "bail", "repeat", "retries", "shuffle", "verify_isolation", "last_failed", "update"])]
    recording: Option<PathBuf>,
    #[command(flatten)]
    part: ProofPartArgs,
    #[command(flatten)]
    run: RunCommandArgs,
}

pub(crate) fn prove(args: ProveArgs, console: &Console) -> Result<Exit, Exit> {
    let mut asked = args.run.into_run(console)?;
    asked.proving.prove = true;
    match &args.recording {
        None => run(&asked.into(), console),
        Some(path) => from_recording(path, &args.part, asked, console),
    }
}

/// Proves from a recording; reports show its baseline run.
fn from_recording(path: &Path, part: &ProofPartArgs, mut args: RunArgs, console: &Console) -> Result<Exit, Exit> {
    let budget = args.budget.map(Budget::new);
    let mut file = RecordingFile::open(path, console)?;
    recorded_suites::choose(&mut args.suites, file.recorded_suites(console)?, console);
    args.proving.check(&args.thresholds, console)?;
    part.check(&args, console)?;
    let parts = part.read(console)?;
    let registry = registry(args.registry.as_deref(), console)?;
    let mutants = args.proving.mutants(registry.get(), console)?;
    let plan = args.plan(registry, console)?;
    let read: Vec<&Path> = part.inputs().chain([path]).collect();
    args.check_targets(&plan, MoreFiles { written: part.target(), read: &read }, console)?;
    let recording = match &args.suites.recorded {
        Some(_) => file.recording_of_own_suites(console),
        None => file.recording(&plan, console),
    }?;
    let plan = plan.without_cases(|case| recording.unplayable(&case.id).is_some());
    let snapshots = Snapshots { known: recorded::read_texts(&plan), purpose: Purpose::Compare }.into();
    let (wish, stop) = Stop::new();
    let _urgency = signals::listen(wish, RunEnding::Reports, SignalScope::Program, None, None);
    let options = &Options { snapshots, ..args.options(now(), stop, console) };
    let (plan, registry) = (&plan, registry.get());
    let time = budget.as_ref().map(Budget::remaining);
    let request = ProofRequest { plan, registry, options, mutants, secrets: RecordedSecrets::TakenOut, time };
    if let Some((number, file)) = part.wanted() {
        let found = args.proving.try_part(recording, number, request, console)?;
        return write_part(found, file, console);
    }
    let mut watch = RunWatch::new(&args.report, None, plan.cases().count(), console)?;
    let proven = if parts.is_empty() {
        args.proving.prove_recording(recording, request, &args.thresholds, console)
    } else {
        args.proving.prove_from_parts(recording, parts, request, &args.thresholds, console)
    }?;
    let proof = Box::new(proven.proof);
    let is_failure = |event: &Event| matches!(event, Event::CaseFinished(result) if result.outcome == Outcome::Failed);
    let has_failed = proven.events.iter().any(is_failure);
    for mut event in proven.events {
        if let Event::RunFinished(finished) = &mut event {
            finished.coverage.iter_mut().for_each(|coverage| proof.complete(&mut coverage.suites));
            finished.proof = Some(proof.clone());
        }
        watch.event(&event);
    }
    let missing = args.proving.write_missing(&proof, plan, console);
    watch.view.survivors = args.proving.survivors();
    let (_, reported) = watch.finish(RunEnd::Interrupted, console);
    if !proof.has_green_case() {
        return Err(console.fail(Exit::Nothing, "nothing can be proven: no case of the recording passes", None));
    }
    let exit = if has_failed { Exit::Findings } else { args.thresholds.gate_proof(&proof, console) };
    Ok(if reported.and(missing).is_ok() || exit != Exit::Passed { exit } else { Exit::Environment })
}
