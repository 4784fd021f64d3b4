//! The judgements about one case: which outcome counts, which finding explains which, and what a rule only advises.
//!
//! Everything here is a function of results and findings; nothing speaks to a server.

use super::exchange::blank;
use crate::event::{
    CaseResult, CheckResult, FailureClass, Finding, Outcome, Phase, Reason, RequirementLevel, StepProblem,
};
use crate::plan::{Body, Case};
use crate::suite::{Action, RuleLevel, Step};
use crate::wire::MAX_COMPARED_MEMORY;

/// The result of steps of which one went wrong: a failure, unless no step could be judged.
pub(crate) fn of_findings(found: Vec<Finding>) -> CheckResult {
    let message_of = |problem: &StepProblem| {
        let mut having = found.iter().filter(|found| found.step_problem.as_deref() == Some(problem));
        having.next().map(|found| found.message.clone())
    };
    // A missing token or a limit of this program says nothing about the server.
    let errored = message_of(&StepProblem::NoToken).map(Reason::NoToken);
    if let Some(reason) = errored.or_else(|| message_of(&StepProblem::AnswerNotRead).map(Reason::AnswerNotRead)) {
        return CheckResult { reason: Some(reason), ..CheckResult::with_findings(Outcome::Errored, found) };
    }
    if message_of(&StepProblem::NoSessionId).is_some() {
        return CheckResult::because(Outcome::Skipped, Reason::NoSessionId);
    }
    if let Some(skipped) = skipped_by(&found) {
        return skipped;
    }
    if let Some(first) = found.first()
        && found.iter().all(|found| found.step_problem.as_deref() == Some(&StepProblem::Unfilled))
    {
        // The suite or the environment is to blame.
        let reason = Reason::Unfilled(first.message.clone());
        return CheckResult { reason: Some(reason), ..CheckResult::with_findings(Outcome::Errored, found) };
    }
    if let Some(unanswered) = message_of(&StepProblem::NeverAnswered) {
        return CheckResult::because(Outcome::Inconclusive, Reason::NeverAnswered(unanswered));
    }
    match message_of(&StepProblem::NotCancelled) {
        Some(early) => CheckResult::because(Outcome::Inconclusive, Reason::NotCancelled(early)),
        None => CheckResult::with_findings(Outcome::Failed, found),
    }
}

/// A case that nobody wrote for this server, and that failed for nothing but limits of this program, has judged nothing.
pub(crate) fn without_own_limits(result: CheckResult) -> CheckResult {
    let is_limit = |found: &Finding| found.step_problem.as_deref() == Some(&StepProblem::AnswerNotRead);
    match result.findings.first() {
        Some(first)
            if matches!(result.outcome, Outcome::Failed | Outcome::Errored) && result.findings.iter().all(is_limit) =>
        {
            let reason = Some(Reason::AnswerNotRead(first.message.clone()));
            CheckResult { outcome: Outcome::Inconclusive, reason, findings: Vec::new(), ..result }
        }
        Some(_) | None => result,
    }
}

/// A check that failed for nothing, without a look at some answers, has judged nothing.
pub(crate) fn without_unread_answers(result: CheckResult, not_read: usize) -> CheckResult {
    if !matches!(result.outcome, Outcome::Passed | Outcome::Inconclusive) || not_read == 0 {
        return result;
    }
    let answers = if not_read == 1 { "1 answer was".to_owned() } else { format!("{not_read} answers were") };
    let passed = result.reason.filter(|_| result.outcome == Outcome::Passed);
    let passed = passed.map(|reason| format!("; otherwise it passed: {reason}")).unwrap_or_default();
    let why = format!(
        "{answers} not read: a check keeps and compares answers, so it reads none that takes more than {} MiB of memory or \
         has more than 127 levels{passed}",
        MAX_COMPARED_MEMORY >> 20
    );
    CheckResult { outcome: Outcome::Inconclusive, reason: Some(Reason::AnswerNotRead(why)), ..result }
}

