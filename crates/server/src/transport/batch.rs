//! Batches, which 2025-03-26 asks servers to accept: answers wait until they can travel in one array.

use rmcp::model::RequestId;
use serde_json::Value;

/// The batches that still miss answers.
#[derive(Default)]
pub(crate) struct Batches {
    open: Vec<Batch>,
}

struct Batch {
    waiting: Vec<RequestId>,
    answers: Vec<Value>,
}

/// The state of an answer in its batch.
pub(crate) enum Settled {
    /// Its request came alone.
    Alone,
    /// Its batch misses others.
    Waiting,
    /// Its batch has them all.
    Complete(Vec<Value>),
}

impl Batches {
    /// Takes a batch in: the requests whose answers come, and the answers that are there already.
    pub(crate) fn open(&mut self, waiting: Vec<RequestId>, answers: Vec<Value>) -> Settled {
        if waiting.is_empty() {
            return Settled::Complete(answers);
        }
        self.open.push(Batch { waiting, answers });
        Settled::Waiting
    }

    /// Is the answer to `id` part of a batch?
    pub(crate) fn expects(&self, id: &RequestId) -> bool {
        self.open.iter().any(|batch| batch.waiting.contains(id))
    }

    /// Files the answer to `id`; `None` stands for a request that was cancelled and gets none.
    pub(crate) fn settle(&mut self, id: &RequestId, answer: Option<Value>) -> Settled {
        let Some(position) = self.open.iter().position(|batch| batch.waiting.contains(id)) else {
            return Settled::Alone;
        };
        let batch = &mut self.open[position];
        batch.waiting.retain(|waiting| waiting != id);
        batch.answers.extend(answer);
        if batch.waiting.is_empty() {
            return Settled::Complete(self.open.remove(position).answers);
        }
        Settled::Waiting
    }
}
