//! The state of a connection: pending requests, owners of frames, violations.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

use super::headers::Headers;
use super::subscription::{Notifications, ReceivedNotification};
use super::{ClientAnswers, WrittenRequest};
use crate::transport::{self, HttpFailure, MessageRole, Outgoing, Owner, ServerExit, TransportKind};
use crate::wire::{
    Channel, Direction, Era, Id, Members, ProtocolViolation, ReadLimit, RpcMessage, ScanRule, Scanner, Transcript,
    classify, exact_memory_estimate, id_of_unreadable, response_line,
};

/// The number of messages that a server may send without a request; every answer allows it some more.
const MAX_UNREQUESTED: usize = 100_000;

/// The memory of these messages.
const MAX_UNREQUESTED_BYTES: usize = 160 << 20;

/// The messages and the memory that each answer allows in addition: what a server writes beside its answers is no flood.
const EARNED: (usize, usize) = (100, 1 << 20);

/// A message of fewer bytes takes little memory, whatever is in it.
const SURELY_READ: usize = 128 << 10;

/// The code of JSON-RPC 2.0 for what cannot be parsed.
const PARSE_ERROR: i64 = -32700;

/// The number of violations of one session that are kept; a server that floods its output would fill the memory.
const MOST_VIOLATIONS: usize = 100;

/// A violation and the owner of the exchange in which it happened.
#[derive(Debug, Clone, PartialEq)]
pub struct OwnedViolation {
    /// The owner; `None` where that is unclear.
    pub owner: Option<Owner>,
    /// The violation.
    pub violation: ProtocolViolation,
}

/// The outcome of a pending request.
#[derive(Debug)]
pub(crate) enum RequestOutcome {
    Answer {
        message: Arc<Value>,
        frame: u32,
        notifications: Vec<Arc<Value>>,
    },
    /// Something came that can only be a broken answer to it, with the rule that it breaks.
    Garbled(Option<ProtocolViolation>),
    /// An answer that is not read.
    Beyond(ReadLimit),
    /// The exchange over HTTP went wrong.
    Failed(HttpFailure),
}

#[derive(Debug)]
pub(crate) struct WaitingRequest {
    pub owner: Owner,
    pub reply: oneshot::Sender<RequestOutcome>,
    frame: u32,
    progress: bool,
    /// When the last progress came.
    progressed_at: Option<Instant>,
    notifications: Vec<Arc<Value>>,
    /// A stray answer that may be meant for it, or for the notification before it.
    doubtful: Option<ProtocolViolation>,
}

/// The reason why a server can no longer answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum EndReason {
    /// The process ended.
    Exited(ServerExit),
    /// It closed its output and runs on.
    Closed,
    /// It wrote a line that has no end.
    EndlessLine,
    /// It wrote more than anybody can look at.
    Flooded,
    /// The conversation over HTTP is over.
    Lost(HttpFailure),
}

/// Receives every message of the server.
#[derive(Debug)]
pub(crate) struct MessageListener {
    pub owner: Owner,
    sender: mpsc::UnboundedSender<(u32, Arc<Value>)>,
}

pub(crate) type MessageReceiver = mpsc::UnboundedReceiver<(u32, Arc<Value>)>;

/// A request as it is to be sent.
pub(crate) struct OutgoingRequest<'a> {
    pub owner: &'a Owner,
    pub method: &'a str,
    pub params: Option<Value>,
    pub deadline: Instant,
    /// The whole time that was allowed, as configured; the deadline may leave less of it.
    pub limit: Duration,
    /// A progress token is to be added; it is the request's id.
    pub progress: bool,
    /// Progress gives the request the whole time again.
    pub(crate) is_extended_by_progress: bool,
}

/// A line to send.
pub(crate) struct OutgoingLine<'a> {
    pub owner: &'a Owner,
    pub role: MessageRole,
    pub frame: u32,
    pub line: String,
    /// The method; empty for a response.
    pub method: &'a str,
    pub params: Option<&'a Value>,
}

/// The consequences of a message of the server.
pub(crate) struct Replies {
    /// Answers to its requests, with their frames.
    pub lines: Vec<(u32, String)>,
    /// It answered a request.
    pub is_answer: bool,
}