/// The result where a step would have called a tool that must not be called, or needs what the server may leave out.
pub(crate) fn skipped_by(found: &[Finding]) -> Option<CheckResult> {
    found.iter().find_map(skip_reason_of).map(|reason| CheckResult::because(Outcome::Skipped, reason))
}

pub(crate) fn skip_reason_of(found: &Finding) -> Option<Reason> {
    match found.step_problem.as_deref()? {
        StepProblem::ReadOnly => Some(Reason::ReadOnly(found.message.clone())),
        StepProblem::ToolNotAllowed => Some(Reason::ToolNotAllowed(found.message.clone())),
        StepProblem::NotApplicable => Some(Reason::NotApplicable(found.message.clone())),
        StepProblem::Unfilled
        | StepProblem::MissingValue(_)
        | StepProblem::NoToken
        | StepProblem::AnswerNotRead
        | StepProblem::NoSessionId
        | StepProblem::NotCancelled
        | StepProblem::NeverAnswered
        | StepProblem::SurroundingsLack(_)
        | StepProblem::CallsLimited(_)
        | StepProblem::ValidCallUnanswered { .. }
        | StepProblem::BrokenAnswer { .. } => None,
    }
}

/// The first step of a case that the server refused because there were too many calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LimitedStep {
    pub(crate) exchange: usize,
    /// The server's own words.
    pub(crate) words: String,
}

/// A case that nobody wrote for this server neither passes nor fails for a limit of its calls; what an earlier step
/// showed stands.
pub(crate) fn without_limited_steps(mut result: CheckResult, limited: Option<LimitedStep>) -> CheckResult {
    let Some(LimitedStep { exchange, words }) = limited else { return result };
    if !matches!(result.outcome, Outcome::Passed | Outcome::Warned | Outcome::Failed) {
        return result;
    }
    result.findings.retain(|found| found.exchange.is_none_or(|at| at < exchange));
    if !result.findings.iter().any(|found| found.level == RequirementLevel::Must) {
        (result.outcome, result.reason) = (Outcome::Inconclusive, Some(Reason::CallsLimited(words)));
    }
    result
}

/// The notices of a conversation beside the verdict.
#[derive(Default)]
pub(crate) struct Notices {
    /// Recommendations that the server does not follow.
    pub(crate) warnings: Vec<Finding>,
    /// Failures that were answered as if they were none, of which only a case that passed tells.
    pub(crate) unflagged: Vec<Finding>,
    /// Why an expectation could not be judged.
    pub(crate) inconclusive_reason: Option<Reason>,
    /// True if an answer is to be recorded that differs from its recording.
    pub(crate) has_recorded: bool,
}

/// The result of a case with what its conversation noticed.
pub(crate) fn with_notices(mut result: CheckResult, notices: Notices) -> CheckResult {
    let Notices { mut warnings, unflagged, inconclusive_reason, has_recorded } = notices;
    if result.outcome == Outcome::Passed {
        warnings.extend(unflagged);
        if !warnings.is_empty() {
            result.outcome = Outcome::Warned;
        }
    }
    if let (Outcome::Passed | Outcome::Warned, Some(reason)) = (result.outcome, inconclusive_reason) {
        (result.outcome, result.reason) = (Outcome::Inconclusive, Some(reason));
    }
    if has_recorded && matches!(result.outcome, Outcome::Passed | Outcome::Warned) {
        result.reason = Some(Reason::Recorded);
    }
    result.findings.extend(warnings);
    result
}

/// The result of a case whose teardown went wrong: what fails only there is an error, and hides no failure.
pub(crate) fn after_teardown(mut result: CheckResult, failed: Vec<Finding>) -> CheckResult {
    if !failed.is_empty() && result.outcome == Outcome::Passed {
        (result.outcome, result.reason) = (Outcome::Errored, Some(Reason::TeardownFailed));
    }
    result.findings.extend(failed);
    result
}

