//! The trial of a fault operator: its mutants are planted subject by subject and place by place, each alone.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Instant;

use serde::{Deserialize, Serialize};
use tokio::runtime::Runtime;

use super::ProveSettings;
use super::additions::{Gap, step_of};
use super::baseline_run::BaselineRun;
use super::freeze::only;
use super::placement::{MutantInjection, Placement, RecordedTarget, SubjectPlacement};
use super::replay::{IndexedRecording, MutatedReplies, ReplayServer};
use super::run::{EventCapture, PlanRunner, RunResults};
use super::suggest::{Suggestions, Survivor, call_of, missing};
use super::verdict::{MutantVerdict, judge_run, reacting_cases};
use crate::event::{MutantPlace, MutantResult, MutantSubject, PlantedMutant, SubjectKind, Verdict};
use crate::fault::Fault;
use crate::plan::Plan;
use crate::runner::Bail;
use crate::taxonomy::{Leaf, Mutant as FaultOperator, Variant};
use crate::transport::Owner;

/// Why an operator was not tried.
const UNTRIED: &str = "the time was over";

/// A fault operator, and the fault that it imitates.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MutantJob<'a> {
    pub(crate) leaf: &'a Leaf,
    pub(crate) variant: &'a Variant,
    pub(crate) mutant: &'a FaultOperator,
}

/// The result of a fault operator, with the exchanges that its mutants changed.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct OperatorTrial {
    pub(crate) result: MutantResult,
    /// For each of its mutants, where it was planted.
    pub(crate) sites: Vec<MutantSites>,
    /// The places at which its mutants survived, with the tests that would notice them.
    pub(crate) gaps: Vec<Gap>,
}

/// The places of a mutant.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct MutantSites {
    /// Every suite that uses the subject can meet the fault.
    pub(crate) is_certain: bool,
    /// The changed exchanges of each place, in the order of the places.
    pub(crate) exchanges: Vec<Vec<usize>>,
    /// The declaration of the tool names the field, place by place.
    pub(crate) required: Vec<bool>,
}

/// A place at which a mutant survived.
#[derive(Clone, Copy)]
pub(crate) struct SurvivingPlace<'a> {
    pub(crate) target: &'a RecordedTarget<'a>,
    pub(crate) subject: &'a MutantSubject,
    pub(crate) field: &'a str,
    pub(crate) injection: &'a MutantInjection,
}

/// Runs mutants one by one.
#[derive(Debug)]
pub(crate) struct MutationRunner<'a> {
    pub(crate) settings: &'a ProveSettings<'a>,
    /// The cases that can kill.
    pub(crate) plan: Plan,
    /// The cases that passed when they were recorded: on the real servers, those that no recording plays can kill, too.
    pub(crate) passed: Plan,
    pub(crate) indexed: Arc<IndexedRecording>,
    pub(crate) baseline: &'a BaselineRun,
    pub(crate) targets: &'a [RecordedTarget<'a>],
    /// When the time for mutants is over; `None` for all that it takes.
    pub(crate) deadline: Option<Instant>,
}