#[derive(Debug)]
pub(crate) struct SessionState {
    pub transcript: Transcript,
    pub ended: Option<EndReason>,
    /// When it did, counted from the beginning.
    pub(crate) ended_at: Duration,
    /// The exit of the server was reported.
    pub(crate) is_exit_reported: bool,
    /// The owners of the requests that were pending when the server ended.
    pub(crate) pending_at_exit: BTreeSet<Owner>,
    /// The exit was attributed to one of them.
    pub(crate) is_exit_attributed: bool,
    /// This client asked the server to end.
    pub(crate) is_end_requested: bool,
    /// The violations that were not kept, less those that the answers since then allow.
    pub(crate) violations_left_out: usize,
    pub headers: Headers,
    /// The tools that only read, over HTTP.
    pub(crate) readers: BTreeSet<String>,
    pub(crate) scanner: Scanner,
    /// Receives every message of the server, where set.
    pub listener: Option<MessageListener>,
    /// Receive every notification of the server.
    subscribers: Vec<mpsc::UnboundedSender<ReceivedNotification>>,
    /// `stdio`, `memory`, `http` or `sse`.
    pub transport: TransportKind,
    pub(crate) started: Instant,
    waiting: BTreeMap<Id, WaitingRequest>,
    /// The frame of the last notification to the server, as long as nothing that was sent after it is answered.
    notified: Option<u32>,
    next_id: i64,
    pub violations: Vec<OwnedViolation>,
    /// Messages that answer nothing, and the memory that they take.
    unasked: (usize, usize),
    pub frames: BTreeMap<Owner, Vec<u32>>,
    pub(crate) written: BTreeMap<u32, WrittenRequest>,
    answers: ClientAnswers,
    /// The answers over HTTP that are too large to be read.
    pub(crate) bodies_not_read: usize,
    /// The memory that a message may take to be read, in bytes; `None` for any message.
    pub(crate) largest_message: Option<usize>,
    /// The same for answers to the requests of some owners.
    pub(crate) largest_answers: BTreeMap<Owner, usize>,
}

impl SessionState {
    pub(crate) fn new(answers: ClientAnswers, transport: TransportKind) -> Self {
        Self {
            transcript: Transcript::default(),
            ended: None,
            ended_at: Duration::ZERO,
            is_exit_reported: false,
            pending_at_exit: BTreeSet::new(),
            is_exit_attributed: false,
            is_end_requested: false,
            violations_left_out: 0,
            headers: Headers::default(),
            readers: BTreeSet::new(),
            scanner: Scanner::new(Era::Session),
            listener: None,
            subscribers: Vec::new(),
            transport,
            started: Instant::now(),
            waiting: BTreeMap::new(),
            notified: None,
            next_id: 0,
            violations: Vec::new(),
            unasked: (0, 0),
            frames: BTreeMap::new(),
            written: BTreeMap::new(),
            answers,
            bodies_not_read: 0,
            largest_message: None,
            largest_answers: BTreeMap::new(),
        }
    }

    pub(crate) fn set_era(&mut self, era: Era) {
        self.scanner.set_era(era);
    }

    pub(crate) fn era(&self) -> Era {
        self.scanner.era()
    }

    /// Messages travel over HTTP.
    pub(crate) fn is_http(&self) -> bool {
        self.transport.is_over_http()
    }

    pub(crate) fn now(&self) -> Duration {
        self.started.elapsed()
    }

    /// A line as it goes to the transport, with the headers of its era where there are headers.
    pub(crate) fn outgoing_message(&self, line: OutgoingLine<'_>) -> Outgoing {
        let OutgoingLine { owner, role, frame, line, method, params } = line;
        let (era, headers) = if self.is_http() { self.headers.of(method, params) } else { (self.era(), Vec::new()) };
        let (bytes, owner) = (line.into_bytes(), owner.clone());
        let form = transport::MessageForm::Whole;
        Outgoing::Message(transport::OutgoingMessage { bytes, owner, frame, headers, role, era, form })
    }

