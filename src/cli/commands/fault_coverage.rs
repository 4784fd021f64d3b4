//! `mcprove fault-coverage`: which faults a suite declares to look at, without a server.

use std::collections::BTreeSet;
use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::cli::exit::Exit;
use crate::cli::output::Output;
use crate::cli::suites::{SuiteArgs, registry};
use crate::coverage::{self, Planned, gates, parse_threshold};
use crate::event::{Figure, Gate};
use crate::plan::declared;
use crate::report;
use crate::source::did_you_mean;
use crate::taxonomy::Registry;
use crate::taxonomy::score::Score;

/// Scores the fault families that a suite declares to look at, without starting a server.
#[derive(Debug, Args)]
pub(in crate::cli) struct FaultCoverageArgs {
    #[command(flatten)]
    suites: SuiteArgs,
    /// Counts a probe that ran elsewhere; the report says that it was claimed.
    #[arg(long, value_name = "TOKEN", value_delimiter = ',')]
    probe: Vec<String>,
    /// Reads no suite: only claimed probes count.
    #[arg(long, conflicts_with = "paths")]
    no_suite: bool,
    /// A fault registry to use instead of the built-in one.
    #[arg(long, value_name = "FILE")]
    registry: Option<PathBuf>,
    /// The format.
    #[arg(long, value_enum, default_value = "text")]
    format: CoverageFormat,
    /// The least coverage in percent, 0 to 100; less ends with exit code 6.
    #[arg(long, value_name = "PERCENT", value_parser = parse_threshold, allow_negative_numbers = true)]
    threshold: Option<f64>,
    /// The same for the figure that is weighted by how often faults occur.
    #[arg(long, value_name = "PERCENT", value_parser = parse_threshold, allow_negative_numbers = true)]
    threshold_weighted: Option<f64>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum CoverageFormat {
    /// For people.
    Text,
    /// For programs.
    Json,
}

pub(in crate::cli) fn fault_coverage(args: &FaultCoverageArgs, output: &Output) -> Exit {
    match score(args, output) {
        Ok(score) => {
            let gates = gates(&score, args.threshold, args.threshold_weighted);
            let written = output.data(&match args.format {
                CoverageFormat::Text => report::coverage::fault_coverage(&score, &gates, &output.style),
                CoverageFormat::Json => format!("{:#}\n", report::coverage::to_json(&score)),
            });
            let exit = gate(&score, (args.threshold, args.threshold_weighted), output);
            if written == Exit::Passed { exit } else { written }
        }
        Err(exit) => exit,
    }
}

fn score(args: &FaultCoverageArgs, output: &Output) -> Result<Score, Exit> {
    let registry = registry(args.registry.as_deref(), output)?;
    let claimed = claimed(args, registry.get(), output)?;
    let (probes, variants) =
        if args.no_suite { Default::default() } else { declared(&args.suites.plan(registry, output)?) };
    let agents = probes.contains("agent") || claimed.contains("agent");
    Ok(coverage::declared(registry.get(), &Planned { probes, claimed, variants, agents, settings: BTreeSet::new() }))
}

fn claimed(args: &FaultCoverageArgs, registry: &Registry, output: &Output) -> Result<BTreeSet<String>, Exit> {
    let known: BTreeSet<String> = registry.probes().map(str::to_owned).collect();
    if let Some(token) = args.probe.iter().find(|token| !known.contains(*token)) {
        let help = did_you_mean(token, known.iter().map(String::as_str));
        output.error(&format!("there is no probe `{token}`"), help.as_deref());
        return Err(Exit::Usage);
    }
    Ok(args.probe.iter().cloned().collect())
}

/// The exit code of a score under thresholds; a missed one is explained.
pub(in crate::cli) fn gate(score: &Score, thresholds: (Option<f64>, Option<f64>), output: &Output) -> Exit {
    let mut exit = Exit::Passed;
    for Gate { figure, threshold, .. } in gates(score, thresholds.0, thresholds.1).into_iter().filter(|gate| !gate.met)
    {
        let (percent, word) = match figure {
            Figure::Plain => (score.percent, ""),
            Figure::Weighted => (score.weighted, " weighted"),
        };
        let percent = report::coverage::percent(percent, Some(threshold));
        let (counted, level) = (score.level.counts(), score.level.word());
        output.note(&format!("error: {percent}{word} of {counted} {level}, below the threshold of {threshold}%"));
        exit = Exit::Coverage;
    }
    exit
}
