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
    if let Some(recovery) = case.recovery.filter(|_| matches!(result.outcome, Outcome::Passed | Outcome::Warned)) {
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
        Err(found) if found.class == Some(FailureClass::Timeout) => Ok(None),
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
