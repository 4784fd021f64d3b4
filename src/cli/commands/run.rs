//! `mcprove run`: runs suites and gives CI a verdict.

use std::collections::BTreeSet;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use clap::Args;

use super::fault_coverage::gate;
use super::parsing::{at_a_time, duration, positive};
use super::proving::{Gating, MutantChoice, ProvingArgs};
use super::run_findings::{KeepArgs, keep};
use super::run_serving::Serving;
use super::run_shared::run_plan;
use super::run_update::{self, Consent, UpdateArgs};
use super::run_watch::{DetailArgs, RunWatch};
use super::signals::Urgency;
use crate::baseline::Baseline;
use crate::cli::baseline::BaselineArgs;
use crate::cli::environment::Environment;
use crate::cli::exit::Exit;
use crate::cli::output::Output;
use crate::cli::suites::{ChosenRegistry, SuiteArgs, nothing_failed, nothing_selected, refuse_only, registry};
use crate::cli::{state, targets};
use crate::coverage::parse_threshold;
use crate::event::Proof;
use crate::plan::{Generated, Plan, Selection};
use crate::prove::RecordedSecrets;
use crate::recorded;
use crate::redact::Redactor;
use crate::report::Format;
use crate::report::sink::{SinkError, parse_target};
use crate::runner::{Bail, Isolation, Options, Snapshots, Stop, Summary, Thresholds, redactor};
use crate::source::visible_line;
use crate::suite::Order;
use crate::taxonomy::Registry;

/// Runs suites against their servers.
#[derive(Debug, Args)]
pub(in crate::cli) struct RunArgs {
    #[command(flatten)]
    pub(super) suites: SuiteArgs,
    /// How many cases run at a time, whatever the suites say; 1 keeps the declared order.
    #[arg(long, short = 'j', value_name = "N", value_parser = at_a_time)]
    parallel: Option<NonZero<usize>>,
    /// Stops after N cases have failed; 1 without a number.
    #[arg(long, value_name = "N", num_args = 0..=1, default_missing_value = "1", require_equals = true, value_parser = positive::<NonZero<usize>>)]
    bail: Option<NonZero<usize>>,
    #[command(flatten)]
    trust: TrustArgs,
    /// The time for a case, whatever the suites say.
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    timeout: Option<Duration>,
    /// Writes a report, any number of them: `junit=out.xml`, `json=out.json`, `github=-`, `markdown=summary.md`, `sarif`, `tap`, `ndjson`, `text`.
    #[arg(long, value_name = "FORMAT=FILE", value_parser = parse_target)]
    pub(super) report: Vec<(Format, PathBuf)>,
    #[command(flatten)]
    details: DetailArgs,
    #[command(flatten)]
    recording: UpdateArgs,
    /// Writes the transcript of each session into this folder, a file per session and a line per frame; of a session with 200,000 frames or more, only the first and the last.
    #[arg(long, value_name = "FOLDER")]
    transcript: Option<PathBuf>,
    /// The least coverage in percent, 0 to 100: exercised, or proven where something is proven; less ends with exit code 6.
    #[arg(long, value_name = "PERCENT", value_parser = parse_threshold, allow_negative_numbers = true)]
    threshold: Option<f64>,
    /// The same for the figure that is weighted by how often faults occur.
    #[arg(long, value_name = "PERCENT", value_parser = parse_threshold, allow_negative_numbers = true)]
    threshold_weighted: Option<f64>,
    #[command(flatten)]
    pub(super) proving: ProvingArgs,
    /// Calls only tools that change nothing by their hints, or by name and description: cases that would call others are skipped, whatever suites or flags allow.
    #[arg(long)]
    pub(super) read_only: bool,
    /// Lets the run pass although a tool served none of its generated calls, so that nothing is known of it.
    #[arg(long)]
    pub(super) allow_unjudged: bool,
    #[command(flatten)]
    known: BaselineArgs,
    #[command(flatten)]
    pub(super) keeping: KeepArgs,
    /// What a server must serve at least.
    #[arg(skip)]
    pub(super) serving: Serving,
    /// How long the run may take; what is not done by then is not judged.
    #[arg(skip)]
    pub(super) budget: Option<Duration>,
    /// A fault registry to use instead of the built-in one.
    #[arg(long, value_name = "FILE")]
    pub(super) registry: Option<PathBuf>,
}

