//! From suites to cases, without a server.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::case::{Body, Case, Lane, Plan, SkipReason, SuitePlan};
use super::planner::Planner;
use super::{Selection, block, snapshot};
use crate::source::{Diagnostic, Sources, did_you_mean};
use crate::suite::Suite;
use crate::taxonomy::Registry;

/// Plans every selected case of the suites; `Err` holds what only the registry can tell, such as unknown variants.
pub fn build(
    suites: Vec<Suite>,
    selection: Selection,
    registry: &Registry,
    sources: Arc<Sources>,
) -> Result<Plan, Vec<Diagnostic>> {
    let found: Vec<Diagnostic> = suites.iter().flat_map(|suite| unknown_variants(suite, registry)).collect();
    if !found.is_empty() {
        return Err(found);
    }
    let mut suites: Vec<SuitePlan> = suites.into_iter().map(|suite| plan_suite(Arc::new(suite), &sources)).collect();
    let found = snapshot::duplicates(&suites);
    if !found.is_empty() {
        return Err(found);
    }
    for planned in &mut suites {
        keep_selected(planned, &selection);
    }
    Ok(Plan { suites, selection, sources })
}

/// Plans the selected cases of one suite.
pub(super) fn select_suite(suite: Suite, selection: &Selection, sources: &Sources) -> SuitePlan {
    let mut planned = plan_suite(Arc::new(suite), sources);
    keep_selected(&mut planned, selection);
    planned
}

fn keep_selected(planned: &mut SuitePlan, selection: &Selection) {
    planned.cases.retain(|case| selection.keeps(case, &planned.suite, &planned.lanes));
}

/// The probes and variants that a plan declares: what the suite says it looks at, whether or not it can run yet.
pub fn declared(plan: &Plan) -> (BTreeSet<String>, BTreeSet<String>) {
    let counted = plan.cases().filter(|case| match &case.body {
        Body::Script(_)
        | Body::Probe(_)
        | Body::Scan(_)
        | Body::Template(_)
        | Body::Skipped(SkipReason::NotAvailable(_)) => true,
        Body::Failed(_)
        | Body::Skipped(SkipReason::Asked(_) | SkipReason::NotApplicable(_) | SkipReason::ToolNotAllowed { .. }) => {
            false
        }
    });
    counted.fold(Default::default(), |(mut probes, mut variants): (BTreeSet<_>, BTreeSet<_>), case| {
        probes.extend(case.probes.iter().cloned());
        variants.extend(case.variants.iter().cloned());
        (probes, variants)
    })
}

fn unknown_variants(suite: &Suite, registry: &Registry) -> Vec<Diagnostic> {
    let judged = suite.tests.iter().chain(suite.rules.iter().map(AsRef::as_ref)).flat_map(|test| &test.judges);
    judged
        .filter(|variant| registry.variant(&variant.value).is_none())
        .map(|variant| {
            let message = format!("the fault registry has no variant `{}`", variant.value);
            Diagnostic::error("unknown-variant", message, variant.span)
                .with_help(did_you_mean(&variant.value, registry.variants().map(|variant| variant.id.as_str())))
        })
        .collect()
}

fn plan_suite(suite: Arc<Suite>, sources: &Sources) -> SuitePlan {
    let lanes: Vec<Lane> = suite
        .servers
        .iter()
        .flat_map(|(name, server)| {
            server.protocol.iter().map(|protocol| Lane { server: name.clone(), protocol: *protocol })
        })
        .collect();
    let has_only = suite.tests.iter().any(|test| test.only.is_some());
    let mut cases: Vec<Case> = Vec::new();
    let mut taken = BTreeSet::new();
    for (index, lane) in lanes.iter().enumerate() {
        let planner = Planner { suite: &suite, lane, index, sources, has_only };
        let first = cases.len();
        cases.extend(
            suite
                .tests
                .iter()
                .filter(|test| test.server.as_ref().is_none_or(|server| server.value == lane.server))
                .flat_map(|test| planner.test(test)),
        );
        cases.extend(suite.blocks.iter().flat_map(|block| block::cases(&planner, block)));
        planner.number(&mut cases[first..], &mut taken);
    }
    for (at, case) in cases.iter_mut().enumerate() {
        case.position = vec![at];
    }
    SuitePlan { suite, lanes, cases: cases.into_iter().map(Arc::new).collect() }
}
