//! Mutants in front of the real servers: those that a recording leaves undecided, those that take more than a recording
//! has, such as two sessions at a time, and those that change how servers start.
//!
//! First the cases run once more without any mutant; only those that pass can notice one. What notices a mutant must
//! pass again once it is gone, or it proves nothing. Start reading in [`decide`].

mod beside;
mod conversation;
mod injector;
mod launch_commands;
mod start;
#[cfg(test)]
mod tests;
mod time_limit;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::runtime::{Builder, Runtime};

use self::beside::MutantBeside;
use self::conversation::RecordedConversation;
use self::injector::{FaultContext, FaultInjector};
pub(crate) use self::launch_commands::LaunchCommands;
use self::start::StartMutant;
use self::time_limit::TimeLimit;
use super::baseline_run::{BaselineRun, check_live_baseline};
use super::freeze::only;
use super::mutation_runner::{MutantJob, MutationRunner, OperatorTrial, SurvivingPlace, can_occur};
use super::placement::{MutantInjection, Placement, RecordedTarget};
use super::replay::ReplayLog;
use super::run::{EventCapture, PlanRunner, RunResults, once};
use super::verdict::{MutantVerdict, judge_run};
use crate::carrier::play_on_link;
use crate::event::{Control, Kill, MutantPlace, MutantResult, PlantedMutant, Verdict};
use crate::fault::Fault;
use crate::plan::Plan;
use crate::runner::{Bail, Options, Stop, Tamper};

/// Tries the mutants that a recording cannot decide, one at a time; returns what the run without any mutant showed, or
/// nothing where there was nothing to try.
pub(crate) fn decide(
    runner: &MutationRunner<'_>,
    jobs: &[MutantJob<'_>],
    launch_commands: &LaunchCommands,
    trials: &mut [OperatorTrial],
) -> std::io::Result<Option<Control>> {
    let is_undecided = |mutant: &PlantedMutant| mutant.places.iter().any(|place| place.verdict == Verdict::Undecided);
    let is_open = |job: &MutantJob<'_>, trial: &OperatorTrial| {
        let is_live_only = job.mutant.start.is_some() || job.variant.live.is_some();
        is_live_only || trial.result.mutants.iter().any(is_undecided)
    };
    let open: Vec<(&MutantJob<'_>, &mut OperatorTrial)> =
        jobs.iter().zip(trials).filter(|(job, trial)| is_open(job, trial)).collect();
    if open.is_empty() || runner.is_over() {
        for (job, trial) in open {
            leave_untried(job, trial);
        }
        return Ok(None);
    }
    let mut cases = BTreeSet::new();
    for (job, _) in &open {
        cases.extend(match &job.mutant.start {
            Some(start) => start::eligible_cases(runner, StartMutant { job, start }, launch_commands),
            None if is_everywhere(job) => judging(runner, job),
            None => cases_reached(runner, job),
        });
    }
    let mut live_runner = LiveRunner { runner, runtime: runtime()?, baseline: None, healthy_time: Duration::MAX };
    let plan = only(&runner.passed, &|_, case| cases.contains(&case.id));
    let begun = Instant::now();
    live_runner.baseline = Some(check_live_baseline(runner.baseline, &plan, &live_runner.healthy(&plan).results));
    live_runner.healthy_time = begun.elapsed();
    for (job, trial) in open {
        if runner.is_over() {
            leave_untried(job, trial);
            continue;
        }
        match &job.mutant.start {
            Some(start) => start::trial(&live_runner, StartMutant { job, start }, launch_commands, &mut trial.result),
            None if is_everywhere(job) => live_runner.trial_everywhere(job, &mut trial.result),
            None => live_runner.trial(job, trial),
        }
        trial.result.live = true;
    }
    Ok(live_runner.baseline.map(|baseline| baseline.control))
}

/// There was no time for an operator in front of the real servers; what the recording decided stays.
fn leave_untried(job: &MutantJob<'_>, trial: &mut OperatorTrial) {
    if trial.result.mutants.is_empty() {
        *trial = job.untried();
    }
}

/// A runtime in which real servers run.
fn runtime() -> std::io::Result<Runtime> {
    Builder::new_current_thread().enable_all().build()
}

/// The cases that the mutants of an operator reach.
fn cases_reached(runner: &MutationRunner<'_>, job: &MutantJob<'_>) -> BTreeSet<String> {
    let targets = runner.targets.iter().filter(|target| can_occur(job.variant, target));
    let cases = targets.flat_map(|target| {
        let placement = Placement::new(job.mutant, target, &runner.baseline.green);
        let places = placement.subjects.into_values().flat_map(|subject| subject.places.into_values());
        let reached = places.map(|injection| runner.plan_reached(target, &injection));
        reached.flat_map(|plan| plan.cases().map(|case| case.id.clone()).collect::<Vec<_>>()).collect::<Vec<_>>()
    });
    cases.collect()
}

/// The operator strikes everything at once.
fn is_everywhere(job: &MutantJob<'_>) -> bool {
    job.variant.live.is_some() || job.mutant.at_once
}

/// The cases that judge the leaf of an operator, on the targets that can have it.
fn judging(runner: &MutationRunner<'_>, job: &MutantJob<'_>) -> BTreeSet<String> {
    let targets = runner.targets.iter().filter(|target| can_occur(job.variant, target));
    let plans = targets.map(|target| judging_at(runner, job, target));
    plans.flat_map(|plan| plan.cases().map(|case| case.id.clone()).collect::<Vec<_>>()).collect()
}

fn judging_at(runner: &MutationRunner<'_>, job: &MutantJob<'_>, target: &RecordedTarget<'_>) -> Plan {
    only(&runner.passed, &|planned, case| {
        let judges_leaf = job.leaf.variants.iter().any(|variant| case.is_about(&variant.id));
        judges_leaf && planned.target_id(case.target) == target.name
    })
}

/// A mutant in front of a real server.
#[derive(Clone, Copy)]
struct InjectedMutant<'a> {
    fault: &'a Fault,
    /// The place of the subject that it is at; nothing where it is everywhere at once.
    injection: Option<&'a MutantInjection>,
    target: &'a str,
}