/// How far verdicts are trusted: order, repetition, isolation.
#[derive(Debug, Args)]
struct TrustArgs {
    /// Begins the cases in another order, which follows from SEED; one is drawn and printed if none is given.
    #[arg(long, value_name = "SEED", num_args = 0..=1, require_equals = true, value_parser = seed)]
    #[expect(clippy::option_option, reason = "the flag, and its value")]
    shuffle: Option<Option<u32>>,
    /// Runs every case N times; it passes only if all of them pass.
    #[arg(long, value_name = "N", default_value = "1", hide_default_value = true, conflicts_with = "retries", value_parser = positive::<NonZero<u32>>)]
    repeat: NonZero<u32>,
    /// Tries failed cases again, up to N times, whatever the suites say; one that passes then is flaky.
    #[arg(long, value_name = "N")]
    retries: Option<u32>,
    /// Lets flaky cases end the run with exit code 1.
    #[arg(long)]
    fail_on_flaky: bool,
    /// Runs the cases in three ways (as written, each in a session of its own, shuffled) and fails where a verdict differs.
    #[arg(long, conflicts_with_all = ["repeat", "bail"])]
    verify_isolation: bool,
}

fn seed(text: &str) -> Result<u32, String> {
    text.parse().map_err(|_| format!("`{text}` is no seed; write a whole number from 0 to {}", u32::MAX))
}

impl RunArgs {
    /// The only place that turns flags into runner options.
    pub(super) fn options(&self, surroundings: &RunSurroundings<'_>, stop: Stop) -> Options {
        let RunSurroundings { environment, now, .. } = surroundings;
        Options {
            parallel: self.parallel.map(NonZero::get),
            processors: environment.processors,
            timeout: self.timeout,
            bail: self.bail.map_or(Bail::Never, |limit| Bail::After(limit.get())),
            retries: self.trust.retries,
            repeat: self.trust.repeat.get(),
            order: self.trust.shuffle.map(|_| Order::Shuffled),
            seed: self.trust.shuffle.flatten().unwrap_or_else(|| drawn_seed(*now)),
            isolation: if self.trust.verify_isolation { Isolation::Verified } else { Isolation::Trusted },
            environment: Arc::clone(&environment.variables),
            keeps_frames: self.transcript.is_some(),
            // Where something is proven, that is what counts.
            thresholds: if self.proving.prove { Thresholds::default() } else { self.thresholds() },
            baseline: Arc::clone(&surroundings.known),
            secrets: surroundings.secrets.clone(),
            snapshots: Arc::clone(&surroundings.snapshots),
            ..Options::new(u64::try_from(now.as_millis()).unwrap_or(u64::MAX), stop)
        }
    }

    /// Reads everything that a run needs; the error is the exit code where there is nothing to run.
    fn prepared(&self, now: Duration, environment: &Environment, output: &Output) -> Result<PreparedRun, Exit> {
        self.proving.refuse(self.gating(), output)?;
        let registry = registry(self.registry.as_deref(), output)?;
        let plan = self.plan(registry, output)?;
        refuse_only(&plan, environment, output)?;
        self.check_targets(&plan, output)?;
        let picks = self.proving.wanted(registry.get(), output)?;
        let known = self.known.load(now, output)?;
        if nothing_failed(&plan, output) {
            return Err(Exit::Passed);
        }
        if plan.cases().next().is_none() {
            nothing_selected(&plan, output);
            return Err(Exit::Nothing);
        }
        Ok(PreparedRun { registry, plan, known, picks })
    }

    /// What is to be run.
    pub(super) fn plan(&self, registry: ChosenRegistry, output: &Output) -> Result<Plan, Exit> {
        let plan = self.suites.plan(registry, output)?;
        Ok(if self.read_only { plan.reading_only() } else { plan })
    }

    /// Writes the run down and proves what can be proven, and only then tells its end.
    fn afterwards(
        &self,
        of: (&Plan, &Registry),
        (options, picks): (&Options, Option<BTreeSet<String>>),
        (watch, output): (&mut RunWatch, &Output),
    ) -> Result<Option<Box<Proof>>, ()> {
        let Some((recording, redactor)) = watch.recording() else { return Ok(None) };
        let written = self.proving.write(of.0, (&recording, &redactor), output);
        // Half a run proves nothing.
        let proof = if self.proving.prove && !options.stop.is_set() {
            let wanted = MutantChoice { picks, thresholds: self.thresholds(), secrets: RecordedSecrets::Kept };
            let proven = self.proving.proven(recording, of, (options, wanted), output);
            proven.ok().map(|proven| Box::new(proven.proof))
        } else {
            None
        };
        let written =
            proof.as_deref().map_or(Ok(()), |proof| self.proving.write_missing(proof, of.0, output)).and(written);
        watch.close(proof.clone(), &options.stop);
        written.map(|()| proof)
    }

