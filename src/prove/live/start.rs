//! Mutants that change how a server starts: one thing at a time, and what every case makes of it.

use std::collections::BTreeSet;

use super::super::freeze::only;
use super::super::mutation_runner::{MutantJob, MutationRunner, can_occur};
use super::super::replay::ReplayMoment;
use super::super::verdict::{MutantVerdict, judge_run};
use super::launch_commands::AlteredStart;
use super::{LaunchCommands, LiveRunner};
use crate::event::{By, Kill, MutantResult, Outcome, Verdict};
use crate::runner::{Bail, Tamper};
use crate::taxonomy::Start;

/// A mutant that changes how a server starts.
#[derive(Clone, Copy)]
pub(crate) struct StartMutant<'a> {
    pub(crate) job: &'a MutantJob<'a>,
    pub(crate) start: &'a Start,
}

/// A target whose start can be altered.
struct AlterableTarget {
    target: String,
    alterations: Vec<AlteredStart>,
    /// The cases that can notice an alteration.
    cases: BTreeSet<String>,
}

/// The cases that can notice a mutant.
pub(crate) fn eligible_cases(
    runner: &MutationRunner<'_>,
    mutant: StartMutant<'_>,
    launch_commands: &LaunchCommands,
) -> BTreeSet<String> {
    alterable_targets(runner, mutant, launch_commands).into_iter().flat_map(|target| target.cases).collect()
}

fn alterable_targets(
    runner: &MutationRunner<'_>,
    StartMutant { job, start }: StartMutant<'_>,
    launch_commands: &LaunchCommands,
) -> Vec<AlterableTarget> {
    let targets = runner.targets.iter().filter(|target| can_occur(job.variant, target));
    let alterable = targets.map(|target| {
        let known = target.history();
        let has_shown = |case: &str| {
            let own = |at: &usize| known.exchanges[*at].owner.is_case(case);
            start.noticed_by().is_none_or(|on| (0..known.exchanges.len()).filter(own).any(|at| on.holds(at, &known)))
        };
        let of_target =
            runner.passed.suites.iter().flat_map(|planned| planned.cases.iter().map(move |case| (planned, case)));
        let of_target =
            of_target.filter(|(planned, case)| planned.target_id(case.target) == target.name && has_shown(&case.id));
        let of_target = of_target.filter(|(_, case)| !start.is_for_judges() || case.is_about(&job.variant.id));
        let cases = of_target.map(|(_, case)| case.id.clone()).collect();
        AlterableTarget {
            target: target.name.to_owned(),
            alterations: launch_commands.alterations(start, target.name),
            cases,
        }
    });
    alterable.filter(|target| !target.alterations.is_empty()).collect()
}

/// Runs a mutant: it is killed where any of its alterations is noticed.
pub(crate) fn trial(
    live_runner: &LiveRunner<'_>,
    mutant: StartMutant<'_>,
    launch_commands: &LaunchCommands,
    result: &mut MutantResult,
) {
    let mut whole = MutantVerdict::new_unreached(None);
    result.mutants.clear();
    let redactor = &live_runner.runner.settings.redactor;
    for AlterableTarget { target, alterations, cases } in alterable_targets(live_runner.runner, mutant, launch_commands)
    {
        for altered in alterations {
            let what = redactor.text(&altered.alteration.what);
            let judged = judge_alteration(live_runner, &target, altered, &cases);
            result.mutants.push(judged.clone().of_session(&target, what.clone(), Some(format!("started {what}"))));
            result.change.push(format!("{target} started {what}: {}", describe(&judged)));
            if rank(judged.verdict) > rank(whole.verdict) {
                (whole.verdict, whole.reason) =
                    (judged.verdict, judged.reason.map(|why| format!("started {what}: {why}")));
            }
        }
    }
    whole.reason = match whole.verdict {
        Verdict::Killed | Verdict::Survived => None,
        Verdict::Undecided => whole.reason,
        Verdict::Unreached
        | Verdict::NotCalled
        | Verdict::CannotOccur
        | Verdict::Redundant
        | Verdict::LiveOnly
        | Verdict::Untried => Some(format!("no case that passes does what shows it: {}", mutant.job.variant.provoke)),
    };
    (result.verdict, result.reason) = (whole.verdict, whole.reason);
}

/// Which verdict on one alteration counts for the whole.
fn rank(verdict: Verdict) -> u8 {
    match verdict {
        Verdict::Killed => 3,
        Verdict::Survived => 2,
        Verdict::Undecided => 1,
        Verdict::Unreached
        | Verdict::NotCalled
        | Verdict::CannotOccur
        | Verdict::Redundant
        | Verdict::LiveOnly
        | Verdict::Untried => 0,
    }
}

fn describe(judged: &MutantVerdict) -> String {
    match (judged.verdict, judged.kills.first(), &judged.reason) {
        (Verdict::Killed, Some(kill), _) => format!("`{}` turned red", kill.case),
        (Verdict::Survived, ..) => "everything stayed green".to_owned(),
        (_, _, Some(reason)) => format!("undecided, {reason}"),
        (_, _, None) => "no case could notice it".to_owned(),
    }
}

/// The verdict of the cases when a server starts in another way.
fn judge_alteration(
    live_runner: &LiveRunner<'_>,
    target: &str,
    altered: AlteredStart,
    cases: &BTreeSet<String>,
) -> MutantVerdict {
    let green = &live_runner.baseline().green;
    let plan = only(&live_runner.runner.passed, &|_, case| cases.contains(&case.id) && green.contains(&case.id));
    if plan.cases().next().is_none() {
        return MutantVerdict::new_unreached(None);
    }
    let (of_target, linked) = (target.to_owned(), altered.clone());
    let linked_target = of_target.clone();
    let tamper = Tamper::new(
        move |target, command| {
            if target == of_target {
                altered.apply(command);
            }
        },
        move |target, link| if target == linked_target { linked.link(link) } else { link },
    );
    let mut run = live_runner.run_in_time(&plan, tamper, Bail::Never);
    let results = &mut run.results;
    results.log.struck.push(ReplayMoment::default());
    let has_ended = |outcome: Outcome| matches!(outcome, Outcome::Passed | Outcome::Warned | Outcome::Failed);
    if !results.cases.values().any(|result| has_ended(result.outcome)) {
        let first = results.cases.values().flat_map(|result| &result.findings).next();
        let why = first.map(|finding| format!(": {}", finding.message)).unwrap_or_default();
        let unstarted = MutantVerdict::new_undecided(&format!("the server does not start for any case{why}"));
        return run.verdict(unstarted);
    }
    let found = judge_run(&plan, live_runner.baseline(), results);
    // A server that complains is no suite that notices, and neither is one that does not start for a case.
    let is_noticed = |kill: &Kill| {
        kill.by == By::Expectation
            && results.cases.get(&kill.case).is_some_and(|result| result.outcome == Outcome::Failed)
    };
    let kills: Vec<Kill> = found.kills.into_iter().filter(is_noticed).collect();
    let verdict = match (found.verdict, &found.reason) {
        (Verdict::Killed, _) if kills.is_empty() => Verdict::Survived,
        (Verdict::Survived, Some(_)) => Verdict::Undecided,
        (verdict, _) => verdict,
    };
    let verdict = run.verdict(MutantVerdict { verdict, kills, reason: found.reason });
    live_runner.confirm(&plan, verdict)
}
