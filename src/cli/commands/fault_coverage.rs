//! `mcprove fault-coverage`: the faults that a suite declares to check, without a server.

use std::collections::BTreeSet;
use std::path::PathBuf;

use clap::Args;

use super::other_server::OtherServerArgs;
use crate::cli::console::{Console, ListFormat};
use crate::cli::exit::Exit;
use crate::cli::suites::{AllowedCalls, SuiteArgs, registry};
use crate::coverage::{Claims, Planned, gates, parse_threshold, with_claims};
use crate::event::{Coverage, Figure, Gate, GateVerdict, Proof, ProvenSuite};
use crate::plan::{Declaration, SuitePlan, collect_declaration};
use crate::report;
use crate::report::coverage::{FaultCoverage, SuiteDeclaration};
use crate::runner::Thresholds;
use crate::source::did_you_mean;
use crate::taxonomy::Registry;
use crate::taxonomy::score::Score;

/// Scores the faults that suites declare to check, without starting a server.
#[derive(Debug, Args)]
pub(crate) struct FaultCoverageArgs {
    #[command(flatten)]
    suites: SuiteArgs,
    /// Counts a probe that runs elsewhere as declared, without showing that it does; the report says how much of the figure is claimed so.
    #[arg(long, value_name = "TOKEN", value_delimiter = ',')]
    probe: Vec<String>,
    /// Leaves the probes of `--probe` out of the figures, the thresholds included.
    #[arg(long)]
    no_claims: bool,
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
    #[command(flatten)]
    other: OtherServerArgs,
}

/// What gives a proof the time for all of its mutants.
const LONGER_BUDGET: &str = "give a longer `--budget`, or leave it out to try all mutants";

/// The least coverage in percent.
#[derive(Debug, Args)]
pub(crate) struct ThresholdArgs {
    /// The least coverage in percent, from 0 to 100: of proven faults with `--prove`, of exercised ones in other runs, of declared ones in `fault-coverage`; it holds for each suite on each server, and less ends with exit code 6.
    #[arg(long, value_name = "PERCENT", value_parser = parse_threshold, allow_negative_numbers = true)]
    pub(crate) threshold: Option<f64>,
    /// The same for the coverage that is weighted by how often faults occur.
    #[arg(long, value_name = "PERCENT", value_parser = parse_threshold, allow_negative_numbers = true)]
    pub(crate) threshold_weighted: Option<f64>,
}

pub(crate) fn fault_coverage(mut args: FaultCoverageArgs, console: &Console) -> Result<Exit, Exit> {
    args.other.put_into(&mut args.suites, false, console)?;
    let coverage = coverage(&args, console)?;
    let written = console.data(&match args.format {
        ListFormat::Text => report::coverage::fault_coverage(&coverage, &console.style),
        ListFormat::Json => format!("{:#}\n", report::coverage::to_json(&coverage)),
    });
    let exit = if coverage.suites.is_empty() {
        args.thresholds.gate(&coverage.total, console)
    } else {
        let scores = coverage.suites.iter().map(|suite| (suite.file.clone(), &suite.declared));
        args.thresholds.gate_named(scores, console)
    };
    Ok(if written == Exit::Passed { exit } else { written })
}

/// The score of all suites, and of each if there are several.
fn coverage(args: &FaultCoverageArgs, console: &Console) -> Result<FaultCoverage, Exit> {
    let registry = registry(args.registry.as_deref(), console)?;
    let claimed = read_claims(args, registry.get(), console)?;
    let score = |Declaration { probes, variants, claims }: Declaration| {
        let agents = probes.contains("agent");
        let claims = Claims { probes: claimed.clone(), variants: claims };
        with_claims(registry.get(), &Planned { probes, variants, agents, settings: BTreeSet::new() }, &claims)
    };
    let Thresholds { plain, weighted } = args.thresholds.values();
    if args.no_suite {
        let total = score(Declaration::default());
        return Ok(FaultCoverage { gates: gates(&total, plain, weighted), total, suites: Vec::new() });
    }
    let plan = args.suites.plan(registry, AllowedCalls::AsSuitesSay, console)?;
    let total = score(collect_declaration(plan.cases()));
    let is_everything = plan.selection.is_everything();
    let scored: Vec<&SuitePlan> =
        plan.suites.iter().filter(|planned| is_everything || !planned.cases.is_empty()).collect();
    if scored.len() <= 1 {
        return Ok(FaultCoverage { gates: gates(&total, plain, weighted), total, suites: Vec::new() });
    }
    let suites = scored.into_iter().map(|planned| {
        let declared = score(collect_declaration(planned.cases.iter().map(AsRef::as_ref)));
        SuiteDeclaration { file: planned.suite.file.clone(), gates: gates(&declared, plain, weighted), declared }
    });
    Ok(FaultCoverage { total, gates: Vec::new(), suites: suites.collect() })
}

