//! A plan as it was when it was recorded: what depends on the server's offer is decided by the recorded offer.

use std::sync::Arc;

use super::recording::Recording;
use crate::plan::{Body, Case, Plan, SuitePlan, expand};
use crate::wire::Catalog;

/// The plan with every template replaced by the cases that it stood for; they stay although a mutant changes the offer.
pub(super) fn frozen(plan: &Plan, recording: &Recording) -> Plan {
    let suites = plan.suites.iter().map(|planned| {
        let catalogs: Vec<Catalog> =
            (0..planned.lanes.len()).map(|lane| catalog(recording, &planned.lane_id(lane))).collect();
        let cases = planned.cases.iter().flat_map(|case| match case.body {
            Body::Template(_) => expand(plan, planned, case, &catalogs[case.lane]),
            Body::Script(_) | Body::Skipped(_) | Body::Failed(_) => vec![Arc::clone(case)],
        });
        let cases = cases.collect();
        SuitePlan { suite: Arc::clone(&planned.suite), lanes: planned.lanes.clone(), cases }
    });
    Plan { suites: suites.collect(), selection: plan.selection.clone(), sources: Arc::clone(&plan.sources) }
}

fn catalog(recording: &Recording, lane: &str) -> Catalog {
    recording.lanes.get(lane).map(super::LaneRecording::catalog).unwrap_or_default()
}

/// The part of a frozen plan that consists of those cases.
pub(super) fn only(plan: &Plan, picks: &dyn Fn(&SuitePlan, &Case) -> bool) -> Plan {
    let suites = plan.suites.iter().filter_map(|planned| {
        let cases: Vec<Arc<Case>> = planned.cases.iter().filter(|case| picks(planned, case)).cloned().collect();
        (!cases.is_empty()).then(|| SuitePlan {
            suite: Arc::clone(&planned.suite),
            lanes: planned.lanes.clone(),
            cases,
        })
    });
    Plan { suites: suites.collect(), selection: plan.selection.clone(), sources: Arc::clone(&plan.sources) }
}
