//! Requests that are taken back while they are under way, and what the server does about it.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value};
use tokio::time::{Instant, sleep, timeout_at};

use super::peer::CancellationGuard;
use super::raw::is_answer;
use super::state::{MessageReceiver, OutgoingRequest, RequestOutcome};
use super::{CallFailure, Session, SessionRequest};
use crate::transport::{self, Owner};
use crate::wire::{Era, Id};

/// A request that is taken back.
#[derive(Debug)]
pub struct Cancellation<'a> {
    /// The request.
    pub request: SessionRequest<'a>,
    /// When it is taken back.
    pub trigger: CancelTrigger,
    /// The reason to give.
    pub reason: Option<String>,
    /// The signal to the server.
    pub signal: CancelSignal,
    /// The time for which the server is watched afterwards.
    pub watch: Duration,
}

/// The signal to a server that its answer is no longer awaited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CancelSignal {
    /// In the way of the era and the transport: by a notification, or since 2026-07-28 over HTTP by closing the response.
    Standard,
    /// The same, and the notification twice.
    Twice,
    /// By nothing but a closed response, which is no cancellation over HTTP up to 2025-11-25.
    ClosedResponse,
}

/// The event that triggers a cancellation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CancelTrigger {
    /// This time.
    After(Duration),
    /// So many notifications of progress.
    Progress(usize),
}

/// The outcome of a cancellation.
#[derive(Debug)]
pub struct Cancelled {
    /// The frame of the request.
    pub frame: u32,
    /// The parameters as they were sent.
    pub params: Value,
    /// It was cancelled; the answer may have come first.
    pub is_cancelled: bool,
    /// Messages with its id that came after the cancellation.
    pub late: Vec<Arc<Value>>,
    /// The number of notifications of its progress after the cancellation.
    pub progress_after: usize,
    /// From the request to its cancellation.
    pub elapsed: Duration,
}

/// A pending request that is watched for its cancellation.
struct CancelWatch {
    id: Id,
    receiver: MessageReceiver,
    progress: usize,
    answers: Vec<Arc<Value>>,
}

impl Session {
    /// Sends a request, takes it back, and looks at what still comes.
    pub async fn cancel(&self, cancellation: Cancellation<'_>) -> Result<Cancelled, CallFailure> {
        let Cancellation { request, trigger: when, reason, signal, watch } = cancellation;
        let begun = Instant::now();
        let limit = request.timeout.unwrap_or(self.settings.request_timeout);
        let mut outgoing = OutgoingRequest {
            owner: request.owner,
            method: request.method,
            params: self.with_era(request.params),
            deadline: begun + limit,
            limit,
            progress: request.progress || matches!(when, CancelTrigger::Progress(_)),
            is_extended_by_progress: false,
        };
        let receiver = self.peer.lock().listen(request.owner);
        let (id, params, frame, waiting) = self.peer.send(&mut outgoing);
        let mut watched = CancelWatch { id: id.clone(), receiver, progress: 0, answers: Vec::new() };
        let pending = CancellationGuard {
            peer: &self.peer,
            owner: request.owner,
            method: request.method,
            id,
            frame,
            reason: "interrupted",
        };
        let arrived = tokio::select! {
            biased;
            arrived = waiting => Some(arrived),
            is_time = watched.wait_for_trigger(when, outgoing.deadline) => {
                if is_time { None } else { return Err(self.peer.lock().timed_out(request.method, frame, limit)) }
            }
        };
        let (params, elapsed) = (params.unwrap_or_default(), begun.elapsed());
        let early = Cancelled { frame, params, is_cancelled: false, late: Vec::new(), progress_after: 0, elapsed };
        if let Some(arrived) = arrived {
            let mut state = self.peer.lock();
            state.listener = None;
            return match arrived {
                Ok(RequestOutcome::Answer { .. }) => Ok(early),
                Ok(failed) => Err(state.failure_of(failed, request.method, frame)),
                Err(_) => Err(state.ended_failure(request.method, frame)),
            };
        }
        watched.reset();
        // Nobody waits any more, so the server is not notified when `pending` is dropped.
        let is_answered = self.peer.lock().forget(&watched.id).is_none();
        drop(pending);
        if is_answered {
            self.peer.lock().listener = None;
            return Ok(early);
        }
        let cancelled_at = match signal {
            CancelSignal::Standard => self.send_cancellation(request.owner, &watched.id, frame, reason),
            CancelSignal::Twice => {
                self.send_cancellation(request.owner, &watched.id, frame, reason.clone());
                self.send_cancellation(request.owner, &watched.id, frame, reason)
            }
            CancelSignal::ClosedResponse => {
                // A closed channel shows as an ended server.
                let _ = self.peer.outgoing.send(transport::Outgoing::Abandon { frame });
                frame
            }
        };
        let is_ended = watched.watch_until(Instant::now() + watch).await;
        // The rest of the response is of no use.
        let _ = self.peer.outgoing.send(transport::Outgoing::Abandon { frame });
        let mut state = self.peer.lock();
        state.listener = None;
        if is_ended {
            return Err(state.ended_failure("notifications/cancelled", cancelled_at));
        }
        Ok(Cancelled { is_cancelled: true, late: watched.answers, progress_after: watched.progress, ..early })
    }

    /// A request is cancelled by closing its response, so that nothing more can come for it: since 2026-07-28 over
    /// HTTP.
    pub fn cancels_by_closing(&self) -> bool {
        let state = self.peer.lock();
        state.is_http() && state.era() == Era::Stateless
    }

    /// Closes the response where that cancels; everywhere else a notification does.
    fn send_cancellation(&self, owner: &Owner, id: &Id, frame: u32, reason: Option<String>) -> u32 {
        if self.cancels_by_closing() {
            // A closed channel shows as an ended server.
            let _ = self.peer.outgoing.send(transport::Outgoing::Abandon { frame });
            return frame;
        }
        let mut params = Map::from_iter([("requestId".to_owned(), id.to_json())]);
        params.extend(reason.map(|reason| ("reason".to_owned(), Value::from(reason))));
        self.peer.notify(owner, "notifications/cancelled", Some(&params.into()))
    }
}

impl CancelWatch {
    /// Waits until it is time to cancel; `false` where the time for the request was over before.
    async fn wait_for_trigger(&mut self, when: CancelTrigger, deadline: Instant) -> bool {
        let count = match when {
            CancelTrigger::After(time) => return timeout_at(deadline, sleep(time)).await.is_ok(),
            CancelTrigger::Progress(count) => count,
        };
        while self.progress < count {
            match timeout_at(deadline, self.receiver.recv()).await {
                Ok(Some((_, message))) => self.take(message),
                // The end of the server shows in the answer that does not come.
                Ok(None) => std::future::pending().await,
                Err(_) => return false,
            }
        }
        true
    }

    /// Forgets what came before the cancellation.
    fn reset(&mut self) {
        while self.receiver.try_recv().is_ok() {}
        self.progress = 0;
        self.answers.clear();
    }

    /// Looks at everything that comes until then; `true` where the server ended.
    async fn watch_until(&mut self, until: Instant) -> bool {
        loop {
            match timeout_at(until, self.receiver.recv()).await {
                Ok(Some((_, message))) => self.take(message),
                Ok(None) => return true,
                Err(_) => return false,
            }
        }
    }

    fn take(&mut self, message: Arc<Value>) {
        let id = self.id.to_json();
        if message["method"] == "notifications/progress" && message["params"]["progressToken"] == id {
            self.progress += 1;
        } else if is_answer(&message) && message["id"] == id {
            self.answers.push(message);
        }
    }
}