/// Adds that the server ended by itself; a failure that only shows it is explained by it.
pub(crate) fn add_exit(result: &mut CheckResult, exit: Option<Finding>) {
    let Some(exit) = exit else { return };
    let is_symptom = |found: &&mut Finding| {
        let class = found.class;
        matches!(class, Some(FailureClass::Timeout | FailureClass::ConnectionLost | FailureClass::ConnectionRefused))
    };
    if let Some(symptom) = result.findings.iter_mut().find(is_symptom) {
        let has = |symptom: &Finding, name: &str| symptom.evidence.iter().any(|(known, _)| known == name);
        let more = exit.evidence.into_iter().filter(|(name, _)| !has(symptom, name)).collect::<Vec<_>>();
        symptom.evidence.extend(more);
        return;
    }
    if matches!(result.outcome, Outcome::Passed | Outcome::Warned | Outcome::Inconclusive) {
        (result.outcome, result.reason) = (Outcome::Failed, None);
    }
    result.findings.push(exit);
}

/// The finding about an answer that a violation took the place of gets the code and the evidence of the violation;
/// returns the violations that explain no finding.
pub(crate) fn explain_by_violations(found: &mut [Finding], violations: Vec<Finding>) -> Vec<Finding> {
    let mut others = Vec::new();
    for violation in violations {
        let is_same = |found: &&mut Finding| match found.step_problem.as_deref() {
            Some(StepProblem::BrokenAnswer { code, frame }) => {
                violation.code == *code && violation.frame == Some(*frame)
            }
            _ => false,
        };
        match found.iter_mut().find(is_same) {
            Some(found) => {
                found.code = violation.code;
                found.frame = violation.frame;
                found.evidence.retain(|(_, text)| *text != violation.message);
                found.evidence.extend(violation.evidence);
            }
            None => others.push(violation),
        }
    }
    others
}

/// The result of a case: breaking a rule that only advises is a warning.
pub(crate) fn downgrade_should(case: &Case, attempted: CheckResult) -> CheckResult {
    let is_advice = case.rule.as_ref().is_some_and(|rule| rule.level == RuleLevel::Should);
    if is_advice && attempted.outcome == Outcome::Failed { downgrade(attempted, SentForm::of(case)) } else { attempted }
}

/// The form of what a case sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SentForm {
    Requests,
    /// Bytes that may be no message at all.
    Raw,
}

impl SentForm {
    fn of(case: &Case) -> Self {
        let Body::Script(script) = &case.body else { return Self::Requests };
        let is_raw = |step: &Step| matches!(step.action, Action::Send(_) | Action::Http(_));
        if script.steps.iter().any(is_raw) { Self::Raw } else { Self::Requests }
    }
}

/// The failure of an advice as a warning; a server that ends on an ordinary request has failed all the same.
fn downgrade(mut failed: CheckResult, sent: SentForm) -> CheckResult {
    let is_binding = |found: &Finding| sent == SentForm::Requests && found.class == Some(FailureClass::ProcessExited);
    if !failed.findings.iter().any(is_binding) {
        failed.outcome = Outcome::Warned;
    }
    let advice = failed.findings.iter_mut().filter(|found| !is_binding(found));
    advice.for_each(|found| found.level = RequirementLevel::Should);
    failed
}

/// Marks the failures of a case that is known to fail, and fails it where it passes after all.
pub(crate) fn apply_known_failures(case: &Case, mut result: CaseResult) -> CaseResult {
    let Some(reason) = &case.known else { return result };
    match result.outcome {
        Outcome::Failed => result.findings.iter_mut().for_each(|found| found.baseline_reason = Some(reason.clone())),
        Outcome::Passed => {
            let rule = case.rule.as_ref().map(|rule| rule.id.clone()).unwrap_or_default();
            let message = format!("`{rule}` is in the baseline, and it holds after all");
            let help = format!("remove `{rule}` from `baseline:`, so that it is looked after from now on");
            result.outcome = Outcome::Failed;
            result.findings.push(Finding { help: Some(help), ..Finding::new("unexpected-pass", message) });
        }
        Outcome::Warned | Outcome::Skipped | Outcome::Inconclusive | Outcome::Errored => {}
    }
    result
}

