//! The fault coverage of a run, suite by suite and server by server.

use std::collections::BTreeSet;

use super::{SessionFrames, Thresholds};
use crate::coverage::{self, JudgedVariants, Planned};
use crate::event::{CaseInfo, CaseResult, Coverage, ServerReady, SuiteScore};
use crate::plan::{Declaration, Plan, SuitePlan, collect_declaration};
use crate::taxonomy::Registry;
use crate::taxonomy::score::Evidence;
use crate::wire::{Direction, Scanner};

/// Collects what cases and scans judged.
pub(crate) struct CoverageCollector {
    /// Everything, whichever suite and server it belongs to.
    total: CoverageFacts,
    /// The same for each suite on each server, in the order of the plan.
    targets: Vec<ScoredTarget>,
}

/// One suite on one server.
struct ScoredTarget {
    file: String,
    server: String,
    facts: CoverageFacts,
}

/// The facts that declared and exercised coverage follow from.
struct CoverageFacts {
    planned: Planned,
    judged: JudgedVariants,
    /// The variants that are claimed and that nothing judges: no facts, but shown beside them.
    claimed: Vec<String>,
}

impl CoverageCollector {
    pub(crate) fn new(plan: &Plan) -> Self {
        let targets = plan.suites.iter().flat_map(|planned| targets(planned, plan.selection.is_everything()));
        Self { total: CoverageFacts::of(collect_declaration(plan.cases())), targets: targets.collect() }
    }

    pub(crate) fn ready(&mut self, ready: &ServerReady) {
        let setting = || (ready.transport.as_str().to_owned(), ready.revision.clone());
        self.total.planned.settings.insert(setting());
        if let Some(facts) = self.of(&ready.file, &ready.server) {
            facts.planned.settings.insert(setting());
        }
    }

    /// A known failure is excused whatever comes, so that it judges nothing.
    pub(crate) fn case(&mut self, result: &CaseResult) {
        if result.is_known() {
            return;
        }
        let evidence = Evidence { case: result.case.id.clone(), frames: result.frames.clone() };
        self.total.judge(result.judged.iter().map(String::as_str), &evidence);
        if let Some(target) = self.targets.iter_mut().find(|target| target.has(&result.case)) {
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
        if let Some(facts) = self.of(&frames.file, &frames.server) {
            facts.judge(Scanner::JUDGES.into_iter(), &evidence);
        }
    }

    pub(crate) fn score(&self, registry: &Registry, thresholds: Thresholds) -> Coverage {
        let gates = |exercised| coverage::gates(exercised, thresholds.plain, thresholds.weighted);
        let mut total = self.total.score(registry);
        if let [_, _, ..] = *self.targets {
            total.suites = self.targets.iter().map(|target| target.score(registry)).collect();
            total.suites.iter_mut().for_each(|suite| suite.gates = gates(&suite.exercised));
        } else {
            total.gates = gates(&total.exercised);
        }
        total
    }

    fn of(&mut self, file: &str, server: &str) -> Option<&mut CoverageFacts> {
        let target = self.targets.iter_mut().find(|target| target.file == file && target.server == server)?;
        Some(&mut target.facts)
    }
}

/// The servers of a suite, each once whatever its revisions; of a selection, those that it has a case for.
fn targets(planned: &SuitePlan, is_everything: bool) -> Vec<ScoredTarget> {
    // The revisions of a server stand together.
    let mut servers: Vec<&str> = planned.targets.iter().map(|target| target.server.as_str()).collect();
    servers.dedup();
    let target = |server: &&str| {
        let cases = || planned.cases.iter().filter(|case| planned.targets[case.target].server == **server);
        let is_scored = is_everything || cases().next().is_some();
        let facts = CoverageFacts::of(collect_declaration(cases().map(AsRef::as_ref)));
        is_scored.then(|| ScoredTarget { file: planned.suite.file.clone(), server: (*server).to_owned(), facts })
    };
    servers.iter().filter_map(target).collect()
}

impl ScoredTarget {
    /// Returns true if a case runs here. The file of a case may be one that the suite includes; its id begins with the
    /// suite's.
    fn has(&self, case: &CaseInfo) -> bool {
        let rest = case.id.strip_prefix(&self.file);
        case.server == self.server && rest.is_some_and(|rest| rest.starts_with("::"))
    }

    fn score(&self, registry: &Registry) -> SuiteScore {
        let Coverage { declared, exercised, claimed, .. } = self.facts.score(registry);
        let (file, server) = (self.file.clone(), self.server.clone());
        SuiteScore { file, server, declared, exercised, proven: None, claimed, gates: Vec::new() }
    }
}

impl CoverageFacts {
    fn of(declared: Declaration) -> Self {
        let Declaration { probes, variants, claims } = declared;
        let agents = probes.contains("agent");
        let planned = Planned { probes, variants, agents, settings: BTreeSet::new() };
        Self { planned, judged: JudgedVariants::default(), claimed: claims.into_iter().collect() }
    }

    fn judge<'a>(&mut self, variants: impl Iterator<Item = &'a str>, evidence: &Evidence) {
        for variant in variants {
            self.judged.by_variant.entry(variant.to_owned()).or_default().push(evidence.clone());
        }
    }

    fn score(&self, registry: &Registry) -> Coverage {
        Coverage {
            declared: coverage::score_declared(registry, &self.planned),
            exercised: coverage::score_exercised(registry, &self.planned, &self.judged),
            gates: Vec::new(),
            claimed: self.claimed.clone(),
            suites: Vec::new(),
        }
    }
}
