//! `mcprove fault-coverage`: the faults that a suite declares to check, without a server.

use std::collections::BTreeSet;
use std::path::PathBuf;

use clap::Args;

use crate::cli::console::{Console, ListFormat};
use crate::cli::exit::Exit;

use crate::cli::suites::{SuiteArgs, registry};
use crate::coverage::{self, Planned, gates, parse_threshold};
use crate::event::{Figure, Gate};
use crate::plan::declared;
use crate::report;
use crate::runner::Thresholds;
use crate::source::did_you_mean;
use crate::taxonomy::Registry;
use crate::taxonomy::score::Score;

/// Scores the faults that suites declare to check, without starting a server.
#[derive(Debug, Args)]
pub(in crate::cli) struct FaultCoverageArgs {
    #[command(flatten)]
    suites: SuiteArgs,
    /// Counts a probe that runs elsewhere; the report marks it as claimed.
    #[arg(long, value_name = "TOKEN", value_delimiter = ',')]
    probe: Vec<String>,
    /// Reads no suite and counts only the probes of `--probe`.
    #[arg(long, conflicts_with = "paths")]
    no_suite: bool,
    /// A fault registry to use instead of the built-in one.
    #[arg(long, value_name = "FILE")]
    registry: Option<PathBuf>,
    /// The format of the score.
    #[arg(long, value_enum, default_value = "text")]
    format: ListFormat,
    #[command(flatten)]
    thresholds: ThresholdArgs,
}

/// The least coverage in percent.
#[derive(Debug, Args)]
pub(super) struct ThresholdArgs {
    /// The least coverage in percent, from 0 to 100: of proven faults with `--prove`, of exercised ones in other runs, of declared ones in `fault-coverage`; less ends with exit code 6.
    #[arg(long, value_name = "PERCENT", value_parser = parse_threshold, allow_negative_numbers = true)]
    threshold: Option<f64>,
    /// The same for the coverage that is weighted by how often faults occur.
    #[arg(long, value_name = "PERCENT", value_parser = parse_threshold, allow_negative_numbers = true)]
    threshold_weighted: Option<f64>,
}

pub(in crate::cli) fn fault_coverage(args: &FaultCoverageArgs, console: &Console) -> Result<Exit, Exit> {
    let score = score(args, console)?;
    let Thresholds { plain, weighted } = args.thresholds.values();
    let written = console.data(&match args.format {
        ListFormat::Text => report::coverage::fault_coverage(&score, &gates(&score, plain, weighted), &console.style),
        ListFormat::Json => format!("{:#}\n", report::coverage::to_json(&score)),
    });
    let exit = args.thresholds.gate(&score, console);
    Ok(if written == Exit::Passed { exit } else { written })
}

fn score(args: &FaultCoverageArgs, console: &Console) -> Result<Score, Exit> {
    let registry = registry(args.registry.as_deref(), console)?;
    let claimed = claimed(args, registry.get(), console)?;
    let (probes, variants) =
        if args.no_suite { Default::default() } else { declared(&args.suites.plan(registry, console)?) };
    let agents = probes.contains("agent") || claimed.contains("agent");
    Ok(coverage::declared(registry.get(), &Planned { probes, claimed, variants, agents, settings: BTreeSet::new() }))
}

fn claimed(args: &FaultCoverageArgs, registry: &Registry, console: &Console) -> Result<BTreeSet<String>, Exit> {
    let known: BTreeSet<String> = registry.probes().map(str::to_owned).collect();
    if let Some(token) = args.probe.iter().find(|token| !known.contains(*token)) {
        let help = did_you_mean(token, known.iter().map(String::as_str));
        return Err(console.fail(Exit::Usage, format!("there is no probe `{token}`"), help.as_deref()));
    }
    Ok(args.probe.iter().cloned().collect())
}

impl ThresholdArgs {
    pub(super) fn values(&self) -> Thresholds {
        Thresholds { plain: self.threshold, weighted: self.threshold_weighted }
    }

    pub(super) fn is_set(&self) -> bool {
        self.threshold.or(self.threshold_weighted).is_some()
    }

    /// The exit code of a score; a threshold that is not reached is explained.
    pub(super) fn gate(&self, score: &Score, console: &Console) -> Exit {
        let mut exit = Exit::Passed;
        let gates = gates(score, self.threshold, self.threshold_weighted).into_iter().filter(|gate| !gate.met);
        for Gate { figure, threshold, .. } in gates {
            let (percent, word) = match figure {
                Figure::Plain => (score.percent, ""),
                Figure::Weighted => (score.weighted, " weighted"),
            };
            let percent = report::coverage::percent(percent, Some(threshold));
            let (counted, level) = (score.level.counts(), score.level.word());
            console.note(&format!("error: {percent}{word} of {counted} {level}, below the threshold of {threshold}%"));
            exit = Exit::Coverage;
        }
        exit
    }
}
