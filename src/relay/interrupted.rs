//! Requests over HTTP whose stream of events ended before their answer came: it may come on a stream that a client opens
//! with GET and the id of the last event that it has.

use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::Value;

use super::traffic::RelayedExchange;
use crate::fault::{PendingRequest, PendingRequests};

/// The most requests that are remembered; of more, the oldest ones count as unanswered.
const MOST_INTERRUPTED: usize = 1000;

/// The requests that wait for a client to resume their stream.
pub(crate) struct InterruptedRequests(Mutex<PendingRequests<InterruptedRequest>>);

struct InterruptedRequest {
    exchange: Arc<RelayedExchange>,
    /// The id of the last event of its stream.
    last_event: String,
}

/// A stream that was opened with GET.
pub(crate) struct ResumedStream<'a> {
    /// Its session.
    pub(crate) scope: &'a str,
    /// The id of the last event that its client has.
    pub(crate) from: Option<&'a str>,
}

impl InterruptedRequest {
    fn scope(&self) -> &str {
        &self.exchange.live.request.scope
    }

    fn goes_on_in(&self, stream: &ResumedStream<'_>) -> bool {
        stream.from == Some(self.last_event.as_str())
    }

    /// Its answer can come on a stream in the same session, or where its own stream goes on.
    fn may_be_answered_on(&self, stream: &ResumedStream<'_>) -> bool {
        self.scope() == stream.scope || self.goes_on_in(stream)
    }
}

impl Default for InterruptedRequests {
    fn default() -> Self {
        Self(Mutex::new(PendingRequests::with_limit(MOST_INTERRUPTED)))
    }
}

impl InterruptedRequests {
    /// Remembers a request whose stream ended with that event.
    pub(crate) fn keep(&self, exchange: &Arc<RelayedExchange>, last_event: String) {
        let request = &exchange.live.request;
        let (id, progress_token) = (request.id(), request.progress_token().cloned());
        let weight = request.weight() + last_event.len();
        let exchange = InterruptedRequest { exchange: Arc::clone(exchange), last_event };
        let forgotten = self.0.lock().add(PendingRequest { id, progress_token, exchange, weight }, &[]);
        // Its call ends outside of the lock.
        drop(forgotten);
    }

    /// Takes the request that an answer with this id belongs to.
    pub(crate) fn take(&self, stream: &ResumedStream<'_>, id: &Value) -> Option<Arc<RelayedExchange>> {
        let mut requests = self.0.lock();
        // Clients without a session may use the same ids.
        let own = requests.take(|it| it.id.as_ref() == Some(id) && it.exchange.goes_on_in(stream));
        let any =
            own.or_else(|| requests.take(|it| it.id.as_ref() == Some(id) && it.exchange.may_be_answered_on(stream)));
        any.map(|request| request.exchange)
    }

    /// The request during which a message is sent that carries its token for progress.
    pub(crate) fn during(&self, stream: &ResumedStream<'_>, message: &Value) -> Option<Arc<RelayedExchange>> {
        let requests = self.0.lock();
        let meant = requests.during(message, |request| request.may_be_answered_on(stream));
        meant.map(|request| Arc::clone(&request.exchange))
    }

    /// Notes how far a stream went on.
    pub(crate) fn advance(&self, stream: &ResumedStream<'_>, last_event: &str) {
        for request in self.0.lock().iter_mut().filter(|request| request.goes_on_in(stream)) {
            last_event.clone_into(&mut request.last_event);
        }
    }

    /// Gives up those of a session that has ended.
    pub(crate) fn give_up_session(&self, scope: &str) {
        let ended = self.0.lock().take_all(|request| request.scope() == scope);
        // Their calls end outside of the lock.
        drop(ended);
    }

    /// Gives up all that is left.
    pub(crate) fn give_up(&self) {
        let left = self.0.lock().take_all(|_| true);
        drop(left);
    }
}
