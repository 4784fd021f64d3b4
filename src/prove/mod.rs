//! Mutation testing of suites: faults are imitated in the recorded traffic, and a case of the suite must fail.
//!
//! A [`RunRecorder`] records a run; [`prove`] runs the recorded plan again for every mutant, against a server that answers
//! from the recording with the mutant's changes, in virtual time. A mutant that no case notices survives. Mutants that a
//! recording cannot decide are tried on the real servers with `--live`.
//! Start reading in [`prove`].

mod additions;
mod baseline_run;
mod equal_requests;
mod freeze;
mod live;
mod mutation_runner;
mod part;
mod placement;
#[cfg(test)]
mod random_servers;
mod recording;
mod refusal;
mod replay;
mod run;
mod selection;
mod standing;
mod suggest;
#[cfg(test)]
mod tests;
mod verdict;
mod workers;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use indexmap::IndexMap;

use self::additions::additions;
use self::baseline_run::check_baseline;
use self::freeze::{freeze, only};
use self::live::{LaunchCommands, decide};
use self::mutation_runner::{MutantJob, MutationRunner, OperatorTrial};
use self::part::PartIdentity;
use self::placement::{RecordedTarget, targets};
use self::recording::Seal;
use self::replay::{IndexedRecording, MutatedReplies, ReplayServer};
use self::run::{EventCapture, PlanRunner, paused_runtime};
use self::selection::{MutantSelection, order_of_trials};
use self::suggest::keep_names_apart;
use self::workers::each;
use crate::coverage::{self, Planned, Proved};
use crate::event::{Control, Event, MutantResult, Outcome, Proof, ProvenSuite};
use crate::plan::{Case, Declaration, Plan, ShardNumber, SuitePlan, collect_declaration};
use crate::redact::Redactor;
use crate::runner::{Bail, Options};
use crate::taxonomy::Registry;

pub use self::part::{NamedPart, ProofPart};
pub use self::recording::{RecordedCase, RunRecorder, RunRecording, TargetRecording, file};
#[cfg(feature = "cli")]
pub(crate) use self::recording::{RequestKey, request_in, title};
pub(crate) use self::suggest::{last_expect, requests, shared_name};

pub use self::suggest::{FileRelation, MISSING_MARK, MissingSuite, head_including, missing_suites};

/// The secrets of a recording.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecordedSecrets {
    /// It holds them, since it was never written.
    Kept,
    /// They were taken out, and so they are from what is looked up in it.
    TakenOut,
}

impl ProveSettings<'_> {
    /// Masks in live messages what is masked in the recording.
    fn concealing(&self) -> Redactor {
        match self.secrets {
            RecordedSecrets::Kept => Redactor::default(),
            RecordedSecrets::TakenOut => self.redactor.clone(),
        }
    }
}

/// The input of a proof.
#[derive(Debug)]
pub struct ProveSettings<'a> {
    /// The plan that was recorded.
    pub plan: &'a Plan,
    /// The options of the recorded run: its timeouts and environment apply again.
    pub options: &'a Options,
    /// The mutants.
    pub registry: &'a Registry,
    /// The secrets of the plan.
    pub redactor: Redactor,
    /// The secrets of the recording.
    pub secrets: RecordedSecrets,
    /// The number of mutants that are tried at a time.
    pub workers: usize,
    /// The names of the mutants to try; `None` for all.
    pub picks: Option<BTreeSet<String>>,
    /// The real servers decide about mutants that the recording leaves undecided.
    pub live: bool,
    /// The time for the proof; the mutants that do not fit are not tried. `None` for all that it takes.
    pub time: Option<Duration>,
}

/// The proof, and the events of the baseline run.
#[derive(Debug)]
pub struct ProveResult {
    /// The proof.
    pub proof: Proof,
    /// The events of the baseline run; from a recording without secrets, only of the cases that end as they were recorded.
    pub events: Vec<Event>,
}

