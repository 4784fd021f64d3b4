//! The verdict on a mutant: the cases that turned red because of it.
//!
//! A case kills if it was green without the mutant, fails with it, and fails at or after the change; so does a scan of
//! messages that belong to no case. A server that did not start kills nothing, unless the suite itself says how long a
//! start may take.

use std::collections::BTreeSet;
use std::time::Duration;

use super::baseline_run::{BaselineRun, broken};
use super::placement::MutantInjection;
use super::replay::{ReplayLog, ReplayMoment};
use super::run::RunResults;
use crate::event::{
    By, CaseResult, Code, FailureClass, Finding, Kill, MutantPlace, MutantSubject, Outcome, PlantedMutant, Reason,
    RequirementLevel, SessionJudged, Verdict,
};
use crate::matching::LONGEST_WAIT;
use crate::plan::Plan;
use crate::transport::Owner;
use crate::wire::Scan;

/// The verdict on a mutant in some exchanges.
#[derive(Debug, Clone)]
pub(crate) struct MutantVerdict {
    pub(crate) verdict: Verdict,
    pub(crate) kills: Vec<Kill>,
    pub(crate) reason: Option<String>,
}

impl MutantVerdict {
    /// The verdict as that of a mutant of whole sessions, at one place.
    pub(crate) fn of_session(self, target: &str, field: String, reason: Option<String>) -> PlantedMutant {
        let place = MutantPlace { field, verdict: self.verdict, kill: self.kills.into_iter().next() };
        PlantedMutant {
            target: target.to_owned(),
            subject: MutantSubject::session(),
            verdict: self.verdict,
            reason,
            places: vec![place],
        }
    }

    /// The same, but for the survivor at a place whose values change by themselves, or whose task need not be kept: the
    /// server behaves like it.
    pub(crate) fn unless_fleeting(self, injection: &MutantInjection) -> Self {
        let is_excused = self.verdict == Verdict::Survived && injection.is_fleeting();
        if is_excused { Self { verdict: Verdict::Redundant, ..self } } else { self }
    }

    /// The verdict on a place at which nothing could be changed.
    pub(crate) fn new_unreached(reason: Option<String>) -> Self {
        Self { verdict: Verdict::Unreached, kills: Vec::new(), reason }
    }

    /// The verdict on a mutant that came to none, and the reason.
    pub(crate) fn new_undecided(why: &str) -> Self {
        Self { verdict: Verdict::Undecided, kills: Vec::new(), reason: Some(why.to_owned()) }
    }
}

/// Judges a run with a mutant.
pub(crate) fn judge_run(plan: &Plan, baseline: &BaselineRun, results: &RunResults) -> MutantVerdict {
    let mut kills = Vec::new();
    let (mut unclear, mut unjudged) = (None, None);
    for case in plan.cases() {
        let Some(result) = results.cases.get(&case.id) else { continue };
        match reaction(plan, result, &results.log) {
            CaseReaction::Green => {}
            CaseReaction::Red(kill) => kills.push(kill),
            CaseReaction::Unclear(words) => drop(unclear.get_or_insert(words)),
            CaseReaction::Unjudged(words) => drop(unjudged.get_or_insert(words)),
        }
    }
    for session in &results.judged {
        match react_to_scan(session, &baseline.known, &results.log) {
            CaseReaction::Green => {}
            CaseReaction::Red(kill) => kills.push(kill),
            CaseReaction::Unclear(words) | CaseReaction::Unjudged(words) => drop(unclear.get_or_insert(words)),
        }
    }
    let (verdict, reason) = match (kills.is_empty(), unclear, unjudged) {
        (false, _, _) => (Verdict::Killed, None),
        (true, Some(words), _) => (Verdict::Undecided, Some(words)),
        (true, None, Some(words)) => (Verdict::Survived, Some(words)),
        (true, None, None) if results.log.struck.is_empty() => (Verdict::Unreached, None),
        (true, None, None) => (Verdict::Survived, None),
    };
    MutantVerdict { verdict, kills, reason }
}

