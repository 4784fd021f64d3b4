//! Raw messages: bytes on the session's own stream, and whatever comes back.
//!
//! Over HTTP a raw message is one POST on a connection of its own, with the headers of an ordinary one.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::time::{Instant, timeout_at};

use super::peer::Connection;
use super::state::{MessageReceiver, SessionState};
use super::{CallFailure, FailureReason, RawExchange, Session};
use crate::transport::http::{Endpoint, ExchangeEnd, ReadUntil};
use crate::transport::{ConnectionBreak, HttpFailure, HttpRefusal, Outgoing, Owner, TransportKind, time_of_pauses};
use crate::wire::{Id, RpcMessage, classify};

/// The time until the exit of a server of ours becomes known.
const EXIT_GRACE: Duration = Duration::from_millis(300);

/// A raw message.
#[derive(Debug)]
pub struct RawMessage<'a> {
    /// The case id.
    pub owner: &'a Owner,
    /// The messages, without their line breaks.
    pub lines: Vec<Vec<u8>>,
    /// The same with everything that ends them, in separate writes.
    pub pieces: Vec<Vec<u8>>,
    /// The awaited answers.
    pub awaited: AwaitedAnswers,
    /// The time for that; the session's default without one.
    pub timeout: Option<Duration>,
    /// The time to watch the server where no answer is awaited.
    pub watch: Duration,
}

/// The answers that a raw message waits for.
#[derive(Debug, Clone, PartialEq)]
pub enum AwaitedAnswers {
    /// An answer to each of these ids; one that stands twice is answered twice.
    Ids(Vec<Value>),
    /// The next answer, whatever its id.
    Next,
    /// Nothing.
    Nothing,
    /// The end of the server, whose input ends with the message.
    End,
}

/// The answers to a raw message.
#[derive(Debug)]
pub struct RawReply {
    /// Everything that the server sent meanwhile, in order of arrival.
    pub messages: Vec<Arc<Value>>,
    /// The answers among it that were awaited; all of them where nothing was.
    pub answers: Vec<Arc<Value>>,
    /// The first frame that was sent.
    pub frame: u32,
    /// The last frame that came.
    pub answer_frame: Option<u32>,
    /// From the first byte to the last answer.
    pub elapsed: Duration,
    /// The server ended meanwhile.
    pub is_ended: bool,
    /// The status over HTTP and the beginning of the body, where it refused a message that awaits nothing.
    pub refused: Option<HttpRefusal>,
}

impl SessionState {
    /// Lets the scanner know that what comes back is for a raw step to judge, and keeps ids from being used again.
    fn expect_anything(&mut self, line: &[u8]) {
        self.scanner.expect_anything();
        let value = serde_json::from_slice::<Value>(line).ok();
        let is_sound = value.as_ref().is_some_and(|value| {
            messages_in(value).iter().all(|message| !matches!(classify(message), RpcMessage::Invalid(_)))
        });
        // Over HTTP complaints come in the response of the message itself.
        if !is_sound && self.transport != TransportKind::Http {
            self.scanner.expect_complaints();
        }
        let Some(value) = value else { return };
        for message in messages_in(&value) {
            // A message that is no request may have a readable id, which its refusal carries.
            let id = match classify(message) {
                RpcMessage::Request { id, .. } => Some(id),
                RpcMessage::Invalid(_) => message.get("id").and_then(Id::from_json),
                RpcMessage::Notification { .. } | RpcMessage::Response { .. } => None,
            };
            if let Some(id) = id {
                self.skip_id(&id);
                self.scanner.expect_anything_for(id);
            }
        }
    }
}

impl Session {
    /// Sends bytes as they are, and waits for what is awaited.
    pub async fn send_raw(&self, message: RawMessage<'_>) -> Result<RawReply, CallFailure> {
        let begun = Instant::now();
        let limit = match message.awaited {
            AwaitedAnswers::Nothing | AwaitedAnswers::End => message.watch,
            AwaitedAnswers::Ids(_) | AwaitedAnswers::Next => message.timeout.unwrap_or_else(|| self.answer_timeout()),
        };
        // The time that our own pauses take is not the server's.
        let deadline = begun + limit + time_of_pauses(message.pieces.len());
        let is_alone = self.is_whole_message(&message.lines);
        let (receiver, frame) = self.announce_raw(&message);
        let awaited = message.awaited.clone();
        let mut collected = ReplyCollector { receiver, reply: empty(frame), awaited, is_alone, refusal: None };
        if self.peer.endpoint.is_some() {
            self.post_raw(&message, deadline, &mut collected).await?;
            // Where no answer is awaited, the server is watched for the time that was asked for.
            if self.peer.transport() != TransportKind::Sse && message.awaited != AwaitedAnswers::Nothing {
                return self.conclude(collected, begun, limit);
            }
        } else {
            // A closed channel shows as an ended server.
            let _ = self.peer.send_bytes(message.pieces, message.owner);
            if message.awaited == AwaitedAnswers::End {
                self.peer.end_input();
            }
        }
        let is_ended = collected.until(deadline).await;
        if message.awaited != AwaitedAnswers::Nothing {
            self.release_start();
        }
        if is_ended && message.awaited == AwaitedAnswers::End {
            collected.reply.is_ended = true;
        } else if is_ended {
            return Err(self.peer.lock().ended_failure("send", frame));
        }
        self.conclude(collected, begun, limit)
    }

