//! The verdict of a proof on each variant.

use std::collections::BTreeMap;

use crate::event::{LeftOut, MutantResult, Verdict};
use crate::taxonomy::score::Evidence;

/// The variants of which mutants were tried.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Proved {
    /// By variant; one that is not here was not tried.
    pub by_variant: BTreeMap<String, Standing>,
}

/// How a variant stands after its mutants were tried.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    /// Every mutant that could be planted was killed, and there was one; the case that killed each, first of all.
    Proven(Vec<Evidence>),
    /// A mutant survived, was undecided, or met nothing that it could change: the suite is what has to grow.
    Open,
    /// No mutant can be planted, whatever the suite says.
    LeftOut,
}

impl Proved {
    /// Reads it off the mutants and off the variants that are left out.
    ///
    /// Mutants that are redundant or need the real server say nothing about the suite; a variant that has no others is
    /// left out. One that the suite does not reach keeps its variant open, else leaving a test out would raise the figure.
    pub fn of(mutants: &[MutantResult], left_out: &[LeftOut]) -> Self {
        let mut tried: BTreeMap<String, Vec<&MutantResult>> = BTreeMap::new();
        for mutant in mutants {
            tried.entry(mutant.variant.clone()).or_default().push(mutant);
        }
        let mut by_variant: BTreeMap<String, Standing> =
            tried.into_iter().map(|(variant, mutants)| (variant, standing(&mutants))).collect();
        by_variant.extend(left_out.iter().map(|one| (one.id.clone(), Standing::LeftOut)));
        Self { by_variant }
    }
}

fn standing(mutants: &[&MutantResult]) -> Standing {
    let any = |verdict: Verdict| mutants.iter().any(|mutant| mutant.verdict == verdict);
    if any(Verdict::Survived) || any(Verdict::Undecided) || any(Verdict::Unreached) {
        return Standing::Open;
    }
    if any(Verdict::Killed) {
        let mut kills: Vec<Evidence> = Vec::new();
        for kill in mutants.iter().filter_map(|mutant| mutant.kills.first()) {
            if !kills.iter().any(|known| known.case == kill.case) {
                kills.push(Evidence { case: kill.case.clone(), frames: Vec::new() });
            }
        }
        return Standing::Proven(kills);
    }
    Standing::LeftOut
}
