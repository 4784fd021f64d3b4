//! The results of cases, and of checks beside them that no test stands for.

use std::time::Duration;

use super::opening::SessionError;
use super::target::RunTarget;
use super::{finding, micros, rerun};
use crate::event::{
    Attempt, CaseInfo, CaseResult, CheckResult, FailureClass, Finding, Outcome, Phase, Reason, RequirementLevel,
    RuleInfo, RunEnd,
};
use crate::plan::{Case, Plan, SuitePlan};
use crate::source::{Span, duration_text};
use crate::suite::{Rule, RuleLevel};

/// The variant that the comparison of isolated runs judges: a case that depends on another gets what belongs to it.
const ISOLATION_JUDGES: &str = "STATE-CROSS-SESSION-LEAK";

/// The result of a case from that of its last attempt.
pub(crate) fn of_check(planned: &SuitePlan, case: &Case, check: CheckResult, earlier: Vec<Attempt>) -> CaseResult {
    // Only a case that sent something and has a verdict judges anything.
    let has_judged = matches!(check.outcome, Outcome::Passed | Outcome::Failed) && !check.frames.is_empty();
    // A recorded answer was compared with nothing.
    let judges = has_judged && check.reason != Some(Reason::Recorded);
    let exchanges = check.exchanges.iter().filter(|exchange| exchange.phase == Phase::Steps).count();
    CaseResult {
        case: info(planned, case),
        outcome: check.outcome,
        reason: check.reason,
        duration_us: micros(check.duration),
        earlier,
        repetitions: Vec::new(),
        findings: finding::without_quotes_of_flags(&planned.suite, check.findings),
        exchanges: check.exchanges,
        protocol_revision: check.protocol_revision,
        rerun_command: rerun::command(planned, case),
        judged: if judges { case.judged_variants(exchanges).iter().cloned().collect() } else { Vec::new() },
        frames: check.frames,
    }
}

/// An attempt that another one follows.
pub(crate) fn to_attempt(check: &CheckResult) -> Attempt {
    Attempt { outcome: check.outcome, duration_us: micros(check.duration), findings: check.findings.clone() }
}

/// The result of a template whose cases could not be made in time.
pub(crate) fn expansion_timed_out(planned: &SuitePlan, case: &Case, limit: Duration) -> CaseResult {
    let reason = Reason::ExpansionTimedOut(duration_text(limit));
    of_check(planned, case, CheckResult::because(Outcome::Inconclusive, reason), Vec::new())
}

/// The result of a template whose server could not list what it offers; `end` is that of a run that was stopped.
pub(crate) fn not_expanded(planned: &SuitePlan, case: &Case, error: SessionError, end: RunEnd) -> CaseResult {
    match error {
        SessionError::NotApplicable(reason) => {
            of_check(planned, case, CheckResult::because(Outcome::Skipped, reason), Vec::new())
        }
        SessionError::Interrupted => not_run(planned, case, end),
        SessionError::Broken(found) => of_check(planned, case, CheckResult::unavailable(*found), Vec::new()),
    }
}

/// The result of a case whose turn did not come before the run ended.
pub(crate) fn not_run(planned: &SuitePlan, case: &Case, end: RunEnd) -> CaseResult {
    of_check(planned, case, CheckResult::because(Outcome::Skipped, Reason::NotRun(end)), Vec::new())
}

/// The result of a suite's teardown that failed: errored, beside the cases and hiding none.
pub(crate) fn of_suite_teardown(target: &RunTarget, check: CheckResult) -> CaseResult {
    let suite = target.suite();
    let span = suite.teardown.first().map_or(suite.name.span, |step| step.span);
    CaseResult {
        outcome: Outcome::Errored,
        reason: Some(Reason::SuiteTeardownFailed),
        findings: check.findings,
        exchanges: check.exchanges,
        ..beside(&target.plan, target.suite_plan(), target.index, span, "teardown of the suite".to_owned())
    }
}

