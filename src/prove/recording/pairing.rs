//! From the frames of a session to exchanges: what came is tied to what it came for.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use super::key::asked;
use crate::fault::{ClientMessage, MessageExchange, ReplyContent, ServerEnd, ServerReply};
use crate::runner::SessionFrames;
use crate::transport::ServerExit;
use crate::wire::{Channel, Direction, Frame, HttpHead, RpcMessage, classify};

/// Why a case is not played back of which something was left out.
const NOT_WHOLE: &str = "its session was too long to be kept whole";

/// The exchanges of a session.
pub(crate) struct SessionExchanges {
    /// In the order in which they were asked; sessions and occurrences are not counted yet.
    pub(crate) exchanges: Vec<MessageExchange>,
    /// The cases of which something cannot be played back, with the reason.
    pub(crate) unplayable: BTreeMap<String, String>,
}

/// Ties together what travelled in one session.
pub(crate) fn dialogue(session: &SessionFrames) -> SessionExchanges {
    let mut tying = FramePairing {
        owners: owners(session),
        early: Vec::new(),
        open: Vec::new(),
        asked_at: Vec::new(),
        dialogue: SessionExchanges { exchanges: Vec::new(), unplayable: BTreeMap::new() },
    };
    for frame in &session.frames {
        tying.frame(frame);
    }
    if let Some(ending) = session.ending {
        let how = match ending.exit {
            Some(ServerExit::Status(status)) => ServerEnd::Status(status),
            Some(ServerExit::Signal(signal)) => ServerEnd::Signal(signal),
            Some(ServerExit::Unknown | ServerExit::Returned | ServerExit::Panicked) | None => ServerEnd::Closed,
        };
        tying.came(None, ending.at, ReplyContent::Ended(how), None);
    }
    tying.dialogue
}

fn owners(session: &SessionFrames) -> BTreeMap<u32, &str> {
    session.owners.iter().flat_map(|(owner, frames)| frames.iter().map(move |seq| (*seq, owner.as_str()))).collect()
}

struct FramePairing<'a> {
    owners: BTreeMap<u32, &'a str>,
    /// Messages that came before anything was asked.
    early: Vec<ServerReply>,
    /// Requests that have no answer yet, as indices.
    open: Vec<usize>,
    asked_at: Vec<Duration>,
    dialogue: SessionExchanges,
}

impl FramePairing<'_> {
    fn frame(&mut self, frame: &Frame) {
        let owner = self.owners.get(&frame.seq).map(|owner| (*owner).to_owned());
        match (frame.channel, frame.direction) {
            (Channel::Http, _) => self.give_up(owner, "it speaks HTTP by itself, in a raw step"),
            (Channel::Stderr, _) => self.came(None, frame.at, ReplyContent::Stderr(frame.bytes.to_vec()), None),
            (Channel::Protocol, Direction::Sent) => self.sent(owner.unwrap_or_default(), frame),
            (Channel::Protocol, Direction::Received) => self.received(owner.as_deref(), frame),
        }
    }

    fn give_up(&mut self, owner: Option<String>, reason: &str) {
        self.dialogue.unplayable.entry(owner.unwrap_or_default()).or_insert_with(|| reason.to_owned());
    }

    fn sent(&mut self, owner: String, frame: &Frame) {
        let sent = match frame.json() {
            Ok(json) => match asked(&json) {
                Some(message) => message,
                None => return,
            },
            Err(_) => ClientMessage::Raw(frame.bytes.to_vec()),
        };
        if !frame.is_whole() {
            self.give_up(Some(owner.clone()), NOT_WHOLE);
        }
        let index = self.dialogue.exchanges.len();
        if !matches!(sent, ClientMessage::Message { id: None, .. }) {
            self.open.push(index);
        }
        let replies = std::mem::take(&mut self.early);
        self.dialogue.exchanges.push(MessageExchange { owner, session: 0, occurrence: 0, sent, replies });
        self.asked_at.push(frame.at);
    }

    fn received(&mut self, owner: Option<&str>, frame: &Frame) {
        let http = frame.http.as_ref();
        if !frame.is_whole() {
            self.give_up(owner.map(str::to_owned), NOT_WHOLE);
        }
        let Ok(json) = frame.json() else {
            let content = ReplyContent::Bytes(frame.bytes.to_vec());
            return self.came(self.of_owner(owner), frame.at, content, http);
        };
        let mut meant = None;
        if let RpcMessage::Response { id: Some(id) } = classify(&json) {
            meant = self.asked_with(&id.to_json());
            self.open.retain(|index| Some(*index) != meant);
        } else if let Some(token) = json["params"].get("progressToken") {
            meant = self.asked_with(token);
        }
        let meant = meant.or_else(|| self.of_owner(owner));
        self.came(meant, frame.at, ReplyContent::Message(Arc::unwrap_or_clone(json)), http);
    }

    /// The last request with that id.
    fn asked_with(&self, wanted: &Value) -> Option<usize> {
        let has = |exchange: &MessageExchange| matches!(&exchange.sent, ClientMessage::Message { id: Some(id), .. } if id == wanted);
        self.dialogue.exchanges.iter().rposition(has)
    }

    /// The request that a case is waiting for, or made last.
    fn of_owner(&self, owner: Option<&str>) -> Option<usize> {
        let owner = owner?;
        let is_its = |index: &usize| self.dialogue.exchanges[*index].owner == owner;
        let open = self.open.iter().copied().rfind(is_its);
        open.or_else(|| (0..self.dialogue.exchanges.len()).rev().find(is_its))
    }

    /// Ties something to what it came for: where that cannot be told, to the last request without an answer, else to
    /// whatever was said last.
    fn came(&mut self, meant: Option<usize>, at: Duration, content: ReplyContent, http: Option<&Arc<HttpHead>>) {
        let open = self.open.last().copied();
        let index = meant.or(open).or_else(|| self.dialogue.exchanges.len().checked_sub(1));
        let asked_at = index.map(|index| self.asked_at[index]).unwrap_or_default();
        let reply = ServerReply { after: at.saturating_sub(asked_at), content, http: http.cloned() };
        match index {
            Some(index) => self.dialogue.exchanges[index].replies.push(reply),
            None => self.early.push(ServerReply { after: Duration::ZERO, ..reply }),
        }
    }
}
