//! Our side of a connection: sends messages, waits for answers by id.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use serde_json::{Value, json};
use tokio::sync::{Notify, mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until, timeout};

use super::dispatch::{self, Intake};
use super::state::{OutgoingLine, OutgoingRequest, RequestOutcome, SessionState};
use super::{CallFailure, ClientAnswers, ClosedSession, SessionReply};
use crate::transport::http::Endpoint;
use crate::transport::large;
use crate::transport::{self, Link, MessageRole, Owner, ServerProcesses, ShutdownOrder, Stopper, TransportKind};
use crate::wire::{self, Era, Id, notification_line};

/// The time until a killed process is gone.
const KILL_TIMEOUT: Duration = Duration::from_secs(5);

/// One end of a connection, with or without a handshake.
#[derive(Debug)]
pub(crate) struct Connection {
    state: Arc<Mutex<SessionState>>,
    pub(crate) outgoing: mpsc::UnboundedSender<transport::Outgoing>,
    /// Taken by whoever closes the conversation.
    closing: Mutex<Option<Closing>>,
    /// Tells the task that listens that somebody else wants to.
    wanted: Arc<Notify>,
    /// The server's endpoint, over HTTP.
    pub endpoint: Option<Endpoint>,
    pub processes: Option<ServerProcesses>,
}

/// The handles that close a conversation.
#[derive(Debug)]
struct Closing {
    stop: Stopper,
    /// The task that listens; `None` while somebody else does.
    dispatching: Option<JoinHandle<Option<Intake>>>,
}

impl Connection {
    pub(crate) fn new(link: Link, answers: ClientAnswers) -> Self {
        let state = Arc::new(Mutex::new(SessionState::new(answers, link.transport)));
        let closing = Mutex::new(Some(Closing { stop: link.stop, dispatching: None }));
        let (outgoing, endpoint, processes) = (link.outgoing, link.endpoint, link.processes);
        let peer = Self { state, outgoing, closing, wanted: Arc::default(), endpoint, processes };
        peer.listen(Intake::new(link.incoming));
        peer
    }

    /// Takes over the incoming messages; `None` where no more can come.
    pub(crate) async fn take_intake(&self) -> Option<Intake> {
        let dispatching = self.closing.lock().as_mut().and_then(|closing| closing.dispatching.take())?;
        self.wanted.notify_one();
        dispatching.await.ok().flatten()
    }

    /// Listens again.
    pub(crate) fn listen(&self, intake: Intake) {
        let (state, wanted) = (Arc::clone(&self.state), Arc::clone(&self.wanted));
        let dispatching = tokio::spawn(dispatch::dispatch_all(intake, self.outgoing.clone(), state, wanted));
        if let Some(closing) = self.closing.lock().as_mut() {
            closing.dispatching = Some(dispatching);
        }
    }

