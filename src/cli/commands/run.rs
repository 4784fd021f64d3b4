//! `mcprove run`: runs suites and gives CI a verdict.

use std::collections::BTreeSet;
use std::io;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use clap::Args;

use super::failing_tests::write_failing_tests;
use super::fault_coverage::ThresholdArgs;
use super::observed_calls::ObservedCalls;
use super::parsing::{at_a_time, drawn_seed, duration, now, positive};
use super::proving::{ProofRequest, ProvingArgs};
use super::run_findings::{KeepArgs, keep};
use super::run_shared::{SignalledRun, run_plan};
use super::run_update::{self, Consent, SuiteFolders, UpdateArgs};
use super::run_watch::{CaseOutcome, DetailArgs, RunWatch};
use super::server_ends::ExitRules;
use super::serving::{ServingPolicy, ServingRequirement};
use super::signals::{Budget, SignalScope, Urgency};
use super::verdict::EndedRun;
use crate::baseline::Baseline;
use crate::cli::baseline::BaselineArgs;
use crate::cli::console::Console;
use crate::cli::exit::Exit;
use crate::cli::suites::{AllowedCalls, ChosenRegistry, SuiteArgs, refuse_only, registry, require_cases};
use crate::cli::{kept_arguments, state, written_files};
use crate::event::{Proof, Severity};
use crate::files::{FilePlace, FolderPlace};
use crate::plan::{GeneratedCases, Plan};
use crate::prove::{RecordedSecrets, RunRecorder};
use crate::recorded;
use crate::report::sink::{SinkError, parse_target};
use crate::report::{Format, View, format_names};
use crate::runner::{
    ArgumentMemory, Bail, Isolation, ListedNames, Options, RunFolder, Snapshots, Stop, Summary, Thresholds, redactor,
};
use crate::suite::Order;
use crate::taxonomy::Registry;

/// Runs test suites against their servers.
#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    #[command(flatten)]
    pub(crate) suites: SuiteArgs,
    /// The number of cases that run at a time, instead of the number in the suites; 1 keeps the declared order.
    #[arg(long, short = 'j', value_name = "N", value_parser = at_a_time)]
    parallel: Option<NonZero<usize>>,
    /// Stops after N cases have failed; 1 without a number.
    #[arg(long, value_name = "N", num_args = 0..=1, default_missing_value = "1", require_equals = true, value_parser = positive::<NonZero<usize>>)]
    bail: Option<NonZero<usize>>,
    #[command(flatten)]
    trust: TrustArgs,
    /// The time for a case, instead of the time in the suites.
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    timeout: Option<Duration>,
    #[arg(long, value_name = "FORMAT=FILE", value_parser = parse_target, help = report_help())]
    pub(crate) report: Vec<(Format, FilePlace)>,
    #[command(flatten)]
    pub(crate) details: DetailArgs,
    #[command(flatten)]
    pub(crate) recording: UpdateArgs,
    /// Writes the transcript of each session into this folder, a file per session and a line per frame; a session of 200,000 frames or more is cut to its first and last ones.
    #[arg(long, value_name = "FOLDER")]
    pub(crate) transcript: Option<FolderPlace>,
    #[command(flatten)]
    pub(crate) thresholds: ThresholdArgs,
    #[command(flatten)]
    pub(crate) proving: ProvingArgs,
    /// Calls only tools that change nothing according to their hints, or to their name and description; skips cases that would call others, even if a suite or a flag allows it.
    #[arg(long)]
    pub(crate) read_only: bool,
    /// Keeps the folder of a run that fails, `{{ run.dir }}`, with the copies of stores as the servers left them.
    #[arg(long)]
    pub(crate) keep: bool,
    /// Lets the run pass although a tool served none of its generated calls and was therefore not judged.
    #[arg(long)]
    pub(crate) allow_unjudged: bool,
    #[command(flatten)]
    pub(crate) known: BaselineArgs,
    #[command(flatten)]
    keeping: KeepArgs,
    /// A fault registry to use instead of the built-in one.
    #[arg(long, value_name = "FILE")]
    pub(crate) registry: Option<PathBuf>,
    /// The time for the whole run, such as `60s`, and for its proof, which gets what the cases leave; if it is too short for all cases, the run ends with exit code 4.
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    pub(crate) budget: Option<Duration>,
}

