//! What follows where a call gets no answer on which the verdict of a case rests that nobody wrote for this server.
//!
//! A tool that answers nothing fails one case, and the others that waited for it are not judged: a server that stops
//! answering is one fault. So is a tool at whose every call the server ends. So is a valid call that is slow or hangs, on
//! which refusals rest: that is reported once for each tool, beside the cases, and is a failure only where the server
//! answers nothing else either.

use std::collections::BTreeSet;

use parking_lot::Mutex;

use super::target::RunTarget;
use crate::event::{CheckResult, FailureClass, Finding, Outcome, Reason, RequirementLevel, StepProblem};
use crate::plan::Case;
use crate::session::InVain;

/// The tools of which a case has failed, since they answer nothing, or since the server ends at each of their calls.
#[derive(Debug, Default)]
pub(crate) struct FailedTools(Mutex<BTreeSet<String>>);

impl FailedTools {
    /// Returns true for the first case that fails, since a tool serves nothing; where no tool does, they are one fault.
    fn claim(&self, tool: &str, has_served: bool) -> bool {
        let mut tools = self.0.lock();
        let is_known = !has_served && !tools.is_empty();
        !is_known && tools.insert(tool.to_owned())
    }
}

/// The result of a case, once its last attempt is over.
pub(crate) fn settle(target: &RunTarget, case: &Case, result: CheckResult) -> CheckResult {
    let silent = tool_without_answer(target, case, &result)
        .map(|tool| (&target.hung_tools, Reason::never_answered(&tool), tool));
    let failed = silent.or_else(|| {
        let tool = tool_that_ends_server(target, case, &result)?;
        Some((&target.ending_tools, Reason::in_vain(&tool, InVain::EndsServer), tool))
    });
    if let (Some((tools, reason, tool)), Some(answered)) = (failed, &target.answered)
        && !tools.claim(&tool, answered.has_served())
    {
        let reason = Some(reason);
        return CheckResult { outcome: Outcome::Inconclusive, reason, findings: Vec::new(), ..result };
    }
    settle_valid_call(target, result)
}

/// The tool at whose call the server ended, of a case that fails for nothing else, where the tool has answered nobody and
/// nobody wrote the case for this server.
fn tool_that_ends_server(target: &RunTarget, case: &Case, result: &CheckResult) -> Option<String> {
    if !fails_only_for(result, is_end) {
        return None;
    }
    target.answered.as_ref().filter(|_| target.is_generated(case))?.ending_tool_of(&case.owner())
}

/// The tool for which a case waited in vain that fails for nothing else, where it has served nobody and nobody wrote the
/// case for this server.
pub(crate) fn tool_without_answer(target: &RunTarget, case: &Case, result: &CheckResult) -> Option<String> {
    if !fails_only_for(result, is_silence) {
        return None;
    }
    target.answered.as_ref().filter(|_| target.is_generated(case))?.silent_tool_of(&case.owner())
}

/// Tells failures for one reason from all others.
type IsReason = fn(&Finding) -> bool;

fn fails_only_for(result: &CheckResult, is_reason: IsReason) -> bool {
    let mut failures = result.findings.iter().filter(|found| found.level == RequirementLevel::Must).peekable();
    result.outcome == Outcome::Failed && failures.peek().is_some() && failures.all(is_reason)
}

fn is_end(found: &Finding) -> bool {
    found.class == Some(FailureClass::ProcessExited)
}

fn is_silence(found: &Finding) -> bool {
    found.is_timeout() && silence_of(found).is_none()
}

fn settle_valid_call(target: &RunTarget, result: CheckResult) -> CheckResult {
    let hanging = result.findings.iter().find_map(|found| Some((found, silence_of(found)?)));
    let Some((found, silence)) = hanging else { return result };
    let exchange = found.exchange.and_then(|index| result.exchanges.get(index));
    let (call, sent) = exchange.map_or(("", ""), |exchange| (&exchange.title, &exchange.sent));
    let reason = Reason::ValidCallUnanswered(call.to_owned());
    if target.history.as_ref().is_none_or(|history| history.record_hang(call, reason.clone())) {
        target.report(&result.protocol_revision, [describe(found, silence, call, sent)]);
    }
    CheckResult { outcome: Outcome::Inconclusive, reason: Some(reason), findings: Vec::new(), ..result }
}

