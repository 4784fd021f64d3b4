//! From suites to cases, without a server.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::block::{self, Block, CaseSource};
use super::case::{Body, Case, Plan, SessionNeed, SuitePlan};
use super::planner::Planner;
use super::target::Target;
use super::{Selection, snapshot};
use crate::source::{Diagnostic, Sources, Span, did_you_mean, map_many};
use crate::suite::{LoadedSuite, RestartPolicy, Suite, Test};
use crate::taxonomy::Registry;

/// Plans every selected case of the suites; `Err` holds what only the registry can tell, such as unknown variants.
pub fn build(
    suites: Vec<LoadedSuite<Arc<dyn CaseSource>>>,
    selection: Selection,
    registry: &Registry,
    sources: Arc<Sources>,
) -> Result<Plan, Vec<Diagnostic>> {
    let found: Vec<Diagnostic> = suites.iter().flat_map(|loaded| unknown_variants(loaded, registry)).collect();
    if !found.is_empty() {
        return Err(found);
    }
    let mut suites: Vec<SuitePlan> =
        suites.into_iter().map(|loaded| plan_suite(Arc::new(loaded.suite), loaded.blocks.into(), &sources)).collect();
    let found = snapshot::duplicates(suites.iter().map(SuitePlan::snapshot_scope));
    if !found.is_empty() {
        return Err(found);
    }
    for planned in &mut suites {
        keep_selected(planned, &selection);
    }
    Ok(Plan::new(suites, selection, sources).in_shard())
}

/// Plans the selected cases of one suite.
pub(crate) fn select_suite(suite: Suite, blocks: Arc<[Block]>, selection: &Selection, sources: &Sources) -> SuitePlan {
    let mut planned = plan_suite(Arc::new(suite), blocks, sources);
    keep_selected(&mut planned, selection);
    planned
}

fn keep_selected(planned: &mut SuitePlan, selection: &Selection) {
    planned.cases.retain(|case| selection.keeps(case, &planned.suite, &planned.targets));
}

/// The probes and variants that planned cases look at, and what their tests only claim to judge.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Declaration {
    /// The probes.
    pub probes: BTreeSet<String>,
    /// The variants that cases can judge.
    pub variants: BTreeSet<String>,
    /// The variants that tests name in `judges:`, and that no case can judge.
    pub claims: BTreeSet<String>,
}

/// The declaration of cases; those that cannot run declare nothing.
pub fn collect_declaration<'a>(cases: impl Iterator<Item = &'a Case>) -> Declaration {
    let mut declared = Declaration::default();
    for case in cases.filter(|case| can_run(&case.body)) {
        add_new(&mut declared.probes, &case.probes);
        add_new(&mut declared.variants, &case.variants);
        add_new(&mut declared.claims, &case.claims);
    }
    declared.claims.retain(|variant| !declared.variants.contains(variant));
    declared
}

/// Adds the names that are not there, since most are.
fn add_new(known: &mut BTreeSet<String>, names: &BTreeSet<String>) {
    for name in names {
        if !known.contains(name) {
            known.insert(name.clone());
        }
    }
}

/// Adds the probe of isolation to cases that share a server which nothing restarts: state that one leaves behind meets the
/// next one. A case alone meets nobody's.
fn declare_isolation(suite: &Suite, cases: &mut [Case]) {
    if suite.options.restart_policy != RestartPolicy::Never {
        return;
    }
    let shares = |case: &Case| case.session == SessionNeed::Shared && can_run(&case.body);
    let mut sharing: BTreeMap<usize, usize> = BTreeMap::new();
    for case in cases.iter().filter(|case| shares(case)) {
        // A template becomes several cases.
        *sharing.entry(case.target).or_default() += if matches!(case.body, Body::Template(_)) { 2 } else { 1 };
    }
    let is_met = |case: &Case| shares(case) && sharing.get(&case.target).is_some_and(|count| *count > 1);
    for case in cases.iter_mut().filter(|case| is_met(case)) {
        case.probes.insert("test-isolation".to_owned());
    }
}

fn can_run(body: &Body) -> bool {
    match body {
        Body::Script(_) | Body::Check(_) | Body::Scan(_) | Body::Template(_) => true,
        Body::Failed(_) | Body::Skipped(_) => false,
    }
}

fn unknown_variants(loaded: &LoadedSuite<Arc<dyn CaseSource>>, registry: &Registry) -> Vec<Diagnostic> {
    let of_blocks = loaded.blocks.iter().flat_map(|block| block.settings.tests()).map(AsRef::as_ref);
    let judged = loaded.suite.tests.iter().chain(of_blocks).flat_map(|test: &Test| &test.extras.judges);
    judged
        .filter(|variant| registry.variant(&variant.value).is_none())
        .map(|variant| {
            let message = format!("the fault registry has no variant `{}`", variant.value);
            Diagnostic::error("unknown-variant", message, variant.span)
                .with_help(did_you_mean(&variant.value, registry.variants().map(|variant| variant.id.as_str())))
        })
        .collect()
}

fn plan_suite(suite: Arc<Suite>, blocks: Arc<[Block]>, sources: &Sources) -> SuitePlan {
    let targets: Vec<Target> = suite
        .servers
        .iter()
        .flat_map(|(name, server)| {
            server.protocol.iter().map(|protocol| Target { server: name.clone(), protocol: *protocol })
        })
        .collect();
    let has_only = suite.tests.iter().any(|test| test.extras.only.is_some());
    let mut of_tests: BTreeMap<Span, Vec<&Block>> = BTreeMap::new();
    for block in blocks.iter() {
        if let Some(test) = block.test {
            of_tests.entry(test).or_default().push(block);
        }
    }
    let mut cases: Vec<Case> = Vec::new();
    let mut taken = BTreeSet::new();
    for (index, target) in targets.iter().enumerate() {
        let planner = Planner { suite: &suite, blocks: &blocks, target, index, sources, has_only };
        let first = cases.len();
        let tests = suite.tests.iter().filter(|test| test.is_for(&target.server)).collect();
        let of_test = |test: &Test| {
            let derived = of_tests.get(&test.span).into_iter().flatten();
            let derived = derived.map(|block| block::case_of_test(&planner, test, block));
            planner.test(test).into_iter().chain(derived).collect::<Vec<_>>()
        };
        cases.extend(map_many(tests, of_test).into_iter().flatten());
        let own = blocks.iter().filter(|block| block.test.is_none());
        cases.extend(own.flat_map(|block| block::cases(&planner, block)));
        planner.number(&mut cases[first..], &mut taken, &|_| false);
    }
    declare_isolation(&suite, &mut cases);
    let mut known = BTreeSet::new();
    for (at, case) in cases.iter_mut().enumerate() {
        case.position = vec![at];
        for names in [&mut case.probes, &mut case.variants, &mut case.claims] {
            names.share(&mut known);
        }
    }
    // A list of its own: collected in place, it would keep the room of the cases.
    let mut shared = Vec::with_capacity(cases.len());
    shared.extend(cases.into_iter().map(Arc::new));
    SuitePlan::new(suite, blocks, targets, shared)
}