    pub(crate) fn fresh_id(&mut self) -> Id {
        self.next_id += 1;
        Id::Number(self.next_id)
    }

    /// Keeps an id that somebody else chose from being used again.
    pub(crate) fn skip_id(&mut self, id: &Id) {
        if let Id::Number(number) = id {
            self.next_id = self.next_id.max(*number).min(1 << 52);
        }
    }

    /// Records a request that is about to leave, and promises its answer.
    pub(crate) fn register(
        &mut self,
        id: &Id,
        request: &OutgoingRequest<'_>,
        message: Value,
        line: &[u8],
    ) -> (u32, oneshot::Receiver<RequestOutcome>) {
        let (owner, progress) = (request.owner, request.progress);
        let sent = self.transcript.record_written(self.started.elapsed(), Arc::new(message), line);
        let frame = sent.seq;
        self.scanner.watch(sent);
        self.own(frame, Some(owner));
        let (reply, receiver) = oneshot::channel();
        // After the end nobody will answer; dropping the sender says so at once.
        if self.ended.is_none() {
            let (owner, notifications) = (owner.clone(), Vec::new());
            let waiting =
                WaitingRequest { owner, frame, progress, progressed_at: None, notifications, doubtful: None, reply };
            self.waiting.insert(id.clone(), waiting);
        }
        (frame, receiver)
    }

    pub(crate) fn record_sent(&mut self, owner: Option<&Owner>, line: &[u8]) -> u32 {
        let frame = self.transcript.record(self.started.elapsed(), Direction::Sent, Channel::Protocol, line);
        let seq = frame.seq;
        self.scanner.watch(frame);
        self.own(seq, owner);
        seq
    }

    /// Records a notification to the server.
    pub(crate) fn record_notification(&mut self, owner: &Owner, line: &[u8]) -> u32 {
        let frame = self.record_sent(Some(owner), line);
        self.notified = Some(frame);
        frame
    }

    pub(crate) fn record_stderr(&mut self, line: &[u8]) {
        self.transcript.record(self.started.elapsed(), Direction::Received, Channel::Stderr, line);
    }

    /// Hands on everything that the server sends from here on; ends with the server.
    pub(crate) fn listen(&mut self, owner: &Owner) -> MessageReceiver {
        let (sender, receiver) = mpsc::unbounded_channel();
        if self.ended.is_none() {
            self.listener = Some(MessageListener { owner: owner.clone(), sender });
        }
        receiver
    }

    /// Hands on every notification from here on; ends with the server.
    pub(crate) fn notifications(&mut self) -> Notifications {
        let (sender, receiver) = mpsc::unbounded_channel();
        if self.ended.is_none() {
            self.subscribers.push(sender);
        }
        Notifications(receiver)
    }

    /// Passes a message to the listener; of a batch, each message in it.
    pub(crate) fn notify_listener(&self, seq: u32, json: &Arc<Value>) {
        let Some(listener) = &self.listener else { return };
        // Whoever listened may have gone.
        match json.as_array() {
            Some(batch) => batch.iter().for_each(|one| drop(listener.sender.send((seq, Arc::new(one.clone()))))),
            None => drop(listener.sender.send((seq, Arc::clone(json)))),
        }
    }

    /// Records what the server wrote without a look at it.
    pub(crate) fn record_unjudged(&mut self, line: &[u8]) {
        self.transcript.record(self.started.elapsed(), Direction::Received, Channel::Protocol, line);
    }

    /// Finds out how much memory a message may take, before it is read.
    pub(crate) fn limit_message(&mut self, bytes: &[u8]) {
        let owner = || self.waiting.get(&id_of_unreadable(bytes)?).map(|waiting| &waiting.owner);
        let is_short = bytes.len() < SURELY_READ || self.largest_answers.is_empty();
        let of_owner = if is_short { None } else { owner().and_then(|owner| self.largest_answers.get(owner)).copied() };
        self.transcript.limit_messages(of_owner.or(self.largest_message));
    }

