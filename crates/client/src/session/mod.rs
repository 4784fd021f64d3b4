//! One live conversation with a server.
//!
//! [`Session::open`] finds out which era the server speaks and shakes hands; [`Session::request`] sends one request
//! and waits for its answer, while others are under way. Every line lands in the transcript before anybody looks at
//! it, and the scanner looks first.
//! Adds nothing to a request but the members that its era requires, and the texts of this session in the place of those
//! that another one got. Start reading in [`Session`].

mod answered;
mod answers;
mod call;
mod cancel;
mod dispatch;
mod failure;
mod handshake;
mod headers;
mod listing;
mod lost;
mod over_http;
mod own_values;
mod peer;
mod pipeline;
mod raw;
mod raw_http;
mod roots;
mod state;
mod subscription;
#[cfg(test)]
mod tests;
mod written;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::Value;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::Instant;

use self::answered::{OpenCalls, PlainRequest};
use self::own_values::OwnValues;
use self::peer::Connection;
use crate::transport::{Owner, Shutdown, ShutdownOrder, TransportKind};
use crate::wire::{Catalog, Era, ForgottenCalls, Frame, Revision};

/// The time for an answer to a request that any server answers at once, after others waited for one in vain.
const AFTER_WAITS: Duration = Duration::from_secs(2);

pub use self::answered::{AnsweredTools, CallAnswer, InVain, Wait};
pub use self::answers::ClientAnswers;
pub use self::call::{SessionReply, SessionRequest};
pub use self::cancel::{CancelSignal, CancelTrigger, Cancellation, Cancelled};
pub use self::failure::{CallFailure, Connector, FailureReason, OpenFailure, SessionEnd, UnreportedExit};
pub use self::listing::{ListPages, time_for_list};
pub use self::pipeline::{Pipeline, PipelineEvent, PreparedCall, ReceivedLine};
pub use self::raw::{AwaitedAnswers, RawMessage, RawReply, ids_in};
pub use self::raw_http::RawExchange;
pub use self::roots::{client_root, root_folder};
pub use self::state::OwnedViolation;
pub use self::subscription::{Notifications, ReceivedNotification, Subscription};
pub use self::written::WrittenRequest;

/// The settings of a session.
#[derive(Debug, Clone)]
pub struct SessionSettings {
    /// The revision to speak; `None` finds out.
    pub revision: Option<Revision>,
    /// The revision that an earlier session negotiated, so that it is negotiated only once.
    pub known: Option<Revision>,
    /// The time for start and handshake together.
    pub start_timeout: Duration,
    /// The time for one request.
    pub request_timeout: Duration,
    /// The client's answers to requests of the server.
    pub answers: ClientAnswers,
    /// The session begins with a handshake.
    pub performs_handshake: bool,
    /// Every frame is written down by somebody, however many there are.
    pub keeps_frames: bool,
    /// The reason, beside the server, for what its messages are like.
    pub disturbance: Disturbance,
    /// What is known of the server's tools; `None` where something else than the server may be the reason for silence.
    pub answered: Option<Arc<AnsweredTools>>,
}

/// The reason, beside the server, for what the messages of a session are like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Disturbance {
    /// There is none: a connection that breaks is the server's doing.
    None,
    /// Faults of the suite strike them, so that a message which breaks a rule may be theirs.
    Faults,
    /// They come from a recording, or from a mutant.
    Proof,
}

/// The kind of a request that any server answers at once, given its capabilities; `None` for any other.
fn plain_request(method: &str, capabilities: &Value) -> Option<PlainRequest> {
    let capability = match method.split_once('/').map_or(method, |(group, _)| group) {
        "ping" => return Some(PlainRequest::SignOfLife),
        "initialize" | "server" => return None,
        "completion" => "completions",
        group => group,
    };
    capabilities[capability].is_null().then_some(PlainRequest::Undeclared)
}

