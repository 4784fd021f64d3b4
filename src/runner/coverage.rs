//! The fault coverage of a run, suite by suite and server by server.

use super::{SessionFrames, Thresholds};
use crate::coverage::{self, JudgedVariants, Planned};
use crate::event::{CaseInfo, CaseResult, Coverage, CoverageFacts, ServerReady, ShardFacts, SuiteScore, TargetFacts};
use crate::plan::{Declaration, Plan, SuitePlan, collect_declaration};
use crate::taxonomy::Registry;
use crate::taxonomy::score::Evidence;
use crate::wire::{Direction, Scanner};

/// Collects what cases and scans judged.
pub(crate) struct CoverageCollector {
    /// Everything, whichever suite and server it belongs to.
    total: CoverageFacts,
    /// The same for each suite on each server, in the order of the plan.
    targets: Vec<TargetFacts>,
}

impl CoverageCollector {
    /// Of a part of a run, the plan of the whole run is declared.
    pub(crate) fn new(plan: &Plan) -> Self {
        let plan = plan.whole();
        let targets = plan.suites.iter().flat_map(|planned| targets(planned, plan.selection.is_everything()));
        Self { total: facts_of(collect_declaration(plan.cases())), targets: targets.collect() }
    }

    pub(crate) fn ready(&mut self, ready: &ServerReady) {
        let setting = || (ready.transport.as_str().to_owned(), ready.revision.clone());
        self.total.settings.insert(setting());
        let is_of = |target: &&mut TargetFacts| target.file == ready.file && target.server == ready.server;
        if let Some(TargetFacts { facts, .. }) = self.several().iter_mut().find(is_of) {
            facts.settings.insert(setting());
        }
    }

    /// A known failure is excused whatever comes, so that it judges nothing.
    pub(crate) fn case(&mut self, result: &CaseResult) {
        if result.is_known() {
            return;
        }
        let evidence = Evidence { case: result.case.id.clone(), frames: result.frames.clone() };
        self.total.judge(result.judged.iter().map(String::as_str), &evidence);
        if let Some(target) = self.several().iter_mut().find(|target| has(target, &result.case)) {
            target.facts.judge(result.judged.iter().map(String::as_str), &evidence);
        }
    }

    /// Every session that was spoken in was scanned from end to end.
    pub(crate) fn session(&mut self, frames: &SessionFrames) {
        if !frames.has_begun {
            return;
        }
        let received: Vec<u32> = frames
            .frames
            .iter()
            .filter(|frame| frame.direction == Direction::Received)
            .map(|frame| frame.seq)
            .collect();
        let (Some(first), Some(last)) = (received.first(), received.last()) else { return };
        let case =
            frames.case.clone().unwrap_or_else(|| format!("{}@{}/{}", frames.file, frames.server, frames.revision));
        // The scan looked at every frame; the range is enough to find them.
        let evidence = Evidence { case: format!("scan of {case}"), frames: vec![*first, *last] };
        self.total.judge(Scanner::JUDGES.into_iter(), &evidence);
        let is_of = |target: &&mut TargetFacts| target.file == frames.file && target.server == frames.server;
        if let Some(TargetFacts { facts, .. }) = self.several().iter_mut().find(is_of) {
            facts.judge(Scanner::JUDGES.into_iter(), &evidence);
        }
    }

    pub(crate) fn score(&self, registry: &Registry, thresholds: Thresholds) -> Coverage {
        score(&self.total, &self.targets, registry, thresholds)
    }

    /// The facts, for the run of which this is a part.
    pub(crate) fn facts(&self) -> ShardFacts {
        ShardFacts { total: self.total.clone(), targets: self.targets.clone(), ..ShardFacts::default() }
    }

    /// The targets that are scored: a single one is all that there is.
    fn several(&mut self) -> &mut [TargetFacts] {
        if let [_, _, ..] = *self.targets { &mut self.targets } else { &mut [] }
    }
}

/// The coverage of a run whose parts tell these facts together.
#[cfg(feature = "cli")]
pub(crate) fn score_parts(facts: &ShardFacts, registry: &Registry, thresholds: Thresholds) -> Coverage {
    score(&facts.total, &facts.targets, registry, thresholds)
}

fn score(total: &CoverageFacts, targets: &[TargetFacts], registry: &Registry, thresholds: Thresholds) -> Coverage {
    let gates = |exercised| coverage::gates(exercised, thresholds.plain, thresholds.weighted);
    let mut coverage = score_facts(total, registry);
    if let [_, _, ..] = targets {
        coverage.suites = targets.iter().map(|target| score_target(target, registry)).collect();
        coverage.suites.iter_mut().for_each(|suite| suite.gates = gates(&suite.exercised));
    } else {
        coverage.gates = gates(&coverage.exercised);
    }
    coverage
}

/// The servers of a suite, each once whatever its revisions; of a selection, those that it has a case for.
fn targets(planned: &SuitePlan, is_everything: bool) -> Vec<TargetFacts> {
    // The revisions of a server stand together.
    let mut servers: Vec<&str> = planned.targets.iter().map(|target| target.server.as_str()).collect();
    servers.dedup();
    let target = |server: &&str| {
        let cases = || planned.cases.iter().filter(|case| planned.targets[case.target].server == **server);
        let is_scored = is_everything || cases().next().is_some();
        let facts = facts_of(collect_declaration(cases().map(AsRef::as_ref)));
        is_scored.then(|| TargetFacts { file: planned.suite.file.clone(), server: (*server).to_owned(), facts })
    };
    servers.iter().filter_map(target).collect()
}

/// Returns true if a case runs there. The file of a case may be one that the suite includes; its id begins with the
/// suite's.
fn has(target: &TargetFacts, case: &CaseInfo) -> bool {
    let rest = case.id.strip_prefix(&target.file);
    case.server == target.server && rest.is_some_and(|rest| rest.starts_with("::"))
}

fn facts_of(declaration: Declaration) -> CoverageFacts {
    let Declaration { probes, variants, claims } = declaration;
    CoverageFacts { probes, variants, claimed: claims, ..CoverageFacts::default() }
}

fn score_target(target: &TargetFacts, registry: &Registry) -> SuiteScore {
    let Coverage { declared, exercised, claimed, .. } = score_facts(&target.facts, registry);
    let (file, server) = (target.file.clone(), target.server.clone());
    SuiteScore { file, server, declared, exercised, proven: None, claimed, gates: Vec::new() }
}

fn score_facts(facts: &CoverageFacts, registry: &Registry) -> Coverage {
    let CoverageFacts { probes, variants, claimed, settings, judged } = facts.clone();
    let planned = Planned { agents: probes.contains("agent"), probes, variants, settings };
    let judged = JudgedVariants { by_variant: judged };
    Coverage {
        declared: coverage::score_declared(registry, &planned),
        exercised: coverage::score_exercised(registry, &planned, &judged),
        gates: Vec::new(),
        claimed: claimed.into_iter().collect(),
        suites: Vec::new(),
    }
}
