//! Messages before the answer to `initialize`.

use serde_json::Value;

use super::super::look::{MessageCheck, MessageStream};
use super::super::memory::SessionMemory;
use super::super::table::ScanRule;

/// The messages that may come before: pings and log messages, and those about `initialize` itself.
const ALLOWED: [&str; 4] = ["ping", "notifications/message", "notifications/progress", "notifications/cancelled"];

/// Judges a message that comes while the answer to `initialize` is due. Another stream may overtake that answer.
pub(crate) fn judge(look: &mut MessageCheck<'_>, memory: &SessionMemory, message: &Value) {
    if memory.agreed.is_some() || look.stream == MessageStream::Common || !memory.awaits_handshake() {
        return;
    }
    let method = message["method"].as_str();
    look.require(ScanRule::EarlyMessage, method.is_none_or(|method| ALLOWED.contains(&method)), || {
        format!("the server sent `{}` before it answered `initialize`", method.unwrap_or_default())
    });
}