fn read_claims(args: &FaultCoverageArgs, registry: &Registry, console: &Console) -> Result<BTreeSet<String>, Exit> {
    let known: BTreeSet<String> = registry.probes().map(str::to_owned).collect();
    if let Some(token) = args.probe.iter().find(|token| !known.contains(*token)) {
        let help = did_you_mean(token, known.iter().map(String::as_str));
        return Err(console.fail(Exit::Usage, format!("there is no probe `{token}`"), help.as_deref()));
    }
    Ok(if args.no_claims { BTreeSet::new() } else { args.probe.iter().cloned().collect() })
}

impl ThresholdArgs {
    pub(crate) fn values(&self) -> Thresholds {
        Thresholds { plain: self.threshold, weighted: self.threshold_weighted }
    }

    pub(crate) fn is_set(&self) -> bool {
        self.threshold.or(self.threshold_weighted).is_some()
    }

    /// The exit code of a score; a threshold that is not reached is explained.
    pub(crate) fn gate(&self, score: &Score, console: &Console) -> Exit {
        self.gate_named([(String::new(), score)].into_iter(), console)
    }

    /// The exit code of a run: every suite must reach the thresholds on every server.
    pub(crate) fn gate_each(&self, coverage: &Coverage, console: &Console) -> Exit {
        if coverage.suites.is_empty() {
            return self.gate(&coverage.exercised, console);
        }
        self.gate_named(coverage.suites.iter().map(|suite| (suite.name(), &suite.exercised)), console)
    }

    /// The exit code of a proof: the same for what is proven.
    pub(crate) fn gate_proof(&self, proof: &Proof, console: &Console) -> Exit {
        let untried = proof.untried_count();
        if proof.has_only_untried() {
            let message = "nothing was proven: the time of `--budget` was over before any mutant was tried";
            return console.fail(Exit::Nothing, message, Some(LONGER_BUDGET));
        }
        let named = |suite: &ProvenSuite| format!("{} on {}", suite.file, suite.server);
        let whole = [(String::new(), &proof.proven)];
        let scores: Vec<(String, &Score)> = if proof.suites.is_empty() {
            whole.into()
        } else {
            proof.suites.iter().map(|suite| (named(suite), &suite.proven)).collect()
        };
        let missed = self.missed(scores.into_iter());
        let exit = exit_of_gates(proof.all_gates());
        if exit != Exit::Nothing {
            for missed in &missed {
                console.note(missed);
            }
            return exit;
        }
        let message = format!(
            "the threshold was not judged: there was no time for {}",
            report::terminal::plural(untried, "kind") + " of mutants"
        );
        console.fail(exit, message, Some(LONGER_BUDGET))
    }

    /// The same for scores with the names that messages begin with.
    pub(crate) fn gate_named<'a>(&self, scores: impl Iterator<Item = (String, &'a Score)>, console: &Console) -> Exit {
        let missed = self.missed(scores);
        for missed in &missed {
            console.note(missed);
        }
        if missed.is_empty() { Exit::Passed } else { Exit::Coverage }
    }

    /// The thresholds that scores do not reach, as errors.
    fn missed<'a>(&self, scores: impl Iterator<Item = (String, &'a Score)>) -> Vec<String> {
        let mut told = Vec::new();
        for (name, score) in scores {
            let missed = gates(score, self.threshold, self.threshold_weighted).into_iter().filter(|gate| !gate.met);
            let name = if name.is_empty() { name } else { format!("{name}: ") };
            told.extend(missed.map(|gate| format!("error: {name}{}", below(score, &gate))));
        }
        told
    }
}

/// The exit code of a proof with these thresholds.
fn exit_of_gates<'a>(gates: impl Iterator<Item = &'a Gate>) -> Exit {
    let verdicts: Vec<GateVerdict> = gates.map(Gate::verdict).collect();
    if verdicts.contains(&GateVerdict::NotJudged) {
        Exit::Nothing
    } else if verdicts.contains(&GateVerdict::Missed) {
        Exit::Coverage
    } else {
        Exit::Passed
    }
}

/// `31% of faults declared, below the threshold of 60%`.
fn below(score: &Score, Gate { figure, threshold, .. }: &Gate) -> String {
    let (percent, word) = match figure {
        Figure::Plain => (score.percent, ""),
        Figure::Weighted => (score.weighted, " weighted"),
    };
    let percent = report::coverage::percent(percent, Some(*threshold));
    let (counted, level) = (score.level.counts(), score.level.word());
    format!("{percent}{word} of {counted} {level}, below the threshold of {threshold}%")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_threshold_is_missed_only_if_every_mutant_was_tried() {
        let gate = |met| Gate { figure: Figure::Plain, threshold: 60.0, met, not_judged: false };
        let open = |met| gate(met).with_more_to_come();
        for (gates, expected) in [
            (vec![], Exit::Passed),
            (vec![gate(true), open(true)], Exit::Passed),
            (vec![gate(true), gate(false)], Exit::Coverage),
            (vec![open(true), open(false)], Exit::Nothing),
        ] {
            assert_eq!(exit_of_gates(gates.iter()), expected, "{gates:?}");
        }
    }
}
