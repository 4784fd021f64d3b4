//! The requests of a conversation without an answer: the one that an answer belongs to, or during which the server sends a
//! message. Relays, links and live mutants keep them here.

use std::collections::VecDeque;

use serde_json::Value;

use super::changed_message::MessageCopy;
use crate::wire::SUBSCRIPTION_ID;

/// The most requests of a conversation without an answer.
const MOST_PENDING: usize = 10_000;

/// The most memory that they take, in bytes: a client may send large ones, and no server answer them.
const MOST_HELD: usize = 32 << 20;

/// The requests of one conversation that the server received and has not answered.
#[derive(Debug)]
pub struct PendingRequests<E> {
    /// The most requests; of more, the oldest ones are forgotten, and their answers pass unchanged.
    limit: usize,
    waiting: VecDeque<PendingRequest<E>>,
    /// The memory that they take.
    held: usize,
    /// The ids of the copies of requests that the server received beside them: one answer for each is dropped.
    repeated: VecDeque<Value>,
}

/// A request without an answer.
#[derive(Debug)]
pub struct PendingRequest<E> {
    /// The id by which the server knows it; `None` if it could read none, and answers without an id.
    pub id: Option<Value>,
    /// The token of its progress.
    pub progress_token: Option<Value>,
    /// The request as its carrier remembers it.
    pub exchange: E,
    /// The memory that it takes, in bytes.
    pub weight: usize,
}

/// The request that an answer belongs to.
#[derive(Debug, PartialEq, Eq)]
pub enum MatchedRequest<E> {
    /// It had no answer yet.
    First(E),
    /// It is a copy of a request that the server received beside it.
    Again,
    /// None is known.
    Unknown,
}

impl<E> Default for PendingRequests<E> {
    fn default() -> Self {
        Self::with_limit(MOST_PENDING)
    }
}

impl<E> PendingRequests<E> {
    /// No requests, and at most so many.
    pub fn with_limit(limit: usize) -> Self {
        Self { limit, waiting: VecDeque::new(), held: 0, repeated: VecDeque::new() }
    }

    /// Adds a request that the server received, with its copies; returns those that are forgotten instead.
    pub fn add(&mut self, request: PendingRequest<E>, copies: &[MessageCopy]) -> Vec<PendingRequest<E>> {
        self.repeated.extend(copies.iter().filter_map(|copy| copy.id.clone()));
        while self.repeated.len() > self.limit {
            self.repeated.pop_front();
        }
        self.held += request.weight;
        self.waiting.push_back(request);
        let mut forgotten = Vec::new();
        while self.waiting.len() > self.limit || self.held > MOST_HELD && self.waiting.len() > 1 {
            let Some(oldest) = self.waiting.pop_front() else { break };
            self.held -= oldest.weight;
            forgotten.push(oldest);
        }
        forgotten
    }

    /// Takes the request of an answer with that id; those without an id are answered in their order.
    pub fn take_answered(&mut self, id: Option<&Value>) -> MatchedRequest<E> {
        if let Some(exchange) = self.take(|request| request.id.as_ref() == id) {
            return MatchedRequest::First(exchange);
        }
        match self.repeated.iter().position(|repeated| Some(repeated) == id) {
            Some(at) => {
                self.repeated.remove(at);
                MatchedRequest::Again
            }
            None => MatchedRequest::Unknown,
        }
    }

    /// Takes the first request for which that holds.
    pub fn take(&mut self, is_meant: impl Fn(&PendingRequest<E>) -> bool) -> Option<E> {
        let at = self.waiting.iter().position(is_meant)?;
        let request = self.waiting.remove(at)?;
        self.held -= request.weight;
        Some(request.exchange)
    }

    /// Takes all requests for which that holds.
    pub fn take_all(&mut self, is_meant: impl Fn(&E) -> bool) -> Vec<E> {
        let (taken, left) = self.waiting.drain(..).partition(|request: &PendingRequest<E>| is_meant(&request.exchange));
        self.waiting = left;
        self.held = self.waiting.iter().map(|request| request.weight).sum();
        let taken: VecDeque<PendingRequest<E>> = taken;
        taken.into_iter().map(|request| request.exchange).collect()
    }

    /// The request that a message of the server names, by its token of progress or its subscription.
    pub fn during(&self, sent: &Value, is_possible: impl Fn(&E) -> bool) -> Option<&E> {
        self.find_waiting(sent, is_possible).map(|at| &self.waiting[at].exchange)
    }

