//! The results of the scans of all sessions of a target.
//!
//! A broken rule is the server's, not that of the case during which it came up: where a case of the target looks for a
//! code, whatever breaks it is that case's to tell; else it is a finding about the whole server, told once.

use std::collections::{BTreeMap, BTreeSet};

use parking_lot::Mutex;

use crate::diagnosis;
use crate::event::{CheckResult, Code, Finding, Outcome, Reason};
use crate::plan::Case;
use crate::session::{OwnedViolation, Session};
use crate::wire::{Frame, ScanRule};

/// The number of findings of one code that a case reports, where it is about whole messages.
const MOST_TOLD: usize = 3;

/// The number of places of messages that a case reports for one code.
const MOST_PLACES: usize = 20;

/// The violations in a target so far.
#[derive(Default)]
pub(crate) struct ScanResults(Mutex<ScanState>);

#[derive(Default)]
struct ScanState {
    /// The codes that some case looks for.
    claimed: BTreeSet<String>,
    /// By code: what was found, each with the case in whose session it was.
    found: BTreeMap<&'static str, Vec<Finding>>,
    /// The number of times that each code could have been found.
    seen: BTreeMap<&'static str, u32>,
    /// What is still to be reported beside the cases, each with the id of the case during which it came up.
    beside: Vec<(Option<String>, Finding)>,
    /// By code: the places and messages that are or were among those.
    told: BTreeMap<Code, BTreeSet<String>>,
}

impl ScanResults {
    /// Takes note of what a case looks for.
    pub(crate) fn claim(&self, codes: &[String]) {
        self.0.lock().claimed.extend(codes.iter().cloned());
    }

    /// Takes in what was found in a session; returns what no other case tells. What a fault may have brought about is no
    /// rule that the server breaks.
    pub(crate) fn take_unclaimed(
        &self,
        case: Option<&Case>,
        found: Vec<OwnedViolation>,
        session: &Session,
        frames: &[Frame],
    ) -> Vec<OwnedViolation> {
        let found = without_message_parts(found);
        let mut state = self.0.lock();
        for owned in found.iter().filter(|_| !session.has_faults()) {
            let [finding] = &diagnosis::of_violations(std::slice::from_ref(owned), frames)[..] else { continue };
            let name = case.map(|case| case.name.clone()).unwrap_or_default();
            let finding = finding.clone().with_evidence("during", name);
            state.found.entry(owned.violation.code).or_default().push(finding);
        }
        let is_about_else = case.is_none_or(|case| case.rule.is_some() || case.is_derived);
        let is_left = |owned: &OwnedViolation| !is_about_else || !state.claimed.contains(owned.violation.code);
        found.into_iter().filter(is_left).collect()
    }

    /// Takes in violations that explain no failure of the case during which they came up: the first at each place, and of
    /// whole messages the first few.
    pub(crate) fn add_beside(&self, case: Option<&Case>, found: Vec<Finding>) {
        let mut state = self.0.lock();
        for finding in found {
            let (key, most) = match &finding.path {
                Some(place) => (place.clone(), MOST_PLACES),
                None => (finding.message.clone(), MOST_TOLD),
            };
            let told = state.told.entry(finding.code.clone()).or_default();
            if told.len() < most && told.insert(key) {
                let during = case.map(|case| case.name.clone()).unwrap_or_default();
                state.beside.push((case.map(|case| case.id.clone()), finding.with_evidence("during", during)));
            }
        }
    }

    /// The findings about the whole server that came up during a case in a session of its own, or all for `None`, each
    /// once; without those that a case looks for.
    pub(crate) fn take_beside(&self, case: Option<&Case>) -> Vec<Finding> {
        let mut state = self.0.lock();
        let is_asked = |during: &Option<String>| case.is_none_or(|case| during.as_ref() == Some(&case.id));
        let (asked, others) = std::mem::take(&mut state.beside).into_iter().partition(|(during, _)| is_asked(during));
        state.beside = others;
        let asked: Vec<(Option<String>, Finding)> = asked;
        let found = asked.into_iter().map(|(_, finding)| finding);
        found.filter(|finding| !state.claimed.contains(finding.code.as_str())).collect()
    }

    /// Takes in how often each code could have been found in a session that is over.
    pub(crate) fn count(&self, seen: &BTreeMap<&'static str, u32>) {
        let mut state = self.0.lock();
        for (code, times) in seen {
            *state.seen.entry(code).or_default() += times;
        }
    }