    /// An error without an id can be about nothing but these lines as a whole: about no line of several, no member of a
    /// batch, and nothing that was sent before.
    fn is_whole_message(&self, lines: &[Vec<u8>]) -> bool {
        let [line] = lines else { return false };
        let sound = |message: &Value| !matches!(classify(message), RpcMessage::Invalid(_));
        let value = serde_json::from_slice::<Value>(line).ok();
        let is_whole = value.as_ref().and_then(Value::as_array).is_none_or(|batch| batch.iter().all(sound));
        is_whole && !self.peer.lock().scanner.expects_complaints()
    }

    fn announce_raw(&self, message: &RawMessage<'_>) -> (MessageReceiver, u32) {
        let mut state = self.peer.lock();
        let receiver = state.listen(message.owner);
        for line in &message.lines {
            state.expect_anything(line);
        }
        if let AwaitedAnswers::Ids(ids) = &message.awaited {
            ids.iter().filter_map(Id::from_json).for_each(|id| state.scanner.expect_anything_for(id));
        }
        if self.peer.endpoint.is_some() {
            // The request as a whole is recorded where it is written.
            return (receiver, 0);
        }
        let frames: Vec<u32> = message.lines.iter().map(|line| state.record_sent(Some(message.owner), line)).collect();
        (receiver, frames.first().copied().unwrap_or_default())
    }

    /// Posts the message and takes in what its response holds.
    async fn post_raw(
        &self,
        message: &RawMessage<'_>,
        deadline: Instant,
        collected: &mut ReplyCollector,
    ) -> Result<(), CallFailure> {
        let until = if matches!(message.awaited, AwaitedAnswers::Ids(ref ids) if ids.len() > 1) {
            ReadUntil::Body
        } else {
            ReadUntil::Answer
        };
        let exchanged = self.post(message.owner, &message.pieces, until, deadline).await?;
        collected.reply.frame = exchanged.frame;
        collected.reply.answer_frame = exchanged.answer_frame;
        for value in exchanged.messages() {
            collected.take(exchanged.answer_frame.unwrap_or_default(), Arc::new(value));
        }
        if collected.is_enough() {
            return Ok(());
        }
        let frame = exchanged.frame;
        if let Some(broken) = broken(&exchanged) {
            // The end of a server that this program started explains a broken connection.
            let is_ours = self.endpoint().is_some_and(Endpoint::is_ours);
            if is_ours && collected.is_ended_before(Instant::now() + EXIT_GRACE).await {
                return Err(self.peer.lock().ended_failure("send", frame));
            }
            return Err(self.http_failure("send", frame, broken));
        }
        // Over HTTP+SSE the answer comes on a stream; where nothing is awaited, a refusal is welcome.
        let is_elsewhere = |refusal: &HttpFailure| {
            self.peer.transport() == TransportKind::Sse && matches!(refusal, HttpFailure::StreamEnded { .. })
        };
        match exchanged.refusal().filter(|refusal| !is_elsewhere(refusal)) {
            Some(refusal) if collected.awaited != AwaitedAnswers::Nothing => {
                Err(self.http_failure("send", frame, refusal))
            }
            Some(HttpFailure::Status(refusal) | HttpFailure::AuthRequired(refusal)) => {
                collected.reply.refused = Some(refusal);
                Ok(())
            }
            Some(_) | None => Ok(()),
        }
    }

    fn conclude(&self, collected: ReplyCollector, begun: Instant, limit: Duration) -> Result<RawReply, CallFailure> {
        let mut state = self.peer.lock();
        state.listener = None;
        let reply = RawReply { elapsed: begun.elapsed(), ..collected.reply };
        if let Some(refusal) = collected.refusal {
            return Err(state.failure(FailureReason::RefusedWhole(refusal), "send", Some(reply.frame)));
        }
        if collected.awaited.are_in(&reply.answers) {
            Ok(reply)
        } else {
            Err(state.timed_out("send", reply.frame, limit))
        }
    }

    pub(crate) fn http_failure(&self, method: &str, frame: u32, failure: HttpFailure) -> CallFailure {
        self.peer.lock().failure(FailureReason::Http(failure), method, Some(frame))
    }
}

impl Connection {
    pub(crate) fn send_bytes(&self, pieces: Vec<Vec<u8>>, owner: &Owner) -> bool {
        self.outgoing.send(Outgoing::Raw { pieces, owner: owner.clone() }).is_ok()
    }