/// The result of the check whether the cases of a target depend on one another.
pub(crate) fn of_isolation(plan: &Plan, suite: usize, index: usize, check: CheckResult, seed: u32) -> CaseResult {
    let planned = &plan.suites[suite];
    let name = format!("isolation of the cases on {}", planned.targets[index].server);
    let mut result = beside(plan, planned, index, planned.suite.name.span, name);
    result.case.probes.push("test-isolation".to_owned());
    result.case.variants.push(ISOLATION_JUDGES.to_owned());
    result.rerun_command = format!("{} --verify-isolation --shuffle={seed}", result.rerun_command);
    if !check.findings.is_empty() {
        // Agreement proves little: what leaks between sessions may leak in all three ways alike.
        result.judged.clone_from(&result.case.variants);
        result.outcome = Outcome::Failed;
    }
    CaseResult { findings: check.findings, frames: check.frames, ..result }
}

/// A passed case of a target that no test stands for.
fn beside(plan: &Plan, planned: &SuitePlan, index: usize, span: Span, name: String) -> CaseResult {
    let (file, line, column) = plan.sources.place(span);
    let suite = &planned.suite;
    let target = &planned.targets[index];
    let (server, revision) = (&target.server, target.protocol.as_str());
    let case = CaseInfo {
        id: format!("{}::{name}@{server}/{revision}", suite.file),
        file: file.to_owned(),
        line,
        column,
        from_command_line: suite.asked.is_some() && *file == suite.file,
        position: Vec::new(),
        suite: suite.name.value.clone(),
        name,
        row: None,
        server: server.clone(),
        revision: revision.to_owned(),
        tags: Vec::new(),
        probes: Vec::new(),
        variants: Vec::new(),
        claims: Vec::new(),
        rule: None,
    };
    CaseResult::beside(case, Outcome::Passed, format!("mcprove run {}", shell_words::quote(&suite.file)))
}

/// The result of a case whose task panicked.
pub(crate) fn of_panic(planned: &SuitePlan, case: &Case, words: &str) -> CaseResult {
    let message = format!("mcprove broke while it ran this case: {words}");
    let help = "this is a mistake in mcprove, not in your server; please report it with this text".to_owned();
    let found = Finding { help: Some(help), ..Finding::failure(FailureClass::Internal, message.clone()) };
    let check = CheckResult {
        reason: Some(Reason::Internal(message)),
        ..CheckResult::with_findings(Outcome::Errored, vec![found])
    };
    of_check(planned, case, check, Vec::new())
}

fn info(planned: &SuitePlan, case: &Case) -> CaseInfo {
    let target = &planned.targets[case.target];
    CaseInfo {
        id: case.id.clone(),
        file: case.place.file.clone(),
        line: case.place.line,
        column: case.place.column,
        from_command_line: planned.suite.asked.is_some() && case.place.file == planned.suite.file,
        position: case.position.clone(),
        suite: planned.suite.name.value.clone(),
        name: case.name.clone(),
        row: case.row.clone(),
        server: target.server.clone(),
        revision: target.protocol.as_str().to_owned(),
        tags: case.tags.clone(),
        probes: case.probes.iter().cloned().collect(),
        variants: case.variants.iter().cloned().collect(),
        claims: case.claims.iter().cloned().collect(),
        rule: case.rule.as_deref().map(|rule| Box::new(rule_info(rule))),
    }
}

fn rule_info(rule: &Rule) -> RuleInfo {
    RuleInfo {
        id: rule.id.clone(),
        level: if rule.level == RuleLevel::Must { RequirementLevel::Must } else { RequirementLevel::Should },
        section: rule.section.clone(),
        link: rule.link(),
        revision: rule.revisions.last().map(|newest| newest.as_str().to_owned()).unwrap_or_default(),
        quote: rule.quote.clone(),
    }
}
