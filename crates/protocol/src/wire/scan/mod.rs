//! Rules that no server may break, checked in every frame of every run.
//!
//! [`SCANS`] is the table of the rules, `rules/` holds what decides them, by subject, and `shapes/` the published schemas of
//! all messages. One [`Scanner`] watches one session,
//! frame by frame; what it has to remember of both directions is in `memory`. A rule that might accuse a server that keeps
//! to the specification is no rule: where frames leave a doubt (streams that overtake each other, raw steps, extensions)
//! nothing is said, and where nothing could be broken nothing is counted.

mod look;
mod memory;
mod rules;
mod shapes;
mod table;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use serde_json::Value;

pub use self::look::MessageStream;
use self::look::{MessageCheck, ReportedMessages, RuleCounts};
use self::memory::SessionMemory;
use self::rules::framing::Fragments;
pub use self::table::{SCANS, Scan, ScanRule};
use super::{Direction, Era, Frame, Id, Revision};

/// A broken rule of the protocol, with the frame that shows it.
#[derive(Debug, Clone, PartialEq)]
pub struct ProtocolViolation {
    /// The broken rule; `None` for what HTTP shows: a refused notification, a connection that broke once.
    pub rule: Option<ScanRule>,
    /// A stable kebab-case name.
    pub code: &'static str,
    /// One sentence about what the server did.
    pub message: String,
    /// The variant of the fault taxonomy that this is.
    pub variant: &'static str,
    /// The place in the message, such as `result.content[*].text`, for rules about members; with the code it is the kind
    /// of the violation.
    pub place: Option<Box<str>>,
    /// The frame.
    pub frame: u32,
    /// The request that it belongs to, where that is clear.
    pub request: Option<Id>,
}

impl ProtocolViolation {
    /// The code of a connection that broke while a request was served that was served when it was made again.
    pub const CONNECTION_LOST: &str = "connection-lost";

    fn new(rule: ScanRule, message: String, frame: u32) -> Self {
        let scan = &SCANS[rule as usize];
        let (code, variant) = (scan.code, scan.variant);
        Self { rule: Some(rule), code, message, variant, place: None, frame, request: None }
    }

    /// The same rule is broken at the same place.
    pub fn is_like(&self, other: &Self) -> bool {
        self.place.is_some() && (self.code, &self.place) == (other.code, &other.place)
    }

    /// The specification only recommends what was broken, or it was seen once and not again.
    pub fn is_advice(&self) -> bool {
        self.rule.map_or(self.code == Self::CONNECTION_LOST, |rule| SCANS[rule as usize].is_advice)
    }

    /// It is about one message or exchange, whatever was said before.
    pub fn is_about_one_message(&self) -> bool {
        self.rule.map_or(self.code == Self::CONNECTION_LOST, ScanRule::is_about_one_message)
    }

    /// An answer does not name the request that it answers.
    pub fn is_stray_answer(&self) -> bool {
        matches!(self.rule, Some(ScanRule::WrongId | ScanRule::AnswerWithoutId))
    }
}

/// Watches one session.
#[derive(Debug)]
pub struct Scanner {
    era: Era,
    memory: SessionMemory,
    fragments: Fragments,
    seen: RuleCounts,
    reported: ReportedMessages,
    marked: Option<Box<SessionMemory>>,
}

