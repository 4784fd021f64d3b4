//! The baseline run: without any mutant, every case must end as it was recorded, or it cannot kill a mutant.

use std::collections::BTreeSet;

use super::recording::RunRecording;
use super::run::RunResults;
use crate::event::{CaseResult, Code, Control, Finding, LeftOut, Outcome, SessionJudged};
use crate::plan::Plan;
use crate::redact::MASK;

/// The cases that take part in mutation testing.
#[derive(Debug)]
pub(crate) struct BaselineRun {
    /// The ids of the cases that can kill.
    pub(crate) green: BTreeSet<String>,
    /// The ids of the cases that passed in the run, and do not from the recording.
    pub(crate) unlike: BTreeSet<String>,
    /// Violations that occur without any mutant, as session and code.
    pub(crate) known: BTreeSet<(String, Code)>,
    pub(crate) control: Control,
}

impl BaselineRun {
    fn new(known: BTreeSet<(String, Code)>) -> Self {
        let control = Control { cases: 0, green: 0, left_out: Vec::new() };
        Self { green: BTreeSet::new(), unlike: BTreeSet::new(), known, control }
    }

    /// Adds a case; one with a reason cannot kill.
    fn add(&mut self, id: &str, reason: Option<String>) {
        self.control.cases += 1;
        match reason {
            Some(reason) => self.control.left_out.push(LeftOut::new(id, reason)),
            None => drop(self.green.insert(id.to_owned())),
        }
        self.control.green = self.green.len();
    }
}

/// Compares the baseline run on the recording with the recorded run.
pub(crate) fn check_baseline(recording: &RunRecording, results: &RunResults) -> BaselineRun {
    let mut baseline = BaselineRun::new(results.judged.iter().flat_map(broken).collect());
    for recorded in &recording.cases {
        let reason = match (recorded.outcome, results.cases.get(&recorded.id)) {
            (Outcome::Skipped | Outcome::Inconclusive | Outcome::Errored, _) => continue,
            (Outcome::Failed, _) => {
                Some("it failed against the server itself, so no mutant can make it fail".to_owned())
            }
            _ if recording.unplayable(&recorded.id).is_some() => recording.unplayable(&recorded.id).map(str::to_owned),
            (_, None) => Some("the suite no longer has this case".to_owned()),
            (outcome, Some(result)) => {
                let reason = unlike(outcome, result, results);
                if reason.is_some() {
                    baseline.unlike.insert(recorded.id.clone());
                }
                reason
            }
        };
        baseline.add(&recorded.id, reason);
    }
    baseline
}

/// Runs on the real servers: the cases that pass there without a mutant can kill, also those that no recording plays.
pub(crate) fn check_live_baseline(before: &BaselineRun, plan: &Plan, results: &RunResults) -> BaselineRun {
    let known = results.judged.iter().flat_map(broken).chain(before.known.iter().cloned());
    let mut baseline = BaselineRun::new(known.collect());
    for id in plan.cases().map(|case| &case.id) {
        let result = results.cases.get(id);
        let has_passed = result.is_some_and(|result| matches!(result.outcome, Outcome::Passed | Outcome::Warned));
        let outcome = result.map_or("was not reached", |result| result.outcome.as_str());
        let found = result.and_then(|result| Some(&result.findings.first()?.message));
        let found = found.map(|message| format!(": {message}")).unwrap_or_default();
        baseline.add(id, (!has_passed).then(|| format!("on the real server it {outcome} without any mutant{found}")));
    }
    baseline
}

/// The violations of a session that nothing excuses, as session and code.
pub(crate) fn broken(judged: &SessionJudged) -> Vec<(String, Code)> {
    let findings = judged.findings.iter().filter(|finding| finding.baseline_reason.is_none());
    findings.map(|finding| (judged.id(), finding.code.clone())).collect()
}

/// The difference between a recorded case and its replay.
fn unlike(recorded: Outcome, result: &CaseResult, results: &RunResults) -> Option<String> {
    let id = &result.case.id;
    if results.log.left.iter().any(|moment| moment.owner.is_case(id)) {
        return Some("it asked for something that is not in the recording".to_owned());
    }
    if result.outcome == recorded {
        return None;
    }
    let found = result.findings.first().map(|finding| finding.message.clone());
    let found = found.or_else(|| result.reason.as_ref().map(ToString::to_string));
    let found = found.map(|message| format!(": {message}")).unwrap_or_default();
    let (was, is) = (recorded.as_str(), result.outcome.as_str());
    if result.findings.iter().any(compares_a_secret) {
        return Some(format!("it {was} in the run, and compares a secret, which no recording holds{found}"));
    }
    Some(format!("it ended as {was} in the run, and as {is} from the recording{found}"))
}

fn compares_a_secret(finding: &Finding) -> bool {
    let compared = [Some(&finding.message), finding.expected.as_ref(), finding.actual.as_ref()];
    compared.into_iter().flatten().any(|text| text.contains(MASK))
}
