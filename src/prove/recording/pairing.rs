//! From the frames of a session to exchanges: every reply belongs to a request.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use super::key::request_in;
use crate::fault::{ClientMessage, MessageExchange, ReplyContent, ServerEnd, ServerReply};
use crate::runner::SessionFrames;
use crate::transport::{Owner, ServerExit};
use crate::wire::{Channel, Direction, Frame, HttpHead, RpcMessage, SUBSCRIPTION_ID, classify};

/// The reason why a case with missing frames is not played back.
pub(crate) const NOT_WHOLE: &str = "its session was too long to be kept whole";

/// The exchanges of a session.
pub(crate) struct SessionExchanges {
    /// In the order in which they were asked; sessions and occurrences are not counted yet.
    pub(crate) exchanges: Vec<MessageExchange>,
    /// The owners of what cannot be played back, with the reason.
    pub(crate) unplayable: BTreeMap<Owner, String>,
}

/// Pairs the frames of one session.
pub(crate) fn pair_frames(session: &SessionFrames) -> SessionExchanges {
    let mut pairing = FramePairing {
        owners: owners(session),
        early: Vec::new(),
        open: Vec::new(),
        asked_at: Vec::new(),
        found: SessionExchanges { exchanges: Vec::new(), unplayable: BTreeMap::new() },
    };
    for frame in &session.frames {
        pairing.frame(frame);
    }
    if let Some(ending) = session.ending {
        let how = match ending.exit {
            Some(ServerExit::Status(status)) => ServerEnd::Status(status),
            Some(ServerExit::Signal(signal)) => ServerEnd::Signal(signal),
            Some(ServerExit::Unknown | ServerExit::NotListening | ServerExit::Returned | ServerExit::Panicked)
            | None => ServerEnd::Closed,
        };
        pairing.add_reply(None, ending.at, ReplyContent::Ended(how), None);
    }
    pairing.found
}

fn owners(session: &SessionFrames) -> BTreeMap<u32, &Owner> {
    session.owners.iter().flat_map(|(owner, frames)| frames.iter().map(move |seq| (*seq, owner))).collect()
}

struct FramePairing<'a> {
    owners: BTreeMap<u32, &'a Owner>,
    /// Messages that came before anything was asked.
    early: Vec<ServerReply>,
    /// Requests that have no answer yet, as indices.
    open: Vec<usize>,
    asked_at: Vec<Duration>,
    found: SessionExchanges,
}

impl FramePairing<'_> {
    fn frame(&mut self, frame: &Frame) {
        let owner = self.owners.get(&frame.seq).map(|owner| Owner::clone(owner));
        match (frame.channel, frame.direction) {
            (Channel::Http, _) => self.give_up(owner, "it speaks HTTP by itself, in a raw step"),
            (Channel::Stderr, _) => self.add_reply(None, frame.at, ReplyContent::Stderr(frame.bytes.to_vec()), None),
            (Channel::Protocol, Direction::Sent) => self.pair_sent(owner.unwrap_or_default(), frame),
            (Channel::Protocol, Direction::Received) => self.pair_received(owner.as_ref(), frame),
        }
    }

    fn give_up(&mut self, owner: Option<Owner>, reason: &str) {
        self.found.unplayable.entry(owner.unwrap_or_default()).or_insert_with(|| reason.to_owned());
    }

    fn pair_sent(&mut self, owner: Owner, frame: &Frame) {
        let sent = match frame.json() {
            Ok(json) => match request_in(&json) {
                Some(message) => message,
                None => return,
            },
            Err(_) => ClientMessage::Raw(frame.bytes.to_vec()),
        };
        if !frame.is_whole() {
            self.give_up(Some(owner.clone()), NOT_WHOLE);
        }
        let index = self.found.exchanges.len();
        if !matches!(sent, ClientMessage::Message { id: None, .. }) {
            self.open.push(index);
        }
        let replies = std::mem::take(&mut self.early);
        self.found.exchanges.push(MessageExchange { owner, session: 0, occurrence: 0, sent, replies });
        self.asked_at.push(frame.at);
    }

    fn pair_received(&mut self, owner: Option<&Owner>, frame: &Frame) {
        let http = frame.http.as_ref();
        if !frame.is_whole() {
            self.give_up(owner.cloned(), NOT_WHOLE);
        }
        let Ok(json) = frame.json() else {
            let content = ReplyContent::Bytes(frame.bytes.to_vec());
            return self.add_reply(self.of_owner(owner), frame.at, content, http);
        };
        let mut meant = None;
        if let RpcMessage::Response { id: Some(id) } = classify(&json) {
            meant = self.asked_with(&id.to_json());
            self.open.retain(|index| Some(*index) != meant);
        } else if let Some(token) = json["params"].get("progressToken").or_else(|| json.pointer(SUBSCRIPTION_ID)) {
            meant = self.asked_with(token);
        }
        let meant = meant.or_else(|| self.of_owner(owner));
        self.add_reply(meant, frame.at, ReplyContent::Message(Arc::unwrap_or_clone(json)), http);
    }

    /// The last request with that id.
    fn asked_with(&self, wanted: &Value) -> Option<usize> {
        let has = |exchange: &MessageExchange| matches!(&exchange.sent, ClientMessage::Message { id: Some(id), .. } if id == wanted);
        self.found.exchanges.iter().rposition(has)
    }

    /// The request that a case is waiting for, or made last.
    fn of_owner(&self, owner: Option<&Owner>) -> Option<usize> {
        let owner = owner?;
        let is_its = |index: &usize| self.found.exchanges[*index].owner == *owner;
        let open = self.open.iter().copied().rfind(is_its);
        open.or_else(|| (0..self.found.exchanges.len()).rev().find(is_its))
    }

    /// Adds a reply to its request; if that is unknown, to the last request without an answer, else to the last message.
    fn add_reply(&mut self, meant: Option<usize>, at: Duration, content: ReplyContent, http: Option<&Arc<HttpHead>>) {
        let open = self.open.last().copied();
        let index = meant.or(open).or_else(|| self.found.exchanges.len().checked_sub(1));
        let asked_at = index.map(|index| self.asked_at[index]).unwrap_or_default();
        let reply = ServerReply { after: at.saturating_sub(asked_at), content, http: http.cloned() };
        match index {
            Some(index) => self.found.exchanges[index].replies.push(reply),
            None => self.early.push(ServerReply { after: Duration::ZERO, ..reply }),
        }
    }
}
