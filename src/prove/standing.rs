//! The verdict on a fault at each tool, prompt, resource and session: whether the suite would notice it there.
//!
//! A fault is proven at a subject if the suite notices it in every value of one of the recorded answers, and in the same
//! way every operator that shows in any answer; besides in every field that the declaration of a tool names, and in the
//! items of every list that is empty in that answer. A further test adds answers and kills, and what has to be noticed
//! beside one answer depends on the server alone, so it never takes a proof away.
//! Mutants of the start change no answer: such an operator is noticed if one of its changes is.

use std::collections::BTreeSet;

use indexmap::IndexMap;

use super::mutation_runner::{MutantSites, OperatorTrial};
use crate::event::{FaultAtSubject, MutantPlace, MutantResult, MutantSubject, PlantedMutant, Verdict};

/// The verdicts on every fault at every subject, in the order of the trials.
pub(crate) fn table(trials: &[OperatorTrial]) -> Vec<FaultAtSubject> {
    let mut mutants: IndexMap<FaultSite<'_>, Vec<SitedMutant<'_>>> = IndexMap::new();
    let mut starts: IndexMap<FaultSite<'_>, Vec<StartTrial<'_>>> = IndexMap::new();
    for OperatorTrial { result, sites, .. } in trials {
        if sites.is_empty() {
            for (cell, changes) in start_trials(result) {
                starts.entry(cell).or_default().push(StartTrial { changes });
            }
            continue;
        }
        for (mutant, sites) in result.mutants.iter().zip(sites) {
            mutants.entry(FaultSite::of(mutant, result)).or_default().push(SitedMutant { mutant, sites });
        }
    }
    let answers = mutants.into_iter().map(|(cell, mutants)| cell.judge(&mutants));
    answers.chain(starts.into_iter().map(|(cell, trials)| cell.judge_starts(&trials))).collect()
}

/// The changes of the start that an operator made, by target.
fn start_trials(result: &MutantResult) -> IndexMap<FaultSite<'_>, Vec<&PlantedMutant>> {
    let mut changes: IndexMap<FaultSite<'_>, Vec<&PlantedMutant>> = IndexMap::new();
    for mutant in &result.mutants {
        changes.entry(FaultSite::of(mutant, result)).or_default().push(mutant);
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

impl<'a> FaultSite<'a> {
    fn of(mutant: &'a PlantedMutant, result: &'a MutantResult) -> Self {
        let PlantedMutant { target, subject, .. } = mutant;
        Self { target, subject, variant: &result.variant, leaf: &result.leaf }
    }
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
            planted: places().filter(|place| is_planted(place)).count(),
        }
    }
}

