//! Subscriptions: the notifications that come while somebody listens, and the request that keeps a subscription open.

use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

use super::peer::CancellationGuard;
use super::state::{OutgoingRequest, RequestOutcome};
use super::{CallFailure, Session, SessionReply};
use crate::transport::Owner;
use crate::wire::SUBSCRIPTION_ID;

/// The request of a subscription (2026-07-28, basic/patterns/subscriptions).
const LISTEN: &str = "subscriptions/listen";

/// The method of the first message on a subscription.
const ACKNOWLEDGED: &str = "notifications/subscriptions/acknowledged";

/// A notification of the server.
#[derive(Debug, Clone)]
pub struct ReceivedNotification {
    /// The whole message.
    pub message: Arc<Value>,
    /// Its frame.
    pub frame: u32,
}

impl ReceivedNotification {
    /// The subscription that it names; `None` where it names none.
    pub fn subscription(&self) -> Option<&Value> {
        self.message.pointer(SUBSCRIPTION_ID)
    }

    /// The filter that it acknowledges; `None` where it is no acknowledgement.
    pub fn acknowledged(&self) -> Option<&Value> {
        (self.message["method"] == ACKNOWLEDGED).then(|| &self.message["params"]["notifications"])
    }
}

/// The notifications of a session from a moment on.
#[derive(Debug)]
pub struct Notifications(pub(crate) mpsc::UnboundedReceiver<ReceivedNotification>);

impl Notifications {
    /// Waits for the next one; `None` where none can come.
    pub async fn next(&mut self) -> Option<ReceivedNotification> {
        self.0.recv().await
    }
}

/// A subscription that lasts as long as its request (since 2026-07-28); it is cancelled when it is dropped.
pub struct Subscription<'a> {
    /// Its id, which its notifications carry.
    pub id: Value,
    /// The parameters as they were sent.
    pub params: Value,
    /// The frame of its request.
    pub frame: u32,
    begun: Instant,
    session: &'a Session,
    /// `None` once the answer was taken.
    answer: Option<oneshot::Receiver<RequestOutcome>>,
    _guard: CancellationGuard<'a>,
}

impl Session {
    /// The notifications that come from here on.
    pub fn notifications(&self) -> Notifications {
        self.peer.lock().notifications()
    }

    /// Sends a request whose answer nobody waits for.
    pub fn ask_in_passing(&self, owner: &Owner, method: &str, params: Value) {
        let mut request = OutgoingRequest {
            owner,
            method,
            params: self.with_era(Some(params)),
            deadline: Instant::now(),
            limit: Duration::ZERO,
            progress: false,
            is_extended_by_progress: false,
        };
        drop(self.peer.send(&mut request));
    }

    /// Asks for a subscription with this filter.
    pub fn listen<'a>(&'a self, owner: &'a Owner, filter: &Value) -> Subscription<'a> {
        let begun = Instant::now();
        let mut request = OutgoingRequest {
            owner,
            method: LISTEN,
            params: self.with_era(Some(json!({ "notifications": filter }))),
            deadline: begun,
            limit: Duration::ZERO,
            progress: false,
            is_extended_by_progress: false,
        };
        let (id, params, frame, answer) = self.peer.send(&mut request);
        Subscription {
            id: id.to_json(),
            params: params.unwrap_or_default(),
            frame,
            begun,
            session: self,
            answer: Some(answer),
            _guard: CancellationGuard {
                peer: &self.peer,
                owner,
                method: LISTEN,
                id,
                frame,
                reason: "no longer listening",
            },
        }
    }
}

impl Subscription<'_> {
    /// Waits for the answer by which the server refuses or ends it; never returns a second time.
    pub async fn answer(&mut self) -> Result<SessionReply, CallFailure> {
        let Some(answer) = &mut self.answer else { return pending().await };
        let arrived = answer.await;
        self.answer = None;
        let mut state = self.session.peer.lock();
        match arrived {
            Ok(RequestOutcome::Answer { message, frame: answer_frame, notifications }) => Ok(SessionReply {
                message,
                params: self.params.clone(),
                frame: self.frame,
                answer_frame,
                elapsed: self.begun.elapsed(),
                notifications,
            }),
            Ok(failed) => Err(state.failure_of(failed, LISTEN, self.frame)),
            Err(_) => Err(state.ended_failure(LISTEN, self.frame)),
        }
    }
}