/// The files of a command that are none of its run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MoreFiles<'a> {
    pub(crate) written: Option<&'a Path>,
    pub(crate) read: &'a [&'a Path],
}

/// A run as a command asks for it.
#[derive(Debug)]
pub(crate) struct RunRequest {
    pub(crate) args: RunArgs,
    /// The calls that a server must serve at least.
    pub(crate) serving: ServingRequirement,
    /// The file into which tests are written that fail because of what a campaign found.
    pub(crate) failing_tests: Option<FilePlace>,
    /// Proves in this time, and in a line, what the run would have caught.
    pub(crate) brief_proof: Option<Duration>,
    /// How long signals are listened for.
    pub(crate) signals: SignalScope,
}

impl From<RunArgs> for RunRequest {
    fn from(args: RunArgs) -> Self {
        let signals = SignalScope::Program;
        Self { args, serving: ServingRequirement::default(), failing_tests: None, brief_proof: None, signals }
    }
}

/// Order, repetition and isolation of cases.
#[derive(Debug, Args)]
struct TrustArgs {
    /// Runs the cases in another order, which follows from SEED; without a value, a seed is drawn and printed.
    #[arg(long, value_name = "SEED", num_args = 0..=1, require_equals = true, value_parser = parse_seed)]
    #[expect(clippy::option_option, reason = "the flag, and its value")]
    shuffle: Option<Option<u32>>,
    /// Runs every case N times; it passes only if all of them pass.
    #[arg(long, value_name = "N", default_value = "1", hide_default_value = true, conflicts_with = "retries", value_parser = positive::<NonZero<u32>>)]
    repeat: NonZero<u32>,
    /// Retries failed cases up to N times, instead of the number in the suites; one that passes then is flaky.
    #[arg(long, value_name = "N")]
    retries: Option<u32>,
    /// Ends with exit code 1 where a case is flaky.
    #[arg(long)]
    fail_on_flaky: bool,
    /// Runs the cases in three ways (as written, each in a session of its own, shuffled) and fails if a verdict differs.
    #[arg(long, conflicts_with_all = ["repeat", "bail"])]
    verify_isolation: bool,
}

fn report_help() -> String {
    format!(
        "Writes a report, for example `html=out.html`, or `github=-` for standard output; may be given several times; formats: {}",
        format_names()
    )
}

fn parse_seed(text: &str) -> Result<u32, String> {
    text.parse().map_err(|_| format!("invalid seed `{text}`; write a whole number from 0 to {}", u32::MAX))
}

impl RunArgs {
    /// The only place that turns flags into runner options.
    pub(crate) fn options(&self, now: Duration, stop: Stop, console: &Console) -> Options {
        let environment = &console.environment;
        Options {
            parallel: self.parallel.map(NonZero::get),
            processors: environment.processors,
            timeout: self.timeout,
            bail: self.bail.map_or(Bail::Never, |limit| Bail::After(limit.get())),
            retries: self.trust.retries,
            repeat: self.trust.repeat.get(),
            order: self.trust.shuffle.map(|_| Order::Shuffled),
            seed: self.trust.shuffle.flatten().unwrap_or_else(drawn_seed),
            isolation: if self.trust.verify_isolation { Isolation::Verified } else { Isolation::Trusted },
            environment: Arc::clone(&environment.variables),
            keeps_frames: self.transcript.is_some(),
            run_folder: Arc::new(RunFolder::new(self.keep)),
            paths: self.suites.are_files().then(|| self.suites.paths.clone()),
            // The thresholds of a proof are for the proof.
            thresholds: if self.proving.prove { Thresholds::default() } else { self.thresholds.values() },
            ..Options::new(u64::try_from(now.as_millis()).unwrap_or(u64::MAX), stop)
        }
    }

