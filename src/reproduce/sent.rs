//! From the messages of a session to the requests that say the same again.

use serde_json::Value;

use crate::event::ReproductionCall;
use crate::wire::{Frame, ListKind};

/// A sent message, to be sent again; `None` for answers to the server.
pub fn sent_call(frame: &Frame) -> Option<ReproductionCall> {
    let raw = || ReproductionCall::new("", frame.text().into());
    let Ok(message) = frame.json() else { return Some(raw()) };
    let is_sound = message["jsonrpc"] == "2.0" && message.get("id").is_none_or(|id| id.is_number() || id.is_string());
    let method = match message["method"].as_str() {
        Some(method) if is_sound => method.to_owned(),
        None if is_sound && (message.get("result").is_some() || message.get("error").is_some()) => return None,
        Some(_) | None => return Some(raw()),
    };
    let is_notification = message.get("id").is_none();
    if is_notification != method.starts_with("notifications/") {
        return Some(raw());
    }
    let mut params = message.get("params").cloned().unwrap_or_default();
    without_era(&mut params);
    Some(ReproductionCall::new(method, params))
}

/// Takes out what the revision adds to every request.
fn without_era(params: &mut Value) {
    let Some(members) = params.as_object_mut() else { return };
    let Some(meta) = members.get_mut("_meta").and_then(Value::as_object_mut) else { return };
    meta.retain(|name, _| !name.starts_with("io.modelcontextprotocol/") && name != "progressToken");
    if meta.is_empty() {
        members.remove("_meta");
    }
}

/// The request opens a session.
pub fn is_handshake(call: &ReproductionCall) -> bool {
    ["initialize", "notifications/initialized"].contains(&call.method.as_str())
}

/// Every session sends this request to get to know its server.
pub fn is_discovery(call: &ReproductionCall) -> bool {
    call.method == "server/discover" || ListKind::ALL.iter().any(|kind| kind.method() == call.method)
}
