//! Mutants in front of the real servers: those that a recording leaves undecided, and those that change how servers start.
//!
//! First the cases run once more without any mutant; only those that pass can notice one. What notices a mutant must
//! pass again once it is gone, or it proves nothing. Start reading in [`decide`].

mod conversation;
mod injector;
mod launch_commands;
mod start;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::runtime::{Builder, Runtime};

use self::conversation::RecordedConversation;
use self::injector::{FaultContext, FaultInjector};
pub(super) use self::launch_commands::LaunchCommands;
use self::start::StartMutant;
use super::baseline_run::{BaselineRun, check_live_baseline};
use super::freeze::only;
use super::injection::{Injection, RecordedTarget};
use super::mutation_runner::{MutantJob, MutationRunner, can_occur};
use super::replay::ReplayLog;
use super::run::{EventCapture, PlanRunner, RunResults, once};
use super::verdict::{MutantVerdict, judge_run};
use crate::event::{AtTool, Control, Kill, MutantResult, Verdict};
use crate::fault::Fault;
use crate::plan::Plan;
use crate::runner::{Options, Tamper};
use crate::transport::relay::intercept;

/// Tries the mutants that a recording cannot decide, one at a time; returns what the run without any mutant showed, or
/// nothing where there was nothing to try.
pub(super) fn decide(
    runner: &MutationRunner<'_>,
    jobs: &[MutantJob<'_>],
    launch_commands: &LaunchCommands,
    mutants: &mut [MutantResult],
) -> std::io::Result<Option<Control>> {
    let is_open =
        |job: &MutantJob<'_>, result: &MutantResult| job.mutant.start.is_some() || result.verdict == Verdict::Undecided;
    let open: Vec<(&MutantJob<'_>, &mut MutantResult)> =
        jobs.iter().zip(mutants).filter(|(job, result)| is_open(job, result)).collect();
    if open.is_empty() {
        return Ok(None);
    }
    let mut cases = BTreeSet::new();
    for (job, _) in &open {
        cases.extend(match &job.mutant.start {
            Some(start) => start::eligible_cases(runner, StartMutant { job, start }, launch_commands),
            None => reached(runner, job, &runner.baseline.green).1.cases().map(|case| case.id.clone()).collect(),
        });
    }
    let mut live_runner = LiveRunner { runner, runtime: runtime()?, baseline: None };
    let plan = only(&runner.plan, &|_, case| cases.contains(&case.id));
    live_runner.baseline = Some(check_live_baseline(runner.baseline, &plan, &live_runner.healthy(&plan)));
    for (job, result) in open {
        if runner.settings.options.stop.is_set() {
            result.reason = Some("the run was stopped before it was tried".to_owned());
            continue;
        }
        match &job.mutant.start {
            Some(start) => start::trial(&live_runner, StartMutant { job, start }, launch_commands, result),
            None => live_runner.trial(job, result),
        }
        result.live = true;
    }
    Ok(live_runner.baseline.map(|baseline| baseline.control))
}

/// A runtime in which real servers run.
fn runtime() -> std::io::Result<Runtime> {
    Builder::new_current_thread().enable_all().build()
}

/// Where a mutant would strike, and the cases that it reaches.
fn reached(runner: &MutationRunner<'_>, job: &MutantJob<'_>, green: &BTreeSet<String>) -> (Injection, Plan) {
    let targets: Vec<&RecordedTarget<'_>> =
        runner.targets.iter().filter(|target| can_occur(job.variant, target)).collect();
    let injection = Injection::new(job.mutant, &targets, green);
    let plan = runner.reached(&injection.sites.iter().collect::<Vec<_>>());
    let plan = only(&plan, &|_, case| green.contains(&case.id));
    (injection, plan)
}

/// A mutant with the exchanges that it changes.
#[derive(Clone, Copy)]
struct InjectedMutant<'a> {
    fault: &'a Fault,
    injection: &'a Injection,
    job: &'a MutantJob<'a>,
}

/// Runs mutants on the real servers, one by one.
struct LiveRunner<'a> {
    runner: &'a MutationRunner<'a>,
    runtime: Runtime,
    /// What the run without any mutant showed; nothing before it.
    baseline: Option<BaselineRun>,
}

