//! One mutant on trial: planted everywhere, then at each tool alone.

use std::collections::BTreeSet;
use std::sync::Arc;

use tokio::runtime::Runtime;

use super::Proving;
use super::control::Controlled;
use super::freeze::only;
use super::plant::{Bed, Place, Planted};
use super::replay::{Changes, Indexed, Stage};
use super::rerun::{Telling, rerun};
use super::teach::{Survivor, missing};
use super::verdict::{Judged, judged};
use crate::event::{AtTool, Kill, Missing, MutantResult, Verdict};
use crate::plan::Plan;
use crate::taxonomy::{Leaf, Mutant, Variant};

/// A mutant, and the fault that it imitates.
#[derive(Debug, Clone, Copy)]
pub(super) struct Suspect<'a> {
    pub(super) leaf: &'a Leaf,
    pub(super) variant: &'a Variant,
    pub(super) mutant: &'a Mutant,
}

/// Everything that all trials share.
#[derive(Debug)]
pub(super) struct Court<'a> {
    pub(super) proving: &'a Proving<'a>,
    /// The cases that can kill.
    pub(super) plan: Plan,
    pub(super) indexed: Arc<Indexed>,
    pub(super) controlled: &'a Controlled,
    pub(super) beds: &'a [Bed<'a>],
}

impl Court<'_> {
    /// What becomes of a mutant.
    pub(super) fn trial(&self, clock: &Runtime, suspect: Suspect<'_>) -> MutantResult {
        let Suspect { variant, mutant, .. } = suspect;
        let beds: Vec<&Bed<'_>> = self.beds.iter().filter(|bed| can_occur(variant, bed)).collect();
        if mutant.start.is_some() {
            return suspect.without_trial(Verdict::LiveOnly, "it changes how the server starts".to_owned());
        }
        let Some(fault) = &mutant.fault else {
            return suspect.without_trial(Verdict::LiveOnly, "the registry gives no fault for it".to_owned());
        };
        let planted = Planted::new((fault, mutant.shown_by.as_ref()), &beds, &self.controlled.green);
        if planted.places.is_empty() {
            return suspect.unplanted(&planted);
        }
        let whole = self.judge(clock, &planted.places.iter().collect::<Vec<_>>(), planted.changes.clone());
        let tools = planted.tools().into_iter().map(|(tool, places)| {
            let verdict = self.at_tool(clock, &planted, &whole, &places);
            AtTool { tool, verdict }
        });
        let tools: Vec<AtTool> = tools.collect();
        MutantResult {
            missing: self.missing(variant, &planted, whole.verdict, &tools),
            tools,
            places: planted.places.len(),
            change: planted.change.clone(),
            kills: whole.kills.clone(),
            reason: whole.reason.clone(),
            ..suspect.result(whole.verdict)
        }
    }

    /// What becomes of it in the calls of one tool; known already where that is all there is, or where a case turned red
    /// that calls nothing else.
    fn at_tool(&self, clock: &Runtime, planted: &Planted, whole: &Judged, places: &[&Place]) -> Verdict {
        if places.len() == planted.places.len() {
            return whole.verdict;
        }
        let is_alone = |kill: &Kill| {
            let mut struck = planted.places.iter().filter(|place| place.owner == kill.case || place.owner.is_empty());
            struck.clone().count() > 0 && struck.all(|place| places.contains(&place))
        };
        if whole.kills.iter().any(is_alone) {
            return Verdict::Killed;
        }
        self.judge(clock, places, planted.at(places)).verdict
    }

    /// What would have noticed it: for every tool in whose calls nobody did, and for what is no tool's.
    pub(super) fn missing(
        &self,
        variant: &Variant,
        planted: &Planted,
        whole: Verdict,
        tools: &[AtTool],
    ) -> Vec<Missing> {
        let verdict = |place: &Place| match &place.tool {
            Some(tool) => tools.iter().find(|at| at.tool == *tool).map_or(whole, |at| at.verdict),
            None => whole,
        };
        let mut lessons: Vec<Missing> = Vec::new();
        for place in planted.places.iter().filter(|place| verdict(place) == Verdict::Survived) {
            let Some(bed) = self.beds.iter().find(|bed| bed.name == place.lane) else { continue };
            let Some(changed) = planted.changes.get(&place.lane).and_then(|lane| lane.get(&place.at)) else { continue };
            let lane = bed.recorded;
            let is_taught =
                |known: &Missing| known.file == lane.file && known.server == lane.server && known.tool == place.tool;
            if lessons.iter().any(is_taught) {
                continue;
            }
            let suite = self.plan.suites.iter().find(|planned| planned.suite.file == lane.file);
            let lesson = missing(&Survivor {
                lane,
                lane_count: suite.map_or(1, |planned| planned.suite.servers.len()),
                catalog: &bed.catalog,
                exchange: &lane.exchanges[place.at],
                changed,
                variant: &variant.id,
            });
            // A test that would hold a secret is none to show.
            let redactor = &self.proving.redactor;
            lessons.extend(lesson.filter(|lesson| redactor.text(&lesson.yaml) == lesson.yaml));
        }
        lessons
    }

    /// Runs the cases that a mutant reaches, with the mutant.
    fn judge(&self, clock: &Runtime, places: &[&Place], changes: Changes) -> Judged {
        let plan = self.reached(places);
        let stage = Stage::new(Arc::clone(&self.indexed), changes);
        let run = (self.proving.options, self.proving.registry);
        let rerun = rerun(clock, plan.clone(), &stage, run, Telling::Verdicts);
        judged(&plan, self.controlled, &rerun)
    }

    /// The cases that a mutant reaches.
    pub(super) fn reached(&self, places: &[&Place]) -> Plan {
        let owners: BTreeSet<&str> = places.iter().map(|place| place.owner.as_str()).collect();
        let lanes: BTreeSet<&str> =
            places.iter().filter(|place| place.owner.is_empty()).map(|place| place.lane.as_str()).collect();
        only(&self.plan, &|planned, case| {
            owners.contains(case.id.as_str()) || lanes.contains(planned.lane_id(case.lane).as_str())
        })
    }
}

/// Whether a variant can occur in a lane.
pub(super) fn can_occur(variant: &Variant, bed: &Bed<'_>) -> bool {
    variant.holds_for(bed.recorded.transport.as_str(), &bed.recorded.revision)
}

impl Suspect<'_> {
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
    fn unplanted(&self, planted: &Planted) -> MutantResult {
        if let Some(title) = &planted.shown {
            let reason = format!("the healthy server shows it already, for example in `{title}`");
            return self.without_trial(Verdict::Redundant, reason);
        }
        match &planted.lacks {
            Some(lacks) => self.without_trial(Verdict::Unreached, lacks.clone()),
            None if planted.is_idle => {
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
