//! Rules about notifications on subscriptions (`subscriptions/listen`).

use serde_json::Value;

use super::super::super::{Id, Revision};
use super::super::look::{MessageCheck, MessageStream};
use super::super::memory::{SessionMemory, Subscription};
use super::super::table::ScanRule;
use super::shown;
use crate::wire::Members;

const ACKNOWLEDGED: &str = "notifications/subscriptions/acknowledged";

/// The key under which notifications name their subscription.
const TAG: &str = "io.modelcontextprotocol/subscriptionId";

/// Judges a notification as part of a subscription.
pub(super) fn judge(look: &mut MessageCheck<'_>, memory: &mut SessionMemory, method: &str, params: &Value) {
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
                format!("`{method}` carries the subscription {}, which is not the one that it belongs to", shown(tag))
            });
        }
    }
    let Some(listen) = stream.or(named).and_then(|id| memory.listens.get_mut(&id)) else { return };
    order(look, listen, method);
    filter(look, listen, method);
}

/// The notifications that only come where somebody listens.
fn is_change(method: &str) -> bool {
    method == ACKNOWLEDGED || method == "notifications/resources/updated" || method.ends_with("/list_changed")
}

fn order(look: &mut MessageCheck<'_>, listen: &mut Subscription, method: &str) {
    if method == ACKNOWLEDGED {
        listen.is_acknowledged = true;
    }
    look.require(ScanRule::ListenUnacknowledged, listen.is_acknowledged, || {
        format!("`{method}` came on a subscription that was not acknowledged")
    });
}

fn filter(look: &mut MessageCheck<'_>, listen: &Subscription, method: &str) {
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