/// The answer of a server to a sign of life, after a call that got none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Silence {
    Total,
    OfOneCall,
}

fn silence_of(found: &Finding) -> Option<Silence> {
    let StepProblem::ValidCallUnanswered { is_silent } = found.step_problem.as_deref()? else { return None };
    Some(if *is_silent { Silence::Total } else { Silence::OfOneCall })
}

fn describe(late: &Finding, silence: Silence, call: &str, sent: &str) -> Finding {
    let (level, after) = match silence {
        Silence::Total => (RequirementLevel::Must, "nor does the server answer anything else after it"),
        Silence::OfOneCall => (RequirementLevel::Should, "while the server answers other requests"),
    };
    let help = "give arguments with which it answers sooner, or raise `request_timeout`; no case that needs a served call \
                of this tool is judged";
    let message = format!("the valid call `{call}` got no answer in time, {after}: {}", late.message);
    let (help, quote, exchange, step_problem) = (Some(help.to_owned()), None, None, None);
    Finding { level, message, quote, exchange, help, step_problem, ..late.clone() }
        .with_evidence("the call", format!("{call} {sent}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::FailureClass;

    #[test]
    fn only_a_server_that_answers_nothing_else_fails() {
        let found = Finding::failure(FailureClass::Timeout, "`tools/call` got no answer within 1 s");
        for (is_silent, level) in [(true, RequirementLevel::Must), (false, RequirementLevel::Should)] {
            let late = found.clone().with_problem(StepProblem::ValidCallUnanswered { is_silent });
            let silence = silence_of(&late).unwrap();
            let described = describe(&late, silence, "tools/call look", "{}");
            assert_eq!((described.level, described.step_problem), (level, None));
            assert!(described.message.starts_with("the valid call `tools/call look` got no answer in time, "));
        }
        assert_eq!(silence_of(&found), None, "another request got no answer");
    }

    #[test]
    fn one_case_fails_for_a_tool_that_answers_nothing() {
        let hung = FailedTools::default();
        for (tool, has_served, expected) in [
            ("a", false, true),
            ("a", false, false),
            ("b", false, false),
            // Another tool serves, so these are two faults.
            ("b", true, true),
            ("b", true, false),
            ("a", true, false),
        ] {
            assert_eq!(hung.claim(tool, has_served), expected, "{tool} {has_served}");
        }
    }

    #[test]
    fn only_what_fails_for_one_reason_is_explained_by_it() {
        let ended = || Finding::failure(FailureClass::ProcessExited, "it ended");
        let late = || Finding::failure(FailureClass::Timeout, "no answer");
        let witness = || late().with_problem(StepProblem::ValidCallUnanswered { is_silent: true });
        let wrong = || Finding::new("equals", "it differs");
        let advice = || Finding { level: RequirementLevel::Should, ..wrong() };
        let (end, silence): (IsReason, IsReason) = (is_end, is_silence);
        for (reason, found, outcome, expected) in [
            (end, vec![ended()], Outcome::Failed, true),
            (end, vec![ended(), advice()], Outcome::Failed, true),
            (end, vec![ended(), wrong()], Outcome::Failed, false),
            (end, vec![wrong()], Outcome::Failed, false),
            (end, vec![advice()], Outcome::Failed, false),
            (end, vec![ended()], Outcome::Errored, false),
            (silence, vec![late()], Outcome::Failed, true),
            (silence, vec![late(), advice()], Outcome::Failed, true),
            (silence, vec![late(), wrong()], Outcome::Failed, false),
            (silence, vec![wrong()], Outcome::Failed, false),
            (silence, vec![witness()], Outcome::Failed, false),
            (silence, vec![advice()], Outcome::Failed, false),
            (silence, vec![late()], Outcome::Errored, false),
        ] {
            let result = CheckResult::with_findings(outcome, found.clone());
            assert_eq!(fails_only_for(&result, reason), expected, "{found:?} {outcome:?}");
        }
    }
}
