//! Proves what a suite would catch: faults are imitated in the recorded traffic, and the suite must turn red.
//!
//! A [`Recorder`] watches a run; [`prove`] runs the recorded plan again for every mutant, against a stage that answers
//! from the recording with the mutant's changes, in a time of its own. What nobody notices is a survivor. What cannot be
//! told from a recording is tried in front of the real servers where that is wanted.
//! Start reading in [`prove`].

mod control;
mod freeze;
mod line_up;
mod live;
mod plant;
mod recording;
mod replay;
mod rerun;
mod teach;
#[cfg(test)]
mod tests;
mod trial;
mod verdict;
mod workers;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Instant;

use self::control::controlled;
use self::freeze::{frozen, only};
use self::line_up::LineUp;
use self::live::{Launches, decide};
use self::plant::{Bed, beds};
use self::replay::{Changes, Indexed, Stage};
use self::rerun::{Telling, clock, rerun};
use self::trial::Court;
use self::workers::each;
use crate::coverage::{self, Planned, Proved};
use crate::event::{Event, Proof};
use crate::plan::{Plan, declared};
use crate::redact::Redactor;
use crate::runner::Options;
use crate::taxonomy::Registry;

pub use self::recording::{LaneRecording, RecordedCase, Recorder, Recording, file};
pub use self::teach::{MISSING_MARK, MissingSuite, missing_suites};

/// Whether a recording holds the secrets that travelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Secrets {
    /// It does; it was never written.
    Kept,
    /// They were taken out, and so they are from what is looked up in it.
    TakenOut,
}

impl Proving<'_> {
    /// Takes out of live messages what the recording does not hold.
    fn concealing(&self) -> Redactor {
        match self.secrets {
            Secrets::Kept => Redactor::default(),
            Secrets::TakenOut => self.redactor.clone(),
        }
    }
}

/// What is to be proven, and how.
#[derive(Debug)]
pub struct Proving<'a> {
    /// The plan that was recorded.
    pub plan: &'a Plan,
    /// What the recorded run was told; times and the environment are needed again.
    pub options: &'a Options,
    /// The mutants.
    pub registry: &'a Registry,
    /// The secrets of the plan.
    pub redactor: Redactor,
    /// Whether they are in the recording.
    pub secrets: Secrets,
    /// How many mutants are tried at a time.
    pub workers: usize,
    /// The names of the mutants to try; `None` for all.
    pub picks: Option<BTreeSet<String>>,
    /// Whether the real servers decide what the recording cannot.
    pub live: bool,
}

/// What proving came to.
#[derive(Debug)]
pub struct Proven {
    /// The proof.
    pub proof: Proof,
    /// What the control run told, for whoever has seen no run.
    pub events: Vec<Event>,
}

/// Why nothing was proven.
#[derive(Debug, thiserror::Error)]
pub enum NotProven {
    /// Somebody wished to stop.
    #[error("the run was interrupted")]
    Interrupted,
    /// The system gives no runtime.
    #[error("the system gives no runtime: {0}")]
    NoRuntime(#[from] std::io::Error),
}

/// Runs the recorded plan once without a mutant and once for every mutant.
pub fn prove(recording: Recording, proving: &Proving<'_>) -> Result<Proven, NotProven> {
    let begun = Instant::now();
    let plan = frozen(proving.plan, &recording);
    let recorded: BTreeSet<String> = recording.cases.iter().map(|case| case.id.clone()).collect();
    let plan = only(&plan, &|_, case| recorded.contains(&case.id));
    let indexed = Arc::new(Indexed::new(recording, proving.concealing()));
    let stage = Stage::new(Arc::clone(&indexed), Changes::default());
    let run = (proving.options, proving.registry);
    let rerun = rerun(&clock()?, plan.clone(), &stage, run, Telling::Everything);
    let controlled = controlled(&indexed.recording, &rerun);
    let beds = beds(&indexed.recording);
    let jury = only(&plan, &|_, case| controlled.green.contains(&case.id));
    let court = Court { proving, plan: jury, indexed: Arc::clone(&indexed), controlled: &controlled, beds: &beds };
    let launches = if proving.live { Launches::of(&plan, proving) } else { Launches::default() };
    let line_up = LineUp::of(proving, &plan, (&beds, &launches));
    let mut mutants = each((proving.workers, &proving.options.stop), &line_up.suspects, &|clock, suspect| {
        court.trial(clock, *suspect)
    })?;
    let live = if proving.live { decide(&court, (&line_up.suspects, &launches), &mut mutants)? } else { None };
    if proving.options.stop.is_set() {
        return Err(NotProven::Interrupted);
    }
    let proved = Proved::of(&mutants, &line_up.left_out);
    let proof = Proof {
        proven: coverage::proven(proving.registry, &planned(&plan, &beds), &proved),
        control: controlled.control.clone(),
        live,
        mutants,
        left_out: line_up.left_out,
        gates: Vec::new(),
        duration_us: u64::try_from(begun.elapsed().as_micros()).unwrap_or(u64::MAX),
    };
    let mut proof = proof;
    proof.change_texts(&|text| proving.redactor.text(text));
    Ok(Proven { proof, events: rerun.events })
}

/// What was planned where.
fn planned(plan: &Plan, beds: &[Bed<'_>]) -> Planned {
    let (probes, variants) = declared(plan);
    let agents = probes.contains("agent");
    let settings =
        beds.iter().map(|bed| (bed.recorded.transport.as_str().to_owned(), bed.recorded.revision.clone())).collect();
    Planned { probes, variants, agents, settings, claimed: BTreeSet::new() }
}