/// An error that prevents a proof.
#[derive(Debug, thiserror::Error)]
pub enum ProveError {
    /// The run was interrupted.
    #[error("the run was interrupted")]
    Interrupted,
    /// The system gives no runtime.
    #[error("the system gives no runtime: {0}")]
    NoRuntime(#[from] std::io::Error),
    /// The parts make no proof of the recording together.
    #[error("{}", .0.join("; "))]
    NotTheParts(Vec<String>),
}

/// Runs the recorded plan once without a mutant and once for every mutant.
///
/// # Errors
///
/// Fails where the run is interrupted, and where the system gives no runtime.
pub fn prove(recording: RunRecording, settings: &ProveSettings<'_>) -> Result<ProveResult, ProveError> {
    with_trial_run(recording, settings, |run| {
        let mut trials = try_in_time(&run.runner, &run.selection.jobs)?;
        let live = if settings.live {
            decide(&run.runner, &run.selection.jobs, run.launch_commands, &mut trials)?
        } else {
            None
        };
        run.conclude(trials, live)
    })
}

/// Tries the mutants of one part of a proof.
///
/// # Errors
///
/// Fails where the run is interrupted, and where the system gives no runtime.
pub fn try_part(
    recording: RunRecording,
    settings: &ProveSettings<'_>,
    number: ShardNumber,
) -> Result<ProofPart, ProveError> {
    let seal = recording.seal;
    with_trial_run(recording, settings, |run| {
        let jobs: Vec<MutantJob<'_>> = part::jobs_of(&run.selection.jobs, number);
        let trials = try_in_time(&run.runner, &jobs)?;
        if settings.options.stop.is_set() {
            return Err(ProveError::Interrupted);
        }
        Ok(ProofPart { of: run.identity(seal), number: number.number(), count: number.count(), trials })
    })
}

/// Makes one proof of all of its parts, as [`prove`] would have made it in one go.
///
/// # Errors
///
/// Fails with every reason why the parts make no proof of this recording together, and as [`prove`] does.
pub fn prove_from_parts(
    recording: RunRecording,
    settings: &ProveSettings<'_>,
    parts: Vec<NamedPart>,
) -> Result<ProveResult, ProveError> {
    let seal = recording.seal;
    with_trial_run(recording, settings, |run| {
        let trials = part::join(parts, &run.identity(seal), &run.selection.jobs).map_err(ProveError::NotTheParts)?;
        run.conclude(trials, None)
    })
}

/// A recorded run that passed its baseline run, with the mutants to try.
struct TrialRun<'a> {
    begun: Instant,
    settings: &'a ProveSettings<'a>,
    /// The plan as it was recorded.
    plan: &'a Plan,
    runner: MutationRunner<'a>,
    launch_commands: &'a LaunchCommands,
    selection: MutantSelection<'a>,
    /// Those of the baseline run.
    events: Vec<Event>,
}

