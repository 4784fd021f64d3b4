//! The control run: without any mutant, every case must end as it was recorded, or it cannot prove anything.

use std::collections::BTreeSet;

use super::recording::RunRecording;
use super::run::RunResults;
use crate::event::{CaseResult, Control, LeftOut, Outcome, SessionJudged};
use crate::plan::Plan;

/// What the control run showed.
#[derive(Debug)]
pub(super) struct BaselineRun {
    /// The ids of the cases that can kill.
    pub(super) green: BTreeSet<String>,
    /// What servers do wrong anyway, as session and code.
    pub(super) known: BTreeSet<(String, String)>,
    pub(super) control: Control,
}

/// Compares the control run with the recording.
pub(super) fn check_baseline(recording: &RunRecording, results: &RunResults) -> BaselineRun {
    let mut baseline = BaselineRun {
        green: BTreeSet::new(),
        known: results.judged.iter().flat_map(broken).collect(),
        control: Control { cases: 0, green: 0, left_out: Vec::new() },
    };
    for recorded in &recording.cases {
        if !matches!(recorded.outcome, Outcome::Passed | Outcome::Warned | Outcome::Failed) {
            continue;
        }
        baseline.control.cases += 1;
        let reason = match results.cases.get(&recorded.id) {
            _ if recorded.outcome == Outcome::Failed => {
                Some("it failed against the server itself, so it cannot turn red".to_owned())
            }
            None => Some("the suite has no such case any more".to_owned()),
            Some(result) => unlike(recording, recorded.outcome, result, results),
        };
        match reason {
            Some(reason) => baseline.control.left_out.push(LeftOut { id: recorded.id.clone(), reason }),
            None => drop(baseline.green.insert(recorded.id.clone())),
        }
    }
    baseline.control.green = baseline.green.len();
    baseline
}

/// What a run in front of the real servers showed, without any mutant: which of the cases that can kill pass there.
pub(super) fn check_live_baseline(before: &BaselineRun, plan: &Plan, results: &RunResults) -> BaselineRun {
    let mut known = before.known.clone();
    known.extend(results.judged.iter().flat_map(broken));
    let mut control = Control { cases: 0, green: 0, left_out: Vec::new() };
    let mut green = BTreeSet::new();
    for id in plan.cases().map(|case| &case.id).filter(|id| before.green.contains(*id)) {
        control.cases += 1;
        let result = results.cases.get(id);
        if result.is_some_and(|result| matches!(result.outcome, Outcome::Passed | Outcome::Warned)) {
            green.insert(id.clone());
            continue;
        }
        let outcome = result.map_or("was not reached", |result| result.outcome.as_str());
        let found = result.and_then(|result| Some(&result.findings.first()?.message));
        let found = found.map(|message| format!(": {message}")).unwrap_or_default();
        let reason = format!("in front of its server it {outcome} without any mutant{found}");
        control.left_out.push(LeftOut { id: id.clone(), reason });
    }
    control.green = green.len();
    BaselineRun { green, known, control }
}

/// What servers did wrong in a session, as session and code.
pub(super) fn broken(judged: &SessionJudged) -> Vec<(String, String)> {
    judged.findings.iter().map(|finding| (judged.id(), finding.code.clone())).collect()
}

/// Why a case that was green did not end from the recording as it was recorded.
fn unlike(recording: &RunRecording, recorded: Outcome, result: &CaseResult, results: &RunResults) -> Option<String> {
    let id = &result.case.id;
    if let Some(reason) = recording.lanes.values().find_map(|lane| lane.unplayable.get(id)) {
        return Some(reason.clone());
    }
    if results.log.left.iter().any(|moment| moment.owner == *id) {
        return Some("it asked for something that is not in the recording".to_owned());
    }
    if result.outcome == recorded {
        return None;
    }
    let found = result.findings.first().map(|finding| finding.message.clone());
    let found = found.or_else(|| result.reason.as_ref().map(ToString::to_string));
    let found = found.map(|message| format!(": {message}")).unwrap_or_default();
    Some(format!("it {} and from the recording it {}{found}", recorded.as_str(), result.outcome.as_str()))
}