impl Scanner {
    /// The variants that every run judges by scanning.
    pub const JUDGES: [&'static str; 3] = ["PROTO-STDOUT-NOISE", "PROTO-MALFORMED-ENVELOPE", "PROTO-REPLY-CORRELATION"];

    /// Watches a session of an era.
    pub fn new(era: Era) -> Self {
        Self {
            era,
            memory: SessionMemory::default(),
            fragments: Fragments::default(),
            seen: [0; SCANS.len()],
            reported: ReportedMessages::new(),
            marked: None,
        }
    }

    /// The era of the session.
    pub fn era(&self) -> Era {
        self.era
    }

    /// Changes the era once the handshake has settled it.
    pub fn set_era(&mut self, era: Era) {
        self.era = era;
    }

    /// Allows any number of answers to an id, since it was sent by a raw step.
    pub fn expect_anything_for(&mut self, id: Id) {
        self.memory.asked_raw(id);
    }

    /// Allows answers without an id and batches, since a raw step sent what may deserve them.
    pub fn expect_anything(&mut self) {
        self.memory.is_raw = true;
    }

    /// Takes note of what the session has taught so far, for [`Self::rewind`].
    pub fn mark(&mut self) {
        self.marked = Some(Box::new(self.memory.clone()));
    }

    /// Judges what follows as if nothing had travelled since the mark, unless something that was begun since then goes on, or
    /// was sent that may be answered whenever and however: then `false`.
    pub fn rewind(&mut self) -> bool {
        let Some(marked) = self.marked.as_deref().filter(|_| self.memory.is_at_rest()) else { return false };
        let memory = std::mem::replace(&mut self.memory, marked.clone());
        self.memory.keep_what_outlasts(memory);
        true
    }

    /// Takes note that a raw step sent what is no message, and may be answered whenever and however.
    pub fn expect_complaints(&mut self) {
        self.memory.is_spoilt = true;
    }

    /// Something was sent that is no message, so that complaints may still come.
    pub fn expects_complaints(&self) -> bool {
        self.memory.is_spoilt
    }

    /// Takes note of a request that is like an earlier one in everything but its id, as if its frame had been watched.
    pub fn asked_again(&mut self, like: &Id, id: Id, frame: u32) {
        self.memory.asked_again(like, id, frame);
    }

    /// Forgets a request; whatever answers it from here on answers nothing.
    pub fn forget(&mut self, id: &Id) {
        self.memory.asked.remove(id);
    }

    /// The number of things that could have broken each rule, by its code: frames, schemas, tokens and so on. Rules
    /// without any are left out.
    pub fn occasions(&self) -> BTreeMap<&'static str, u32> {
        SCANS.iter().zip(self.seen).filter(|(_, count)| *count > 0).map(|(scan, count)| (scan.code, count)).collect()
    }

    /// Looks at the next protocol frame.
    pub fn watch(&mut self, frame: &Frame) -> Vec<ProtocolViolation> {
        self.watch_on(frame, if frame.http.is_some() { MessageStream::Common } else { MessageStream::Only })
    }

    /// Looks at the next protocol frame, of which it is known which stream brought it.
    pub fn watch_on(&mut self, frame: &Frame, stream: MessageStream) -> Vec<ProtocolViolation> {
        let mut found = Vec::new();
        // It may be sound, whatever nobody reads.
        if frame.beyond().is_some() {
            return found;
        }
        match (frame.json(), frame.direction) {
            (Ok(json), Direction::Sent) => self.memory.on_sent(&json, frame.seq),
            (Err(_), Direction::Sent) => {}
            (json, Direction::Received) => self.on_received(frame, stream, json.as_deref(), &mut found),
        }
        found
    }

    fn on_received(
        &mut self,
        frame: &Frame,
        stream: MessageStream,
        json: Result<&Value, &String>,
        found: &mut Vec<ProtocolViolation>,
    ) {
        let revision = self.revision(json);
        let (seen, reported, request) = (&mut self.seen, &mut self.reported, None);
        let mut look = MessageCheck { frame, stream, revision, request, seen, reported, found };
        match json {
            _ if self.fragments.take(&mut look, json) => {}
            Ok(json) => rules::judge(&mut look, &mut self.memory, json),
            Err(reason) => rules::framing::unreadable(&mut look, reason),
        }
    }

    /// The revision whose rules hold for a message: of what was agreed on, or of what it offers by itself.
    fn revision(&self, json: Result<&Value, &String>) -> Revision {
        match self.era {
            Era::Stateless => Revision::NEWEST,
            Era::Session if json.is_ok_and(rules::results::is_discovery) => Revision::NEWEST,
            Era::Session => self.memory.agreed.unwrap_or(Revision::V2024_11_05),
        }
    }

    /// The open request whose id reads the same in the other type.
    pub fn open_request_of_other_id_type(&self, id: &Id) -> Option<Id> {
        self.memory.open_request_of_other_id_type(id)
    }
}