impl LiveRunner<'_> {
    fn baseline(&self) -> &BaselineRun {
        self.baseline.as_ref().unwrap_or(self.runner.baseline)
    }

    /// What becomes of a mutant that the recording left undecided.
    fn trial(&self, job: &MutantJob<'_>, result: &mut MutantResult) {
        let (injection, plan) = reached(self.runner, job, &self.baseline().green);
        let Some(fault) = job.mutant.fault.as_ref().filter(|_| plan.cases().next().is_some()) else {
            result.reason = Some("no case that it reaches passed in front of the server without it".to_owned());
            return;
        };
        let results = self.run_behind_proxy(&plan, Some(InjectedMutant { fault, injection: &injection, job }));
        let judged = self.confirmed(&plan, judge_run(&plan, self.baseline(), &results));
        let survived = result.tools.iter().filter(|at| at.verdict == Verdict::Survived);
        let survived: BTreeSet<String> = survived.map(|at| at.tool.clone()).collect();
        for at in &mut result.tools {
            at.verdict = at_tool(&judged, &injection, &survived, at);
        }
        result.missing = self.runner.missing(job.variant, &injection, judged.verdict, &result.tools);
        (result.verdict, result.kills, result.reason) = (judged.verdict, judged.kills, judged.reason);
        if result.verdict == Verdict::Unreached {
            result.verdict = Verdict::Undecided;
            result.reason = Some("in front of the real server it met nothing that it could change".to_owned());
        }
    }

    /// Takes back kills by what fails without the mutant as well by now: servers keep what they are told.
    fn confirmed(&self, plan: &Plan, judged: MutantVerdict) -> MutantVerdict {
        if judged.kills.is_empty() {
            return judged;
        }
        let now = check_live_baseline(self.baseline(), plan, &self.healthy(plan));
        let is_sound = |kill: &Kill| !plan.cases().any(|case| case.id == kill.case) || now.green.contains(&kill.case);
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
    fn healthy(&self, plan: &Plan) -> RunResults {
        self.run_behind_proxy(plan, None)
    }

    /// Runs cases with a proxy in front of their servers, which applies the mutant.
    fn run_behind_proxy(&self, plan: &Plan, mutant: Option<InjectedMutant<'_>>) -> RunResults {
        let log: Arc<Mutex<ReplayLog>> = Arc::default();
        let fault_context: BTreeMap<String, FaultContext> = self
            .runner
            .targets
            .iter()
            .map(|target| {
                let mutant = mutant.filter(|mutant| can_occur(mutant.job.variant, target));
                let expected = mutant.and_then(|mutant| mutant.injection.changes.get(target.name).cloned());
                let (catalog, capabilities) = (target.catalog.clone(), target.capabilities.clone());
                let redactor = self.runner.settings.concealing();
                let recorded =
                    RecordedConversation::new(catalog, capabilities, target.recorded.exchanges.clone(), redactor);
                let fault_context = FaultContext {
                    fault: mutant.map(|mutant| mutant.fault.clone()),
                    recorded: Arc::new(recorded),
                    expected: Arc::new(expected.unwrap_or_default().into_keys().collect()),
                    log: Arc::clone(&log),
                };
                (target.name.to_owned(), fault_context)
            })
            .collect();
        let tamper = Tamper::new(
            |_, _| {},
            move |lane, link| match fault_context.get(lane) {
                Some(fault_context) => {
                    let transport = link.transport;
                    intercept(link, FaultInjector::new(fault_context.clone(), lane, transport))
                }
                None => link,
            },
        );
        let results = self.run(plan, tamper);
        let log = log.lock().unwrap_or_else(PoisonError::into_inner).clone();
        RunResults { log, ..results }
    }

    /// Runs cases against their servers, one at a time.
    fn run(&self, plan: &Plan, tamper: Tamper) -> RunResults {
        let settings = self.runner.settings;
        let options = Options { tamper: Some(tamper), ..once(settings.options) };
        let (registry, capture) = (settings.registry, EventCapture::VerdictsOnly);
        PlanRunner { runtime: &self.runtime, options: &options, registry, capture }.run(plan.clone())
    }
}

/// The verdict at one tool that follows from the verdict everywhere, where the mutant survived at some other tools.
fn at_tool(judged: &MutantVerdict, injection: &Injection, survived: &BTreeSet<String>, at: &AtTool) -> Verdict {
    let AtTool { tool, verdict: before } = at;
    let is_due_to_it = |case: &str| {
        let struck = injection.sites.iter().filter(|site| site.owner == case || site.owner.is_empty());
        let mut tools = struck.map(|site| site.tool.as_deref()).peekable();
        tools.peek().is_some()
            && tools.all(|struck| struck.is_some_and(|struck| struck == *tool || survived.contains(struck)))
    };
    match judged.verdict {
        _ if *before != Verdict::Undecided => *before,
        Verdict::Killed if judged.kills.iter().any(|kill| is_due_to_it(&kill.case)) => Verdict::Killed,
        // What nobody noticed everywhere, nobody notices at one tool.
        Verdict::Survived => Verdict::Survived,
        Verdict::Killed | Verdict::Undecided | Verdict::Unreached | Verdict::Redundant | Verdict::LiveOnly => *before,
    }
}
