//! The faults that a test injects: each must change something, and its changes stand beside the failure.

use super::exchange::StepResponse;
use super::finding;
use crate::diagnosis;
use crate::event::{CheckResult, FailureClass, Finding, Outcome};
use crate::fault::FaultPlayer;
use crate::plan::Case;
use crate::source::Sources;
use crate::suite::Step;

/// The result of a case with what the faults did: one that changed nothing proves nothing.
pub(crate) fn judge(mut result: CheckResult, faults: &FaultPlayer, case: &Case, sources: &Sources) -> CheckResult {
    let strikes = faults.strikes();
    let told = diagnosis::strikes_text(&strikes);
    let idle = faults.idle();
    if matches!(result.outcome, Outcome::Passed | Outcome::Warned) && !idle.is_empty() {
        result.outcome = Outcome::Failed;
        let here = |found| finding::at(found, sources, case.span, "this case");
        result.findings.extend(idle.into_iter().map(diagnosis::of_idle_fault).map(here));
    }
    if let Some(recovery) =
        case.recovery.as_deref().copied().filter(|_| matches!(result.outcome, Outcome::Passed | Outcome::Warned))
    {
        let found =
            diagnosis::judge_recovery(&faults.calls(), recovery, "add calls after the faults, in `steps` or `verify`");
        if let Some(found) = found {
            result.outcome = Outcome::Failed;
            result.findings.push(finding::at(found, sources, recovery.span, "this recovery"));
        }
    }
    let is_the_end = |found: &Finding| found.class.is_some_and(FailureClass::is_the_end);
    if let Some(first) = result.findings.first_mut().filter(|found| faults.has_ended() && is_the_end(found)) {
        let help = "a fault ended the server: put `restart: true` before this step, or `unanswered: true` into it";
        first.help = Some(help.to_owned());
    }
    if let Some(first) = result.findings.first_mut().filter(|_| !told.is_empty()) {
        first.evidence.push(("injected".to_owned(), told));
    }
    result
}

/// The result of a step whose answer is to be lost: nothing came in time, or a fault ended the server.
pub(crate) fn is_lost(
    step: &Step,
    faults: Option<&FaultPlayer>,
    result: Result<Option<StepResponse>, Finding>,
) -> Result<Option<StepResponse>, Finding> {
    let is_ended = faults.is_some_and(FaultPlayer::has_ended);
    match result {
        Err(found) if found.is_timeout() => Ok(None),
        // A server whose output ends while it still runs breaks the protocol; here a fault did so.
        Err(found)
            if is_ended
                && found.class.is_some_and(|class| class.is_the_end() || class == FailureClass::ProtocolError) =>
        {
            Ok(None)
        }
        Err(found)
            if found.class == Some(FailureClass::ConnectionLost)
                && faults.is_some_and(FaultPlayer::take_broken_off) =>
        {
            Ok(None)
        }
        Err(found) => Err(found),
        Ok(_) => {
            let name = step.name.as_deref().unwrap_or("the request");
            let help = "inject a fault that loses the answer, such as `type: lost_response`".to_owned();
            let message = format!("{name} was answered, and `unanswered` expects no answer");
            Err(Finding { help: Some(help), ..Finding::new("answered", message) })
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use serde_json::json;

    use super::super::raw::reply_to_step;
    use super::*;
    use crate::plan::generated::bare;
    use crate::source::{SourceFile, Span};
    use crate::suite::Action;

    #[test]
    fn an_answer_is_lost_where_none_comes_in_time() {
        let mut sources = Sources::default();
        let source = sources.add(SourceFile::new("s.yml", ""));
        let step = bare(Action::Alive, Span { source, start: 0, end: 0 });
        let answer = || StepResponse {
            method: "ping".to_owned(),
            reply: reply_to_step(Arc::new(json!({ "result": {} })), 1, None, Duration::ZERO),
        };
        let fails = |class| Err(Finding::failure(class, "it failed"));
        let player = FaultPlayer::new(Vec::new());
        for faults in [None, Some(&player)] {
            for (what, result, code) in [
                ("no answer in time", fails(FailureClass::Timeout), None),
                ("an answer", Ok(Some(answer())), Some("answered")),
                ("a message that needs none", Ok(None), Some("answered")),
                ("the server crashed by itself", fails(FailureClass::ProcessExited), Some("process-exited")),
                ("the connection broke by itself", fails(FailureClass::ConnectionLost), Some("connection-lost")),
            ] {
                let found = is_lost(&step, faults, result).err();
                assert_eq!(found.as_ref().map(|found| found.code.as_str()), code, "{what}");
            }
        }
    }
}
