//! What a proof says about each variant.

use std::collections::BTreeMap;

use crate::event::{LeftOut, MutantResult, Verdict};
use crate::taxonomy::score::Evidence;

/// What was proven.
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
    /// Mutants that are redundant or need the real server say nothing about the suite, so they neither prove a variant
    /// nor keep it from being proven; one that has no others is left out. An unreached one keeps it from being proven:
    /// else leaving a test out would raise the figure.
    pub fn of(mutants: &[MutantResult], left_out: &[LeftOut]) -> Self {
        let mut by_variant: BTreeMap<String, Standing> = BTreeMap::new();
        for mutant in mutants {
            let standing = by_variant.entry(mutant.variant.clone()).or_insert(Standing::LeftOut);
            take_in(standing, mutant);
        }
        by_variant.extend(left_out.iter().map(|one| (one.id.clone(), Standing::LeftOut)));
        Self { by_variant }
    }
}

fn take_in(standing: &mut Standing, mutant: &MutantResult) {
    match mutant.verdict {
        Verdict::Redundant | Verdict::LiveOnly => {}
        Verdict::Survived | Verdict::Undecided | Verdict::Unreached => *standing = Standing::Open,
        Verdict::Killed => {
            let first = mutant.kills.first().map(|kill| Evidence { case: kill.case.clone(), frames: Vec::new() });
            match standing {
                Standing::Open => {}
                Standing::LeftOut => *standing = Standing::Proven(first.into_iter().collect()),
                Standing::Proven(kills) => {
                    let more = first.filter(|kill| !kills.contains(kill));
                    kills.extend(more);
                }
            }
        }
    }
}
