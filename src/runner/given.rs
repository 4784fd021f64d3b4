//! When a suite is held against what all of its servers list.

use std::sync::Arc;

use super::Options;
use super::target::TargetSessions;
use crate::plan::{self, Case, Plan, SuitePlan};
use crate::wire::Catalog;

/// A case for each mistake in what the suite gives for tools; none where a server is not known, since it may be the one
/// that is meant, nor where servers are played back or tampered with.
pub(super) fn misgiven(
    plan: &Plan,
    planned: &SuitePlan,
    lanes: &[Arc<TargetSessions>],
    options: &Options,
) -> Vec<Arc<Case>> {
    if options.replay.is_some() || options.tamper.is_some() || options.stop.is_set() {
        return Vec::new();
    }
    let catalogs: Option<Vec<Arc<Catalog>>> = lanes.iter().map(|target| target.listed()).collect();
    let filled = |node: &_| lanes.first()?.filled(node);
    catalogs.map_or_else(Vec::new, |catalogs| plan::misgiven(plan, planned, &catalogs, &filled))
}