/// A conversation after its handshake.
#[derive(Debug)]
pub struct Session {
    peer: Connection,
    settings: SessionSettings,
    /// The server's identity and capabilities.
    pub server: ServerIdentity,
    /// Connections that ended during the negotiation before this one.
    pub earlier: Vec<ClosedSession>,
    /// Held while a server starts that no handshake waited for.
    starting: Mutex<Vec<OwnedSemaphorePermit>>,
    calls: OpenCalls,
    own_values: OwnValues,
}

/// A server's identity and capabilities, from the handshake.
#[derive(Debug, Clone, PartialEq)]
pub struct ServerIdentity {
    /// The revision that both speak.
    pub revision: Revision,
    /// Its name and version, as one text.
    pub implementation: Option<String>,
    /// Its capabilities.
    pub capabilities: Value,
    /// The whole result that says so.
    pub result: Arc<Value>,
    /// From start to the end of the handshake.
    pub ready: Duration,
    /// `stdio`, `memory`, `http` or `sse`.
    pub transport: TransportKind,
}

impl Session {
    /// Everything that is offered, all pages of all lists at once.
    pub async fn catalog(&self) -> Result<Catalog, CallFailure> {
        let catalog = listing::catalog(self).await?;
        self.learn(&catalog);
        Ok(catalog)
    }

    /// Remembers of an offer what requests depend on; an offer that was asked for in this session is known already.
    pub fn learn(&self, catalog: &Catalog) {
        let mut state = self.peer.lock();
        state.headers.learn(catalog);
        state.learn_readers(catalog);
    }

    /// Returns true if `owner` need not wait for a tool that has served nothing, since others did in vain; `is_valid` says
    /// that the tool may serve the call.
    pub fn is_silent(&self, tool: &str, owner: &Owner, is_valid: impl FnOnce() -> bool) -> bool {
        self.settings.answered.as_ref().is_some_and(|answered| answered.is_silent(tool, owner, is_valid))
    }

    /// Why `owner` need not call a tool, if it need not: it has served nothing, and others called it in vain; `is_valid`
    /// says that the tool may serve the call.
    pub fn in_vain(&self, tool: &str, owner: &Owner, is_valid: impl FnOnce() -> bool) -> Option<InVain> {
        self.settings.answered.as_ref()?.in_vain(tool, owner, is_valid)
    }

    /// The time that calls of a tool take, if most of them are slow.
    pub fn slow_tool(&self, tool: &str) -> Option<Duration> {
        self.settings.answered.as_ref()?.slow_tool(tool)
    }

    /// Returns true if nobody need wait for a tool longer than for any other, since it, or the whole server, was late before.
    pub fn is_late(&self, tool: &str) -> bool {
        self.settings.answered.as_ref().is_some_and(|answered| answered.is_late(tool))
    }

    /// The time for an answer to a method that any server answers at once, where several cases waited for one in vain.
    pub fn short_wait(&self, method: &str) -> Option<Duration> {
        let (answered, kind) = self.settings.answered.as_ref().zip(plain_request(method, &self.server.capabilities))?;
        answered.leaves_unanswered(kind).then_some(AFTER_WAITS)
    }

    /// Takes note that the server ended at a call for `owner` that was sent in another way than as a request.
    pub fn note_end(&self, tool: &str, owner: &Owner) {
        if let Some(answered) = &self.settings.answered {
            answered.note_end(tool, owner);
        }
    }

    /// Returns true if a tool has served nothing and the server ended when another owner called it.
    pub fn ends_server(&self, tool: &str, owner: &Owner) -> bool {
        self.settings.answered.as_ref().is_some_and(|answered| answered.ends_server(tool, owner))
    }

    /// Returns true if no tool of the server has answered anything, and it was waited for in vain often enough.
    pub fn is_silent_server(&self) -> bool {
        self.settings.answered.as_ref().is_some_and(|answered| answered.is_silent_server())
    }

