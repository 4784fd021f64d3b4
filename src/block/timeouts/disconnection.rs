//! Over HTTP up to 2025-11-25, the response of a slow call is closed, which is no cancellation: its work goes on.

use std::time::Duration;

use super::finding::CallEvidence;
use super::slow_call::SlowCall;
use super::state::StateReader;
use super::{SlowCallAspect, TimeoutSettings};
use crate::check::{CheckEnd, CheckSession, Confirmation};
use crate::event::{CheckResult, Finding, Severity};
use crate::session::{CancelSignal, CancelTrigger, Cancellation, SessionRequest};
use crate::source::duration_text;

/// How much longer than alone a call may take that nobody waits for.
const SLACK: Duration = Duration::from_secs(2);

/// The number of times that the state is read while the work should end.
const READS: u32 = 8;

pub(crate) async fn disconnect(client: &CheckSession<'_>, settings: &TimeoutSettings, slow: &SlowCall) -> CheckResult {
    let state = match StateReader::of(client, settings, slow).await {
        Ok(Some(state)) => state,
        Ok(None) => {
            let why = "only the effect of a call shows that it goes on; name a tool that shows it in `state`";
            return CheckResult::not_applicable(why.to_owned());
        }
        Err(result) => return *result,
    };
    if !state.shows_end {
        let why = format!(
            "`{}` shows no change in the second half of a call of `{}`, so it does not show whether a call goes on",
            state.tool, slow.tool
        );
        return CheckResult::inconclusive(why);
    }
    let disconnection = ClosedResponse { client, slow, state: &state };
    let mut evidence = CallEvidence::new();
    let mut calls = Vec::new();
    let verdict = loop {
        match disconnection.changes_state(&mut evidence).await {
            Ok(call) => calls.push(call),
            Err(end) => return end.into_result(),
        }
        if let Some(verdict) = judge(&calls) {
            break verdict;
        }
    };
    match verdict {
        ClosedVerdict::Right => {
            return evidence.result(format!("`{}` finished its work after its response was closed", slow.tool));
        }
        ClosedVerdict::Unclear => {
            let why = format!("`{}` finished its work after one of two closed responses", slow.tool);
            return CheckResult::inconclusive(why);
        }
        ClosedVerdict::AnsweredFirst => {
            return CheckResult::inconclusive(format!("`{}` answered before its response was closed", slow.tool));
        }
        ClosedVerdict::Wrong => {}
    }
    let message = format!("`{}` did not finish its work after its response was closed", slow.tool);
    let help =
        "up to 2025-11-25 only `notifications/cancelled` cancels a request: connections break, and clients resume";
    let found = Finding {
        level: settings.level(SlowCallAspect::Disconnection),
        severity: Some(Severity::Medium),
        help: Some(help.to_owned()),
        ..Finding::new("disconnection-cancels", message)
    };
    let found = found
        .with_evidence("shown by", format!("`{}`, which shows the effect of a call that is not closed", state.tool));
    let found = found.with_evidence("alone", duration_text(slow.time));
    evidence.find(Confirmation::of(1, 1).weigh(found, "in a second call"));
    evidence.result(String::new())
}

struct ClosedResponse<'a> {
    client: &'a CheckSession<'a>,
    slow: &'a SlowCall,
    state: &'a StateReader,
}

/// The events after the response of a call was closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ClosedCall {
    Finished,
    Stopped,
    AnsweredFirst,
}

/// The verdict on calls whose responses were closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ClosedVerdict {
    Right,
    /// The work of two calls stopped.
    Wrong,
    /// The work of one call stopped, and that of another one did not.
    Unclear,
    /// An answer was there before its response could be closed.
    AnsweredFirst,
}

/// The verdict on these calls; `None` if another one has to tell.
fn judge(calls: &[ClosedCall]) -> Option<ClosedVerdict> {
    match calls {
        [] | [ClosedCall::Stopped] => None,
        [.., ClosedCall::AnsweredFirst] => Some(ClosedVerdict::AnsweredFirst),
        [ClosedCall::Finished] => Some(ClosedVerdict::Right),
        [.., ClosedCall::Finished] => Some(ClosedVerdict::Unclear),
        [.., ClosedCall::Stopped] => Some(ClosedVerdict::Wrong),
    }
}

impl ClosedResponse<'_> {
    /// True if the state changes in the second half of a call whose response was closed in the first.
    async fn changes_state(&self, evidence: &mut CallEvidence) -> Result<ClosedCall, CheckEnd> {
        let (client, slow, quarter) = (self.client, self.slow, self.state.slow_time / 4);
        let request = SessionRequest {
            owner: client.context.owner,
            method: "tools/call",
            params: Some(slow.params.clone()),
            timeout: Some(client.remaining()),
            progress: true,
        };
        let cancellation = Cancellation {
            request,
            trigger: CancelTrigger::After(quarter),
            reason: None,
            signal: CancelSignal::ClosedResponse,
            watch: quarter,
        };
        let closed = client.session().cancel(cancellation).await.map_err(|failure| client.end_of(failure))?;
        if !closed.is_cancelled {
            return Ok(ClosedCall::AnsweredFirst);
        }
        evidence.given_up(slow, closed.frame, closed.elapsed, &[]);
        let halfway = self.state.read(client).await?;
        // A busy machine takes longer than the call took alone.
        for _ in 0..READS {
            client.wait((slow.time + SLACK) / READS).await;
            let later = self.state.read(client).await?;
            if halfway.state.first_change(&later.state).is_some() {
                return Ok(ClosedCall::Finished);
            }
        }
        Ok(ClosedCall::Stopped)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_that_stops_twice_was_cancelled() {
        use ClosedCall::{AnsweredFirst, Finished, Stopped};
        for (calls, expected) in [
            (&[][..], None),
            (&[Finished], Some(ClosedVerdict::Right)),
            (&[Stopped], None),
            (&[Stopped, Stopped], Some(ClosedVerdict::Wrong)),
            (&[Stopped, Finished], Some(ClosedVerdict::Unclear)),
            (&[AnsweredFirst], Some(ClosedVerdict::AnsweredFirst)),
            (&[Stopped, AnsweredFirst], Some(ClosedVerdict::AnsweredFirst)),
        ] {
            assert_eq!(judge(calls), expected, "{calls:?}");
        }
    }
}