    /// Takes in a line of the server; returns the lines that answer its requests, with their frames.
    pub(crate) fn receive(&mut self, line: &[u8]) -> Vec<(u32, String)> {
        self.limit_message(line);
        let frame = self.transcript.record(self.started.elapsed(), Direction::Received, Channel::Protocol, line);
        let (seq, found) = (frame.seq, self.scanner.watch(frame));
        let json = self.transcript.take_json();
        let replies = self.handle_message(seq, &json, line, found, None);
        self.count_unrequested(line, replies.is_answer);
        replies.lines
    }

    /// Acts on a recorded message; `post` is the frame of the request in whose response it came.
    pub(crate) fn handle_message(
        &mut self,
        seq: u32,
        json: &Result<Arc<Value>, String>,
        bytes: &[u8],
        found: Vec<ProtocolViolation>,
        post: Option<u32>,
    ) -> Replies {
        let asked = post.and_then(|post| self.request_in_frame(post));
        let mut owner = match &asked {
            Some(id) => self.waiting.get(id).map(|waiting| waiting.owner.clone()),
            None => self.sole_owner(),
        };
        let mut guilty = None;
        let mut lines = Vec::new();
        if json.is_err() {
            guilty = self.handle_unreadable(seq, bytes, &found);
            owner = guilty.clone().or(owner);
        }
        if let Some(listener) = &self.listener {
            owner.get_or_insert_with(|| listener.owner.clone());
        }
        if let Ok(json) = json {
            self.notify_listener(seq, json);
            match classify(json) {
                RpcMessage::Response { id } => {
                    guilty = self.handle_response(id, json, seq, &found, asked, post);
                    owner = guilty.clone().or(owner);
                }
                RpcMessage::Notification { method, params } => {
                    let notification = ReceivedNotification { message: Arc::clone(json), frame: seq };
                    self.subscribers.retain(|subscriber| subscriber.send(notification.clone()).is_ok());
                    owner = self.handle_notification(method, params, json, asked.as_ref()).or(owner);
                }
                RpcMessage::Request { id, method, .. } => {
                    let outcome = self.answers.answer(method, &json["params"]);
                    let line = response_line(&id, outcome.as_ref());
                    let frame = self.record_sent(owner.as_ref(), line.as_bytes());
                    lines.push((frame, line));
                }
                RpcMessage::Invalid(_) => {}
            }
        }
        self.own(seq, owner.as_ref());
        // Only an answer tells for certain whose exchange it breaks; the rest is the session's.
        self.keep(found, guilty.as_ref());
        Replies { lines, is_answer: guilty.is_some() }
    }

    /// The id of the request that was sent in that frame and is not answered.
    pub(crate) fn request_in_frame(&self, post: u32) -> Option<Id> {
        self.waiting.iter().find(|(_, waiting)| waiting.frame == post).map(|(id, _)| id.clone())
    }

    /// Hands an answer to whoever waits for it; returns the owner. `asked` is what the response around it answers, `post`
    /// the frame of whatever that is a response to.
    fn handle_response(
        &mut self,
        id: Option<Id>,
        json: &Arc<Value>,
        seq: u32,
        found: &[ProtocolViolation],
        asked: Option<Id>,
        post: Option<u32>,
    ) -> Option<Owner> {
        // An error without an id answers what its response answers.
        let nameless = asked.clone().filter(|_| id.is_none() && json.member("error").is_some());
        let twin = found.iter().find(|violation| violation.rule == Some(ScanRule::WrongId));
        let twin = twin.and_then(|violation| violation.request.clone());
        let known = id.filter(|id| self.waiting.contains_key(id)).or(twin).or(nameless);
        if let Some(waiting) = known.and_then(|id| self.waiting.remove(&id)) {
            let notifications = waiting.notifications;
            self.notified = self.notified.filter(|notified| *notified > waiting.frame);
            // Whoever waited may have gone.
            let _ = waiting.reply.send(RequestOutcome::Answer { message: Arc::clone(json), frame: seq, notifications });
            return Some(waiting.owner);
        }
        // In the response to a request, or with a single one under way, a stray answer can only be meant for it.
        let stray = found.iter().find(|violation| violation.is_stray_answer())?;
        let is_alone = self.waiting.len() == 1 && post.is_none();
        let only = || self.waiting.keys().next().filter(|_| is_alone).cloned();
        let answers_notification = post.is_none() && may_answer_notification(json) && self.notified.take().is_some();
        let meant = asked.or_else(only)?;
        if answers_notification {
            self.waiting.get_mut(&meant)?.doubtful = Some(stray.clone());
            return None;
        }
        let waiting = self.forget(&meant)?;
        let _ = waiting.reply.send(RequestOutcome::Garbled(Some(stray.clone())));
        Some(waiting.owner)
    }