    pub(crate) fn plan(&self, registry: ChosenRegistry, console: &Console) -> Result<Plan, Exit> {
        if let Some((flag, number)) = self.flag_without_value().zip(self.suites.number()) {
            let help = format!("`{flag}` takes its value after `=`: `{flag}={number}`");
            return Err(console.fail(Exit::Usage, format!("`{number}` is no suite"), Some(&help)));
        }
        let calls = if self.read_only { AllowedCalls::OnlyReading } else { AllowedCalls::AsSuitesSay };
        self.suites.plan(registry, calls, console)
    }

    /// A flag that may have a value, and has none.
    fn flag_without_value(&self) -> Option<&'static str> {
        if self.trust.shuffle == Some(None) {
            return Some("--shuffle");
        }
        self.bail.filter(|limit| limit.get() == 1).map(|_| "--bail")
    }

    /// Proves what can be proven from the recording of a run, and only then reports the end of the run and writes the
    /// recording, which holds the proof as well.
    fn prove(
        &self,
        run: &PreparedRun,
        options: &Options,
        budget: Option<&Budget>,
        watch: &mut RunWatch,
        console: &Console,
    ) -> Result<Option<Box<Proof>>, Exit> {
        let Some((recording, redactor)) = watch.recording() else { return Ok(None) };
        let made_by = (&run.plan, run.registry);
        let recorded = self.proving.record.is_some().then(|| recording.clone());
        let (mut written, mut proof) = (Ok(()), None);
        // Half a run proves nothing.
        if self.proving.prove && options.stop.is_set() {
            console.note("nothing was proven, because the run was cut off");
        } else if self.proving.prove {
            let (plan, registry, mutants) = (&run.plan, run.registry, run.mutants.clone());
            let secrets = RecordedSecrets::Kept;
            let request =
                ProofRequest { plan, registry, options, mutants, secrets, time: budget.map(Budget::remaining) };
            let proven = self.proving.prove_recording(recording, request, &self.thresholds, console);
            proof = proven.ok().map(|proven| Box::new(proven.proof));
        }
        if let Some(proof) = &proof {
            written = self.proving.write_missing(proof, &run.plan, console).and(written);
        }
        watch.close(proof.clone(), &options.stop);
        if let Some(recorded) = recorded {
            let events = watch.event_lines();
            written = self.proving.write_recording(made_by, recorded, &events, &redactor, console).and(written);
        }
        written.map(|()| proof)
    }

    pub(crate) fn verifies_isolation(&self) -> bool {
        self.trust.verify_isolation
    }

    /// Refuses to write two documents to one file, or one over a file that is read.
    pub(crate) fn check_targets(&self, plan: &Plan, more: MoreFiles<'_>, console: &Console) -> Result<(), Exit> {
        let servers = plan.suites.iter().flat_map(|planned| &planned.targets);
        let servers: BTreeSet<&str> = servers.map(|target| target.server.as_str()).collect();
        let reports: Vec<PathBuf> = written_files::of_reports(&self.report, &servers).collect();
        let reports = reports.iter().map(PathBuf::as_path);
        let targets =
            reports.chain(self.known.write_baseline.as_deref()).chain(self.proving.targets()).chain(more.written);
        let inputs = plan
            .sources
            .names()
            .map(Path::new)
            .chain(self.registry.as_deref())
            .chain(self.known.inputs())
            .chain(more.read.iter().copied());
        written_files::check(targets, inputs).map_err(|reason| console.fail(Exit::Usage, reason, None))
    }

    fn remember(&self, run: &PreparedRun, summary: &Summary, exit: Exit) -> Result<(), SinkError> {
        // A run that was cut off says nothing, not even that cases passed; an ad hoc suite has no folder for state, and the
        // cases of a campaign are none of those that the suite has otherwise.
        let is_empty = summary.decided.is_empty() && summary.not_passed.is_empty();
        if self.suites.adhoc.is_some() || self.suites.campaign.is_some() || summary.interrupted && is_empty {
            return Ok(());
        }
        let files: Vec<&str> = run.files().collect();
        let (fails_on_flaky, selection) = (self.trust.fail_on_flaky, &run.plan.selection);
        let ran = state::Ran { files: &files, summary, fails_on_flaky, selection, exit };
        state::remember(&run.state, &ran)
    }
}

