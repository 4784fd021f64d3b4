//! One mutant on trial: planted everywhere, then at each tool alone.

use std::collections::BTreeSet;
use std::sync::Arc;

use tokio::runtime::Runtime;

use super::ProveSettings;
use super::baseline_run::BaselineRun;
use super::freeze::only;
use super::injection::{Injection, InjectionSite, RecordedTarget};
use super::replay::{IndexedRecording, MutatedReplies, ReplayServer};
use super::run::{EventCapture, run_on_replay};
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

/// Everything that all trials share.
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
    /// What becomes of a mutant.
    pub(super) fn trial(&self, runtime: &Runtime, job: MutantJob<'_>) -> MutantResult {
        let MutantJob { variant, mutant, .. } = job;
        let targets: Vec<&RecordedTarget<'_>> =
            self.targets.iter().filter(|target| can_occur(variant, target)).collect();
        if mutant.start.is_some() {
            return job.without_trial(Verdict::LiveOnly, "it changes how the server starts".to_owned());
        }
        let Some(fault) = &mutant.fault else {
            return job.without_trial(Verdict::LiveOnly, "the registry gives no fault for it".to_owned());
        };
        let injection = Injection::new((fault, mutant.shown_by.as_ref()), &targets, &self.baseline.green);
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

    /// What becomes of it in the calls of one tool; known already where that is all there is, or where a case turned red
    /// that calls nothing else.
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

    /// What would have noticed it: for every tool in whose calls nobody did, and for what is no tool's.
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
        let mut lessons: Vec<Missing> = Vec::new();
        for site in injection.sites.iter().filter(|site| verdict(site) == Verdict::Survived) {
            let Some(target) = self.targets.iter().find(|target| target.name == site.lane) else { continue };
            let Some(changed) = injection.changes.get(&site.lane).and_then(|lane| lane.get(&site.at)) else { continue };
            let lane = target.recorded;
            let is_taught =
                |known: &Missing| known.file == lane.file && known.server == lane.server && known.tool == site.tool;
            if lessons.iter().any(is_taught) {
                continue;
            }
            let suite = self.plan.suites.iter().find(|planned| planned.suite.file == lane.file);
            let lesson = missing(&Survivor {
                lane,
                lane_count: suite.map_or(1, |planned| planned.suite.servers.len()),
                catalog: &target.catalog,
                exchange: &lane.exchanges[site.at],
                changed,
                variant: &variant.id,
            });
            // A test that would hold a secret is none to show.
            let redactor = &self.settings.redactor;
            lessons.extend(lesson.filter(|lesson| redactor.text(&lesson.yaml) == lesson.yaml));
        }
        lessons
    }

    /// Runs the cases that a mutant reaches, with the mutant.
    fn judge(&self, runtime: &Runtime, sites: &[&InjectionSite], changes: MutatedReplies) -> MutantVerdict {
        let plan = self.reached(sites);
        let server = ReplayServer::new(Arc::clone(&self.indexed), changes);
        let run = (self.settings.options, self.settings.registry);
        let results = run_on_replay(runtime, plan.clone(), &server, run, EventCapture::VerdictsOnly);
        judge_run(&plan, self.baseline, &results)
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

    /// The result of a mutant that could be planted nowhere.
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
