//! `mcprove prove`: which faults a suite would catch, from a run of it or from a recording of one.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use clap::Args;

use super::proving::{MutantChoice, recording_of, suites_of};
use super::run::{self, RunArgs, RunSurroundings};
use super::run_watch::RunWatch;
use super::signals::{self, RunEnding};
use crate::cli::environment::Environment;
use crate::cli::exit::Exit;
use crate::cli::output::Output;
use crate::cli::suites::registry;
use crate::event::{Event, Outcome, RunFinished};
use crate::prove::RecordedSecrets;
use crate::recorded;
use crate::runner::{Observer, Purpose, Snapshots, Stop};

/// Proves which faults suites would catch: imitates each in the recorded traffic of a run, and sees whether a case turns red.
#[derive(Debug, Args)]
pub(in crate::cli) struct ProveArgs {
    /// Proves from this recording of `mcprove run --record FILE`: nothing is started, nothing is asked.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["record", "transcript", "bail", "repeat", "retries", "shuffle", "verify_isolation", "last_failed", "update"])]
    recording: Option<PathBuf>,
    #[command(flatten)]
    run: RunArgs,
}

pub(in crate::cli) fn prove(args: ProveArgs, environment: &Environment, output: &Output) -> Exit {
    let mut run = args.run;
    run.proving.prove = true;
    match &args.recording {
        None => run::run(&run, environment, output),
        Some(path) => from_recording(path, run, environment, output),
    }
}

/// Proves from a recording; the control run is what reports show.
fn from_recording(path: &Path, mut args: RunArgs, environment: &Environment, output: &Output) -> Exit {
    let read = suites_of(path, output).and_then(|(text, suites)| {
        if args.suites.paths.is_empty() {
            args.suites.paths = suites;
        }
        args.proving.refuse(args.gating(), output)?;
        let registry = registry(args.registry.as_deref(), output)?;
        let wanted = args.proving.wanted(registry.get(), output)?;
        let plan = args.plan(registry, output)?;
        args.check_targets(&plan, output)?;
        let recording = recording_of(path, &text, &plan, output)?;
        Ok((registry, wanted, plan, recording))
    });
    let (registry, picks, plan, recording) = match read {
        Ok(read) => read,
        Err(exit) => return exit,
    };
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let snapshots = Snapshots { known: recorded::read(&plan), purpose: Purpose::Compare }.into();
    let surroundings = RunSurroundings::new(environment, snapshots, Arc::default(), now);
    let (wish, stop) = Stop::new();
    let _urgency = signals::listen(wish, RunEnding::Reports, None);
    let options = args.options(&surroundings, stop);
    let mut watch = match RunWatch::new(&args.report, None, plan.cases().count(), output) {
        Ok(watch) => watch,
        Err(error) => {
            output.error(&error.to_string(), None);
            return Exit::Environment;
        }
    };
    let wanted = MutantChoice { picks, thresholds: args.thresholds(), secrets: RecordedSecrets::TakenOut };
    let proven = match args.proving.proven(recording, (&plan, registry.get()), (&options, wanted), output) {
        Ok(proven) => proven,
        Err(exit) => return exit,
    };
    let proof = Box::new(proven.proof);
    let is_failure = |event: &Event| matches!(event, Event::CaseFinished(result) if result.outcome == Outcome::Failed);
    let has_failed = proven.events.iter().any(is_failure);
    for event in proven.events {
        match event {
            Event::RunFinished(finished) => {
                let finished = RunFinished { proof: Some(proof.clone()), ..*finished };
                watch.event(&Event::RunFinished(Box::new(finished)));
            }
            Event::RunStarted(_)
            | Event::ServerReady(_)
            | Event::ToolsChosen(_)
            | Event::CaseStarted(_)
            | Event::CaseFinished(_)
            | Event::SessionJudged(_) => watch.event(&event),
        }
    }
    let missing = args.proving.write_missing(&proof, &plan, output);
    watch.show(args.proving.survivors());
    let written = watch.finish(output).is_ok() && missing.is_ok();
    if proof.control.green == 0 {
        output.error("nothing can be proven: no case of the recording passes", None);
        return Exit::Nothing;
    }
    let exit = if has_failed { Exit::Findings } else { args.gate_proof(&proof, output) };
    if written || exit != Exit::Passed { exit } else { Exit::Environment }
}
