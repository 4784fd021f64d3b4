//! A server that answers nothing any more after one call, told apart from a slow one.
//!
//! The call is made again on a fresh server: only if that answers neither the call nor a sign of life that has twice the
//! time, the call is at fault. A server that works on one request at a time answers the sign of life when it is done.

use std::time::Duration;

use super::{CheckEnd, CheckLimits, CheckRequest, CheckSession};
use crate::event::{FailureClass, Finding, ReproductionCall};
use crate::plan::CheckContext;
use crate::source::{beginning_of_json, duration_text};

/// The number of characters of a call that are shown.
const SHOWN: usize = 160;

const HELP: &str =
    "answer every request, with an error where it cannot be done; raise `request_timeout` if a call may take longer";

/// The finding where a fresh server does not answer after a call, or never answers the call itself; `None` where it does,
/// or where no time is left to see it.
pub(crate) async fn find_silence(
    context: &CheckContext<'_>,
    limits: CheckLimits,
    call: &ReproductionCall,
) -> Option<Finding> {
    if let Some(hang) = find_hang(context, limits.clone(), call).await {
        return Some(hang);
    }
    let session = CheckSession::open(context, limits).await.ok()?;
    let timeout = context.request_timeout * 2;
    let request = CheckRequest::new(&call.method, call.params.clone()).within(timeout);
    let is_silent = session.remaining() > timeout && is_timeout(session.request(request).await.err().as_ref());
    session.close().await;
    is_silent.then(|| hang_finding(&call_text(call), timeout))
}

/// The finding where a fresh server does not answer after a call; `None` where it does, or where no time is left to see it.
pub(crate) async fn find_hang(
    context: &CheckContext<'_>,
    limits: CheckLimits,
    call: &ReproductionCall,
) -> Option<Finding> {
    let session = CheckSession::open(context, limits).await.ok()?;
    let request = CheckRequest::new(&call.method, call.params.clone());
    let is_silent = is_timeout(session.request(request).await.err().as_ref());
    if is_silent { end_silent(session, &call_text(call)).await } else { end_answered(session).await }
}

/// A call as messages show it.
fn call_text(call: &ReproductionCall) -> String {
    let subject = call.params["name"].as_str().unwrap_or(&call.method);
    let arguments = &call.params["arguments"];
    if arguments.as_object().is_none_or(serde_json::Map::is_empty) {
        format!("`{subject}`")
    } else {
        format!("`{subject} {}`", beginning_of_json(arguments, SHOWN))
    }
}

async fn end_answered(session: CheckSession<'_>) -> Option<Finding> {
    session.close().await;
    None
}

/// Ends a session in which a call got no answer; the finding says that the server answers nothing else either.
pub(crate) async fn end_silent(session: CheckSession<'_>, call: &str) -> Option<Finding> {
    let timeout = session.context.request_timeout;
    let is_silent = session.remaining() > timeout * 2 && is_timeout(session.ping(timeout * 2).await.err().as_ref());
    let sign_of_life = session.sign_of_life();
    session.close().await;
    is_silent.then(|| finding(call, sign_of_life, timeout))
}

fn finding(call: &str, sign_of_life: &str, timeout: Duration) -> Finding {
    let message = format!(
        "after {call} the server answers nothing any more: on a fresh server neither the call was answered within {}, nor \
         `{sign_of_life}` within {}",
        duration_text(timeout),
        duration_text(timeout * 2)
    );
    Finding { help: Some(HELP.to_owned()), ..Finding::failure(FailureClass::Timeout, message) }
}

/// The finding about a call that is never answered, while the server answers others.
fn hang_finding(call: &str, timeout: Duration) -> Finding {
    let message = format!("{call} got no answer within {}, also on a fresh server", duration_text(timeout));
    Finding { help: Some(HELP.to_owned()), ..Finding::failure(FailureClass::Timeout, message) }
}

fn is_timeout(end: Option<&CheckEnd>) -> bool {
    matches!(end, Some(CheckEnd::Unanswered(failure)) if failure.is_timeout())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::failure_of_test;
    use crate::event::Outcome;
    use crate::session::FailureReason;

    #[test]
    fn only_silence_is_a_hang() {
        let unanswered = |reason| Some(CheckEnd::Unanswered(Box::new(failure_of_test(reason))));
        for (end, expected) in [
            (unanswered(FailureReason::Timeout(Duration::from_secs(1))), true),
            (unanswered(FailureReason::Protocol("no JSON".to_owned())), false),
            (Some(CheckEnd::inconclusive("no time")), false),
            (None, false),
        ] {
            assert_eq!(is_timeout(end.as_ref()), expected, "{end:?}");
        }
    }

    #[test]
    fn a_hang_fails_and_names_the_call() {
        let found = finding("`add`", "ping", Duration::from_secs(10));
        assert!(found.message.starts_with("after `add` the server answers nothing any more"), "{}", found.message);
        assert!(found.message.ends_with("within 10 s, nor `ping` within 20 s"), "{}", found.message);
        assert_eq!(CheckEnd::failed(found).into_result().outcome, Outcome::Failed);
        let found = hang_finding("`add`", Duration::from_secs(20));
        assert_eq!(found.message, "`add` got no answer within 20 s, also on a fresh server");
        assert_eq!(CheckEnd::failed(found).into_result().outcome, Outcome::Failed);
    }
}