    /// The same; the last request if the message names none.
    pub fn during_or_last(&mut self, sent: &Value) -> Option<&mut E> {
        let at = self.find_waiting(sent, |_| true).or(self.waiting.len().checked_sub(1))?;
        self.waiting.get_mut(at).map(|request| &mut request.exchange)
    }

    fn find_waiting(&self, sent: &Value, is_possible: impl Fn(&E) -> bool) -> Option<usize> {
        let (token, subscription) = (sent.pointer("/params/progressToken"), sent.pointer(SUBSCRIPTION_ID));
        self.waiting.iter().position(|request| {
            let has_token = token.is_some() && request.progress_token.as_ref() == token;
            let is_subscription = subscription.is_some() && request.id.as_ref() == subscription;
            (has_token || is_subscription) && is_possible(&request.exchange)
        })
    }

    /// The requests with that id.
    pub fn with_id(&self, id: Option<&Value>) -> impl Iterator<Item = &E> {
        self.waiting.iter().filter(move |request| request.id.as_ref() == id).map(|request| &request.exchange)
    }

    /// All requests, the oldest first.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut E> {
        self.waiting.iter_mut().map(|request| &mut request.exchange)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn pending(requests: &[(Value, Option<Value>)]) -> PendingRequests<usize> {
        let mut pending = PendingRequests::default();
        for (exchange, (id, copied)) in requests.iter().enumerate() {
            let id = Some(id.clone()).filter(|id| !id.is_null());
            let progress_token = id.as_ref().map(|id| json!(format!("token {id}")));
            let request = PendingRequest { id, progress_token, exchange, weight: 1 };
            let copies = copied.iter().map(|id| MessageCopy { bytes: Vec::new(), id: Some(id.clone()) });
            assert!(pending.add(request, &copies.collect::<Vec<_>>()).is_empty());
        }
        pending
    }

    #[test]
    fn answers_belong_to_requests() {
        use MatchedRequest::{Again, First, Unknown};
        for (requests, answers) in [
            (vec![(json!(1), None), (json!(2), None)], vec![(json!(2), First(1)), (json!(1), First(0))]),
            (vec![(json!(1), None)], vec![(json!(1), First(0)), (json!(1), Unknown)]),
            (vec![(json!(1), None)], vec![(json!("1"), Unknown), (Value::Null, Unknown)]),
            (vec![(json!(1), Some(json!(1)))], vec![(json!(1), First(0)), (json!(1), Again), (json!(1), Unknown)]),
            (vec![(json!(1), Some(json!("mcprove-1")))], vec![(json!("mcprove-1"), Again), (json!(1), First(0))]),
            (vec![(Value::Null, None); 2], vec![(Value::Null, First(0)), (Value::Null, First(1))]),
        ] {
            let mut pending = pending(&requests);
            for (id, expected) in answers {
                assert_eq!(
                    pending.take_answered(Some(&id).filter(|id| !id.is_null())),
                    expected,
                    "{id} in {requests:?}"
                );
            }
        }
    }

    #[test]
    fn messages_name_requests() {
        let mut pending = pending(&[(json!(1), None), (json!(2), None)]);
        for (params, expected) in [
            (json!({"progressToken": "token 2"}), Some(1)),
            (json!({"progressToken": "token 3"}), None),
            (json!({"_meta": {"io.modelcontextprotocol/subscriptionId": 1}}), Some(0)),
            (json!({}), None),
        ] {
            let sent = json!({ "params": params });
            assert_eq!(pending.during(&sent, |_| true).copied(), expected, "{params}");
            assert_eq!(pending.during_or_last(&sent).copied(), expected.or(Some(1)), "{params}");
        }
    }

    #[test]
    fn the_oldest_request_is_forgotten() {
        let mut pending = PendingRequests::with_limit(2);
        let request = |exchange: usize, weight: usize| {
            let id = Some(json!(exchange));
            PendingRequest { id, progress_token: None, exchange, weight }
        };
        let mut add = |number, weight| {
            let forgotten = pending.add(request(number, weight), &[]);
            forgotten.into_iter().map(|request| request.exchange).collect::<Vec<_>>()
        };
        let forgotten: Vec<_> = (0..4).map(|number| add(number, 1)).collect();
        assert_eq!(forgotten, [vec![], vec![], vec![0], vec![1]]);
        assert_eq!(add(4, MOST_HELD), [2, 3]);
        assert_eq!(add(5, MOST_HELD), [4]);
        assert_eq!(add(6, 0), [0; 0]);
    }
}