    /// Ends the server's input; that it ends with it is no fault of the server.
    pub(crate) fn end_input(&self) {
        let mut state = self.lock();
        (state.is_end_requested, state.is_exit_reported) = (true, true);
        let _ = self.outgoing.send(Outgoing::End);
    }
}

/// The break of the connection, if there was one.
fn broken(exchanged: &RawExchange) -> Option<HttpFailure> {
    match &exchanged.ended {
        ExchangeEnd::Failed(failure) => Some(failure.clone()),
        ExchangeEnd::Closed if exchanged.response.head.is_none() => {
            Some(HttpFailure::Reset(ConnectionBreak::BeforeHeaders))
        }
        ExchangeEnd::Closed => Some(HttpFailure::Reset(ConnectionBreak::AfterHeaders)),
        ExchangeEnd::Complete | ExchangeEnd::Aborted | ExchangeEnd::TimedOut => None,
    }
}

fn empty(frame: u32) -> RawReply {
    let (messages, answers, elapsed) = (Vec::new(), Vec::new(), Duration::ZERO);
    RawReply { messages, answers, frame, answer_frame: None, elapsed, is_ended: false, refused: None }
}

/// Collects messages until the awaited ones have arrived.
struct ReplyCollector {
    receiver: MessageReceiver,
    reply: RawReply,
    awaited: AwaitedAnswers,
    /// An error without an id refuses the message as a whole.
    is_alone: bool,
    /// The error that refused it, before anything in it was answered.
    refusal: Option<Arc<Value>>,
}

impl ReplyCollector {
    /// Listens until everything came or the time is over; `true` where the server ended.
    async fn until(&mut self, deadline: Instant) -> bool {
        self.listen(deadline, Self::is_enough).await
    }

    /// The server ends before the deadline, whatever else comes.
    async fn is_ended_before(&mut self, deadline: Instant) -> bool {
        self.listen(deadline, |_| false).await
    }

    async fn listen(&mut self, deadline: Instant, is_over: fn(&Self) -> bool) -> bool {
        while !is_over(self) {
            match timeout_at(deadline, self.receiver.recv()).await {
                Ok(Some((seq, message))) => self.take(seq, message),
                Ok(None) => return true,
                Err(_) => return false,
            }
        }
        false
    }

    fn take(&mut self, seq: u32, message: Arc<Value>) {
        self.reply.answer_frame = Some(seq);
        if is_answer(&message) && self.is_awaited(&message) {
            self.reply.answers.push(Arc::clone(&message));
        }
        if self.is_alone && self.refuses(&message) {
            self.refusal = Some(Arc::clone(&message));
        }
        self.reply.messages.push(message);
    }

    /// A message is an error that names none of the awaited ids, none of which was answered yet.
    fn refuses(&self, message: &Value) -> bool {
        let has_no_id = matches!(classify(message), RpcMessage::Response { id: None });
        let is_first = matches!(self.awaited, AwaitedAnswers::Ids(_)) && self.reply.answers.is_empty();
        is_first && has_no_id && message["error"].is_object() && message["id"].is_null()
    }

    fn is_awaited(&self, message: &Value) -> bool {
        let AwaitedAnswers::Ids(ids) = &self.awaited else { return true };
        let same = |id: &&Value| message.get("id") == Some(*id);
        let wanted = ids.iter().filter(same).count();
        let had = self.reply.answers.iter().filter(|answer| answer.get("id") == message.get("id")).count();
        had < wanted
    }

    fn is_enough(&self) -> bool {
        let is_endless = matches!(self.awaited, AwaitedAnswers::Nothing | AwaitedAnswers::End);
        !is_endless && (self.refusal.is_some() || self.awaited.are_in(&self.reply.answers))
    }
}

impl AwaitedAnswers {
    fn are_in(&self, answers: &[Arc<Value>]) -> bool {
        match self {
            Self::Ids(ids) => answers.len() >= ids.len(),
            Self::Next => !answers.is_empty(),
            Self::Nothing | Self::End => true,
        }
    }
}

/// A message answers something.
pub(crate) fn is_answer(message: &Value) -> bool {
    matches!(classify(message), RpcMessage::Response { .. })
}

/// The messages in a value: itself, or those of a batch.
pub(crate) fn messages_in(value: &Value) -> &[Value] {
    value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice)
}

/// The ids of the requests in bytes.
pub fn ids_in(line: &[u8]) -> Vec<Value> {
    let Ok(value) = serde_json::from_slice::<Value>(line) else { return Vec::new() };
    let id = |message: &Value| match classify(message) {
        RpcMessage::Request { id, .. } => Some(Id::to_json(&id)),
        RpcMessage::Notification { .. } | RpcMessage::Response { .. } | RpcMessage::Invalid(_) => None,
    };
    messages_in(&value).iter().filter_map(id).collect()
}