    /// The stray answer that came while a request waited, and was left to the notification before it.
    pub(crate) fn doubtful_answer(&self, id: &Id) -> Option<ProtocolViolation> {
        self.waiting.get(id)?.doubtful.clone()
    }

    /// Ends the wait for an answer that cannot be read but for its id; returns the owner.
    fn handle_unreadable(&mut self, seq: u32, bytes: &[u8], found: &[ProtocolViolation]) -> Option<Owner> {
        let waiting = self.forget(&id_of_unreadable(bytes)?)?;
        let garbled = || RequestOutcome::Garbled(found.first().cloned());
        let arrived = self.transcript.beyond(seq).map_or_else(garbled, RequestOutcome::Beyond);
        // Whoever waited may have gone.
        let _ = waiting.reply.send(arrived);
        Some(waiting.owner)
    }

    /// Ties a notification to the exchanges during which it came; returns the owner where there is one.
    fn handle_notification(
        &mut self,
        method: &str,
        params: Option<&Value>,
        json: &Arc<Value>,
        asked: Option<&Id>,
    ) -> Option<Owner> {
        if method == "notifications/progress" {
            let token = params.and_then(|params| params.member("progressToken")).and_then(Id::from_json);
            if let Some(waiting) =
                token.and_then(|token| self.waiting.get_mut(&token)).filter(|waiting| waiting.progress)
            {
                waiting.notifications.push(Arc::clone(json));
                waiting.progressed_at = Some(Instant::now());
                return Some(waiting.owner.clone());
            }
        }
        let meant = self.waiting.iter_mut().filter(|(id, _)| asked.is_none_or(|asked| asked == *id));
        meant.for_each(|(_, waiting)| waiting.notifications.push(Arc::clone(json)));
        None
    }

    /// When a request that still waits has last reported progress.
    pub(crate) fn progressed_at(&self, id: &Id) -> Option<Instant> {
        self.waiting.get(id)?.progressed_at
    }

    /// The owner of the exchanges in which everything happens that happens now, if there is just one.
    fn sole_owner(&self) -> Option<Owner> {
        let mut owners = self.waiting.values().map(|waiting| &waiting.owner);
        let first = owners.next()?;
        owners.all(|owner| owner == first).then(|| first.clone())
    }

    /// No further answer can come.
    pub(crate) fn end_with(&mut self, end: EndReason) {
        if self.ended.is_none() {
            self.ended = Some(end);
            self.ended_at = self.now();
            self.pending_at_exit = self.waiting.values().map(|waiting| waiting.owner.clone()).collect();
        }
        self.waiting.clear();
        self.listener = None;
        self.subscribers.clear();
    }

    /// The client's answer to an input request inside a result; `None` where it has none.
    pub(crate) fn answer_input_request(&mut self, method: &str, params: &Value) -> Option<Value> {
        self.answers.answer(method, params).ok()
    }

    /// The server has asked for the client's roots, and got them.
    pub(crate) fn has_given_roots(&self) -> bool {
        self.answers.has_given_roots
    }

    /// Removes a pending request and returns it.
    pub(crate) fn forget(&mut self, id: &Id) -> Option<WaitingRequest> {
        self.waiting.remove(id)
    }

    /// Counts what came without being asked for, and what did not.
    pub(crate) fn count_unrequested(&mut self, line: &[u8], is_answer: bool) {
        let (messages, total) = self.unasked;
        if is_answer {
            self.violations_left_out = self.violations_left_out.saturating_sub(EARNED.0);
            self.unasked = (messages.saturating_sub(EARNED.0), total.saturating_sub(EARNED.1));
        } else {
            self.unasked = (messages + 1, total + exact_memory_estimate(line));
        }
    }