/// The cases that did not stay green with a mutant; `None` if any may notice it, since a session broke the protocol.
pub(crate) fn reacting_cases(plan: &Plan, baseline: &BaselineRun, results: &RunResults) -> Option<BTreeSet<String>> {
    if results.judged.iter().flat_map(broken).any(|found| !baseline.known.contains(&found)) {
        return None;
    }
    let is_green = |id: &str| {
        let result = results.cases.get(id);
        result.is_none_or(|result| matches!(reaction(plan, result, &results.log), CaseReaction::Green))
    };
    Some(plan.cases().map(|case| &case.id).filter(|id| !is_green(id)).cloned().collect())
}

/// The reaction of a case that passed the baseline run.
enum CaseReaction {
    Green,
    Red(Kill),
    /// It failed, for another reason than the mutant as far as is known; the sentence says why.
    Unclear(String),
    /// It did not end green, and did not fail, which is no verdict on the server. The sentence says why.
    Unjudged(String),
}

fn reaction(plan: &Plan, result: &CaseResult, log: &ReplayLog) -> CaseReaction {
    match result.outcome {
        Outcome::Passed | Outcome::Warned => CaseReaction::Green,
        Outcome::Failed => react_to_failure(result, log),
        Outcome::Errored if is_unstarted(result) && is_bounded(plan, result) => {
            CaseReaction::Red(kill(result, &result.findings[0]))
        }
        Outcome::Errored if is_unstarted(result) => CaseReaction::Unjudged(UNSTARTED.to_owned()),
        Outcome::Errored | Outcome::Inconclusive | Outcome::Skipped => react_to_no_verdict(result, log),
    }
}

fn react_to_no_verdict(result: &CaseResult, log: &ReplayLog) -> CaseReaction {
    let name = &result.case.name;
    if log.left.iter().any(|moment| moment.owner.case().is_none_or(|case| case == result.case.id)) {
        return CaseReaction::Unclear(format!("`{name}` left the recording before it came to a verdict"));
    }
    if matches!(result.reason, Some(Reason::ModelDiverged)) {
        return CaseReaction::Unclear(format!("`{name}`: {}", Reason::ModelDiverged));
    }
    let why = result
        .reason
        .as_ref()
        .map(ToString::to_string)
        .or(result.findings.first().map(|finding| finding.message.clone()));
    let why = why.map(|why| format!(": {why}")).unwrap_or_default();
    CaseReaction::Unjudged(format!("`{name}` comes to no verdict, and that fails no run{why}"))
}

fn react_to_failure(result: &CaseResult, log: &ReplayLog) -> CaseReaction {
    // What the baseline excuses fails no run.
    let is_broken = |finding: &&Finding| finding.level == RequirementLevel::Must && finding.baseline_reason.is_none();
    let mut broken = result.findings.iter().filter(is_broken).peekable();
    let Some(first) = broken.peek().copied() else { return CaseReaction::Green };
    // What the suite asked for counts before what every run looks at.
    let finding = broken.find(|finding| by(finding) == By::Expectation).unwrap_or(first);
    let of_case =
        |moments: &[ReplayMoment]| moments.iter().find(|moment| moment.owner.is_case(&result.case.id)).cloned();
    if let Some(left) = of_case(&log.left)
        && finding.frame.is_none_or(|frame| frame >= left.frame)
    {
        return CaseReaction::Unclear(format!("`{}` left the recording before it failed", result.case.name));
    }
    let struck = of_case(&log.struck);
    let is_accident = struck.zip(finding.frame).is_some_and(|(struck, frame)| is_before(frame, &struck));
    if is_accident || log.struck.is_empty() {
        return CaseReaction::Unclear(format!("`{}` failed before the change", result.case.name));
    }
    CaseReaction::Red(kill(result, finding))
}

/// A failure at a frame came before the mutant struck; frames are numbered within a session.
fn is_before(frame: u32, struck: &ReplayMoment) -> bool {
    struck.session == 0 && frame != 0 && frame < struck.frame
}