    /// The transport; known for certain once something has been answered.
    pub(crate) fn transport(&self) -> TransportKind {
        self.lock().transport
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, SessionState> {
        self.state.lock()
    }

    /// Sends a request and waits for its answer until the deadline; whoever stops waiting tells the server so.
    pub(crate) async fn exchange(&self, mut request: OutgoingRequest<'_>) -> Result<SessionReply, CallFailure> {
        let (begun, before) = (Instant::now(), large::total_wait());
        let (id, params, frame, mut waiting) = self.send(&mut request);
        let mut pending = CancellationGuard {
            peer: self,
            owner: request.owner,
            method: request.method,
            id: id.clone(),
            frame,
            reason: "interrupted",
        };
        let arrived = tokio::select! {
            biased;
            arrived = &mut waiting => arrived.map_err(|_| self.lock().ended_failure(request.method, frame))?,
            () = self.deadline_of(&request, &id, before) => {
                pending.reason = "timeout";
                let state = self.lock();
                return Err(match state.doubtful_answer(&id) {
                    Some(stray) => state.failure_of(RequestOutcome::Garbled(Some(stray)), request.method, frame),
                    None => state.timed_out(request.method, frame, request.limit),
                });
            }
        };
        let RequestOutcome::Answer { message, frame: answer_frame, notifications } = arrived else {
            return Err(self.lock().failure_of(arrived, request.method, frame));
        };
        let params = params.unwrap_or_else(|| json!({}));
        Ok(SessionReply { message, params, frame, answer_frame, elapsed: begun.elapsed(), notifications })
    }

    /// Waits until a request has waited too long; `before` is how long anybody had waited for a turn when it went.
    async fn deadline_of(&self, request: &OutgoingRequest<'_>, id: &Id, before: Duration) {
        let mut deadline = request.deadline;
        loop {
            sleep_until(deadline).await;
            let progressed_at = self.lock().progressed_at(id).filter(|_| request.is_extended_by_progress);
            let extended = progressed_at.map(|progressed_at| progressed_at + request.limit);
            // A server whose answers never end could keep others waiting for ever.
            let in_turns = large::total_wait().saturating_sub(before).min(request.limit);
            match extended.max(Some(request.deadline + in_turns)) {
                Some(extended) if extended > deadline => deadline = extended,
                _ => return,
            }
        }
    }

    /// Sends a request and takes its parameters; returns its id, the parameters as sent, its frame, and what will
    /// answer it.
    pub(crate) fn send(
        &self,
        request: &mut OutgoingRequest<'_>,
    ) -> (Id, Option<Value>, u32, oneshot::Receiver<RequestOutcome>) {
        let mut state = self.lock();
        let id = state.fresh_id();
        let mut params = request.params.take();
        if request.progress {
            let params = params.get_or_insert_with(|| Value::Object(serde_json::Map::new()));
            params["_meta"]["progressToken"] = id.to_json();
        }
        let message = wire::request(&id, request.method, params.clone());
        let line = message.to_string();
        let (frame, waiting) = state.register(&id, request, message, line.as_bytes());
        // The lock is held, so lines leave in the order of their frames. A closed channel shows as an ended server.
        let is_handshake = *request.owner == Owner::Session && request.method == "initialize";
        let role = if is_handshake { MessageRole::Handshake } else { MessageRole::Request };
        let _ = self.outgoing.send(state.outgoing_message(OutgoingLine {
            owner: request.owner,
            role,
            frame,
            line,
            method: request.method,
            params: params.as_ref(),
        }));
        (id, params, frame, waiting)
    }

    /// Sends a notification and returns its frame.
    pub(crate) fn notify(&self, owner: &Owner, method: &str, params: Option<&Value>) -> u32 {
        let line = notification_line(method, params);
        let mut state = self.lock();
        let frame = state.record_notification(owner, line.as_bytes());
        let is_last = *owner == Owner::Session && method == "notifications/initialized";
        let role = if is_last { MessageRole::Initialized } else { MessageRole::Notification };
        let _ = self.outgoing.send(state.outgoing_message(OutgoingLine { owner, role, frame, line, method, params }));
        frame
    }

    /// Ends the conversation once the server was watched so long after its last message; what is left of it is handed
    /// out once.
    pub(crate) async fn close(&self, watch: Duration) -> ClosedSession {
        self.end(watch, None).await
    }

    /// Ends the conversation and the server in that way.
    pub(crate) async fn shut_down(&self, order: ShutdownOrder) -> ClosedSession {
        self.end(Duration::ZERO, Some(order)).await
    }

    async fn end(&self, watch: Duration, order: Option<ShutdownOrder>) -> ClosedSession {
        let closing = self.closing.lock().take();
        let (mut ending, mut unreported_exit, mut shutdown) = (None, None, None);
        if let Some(Closing { stop, dispatching }) = closing {
            let mut dispatching = dispatching.unwrap_or_else(|| tokio::spawn(async { None }));
            let is_over = timeout(self.remaining_watch(watch), &mut dispatching).await.is_ok();
            (ending, unreported_exit) = {
                let mut state = self.lock();
                state.is_end_requested = true;
                (state.ending(), state.unreported_exit())
            };
            shutdown = match order {
                Some(order) => stop.shut_down(order).await,
                None => stop.stop().await,
            };
            if !is_over {
                // A task that was cut off has nothing more to say.
                let _ = dispatching.await;
            }
        }
        let mut state = self.lock();
        let mut violations = state.take_violations(None);
        violations.extend(state.take_violations(Some(&Owner::Session)));
        let owners = std::mem::take(&mut state.frames);
        let written = std::mem::take(&mut state.written);
        let seen = state.scanner.occasions();
        let (transport, frames) = (state.transport, state.transcript.take_frames());
        let forgotten = state.transcript.take_forgotten();
        ClosedSession {
            began: state.started,
            lasted: state.now(),
            violations,
            frames,
            forgotten,
            owners,
            written,
            seen,
            transport,
            end: ending,
            unreported_exit,
            shutdown,
        }
    }

    /// Ends the connection by force: a process of ours is killed. Nothing is left to report about its end.
    pub(crate) async fn kill(&self) {
        let closing = self.closing.lock().take();
        let Some(Closing { stop, dispatching }) = closing else { return };
        self.lock().is_end_requested = true;
        drop(stop);
        if let Some(dispatching) = dispatching {
            // The end of the process is the last that it hears; a connection without one ends sooner.
            let _ = timeout(KILL_TIMEOUT, dispatching).await;
        }
    }

    /// The time for which a process of ours is still to be watched.
    pub(crate) fn remaining_watch(&self, watch: Duration) -> Duration {
        let state = self.lock();
        let is_ours = state.transport == TransportKind::Stdio || self.endpoint.as_ref().is_some_and(Endpoint::is_ours);
        let quiet = state.now().saturating_sub(state.transcript.last_at());
        if is_ours { watch.saturating_sub(quiet) } else { Duration::ZERO }
    }
}

/// A pending request; when its future is dropped, the server is notified.
pub(crate) struct CancellationGuard<'a> {
    pub peer: &'a Connection,
    pub owner: &'a Owner,
    pub method: &'a str,
    pub id: Id,
    pub frame: u32,
    pub reason: &'static str,
}

impl Drop for CancellationGuard<'_> {
    fn drop(&mut self) {
        // Nothing is forgotten where the answer came or the server ended.
        let (was_waiting, is_told) = {
            let mut state = self.peer.lock();
            // Over HTTP, closing the response cancels since 2026-07-28.
            let is_closed = state.is_http() && (state.era() == Era::Stateless || self.method == "server/discover");
            (state.forget(&self.id).is_some(), !is_closed)
        };
        if !was_waiting {
            return;
        }
        // `initialize` cannot be cancelled (basic/utilities/cancellation).
        if is_told && self.method != "initialize" {
            let params = json!({"requestId": self.id.to_json(), "reason": self.reason});
            self.peer.notify(self.owner, "notifications/cancelled", Some(&params));
        }
        let _ = self.peer.outgoing.send(transport::Outgoing::Abandon { frame: self.frame });
    }
}