impl MutationRunner<'_> {
    /// The run was stopped, or its time is over.
    pub(crate) fn is_over(&self) -> bool {
        self.settings.options.stop.is_set() || self.deadline.is_some_and(|deadline| Instant::now() >= deadline)
    }

    /// Tries the mutants of an operator; none of them count if the time is over before the last one was tried.
    pub(crate) fn trial(&self, runtime: &Runtime, job: MutantJob<'_>) -> OperatorTrial {
        let MutantJob { variant, mutant, .. } = job;
        if mutant.start.is_some() {
            return job.without_trial(Verdict::LiveOnly, "it changes how the server starts".to_owned());
        }
        if let Some(takes) = variant.live.as_ref().filter(|_| self.settings.live) {
            return job.without_trial(Verdict::LiveOnly, takes.clone());
        }
        if mutant.fault.is_none() {
            return job.without_trial(Verdict::LiveOnly, "the registry gives no fault for it".to_owned());
        }
        let mut trial = OperatorTrial { result: job.result(), sites: Vec::new(), gaps: Vec::new() };
        for target in self.targets.iter().filter(|target| can_occur(variant, target)) {
            let placement = Placement::new(mutant, target, &self.baseline.green);
            if !self.try_at_target(runtime, job, target, &placement, &mut trial) {
                return job.untried();
            }
        }
        trial.result.conclude();
        trial
    }

    /// Returns false if the time was over before every mutant was tried.
    fn try_at_target(
        &self,
        runtime: &Runtime,
        job: MutantJob<'_>,
        target: &RecordedTarget<'_>,
        placement: &Placement,
        trial: &mut OperatorTrial,
    ) -> bool {
        let entries = self.entries(runtime, target, placement);
        let is_certain = job.mutant.fault.as_ref().is_some_and(crate::fault::Fault::is_certain);
        for (subject, planted) in &placement.subjects {
            let is_entry = planted.places.values().any(MutantInjection::is_of_entry);
            let mut places = Vec::new();
            let mut reason = None;
            for (field, injection) in &planted.places {
                if self.is_over() {
                    return false;
                }
                let judged = match &entries {
                    _ if injection.sites.is_empty() => MutantVerdict::new_unreached(injection.lacks.clone()),
                    Some(Entries::Same(judged)) if is_entry => judged.clone(),
                    Some(Entries::Of(cases)) if is_entry => {
                        let plan = only(&self.plan, &|_, case| cases.contains(&case.id));
                        self.judge_plan(runtime, &plan, injection.mutated_replies(target.name))
                    }
                    Some(_) | None => self.judge(runtime, target, injection),
                };
                let judged = judged.unless_fleeting(injection);
                reason = reason.or_else(|| judged.reason.clone());
                if judged.verdict == Verdict::Survived {
                    let place = SurvivingPlace { target, subject, field, injection };
                    self.suggest(job, place, trial);
                }
                let kill = judged.kills.into_iter().next();
                places.push(MutantPlace { field: field.clone(), verdict: judged.verdict, kill });
            }
            let (verdict, why) = match places.iter().map(|place| place.verdict).min_by_key(|verdict| rank(*verdict)) {
                Some(verdict) => (verdict, reason),
                None => job.absence(subject, planted),
            };
            let first = || planted.places.values().next().map(|injection| injection.change.clone());
            if trial.result.change.is_empty() {
                trial.result.change = first().unwrap_or_default();
            }
            let exchanges = planted.places.values().map(MutantInjection::exchanges).collect();
            let required = planted.places.values().map(|injection| injection.is_required).collect();
            // Every server is asked for its lists.
            trial.sites.push(MutantSites { is_certain: is_certain || is_entry, exchanges, required });
            let (target, subject) = (target.name.to_owned(), subject.clone());
            trial.result.mutants.push(PlantedMutant { target, subject, verdict, reason: why, places });
        }
        if placement.subjects.is_empty() {
            let (verdict, reason) = job.absence(&MutantSubject::session(), &SubjectPlacement::default());
            let (target, subject) = (target.name.to_owned(), MutantSubject::session());
            trial.result.mutants.push(PlantedMutant { target, subject, verdict, reason, places: Vec::new() });
            trial.sites.push(MutantSites { is_certain, ..MutantSites::default() });
        }
        true
    }

    /// Changes all entries of a list at once: cases that stay green then stay green for each of them.
    fn entries(&self, runtime: &Runtime, target: &RecordedTarget<'_>, placement: &Placement) -> Option<Entries> {
        let count =
            placement.subjects.values().filter(|one| one.places.values().any(MutantInjection::is_of_entry)).count();
        if count < 2 {
            return None;
        }
        let plan = self.plan_reached(target, &placement.all_entries);
        let results = self.replay(runtime, &plan, placement.all_entries.mutated_replies(target.name), Bail::Never);
        let judged = judge_run(&plan, self.baseline, &results);
        if matches!(judged.verdict, Verdict::Survived | Verdict::Unreached) {
            return Some(Entries::Same(judged));
        }
        reacting_cases(&plan, self.baseline, &results).map(Entries::Of)
    }

    /// Adds the tests that kill a survivor.
    pub(crate) fn suggest(&self, job: MutantJob<'_>, place: SurvivingPlace<'_>, trial: &mut OperatorTrial) {
        let SurvivingPlace { target, subject, field, injection } = place;
        let tool = (subject.kind == SubjectKind::Tool).then_some(subject.name.as_str());
        let recorded = target.recorded;
        let Some(site) = injection.sites.first() else { return };
        let exchange = &recorded.exchanges[site.at];
        let result = &mut trial.result;
        if result.missing.is_empty() {
            result.change.clone_from(&injection.change);
        }
        let planned = self.plan.suites.iter().find(|planned| planned.suite.file == recorded.file);
        let suggestions = missing(&Survivor {
            recorded,
            target_count: planned.map_or(1, |planned| planned.suite.servers.len()),
            catalog: &target.catalog,
            exchange,
            changed: injection.replies.get(&site.at).map(Vec::as_slice).unwrap_or_default(),
            variant: &job.variant.id,
            field,
            tool,
        });
        // A test that holds a secret cannot be shown.
        let redactor = &self.settings.redactor;
        let is_shown = |found: &Suggestions| redactor.text(&found.first.yaml) == found.first.yaml;
        let Some(Suggestions { first, tests }) = suggestions.filter(is_shown) else {
            trial.gaps.push(Gap::new(target, subject, None, Vec::new()));
            return;
        };
        let step = step_of(&self.plan, recorded, call_of(&recorded.exchanges, site.at));
        trial.gaps.push(Gap::new(target, subject, step, tests));
        if !result.missing.contains(&first) {
            result.missing.push(first);
        }
    }

    /// Runs the cases that a mutant reaches until one turns red.
    fn judge(&self, runtime: &Runtime, target: &RecordedTarget<'_>, injection: &MutantInjection) -> MutantVerdict {
        self.judge_plan(runtime, &self.plan_reached(target, injection), injection.mutated_replies(target.name))
    }

    fn judge_plan(&self, runtime: &Runtime, plan: &Plan, changes: MutatedReplies) -> MutantVerdict {
        let results = self.replay(runtime, plan, changes.clone(), Bail::After(1));
        let judged = judge_run(plan, self.baseline, &results);
        // The first case that failed may have failed for another reason.
        if judged.verdict == Verdict::Killed || !results.has_failed() {
            return judged;
        }
        judge_run(plan, self.baseline, &self.replay(runtime, plan, changes, Bail::Never))
    }

    fn replay(&self, runtime: &Runtime, plan: &Plan, changes: MutatedReplies, bail: Bail) -> RunResults {
        let server = ReplayServer::new(Arc::clone(&self.indexed), changes);
        let (options, registry) = (self.settings.options, self.settings.registry);
        let plan_runner = PlanRunner { runtime, options, registry, capture: EventCapture::VerdictsOnly, bail };
        plan_runner.replay(plan.clone(), &server)
    }

    /// The cases that a mutant reaches.
    pub(crate) fn plan_reached(&self, target: &RecordedTarget<'_>, injection: &MutantInjection) -> Plan {
        let owners: BTreeSet<&Owner> = injection.sites.iter().map(|site| &site.owner).collect();
        let is_everywhere = owners.contains(&Owner::Session);
        only(&self.plan, &|planned, case| {
            owners.contains(&case.owner()) || is_everywhere && planned.target_id(case.target) == target.name
        })
    }
}