/// The reaction of the scans to a session, in messages that belong to no case; `known` are their violations without any
/// mutant. Those that came back count for the mutant only if it struck before, and if no answer was made up by then.
fn react_to_scan(session: &SessionJudged, known: &BTreeSet<(String, Code)>, log: &ReplayLog) -> CaseReaction {
    let id = session.id();
    let is_news = |finding: &&Finding| !known.contains(&(id.clone(), finding.code.clone()));
    let mut findings = session.failures().filter(is_news).peekable();
    if findings.peek().is_none() {
        return CaseReaction::Green;
    }
    let name = session.info().name;
    // Frames are numbered within a session, and a finding does not say which session is its own.
    let has_order = log.session_count() <= 1;
    let left = log.left.iter().find(|moment| moment.owner == Owner::Session);
    let is_made_up = |finding: &Finding| {
        left.is_some_and(|left| !has_order || finding.frame.is_none_or(|frame| frame >= left.frame))
    };
    let is_early = |finding: &Finding| {
        let frame = finding.frame.unwrap_or_default();
        log.struck.iter().all(|struck| has_order && is_before(frame, struck))
    };
    match findings.find(|finding| !is_early(finding) && !is_made_up(finding)) {
        Some(finding) => CaseReaction::Red(kill_by_scan(session, finding)),
        None if left.is_some() => CaseReaction::Unclear(format!("`{name}` left the recording before it failed")),
        None => CaseReaction::Unclear(EARLY.to_owned()),
    }
}

/// Why a violation is not the mutant's.
const EARLY: &str = "the rule was broken in a message that came before the change";

const UNSTARTED: &str = "its cases end as errored, as where the environment is broken, and that is no verdict on the \
                         server; a `start_timeout` of your own makes it one";

/// The server did not start in time.
fn is_unstarted(result: &CaseResult) -> bool {
    let is_late = result.findings.first().is_some_and(Finding::is_timeout);
    is_late && result.exchanges.is_empty()
}

/// The suite itself limits the time of a start.
fn is_bounded(plan: &Plan, result: &CaseResult) -> bool {
    let suite = plan.suites.iter().find(|planned| planned.cases.iter().any(|case| case.id == result.case.id));
    let is_waited_for = |time: Duration| time <= LONGEST_WAIT;
    suite.is_some_and(|planned| planned.suite.options.start_timeout.is_some_and(is_waited_for))
}

fn kill(result: &CaseResult, finding: &Finding) -> Kill {
    Kill { case: result.case.id.clone(), by: by(finding), code: finding.code.clone(), message: finding.message.clone() }
}

fn kill_by_scan(session: &SessionJudged, finding: &Finding) -> Kill {
    Kill { case: session.id(), by: By::Scan, code: finding.code.clone(), message: finding.message.clone() }
}

