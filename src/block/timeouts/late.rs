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
