//! The share of the registry that a plan, a run or a proof covers; arithmetic only.
//!
//! [`score_declared`] scores what is [`Planned`], [`score_exercised`] what was [`JudgedVariants`], [`proven`] what was
//! [`Proved`], and [`meets`] compares a score with a threshold. [`Claims`] are facts of no kind: [`with_claims`] counts
//! the probes among them, and says how much of the figure they are.
//! Knows nothing about suites or sessions: whoever calls says in plain words what was planned and what ran.

mod assemble;
mod proved;
#[cfg(test)]
mod tests;
mod threshold;

use std::collections::{BTreeMap, BTreeSet};

use crate::taxonomy::Registry;
use crate::taxonomy::score::{Evidence, Level, Score};

pub use self::proved::{Proved, Standing};
pub use self::threshold::{gates, meets, meets_weighted, parse_threshold};

use self::assemble::{ScoreSettings, assemble};

/// The part of a plan that coverage follows from.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Planned {
    /// The probes of the planned cases; cases that are skipped plan nothing.
    pub probes: BTreeSet<String>,
    /// The variants that planned cases can judge.
    pub variants: BTreeSet<String>,
    /// A model works with the tools.
    pub agents: bool,
    /// The transports and revisions in use; none where nothing is known, an empty text or `auto` where half is not.
    pub settings: BTreeSet<(String, String)>,
}

/// Claims that something is checked, without anything that shows it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Claims {
    /// The probes that `--probe` says run elsewhere; they count.
    pub probes: BTreeSet<String>,
    /// The variants that hand-written tests name in `judges:`; they are shown, and do not count.
    pub variants: BTreeSet<String>,
}

impl Claims {
    /// Those that the plan does not bear out.
    fn beyond(&self, planned: &Planned) -> Self {
        Self {
            probes: self.probes.difference(&planned.probes).cloned().collect(),
            variants: self.variants.difference(&planned.variants).cloned().collect(),
        }
    }
}

/// The variants that a run judged.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct JudgedVariants {
    /// By variant, the cases that ran to a verdict on it; a variant without any was not judged.
    pub by_variant: BTreeMap<String, Vec<Evidence>>,
}

/// Scores a plan: a leaf counts when a probe of it is planned, or a planned case can judge a variant of it.
pub fn score_declared(registry: &Registry, planned: &Planned) -> Score {
    of_plan(registry, planned, &Claims::default())
}

/// The same with claimed probes counted, and beside them the figures without; claimed variants are only named.
pub fn with_claims(registry: &Registry, planned: &Planned, claims: &Claims) -> Score {
    let facts = score_declared(registry, planned);
    let claims = claims.beyond(planned);
    if claims == Claims::default() {
        return facts;
    }
    let mut score = of_plan(registry, planned, &claims);
    score.without_claims = (!claims.probes.is_empty()).then(|| facts.figures());
    let leaves = |score: Score| score.families.into_iter().flat_map(|family| family.by_leaf);
    let by_leaf = score.families.iter_mut().flat_map(|family| &mut family.by_leaf);
    for (leaf, fact) in by_leaf.zip(leaves(facts)) {
        leaf.only_claimed = leaf.counted && !fact.counted;
    }
    score
}

fn of_plan(registry: &Registry, planned: &Planned, claims: &Claims) -> Score {
    assemble(&ScoreSettings {
        registry,
        level: Level::Declared,
        planned,
        claims,
        counts: &|variant| planned.variants.contains(variant),
        evidence: &|_| Vec::new(),
        is_decidable: &|_| true,
    })
}

/// Scores a run: a leaf counts when a variant of it was judged.
pub fn score_exercised(registry: &Registry, planned: &Planned, judged: &JudgedVariants) -> Score {
    assemble(&ScoreSettings {
        registry,
        level: Level::Exercised,
        planned,
        claims: &Claims::default(),
        counts: &|variant| judged.by_variant.get(variant).is_some_and(|cases| !cases.is_empty()),
        evidence: &|variant| judged.by_variant.get(variant).cloned().unwrap_or_default(),
        is_decidable: &|_| true,
    })
}

/// Scores a proof: a leaf counts when all of its variants that can occur and be imitated were noticed in every imitation.
///
/// The percentages are those of variants. A variant that nobody tried to imitate, although that can be done, is not
/// proven and counts among those that could be.
pub fn proven(registry: &Registry, planned: &Planned, proved: &Proved) -> Score {
    let standing = |variant: &str| proved.by_variant.get(variant);
    assemble(&ScoreSettings {
        registry,
        level: Level::Proven,
        planned,
        claims: &Claims::default(),
        counts: &|variant| matches!(standing(variant), Some(Standing::Proven(_))),
        evidence: &|variant| match standing(variant) {
            Some(Standing::Proven(kills)) => kills.clone(),
            Some(Standing::Open | Standing::LeftOut) | None => Vec::new(),
        },
        is_decidable: &|variant| match standing(&variant.id) {
            Some(Standing::Proven(_) | Standing::Open) => true,
            Some(Standing::LeftOut) => false,
            None => !variant.mutants().is_empty(),
        },
    })
}