impl RunRequest {
    /// Reads everything that a run needs; the error is the exit code where there is nothing to run.
    fn prepare(&self, now: Duration, console: &Console) -> Result<PreparedRun, Exit> {
        let args = &self.args;
        args.proving.check(&args.thresholds, console)?;
        let registry = registry(args.registry.as_deref(), console)?;
        let plan = args.plan(registry, console)?;
        refuse_only(&plan, console)?;
        let more = MoreFiles { written: self.failing_tests.as_deref(), read: &[] };
        args.check_targets(&plan, more, console)?;
        let mutants = args.proving.mutants(registry.get(), console)?;
        let known = args.known.load(now, console)?;
        require_cases(&plan, console)?;
        let first = plan.suites.first().map_or("", |planned| planned.suite.file.as_str());
        let state = args.suites.state_folder(Path::new(first));
        Ok(PreparedRun { registry: registry.get(), plan, known, mutants, state })
    }

    /// Starts to watch a run: reports, and everything that is kept of it.
    fn watch(&self, plan: &Plan, now: Duration, console: &Console) -> Result<RunWatch, Exit> {
        let args = &self.args;
        let cases = plan.cases().count();
        let mut watch = RunWatch::new(&args.report, args.transcript.clone(), cases, console)?;
        watch.show_details(View { survivors: args.proving.survivors(), ..args.details.view() });
        if args.proving.record.is_some() {
            watch.trace();
        }
        watch.recorder = (args.proving.records() || self.brief_proof.is_some()).then(RunRecorder::default);
        watch.keeper = args.keeping.keeper(plan, now);
        watch.server_ends.rules =
            ExitRules { least: args.keeping.severity.fail_on, fails_on_flaky: args.trust.fail_on_flaky };
        watch.policy = ServingPolicy {
            requirement: self.serving,
            allows_unjudged: args.allow_unjudged,
            is_adhoc: !args.suites.are_files(),
            allows_changes: plan
                .suites
                .iter()
                .flat_map(|planned| planned.suite.servers.values())
                .all(|one| one.scratch),
        };
        watch.calls = ObservedCalls::new(GeneratedCases::of(plan.whole()), self.serving.is_of_server());
        Ok(watch)
    }
}

struct PreparedRun {
    registry: &'static Registry,
    plan: Plan,
    known: Arc<Baseline>,
    /// The mutants to try; `None` for all.
    mutants: Option<BTreeSet<String>>,
    /// Found before a server runs, like everything that is written.
    state: FolderPlace,
}

impl PreparedRun {
    fn files(&self) -> impl Iterator<Item = &str> {
        self.plan.suites.iter().map(|planned| planned.suite.file.as_str())
    }
}

pub(crate) fn run(request: &RunRequest, console: &Console) -> Result<Exit, Exit> {
    run_and_tell(request, console).map(|(exit, _)| exit)
}

