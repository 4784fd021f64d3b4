//! The verdict on a fault at each tool, prompt, resource and session: whether the suite would notice it there.
//!
//! A fault is proven at a subject if the suite notices it in every value of one of the recorded answers, and in the same
//! way every operator that shows in any answer. A further test adds answers and kills, so it never takes a proof away.
//! Mutants of the start change no answer: such an operator is noticed if one of its changes is.

use std::collections::BTreeSet;

use indexmap::IndexMap;

use super::mutation_runner::{MutantSites, OperatorTrial};
use crate::event::{FaultAtSubject, MutantResult, MutantSubject, PlantedMutant, Verdict};

/// The verdicts on every fault at every subject, in the order of the trials.
pub(crate) fn table(trials: &[OperatorTrial]) -> Vec<FaultAtSubject> {
    let mut mutants: IndexMap<FaultSite<'_>, Vec<SitedMutant<'_>>> = IndexMap::new();
    let mut starts: IndexMap<FaultSite<'_>, Vec<StartTrial<'_>>> = IndexMap::new();
    for OperatorTrial { result, sites } in trials {
        if sites.is_empty() {
            for (cell, changes) in start_trials(result) {
                starts.entry(cell).or_default().push(StartTrial { changes });
            }
            continue;
        }
        for (mutant, sites) in result.mutants.iter().zip(sites) {
            let PlantedMutant { target, subject, .. } = mutant;
            let cell = FaultSite { target, subject, variant: &result.variant, leaf: &result.leaf };
            mutants.entry(cell).or_default().push(SitedMutant { mutant, sites });
        }
    }
    let answers = mutants.into_iter().map(|(cell, mutants)| cell.judge(&mutants));
    answers.chain(starts.into_iter().map(|(cell, trials)| cell.judge_starts(&trials))).collect()
}

/// The changes of the start that an operator made, by target.
fn start_trials(result: &MutantResult) -> IndexMap<FaultSite<'_>, Vec<&PlantedMutant>> {
    let mut changes: IndexMap<FaultSite<'_>, Vec<&PlantedMutant>> = IndexMap::new();
    for mutant in &result.mutants {
        let PlantedMutant { target, subject, .. } = mutant;
        let cell = FaultSite { target, subject, variant: &result.variant, leaf: &result.leaf };
        changes.entry(cell).or_default().push(mutant);
    }
    changes
}

/// The changes of an operator to the start of a target, one thing at a time.
struct StartTrial<'a> {
    changes: Vec<&'a PlantedMutant>,
}

impl StartTrial<'_> {
    fn verdict(&self) -> Verdict {
        let any = |verdict: &Verdict| self.changes.iter().any(|change| change.verdict == *verdict);
        let telling = [Verdict::Killed, Verdict::Survived, Verdict::Undecided];
        telling.into_iter().find(any).unwrap_or(Verdict::Unreached)
    }
}

/// A fault at a subject of a target.
#[derive(PartialEq, Eq, Hash)]
struct FaultSite<'a> {
    target: &'a str,
    subject: &'a MutantSubject,
    variant: &'a str,
    leaf: &'a str,
}

#[derive(Clone, Copy)]
struct SitedMutant<'a> {
    mutant: &'a PlantedMutant,
    sites: &'a MutantSites,
}

impl FaultSite<'_> {
    fn judge(&self, mutants: &[SitedMutant<'_>]) -> FaultAtSubject {
        self.with_verdict(verdict(mutants), &mutants.iter().map(|one| one.mutant).collect::<Vec<_>>())
    }

    /// Every operator must be noticed.
    fn judge_starts(&self, trials: &[StartTrial<'_>]) -> FaultAtSubject {
        let any = |verdict: &Verdict| trials.iter().any(|trial| trial.verdict() == *verdict);
        let worst = [Verdict::Survived, Verdict::Unreached, Verdict::Undecided].into_iter().find(any);
        let changes: Vec<&PlantedMutant> = trials.iter().flat_map(|trial| trial.changes.iter().copied()).collect();
        self.with_verdict(worst.unwrap_or(Verdict::Killed), &changes)
    }

    fn with_verdict(&self, verdict: Verdict, mutants: &[&PlantedMutant]) -> FaultAtSubject {
        let places = || mutants.iter().flat_map(|mutant| &mutant.places);
        FaultAtSubject {
            target: self.target.to_owned(),
            subject: self.subject.clone(),
            variant: self.variant.to_owned(),
            leaf: self.leaf.to_owned(),
            verdict,
            killed: places().filter(|place| place.verdict == Verdict::Killed).count(),
            planted: places().filter(|place| place.verdict != Verdict::Unreached).count(),
        }
    }
}

fn verdict(mutants: &[SitedMutant<'_>]) -> Verdict {
    let relevant: Vec<SitedMutant<'_>> = mutants.iter().filter(|one| one.mutant.verdict.counts()).copied().collect();
    let Some(first) = relevant.first() else {
        return mutants.first().map_or(Verdict::CannotOccur, |one| one.mutant.verdict);
    };
    let is_met = |one: &SitedMutant<'_>| one.is_noticed_in_an_answer();
    let certain = || relevant.iter().filter(|one| one.sites.is_certain);
    if certain().all(is_met) && has_guarded_answer(&relevant) {
        return Verdict::Killed;
    }
    let any = |verdict: Verdict| {
        relevant
            .iter()
            .any(|one| one.mutant.verdict == verdict || one.mutant.places.iter().any(|p| p.verdict == verdict))
    };
    let open = [Verdict::Survived, Verdict::Undecided, Verdict::NotCalled, Verdict::Unreached];
    open.into_iter().find(|verdict| any(*verdict)).unwrap_or(first.mutant.verdict)
}

impl SitedMutant<'_> {
    /// Whether the suite notices the mutant in every place of one exchange.
    fn is_noticed_in_an_answer(&self) -> bool {
        has_guarded_answer(std::slice::from_ref(self))
    }
}

/// Whether there is an exchange in which every change of these mutants is noticed.
fn has_guarded_answer(mutants: &[SitedMutant<'_>]) -> bool {
    let (mut changed, mut unguarded) = (BTreeSet::<usize>::new(), BTreeSet::<usize>::new());
    for SitedMutant { mutant, sites } in mutants {
        for (place, exchanges) in mutant.places.iter().zip(&sites.exchanges) {
            changed.extend(exchanges);
            if place.verdict != Verdict::Killed {
                unguarded.extend(exchanges);
            }
        }
    }
    changed.difference(&unguarded).next().is_some()
}
