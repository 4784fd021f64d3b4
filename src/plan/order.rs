//! Orders that follow from a seed.

use std::sync::Arc;

use super::{Case, Plan, SuitePlan, build};
use crate::source::{FNV, fnv, mix_hash};
use crate::suite::{Order, RestartPolicy, Suite};

/// Shuffles cases within each target.
///
/// The place of a case follows from the seed and its own name, so that two cases keep their order whatever else is
/// selected, added or removed, and however the path of the suite is spelled.
pub fn shuffle(planned: &SuitePlan, cases: &mut [Arc<Case>], seed: u32) {
    let file = planned.suite.file.len();
    cases.sort_by_cached_key(|case| (case.target, key(seed, case.id.get(file..).unwrap_or(&case.id)), case.id.clone()));
}

/// The same plan with another policy and order, where the suites say otherwise.
pub fn replan(plan: &Plan, policy: RestartPolicy, order: Order) -> Plan {
    let suites = plan.suites.iter().map(|planned| {
        let mut suite = Suite::clone(&planned.suite);
        suite.options.restart_policy = policy;
        suite.options.order = order;
        suite.options.parallel = Some(1);
        build::select_suite(suite, Arc::clone(&planned.blocks), &plan.selection, &plan.sources)
    });
    Plan::new(suites.collect(), plan.selection.clone(), Arc::clone(&plan.sources))
}

/// A number that follows from a seed and a text, and is near that of no similar text.
pub(super) fn key(seed: u32, text: &str) -> u64 {
    mix_hash(fnv(FNV ^ u64::from(seed).wrapping_mul(0x9e37_79b9_7f4a_7c15), text.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::key;

    fn order(seed: u32, names: &[&'static str]) -> Vec<&'static str> {
        let mut names = names.to_vec();
        names.sort_by_key(|name| key(seed, name));
        names
    }

    #[test]
    fn a_seed_gives_one_order_that_more_cases_do_not_change() {
        let names = ["a", "b", "c", "d", "e", "f", "g", "h"];
        for seed in [0, 1, 7, u32::MAX] {
            let all = order(seed, &names);
            assert_eq!(all, order(seed, &names));
            let some = order(seed, &names[2..6]);
            assert_eq!(some, all.iter().copied().filter(|name| some.contains(name)).collect::<Vec<_>>());
        }
    }

    #[test]
    fn every_case_comes_first_with_some_seed() {
        let names = ["case 1", "case 2", "case 3", "case 4"];
        let firsts: Vec<usize> =
            names.map(|name| (0..4000).filter(|seed| order(*seed, &names)[0] == name).count()).to_vec();
        assert!(firsts.iter().all(|count| (850..1150).contains(count)), "{firsts:?}");
    }
}
