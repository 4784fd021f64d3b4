//! The verdict of a proof on each variant.

use std::collections::{BTreeMap, BTreeSet};

use crate::event::{FaultAtSubject, LeftOut, MutantResult, Verdict};
use crate::taxonomy::score::Evidence;

/// The variants of which mutants were tried.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Proved {
    /// By variant; one that is not here was not tried.
    pub by_variant: BTreeMap<String, Standing>,
}

/// The verdict on a variant after its mutants were tried.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    /// The fault is noticed at every tool, prompt, resource and session that it applies to; the cases that noticed it.
    Proven(Vec<Evidence>),
    /// At one of them a mutant survived, was undecided, or met nothing that it could change: the suite has to grow.
    Open,
    /// No mutant can be planted, whatever the suite says.
    LeftOut,
}

impl Proved {
    /// Reads it off the table of faults, the mutants that are in no table, and the variants that are left out.
    ///
    /// A fault that the server shows already, or whose mutants need the real server, says nothing about the suite. A
    /// fault that the suite does not reach at some tool keeps its variant open, else leaving a test out would raise the
    /// figure.
    pub fn of<'a>(
        mutants: &[MutantResult],
        table: impl Iterator<Item = &'a FaultAtSubject>,
        left_out: &[LeftOut],
    ) -> Self {
        let mut verdicts: BTreeMap<&str, Vec<Verdict>> = BTreeMap::new();
        for mutant in mutants {
            verdicts.entry(&mutant.variant).or_default().extend(mutant.mutants.is_empty().then_some(mutant.verdict));
        }
        for fault in table {
            verdicts.entry(&fault.variant).or_default().push(fault.verdict);
        }
        let standing = |(variant, verdicts): (&str, Vec<Verdict>)| {
            let kills = mutants.iter().filter(|mutant| mutant.variant == variant).flat_map(MutantResult::kills);
            (variant.to_owned(), standing(&verdicts, &mut kills.map(|kill| kill.case.as_str())))
        };
        let mut by_variant: BTreeMap<String, Standing> = verdicts.into_iter().map(standing).collect();
        by_variant.extend(left_out.iter().map(|one| (one.id.clone(), Standing::LeftOut)));
        Self { by_variant }
    }
}

fn standing(verdicts: &[Verdict], kills: &mut dyn Iterator<Item = &str>) -> Standing {
    let mut counting = verdicts.iter().filter(|verdict| verdict.counts()).peekable();
    if counting.peek().is_none() {
        return Standing::LeftOut;
    }
    if counting.any(|verdict| *verdict != Verdict::Killed) {
        return Standing::Open;
    }
    let cases: BTreeSet<&str> = kills.collect();
    Standing::Proven(cases.into_iter().map(|case| Evidence { case: case.to_owned(), frames: Vec::new() }).collect())
}