    /// Takes note that `owner` waited in vain for a call whose request was cut off, or sent as a raw message.
    pub fn note_wait(&self, tool: &str, owner: &Owner) {
        if let Some(answered) = &self.settings.answered {
            answered.note_wait(tool, owner, self.calls.wait_of(tool, self.calls.open()));
        }
    }

    /// Takes note of an answer to a call that was sent in another way than as a request.
    pub fn note_answer(&self, tool: &str, answer: CallAnswer) {
        if let Some(answered) = &self.settings.answered {
            answered.note_answer(tool, answer);
        }
    }

    /// Returns true if faults of the suite strike its messages.
    pub fn has_faults(&self) -> bool {
        self.settings.disturbance == Disturbance::Faults
    }

    /// The request that any server of its era answers.
    pub fn sign_of_life(&self) -> &'static str {
        match self.server.revision.era() {
            Era::Session => "ping",
            Era::Stateless => "server/discover",
        }
    }

    /// Requests of several owners were pending when the server ended, so that its exit cannot be attributed.
    pub fn has_several_pending_at_exit(&self) -> bool {
        self.peer.lock().pending_at_exit.len() > 1
    }

    /// Records whether the exit was attributed to one owner; otherwise it is still to be reported.
    pub fn attribute_exit(&self, is_theirs: bool) {
        let mut state = self.peer.lock();
        state.is_exit_attributed |= is_theirs;
        state.is_exit_reported = state.is_exit_attributed;
    }

    /// The frames so far.
    pub fn frames(&self) -> Vec<Frame> {
        self.peer.lock().transcript.frames()
    }

    /// The violations of one owner, each handed out once.
    pub fn take_violations(&self, owner: &Owner) -> Vec<OwnedViolation> {
        self.peer.lock().take_violations(Some(owner))
    }

    /// Every violation so far, each handed out once.
    pub fn take_all_violations(&self) -> Vec<OwnedViolation> {
        std::mem::take(&mut self.peer.lock().violations)
    }

    /// Reads no message from here on that takes more memory than this, in bytes.
    pub fn limit_messages(&self, largest: usize) {
        self.peer.lock().largest_message = Some(largest);
    }

    /// The same for answers to the requests of one owner.
    pub fn limit_answers(&self, owner: &Owner, largest: usize) {
        self.peer.lock().largest_answers.insert(owner.clone(), largest);
    }

    /// The number of messages that came and were not read, since they are too large or nested too deep.
    pub fn not_read(&self) -> usize {
        let state = self.peer.lock();
        state.transcript.not_read() + state.bodies_not_read
    }

    /// The numbers of the frames of one owner.
    pub fn frames_of(&self, owner: &Owner) -> Vec<u32> {
        self.peer.lock().frames_of(owner)
    }

    /// Takes note of what a suite writes of the request in a frame.
    pub fn note_written(&self, frame: u32, note: impl FnOnce(&mut WrittenRequest)) {
        note(self.peer.lock().written.entry(frame).or_default());
    }

    /// The last lines of standard error, oldest first.
    pub fn stderr_tail(&self) -> Vec<String> {
        self.peer.lock().transcript.stderr_tail(failure::STDERR_LINES)
    }

    /// The time for an answer where nobody says otherwise: without a handshake, the first one has the time of a start, too.
    fn answer_timeout(&self) -> Duration {
        let SessionSettings { start_timeout, request_timeout, .. } = self.settings;
        let is_starting = !self.has_handshake() && !self.peer.lock().transcript.has_received();
        if is_starting { request_timeout.max(start_timeout) } else { request_timeout }
    }

    /// Sends other texts and numbers in the place of those with this JSON in all later requests: the ids of what this server
    /// made, where those of another one are known.
    pub fn use_own_values(&self, values: BTreeMap<String, Value>) {
        self.own_values.set(values);
    }

    /// Keeps permits to start until the server has given its first answer, or let its time pass.
    pub fn hold_while_starting(&self, permits: Vec<OwnedSemaphorePermit>) {
        *self.starting.lock() = permits;
    }

    fn release_start(&self) {
        self.starting.lock().clear();
    }

    /// It began with a handshake, or as a revision without one begins.
    pub fn has_handshake(&self) -> bool {
        self.settings.performs_handshake
    }

    /// The server has asked for the client's roots, and got them.
    pub fn has_given_roots(&self) -> bool {
        self.peer.lock().has_given_roots()
    }

    /// The server can still answer.
    pub fn is_open(&self) -> bool {
        self.peer.lock().ended.is_none()
    }

    /// It can be used, and no case has used it.
    pub fn is_untouched(&self) -> bool {
        let state = self.peer.lock();
        state.ended.is_none() && state.frames.keys().all(|owner| *owner == Owner::Session)
    }

    /// Marks the exit of the server as reported, so that it is not reported again.
    pub fn mark_exit_reported(&self) {
        self.peer.lock().is_exit_reported = true;
    }

    /// Takes note of where the conversation stands, for [`Self::settle`].
    pub fn mark(&self) {
        self.peer.lock().scanner.mark();
    }

    /// Watches a process of ours for so long after its last message, and returns everything that was broken. What follows
    /// is judged as if nothing had travelled since the mark; `false` where the conversation cannot go back to it.
    pub async fn settle(&self, watch: Duration) -> (Vec<OwnedViolation>, bool) {
        tokio::time::sleep(self.peer.remaining_watch(watch)).await;
        let mut state = self.peer.lock();
        state.listener = None;
        let found = std::mem::take(&mut state.violations);
        let is_intact = found.is_empty() && state.ended.is_none() && !state.is_end_requested && state.scanner.rewind();
        (found, is_intact)
    }

    /// Kills the server where it is a process of ours, without a word before, and returns when nothing of it is left. The
    /// conversation is still to be closed.
    pub async fn kill(&self) {
        self.release_start();
        self.calls.expect_end();
        self.peer.kill().await;
    }

    /// Ends the conversation and the server once a process of ours was watched so long after its last message; returns
    /// when nothing of it is left.
    pub async fn close(&self, watch: Duration) -> ClosedSession {
        self.release_start();
        self.calls.expect_end();
        self.peer.close(watch).await
    }

    /// Ends the conversation and the server in that way.
    pub async fn shut_down(&self, order: ShutdownOrder) -> ClosedSession {
        self.release_start();
        self.calls.expect_end();
        self.peer.shut_down(order).await
    }
}

