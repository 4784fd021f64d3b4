//! `mcprove run`: runs suites and gives CI a verdict.

use std::num::NonZero;
use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use clap::Args;

use super::fault_coverage::gate;
use super::run_watch::RunWatch;
use super::signals::{self, Urgency};
use crate::cli::environment::Environment;
use crate::cli::exit::Exit;
use crate::cli::output::Output;
use crate::cli::state;
use crate::cli::suites::{SuiteArgs, nothing_selected, refuse_only, registry};
use crate::coverage::parse_threshold;
use crate::plan::Plan;
use crate::report::Format;
use crate::report::sink::parse_target;
use crate::runner::{self, Bail, Options, Stop, Summary};
use crate::source::parse_duration;
use crate::taxonomy::Registry;

/// Runs suites against their servers.
#[derive(Debug, Args)]
pub(in crate::cli) struct RunArgs {
    #[command(flatten)]
    pub(super) suites: SuiteArgs,
    /// How many cases run at a time, whatever the suites say; 1 keeps the declared order.
    #[arg(long, short = 'j', value_name = "N")]
    parallel: Option<NonZero<usize>>,
    /// Stops after N cases have failed; 1 without a number.
    #[arg(long, value_name = "N", num_args = 0..=1, default_missing_value = "1", require_equals = true)]
    bail: Option<NonZero<usize>>,
    /// The time for a case, whatever the suites say.
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    timeout: Option<Duration>,
    /// Writes a report, any number of them: `junit=out.xml`, `json=out.json`, `ndjson=events.ndjson`, `text=out.txt`.
    #[arg(long, value_name = "FORMAT=FILE", value_parser = parse_target)]
    report: Vec<(Format, PathBuf)>,
    /// Writes everything that travelled into this folder, a file per session.
    #[arg(long, value_name = "FOLDER")]
    transcript: Option<PathBuf>,
    /// The least exercised coverage in percent, 0 to 100; less ends with exit code 6.
    #[arg(long, value_name = "PERCENT", value_parser = parse_threshold, allow_negative_numbers = true)]
    threshold: Option<f64>,
    /// The same for the figure that is weighted by how often faults occur.
    #[arg(long, value_name = "PERCENT", value_parser = parse_threshold, allow_negative_numbers = true)]
    threshold_weighted: Option<f64>,
    /// A fault registry to use instead of the built-in one.
    #[arg(long, value_name = "FILE")]
    registry: Option<PathBuf>,
}

fn duration(text: &str) -> Result<Duration, String> {
    let none = || format!("`{text}` is no duration; write a number and a unit, such as `10s`");
    let duration = parse_duration(text).ok_or_else(none)?;
    if duration.is_zero() {
        return Err("no case ends in no time at all; write for example `10s`".to_owned());
    }
    Ok(duration)
}

impl RunArgs {
    /// The only place that turns flags into runner options.
    fn options(&self, environment: &Environment, stop: Stop) -> Options {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Options {
            parallel: self.parallel.map(NonZero::get),
            processors: environment.processors,
            timeout: self.timeout,
            bail: self.bail.map_or(Bail::Never, |limit| Bail::After(limit.get())),
            environment: std::sync::Arc::clone(&environment.variables),
            started_unix_ms: u64::try_from(since.as_millis()).unwrap_or(u64::MAX),
            stop,
        }
    }
}

pub(in crate::cli) fn run(args: &RunArgs, environment: &Environment, output: &Output) -> Exit {
    let prepared = registry(args.registry.as_deref(), output).and_then(|registry| {
        let plan = args.suites.plan(registry, output)?;
        refuse_only(&plan, environment, output)?;
        Ok((registry, plan))
    });
    let (registry, plan) = match prepared {
        Ok(prepared) => prepared,
        Err(exit) => return exit,
    };
    if plan.cases().next().is_none() {
        nothing_selected(&args.suites, &plan, output);
        return Exit::Nothing;
    }
    let first = plan.suites.first().map(|planned| PathBuf::from(&planned.suite.file)).unwrap_or_default();
    let mut watch = match RunWatch::new(&args.report, args.transcript.clone(), plan.cases().count(), output) {
        Ok(watch) => watch,
        Err(error) => {
            output.error(&error.to_string(), None);
            return Exit::Environment;
        }
    };
    let Some((mut summary, stop)) = run_plan(args, environment, (plan, registry.get()), &mut watch) else {
        output.error("the run cannot start: the system gives no runtime", None);
        return Exit::Internal;
    };
    let thresholds = (args.threshold, args.threshold_weighted);
    let written = watch.finish(args.threshold, output);
    let remembered = state::remember(&args.suites.state_folder(&first), &summary.not_passed);
    if let Err(error) = &remembered {
        output.note(&format!("warning: {error}; `--last-failed` will not know this run"));
    }
    // Whoever stops the program while it writes reports is told so as well.
    summary.interrupted |= stop.is_set();
    let exit = verdict(&summary, thresholds, output);
    if written.is_err() && matches!(exit, Exit::Passed | Exit::Coverage | Exit::Nothing) {
        Exit::Environment
    } else {
        exit
    }
}

fn run_plan(
    args: &RunArgs,
    environment: &Environment,
    (plan, registry): (Plan, &Registry),
    watch: &mut RunWatch,
) -> Option<(Summary, Stop)> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().ok()?;
    let (wish, stop) = Stop::new();
    let options = args.options(environment, stop.clone());
    let mut urgency = signals::listen(wish);
    let summary = runtime.block_on(async {
        tokio::select! {
            summary = runner::run(plan, options, registry, watch) => Some(summary),
            _ = urgency.wait_for(|urgency| *urgency == Urgency::Now) => None,
        }
    });
    // What still runs ends here: servers end with the tasks that hold them.
    runtime.shutdown_timeout(Duration::from_millis(200));
    Some((summary.unwrap_or_else(|| Summary { interrupted: true, ..Summary::default() }), stop))
}

/// The exit code, most pressing reason first (docs/semantics.md).
fn verdict(summary: &Summary, thresholds: (Option<f64>, Option<f64>), output: &Output) -> Exit {
    if summary.interrupted {
        return Exit::Interrupted;
    }
    if summary.internal > 0 {
        return Exit::Internal;
    }
    if summary.failed > 0 {
        return Exit::Findings;
    }
    if summary.errored > 0 {
        return Exit::Environment;
    }
    if summary.judged == 0 {
        output.error("nothing came to a verdict: every case was skipped or inconclusive", None);
        return Exit::Nothing;
    }
    match &summary.coverage {
        Some((_, exercised)) => gate(exercised, thresholds, output),
        None => Exit::Passed,
    }
}