/// The verdict on each entry of a list, as far as the change of all of them shows it.
enum Entries {
    /// The same.
    Same(MutantVerdict),
    /// Only these cases can notice the change of one.
    Of(BTreeSet<String>),
}

/// A variant can occur in a target.
pub(crate) fn can_occur(variant: &Variant, target: &RecordedTarget<'_>) -> bool {
    variant.holds_for(target.recorded.transport.as_str(), &target.recorded.revision)
}

/// The order of verdicts, the one that calls for action first.
fn rank(verdict: Verdict) -> u8 {
    match verdict {
        Verdict::Survived => 0,
        Verdict::Undecided => 1,
        Verdict::NotCalled => 2,
        Verdict::Unreached => 3,
        Verdict::Killed => 4,
        Verdict::Redundant => 5,
        Verdict::CannotOccur => 6,
        Verdict::LiveOnly => 7,
        Verdict::Untried => 8,
    }
}

impl MutantResult {
    /// The verdict on the operator: the worst on its mutants.
    pub(crate) fn conclude(&mut self) {
        let worst = self.mutants.iter().min_by_key(|mutant| rank(mutant.verdict));
        let (verdict, reason) = worst.map_or((Verdict::Unreached, None), |worst| (worst.verdict, worst.reason.clone()));
        (self.verdict, self.reason) = (verdict, reason);
    }
}

impl PlantedMutant {
    /// The verdict on the mutant: the worst at its places.
    pub(crate) fn conclude(&mut self) {
        let worst = self.places.iter().map(|place| place.verdict).min_by_key(|verdict| rank(*verdict));
        self.verdict = worst.unwrap_or(self.verdict);
    }
}

impl MutantJob<'_> {
    fn result(&self) -> MutantResult {
        MutantResult {
            id: self.mutant.id.clone(),
            meaning: self.mutant.meaning.clone(),
            variant: self.variant.id.clone(),
            leaf: self.leaf.id.clone(),
            verdict: Verdict::Unreached,
            live: false,
            only_on_stderr: self.mutant.fault.as_ref().is_some_and(Fault::is_only_on_stderr),
            reason: None,
            change: Vec::new(),
            mutants: Vec::new(),
            missing: Vec::new(),
        }
    }

    /// The result if the time was over.
    pub(crate) fn untried(&self) -> OperatorTrial {
        self.without_trial(Verdict::Untried, UNTRIED.to_owned())
    }

    fn without_trial(&self, verdict: Verdict, reason: String) -> OperatorTrial {
        let result = MutantResult { verdict, reason: Some(reason), ..self.result() };
        OperatorTrial { result, sites: Vec::new(), gaps: Vec::new() }
    }

    /// The verdict on a mutant that could be planted nowhere, and the reason.
    fn absence(&self, subject: &MutantSubject, planted: &SubjectPlacement) -> (Verdict, Option<String>) {
        let SubjectPlacement { is_used, cannot_occur, shown, lacks, is_idle, .. } = planted;
        let (verdict, reason) = match (shown, lacks) {
            (Some(title), _) => {
                (Verdict::Redundant, format!("the healthy server shows it already, for example in `{title}`"))
            }
            (None, _) if *cannot_occur => (Verdict::CannotOccur, "its declaration leaves no room for it".to_owned()),
            (None, _) if !is_used && subject.kind != SubjectKind::Session => {
                (Verdict::NotCalled, "no case that passes uses it".to_owned())
            }
            (None, Some(lacks)) => (Verdict::Unreached, lacks.clone()),
            (None, None) if *is_idle => {
                (Verdict::Unreached, "it would change nothing in what the server sent".to_owned())
            }
            (None, None) => (Verdict::Unreached, format!("no case does what shows it: {}", self.variant.provoke)),
        };
        (verdict, Some(reason))
    }
}
