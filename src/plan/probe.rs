//! Plans for a monitor: one for each target, with the tests that are marked `probe: true`.

use std::collections::BTreeSet;
use std::sync::Arc;

use indexmap::IndexMap;

use super::case::{Body, Case, Plan, SuitePlan};
use super::check_trait::Check;
use super::planner::Planner;
use super::target::Target;
use crate::suite::Suite;

/// A target by itself, for whoever runs it again and again.
#[derive(Debug, Clone)]
pub struct TargetPlan {
    /// `file@server/revision`.
    pub id: String,
    /// The suite's file.
    pub file: String,
    /// The target.
    pub target: Target,
    /// The target's cases with the mark, behind one that decides the check.
    pub plan: Plan,
    /// True if there are cases with the mark.
    pub has_probes: bool,
}

/// A plan for each target of another plan, in order. Its first case, which is called `name`, decides a check that `check`
/// makes for each target.
pub fn by_target(plan: &Plan, name: &str, mut check: impl FnMut() -> Arc<dyn Check>) -> Vec<TargetPlan> {
    let mut plans = Vec::new();
    for planned in &plan.suites {
        let marked: BTreeSet<_> =
            planned.suite.tests.iter().filter(|test| test.extras.probe).map(|test| test.span).collect();
        // Every run looks at all of its suite, which may have a thousand servers and many other tests.
        let tests = planned.suite.tests.iter().filter(|test| test.extras.probe).cloned().collect();
        let shared = Suite { servers: IndexMap::new(), tests, ..(*planned.suite).clone() };
        let mut cases: Vec<Vec<Arc<Case>>> = vec![Vec::new(); planned.targets.len()];
        for case in planned.cases.iter().filter(|case| marked.contains(&case.span)) {
            // Each plan has one target.
            cases[case.target].push(Arc::new(Case { target: 0, ..(**case).clone() }));
        }
        for (index, probes) in cases.into_iter().enumerate() {
            let target = planned.targets[index].clone();
            let has_probes = !probes.is_empty();
            let own = check_case(planned, &target, plan, name, check());
            let cases = std::iter::once(Arc::new(own)).chain(probes).collect();
            let server = planned.suite.servers.get(&target.server).cloned();
            let servers = server.map(|server| (target.server.clone(), server)).into_iter().collect();
            let suite = Arc::new(Suite { servers, ..shared.clone() });
            let blocks = Arc::clone(&planned.blocks);
            let suites = vec![SuitePlan::new(suite, blocks, vec![target.clone()], cases)];
            let (selection, sources) = (plan.selection.clone(), Arc::clone(&plan.sources));
            let (id, file) = (planned.target_id(index), planned.suite.file.clone());
            plans.push(TargetPlan { id, file, target, plan: Plan::new(suites, selection, sources), has_probes });
        }
    }
    plans
}

fn check_case(suite_plan: &SuitePlan, target: &Target, plan: &Plan, name: &str, check: Arc<dyn Check>) -> Case {
    let SuitePlan { suite, blocks, .. } = suite_plan;
    let planner = Planner { suite, blocks, target, index: 0, sources: &plan.sources, has_only: false };
    let span = suite.servers.get(&target.server).map_or(suite.name.span, |server| server.span);
    planner.case(name, None, span, Body::Check(check))
}
