//! The fault coverage of a run.

use std::collections::BTreeSet;

use super::{SessionFrames, Thresholds};
use crate::coverage::{self, JudgedVariants, Planned};
use crate::event::{CaseResult, Coverage, ServerReady};
use crate::plan::{Plan, declared};
use crate::taxonomy::Registry;
use crate::taxonomy::score::Evidence;
use crate::wire::{Direction, Scanner};

/// Collects what cases and scans judged.
pub(super) struct CoverageCollector {
    planned: Planned,
    judged: JudgedVariants,
}

impl CoverageCollector {
    pub(super) fn new(plan: &Plan) -> Self {
        let (probes, variants) = declared(plan);
        let agents = probes.contains("agent");
        let planned = Planned { probes, claimed: BTreeSet::new(), variants, agents, settings: BTreeSet::new() };
        Self { planned, judged: JudgedVariants::default() }
    }

    pub(super) fn ready(&mut self, ready: &ServerReady) {
        self.planned.settings.insert((ready.transport.as_str().to_owned(), ready.revision.clone()));
    }

    pub(super) fn case(&mut self, result: &CaseResult) {
        for variant in &result.judged {
            let evidence = Evidence { case: result.case.id.clone(), frames: result.frames.clone() };
            self.judged.by_variant.entry(variant.clone()).or_default().push(evidence);
        }
    }

    /// Every session that was spoken in was scanned from end to end.
    pub(super) fn session(&mut self, frames: &SessionFrames) {
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
        for variant in Scanner::JUDGES {
            let found = self.judged.by_variant.entry(variant.to_owned()).or_default();
            let case =
                frames.case.clone().unwrap_or_else(|| format!("{}@{}/{}", frames.file, frames.server, frames.revision));
            // The scan looked at every frame; the range is enough to find them.
            found.push(Evidence { case: format!("scan of {case}"), frames: vec![*first, *last] });
        }
    }

    pub(super) fn score(&self, registry: &Registry, thresholds: Thresholds) -> Coverage {
        let exercised = coverage::exercised(registry, &self.planned, &self.judged);
        let gates = coverage::gates(&exercised, thresholds.plain, thresholds.weighted);
        Coverage { declared: coverage::declared(registry, &self.planned), gates, exercised }
    }
}