    /// Says how the server sends more than anybody can look at; `None` where it does not.
    pub(crate) fn flood(&self) -> Option<String> {
        let what = if self.violations_left_out > MOST_VIOLATIONS * 10 {
            format!("more than {} lines are not messages", self.violations_left_out)
        } else if self.unasked.0 > MAX_UNREQUESTED {
            "it sent more than 100,000 messages that answer no request".to_owned()
        } else if self.unasked.1 > MAX_UNREQUESTED_BYTES {
            "its messages that answer no request take more than 160 MiB of memory".to_owned()
        } else {
            return None;
        };
        Some(format!("the server floods its output: {what}"))
    }

    pub(crate) fn own(&mut self, seq: u32, owner: Option<&Owner>) {
        if let Some(owner) = owner {
            match self.frames.get_mut(owner) {
                Some(frames) => frames.push(seq),
                None => drop(self.frames.insert(owner.clone(), vec![seq])),
            }
        }
    }

    /// Gives the frames that are still there, and nobody's, to an owner.
    pub(crate) fn own_kept(&mut self, owner: &Owner) {
        let taken: BTreeSet<u32> = self.frames.values().flatten().copied().collect();
        for seq in self.transcript.kept_frames().filter(|seq| !taken.contains(seq)) {
            self.frames.entry(owner.clone()).or_default().push(seq);
        }
    }

    pub(crate) fn keep(&mut self, found: Vec<ProtocolViolation>, owner: Option<&Owner>) {
        for violation in found {
            let is_known =
                |known: &OwnedViolation| known.owner.as_ref() == owner && known.violation.is_like(&violation);
            if self.violations.iter().any(is_known) {
                continue;
            }
            if self.violations.len() < MOST_VIOLATIONS {
                self.violations.push(OwnedViolation { owner: owner.cloned(), violation });
            } else {
                self.violations_left_out += 1;
            }
        }
    }

    /// Hands out the violations of one owner, `None` for those of nobody.
    pub(crate) fn take_violations(&mut self, owner: Option<&Owner>) -> Vec<OwnedViolation> {
        let (taken, kept) =
            std::mem::take(&mut self.violations).into_iter().partition(|violation| violation.owner.as_ref() == owner);
        self.violations = kept;
        taken
    }

    /// The violations that may explain why an answer did not come.
    pub(crate) fn stray_output(&self) -> Vec<String> {
        let is_such = |owned: &&OwnedViolation| {
            owned.violation.place.is_none() && Scanner::JUDGES.contains(&owned.violation.variant)
        };
        let mut last: Vec<String> =
            self.violations.iter().rev().filter(is_such).take(3).map(|owned| owned.violation.message.clone()).collect();
        last.reverse();
        last
    }

    /// To whom a frame belongs.
    pub(crate) fn owner_of(&self, frame: u32) -> Option<Owner> {
        self.frames.iter().find(|(_, frames)| frames.contains(&frame)).map(|(owner, _)| owner.clone())
    }

    /// The case that spoke last.
    pub(crate) fn last_case(&self) -> Option<String> {
        let cases = self.frames.iter().filter_map(|(owner, frames)| Some((owner.case()?, frames)));
        cases.max_by_key(|(_, frames)| frames.last().copied()).map(|(case, _)| case.to_owned())
    }

    pub(crate) fn frames_of(&self, owner: &Owner) -> Vec<u32> {
        self.frames.get(owner).cloned().unwrap_or_default()
    }
}

/// A server that answers a notification has no id to give, and nothing to say; what it could not parse was no notification.
fn may_answer_notification(json: &Value) -> bool {
    let has_id = json.member("id").is_some_and(|id| !id.is_null());
    let says_something = json.member("result").and_then(Value::as_object).is_some_and(|result| !result.is_empty());
    let is_parse_error = json["error"]["code"] == PARSE_ERROR;
    !has_id && !says_something && !is_parse_error
}
