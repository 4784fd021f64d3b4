//! Mutants in front of the real servers: those that a recording leaves undecided, and those that change how servers start.
//!
//! First the cases run once more without any mutant; only those that pass can notice one. What notices a mutant must
//! pass again once it is gone, or it proves nothing. Start reading in [`decide`].

mod launches;
mod overlay;
mod start;
mod tampering;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::runtime::{Builder, Runtime};

pub(super) use self::launches::Launches;
use self::overlay::Script;
use self::tampering::{Shared, Surroundings, Tampering};
use super::control::{Controlled, again};
use super::freeze::only;
use super::plant::{Bed, Planted};
use super::rerun::{Rerun, Telling, once, seen};
use super::trial::{Court, Suspect, can_occur};
use super::verdict::{Judged, judged};
use crate::event::{Control, Kill, MutantResult, Verdict};
use crate::fault::Fault;
use crate::plan::Plan;
use crate::runner::{Options, Tamper};
use crate::transport::relay::intercept;

/// Tries the mutants that a recording cannot decide, one at a time; returns what the run without any mutant showed, or
/// nothing where there was nothing to try.
pub(super) fn decide(
    court: &Court<'_>,
    (suspects, launches): (&[Suspect<'_>], &Launches),
    mutants: &mut [MutantResult],
) -> std::io::Result<Option<Control>> {
    let is_open = |suspect: &Suspect<'_>, result: &MutantResult| {
        suspect.mutant.start.is_some() || result.verdict == Verdict::Undecided
    };
    let open: Vec<(&Suspect<'_>, &mut MutantResult)> =
        suspects.iter().zip(mutants).filter(|(suspect, result)| is_open(suspect, result)).collect();
    if open.is_empty() {
        return Ok(None);
    }
    let mut cases = BTreeSet::new();
    for (suspect, _) in &open {
        cases.extend(match &suspect.mutant.start {
            Some(start) => start::jury(court, (suspect, start), launches),
            None => reached(court, suspect, &court.controlled.green).1.cases().map(|case| case.id.clone()).collect(),
        });
    }
    let mut bench = Bench { court, runtime: runtime()?, controlled: None };
    let plan = only(&court.plan, &|_, case| cases.contains(&case.id));
    bench.controlled = Some(again(court.controlled, &plan, &bench.healthy(&plan)));
    for (suspect, result) in open {
        if court.proving.options.stop.is_set() {
            result.reason = Some("the run was stopped before it was tried".to_owned());
            continue;
        }
        match &suspect.mutant.start {
            Some(start) => start::trial(&bench, (suspect, start), launches, result),
            None => bench.trial(suspect, result),
        }
        result.live = true;
    }
    Ok(bench.controlled.map(|controlled| controlled.control))
}

/// A runtime in which real servers run.
fn runtime() -> std::io::Result<Runtime> {
    Builder::new_current_thread().enable_all().build()
}

/// Where a mutant would strike, and the cases that it reaches.
fn reached(court: &Court<'_>, suspect: &Suspect<'_>, green: &BTreeSet<String>) -> (Planted, Plan) {
    let beds: Vec<&Bed<'_>> = court.beds.iter().filter(|bed| can_occur(suspect.variant, bed)).collect();
    let planted = match &suspect.mutant.fault {
        Some(fault) => Planted::new((fault, suspect.mutant.shown_by.as_ref()), &beds, green),
        None => Planted::default(),
    };
    let plan = court.reached(&planted.places.iter().collect::<Vec<_>>());
    let plan = only(&plan, &|_, case| green.contains(&case.id));
    (planted, plan)
}

/// What all live trials share.
struct Bench<'a> {
    court: &'a Court<'a>,
    runtime: Runtime,
    /// What the run without any mutant showed; nothing before it.
    controlled: Option<Controlled>,
}

impl Bench<'_> {
    fn controlled(&self) -> &Controlled {
        self.controlled.as_ref().unwrap_or(self.court.controlled)
    }

    /// What becomes of a mutant that the recording left undecided.
    fn trial(&self, suspect: &Suspect<'_>, result: &mut MutantResult) {
        let (planted, plan) = reached(self.court, suspect, &self.controlled().green);
        let Some(fault) = suspect.mutant.fault.as_ref().filter(|_| plan.cases().next().is_some()) else {
            result.reason = Some("no case that it reaches passed in front of the server without it".to_owned());
            return;
        };
        let rerun = self.front(&plan, Some((fault, &planted, suspect)));
        let judged = self.confirmed(&plan, judged(&plan, self.controlled(), &rerun));
        let survived = result.tools.iter().filter(|at| at.verdict == Verdict::Survived);
        let survived: BTreeSet<String> = survived.map(|at| at.tool.clone()).collect();
        for at in &mut result.tools {
            at.verdict = at_tool(&judged, &planted, (&at.tool, &survived), at.verdict);
        }
        result.missing = self.court.missing(suspect.variant, &planted, judged.verdict, &result.tools);
        (result.verdict, result.kills, result.reason) = (judged.verdict, judged.kills, judged.reason);
        if result.verdict == Verdict::Unreached {
            result.verdict = Verdict::Undecided;
            result.reason = Some("in front of the real server it met nothing that it could change".to_owned());
        }
    }

    /// Takes back kills by what fails without the mutant as well by now: servers keep what they are told.
    fn confirmed(&self, plan: &Plan, judged: Judged) -> Judged {
        if judged.kills.is_empty() {
            return judged;
        }
        let now = again(self.controlled(), plan, &self.healthy(plan));
        let is_sound = |kill: &Kill| !plan.cases().any(|case| case.id == kill.case) || now.green.contains(&kill.case);
        let (kills, doubtful): (Vec<Kill>, Vec<Kill>) = judged.kills.into_iter().partition(is_sound);
        match (kills.first(), doubtful.first()) {
            (None, Some(kill)) => Judged {
                verdict: Verdict::Undecided,
                reason: Some(format!("`{}` failed, and fails without the mutant as well by now", kill.case)),
                kills,
            },
            _ => Judged { kills, ..judged },
        }
    }

    /// Runs cases through the relay without any mutant.
    fn healthy(&self, plan: &Plan) -> Rerun {
        self.front(plan, None)
    }

    /// Runs cases with somebody in front of their servers.
    fn front(&self, plan: &Plan, mutant: Option<(&Fault, &Planted, &Suspect<'_>)>) -> Rerun {
        let shared: Arc<Mutex<Shared>> = Arc::default();
        let around: BTreeMap<String, Surroundings> = self
            .court
            .beds
            .iter()
            .map(|bed| {
                let mutant = mutant.filter(|(_, _, suspect)| can_occur(suspect.variant, bed));
                let expected = mutant.map(|(_, planted, _)| planted.changes.get(bed.name).cloned().unwrap_or_default());
                let (catalog, capabilities) = (bed.catalog.clone(), bed.capabilities.clone());
                let redactor = self.court.proving.concealing();
                let script = Script::new(catalog, capabilities, bed.recorded.exchanges.clone(), redactor);
                let around = Surroundings {
                    fault: mutant.map(|(fault, _, _)| fault.clone()),
                    script: Arc::new(script),
                    expected: Arc::new(expected.unwrap_or_default().into_keys().collect()),
                    shared: Arc::clone(&shared),
                };
                (bed.name.to_owned(), around)
            })
            .collect();
        let tamper = Tamper::new(
            |_, _| {},
            move |lane, link| match around.get(lane) {
                Some(around) => {
                    let transport = link.transport;
                    intercept(link, Tampering::new(around.clone(), lane, transport))
                }
                None => link,
            },
        );
        let rerun = self.run(plan, tamper);
        let log = shared.lock().unwrap_or_else(PoisonError::into_inner).log.clone();
        Rerun { log, ..rerun }
    }

    /// Runs cases against their servers, one at a time.
    fn run(&self, plan: &Plan, tamper: Tamper) -> Rerun {
        let proving = self.court.proving;
        let options = Options { tamper: Some(tamper), ..once(proving.options) };
        seen(&self.runtime, plan.clone(), (&options, proving.registry), Telling::Verdicts)
    }
}

/// What the verdict on a mutant everywhere says about one tool, where nothing was noticed at some others.
fn at_tool(
    judged: &Judged,
    planted: &Planted,
    (tool, survived): (&str, &BTreeSet<String>),
    before: Verdict,
) -> Verdict {
    let is_due_to_it = |case: &str| {
        let struck = planted.places.iter().filter(|place| place.owner == case || place.owner.is_empty());
        let mut tools = struck.map(|place| place.tool.as_deref()).peekable();
        tools.peek().is_some()
            && tools.all(|struck| struck.is_some_and(|struck| struck == tool || survived.contains(struck)))
    };
    match judged.verdict {
        _ if before != Verdict::Undecided => before,
        Verdict::Killed if judged.kills.iter().any(|kill| is_due_to_it(&kill.case)) => Verdict::Killed,
        // What nobody noticed everywhere, nobody notices at one tool.
        Verdict::Survived => Verdict::Survived,
        Verdict::Killed | Verdict::Undecided | Verdict::Unreached | Verdict::Redundant | Verdict::LiveOnly => before,
    }
}
