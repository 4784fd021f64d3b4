//! Notifications of cancellation and of logs.

use serde_json::Value;

use super::super::super::{Id, Revision};
use super::super::look::{MessageCheck, MessageStream};
use super::super::memory::SessionMemory;
use super::super::table::ScanRule;
use super::shown;
use crate::wire::Members;

/// Judges what the server cancels.
pub(super) fn cancelled(look: &mut MessageCheck<'_>, memory: &SessionMemory, params: &Value) {
    let named = params.member("requestId");
    let id = named.and_then(Id::from_json);
    let is_of_server = id.as_ref().is_some_and(|id| memory.server_ids.contains(id));
    if look.revision < Revision::V2026_07_28 {
        look.require(ScanRule::ForeignCancel, is_of_server, || {
            format!("the server cancelled request {}, which it did not send", shown(named))
        });
    } else if !memory.is_mixed {
        let asked = id.as_ref().and_then(|id| memory.asked.get(id));
        let is_listen = asked.is_some_and(|asked| asked.method == "subscriptions/listen");
        look.require(ScanRule::ForeignCancel, is_listen, || {
            format!("the server cancelled request {}, which is not a `subscriptions/listen`", shown(named))
        });
    }
}

/// Judges a log message.
pub(super) fn logged(look: &mut MessageCheck<'_>, memory: &SessionMemory) {
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
