//! Calls of tools in quick succession, and whatever comes meanwhile, for those who send so many that nobody can keep them.
//!
//! A [`Pipeline`] listens in place of the session. It looks at every line as the session would, with the same scanner, but
//! keeps only the last frames, remembers requests only until a while after their answers, and writes requests from parts
//! that were made ready. What answers mean is for whoever listens.

use std::collections::{BTreeMap, VecDeque};
use std::fmt::Display;
use std::io::Write as _;
use std::sync::Arc;

use serde_json::{Value, json};
use tokio::time::Instant;

use super::dispatch::{self, Flow, Intake};
use super::state::{EndReason, SessionState};
use super::{CallFailure, Session};
use crate::transport::{Incoming, Outgoing, Owner};
use crate::wire::{
    Channel, Direction, Id, ProtocolViolation, ReadLimit, RpcMessage, ScanRule, classify, id_of_unreadable,
};

/// The number of the last frames that are kept, also where all are written down.
const MAX_FRAMES: usize = 64;
const MAX_WRITTEN_FRAMES: usize = 100_000;

/// The number of frames that are kept of each of many sessions.
const MIN_FRAMES: usize = 24;

/// The number of answered requests that are remembered, to notice second answers.
const MAX_REMEMBERED: usize = 256;

/// The parts of a call of a tool that do not change.
#[derive(Debug, Clone)]
pub struct PreparedCall {
    head: Vec<u8>,
}

impl PreparedCall {
    /// The call as a line, without its line break; `arguments` is JSON.
    pub fn line(&self, id: &Value, arguments: &str) -> Vec<u8> {
        let mut line = Vec::new();
        self.write(&mut line, id, arguments.as_bytes());
        line
    }

    fn write(&self, line: &mut Vec<u8>, id: &dyn Display, arguments: &[u8]) {
        // Memory takes everything.
        let _ = write!(line, "{{\"jsonrpc\":\"2.0\",\"id\":{id}");
        line.extend_from_slice(&self.head);
        line.extend_from_slice(arguments);
        line.extend_from_slice(b"}}");
    }
}

/// An event of a pipeline.
#[derive(Debug)]
pub enum PipelineEvent {
    /// A request was answered.
    Answer {
        /// The tag of the request.
        tag: u64,
        /// The message; `None` where it cannot be read.
        message: Option<Arc<Value>>,
        /// The line that carried it.
        line: ReceivedLine,
    },
    /// A line that answers no request broke the protocol.
    Violations(ReceivedLine),
    /// No further answer can come.
    Over,
}

/// A received line with its violations.
#[derive(Debug)]
pub struct ReceivedLine {
    /// The line.
    pub line: Arc<[u8]>,
    /// Its frame.
    pub frame: u32,
    /// The rules that it breaks.
    pub violations: Vec<ProtocolViolation>,
    /// Why it is not read, where it is not.
    pub beyond: Option<ReadLimit>,
}

/// A request under way.
#[derive(Debug, Clone, Copy)]
struct PendingCall {
    tag: u64,
    since: Instant,
}

/// Calls under way; the session listens again once this is dropped.
#[derive(Debug)]
pub struct Pipeline<'a> {
    session: &'a Session,
    /// To whom the frames belong.
    owner: &'a Owner,
    intake: Option<Intake>,
    batch: Vec<u8>,
    /// By id.
    open: BTreeMap<i64, PendingCall>,
    /// The request that stands for all others before the scanner.
    pattern: Option<Id>,
    answered: VecDeque<i64>,
    /// The number of lines that may be answers to unknown requests.
    unmatched: usize,
}

impl Session {
    /// Listens in place of the session, for a case; `None` over HTTP, where nothing is gained, and where the server is gone.
    pub async fn pipeline<'a>(&'a self, owner: &'a Owner) -> Option<Pipeline<'a>> {
        if self.peer.lock().is_http() {
            return None;
        }
        let intake = self.peer.take_intake().await?;
        self.keep_last_frames(1);
        Some(Pipeline {
            session: self,
            owner,
            intake: Some(intake),
            batch: Vec::new(),
            open: BTreeMap::new(),
            pattern: None,
            answered: VecDeque::new(),
            unmatched: 0,
        })
    }

