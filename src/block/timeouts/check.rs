//! The check of one aspect: a session with a server of its own, its slow call, and the verdict on that.

use std::sync::Arc;

use super::cancellation::cancel_slow_call;
use super::disconnection::disconnect;
use super::other_calls::compare;
use super::shutdown::shut_down;
use super::{SlowCallAspect, TimeoutSettings};
use crate::check::CheckSession;
use crate::event::{CheckResult, Outcome};
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
    let result = match (check.aspect, measured.slow()) {
        // The case that measured the slow call fails with what it saw.
        (SlowCallAspect::Shutdown, Err(result)) if result.outcome == Outcome::Failed => result,
        // A server must end without a slow call, too.
        (SlowCallAspect::Shutdown, slow) => return shut_down(client, settings, slow.ok()).await,
        (_, Err(result)) => result,
        (SlowCallAspect::Cancellation, Ok(slow)) => cancel_slow_call(&client, settings, slow, &measured).await,
        (SlowCallAspect::Disconnection, Ok(slow)) => disconnect(&client, settings, slow).await,
        (SlowCallAspect::OtherCalls, Ok(slow)) => compare(&client, settings, slow, &measured).await,
    };
    client.close_with(result).await
}