fn verdict(mutants: &[SitedMutant<'_>]) -> Verdict {
    let relevant: Vec<SitedMutant<'_>> = mutants.iter().filter(|one| one.mutant.verdict.counts()).copied().collect();
    let Some(first) = relevant.first() else {
        return mutants.first().map_or(Verdict::CannotOccur, |one| one.mutant.verdict);
    };
    let is_met = |one: &SitedMutant<'_>| has_guarded_answer(std::slice::from_ref(one));
    let certain = || relevant.iter().filter(|one| one.sites.is_certain);
    if relevant.iter().all(SitedMutant::guards_declared) && certain().all(is_met) && has_guarded_answer(&relevant) {
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

/// It was changed, and the server does not behave like that by itself.
fn is_planted(place: &MutantPlace) -> bool {
    !matches!(place.verdict, Verdict::Unreached | Verdict::Redundant)
}

impl SitedMutant<'_> {
    /// The mutant is noticed in every field that the declaration of the tool names.
    fn guards_declared(&self) -> bool {
        let places = self.mutant.places.iter().zip(&self.sites.required);
        places.filter(|(_, is_required)| **is_required).all(|(place, _)| self.is_guarded(place))
    }

    /// The mutant is noticed at the place; where a list is empty, in all values of its items in one of the answers.
    fn is_guarded(&self, place: &MutantPlace) -> bool {
        match place.verdict {
            Verdict::Killed | Verdict::Redundant => true,
            Verdict::Unreached => self.has_guarded_exchange(&|other| is_within(&other.field, &place.field)),
            Verdict::Survived
            | Verdict::Undecided
            | Verdict::NotCalled
            | Verdict::CannotOccur
            | Verdict::LiveOnly
            | Verdict::Untried => false,
        }
    }

    /// There is an exchange in which the mutant is noticed at each of these places.
    fn has_guarded_exchange(&self, is_meant: &dyn Fn(&MutantPlace) -> bool) -> bool {
        has_guarded_exchange(std::slice::from_ref(self), is_meant)
    }
}

/// A field lies within another one: `rooms[*].name` within `rooms[*]`.
fn is_within(field: &str, outer: &str) -> bool {
    field.strip_prefix(outer).is_some_and(|rest| rest.starts_with(['.', '[']))
}

/// Takes the places out at which a list is empty in some answers, if the mutant is noticed in its items in another one.
pub(crate) fn settle(trials: &mut [OperatorTrial]) {
    for OperatorTrial { result, sites, .. } in trials.iter_mut().filter(|trial| !trial.sites.is_empty()) {
        for (mutant, sites) in result.mutants.iter_mut().zip(sites) {
            let one = SitedMutant { mutant, sites };
            let is_settled = |place: &MutantPlace| place.verdict == Verdict::Unreached && one.is_guarded(place);
            let kept: Vec<bool> = mutant.places.iter().map(|place| !is_settled(place)).collect();
            if kept.iter().all(|is_kept| *is_kept) {
                continue;
            }
            retain(&mut mutant.places, &kept);
            retain(&mut sites.exchanges, &kept);
            retain(&mut sites.required, &kept);
            mutant.conclude();
        }
        result.conclude();
    }
}

fn retain<T>(items: &mut Vec<T>, kept: &[bool]) {
    let mut kept = kept.iter();
    items.retain(|_| kept.next() == Some(&true));
}

/// There is an exchange in which every change of these mutants is noticed.
fn has_guarded_answer(mutants: &[SitedMutant<'_>]) -> bool {
    has_guarded_exchange(mutants, &|_| true)
}

fn has_guarded_exchange(mutants: &[SitedMutant<'_>], is_meant: &dyn Fn(&MutantPlace) -> bool) -> bool {
    let (mut changed, mut unguarded) = (BTreeSet::<usize>::new(), BTreeSet::<usize>::new());
    for one in mutants {
        let places = one.mutant.places.iter().zip(&one.sites.exchanges).filter(|(place, _)| is_meant(place));
        for (place, exchanges) in places {
            changed.extend(exchanges.iter().filter(|_| place.verdict != Verdict::Redundant));
            if !one.is_guarded(place) {
                unguarded.extend(exchanges);
            }
        }
    }
    changed.difference(&unguarded).next().is_some()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::MutantPlace;

    /// A place: its field, its verdict, its exchange; a field with a `!` is one that the tool declares.
    type Place = (&'static str, Verdict, usize);

    /// The verdict on the operators of a fault: their certainty, and the verdict and the exchange of each place.
    fn check(operators: &[(bool, &[(Verdict, usize)])], expected: Verdict) {
        let named = |(verdict, exchange): &(Verdict, usize)| ("", *verdict, *exchange);
        let places: Vec<(bool, Vec<Place>)> =
            operators.iter().map(|(is_certain, places)| (*is_certain, places.iter().map(named).collect())).collect();
        let operators: Vec<(bool, &[Place])> =
            places.iter().map(|(is_certain, places)| (*is_certain, places.as_slice())).collect();
        check_fields(&operators, expected);
    }

    fn check_fields(operators: &[(bool, &[Place])], expected: Verdict) {
        let planted = operators.iter().map(|(is_certain, places)| {
            let place = |(field, verdict, _): &Place| MutantPlace {
                field: field.trim_end_matches('!').to_owned(),
                verdict: *verdict,
                kill: None,
            };
            let mut mutant = PlantedMutant {
                target: "target".to_owned(),
                subject: MutantSubject::session(),
                verdict: Verdict::Unreached,
                reason: None,
                places: places.iter().map(place).collect(),
            };
            mutant.conclude();
            // A declared field that nothing reached is in no exchange.
            let is_missing = |(field, verdict, _): &Place| field.ends_with('!') && *verdict == Verdict::Unreached;
            let exchanges =
                places.iter().map(|place| if is_missing(place) { Vec::new() } else { vec![place.2] }).collect();
            let required = places.iter().map(|(field, ..)| field.ends_with('!')).collect();
            (mutant, MutantSites { is_certain: *is_certain, exchanges, required })
        });
        let planted: Vec<(PlantedMutant, MutantSites)> = planted.collect();
        let sited: Vec<SitedMutant<'_>> = planted.iter().map(|(mutant, sites)| SitedMutant { mutant, sites }).collect();
        assert_eq!(verdict(&sited), expected, "{operators:?}");
    }

    #[test]
    fn a_fault_is_proven_by_one_guarded_answer() {
        use Verdict::{CannotOccur, Killed, Redundant, Survived, Undecided};
        check(&[], CannotOccur);
        check(&[(true, &[(Killed, 0)])], Killed);
        check(&[(true, &[(Survived, 0)])], Survived);
        check(&[(true, &[(Killed, 0), (Survived, 1)])], Killed);
        check(&[(true, &[(Killed, 0), (Survived, 0)])], Survived);
        check(&[(true, &[(Killed, 0)]), (true, &[(Survived, 0)])], Survived);
        check(&[(true, &[(Killed, 0)]), (true, &[(Survived, 1)])], Survived);
        check(&[(true, &[(Killed, 0)]), (false, &[(Survived, 1)])], Killed);
        check(&[(true, &[(Killed, 0)]), (false, &[(Survived, 0)])], Survived);
        check(&[(true, &[(Undecided, 0)])], Undecided);
        check(&[(true, &[(Redundant, 0)])], Redundant);
    }

    #[test]
    fn a_fault_is_proven_over_every_declared_field() {
        use Verdict::{Killed, Redundant, Survived, Unreached};
        check_fields(&[(false, &[("total!", Killed, 0), ("rooms[*].name!", Unreached, 0)])], Unreached);
        check_fields(&[(false, &[("total!", Killed, 0), ("rooms[*].name!", Survived, 1)])], Survived);
        check_fields(&[(false, &[("total!", Killed, 0), ("rooms[*].name!", Killed, 1)])], Killed);
        check_fields(&[(false, &[("total!", Killed, 0), ("note", Survived, 1)])], Killed);
        check_fields(&[(false, &[("total!", Killed, 0), ("age!", Redundant, 0)])], Killed);
    }

    #[test]
    fn an_empty_list_hides_its_items() {
        use Verdict::{Killed, Survived, Unreached};
        let empty = [("total", Killed, 0), ("rooms[*]", Unreached, 0)];
        let with = |more: &[Place]| [&empty, more].concat();
        check_fields(&[(false, &empty)], Unreached);
        check_fields(&[(false, &with(&[("rooms[*].name", Killed, 1)]))], Killed);
        check_fields(&[(false, &with(&[("rooms[*].name", Killed, 1), ("rooms[*].floor", Survived, 1)]))], Survived);
        check_fields(&[(false, &with(&[("rooms[*].name", Killed, 1), ("rooms[*].floor", Survived, 2)]))], Killed);
        check_fields(&[(false, &with(&[("roomsize", Killed, 1)]))], Killed);
    }

    /// The verdict on the operators of a start, each with the verdicts on its changes.
    fn check_starts(operators: &[&[Verdict]], expected: Verdict) {
        let subject = MutantSubject::session();
        let mutant = |verdict: &Verdict| PlantedMutant {
            target: "target".to_owned(),
            subject: subject.clone(),
            verdict: *verdict,
            reason: None,
            places: Vec::new(),
        };
        let mutants: Vec<Vec<PlantedMutant>> =
            operators.iter().map(|changes| changes.iter().map(mutant).collect()).collect();
        let trials: Vec<StartTrial<'_>> =
            mutants.iter().map(|changes| StartTrial { changes: changes.iter().collect() }).collect();
        let site = FaultSite { target: "target", subject: &subject, variant: "variant", leaf: "leaf" };
        assert_eq!(site.judge_starts(&trials).verdict, expected, "{operators:?}");
    }

    #[test]
    fn every_operator_of_the_start_must_be_noticed() {
        use Verdict::{Killed, Survived, Undecided, Unreached};
        check_starts(&[&[Killed]], Killed);
        check_starts(&[&[Killed, Survived]], Killed);
        check_starts(&[&[Killed], &[Survived]], Survived);
        check_starts(&[&[Killed], &[Undecided]], Undecided);
        check_starts(&[&[]], Unreached);
    }
}
