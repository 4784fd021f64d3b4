//! Checks the tool settings of a suite once all of its servers have listed their tools.

use std::sync::Arc;

use super::Options;
use super::sessions::TargetSessions;
use crate::plan::{self, Case, Plan, SuitePlan};
use crate::wire::Catalog;

/// A case for each mistake in the tool settings; none where the tools of a server are unknown, since it may offer the
/// tool, nor in a replay or with injected mutants.
pub(crate) fn invalid_tool_settings(
    plan: &Plan,
    planned: &SuitePlan,
    targets: &[Arc<TargetSessions>],
    options: &Options,
) -> Vec<Arc<Case>> {
    if options.replay.is_some() || options.tamper.is_some() || options.stop.is_set() {
        return Vec::new();
    }
    let catalogs: Option<Vec<Arc<Catalog>>> = targets.iter().map(|sessions| sessions.target.listed_catalog()).collect();
    let filled = |node: &_| targets.first()?.target.fill(node);
    catalogs.map_or_else(Vec::new, |catalogs| plan::invalid_tool_settings(plan, planned, &catalogs, &filled))
}