/// The frames and violations of a closed conversation.
#[derive(Debug, Clone)]
pub struct ClosedSession {
    /// When the conversation began.
    pub began: Instant,
    /// From then to its end.
    pub lasted: Duration,
    /// Violations that belong to no case.
    pub violations: Vec<OwnedViolation>,
    /// Every frame that is kept.
    pub frames: Vec<Frame>,
    /// The calls of tools in the others.
    pub forgotten: ForgottenCalls,
    /// The numbers of the frames of each owner.
    pub owners: BTreeMap<Owner, Vec<u32>>,
    /// What a suite writes of requests, by their frames.
    pub written: BTreeMap<u32, WrittenRequest>,
    /// By code of the scans, how much was looked at that could have broken the rule.
    pub seen: BTreeMap<&'static str, u32>,
    /// `stdio`, `memory`, `http` or `sse`.
    pub transport: TransportKind,
    /// The end of the conversation by the server; `None` where there was none.
    pub end: Option<SessionEnd>,
    /// The end of the server's process, where it ended by itself and no failed request reported it.
    pub unreported_exit: Option<UnreportedExit>,
    /// The end of a process of ours by our wish; `None` where there is none, or where it had ended before.
    pub shutdown: Option<Shutdown>,
}

/// A conversation that did not begin, with what travelled all the same.
#[derive(Debug, Clone)]
pub struct NotOpened {
    /// Why.
    pub failure: OpenFailure,
    /// Its connections in order: one, or two where the server was started again.
    pub connections: Vec<ClosedSession>,
}