/// Makes the baseline run, and goes on with what it leaves.
fn with_trial_run<R>(
    recording: RunRecording,
    settings: &ProveSettings<'_>,
    go_on: impl FnOnce(TrialRun<'_>) -> Result<R, ProveError>,
) -> Result<R, ProveError> {
    let begun = Instant::now();
    let plan = freeze(settings.plan, &recording);
    let recorded: BTreeSet<String> = recording.cases.iter().map(|case| case.id.clone()).collect();
    let plan = only(&plan, &|_, case| recorded.contains(&case.id));
    let indexed = Arc::new(IndexedRecording::new(recording, settings.concealing()));
    let server = ReplayServer::new(Arc::clone(&indexed), MutatedReplies::default());
    let (runtime, capture) = (&paused_runtime()?, EventCapture::Everything);
    let plan_runner =
        PlanRunner { runtime, options: settings.options, registry: settings.registry, capture, bail: Bail::Never };
    let mut results = plan_runner.replay(plan.clone(), &server);
    let baseline = check_baseline(&indexed.recording, &results);
    if settings.secrets == RecordedSecrets::TakenOut && !baseline.unlike.is_empty() {
        // A recording that lacks something says nothing of the server.
        let alike = only(&plan, &|_, case| !baseline.unlike.contains(&case.id));
        let server = ReplayServer::new(Arc::clone(&indexed), MutatedReplies::default());
        results.events = plan_runner.replay(alike, &server).events;
    }
    let targets = targets(&indexed.recording, &plan);
    let eligible_cases = only(&plan, &|_, case| baseline.green.contains(&case.id));
    let has_passed = |case: &&RecordedCase| matches!(case.outcome, Outcome::Passed | Outcome::Warned);
    let passed: BTreeSet<&str> =
        indexed.recording.cases.iter().filter(has_passed).map(|case| case.id.as_str()).collect();
    let runner = MutationRunner {
        settings,
        plan: eligible_cases,
        passed: only(&plan, &|_, case| passed.contains(case.id.as_str())),
        indexed: Arc::clone(&indexed),
        baseline: &baseline,
        targets: &targets,
        deadline: settings.time.map(|time| begun + time),
    };
    let launch_commands = if settings.live { LaunchCommands::of(&plan, settings) } else { LaunchCommands::default() };
    let selection = MutantSelection::of(settings, &plan, &targets, &launch_commands);
    let (plan, launch_commands, events) = (&plan, &launch_commands, results.events);
    go_on(TrialRun { begun, settings, plan, runner, launch_commands, selection, events })
}

impl TrialRun<'_> {
    /// What parts must agree on.
    fn identity(&self, recording: Seal) -> PartIdentity {
        PartIdentity::new(recording, &self.selection.jobs, &self.runner.baseline.green, self.settings.options)
    }

    /// The proof that follows from the trials of all mutants.
    fn conclude(self, mut trials: Vec<OperatorTrial>, live: Option<Control>) -> Result<ProveResult, ProveError> {
        let Self { begun, settings, plan, runner, mut selection, events, .. } = self;
        if settings.options.stop.is_set() {
            return Err(ProveError::Interrupted);
        }
        standing::settle(&mut trials);
        let table = standing::table(&trials);
        selection.leave_out_unserved_starts(&table, &trials);
        let mut additions = additions(&trials, settings.registry, &selection.left_out, &settings.redactor);
        let mut mutants: Vec<MutantResult> = trials.into_iter().map(|trial| trial.result).collect();
        keep_names_apart(&mut mutants, &mut additions, settings.plan);
        let proven = |targets: &[&RecordedTarget<'_>]| {
            let table = table.iter().filter(|fault| targets.iter().any(|target| target.name == fault.target));
            let proved = Proved::of(&mutants, table, &selection.left_out);
            coverage::proven(settings.registry, &plan_for_coverage(plan, targets), &proved)
        };
        let by_suite = by_suite(settings.plan, runner.targets);
        let suite = |((file, server), targets): (&(&str, &str), &Vec<&RecordedTarget<'_>>)| {
            let (file, server) = ((*file).to_owned(), (*server).to_owned());
            ProvenSuite { file, server, proven: proven(targets), gates: Vec::new() }
        };
        let suites = if by_suite.len() > 1 { by_suite.iter().map(suite).collect() } else { Vec::new() };
        let mut proof = Proof {
            proven: proven(&runner.targets.iter().collect::<Vec<_>>()),
            suites,
            control: runner.baseline.control.clone(),
            live,
            mutants,
            additions,
            table,
            left_out: selection.left_out,
            gates: Vec::new(),
            duration_us: u64::try_from(begun.elapsed().as_micros()).unwrap_or(u64::MAX),
        };
        proof.change_texts(&|text| settings.redactor.text(text));
        Ok(ProveResult { proof, events })
    }
}

/// Tries operators until the time is over; the results are in the order of the operators.
fn try_in_time(runner: &MutationRunner<'_>, jobs: &[MutantJob<'_>]) -> std::io::Result<Vec<OperatorTrial>> {
    let order = order_of_trials(jobs.len(), runner.deadline.is_some());
    let tried = each(runner.settings.workers, &|| runner.is_over(), &order, &|runtime, at| {
        (*at, runner.trial(runtime, jobs[*at]))
    })?;
    let mut tried: BTreeMap<usize, OperatorTrial> = tried.into_iter().collect();
    let trials = jobs.iter().enumerate().map(|(at, job)| tried.remove(&at).unwrap_or_else(|| job.untried()));
    Ok(trials.collect())
}

/// The targets of each suite on each server, whatever the revision; a server without a case has none.
fn by_suite<'a>(
    plan: &'a Plan,
    targets: &'a [RecordedTarget<'a>],
) -> IndexMap<(&'a str, &'a str), Vec<&'a RecordedTarget<'a>>> {
    let mut suites: IndexMap<(&str, &str), Vec<&RecordedTarget<'_>>> = IndexMap::new();
    for planned in plan.suites.iter().filter(|_| plan.selection.is_everything()) {
        let servers = planned.targets.iter().map(|target| (planned.suite.file.as_str(), target.server.as_str()));
        suites.extend(servers.map(|name| (name, Vec::new())));
    }
    for target in targets {
        suites.entry((&target.recorded.file, &target.recorded.server)).or_default().push(target);
    }
    suites
}

fn plan_for_coverage(plan: &Plan, targets: &[&RecordedTarget<'_>]) -> Planned {
    let is_of =
        |planned: &SuitePlan, case: &Case| targets.iter().any(|target| target.name == planned.target_id(case.target));
    let Declaration { probes, variants, .. } = collect_declaration(only(plan, &is_of).cases());
    let agents = probes.contains("agent");
    let settings = targets
        .iter()
        .map(|target| (target.recorded.transport.as_str().to_owned(), target.recorded.revision.clone()))
        .collect();
    Planned { probes, variants, agents, settings }
}