fn by(finding: &Finding) -> By {
    let is_garbled = finding.class == Some(FailureClass::ProtocolError);
    if is_garbled || Scan::of(finding.code.as_str()).is_some() { By::Scan } else { By::Expectation }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session(findings: Vec<Finding>) -> SessionJudged {
        SessionJudged {
            file: "s.yml".to_owned(),
            suite: "s".to_owned(),
            line: 1,
            from_command_line: false,
            server: "server".to_owned(),
            revision: "2025-11-25".to_owned(),
            findings,
        }
    }

    fn case_result(outcome: Outcome, findings: Vec<Finding>) -> CaseResult {
        CaseResult { findings, ..CaseResult::beside(session(Vec::new()).info(), outcome, String::new()) }
    }

    fn moments(owner: &Owner, frame: Option<u32>) -> Vec<ReplayMoment> {
        frame.map(|frame| ReplayMoment { owner: owner.clone(), frame, session: 0 }).into_iter().collect()
    }

    fn word(reaction: &CaseReaction) -> &'static str {
        match reaction {
            CaseReaction::Green => "green",
            CaseReaction::Red(_) => "red",
            CaseReaction::Unclear(_) => "unclear",
            CaseReaction::Unjudged(_) => "unjudged",
        }
    }

    /// A failure at a frame, where the case left the recording, and where the mutant struck.
    #[test]
    fn a_case_kills_at_or_after_the_change() {
        for (failure, left, struck, expected) in [
            (3, None, Some(3), "red"),
            (3, None, Some(1), "red"),
            (3, None, Some(4), "unclear"),
            (3, None, None, "unclear"),
            (3, Some(2), Some(1), "unclear"),
            (3, Some(4), Some(1), "red"),
        ] {
            let finding = Finding { frame: Some(failure), ..Finding::new("equals", "1 instead of 2") };
            let result = case_result(Outcome::Failed, vec![finding]);
            let owner = &Owner::of_case(&result.case.id);
            let log = ReplayLog { left: moments(owner, left), struck: moments(owner, struck), ..ReplayLog::default() };
            assert_eq!(word(&react_to_failure(&result, &log)), expected, "{failure} {left:?} {struck:?}");
        }
    }

    /// A violation beside the cases, where the session left the recording, and where the mutant struck; what was broken
    /// without any mutant kills nothing.
    #[test]
    fn a_scan_kills_at_or_after_the_change() {
        let finding = |code: &'static str, frame| Finding { frame, ..Finding::new(code, "an answer without an id") };
        let known = [(session(Vec::new()).id(), Code::from("stray-output"))].into();
        for (code, frame, left, struck, expected) in [
            ("bad-envelope", Some(3), None, Some(3), "red"),
            ("bad-envelope", Some(3), None, Some(0), "red"),
            ("bad-envelope", None, None, Some(4), "red"),
            ("bad-envelope", Some(3), None, Some(4), "unclear"),
            ("bad-envelope", Some(3), None, None, "unclear"),
            ("bad-envelope", None, None, None, "unclear"),
            ("bad-envelope", Some(3), Some(2), Some(1), "unclear"),
            ("bad-envelope", None, Some(2), Some(1), "unclear"),
            ("bad-envelope", Some(3), Some(4), Some(1), "red"),
            ("stray-output", Some(3), None, Some(3), "green"),
            ("stray-output", Some(3), None, None, "green"),
        ] {
            let judged = session(vec![finding(code, frame)]);
            let log = ReplayLog {
                left: moments(&Owner::Session, left),
                struck: moments(&Owner::Session, struck),
                ..ReplayLog::default()
            };
            let found = react_to_scan(&judged, &known, &log);
            assert_eq!(word(&found), expected, "{code} {frame:?} {left:?} {struck:?}");
        }
        let recommended =
            session(vec![Finding { level: RequirementLevel::Should, ..finding("bad-envelope", Some(3)) }]);
        let log = ReplayLog { struck: moments(&Owner::Session, Some(1)), ..ReplayLog::default() };
        assert_eq!(word(&react_to_scan(&recommended, &known, &log)), "green", "a recommendation fails no run");
        let several = [(("server".to_owned(), Owner::Session), 2)].into();
        let log = ReplayLog { struck: moments(&Owner::Session, Some(4)), sessions: several, ..ReplayLog::default() };
        let early = session(vec![finding("bad-envelope", Some(3))]);
        assert_eq!(word(&react_to_scan(&early, &known, &log)), "red", "frame 3 of one session, frame 4 of another");
        let log = ReplayLog { left: moments(&Owner::Session, Some(4)), ..log };
        assert_eq!(word(&react_to_scan(&early, &known, &log)), "unclear", "the answer may be made up");
        let two = session(vec![finding("bad-envelope", Some(1)), finding("bad-envelope", Some(5))]);
        let log = ReplayLog { struck: moments(&Owner::Session, Some(4)), ..ReplayLog::default() };
        assert_eq!(word(&react_to_scan(&two, &known, &log)), "red", "the second one came after the change");
    }

    #[test]
    fn a_recommendation_kills_nothing_and_neither_does_a_known_failure() {
        let finding = Finding::new("equals", "1 instead of 2");
        for finding in [
            Finding { level: RequirementLevel::Should, ..finding.clone() },
            Finding { baseline_reason: Some("issue 7".to_owned()), ..finding },
        ] {
            let result = case_result(Outcome::Failed, vec![finding]);
            assert_eq!(word(&react_to_failure(&result, &ReplayLog::default())), "green");
        }
    }

    #[test]
    fn a_case_without_a_verdict_kills_nothing() {
        let result = case_result(Outcome::Inconclusive, Vec::new());
        for (owner, left, expected) in [
            (Owner::of_case(&result.case.id), None, "unjudged"),
            (Owner::of_case(&result.case.id), Some(2), "unclear"),
            (Owner::Session, Some(2), "unclear"),
            (Owner::of_case("another"), Some(2), "unjudged"),
        ] {
            let log = ReplayLog { left: moments(&owner, left), ..ReplayLog::default() };
            assert_eq!(word(&react_to_no_verdict(&result, &log)), expected, "{owner} {left:?}");
        }
    }
}
