//! Requests over HTTP whose stream of events ended before their answer came: it may come on a stream that a client opens
//! with GET and the id of the last event that it has.

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::Value;

use super::traffic::RelayedExchange;

/// How many requests are remembered; of more, the oldest ones count as unanswered.
const MOST_KEPT: usize = 1000;

/// The requests that wait for a client to resume their stream.
#[derive(Default)]
pub(crate) struct InterruptedRequests(Mutex<VecDeque<InterruptedRequest>>);

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
    /// Whether its answer can come on a stream: in the same session, or where its own stream goes on.
    fn may_be_answered_on(&self, stream: &ResumedStream<'_>) -> bool {
        self.exchange.live.request.scope == stream.scope || self.goes_on_in(stream)
    }

    fn goes_on_in(&self, stream: &ResumedStream<'_>) -> bool {
        stream.from == Some(self.last_event.as_str())
    }
}

impl InterruptedRequests {
    /// Remembers a request whose stream ended with that event.
    pub(crate) fn keep(&self, exchange: &Arc<RelayedExchange>, last_event: String) {
        let mut kept = self.0.lock();
        kept.push_back(InterruptedRequest { exchange: Arc::clone(exchange), last_event });
        let forgotten = if kept.len() > MOST_KEPT { kept.pop_front() } else { None };
        drop(kept);
        // It tells that it has no answer, outside of the lock.
        drop(forgotten);
    }

    /// Takes the request that an answer with this id belongs to.
    pub(crate) fn take(&self, stream: &ResumedStream<'_>, id: &Value) -> Option<Arc<RelayedExchange>> {
        let mut kept = self.0.lock();
        let is_meant = |request: &InterruptedRequest| {
            request.may_be_answered_on(stream) && request.exchange.live.request.id().as_ref() == Some(id)
        };
        // Clients without a session may use the same ids.
        let at = kept.iter().position(|request| is_meant(request) && request.goes_on_in(stream));
        let at = at.or_else(|| kept.iter().position(is_meant))?;
        kept.remove(at).map(|request| request.exchange)
    }

    /// The request during which a message is sent that carries its token for progress.
    pub(crate) fn during(&self, stream: &ResumedStream<'_>, message: &Value) -> Option<Arc<RelayedExchange>> {
        let token = message.pointer("/params/progressToken")?;
        let kept = self.0.lock();
        let meant = kept.iter().find(|request| {
            request.may_be_answered_on(stream) && request.exchange.live.request.progress_token() == Some(token)
        });
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
        let mut kept = self.0.lock();
        let all = std::mem::take(&mut *kept);
        let (ended, left): (VecDeque<_>, _) =
            all.into_iter().partition(|request| request.exchange.live.request.scope == scope);
        *kept = left;
        drop(kept);
        drop(ended);
    }

    /// Gives up all that is left.
    pub(crate) fn give_up(&self) {
        let left = std::mem::take(&mut *self.0.lock());
        drop(left);
    }
}
