//! The run of one mutant: injected everywhere, then at each tool alone.

use std::collections::BTreeSet;
use std::sync::Arc;

use tokio::runtime::Runtime;

use super::ProveSettings;
use super::baseline_run::BaselineRun;
use super::freeze::only;
use super::injection::{Injection, InjectionSite, RecordedTarget};
use super::replay::{IndexedRecording, MutatedReplies, ReplayServer};
use super::run::{EventCapture, PlanRunner};
use super::suggest::{Survivor, missing};
use super::verdict::{MutantVerdict, judge_run};
use crate::event::{AtTool, Kill, Missing, MutantResult, Verdict};
use crate::plan::Plan;
use crate::taxonomy::{Leaf, Mutant, Variant};

/// A mutant, and the fault that it imitates.
#[derive(Debug, Clone, Copy)]
pub(super) struct MutantJob<'a> {
    pub(super) leaf: &'a Leaf,
    pub(super) variant: &'a Variant,
    pub(super) mutant: &'a Mutant,
}

/// Runs mutants one by one.
#[derive(Debug)]
pub(super) struct MutationRunner<'a> {
    pub(super) settings: &'a ProveSettings<'a>,
    /// The cases that can kill.
    pub(super) plan: Plan,
    pub(super) indexed: Arc<IndexedRecording>,
    pub(super) baseline: &'a BaselineRun,
    pub(super) targets: &'a [RecordedTarget<'a>],
}

impl MutationRunner<'_> {
    pub(super) fn trial(&self, runtime: &Runtime, job: MutantJob<'_>) -> MutantResult {
        let MutantJob { variant, mutant, .. } = job;
        let targets: Vec<&RecordedTarget<'_>> =
            self.targets.iter().filter(|target| can_occur(variant, target)).collect();
        if mutant.start.is_some() {
            return job.without_trial(Verdict::LiveOnly, "it changes how the server starts".to_owned());
        }
        if mutant.fault.is_none() {
            return job.without_trial(Verdict::LiveOnly, "the registry gives no fault for it".to_owned());
        }
        let injection = Injection::new(mutant, &targets, &self.baseline.green);
        if injection.sites.is_empty() {
            return job.unplanted(&injection);
        }
        let whole = self.judge(runtime, &injection.sites.iter().collect::<Vec<_>>(), injection.changes.clone());
        let tools = injection.tools().into_iter().map(|(tool, sites)| {
            let verdict = self.at_tool(runtime, &injection, &whole, &sites);
            AtTool { tool, verdict }
        });
        let tools: Vec<AtTool> = tools.collect();
        MutantResult {
            missing: self.missing(variant, &injection, whole.verdict, &tools),
            tools,
            places: injection.sites.len(),
            change: injection.change.clone(),
            kills: whole.kills.clone(),
            reason: whole.reason.clone(),
            ..job.result(whole.verdict)
        }
    }

    /// The verdict on the mutant in the calls of one tool. No run is needed where the mutant is injected nowhere else, or
    /// where a case that calls no other tool killed it.
    fn at_tool(
        &self,
        runtime: &Runtime,
        injection: &Injection,
        whole: &MutantVerdict,
        sites: &[&InjectionSite],
    ) -> Verdict {
        if sites.len() == injection.sites.len() {
            return whole.verdict;
        }
        let is_alone = |kill: &Kill| {
            let mut struck = injection.sites.iter().filter(|site| site.owner == kill.case || site.owner.is_empty());
            struck.clone().count() > 0 && struck.all(|site| sites.contains(&site))
        };
        if whole.kills.iter().any(is_alone) {
            return Verdict::Killed;
        }
        self.judge(runtime, sites, injection.at(sites)).verdict
    }

    /// Tests that kill the mutant: one for every tool at which it survived, and one for exchanges that call no tool.
    pub(super) fn missing(
        &self,
        variant: &Variant,
        injection: &Injection,
        whole: Verdict,
        tools: &[AtTool],
    ) -> Vec<Missing> {
        let verdict = |site: &InjectionSite| match &site.tool {
            Some(tool) => tools.iter().find(|at| at.tool == *tool).map_or(whole, |at| at.verdict),
            None => whole,
        };
        let mut missing_tests: Vec<Missing> = Vec::new();
        for site in injection.sites.iter().filter(|site| verdict(site) == Verdict::Survived) {
            let Some(target) = self.targets.iter().find(|target| target.name == site.lane) else { continue };
            let Some(changed) = injection.changes.get(&site.lane).and_then(|lane| lane.get(&site.at)) else { continue };
            let lane = target.recorded;
            let is_suggested =
                |known: &Missing| known.file == lane.file && known.server == lane.server && known.tool == site.tool;
            if missing_tests.iter().any(is_suggested) {
                continue;
            }
            let suite = self.plan.suites.iter().find(|planned| planned.suite.file == lane.file);
            let suggestion = missing(&Survivor {
                lane,
                lane_count: suite.map_or(1, |planned| planned.suite.servers.len()),
                catalog: &target.catalog,
                exchange: &lane.exchanges[site.at],
                changed,
                variant: &variant.id,
            });
            // A test that holds a secret cannot be shown.
            let redactor = &self.settings.redactor;
            missing_tests.extend(suggestion.filter(|test| redactor.text(&test.yaml) == test.yaml));
        }
        missing_tests
    }

    /// Runs the cases that a mutant reaches, with the mutant.
    fn judge(&self, runtime: &Runtime, sites: &[&InjectionSite], changes: MutatedReplies) -> MutantVerdict {
        let plan = self.reached(sites);
        let server = ReplayServer::new(Arc::clone(&self.indexed), changes);
        let (options, registry) = (self.settings.options, self.settings.registry);
        let plan_runner = PlanRunner { runtime, options, registry, capture: EventCapture::VerdictsOnly };
        judge_run(&plan, self.baseline, &plan_runner.replay(plan.clone(), &server))
    }

    /// The cases that a mutant reaches.
    pub(super) fn reached(&self, sites: &[&InjectionSite]) -> Plan {
        let owners: BTreeSet<&str> = sites.iter().map(|site| site.owner.as_str()).collect();
        let lanes: BTreeSet<&str> =
            sites.iter().filter(|site| site.owner.is_empty()).map(|site| site.lane.as_str()).collect();
        only(&self.plan, &|planned, case| {
            owners.contains(case.id.as_str()) || lanes.contains(planned.lane_id(case.lane).as_str())
        })
    }
}

