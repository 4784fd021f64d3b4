//! One task: where it stands, who waits for it, and how it ends. An end is final.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use parking_lot::Mutex;
use rmcp::RoleServer;
use rmcp::model::{CallToolResult, ErrorData, InputRequests, NotificationMetaObject, ProgressNotificationParam};
use rmcp::service::Peer;
use rmcp::task_manager::current_timestamp;
use serde_json::{Map, Value, json};
use tokio::sync::{oneshot, watch};
use tokio::task::AbortHandle;
use tokio::time::Instant;

use super::TaskProtocol;
use super::book::Owner;

/// The key under which a message names the task that it belongs to.
pub(crate) const RELATED: &str = "io.modelcontextprotocol/related-task";

/// A call that goes on by itself.
pub(crate) struct Task {
    pub(crate) id: String,
    pub(crate) owner: Owner,
    pub(crate) created_at: String,
    pub(crate) ttl: Duration,
    pub(crate) expires: Instant,
    /// True if a cancellation stops it.
    heeds_cancellation: bool,
    way: TaskProtocol,
    state: watch::Sender<State>,
    running: OnceLock<AbortHandle>,
    /// Held by progress on its way, so that none is said after the end.
    turn: tokio::sync::Mutex<()>,
    /// Who can be told about progress: first who called, last who waits for the result.
    listeners: Mutex<Vec<Peer<RoleServer>>>,
    dialogue: Mutex<Option<Dialogue>>,
}

/// The answers to the questions of a task, until all are there.
struct Dialogue {
    answers: Map<String, Value>,
    whoever_asked: oneshot::Sender<Map<String, Value>>,
}

/// The state of a task, and its time.
#[derive(Clone)]
pub(crate) struct State {
    pub(crate) stage: Stage,
    pub(crate) updated_at: String,
}

#[derive(Clone)]
pub(crate) enum Stage {
    /// It is worked on.
    Working,
    /// It waits for answers of the client.
    Asking(InputRequests),
    /// The call came to this.
    Ended(Result<CallToolResult, ErrorData>),
    /// Nobody wants it any more.
    Cancelled,
}

/// The parameters of a new task.
pub(crate) struct Terms {
    pub(crate) owner: Owner,
    pub(crate) way: TaskProtocol,
    pub(crate) ttl: Duration,
    pub(crate) caller: Peer<RoleServer>,
    pub(crate) heeds_cancellation: bool,
}

impl Stage {
    /// Is it final?
    pub(crate) fn is_end(&self) -> bool {
        matches!(self, Self::Ended(_) | Self::Cancelled)
    }
}

impl Task {
    pub(crate) fn new(id: String, terms: Terms) -> Self {
        let created_at = current_timestamp();
        let (state, _) = watch::channel(State { stage: Stage::Working, updated_at: created_at.clone() });
        Self {
            id,
            owner: terms.owner,
            created_at,
            ttl: terms.ttl,
            expires: Instant::now() + terms.ttl,
            heeds_cancellation: terms.heeds_cancellation,
            way: terms.way,
            state,
            running: OnceLock::new(),
            turn: tokio::sync::Mutex::default(),
            listeners: Mutex::new(vec![terms.caller]),
            dialogue: Mutex::default(),
        }
    }

    /// Its state.
    pub(crate) fn state(&self) -> State {
        self.state.borrow().clone()
    }

    /// Its first state.
    pub(crate) fn beginning(&self) -> State {
        State { stage: Stage::Working, updated_at: self.created_at.clone() }
    }

    /// Keeps the handle that stops the work on the task.
    pub(crate) fn runs(&self, handle: AbortHandle) {
        // There is one work only.
        let _ = self.running.set(handle);
    }

    /// Moves on, unless it is at its end; true if it moved.
    pub(crate) fn settle(&self, stage: Stage) -> bool {
        self.state.send_if_modified(|state| {
            if state.stage.is_end() {
                return false;
            }
            *state = State { stage, updated_at: current_timestamp() };
            true
        })
    }

    /// Stops it for good; false if it was at its end.
    pub(crate) async fn cancel(&self) -> bool {
        let _turn = self.turn.lock().await;
        if !self.heeds_cancellation {
            return !self.state().stage.is_end();
        }
        let is_cancelled = self.settle(Stage::Cancelled);
        if is_cancelled && let Some(running) = self.running.get() {
            running.abort();
        }
        is_cancelled
    }

    /// Stops it because its time is over.
    pub(crate) fn expire(&self) {
        if self.settle(Stage::Cancelled)
            && let Some(running) = self.running.get()
        {
            running.abort();
        }
    }

    /// Waits for the end, or until its time is over; what is said about progress meanwhile goes to `listener`.
    pub(crate) async fn end(&self, listener: &Peer<RoleServer>) -> Option<Stage> {
        self.listeners.lock().push(listener.clone());
        let mut state = self.state.subscribe();
        tokio::select! {
            biased;
            ended = state.wait_for(|state| state.stage.is_end()) => ended.ok().map(|state| state.stage.clone()),
            () = tokio::time::sleep_until(self.expires) => None,
        }
    }

    /// Says how far the work is, under the token of the call that it began with. The extension has no such thing.
    pub(crate) async fn report(&self, mut progress: ProgressNotificationParam) {
        if self.way == TaskProtocol::Extension {
            return;
        }
        let _turn = self.turn.lock().await;
        if self.state.borrow().stage.is_end() {
            return;
        }
        let mut meta = NotificationMetaObject::new();
        meta.insert(RELATED.to_owned(), json!({ "taskId": self.id }));
        progress.meta = Some(meta);
        let mut listeners = self.listeners.lock().clone();
        // Each message goes to one stream only, and over HTTP a stream ends with its answer.
        while let Some(listener) = listeners.pop() {
            if listener.notify_progress(progress.clone()).await.is_ok() {
                return;
            }
        }
    }

    /// Asks the client, and waits until it has answered every question; each answer is under the key of its question.
    /// Nobody can be asked in the middle of other tasks.
    pub(crate) async fn ask(&self, questions: InputRequests) -> Option<Map<String, Value>> {
        if self.way == TaskProtocol::Legacy {
            return None;
        }
        let (whoever_asked, answers) = oneshot::channel();
        *self.dialogue.lock() = Some(Dialogue { answers: Map::new(), whoever_asked });
        self.settle(Stage::Asking(questions));
        answers.await.ok()
    }

    /// Takes answers that the client sends, perhaps not all at once; those that nobody asked for are dropped.
    pub(crate) fn answer(&self, answers: &Map<String, Value>) {
        let mut dialogue = self.dialogue.lock();
        let Stage::Asking(mut open) = self.state().stage else { return };
        let Some(mut asked) = dialogue.take() else { return };
        for (key, answer) in answers {
            if open.remove(key).is_some() {
                asked.answers.insert(key.clone(), answer.clone());
            }
        }
        if open.is_empty() {
            self.settle(Stage::Working);
            // A task that was stopped meanwhile reads no answers.
            let _ = asked.whoever_asked.send(asked.answers);
        } else {
            self.settle(Stage::Asking(open));
            *dialogue = Some(asked);
        }
    }
}

/// The task that a request is worked on as, if it is one.
pub(crate) fn task_of(context: &rmcp::service::RequestContext<RoleServer>) -> Option<&Arc<Task>> {
    context.extensions.get()
}