/// The rank of an outcome among repetitions, of which the worst is reported.
pub(crate) fn badness(outcome: Outcome) -> u8 {
    match outcome {
        Outcome::Passed | Outcome::Skipped => 0,
        Outcome::Warned => 1,
        Outcome::Inconclusive => 2,
        Outcome::Errored => 3,
        Outcome::Failed => 4,
    }
}

/// Returns true if the steps after a restart run: the part before it passed, with or without warnings, or could not be
/// judged.
pub(crate) fn continues_after_restart(outcome: Outcome) -> bool {
    matches!(outcome, Outcome::Passed | Outcome::Warned | Outcome::Inconclusive)
}

/// The result of a script that a restart divided.
pub(crate) fn join_parts(earlier: Option<CheckResult>, mut later: CheckResult) -> CheckResult {
    let Some(mut earlier) = earlier else { return later };
    let offset = earlier.exchanges.len() + 1;
    for found in &mut later.findings {
        found.exchange = found.exchange.map(|index| index + offset);
    }
    earlier.exchanges.push(blank(Phase::Steps, "restart".to_owned()));
    earlier.exchanges.append(&mut later.exchanges);
    later.exchanges = earlier.exchanges;
    if later.outcome == Outcome::Passed || (later.outcome, earlier.outcome) == (Outcome::Warned, Outcome::Inconclusive)
    {
        later.outcome = earlier.outcome;
    }
    if matches!(later.outcome, Outcome::Passed | Outcome::Warned) || later.outcome == earlier.outcome {
        later.reason = later.reason.or(earlier.reason);
    }
    later.duration += earlier.duration;
    later.findings.append(&mut earlier.findings);
    // Frames are numbered per session; those of the last one are the ones to look at.
    later
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failure(class: FailureClass) -> Finding {
        Finding::failure(class, "it went wrong")
    }

    #[test]
    fn a_limit_of_calls_neither_passes_nor_fails_a_case() {
        use Outcome::{Failed, Inconclusive, Passed, Skipped, Warned};
        let at = |exchange: Option<usize>| Finding { exchange, ..Finding::new("refused", "it was served") };
        let advice = |exchange: usize| Finding { level: RequirementLevel::Should, ..at(Some(exchange)) };
        for (what, outcome, findings, expected, left) in [
            ("nothing was found", Passed, vec![], Inconclusive, 0),
            ("the refusal has the wrong code", Failed, vec![at(Some(2))], Inconclusive, 0),
            ("a later step failed", Failed, vec![at(Some(3))], Inconclusive, 0),
            ("an earlier step failed", Failed, vec![at(Some(1)), at(Some(2))], Failed, 1),
            ("an earlier step is a doubt", Warned, vec![advice(1), advice(2)], Inconclusive, 1),
            ("the server ended", Failed, vec![at(None)], Failed, 1),
            ("it does not apply", Skipped, vec![], Skipped, 0),
        ] {
            let result = CheckResult::with_findings(outcome, findings);
            let limited = LimitedStep { exchange: 2, words: "Rate limit exceeded".to_owned() };
            assert_eq!(without_limited_steps(result.clone(), None).outcome, outcome, "{what}");
            let result = without_limited_steps(result, Some(limited));
            assert_eq!((result.outcome, result.findings.len()), (expected, left), "{what}");
        }
    }

    #[test]
    fn notices_change_a_verdict_only_for_the_worse() {
        use Outcome::{Failed, Inconclusive, Passed, Warned};
        let found = || vec![Finding::new("readable-error", "it says nothing")];
        let none = Notices::default;
        let unjudged = || Some(Reason::NotEvaluated("the schema is too large".to_owned()));
        for (what, before, notices, outcome, findings) in [
            ("nothing", Passed, none(), Passed, 0),
            ("a recommendation", Passed, Notices { warnings: found(), ..none() }, Warned, 1),
            ("a failure without a flag", Passed, Notices { unflagged: found(), ..none() }, Warned, 1),
            (
                "a failure without a flag in a case that failed",
                Failed,
                Notices { unflagged: found(), ..none() },
                Failed,
                0,
            ),
            ("a recommendation in a case that failed", Failed, Notices { warnings: found(), ..none() }, Failed, 1),
            ("unjudged", Passed, Notices { inconclusive_reason: unjudged(), ..none() }, Inconclusive, 0),
            ("unjudged and failed", Failed, Notices { inconclusive_reason: unjudged(), ..none() }, Failed, 0),
            (
                "unjudged and a recommendation",
                Passed,
                Notices { inconclusive_reason: unjudged(), warnings: found(), ..none() },
                Inconclusive,
                1,
            ),
        ] {
            let result = with_notices(CheckResult::new(before), notices);
            assert_eq!((result.outcome, result.findings.len()), (outcome, findings), "{what}");
            assert_eq!(result.reason.is_some(), outcome == Inconclusive, "{what}");
        }
    }

    #[test]
    fn an_answer_is_recorded_only_by_a_case_that_passed() {
        use Outcome::{Failed, Inconclusive, Passed, Warned};
        for (before, inconclusive_reason, expected) in [
            (Passed, None, true),
            (Warned, None, true),
            (Failed, None, false),
            (Inconclusive, None, false),
            (Passed, Some(Reason::Interrupted), false),
        ] {
            let notices = Notices { inconclusive_reason, has_recorded: true, ..Notices::default() };
            let result = with_notices(CheckResult::new(before), notices);
            assert_eq!(matches!(result.reason, Some(Reason::Recorded)), expected, "{before:?}");
        }
    }

    #[test]
    fn a_failed_teardown_is_an_error_that_hides_no_failure() {
        use Outcome::{Errored, Failed, Passed, Skipped, Warned};
        let found = || vec![Finding::new("equals", "in teardown: it differs")];
        for (before, failed, outcome, reason) in [
            (Passed, Vec::new(), Passed, false),
            (Passed, found(), Errored, true),
            (Failed, found(), Failed, false),
            (Warned, found(), Warned, false),
            (Skipped, found(), Skipped, false),
        ] {
            let count = failed.len();
            let result = after_teardown(CheckResult::new(before), failed);
            assert_eq!((result.outcome, result.reason.is_some(), result.findings.len()), (outcome, reason, count));
        }
    }

    #[test]
    fn findings_decide_the_outcome() {
        use Outcome::{Errored, Failed, Inconclusive, Skipped};
        let problem = |problem: StepProblem| Finding::new("x", "x").with_problem(problem);
        let rows = [
            (vec![Finding::new("equals", "x")], Failed),
            (vec![Finding::new("equals", "x"), problem(StepProblem::Unfilled)], Failed),
            (vec![problem(StepProblem::Unfilled)], Errored),
            (vec![problem(StepProblem::NoToken), problem(StepProblem::ReadOnly)], Errored),
            (vec![problem(StepProblem::AnswerNotRead)], Errored),
            (vec![problem(StepProblem::NoSessionId)], Skipped),
            (vec![Finding::new("equals", "x"), problem(StepProblem::ReadOnly)], Skipped),
            (vec![problem(StepProblem::NotApplicable)], Skipped),
            (vec![problem(StepProblem::NotCancelled)], Inconclusive),
        ];
        for (found, outcome) in rows {
            assert_eq!(of_findings(found.clone()).outcome, outcome, "{found:?}");
        }
    }

    #[test]
    fn limits_of_this_program_fail_no_check() {
        use Outcome::{Errored, Failed, Inconclusive, Passed};
        let limit = || Finding::new("answer-too-large", "x").with_problem(StepProblem::AnswerNotRead);
        let rows = [
            (Failed, vec![limit(), limit()], Inconclusive),
            (Errored, vec![limit()], Inconclusive),
            (Failed, vec![limit(), Finding::new("equals", "x")], Failed),
            (Failed, vec![], Failed),
            (Passed, vec![limit()], Passed),
        ];
        for (outcome, found, expected) in rows {
            let result = CheckResult::with_findings(outcome, found);
            assert_eq!(without_own_limits(result.clone()).outcome, expected, "{result:?}");
        }
    }

    #[test]
    fn what_was_not_read_is_not_passed() {
        use Outcome::{Failed, Inconclusive, Passed, Skipped, Warned};
        for (outcome, not_read, expected) in [
            (Passed, 0, (Passed, false)),
            (Passed, 2, (Inconclusive, true)),
            (Inconclusive, 0, (Inconclusive, false)),
            (Inconclusive, 1, (Inconclusive, true)),
            (Failed, 1, (Failed, false)),
            (Warned, 1, (Warned, false)),
            (Skipped, 1, (Skipped, false)),
        ] {
            let result = without_unread_answers(CheckResult::new(outcome), not_read);
            let says_so = matches!(result.reason, Some(Reason::AnswerNotRead(_)));
            assert_eq!((result.outcome, says_so), expected, "{outcome:?} {not_read}");
        }
    }

    #[test]
    fn exits_explain_their_symptoms() {
        use FailureClass::{ConnectionLost, HttpStatus, ProcessExited, Timeout};
        let exit = || failure(ProcessExited).with_evidence("exit", "signal 11");
        let rows = [
            (Outcome::Passed, None, vec![ProcessExited]),
            (Outcome::Warned, None, vec![ProcessExited]),
            (Outcome::Failed, Some(Timeout), vec![Timeout]),
            (Outcome::Failed, Some(ConnectionLost), vec![ConnectionLost]),
            (Outcome::Failed, Some(HttpStatus), vec![HttpStatus, ProcessExited]),
        ];
        for (outcome, class, expected) in rows {
            let mut result = CheckResult::with_findings(outcome, class.map(failure).into_iter().collect());
            add_exit(&mut result, Some(exit()));
            let classes: Vec<_> = result.findings.iter().filter_map(|found| found.class).collect();
            assert_eq!((result.outcome, classes), (Outcome::Failed, expected), "{outcome:?} {class:?}");
            assert!(result.findings.iter().any(|found| !found.evidence.is_empty()));
        }
    }

    #[test]
    fn advice_is_a_warning_unless_a_request_ends_the_server() {
        use FailureClass::{ProcessExited, Timeout};
        let rows = [
            (Timeout, SentForm::Requests, Outcome::Warned, RequirementLevel::Should),
            (ProcessExited, SentForm::Requests, Outcome::Failed, RequirementLevel::Must),
            (ProcessExited, SentForm::Raw, Outcome::Warned, RequirementLevel::Should),
        ];
        for (class, sent, outcome, level) in rows {
            let result = downgrade(CheckResult::with_findings(Outcome::Failed, vec![failure(class)]), sent);
            assert_eq!((result.outcome, result.findings[0].level), (outcome, level), "{class:?} {sent:?}");
        }
    }

    #[test]
    fn parts_around_a_restart() {
        use Outcome::{Failed, Inconclusive, Passed, Warned};
        let rows = [
            (Passed, Passed, Passed),
            (Warned, Passed, Warned),
            (Inconclusive, Passed, Inconclusive),
            (Inconclusive, Warned, Inconclusive),
            (Passed, Failed, Failed),
        ];
        for (earlier, later, expected) in rows {
            let joined = join_parts(Some(CheckResult::new(earlier)), CheckResult::new(later));
            assert_eq!((joined.outcome, joined.exchanges.len()), (expected, 1), "{earlier:?} {later:?}");
        }
    }
}
