//! Messages that come for a request after its cancellation.

use std::time::Duration;

use serde_json::Value;

use crate::session::Session;
use crate::wire::{Direction, Frame};

/// A message for a cancelled request.
#[derive(Debug, Clone)]
pub(crate) struct LateMessage {
    pub(crate) frame: u32,
    /// Since the cancellation.
    pub(crate) after: Duration,
    pub(crate) kind: LateMessageKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LateMessageKind {
    Progress,
    Result,
    Error,
}

/// The messages for the request of a frame that came later than so long after it.
pub(crate) fn late_messages(session: &Session, request: u32, cancelled_after: Duration) -> Vec<LateMessage> {
    let frames = session.frames();
    let Some(sent) = frames.iter().find(|frame| frame.seq == request) else { return Vec::new() };
    let id = sent.json().ok().and_then(|message| message.get("id").cloned()).unwrap_or_default();
    let cancelled_at = sent.at + cancelled_after;
    let received = frames.iter().filter(|frame| frame.direction == Direction::Received && frame.at >= cancelled_at);
    received.filter_map(|frame| late_message(frame, &id, cancelled_at)).collect()
}

fn late_message(frame: &Frame, id: &Value, cancelled_at: Duration) -> Option<LateMessage> {
    let message = frame.json().ok()?;
    let kind = if message["method"] == "notifications/progress" && message["params"]["progressToken"] == *id {
        LateMessageKind::Progress
    } else if message.get("method").is_some() || message["id"] != *id {
        return None;
    } else if message["result"]["isError"] == true || message.get("error").is_some() {
        LateMessageKind::Error
    } else {
        LateMessageKind::Result
    };
    Some(LateMessage { frame: frame.seq, after: frame.at.saturating_sub(cancelled_at), kind })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::wire::{Channel, Transcript};

    fn received(message: &str, at: u64) -> Frame {
        let at = Duration::from_millis(at);
        Transcript::default().record(at, Direction::Received, Channel::Protocol, message.as_bytes()).clone()
    }

    #[test]
    fn messages_of_a_cancelled_request_are_told_by_its_id_and_token() {
        use LateMessageKind::{Error, Progress, Result};
        for (message, expected) in [
            (r#"{"id": 7, "result": {"content": []}}"#, Some(Result)),
            (r#"{"id": 7, "result": {"content": [], "isError": true}}"#, Some(Error)),
            (r#"{"id": 7, "error": {"code": -32800, "message": "cancelled"}}"#, Some(Error)),
            (r#"{"method": "notifications/progress", "params": {"progressToken": 7, "progress": 1}}"#, Some(Progress)),
            (r#"{"method": "notifications/progress", "params": {"progressToken": 8, "progress": 1}}"#, None),
            (r#"{"id": 8, "result": {"content": []}}"#, None),
            (r#"{"id": "7", "result": {"content": []}}"#, None),
            // A request of the server may have the same id.
            (r#"{"id": 7, "method": "ping"}"#, None),
            (r#"{"method": "notifications/message", "params": {"data": 7}}"#, None),
            ("no JSON", None),
        ] {
            let late = late_message(&received(message, 1_500), &json!(7), Duration::from_secs(1));
            assert_eq!(late.as_ref().map(|late| late.kind), expected, "{message}");
            assert!(late.is_none_or(|late| (late.frame, late.after) == (1, Duration::from_millis(500))));
        }
    }
}
