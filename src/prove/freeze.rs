//! A plan as it was when it was recorded: what depends on the server's offer is decided by the recorded offer.

use std::sync::Arc;

use serde_json::Value;

use super::recording::RunRecording;
use crate::plan::{Body, Case, Offer, Plan, SuitePlan, expand};
use crate::transport::TransportKind;
use crate::wire::{Catalog, Revision};

/// The plan with every template replaced by the cases that it stood for; they stay although a mutant changes the offer.
pub(crate) fn freeze(plan: &Plan, recording: &RunRecording) -> Plan {
    let suites = plan.suites.iter().map(|planned| {
        let targets = 0..planned.targets.len();
        let offers: Vec<RecordedOffer> =
            targets.map(|target| RecordedOffer::of(recording, &planned.target_id(target))).collect();
        let cases = planned.cases.iter().flat_map(|case| match case.body {
            Body::Template(_) => expand(plan, planned, case, &offers[case.target].offer()),
            // A recording holds no answers to what a probe would ask.
            Body::Check(ref check) if !check.can_be_replayed() => Vec::new(),
            Body::Check(_) | Body::Script(_) | Body::Scan(_) | Body::Skipped(_) | Body::Failed(_) => {
                vec![Arc::clone(case)]
            }
        });
        with_cases(planned, cases.collect())
    });
    Plan::new(suites.collect(), plan.selection.clone(), Arc::clone(&plan.sources))
}

/// The offer of a recorded server.
#[derive(Default)]
struct RecordedOffer {
    catalog: Catalog,
    capabilities: Value,
    transport: Option<TransportKind>,
    revision: Option<Revision>,
}

impl RecordedOffer {
    fn of(recording: &RunRecording, target: &str) -> Self {
        let recorded = recording.targets.get(target);
        recorded.map_or_else(Self::default, |target| Self {
            catalog: target.catalog(),
            capabilities: target.capabilities(),
            transport: Some(target.transport),
            revision: Revision::parse(&target.revision),
        })
    }

    fn offer(&self) -> Offer<'_> {
        let Self { catalog, capabilities, transport, revision } = self;
        Offer { catalog, capabilities, transport: *transport, revision: *revision }
    }
}

/// The part of a frozen plan that consists of those cases.
pub(crate) fn only(plan: &Plan, picks: &dyn Fn(&SuitePlan, &Case) -> bool) -> Plan {
    let suites = plan.suites.iter().filter_map(|planned| {
        let cases: Vec<Arc<Case>> = planned.cases.iter().filter(|case| picks(planned, case)).cloned().collect();
        (!cases.is_empty()).then(|| with_cases(planned, cases))
    });
    Plan::new(suites.collect(), plan.selection.clone(), Arc::clone(&plan.sources))
}

fn with_cases(planned: &SuitePlan, cases: Vec<Arc<Case>>) -> SuitePlan {
    let (suite, blocks) = (Arc::clone(&planned.suite), Arc::clone(&planned.blocks));
    SuitePlan::new(suite, blocks, planned.targets.clone(), cases)
}
