//! Notifications: cancellation, logs, progress, and those that come on a subscription (`subscriptions/listen`).

use serde_json::Value;

use super::super::look::{MessageCheck, MessageStream};
use super::super::memory::{SentRequest, SessionMemory, Subscription};
use super::super::table::ScanRule;
use super::quote;
use crate::wire::{Id, Members, Revision};

/// Judges what the server cancels.
pub(crate) fn judge_cancellation(look: &mut MessageCheck<'_>, memory: &SessionMemory, params: &Value) {
    let named = params.member("requestId");
    let id = named.and_then(Id::from_json);
    let is_of_server = id.as_ref().is_some_and(|id| memory.server_ids.contains(id));
    if look.revision < Revision::V2026_07_28 {
        look.require(ScanRule::ForeignCancel, is_of_server, || {
            format!("the server cancelled request {}, which it did not send", quote(named))
        });
    } else if !memory.is_mixed {
        let asked = id.as_ref().and_then(|id| memory.asked.get(id));
        let is_listen = asked.is_some_and(|asked| asked.method == "subscriptions/listen");
        look.require(ScanRule::ForeignCancel, is_listen, || {
            format!("the server cancelled request {}, which is not a `subscriptions/listen`", quote(named))
        });
    }
}

/// Judges a log message.
pub(crate) fn judge_log(look: &mut MessageCheck<'_>, memory: &SessionMemory) {
    if let Some(promised) = &memory.promised {
        look.require(ScanRule::UndeclaredLog, promised.logging, || {
            "the server sent `notifications/message`, though it does not declare the capability `logging`".to_owned()
        });
    }
    if memory.is_mixed {
        return;
    }
    let is_wanted = match look.stream {
        // On a single stream nothing tells whose message it is.
        MessageStream::Only if !memory.is_raw => memory.wants_logs,
        MessageStream::Response(frame) => match memory.asked_in(frame).and_then(|id| memory.asked.get(id)) {
            Some(asked) if asked.is_stateless && !asked.is_raw => asked.wants_logs,
            _ => return,
        },
        MessageStream::Only | MessageStream::Common => return,
    };
    look.require(ScanRule::UnaskedLog, is_wanted, || {
        "the server sent `notifications/message` for a request that names no `logLevel` in its `_meta`".to_owned()
    });
}

/// Judges a notification of progress.
pub(crate) fn judge_progress(look: &mut MessageCheck<'_>, memory: &mut SessionMemory, params: &Value) {
    let named = params.member("progressToken");
    let id = named.and_then(Id::from_json);
    let token = id.as_ref().and_then(|id| memory.tokens.get_mut(id));
    look.require(ScanRule::ProgressUnknownToken, token.is_some(), || {
        format!("the server reported progress with token {}, which matches no request", quote(named))
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
pub(crate) fn end_progress(memory: &mut SessionMemory, asked: &SentRequest, stream: MessageStream) {
    if let Some(token) = asked.token.as_ref().and_then(|token| memory.tokens.get_mut(token)) {
        token.answered_on = Some(stream);
    }
}

const ACKNOWLEDGED: &str = "notifications/subscriptions/acknowledged";

/// The key under which notifications name their subscription.
const TAG: &str = "io.modelcontextprotocol/subscriptionId";

/// Judges a notification as part of a subscription.
pub(crate) fn on_subscription(look: &mut MessageCheck<'_>, memory: &mut SessionMemory, method: &str, params: &Value) {
    if look.revision < Revision::V2026_07_28 || memory.is_mixed {
        return;
    }
    let tag = params.member("_meta").and_then(|meta| meta.get(TAG));
    let named = tag.and_then(Id::from_json);
    let stream = match look.stream {
        MessageStream::Response(frame) => memory.asked_in(frame).filter(|id| memory.listens.contains_key(id)).cloned(),
        MessageStream::Only | MessageStream::Common => None,
    };
    let is_change = is_change(method);
    if is_change || stream.is_some() {
        let is_right = match &stream {
            Some(stream) => named.as_ref() == Some(stream),
            None => named.as_ref().is_some_and(|named| memory.listens.contains_key(named)),
        };
        // A subscription that a raw step asked for in its own words is not known.
        let is_doubtful = memory.is_raw && stream.is_none() && named.is_some();
        if is_right || !is_doubtful {
            look.require(ScanRule::ListenUntagged, is_right, || {
                format!("`{method}` carries the subscription {}, which is not the one that it belongs to", quote(tag))
            });
        }
    }
    let Some(listen) = stream.or(named).and_then(|id| memory.listens.get_mut(&id)) else { return };
    judge_order(look, listen, method);
    judge_filter(look, listen, method);
}

/// The notifications that only come where somebody listens.
fn is_change(method: &str) -> bool {
    method == ACKNOWLEDGED || method == "notifications/resources/updated" || method.ends_with("/list_changed")
}

fn judge_order(look: &mut MessageCheck<'_>, listen: &mut Subscription, method: &str) {
    if method == ACKNOWLEDGED {
        listen.is_acknowledged = true;
    }
    look.require(ScanRule::ListenUnacknowledged, listen.is_acknowledged, || {
        format!("`{method}` came on a subscription that was not acknowledged")
    });
}

fn judge_filter(look: &mut MessageCheck<'_>, listen: &Subscription, method: &str) {
    let is_stray = method == "notifications/message" || method == "notifications/progress" && !listen.has_token;
    look.require(ScanRule::ListenStray, !is_stray, || format!("`{method}` came on the stream of a subscription"));
    let is_wanted = match method {
        "notifications/tools/list_changed" => listen.tools,
        "notifications/prompts/list_changed" => listen.prompts,
        "notifications/resources/list_changed" => listen.resources,
        "notifications/resources/updated" => listen.updates,
        _ => return,
    };
    look.require(ScanRule::ListenUnasked, is_wanted, || {
        format!("`{method}` came on a subscription that did not ask for it")
    });
}