    /// Keeps only the last frames from now on, and its share of the memory of one session, for those who make more calls than
    /// anybody looks at, in so many sessions.
    pub fn keep_last_frames(&self, sessions: usize) {
        let share = (MAX_FRAMES / sessions.max(1)).max(MIN_FRAMES);
        let most = if self.settings.keeps_frames { MAX_WRITTEN_FRAMES } else { share };
        let mut state = self.peer.lock();
        state.transcript.keep_last(most);
        if !self.settings.keeps_frames {
            state.transcript.share_memory(sessions);
        }
    }

    /// Makes calls of a tool ready.
    pub fn prepare_call(&self, tool: &str) -> PreparedCall {
        let params = self.with_era(Some(json!({"name": tool}))).unwrap_or_default().to_string();
        let params = params.strip_suffix('}').unwrap_or_default();
        PreparedCall { head: format!(",\"method\":\"tools/call\",\"params\":{params},\"arguments\":").into_bytes() }
    }
}

impl Pipeline<'_> {
    /// Puts a call into the next batch; `arguments` is their JSON.
    pub fn call(&mut self, tag: u64, prepared: &PreparedCall, arguments: &[u8]) {
        let mut state = self.session.peer.lock();
        let Id::Number(number) = state.fresh_id() else { return };
        let begin = self.batch.len();
        let own = self.session.own_values.put_into_json(arguments);
        prepared.write(&mut self.batch, &number, own.as_deref().unwrap_or(arguments));
        let line = &self.batch[begin..];
        if let Some(pattern) = &self.pattern {
            let at = state.now();
            let frame = state.transcript.record_unread(at, line);
            state.scanner.asked_again(pattern, Id::Number(number), frame);
        } else {
            state.record_sent(None, line);
            self.pattern = Some(Id::Number(number));
        }
        self.batch.push(b'\n');
        self.open.insert(number, PendingCall { tag, since: Instant::now() });
    }

    /// Sends the batch.
    pub fn flush(&mut self) {
        if self.batch.is_empty() {
            return;
        }
        let capacity = self.batch.len();
        let pieces = vec![std::mem::replace(&mut self.batch, Vec::with_capacity(capacity))];
        // A closed channel shows as an ended server.
        let _ = self.session.peer.outgoing.send(Outgoing::Raw { pieces, owner: Owner::Session });
    }

    /// The number of lines that have come and were not looked at.
    pub fn unread(&self) -> usize {
        self.intake.as_ref().map_or(0, Intake::unread)
    }

    /// Ends the server's input behind what was sent.
    pub fn end_input(&self) {
        self.session.peer.end_input();
    }

    /// The number of calls that wait for their answers.
    pub fn pending(&self) -> usize {
        self.open.len()
    }

    /// The call that has waited longest: its tag, and since when.
    pub fn oldest(&self) -> Option<(u64, Instant)> {
        self.open.values().next().map(|open| (open.tag, open.since))
    }

    /// The tags of the calls that wait for their answers, where none can come any more: as many lines came that may have
    /// been theirs.
    pub fn unanswerable_calls(&mut self) -> Vec<u64> {
        if self.unmatched == 0 || self.open.len() > self.unmatched {
            return Vec::new();
        }
        self.unmatched = 0;
        self.give_up()
    }

    /// Stops waiting for one call.
    pub fn forget(&mut self, tag: u64) {
        self.open.retain(|_, open| open.tag != tag);
    }

    /// The tags of all calls that wait; nobody waits for them any more.
    pub fn give_up(&mut self) -> Vec<u64> {
        std::mem::take(&mut self.open).into_values().map(|open| open.tag).collect()
    }

    /// Why nobody will answer any more.
    pub fn failure(&self) -> CallFailure {
        self.session.peer.lock().ended_failure("tools/call", 0)
    }

    /// Waits for the next event.
    pub async fn next_event(&mut self) -> PipelineEvent {
        loop {
            let Some(intake) = self.intake.as_mut() else { return PipelineEvent::Over };
            let item = intake.next().await;
            if let Some(event) = self.take(item) {
                return event;
            }
        }
    }

    /// Returns an event that has arrived already.
    pub fn next_ready(&mut self) -> Option<PipelineEvent> {
        loop {
            let item = self.intake.as_mut()?.ready()?;
            if let Some(event) = self.take(Some(item)) {
                return Some(event);
            }
        }
    }

    fn take(&mut self, item: Option<Incoming>) -> Option<PipelineEvent> {
        if let Some(Incoming::Line(line) | Incoming::TornLine(line)) = item {
            return self.line(&line);
        }
        let mut state = self.session.peer.lock();
        let flow = self.intake.as_mut()?.take(item, &mut state);
        drop(state);
        if flow == Flow::Over {
            self.intake = None;
        }
        (flow == Flow::Over).then_some(PipelineEvent::Over)
    }

    fn line(&mut self, line: &[u8]) -> Option<PipelineEvent> {
        let mut guard = self.session.peer.lock();
        let state = &mut *guard;
        let at = state.now();
        state.limit_message(line);
        let frame = state.transcript.record(at, Direction::Received, Channel::Protocol, line);
        let violations = state.scanner.watch(frame);
        let seq = frame.seq;
        let received = ReceivedLine { line: Arc::clone(&frame.bytes), frame: seq, violations, beyond: frame.beyond() };
        let json = state.transcript.take_json();
        let Ok(message) = &json else {
            state.count_unrequested(line, false);
            drop(guard);
            if let Some(id) = id_of_unreadable(line) {
                return self.answer(Some(id), None, received);
            }
            // Half an answer is the only one that will come.
            self.unmatched += usize::from(line.trim_ascii_start().starts_with(b"{"));
            return self.on_unrequested(received);
        };
        let meaning = classify(message);
        if let RpcMessage::Response { id } = meaning {
            state.count_unrequested(line, true);
            let message = Some(Arc::clone(message));
            drop(guard);
            return self.answer(id, message, received);
        }
        state.count_unrequested(line, false);
        if !matches!(meaning, RpcMessage::Invalid(_)) {
            let replies = state.handle_message(seq, &json, line, Vec::new(), None);
            dispatch::answer(state, replies.lines, &self.session.peer.outgoing);
        }
        drop(guard);
        self.on_unrequested(received)
    }

    fn answer(&mut self, id: Option<Id>, message: Option<Arc<Value>>, received: ReceivedLine) -> Option<PipelineEvent> {
        let twin = received.violations.iter().find(|violation| violation.rule == Some(ScanRule::WrongId));
        let twin = twin.and_then(|violation| violation.request.clone());
        let mut open = None;
        for id in [id, twin].into_iter().flatten() {
            if let (Id::Number(number), None) = (id, open) {
                open = self.open.remove(&number).map(|open| (number, open));
            }
        }
        let Some((number, PendingCall { tag, .. })) = open else {
            self.unmatched += usize::from(received.violations.iter().any(ProtocolViolation::is_stray_answer));
            return self.on_unrequested(received);
        };
        self.remember(number);
        Some(PipelineEvent::Answer { tag, message, line: received })
    }

    /// Remembers an answered request instead of the one that was answered longest ago.
    fn remember(&mut self, number: i64) {
        self.answered.push_back(number);
        if self.answered.len() <= MAX_REMEMBERED {
            return;
        }
        let oldest = self.answered.pop_front().map(Id::Number);
        if let Some(oldest) = oldest.filter(|oldest| self.pattern.as_ref() != Some(oldest)) {
            self.session.peer.lock().scanner.forget(&oldest);
        }
    }

    fn on_unrequested(&mut self, received: ReceivedLine) -> Option<PipelineEvent> {
        if is_flooded(&mut self.session.peer.lock()) {
            self.intake = None;
            return Some(PipelineEvent::Over);
        }
        (!received.violations.is_empty()).then_some(PipelineEvent::Violations(received))
    }
}

fn is_flooded(state: &mut SessionState) -> bool {
    let is_flooded = state.flood().is_some();
    if is_flooded {
        state.end_with(EndReason::Flooded);
    }
    is_flooded
}

impl Drop for Pipeline<'_> {
    fn drop(&mut self) {
        self.session.peer.lock().own_kept(self.owner);
        if let Some(intake) = self.intake.take() {
            self.session.peer.listen(intake);
        }
    }
}
