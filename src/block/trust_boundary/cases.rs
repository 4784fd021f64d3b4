//! The cases of a boundary, on the server that it protects.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::TrustBoundary;
use super::shadowing::{ShadowingCheck, ShadowingKind};
use super::verdict::FlowCheck;
use crate::plan::planner::Planner;
use crate::plan::{Block, Body, Case, Check};

/// The cases that compare the lists of two servers, once for each pair of them; `tools` are those that the suite protects.
pub(crate) fn of_lists(
    planner: &Planner<'_>,
    block: &Block,
    boundary: &Arc<TrustBoundary>,
    tools: &BTreeSet<String>,
) -> Vec<Case> {
    let each = ShadowingKind::ALL.into_iter().filter_map(|kind| {
        let check = ShadowingCheck { boundary: Arc::clone(boundary), kind, tools: tools.clone() };
        let mut case = case(planner, block, boundary, &between(boundary), kind.as_str(), Arc::new(check))?;
        case.variants.insert(kind.judges().to_owned());
        Some(case)
    });
    each.collect()
}

/// The case of a flow, if there is one.
pub(crate) fn of_flow(planner: &Planner<'_>, block: &Block, boundary: &Arc<TrustBoundary>) -> Option<Case> {
    if boundary.flow.is_empty() {
        return None;
    }
    let title = boundary.name.clone().unwrap_or_else(|| between(boundary));
    case(planner, block, boundary, &title, "flow", Arc::new(FlowCheck { boundary: Arc::clone(boundary) }))
}

fn between(boundary: &TrustBoundary) -> String {
    format!("{} to {}", boundary.from.value, boundary.to.value)
}

/// A case; `None` on any server but the protected one.
fn case(
    planner: &Planner<'_>,
    block: &Block,
    boundary: &TrustBoundary,
    title: &str,
    about: &str,
    check: Arc<dyn Check>,
) -> Option<Case> {
    if planner.target.server != boundary.to.value {
        return None;
    }
    let body = planner
        .passed_over()
        .or_else(|| planner.reason_against_all())
        .map_or_else(|| Body::Check(check), Body::skipped);
    let mut case = planner.case(&format!("{}: {title}: {about}", block.key), None, boundary.span, body);
    case.probes.extend(block.probes.iter().map(|probe| (*probe).to_owned()));
    Some(case)
}