/// Runs mutants on the real servers, one by one.
struct LiveRunner<'a> {
    runner: &'a MutationRunner<'a>,
    runtime: Runtime,
    /// The results of the run without any mutant; nothing before it.
    baseline: Option<BaselineRun>,
    /// How long that run took; before it, no time is too long.
    healthy_time: Duration,
}

/// The results of a run with a mutant, or without any.
struct MutantRun {
    results: RunResults,
    /// Why there are no more of them: it did not end in time.
    unended: Option<String>,
}

impl MutantRun {
    /// The verdict; what a run that was stopped does not show, nobody knows.
    fn verdict(&self, judged: MutantVerdict) -> MutantVerdict {
        match &self.unended {
            Some(reason) if judged.verdict != Verdict::Killed => MutantVerdict::new_undecided(reason),
            Some(_) | None => judged,
        }
    }
}

impl LiveRunner<'_> {
    fn baseline(&self) -> &BaselineRun {
        self.baseline.as_ref().unwrap_or(self.runner.baseline)
    }

    /// Tries the mutants of an operator that the recording left undecided.
    fn trial(&self, job: &MutantJob<'_>, trial: &mut OperatorTrial) {
        let Some(fault) = &job.mutant.fault else { return };
        for at in 0..trial.result.mutants.len() {
            let planted = &trial.result.mutants[at];
            let Some(target) = self.runner.targets.iter().find(|target| target.name == planted.target) else {
                continue;
            };
            let placement = Placement::new(job.mutant, target, &self.baseline().green);
            let Some(subject) = placement.subjects.get(&planted.subject) else { continue };
            for (field, injection) in &subject.places {
                let place = |place: &&mut MutantPlace| place.field == *field && place.verdict == Verdict::Undecided;
                let Some(open) = trial.result.mutants[at].places.iter_mut().find(place) else { continue };
                let judged = self.at_place(fault, target, injection);
                (open.verdict, open.kill) = (judged.verdict, judged.kills.into_iter().next());
                trial.result.mutants[at].reason = judged.reason;
                if judged.verdict == Verdict::Survived {
                    let subject = &trial.result.mutants[at].subject.clone();
                    let place = SurvivingPlace { target, subject, field, injection };
                    self.runner.suggest(*job, place, trial);
                }
            }
            trial.result.mutants[at].conclude();
        }
        trial.result.conclude();
    }

    /// Tries an operator everywhere at once, at each target: sessions that share their data share all of them.
    fn trial_everywhere(&self, job: &MutantJob<'_>, result: &mut MutantResult) {
        let Some(fault) = &job.mutant.fault else { return };
        result.mutants.clear();
        for target in self.runner.targets.iter().filter(|target| can_occur(job.variant, target)) {
            let plan = judging_at(self.runner, job, target);
            let plan = only(&plan, &|_, case| self.baseline().green.contains(&case.id));
            // Without a case that does what shows it, it is noticed by accident only.
            let is_shown = plan.cases().any(|case| case.is_about(&job.variant.id));
            let judged = if is_shown {
                let fault = &fault.within(target.request_timeout);
                self.on_server(&plan, InjectedMutant { fault, injection: None, target: target.name })
            } else {
                let provoke = &job.variant.provoke;
                MutantVerdict::new_unreached(Some(format!("no case that passes does what shows it: {provoke}")))
            };
            let reason = judged.reason.clone();
            result.mutants.push(judged.of_session(target.name, String::new(), reason));
        }
        result.conclude();
    }

    fn at_place(&self, fault: &Fault, target: &RecordedTarget<'_>, injection: &MutantInjection) -> MutantVerdict {
        let plan = self.runner.plan_reached(target, injection);
        let plan = only(&plan, &|_, case| self.baseline().green.contains(&case.id));
        if plan.cases().next().is_none() {
            return MutantVerdict::new_undecided(
                "no case that this mutant affects passes on the real server without it",
            );
        }
        let narrowed = injection.place.as_ref().map(|place| fault.at(place));
        let fault = narrowed.as_ref().unwrap_or(fault);
        self.on_server(&plan, InjectedMutant { fault, injection: Some(injection), target: target.name })
    }

    fn on_server(&self, plan: &Plan, mutant: InjectedMutant<'_>) -> MutantVerdict {
        let judge = |bail| {
            let mut run = self.run_behind_proxy(plan, Some(mutant), bail);
            if mutant.injection.is_none() {
                // It strikes from the first message on, in sessions whose frames are numbered each.
                run.results.log.struck.iter_mut().for_each(|moment| moment.frame = 0);
            }
            let is_cut_short = run.unended.is_none() && run.results.has_failed();
            (run.verdict(judge_run(plan, self.baseline(), &run.results)), is_cut_short)
        };
        let judged = match judge(Bail::After(1)) {
            // The first case that failed may have failed for another reason.
            (judged, true) if judged.verdict != Verdict::Killed => judge(Bail::Never).0,
            (judged, _) => judged,
        };
        let judged = self.confirm(plan, judged);
        if judged.verdict == Verdict::Unreached {
            return MutantVerdict::new_undecided("in front of the real server it met nothing that it could change");
        }
        judged
    }

    /// Takes back kills of cases that fail without the mutant, too, by now: servers keep what they receive.
    fn confirm(&self, plan: &Plan, judged: MutantVerdict) -> MutantVerdict {
        if judged.kills.is_empty() {
            return judged;
        }
        let is_case = |kill: &Kill| plan.cases().any(|case| case.id == kill.case);
        // What a server breaks beside the cases, any of them may bring about.
        let is_beside = judged.kills.iter().any(|kill| !is_case(kill));
        let killing = only(plan, &|_, case| is_beside || judged.kills.iter().any(|kill| kill.case == case.id));
        let again = self.healthy(&killing);
        if again.unended.is_some() {
            let failed = judged.kills.first().map_or("", |kill| &kill.case);
            return MutantVerdict::new_undecided(&format!(
                "`{failed}` failed, and the run that shows whether it passes without the mutant did not end in time"
            ));
        }
        let now = check_live_baseline(self.baseline(), &killing, &again.results);
        let is_sound = |kill: &Kill| {
            let is_known = || now.known.contains(&(kill.case.clone(), kill.code.clone()));
            if is_case(kill) { now.green.contains(&kill.case) } else { !is_known() }
        };
        let (kills, doubtful): (Vec<Kill>, Vec<Kill>) = judged.kills.into_iter().partition(is_sound);
        match (kills.first(), doubtful.first()) {
            (None, Some(kill)) => MutantVerdict {
                verdict: Verdict::Undecided,
                reason: Some(format!("`{}` failed, and fails without the mutant as well by now", kill.case)),
                kills,
            },
            _ => MutantVerdict { kills, ..judged },
        }
    }

    /// Runs cases behind the proxy without a mutant.
    fn healthy(&self, plan: &Plan) -> MutantRun {
        self.run_behind_proxy(plan, None, Bail::Never)
    }

    /// Runs cases with a proxy in front of their servers, which applies the mutant.
    fn run_behind_proxy(&self, plan: &Plan, mutant: Option<InjectedMutant<'_>>, bail: Bail) -> MutantRun {
        let log: Arc<Mutex<ReplayLog>> = Arc::default();
        let target = mutant.and_then(|mutant| self.runner.targets.iter().find(|target| target.name == mutant.target));
        let faulty = mutant.zip(target).map(|(mutant, target)| {
            let expected = mutant.injection.map(|injection| injection.replies.keys().copied().collect());
            let (catalog, capabilities) = (target.catalog.clone(), target.capabilities.clone());
            let redactor = self.runner.settings.concealing();
            let recorded =
                RecordedConversation::new(catalog, capabilities, target.recorded.exchanges.clone(), redactor);
            let beside = MutantBeside::new(mutant.fault.clone(), &recorded.catalog, Arc::clone(&log));
            let context =
                FaultContext::new(mutant.fault.clone(), recorded, expected.unwrap_or_default(), Arc::clone(&log));
            (target.name.to_owned(), context, Arc::new(beside))
        });
        let tamper = Tamper::new(
            |_, _| {},
            move |name, link| match &faulty {
                Some((target, context, beside)) if target == name => {
                    let mut link = play_on_link(link, FaultInjector::new(context.clone(), name));
                    let beside = Arc::clone(beside);
                    link.endpoint = link.endpoint.map(|endpoint| endpoint.with_interceptor(beside));
                    link
                }
                Some(_) | None => link,
            },
        );
        let mut run = self.run_in_time(plan, tamper, bail);
        run.results.log = log.lock().clone();
        run
    }

    /// Runs cases until that takes too long.
    fn run_in_time(&self, plan: &Plan, tamper: Tamper, bail: Bail) -> MutantRun {
        let left = self.runner.deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        let limit = TimeLimit::new(self.healthy_time, left);
        let stop = &self.runner.settings.options.stop;
        let run = |stop: Stop| self.run_once(plan, tamper, bail, &stop);
        let limited = limit.run(&self.runtime, stop, run);
        MutantRun { results: limited.result, unended: limited.is_over.then(|| limit.reason()) }
    }

    /// Runs cases against their servers, one at a time.
    fn run_once(&self, plan: &Plan, tamper: Tamper, bail: Bail, stop: &Stop) -> RunResults {
        let settings = self.runner.settings;
        let options = Options { tamper: Some(tamper), bail, stop: stop.clone(), ..once(settings.options) };
        let (registry, capture) = (settings.registry, EventCapture::VerdictsOnly);
        PlanRunner { runtime: &self.runtime, options: &options, registry, capture, bail }.run_plan(plan.clone())
    }
}
