//! What follows where a valid call gets no answer on which the verdict about another call rests.
//!
//! The call is slow, or hangs: that is reported once for each tool, beside the cases, and those that rest on it are not
//! judged. It is a failure only where the server answers nothing else either.

use super::target::RunTarget;
use crate::event::{CheckResult, Finding, Outcome, Reason, RequirementLevel, StepProblem};

/// The result of a case, once its last attempt is over.
pub(crate) fn settle(target: &RunTarget, result: CheckResult) -> CheckResult {
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
}
