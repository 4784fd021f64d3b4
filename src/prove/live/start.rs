//! Mutants that change how a server starts: one thing at a time, and what every case makes of it.

use std::collections::BTreeSet;

use super::super::freeze::only;
use super::super::replay::Moment;
use super::super::trial::{Court, Suspect, can_occur};
use super::super::verdict::{Judged, judged};
use super::{Bench, Launches};
use crate::event::{By, Kill, MutantResult, Outcome, Verdict};
use crate::runner::Tamper;
use crate::taxonomy::{Alteration, Start};

/// The cases that could notice a mutant.
pub(super) fn jury(court: &Court<'_>, mutant: (&Suspect<'_>, &Start), launches: &Launches) -> BTreeSet<String> {
    let lanes = lanes(court, mutant, launches);
    lanes.into_iter().flat_map(|(_, _, cases)| cases).collect()
}

/// The lanes whose start can be different, with what can be, and the cases that could notice it.
fn lanes(
    court: &Court<'_>,
    (suspect, start): (&Suspect<'_>, &Start),
    launches: &Launches,
) -> Vec<(String, Vec<Alteration>, BTreeSet<String>)> {
    let beds = court.beds.iter().filter(|bed| can_occur(suspect.variant, bed));
    let lanes = beds.map(|bed| {
        let known = bed.known();
        let has_shown = |case: &str| {
            let own = |at: &usize| known.exchanges[*at].owner == case;
            start.noticed_by().is_none_or(|on| (0..known.exchanges.len()).filter(own).any(|at| on.holds(at, &known)))
        };
        let of_lane =
            court.plan.suites.iter().flat_map(|planned| planned.cases.iter().map(move |case| (planned, case)));
        let of_lane = of_lane.filter(|(planned, case)| planned.lane_id(case.lane) == bed.name && has_shown(&case.id));
        let cases = of_lane.map(|(_, case)| case.id.clone()).collect();
        (bed.name.to_owned(), launches.alterations(start, bed.name), cases)
    });
    lanes.filter(|(_, alterations, _)| !alterations.is_empty()).collect()
}

/// What becomes of a mutant: killed where any of its alterations is noticed.
pub(super) fn trial(bench: &Bench<'_>, mutant: (&Suspect<'_>, &Start), launches: &Launches, result: &mut MutantResult) {
    let mut whole = Judged { verdict: Verdict::Unreached, kills: Vec::new(), reason: None };
    let redactor = &bench.court.proving.redactor;
    for (lane, alterations, cases) in lanes(bench.court, mutant, launches) {
        for alteration in alterations {
            let what = redactor.text(&alteration.what);
            let judged = noticed(bench, &lane, alteration, &cases);
            result.places += 1;
            result.change.push(format!("{lane} started {what}: {}", told(&judged)));
            if rank(judged.verdict) > rank(whole.verdict) {
                (whole.verdict, whole.reason) =
                    (judged.verdict, judged.reason.map(|why| format!("started {what}: {why}")));
            }
            whole.kills.extend(judged.kills);
        }
    }
    whole.reason = match whole.verdict {
        Verdict::Killed | Verdict::Survived => None,
        Verdict::Undecided => whole.reason,
        Verdict::Unreached | Verdict::Redundant | Verdict::LiveOnly => {
            Some(format!("no case that passes does what shows it: {}", mutant.0.variant.provoke))
        }
    };
    (result.verdict, result.kills, result.reason) = (whole.verdict, whole.kills, whole.reason);
}

/// Which verdict on one alteration counts for the whole.
fn rank(verdict: Verdict) -> u8 {
    match verdict {
        Verdict::Killed => 3,
        Verdict::Survived => 2,
        Verdict::Undecided => 1,
        Verdict::Unreached | Verdict::Redundant | Verdict::LiveOnly => 0,
    }
}

fn told(judged: &Judged) -> String {
    match (judged.verdict, judged.kills.first(), &judged.reason) {
        (Verdict::Killed, Some(kill), _) => format!("`{}` turned red", kill.case),
        (Verdict::Survived, ..) => "everything stayed green".to_owned(),
        (_, _, Some(reason)) => format!("undecided, {reason}"),
        (_, _, None) => "no case could notice it".to_owned(),
    }
}

/// Whether any of the cases turns red when a server starts in another way.
fn noticed(bench: &Bench<'_>, lane: &str, alteration: Alteration, cases: &BTreeSet<String>) -> Judged {
    let green = &bench.controlled().green;
    let plan = only(&bench.court.plan, &|_, case| cases.contains(&case.id) && green.contains(&case.id));
    if plan.cases().next().is_none() {
        return Judged { verdict: Verdict::Unreached, kills: Vec::new(), reason: None };
    }
    let of_lane = lane.to_owned();
    let tamper = Tamper::new(
        move |lane, command| {
            if lane == of_lane {
                alteration.apply(&mut command.args, &mut command.env);
            }
        },
        |_, link| link,
    );
    let mut rerun = bench.run(&plan, tamper);
    rerun.log.struck.push(Moment { owner: String::new(), frame: 0, session: 0 });
    let has_ended = |outcome: Outcome| matches!(outcome, Outcome::Passed | Outcome::Warned | Outcome::Failed);
    if !rerun.results.values().any(|result| has_ended(result.outcome)) {
        let first = rerun.results.values().flat_map(|result| &result.findings).next();
        let why = first.map(|finding| format!(": {}", finding.message)).unwrap_or_default();
        return Judged {
            verdict: Verdict::Undecided,
            kills: Vec::new(),
            reason: Some(format!("the server serves nobody{why}")),
        };
    }
    let found = judged(&plan, bench.controlled(), &rerun);
    // A server that complains is no suite that notices, and neither is one that does not start for a case.
    let is_noticed = |kill: &Kill| {
        kill.by == By::Expectation
            && rerun.results.get(&kill.case).is_some_and(|result| result.outcome == Outcome::Failed)
    };
    let kills: Vec<Kill> = found.kills.into_iter().filter(is_noticed).collect();
    let verdict = match (found.verdict, &found.reason) {
        (Verdict::Killed, _) if kills.is_empty() => Verdict::Survived,
        (Verdict::Survived, Some(_)) => Verdict::Undecided,
        (verdict, _) => verdict,
    };
    bench.confirmed(&plan, Judged { verdict, kills, reason: found.reason })
}
