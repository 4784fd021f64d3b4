//! The check of one aspect: a session with a server of its own, its slow call, and the verdict on that.

use std::sync::Arc;

use super::cancellation::cancel_slow_call;
use super::disconnection::disconnect;
use super::other_calls::compare;
use super::shutdown::shut_down;
use super::slow_call::MeasuredCalls;
use super::{SlowCallAspect, TimeoutSettings};
use crate::check::CheckSession;
use crate::event::{CheckResult, Outcome, Reason};
use crate::plan::{BoxFuture, Check, CheckContext};

/// Checks one aspect of slow calls.
#[derive(Debug)]
pub(crate) struct SlowCallCheck {
    pub(crate) settings: Arc<TimeoutSettings>,
    pub(crate) aspect: SlowCallAspect,
}

impl Check for SlowCallCheck {
    fn run<'a>(&'a self, context: CheckContext<'a>) -> BoxFuture<'a, CheckResult> {
        Box::pin(async move { run(self, &context).await })
    }
}

async fn run(check: &SlowCallCheck, context: &CheckContext<'_>) -> CheckResult {
    let settings = &*check.settings;
    let client = match CheckSession::open(context, settings.limits()).await {
        Ok(client) => client,
        Err(end) => return end.into_result(),
    };
    let measured = settings.slow_calls.of(&client, settings).await;
    fail_if_required(check, judge(check, client, &measured).await)
}

/// A check that the suite requires does not pass because it could not be made.
fn fail_if_required(check: &SlowCallCheck, result: CheckResult) -> CheckResult {
    let is_required = check.settings.required.contains(&check.aspect);
    match result.reason {
        Some(why) if is_required && result.outcome == Outcome::Skipped && !matches!(why, Reason::ReadOnly(_)) => {
            let why = format!("the required check `{}` could not be made: {why}", check.aspect.as_str());
            CheckResult { outcome: Outcome::Errored, reason: Some(Reason::NotEvaluated(why)), ..result }
        }
        reason => CheckResult { reason, ..result },
    }
}

async fn judge(check: &SlowCallCheck, client: CheckSession<'_>, measured: &MeasuredCalls) -> CheckResult {
    let settings = &*check.settings;
    let result = match (check.aspect, measured.slow()) {
        // The case that measured the slow call fails with what it saw.
        (SlowCallAspect::Shutdown, Err(result)) if result.outcome == Outcome::Failed => result,
        // A server must end without a slow call, too.
        (SlowCallAspect::Shutdown, slow) => {
            return shut_down(client, settings, slow.ok().and(measured.slowest())).await;
        }
        (_, Err(result)) => result,
        (SlowCallAspect::Cancellation, Ok(slow)) => cancel_slow_call(&client, settings, slow, measured).await,
        (SlowCallAspect::Disconnection, Ok(slow)) => disconnect(&client, settings, slow).await,
        (SlowCallAspect::OtherCalls, Ok(slow)) => compare(&client, settings, slow, measured).await,
    };
    client.close_with(result).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_required_check_that_cannot_be_made_does_not_pass() {
        let skipped = || CheckResult::not_applicable("no tool is slow");
        for (settings, result, outcome, says) in [
            ("required: [shutdown]", skipped(), Outcome::Errored, "`shutdown` could not be made: no tool is slow"),
            ("required: [cancellation]", skipped(), Outcome::Skipped, "no tool is slow"),
            (
                "required: [shutdown]",
                CheckResult::inconclusive("it is unclear"),
                Outcome::Inconclusive,
                "it is unclear",
            ),
            (
                "required: [shutdown]",
                CheckResult::because(Outcome::Skipped, Reason::ReadOnly("nothing is written".to_owned())),
                Outcome::Skipped,
                "nothing is written",
            ),
        ] {
            let settings = Arc::new(TimeoutSettings::of_test(settings));
            let result = fail_if_required(&SlowCallCheck { settings, aspect: SlowCallAspect::Shutdown }, result);
            assert_eq!(result.outcome, outcome, "{says}");
            assert!(result.reason.unwrap().to_string().ends_with(says), "{says}");
        }
    }
}