    /// The verdict on some codes, once every session is over.
    pub(crate) fn check(&self, codes: &[String]) -> CheckResult {
        let state = self.0.lock();
        let of = |code: &String| select_reported(state.found.get(code.as_str()).map_or(&[], Vec::as_slice));
        let findings: Vec<Finding> = codes.iter().flat_map(of).collect();
        let seen: u32 = codes.iter().filter_map(|code| state.seen.get(code.as_str())).sum();
        let (outcome, reason) = match (findings.is_empty(), seen) {
            (false, _) => (Outcome::Failed, None),
            (true, 0) => (Outcome::Skipped, Some(Reason::NothingToScan)),
            (true, _) => (Outcome::Passed, None),
        };
        CheckResult { reason, findings, ..CheckResult::new(outcome) }
    }
}

/// The findings of one code that are reported: the first at each place of a message, or else the first few.
fn select_reported(found: &[Finding]) -> Vec<Finding> {
    let mut places = BTreeSet::new();
    let is_first = |found: &&Finding| found.path.as_ref().is_none_or(|place| places.insert(place.clone()));
    let (at_places, others): (Vec<&Finding>, Vec<&Finding>) =
        found.iter().filter(is_first).partition(|found| found.path.is_some());
    let reported = at_places.into_iter().take(MOST_PLACES).chain(others.into_iter().take(MOST_TOLD));
    reported.cloned().collect()
}

/// Without the lines that turned out to be parts of a message, which is itself reported.
fn without_message_parts(found: Vec<OwnedViolation>) -> Vec<OwnedViolation> {
    let breaks = |owned: &OwnedViolation, rule: ScanRule| owned.violation.rule == Some(rule);
    let is_split = found.iter().any(|owned| breaks(owned, ScanRule::SplitMessage));
    found.into_iter().filter(|owned| !is_split || !breaks(owned, ScanRule::StrayOutput)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: Option<&str>) -> Finding {
        Finding { path: path.map(str::to_owned), ..Finding::new("bad-uri", "it is no URI") }
    }

    #[test]
    fn each_place_is_reported_once_and_whole_messages_three_times() {
        let places: Vec<Option<String>> = (0..25).map(|at| Some(format!("resources[{at}].uri"))).collect();
        for (what, places, expected) in [
            ("nothing", vec![], 0),
            ("one place twice", vec![places[0].clone(), places[0].clone()], 1),
            ("two places", places[..2].to_vec(), 2),
            ("many places", places.clone(), MOST_PLACES),
            ("whole messages", vec![None; 5], MOST_TOLD),
            ("both", [&places[..2], &[None, None, None, None]].concat(), 2 + MOST_TOLD),
        ] {
            let all: Vec<Finding> = places.iter().map(|place| found(place.as_deref())).collect();
            assert_eq!(select_reported(&all).len(), expected, "{what}");
        }
    }

    #[test]
    fn a_rule_of_which_no_message_is_a_case_is_not_judged() {
        let codes = ["bad-uri".to_owned()];
        for (what, broken, seen, expected) in [
            ("broken", 2, 3, Outcome::Failed),
            ("broken where it was not counted", 1, 0, Outcome::Failed),
            ("kept", 0, 3, Outcome::Passed),
            ("no message that it is about", 0, 0, Outcome::Skipped),
        ] {
            let results = ScanResults::default();
            results.0.lock().found.insert("bad-uri", vec![found(None); broken]);
            results.count(&BTreeMap::from([("bad-uri", seen), ("bad-ttl", 9)]));
            let result = results.check(&codes);
            assert_eq!((result.outcome, result.findings.len()), (expected, broken), "{what}");
        }
        let results = ScanResults::default();
        results.0.lock().found.insert("bad-ttl", vec![found(None)]);
        assert_eq!(results.check(&codes).outcome, Outcome::Skipped, "another rule is broken");
    }

    #[test]
    fn what_no_case_looks_for_is_told_once() {
        let results = ScanResults::default();
        results.claim(&["bad-ttl".to_owned()]);
        let line = |message: &str| Finding::new("stray-output", message);
        let messages = |found: Vec<Finding>| found.into_iter().map(|found| found.message).collect::<Vec<_>>();
        results.add_beside(None, vec![line("hello"), Finding::new("bad-ttl", "no number"), line("hello")]);
        assert_eq!(messages(results.take_beside(None)), ["hello"]);
        results.add_beside(None, ["hello", "one", "two", "three"].map(line).to_vec());
        results.add_beside(None, vec![found(Some("result.uri")), found(Some("result.uri")), found(Some("result.id"))]);
        assert_eq!(messages(results.take_beside(None)), ["one", "two", "it is no URI", "it is no URI"]);
        assert_eq!(results.take_beside(None), []);
    }
}