/// Runs, and also tells the outcome of each case by its name.
pub(crate) fn run_and_tell(request: &RunRequest, console: &Console) -> Result<(Exit, Vec<CaseOutcome>), Exit> {
    let args = &request.args;
    let consent = Consent::of(&args.recording, console)?;
    let now = now();
    let budget = args.budget.map(Budget::new);
    let run = request.prepare(now, console)?;
    let watch = request.watch(&run.plan, now, console)?;
    let snapshots = Arc::new(Snapshots { known: recorded::read_texts(&run.plan), purpose: consent.purpose() });
    // Only what is written needs them.
    let roots = if consent == Consent::None { recorded::Roots::default() } else { recorded::roots(&run.plan) };
    let roots = SuiteFolders::new(&roots);
    let ((wish, stop), scope) = (Stop::new(), request.signals);
    let least = args.keeping.severity.fail_on.unwrap_or(Severity::Low);
    let kept_arguments = kept_arguments::read(&run.state);
    let arguments = Arc::new(ArgumentMemory::new(kept_arguments.arguments()));
    let options =
        Options { baseline: Arc::clone(&run.known), snapshots, arguments, ..args.options(now, stop, console) };
    let signalled =
        SignalledRun { plan: run.plan.clone(), registry: run.registry, options: options.clone(), wish, scope, least };
    let Some((mut summary, mut watch, urgency)) = run_plan(signalled, watch, budget.as_ref(), console) else {
        return Err(console.fail(Exit::Internal, "the run cannot start: the system provides no async runtime", None));
    };
    // The proof has the time that is left; the run is not asked to end any more.
    let is_out_of_time = budget.as_ref().is_some_and(Budget::end_run);
    let brief = request.brief_proof.and_then(|time| Some((time, watch.recording()?.0)));
    if brief.is_some() {
        watch.close(None, &options.stop);
    }
    let proof = args.prove(&run, &options, budget.as_ref(), &mut watch, console);
    let hidden = redactor(&run.plan, &options);
    let (found, severities, calls) = (watch.take_findings(&hidden), watch.severities, watch.served_calls());
    let (sections, unjudged) = (watch.sections(), watch.unjudged());
    let outcomes = std::mem::take(&mut watch.outcomes);
    let (failures, reported) = watch.finish(options.stop.end(), console);
    let tests = request.failing_tests.as_ref();
    let tests = tests.map_or(Ok(()), |place| write_failing_tests(place, &sections, &run.plan, console));
    let updated = run_update::update(consent, &mut summary, &roots, urgency.clone(), console);
    args.known.note_unmatched(summary.unmatched, console);
    let written =
        [reported, args.known.write(&failures, console), updated, tests, proof.as_ref().map(drop).map_err(|e| *e)];
    // A signal while reports are written interrupts the run too.
    summary.interrupted |= *urgency.borrow() > Urgency::Overdue;
    summary.failed = args.keeping.severity.count_failures(summary.failed, &severities, request.serving, console);
    let proof = proof.ok().flatten();
    let ended = EndedRun {
        summary: &summary,
        hidden: &hidden,
        is_out_of_time,
        is_part: run.plan.selection.shard.is_some(),
        fails_on_flaky: args.trust.fail_on_flaky,
        thresholds: &args.thresholds,
        console,
    };
    let exit = calls.gate(ended.verdict(proof.as_deref()), &unjudged, &hidden, console);
    let exit = calls.refuse_unknown(args.suites.flagged_tools(), exit, console);
    let is_unwritten = written.iter().any(Result::is_err);
    let gives_way = matches!(exit, Exit::Passed | Exit::Coverage | Exit::Nothing);
    let exit = if is_unwritten && gives_way { Exit::Environment } else { exit };
    let has_failed = !matches!(exit, Exit::Passed | Exit::Interrupted);
    if let Some(left) = options.run_folder.finish(has_failed) {
        let what = if args.keep && has_failed { "kept" } else { "could not remove" };
        console.note(&format!("{what} the folder of this run: {}", left.display()));
    }
    // Names alone are no reason to make a folder where somebody tries a server.
    let has_state = args.suites.are_files() || run.state.is_dir();
    let listed = if has_state { options.arguments.listed() } else { ListedNames::new() };
    let (learned, known) = (options.arguments.learned(), &kept_arguments);
    // Without names, only completions know less.
    let is_needed = !learned.is_empty();
    if let Err(error) = kept_arguments::keep(&run.state, known, learned, listed)
        && is_needed
    {
        console.note(&format!("warning: {error}; the next run searches again for arguments that tools serve"));
    }
    match args.remember(&run, &summary, exit) {
        Ok(()) => keep(&args.suites, &run.state, found, console),
        Err(error) if error.reason.kind() == io::ErrorKind::ResourceBusy => {
            console.note(&format!("warning: {error}; `--last-failed` will not know this run"));
            keep(&args.suites, &run.state, found, console);
        }
        Err(error) => {
            let lost = "neither `--last-failed` nor `mcprove findings` will know this run";
            console.note(&format!("warning: {error}; {lost}"));
        }
    }
    if let Some((time, recording)) = brief.filter(|_| matches!(exit, Exit::Passed | Exit::Findings)) {
        let (plan, registry, mutants) = (&run.plan, run.registry, run.mutants.clone());
        let secrets = RecordedSecrets::Kept;
        let request = ProofRequest { plan, registry, options: &options, mutants, secrets, time: Some(time) };
        args.proving.prove_briefly(recording, request, &args.thresholds, console)?;
    }
    Ok((exit, outcomes))
}