    pub(super) fn gating(&self) -> Gating {
        if self.threshold.or(self.threshold_weighted).is_some() { Gating::Threshold } else { Gating::None }
    }

    pub(super) fn thresholds(&self) -> Thresholds {
        Thresholds { plain: self.threshold, weighted: self.threshold_weighted }
    }

    /// The exit code of what was proven, under the thresholds.
    pub(super) fn gate_proof(&self, proof: &Proof, output: &Output) -> Exit {
        gate(&proof.proven, (self.threshold, self.threshold_weighted), output)
    }

    /// Refuses to write two documents to one file, or one over a file that is read.
    pub(super) fn check_targets(&self, plan: &Plan, output: &Output) -> Result<(), Exit> {
        let reports = self.report.iter().map(|(_, path)| path.as_path());
        let targets = reports.chain(self.known.write_baseline.as_deref()).chain(self.proving.targets());
        let inputs = plan.sources.names().map(Path::new).chain(self.registry.as_deref()).chain(self.known.inputs());
        targets::check(targets, inputs).map_err(|reason| {
            output.error(&reason, None);
            Exit::Usage
        })
    }
}

/// What a run is about.
struct PreparedRun {
    registry: ChosenRegistry,
    plan: Plan,
    known: Arc<Baseline>,
    /// The mutants to try.
    picks: Option<BTreeSet<String>>,
}

/// What a run depends on beside its flags.
pub(super) struct RunSurroundings<'a> {
    pub(super) environment: &'a Environment,
    pub(super) snapshots: Arc<Snapshots>,
    pub(super) known: Arc<Baseline>,
    /// The secrets that the run learns.
    pub(super) secrets: Redactor,
    /// Since 1970.
    pub(super) now: Duration,
}

impl<'a> RunSurroundings<'a> {
    /// Nothing secret is learned yet.
    pub(super) fn new(
        environment: &'a Environment,
        snapshots: Arc<Snapshots>,
        known: Arc<Baseline>,
        now: Duration,
    ) -> Self {
        Self { environment, snapshots, known, secrets: Redactor::default(), now }
    }
}

/// Another one every time, short enough to be typed.
fn drawn_seed(now: Duration) -> u32 {
    (now.subsec_nanos() ^ std::process::id().rotate_left(16)) % 1_000_000
}

pub(in crate::cli) fn run(args: &RunArgs, environment: &Environment, output: &Output) -> Exit {
    let consent = match Consent::of(&args.recording, environment, output) {
        Ok(consent) => consent,
        Err(exit) => return exit,
    };
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let PreparedRun { registry, plan, known, picks } = match args.prepared(now, environment, output) {
        Ok(prepared) => prepared,
        Err(exit) => return exit,
    };
    let files: Vec<String> = plan.suites.iter().map(|planned| planned.suite.file.clone()).collect();
    let first = plan.suites.first().map(|planned| PathBuf::from(&planned.suite.file)).unwrap_or_default();
    let watch = match watching(args, &plan, now, output) {
        Ok(watch) => watch,
        Err(error) => {
            output.error(&error.to_string(), None);
            return Exit::Environment;
        }
    };
    let snapshots = Arc::new(Snapshots { known: recorded::read(&plan), purpose: consent.purpose() });
    let roots = recorded::roots(&plan);
    let surroundings = RunSurroundings::new(environment, snapshots, known, now);
    let options_of = |stop| args.options(&surroundings, stop);
    let ran = run_plan(&options_of, (plan.clone(), registry.get()), (watch, *output), args.budget);
    let Some((mut summary, mut watch, urgency, stop)) = ran else {
        output.error("the run cannot start: the system gives no runtime", None);
        return Exit::Internal;
    };
    let options = args.options(&surroundings, stop);
    let afterwards = args.afterwards((&plan, registry.get()), (&options, picks), (&mut watch, output));
    let (found, weighed) = (watch.kept(&redactor(&plan, &options)), watch.weighed());
    let (written, failures) = match watch.finish(output) {
        Ok(failures) => (Ok(()), failures),
        Err(failures) => (Err(()), failures),
    };
    let updated = run_update::update(consent, &mut summary, &roots, (urgency.clone(), output));
    args.known.tell(summary.unmatched, output);
    let written = args.known.write(&failures, output).and(written);
    let hidden = redactor(&plan, &options);
    // Whoever stops the program while it writes reports is told so as well.
    let is_spent = matches!(*urgency.borrow(), Urgency::Spent | Urgency::Overdue);
    summary.interrupted |= *urgency.borrow() > Urgency::Overdue;
    let proof = afterwards.as_ref().ok().and_then(Option::as_deref);
    let (severities, calls) = weighed;
    let is_asked = args.serving != Serving::WhereGenerated;
    summary.failed = args.keeping.failed(summary.failed, (&severities, is_asked), output);
    calls.tell_unknown(args.suites.given.as_ref().map_or(&[], |given| &given.tools), output);
    let verdict = verdict(args, (&summary, &hidden, is_spent), proof, output);
    let exit = args.unless_unserved(verdict, (&calls, &hidden), output);
    let is_unwritten = written.is_err() || updated.is_err() || afterwards.is_err();
    let is_outdone = is_unwritten && matches!(exit, Exit::Passed | Exit::Coverage | Exit::Nothing);
    let exit = if is_outdone { Exit::Environment } else { exit };
    match remember(args, &first, &summary, (&files, &plan.selection, exit)) {
        Ok(()) => keep((&args.suites.state_folder(&first), args.suites.state_dir.is_some()), found, output),
        Err(error) => {
            output
                .note(&format!("warning: {error}; neither `--last-failed` nor `mcprove findings` will know this run"));
        }
    }
    exit
}

