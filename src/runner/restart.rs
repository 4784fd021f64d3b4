//! A case that restarts its server: its parts, and what they come to together.

use super::exchange::blank;
use crate::event::{CheckResult, Outcome};
use crate::plan::Script;
use crate::suite::Action;

/// The part of a script before its first `restart`, and what comes after it.
pub(super) fn split_at_restart(mut script: Script) -> (Script, Option<Script>) {
    let restart = script.steps.iter().position(|step| matches!(step.action, Action::Restart));
    let later = restart.map(|at| {
        let steps = script.steps.split_off(at + 1);
        script.steps.pop();
        Script { steps, ..Script::default() }
    });
    (script, later)
}

/// Whether what comes after a restart is done: the part before it has passed, or left doubts, or could not be judged.
pub(super) fn lets_go_on(outcome: Outcome) -> bool {
    matches!(outcome, Outcome::Passed | Outcome::Warned | Outcome::Inconclusive)
}

pub(super) fn joined(earlier: Option<CheckResult>, mut later: CheckResult) -> CheckResult {
    if let Some(mut earlier) = earlier {
        let offset = earlier.exchanges.len() + 1;
        for found in &mut later.findings {
            found.exchange = found.exchange.map(|index| index + offset);
        }
        earlier.exchanges.push(blank("", "restart".to_owned()));
        earlier.exchanges.append(&mut later.exchanges);
        later.exchanges = earlier.exchanges;
        if later.outcome == Outcome::Passed
            || (later.outcome, earlier.outcome) == (Outcome::Warned, Outcome::Inconclusive)
        {
            later.outcome = earlier.outcome;
        }
        if matches!(later.outcome, Outcome::Passed | Outcome::Warned) || later.outcome == earlier.outcome {
            later.reason = later.reason.or(earlier.reason);
        }
        later.duration += earlier.duration;
        later.findings.append(&mut earlier.findings);
        // Frames are numbered per session; those of the last one are the ones to look at.
    }
    later
}
