//! The tasks that there are, in the order in which they began. Each is there for its owner alone, and for a while.

use std::sync::Arc;
use std::time::Duration;

use indexmap::IndexMap;
use mcprove_server::transport::Input;
use parking_lot::{Mutex, MutexGuard};
use rmcp::RoleServer;
use rmcp::model::{CallToolRequestParams, CallToolResponse, CallToolResult, ErrorData};
use rmcp::service::RequestContext;
use tokio::sync::watch;
use tokio::time::Instant;

use super::TaskProtocol;
use super::task::{Stage, Task, Terms};
use crate::random;
use crate::server::Demo;

/// The number of tasks that are listed at once.
const PAGE: usize = 10;

/// The number of tasks an owner can have; the oldest that ended make room.
const MOST: usize = 256;

/// All tasks of a conversation, or of a process that serves HTTP.
pub(crate) struct Book {
    tasks: Mutex<IndexMap<String, Arc<Task>>>,
    /// Stays open as long as the book.
    open: watch::Sender<Input>,
}

/// Whose a task is.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum Owner {
    /// The only client that there is, or whoever knows the name.
    Anybody,
    /// The one who opened this session.
    Session(Arc<str>),
    /// The one with this user's token, in whatever session.
    User(&'static str),
}

/// The book as one owner sees it.
#[derive(Clone)]
pub(crate) struct Tasks {
    book: Arc<Book>,
    owner: Owner,
    /// The tasks end with it.
    input: watch::Receiver<Input>,
}

impl Default for Book {
    fn default() -> Self {
        Self { tasks: Mutex::default(), open: watch::Sender::new(Input::Open) }
    }
}

impl Tasks {
    /// The tasks of `owner`; they end with `input`, unless a user can come back for them.
    pub(crate) fn new(book: Arc<Book>, owner: Owner, input: watch::Receiver<Input>) -> Self {
        let input = if matches!(owner, Owner::User(_)) { book.open.subscribe() } else { input };
        Self { book, owner, input }
    }

    /// Begins a task that works on a call as `demo` would on a plain one.
    pub(crate) fn start(
        &self,
        (way, ttl): (TaskProtocol, Duration),
        demo: &Demo,
        request: &CallToolRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> Result<Arc<Task>, ErrorData> {
        let heeds_cancellation = demo.fault().hooks().stops_when_cancelled;
        let terms = Terms { owner: self.owner.clone(), way, ttl, caller: context.peer.clone(), heeds_cancellation };
        let task = self.enter(terms)?;
        let (demo, request) = (demo.lasting(&self.input), request.clone());
        // The request ends with its answer, and its own context with it.
        let mut own = RequestContext::new(context.id.clone(), context.peer.clone());
        own.meta = context.meta.clone();
        own.extensions.insert(Arc::clone(&task));
        let (entered, mut input) = (Arc::clone(&task), self.input.clone());
        let running = tokio::spawn(async move {
            let outcome = tokio::select! {
                biased;
                outcome = demo.perform(request, &own) => outcome.and_then(result),
                _ = input.wait_for(Input::is_over) => Err(ErrorData::internal_error("the input ended before the task", None)),
            };
            entered.settle(Stage::Ended(outcome));
        });
        task.runs(running.abort_handle());
        Ok(task)
    }

    fn enter(&self, terms: Terms) -> Result<Arc<Task>, ErrorData> {
        let id = random::name().ok_or_else(|| ErrorData::internal_error("the system gives no random numbers", None))?;
        let mut tasks = self.book.current();
        let mine = || tasks.values().filter(|task| task.owner == self.owner);
        if mine().count() >= MOST {
            let oldest = mine().find(|task| task.state().stage.is_end()).map(|task| task.id.clone());
            let Some(oldest) = oldest else {
                let message = format!("{MOST} tasks are being worked on; wait for one of them, or cancel it");
                return Err(ErrorData::internal_error(message, None));
            };
            tasks.shift_remove(&oldest);
        }
        let task = Arc::new(Task::new(id.clone(), terms));
        tasks.insert(id, Arc::clone(&task));
        Ok(task)
    }

    /// The owner's task of this name.
    pub(crate) fn find(&self, id: &str) -> Result<Arc<Task>, ErrorData> {
        let found = self.book.current().get(id).filter(|task| task.owner == self.owner).cloned();
        found.ok_or_else(|| unknown(id))
    }

    /// The tasks after the one that `cursor` names, and the cursor of the next page if there is one.
    pub(crate) fn page(&self, cursor: Option<&str>) -> Result<(Vec<Arc<Task>>, Option<String>), ErrorData> {
        let tasks = self.book.current();
        let mut mine: Vec<_> = tasks.values().filter(|task| task.owner == self.owner).cloned().collect();
        if let Some(cursor) = cursor {
            let last = mine.iter().position(|task| cursor.strip_prefix("after-") == Some(task.id.as_str()));
            let Some(last) = last else {
                let message = format!("no page has the cursor `{cursor}`; leave `cursor` out to begin again");
                return Err(ErrorData::invalid_params(message, None));
            };
            mine.drain(..=last);
        }
        let next = (mine.len() > PAGE).then(|| format!("after-{}", mine[PAGE - 1].id));
        mine.truncate(PAGE);
        Ok((mine, next))
    }

    /// Waits for the end of the input.
    pub(crate) async fn wait_for_end_of_input(&self) {
        // The other end of the input is gone when nothing more can come.
        let _ = self.input.clone().wait_for(Input::is_over).await;
    }
}

impl Book {
    /// The tasks whose time is not over.
    fn current(&self) -> MutexGuard<'_, IndexMap<String, Arc<Task>>> {
        let mut tasks = self.tasks.lock();
        let now = Instant::now();
        tasks.retain(|_, task| {
            let is_current = now < task.expires;
            if !is_current {
                task.expire();
            }
            is_current
        });
        tasks
    }
}

/// The result of a call that goes on as a task, which can no longer become one or start again with more input.
fn result(response: CallToolResponse) -> Result<CallToolResult, ErrorData> {
    let CallToolResponse::Complete(result) = response else {
        return Err(ErrorData::internal_error("the call is a task already, and did not end as a call does", None));
    };
    Ok(result)
}

/// The error for a task that does not exist, belongs to somebody else, or has expired.
pub(crate) fn unknown(id: &str) -> ErrorData {
    ErrorData::invalid_params(format!("there is no task `{id}`; its time may be over"), None)
}