/// Whoever watches the run: reports, and what is kept of it.
fn watching(args: &RunArgs, plan: &Plan, now: Duration, output: &Output) -> Result<RunWatch, SinkError> {
    let mut watch = RunWatch::new(&args.report, args.transcript.clone(), plan.cases().count(), output)?;
    watch.show(args.proving.survivors());
    watch.show_details(&args.details);
    if args.proving.records() {
        watch.record();
    }
    watch.keep(args.keeping.keeper(plan, now));
    watch.count(Generated::of(plan), args.serving);
    Ok(watch)
}

fn remember(
    args: &RunArgs,
    first: &Path,
    summary: &Summary,
    (files, selection, exit): (&[String], &Selection, Exit),
) -> Result<(), SinkError> {
    // A run that was cut off tells nothing, not even that cases passed; one without a file has no place for state.
    if args.suites.given.is_some() || summary.interrupted && summary.decided.is_empty() && summary.not_passed.is_empty()
    {
        return Ok(());
    }
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    let ran = state::Ran { files: &files, summary, fails_on_flaky: args.trust.fail_on_flaky, selection, exit };
    state::remember(&args.suites.state_folder(first), &ran)
}

/// The exit code, most pressing reason first (docs/semantics.md).
fn verdict(
    args: &RunArgs,
    (summary, hidden, is_spent): (&Summary, &Redactor, bool),
    proof: Option<&Proof>,
    output: &Output,
) -> Exit {
    if summary.interrupted && !is_spent {
        return Exit::Interrupted;
    }
    if summary.internal > 0 {
        return Exit::Internal;
    }
    if summary.failed > 0 {
        return Exit::Findings;
    }
    if args.trust.fail_on_flaky && !summary.flaky.is_empty() {
        tell_flaky(&summary.flaky.iter().map(|id| hidden.text(id)).collect::<Vec<_>>(), output);
        return Exit::Findings;
    }
    if summary.errored > 0 {
        return Exit::Environment;
    }
    if is_spent {
        let cases = if summary.not_run == 1 { "case was" } else { "cases were" };
        output.error(&format!("the time of `--budget` was over: {} {cases} not judged", summary.not_run), None);
        return Exit::Nothing;
    }
    if summary.judged == 0 {
        output.error("no case reached a verdict: every case was skipped or inconclusive", None);
        return Exit::Nothing;
    }
    match (proof, &summary.coverage) {
        (Some(proof), _) if proof.control.green == 0 => {
            output.error("nothing can be proven: no case passes both in the run and from its recording", None);
            Exit::Nothing
        }
        (Some(proof), _) => args.gate_proof(proof, output),
        (None, Some((_, exercised))) => gate(exercised, (args.threshold, args.threshold_weighted), output),
        (None, None) => Exit::Passed,
    }
}

/// The most names in one sentence.
const NAMES: usize = 5;

fn tell_flaky(ids: &[String], output: &Output) {
    let named: Vec<String> = ids.iter().take(NAMES).map(|id| format!("`{}`", visible_line(id))).collect();
    let more = ids.len().saturating_sub(NAMES);
    let more = if more == 0 { String::new() } else { format!(" and {more} more") };
    let cases = if ids.len() == 1 { "1 case is" } else { &format!("{} cases are", ids.len()) };
    let message = format!("{cases} flaky, passed only after a retry: {}{more}", named.join(", "));
    output.error(&message, Some("`--repeat 10` without `--fail-on-flaky` shows how often they pass"));
}
