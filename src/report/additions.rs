//! The additions to a suite that gain most, as every format shows them.

use crate::event::{Addition, Proof, StepOfTest};
use crate::source::yaml_writer;

use super::proven::MutantCounts;
use super::terminal::plural;

/// The most additions that are shown.
const MOST: usize = 5;

/// The additions that gain most, and what they gain in all; nothing where none is known.
pub(crate) fn best(proof: &Proof) -> Option<(String, &[Addition])> {
    let shown = &proof.additions[..proof.additions.len().min(MOST)];
    let kills: usize = shown.iter().map(|addition| addition.kills).sum();
    let survivors = MutantCounts::of(&proof.mutants).survived;
    let told = match shown.len() {
        _ if kills == 0 => return None,
        1 => format!("this addition kills {kills} of {survivors} survivors:"),
        many => format!("these {many} additions kill {kills} of {survivors} survivors:"),
    };
    Some((told, shown))
}

/// Where an addition belongs, and how many changes it notices.
pub(crate) fn place(addition: &Addition) -> String {
    let (file, changes) = (&addition.file, plural(addition.notices, "change"));
    match &addition.at {
        Some(StepOfTest { test, line, .. }) => {
            format!("line {line} of {file}, in `expect` of `{test}`, notices {changes}:")
        }
        None => format!("a new test of {file} notices {changes}:"),
    }
}

/// The lines to add: those of the expectations, or of the whole test.
pub(crate) fn lines(addition: &Addition) -> String {
    let expected = || {
        let tests = yaml_writer::read_value(&addition.yaml)?;
        let test = tests.get(0)?;
        let last = test.get("steps").and_then(|steps| steps.as_array()?.last()).unwrap_or(test);
        Some(yaml_writer::block(last.get("expect")?, 0))
    };
    addition.at.as_ref().and_then(|_| expected()).unwrap_or_else(|| addition.yaml.clone())
}
