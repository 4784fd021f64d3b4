//! Whether a mutant was noticed: which cases turned red, and because of it.
//!
//! A case kills if it was green without the mutant, fails with it, and fails at or after the change. A server that did
//! not start kills nothing, unless the suite itself says how long a start may take.

use std::collections::BTreeSet;

use super::baseline_run::{BaselineRun, broken};
use super::replay::{ReplayLog, ReplayMoment};
use super::run::RunResults;
use crate::event::{By, CaseResult, FailureClass, Finding, Kill, Outcome, Reason, RequirementLevel, Verdict};
use crate::plan::Plan;
use crate::wire::Scan;

/// The verdict on a mutant in some exchanges.
#[derive(Debug, Clone)]
pub(crate) struct MutantVerdict {
    pub(crate) verdict: Verdict,
    pub(crate) kills: Vec<Kill>,
    pub(crate) reason: Option<String>,
}

impl MutantVerdict {
    /// The verdict on a place at which nothing could be changed.
    pub(crate) fn unreached(reason: Option<String>) -> Self {
        Self { verdict: Verdict::Unreached, kills: Vec::new(), reason }
    }

    /// The verdict on a mutant that came to none, and the reason.
    pub(crate) fn undecided(why: &str) -> Self {
        Self { verdict: Verdict::Undecided, kills: Vec::new(), reason: Some(why.to_owned()) }
    }
}

/// Judges a run with a mutant.
pub(crate) fn judge_run(plan: &Plan, baseline: &BaselineRun, results: &RunResults) -> MutantVerdict {
    let mut kills = Vec::new();
    let (mut unclear, mut unjudged) = (None, None);
    for case in plan.cases() {
        let Some(result) = results.cases.get(&case.id) else { continue };
        match seen(plan, result, &results.log) {
            CaseReaction::Green => {}
            CaseReaction::Red(kill) => kills.push(kill),
            CaseReaction::Unclear(words) => drop(unclear.get_or_insert(words)),
            CaseReaction::Unjudged(words) => drop(unjudged.get_or_insert(words)),
        }
    }
    for session in &results.judged {
        let news = broken(session).into_iter().find(|found| !baseline.known.contains(found));
        if let Some((case, code)) = news {
            let finding = session.findings.iter().find(|finding| finding.code == code);
            let message = finding.map(|finding| finding.message.clone()).unwrap_or_default();
            kills.push(Kill { case, by: By::Scan, code, message });
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
        result.is_none_or(|result| matches!(seen(plan, result, &results.log), CaseReaction::Green))
    };
    Some(plan.cases().map(|case| &case.id).filter(|id| !is_green(id)).cloned().collect())
}

/// The reaction of a case that passed the baseline run.
enum CaseReaction {
    Green,
    Red(Kill),
    /// It failed, and nobody can say whether because of the mutant; the sentence says why.
    Unclear(String),
    /// It did not end green, and did not fail: nobody would take that for a fault of the server. The sentence says why.
    Unjudged(String),
}

fn seen(plan: &Plan, result: &CaseResult, log: &ReplayLog) -> CaseReaction {
    match result.outcome {
        Outcome::Passed | Outcome::Warned => CaseReaction::Green,
        Outcome::Failed => failed(result, log),
        Outcome::Errored if is_unstarted(result) && is_bounded(plan, result) => {
            CaseReaction::Red(kill(result, &result.findings[0]))
        }
        Outcome::Errored if is_unstarted(result) => CaseReaction::Unjudged(UNSTARTED.to_owned()),
        Outcome::Errored | Outcome::Inconclusive | Outcome::Skipped => unjudged(result, log),
    }
}

fn unjudged(result: &CaseResult, log: &ReplayLog) -> CaseReaction {
    let name = &result.case.name;
    if log.left.iter().any(|moment| moment.owner == result.case.id || moment.owner.is_empty()) {
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

fn failed(result: &CaseResult, log: &ReplayLog) -> CaseReaction {
    let mut broken = result.findings.iter().filter(|finding| finding.level == RequirementLevel::Must).peekable();
    let Some(first) = broken.peek().copied() else { return CaseReaction::Green };
    // What the suite asked for counts before what every run looks at.
    let finding = broken.find(|finding| by(finding) == By::Expectation).unwrap_or(first);
    let of_case = |moments: &[ReplayMoment]| moments.iter().find(|moment| moment.owner == result.case.id).cloned();
    if let Some(left) = of_case(&log.left)
        && finding.frame.is_none_or(|frame| frame >= left.frame)
    {
        return CaseReaction::Unclear(format!("`{}` left the recording before it failed", result.case.name));
    }
    let is_early = |struck: &ReplayMoment, frame: u32| struck.session == 0 && frame != 0 && frame < struck.frame;
    let struck = of_case(&log.struck);
    let is_accident = struck.zip(finding.frame).is_some_and(|(struck, frame)| is_early(&struck, frame));
    if is_accident || log.struck.is_empty() {
        return CaseReaction::Unclear(format!("`{}` failed before the change", result.case.name));
    }
    CaseReaction::Red(kill(result, finding))
}

const UNSTARTED: &str = "its cases end as errored, as where the environment is broken, and that is no verdict on the \
                         server; a `start_timeout` of your own makes it one";

/// Whether the server did not start in time.
fn is_unstarted(result: &CaseResult) -> bool {
    let is_late = result.findings.first().is_some_and(|finding| finding.class == Some(FailureClass::Timeout));
    is_late && result.exchanges.is_empty()
}

/// Whether the suite itself sets the time for a start.
fn is_bounded(plan: &Plan, result: &CaseResult) -> bool {
    let suite = plan.suites.iter().find(|planned| planned.cases.iter().any(|case| case.id == result.case.id));
    suite.is_some_and(|planned| planned.suite.options.start_timeout.is_some())
}

fn kill(result: &CaseResult, finding: &Finding) -> Kill {
    Kill { case: result.case.id.clone(), by: by(finding), code: finding.code.clone(), message: finding.message.clone() }
}

fn by(finding: &Finding) -> By {
    let is_garbled = finding.class == Some(FailureClass::ProtocolError);
    if is_garbled || Scan::of(finding.code.as_str()).is_some() { By::Scan } else { By::Expectation }
}
