//! Progress: whose it is, that it grows, that it ends.

use serde_json::Value;

use super::super::super::Id;
use super::super::look::{MessageCheck, MessageStream};
use super::super::memory::{SentRequest, SessionMemory};
use super::super::table::ScanRule;
use super::shown;
use crate::wire::Members;

/// Judges a notification of progress.
pub(super) fn judge(look: &mut MessageCheck<'_>, memory: &mut SessionMemory, params: &Value) {
    let named = params.member("progressToken");
    let id = named.and_then(Id::from_json);
    let token = id.as_ref().and_then(|id| memory.tokens.get_mut(id));
    look.require(ScanRule::ProgressUnknownToken, token.is_some(), || {
        format!("the server reported progress with token {}, which matches no request", shown(named))
    });
    let Some(token) = token.filter(|token| !token.is_loose) else { return };
    // Streams overtake each other; what came on one of them is in its order.
    let is_late = match (token.answered_on, look.stream) {
        (Some(MessageStream::Only), MessageStream::Only) => true,
        (Some(MessageStream::Response(answered)), MessageStream::Response(stream)) => answered == stream,
        _ => false,
    };
    let request = token.request.to_json();
    look.require(ScanRule::ProgressAfterAnswer, !is_late, || {
        format!("the server reported progress for request {request} after answering it")
    });
    let Some(progress) = params.member("progress").and_then(Value::as_f64) else { return };
    if let Some((last, _)) = token.last.filter(|(_, stream)| *stream == look.stream) {
        look.require(ScanRule::ProgressNotIncreasing, progress > last, || {
            format!("the progress of request {request} went from {last} to {progress}")
        });
    }
    token.last = Some((progress, look.stream));
}

/// Notes that a request is answered, so that its progress is over.
pub(super) fn end(memory: &mut SessionMemory, asked: &SentRequest, stream: MessageStream) {
    if let Some(token) = asked.token.as_ref().and_then(|token| memory.tokens.get_mut(token)) {
        token.answered_on = Some(stream);
    }
}