/// Whether a variant can occur in a lane.
pub(super) fn can_occur(variant: &Variant, target: &RecordedTarget<'_>) -> bool {
    variant.holds_for(target.recorded.transport.as_str(), &target.recorded.revision)
}

impl MutantJob<'_> {
    fn result(&self, verdict: Verdict) -> MutantResult {
        MutantResult {
            id: self.mutant.id.clone(),
            meaning: self.mutant.meaning.clone(),
            variant: self.variant.id.clone(),
            leaf: self.leaf.id.clone(),
            verdict,
            live: false,
            reason: None,
            places: 0,
            change: Vec::new(),
            kills: Vec::new(),
            tools: Vec::new(),
            missing: Vec::new(),
        }
    }

    fn without_trial(&self, verdict: Verdict, reason: String) -> MutantResult {
        MutantResult { reason: Some(reason), ..self.result(verdict) }
    }

    /// The result of a mutant that could be injected nowhere.
    fn unplanted(&self, injection: &Injection) -> MutantResult {
        if let Some(title) = &injection.shown {
            let reason = format!("the healthy server shows it already, for example in `{title}`");
            return self.without_trial(Verdict::Redundant, reason);
        }
        match &injection.lacks {
            Some(lacks) => self.without_trial(Verdict::Unreached, lacks.clone()),
            None if injection.is_idle => {
                let reason = "it would change nothing in what the server sent".to_owned();
                self.without_trial(Verdict::Redundant, reason)
            }
            None => {
                let reason = format!("no case does what shows it: {}", self.variant.provoke);
                self.without_trial(Verdict::Unreached, reason)
            }
        }
    }
}
