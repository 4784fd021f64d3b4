//! The fault of a demo server: the places where it can change the server's behaviour, and its state between them.

use std::future::pending;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use mcprove_server::schema::Schema;
use mcprove_server::transport::LineObserver;
use parking_lot::{Mutex, MutexGuard};
use rmcp::model::{CallToolResult, ErrorData, ListToolsResult, ReadResourceResult, ServerResult};
use serde_json::Value;
use tokio::sync::watch;

use super::hooks::{CallResult, HookedRequest, Hooks, SOUND, ToolCall};
use super::hooks_of;
use crate::settings::Settings;
use crate::store::SharedStore;

/// The fault of a server, if it has one.
///
/// All conversations of a server share it. Whatever carries bytes asks `answer_at_once`, and ends when
/// [`ServerFault::wait_for_crash`] does.
pub struct ServerFault {
    hooks: &'static Hooks,
    memory: FaultMemory,
}

/// The environment of a faulty server.
#[derive(Debug, Clone)]
pub struct FaultEnvironment {
    /// The folder in which the server keeps files.
    pub folder: PathBuf,
    /// Something that no answer should contain.
    pub secret: String,
}

/// The state of a fault, for a whole server.
pub(crate) struct FaultMemory {
    pub(crate) environment: FaultEnvironment,
    /// The directory of all conversations, where they share one.
    store: SharedStore,
    /// Held by the request that is worked on, where there is one at a time.
    pub(crate) turn: tokio::sync::Mutex<()>,
    calls: AtomicU64,
    answers: Mutex<Vec<KeptAnswer>>,
    /// The streams of clients that listen.
    listeners: Mutex<Vec<Listener>>,
    /// The users of earlier runs.
    earlier: OnceLock<Vec<Value>>,
    open: Mutex<Vec<Value>>,
    leaked_bytes: Mutex<Vec<Vec<u8>>>,
    crashed: watch::Sender<bool>,
}

/// A way to send a message on a stream that a client has opened.
type Listener = Box<dyn Fn(Value) + Send + Sync>;

/// An answer to a call in the conversations with one directory.
struct KeptAnswer {
    store: SharedStore,
    call: String,
    answer: CallToolResult,
}

impl LineObserver for ServerFault {
    fn answer_at_once(&self, line: &[u8]) -> Option<Vec<u8>> {
        Self::answer_at_once(self, line)
    }

    fn has_crashed(&self) -> bool {
        Self::has_crashed(self)
    }
}

impl ServerFault {
    /// A server that does everything right.
    pub fn none() -> Self {
        Self::new(&SOUND, FaultEnvironment { folder: PathBuf::from("."), secret: String::new() })
    }

    /// A server that shows a variant of the fault taxonomy, if that is a fault inside; a correct one otherwise.
    pub fn of(variant: &str, environment: FaultEnvironment) -> Self {
        Self::new(hooks_of(variant), environment)
    }

    fn new(hooks: &'static Hooks, environment: FaultEnvironment) -> Self {
        let memory = FaultMemory {
            environment,
            store: Arc::default(),
            turn: tokio::sync::Mutex::default(),
            calls: AtomicU64::default(),
            answers: Mutex::default(),
            listeners: Mutex::default(),
            earlier: OnceLock::new(),
            open: Mutex::default(),
            leaked_bytes: Mutex::default(),
            crashed: watch::Sender::new(false),
        };
        (hooks.start)(&memory);
        Self { hooks, memory }
    }

    /// Crashes the server.
    pub fn crash(&self) {
        self.memory.crash();
    }

    /// Receives a line of the client, or the body of a POST; returns a line that answers it before the server does.
    pub(crate) fn answer_at_once(&self, line: &[u8]) -> Option<Vec<u8>> {
        (self.hooks.heard)(&self.memory, line)
    }

    /// Waits until the server crashes.
    pub async fn wait_for_crash(&self) {
        // The sender lives as long as this does.
        let _ = self.memory.crashed.subscribe().wait_for(|crashed| *crashed).await;
    }

    /// Takes note of a stream on which a client listens.
    pub(crate) fn listens(&self, say: impl Fn(Value) + Send + Sync + 'static) {
        if self.hooks.tells_everybody {
            self.memory.listeners.lock().push(Box::new(say));
        }
    }

    /// The number of bytes that the server has leaked.
    pub fn leaked_bytes(&self) -> usize {
        self.memory.leaked_bytes.lock().iter().map(Vec::len).sum()
    }

    pub(crate) fn hooks(&self) -> &'static Hooks {
        self.hooks
    }

    pub(crate) fn has_crashed(&self) -> bool {
        *self.memory.crashed.borrow()
    }

    /// The directory of a conversation.
    pub(crate) fn store(&self) -> SharedStore {
        if self.hooks.keeps_apart { Arc::default() } else { self.memory.store.clone() }
    }

    pub(crate) fn settings(&self, mut settings: Settings) -> Settings {
        (self.hooks.settings)(&mut settings);
        settings
    }

    pub(crate) async fn request(&self, request: HookedRequest<'_>) -> Result<ServerResult, ErrorData> {
        match self.hooks.request {
            Some(wrap) => wrap(request).await,
            None => request.proceed().await,
        }
    }

    pub(crate) async fn call(&self, call: ToolCall<'_>) -> CallResult {
        match self.hooks.call {
            Some(wrap) => wrap(call).await,
            None => call.proceed().await,
        }
    }

    pub(crate) async fn read(&self, uri: &str) -> Option<ReadResourceResult> {
        self.hooks.read?(&self.memory, uri).await
    }

    pub(crate) fn tools(&self, list: &mut ListToolsResult) {
        (self.hooks.tools)(&self.memory, list);
    }

    /// The complaints about arguments.
    pub(crate) fn complaints(&self, declared: &Schema, arguments: &Value) -> Vec<String> {
        if let Some(rules) = self.hooks.rules {
            let mut enforced = Value::Object(declared.to_json_object().as_ref().clone());
            rules(&mut enforced);
            if Schema::new(enforced).complaints(arguments).is_empty() {
                return Vec::new();
            }
        }
        declared.complaints(arguments)
    }

    pub(crate) fn arguments(&self, tool: &str, arguments: &mut Value) {
        (self.hooks.arguments)(&self.memory, tool, arguments);
    }

    /// Waits until a cancellation is heeded.
    pub(crate) async fn wait_for_cancellation(&self, cancelled: impl Future<Output = ()> + Send) {
        if self.hooks.stops_when_cancelled { cancelled.await } else { pending().await }
    }

    pub(crate) fn memory(&self) -> &FaultMemory {
        &self.memory
    }
}

impl FaultMemory {
    /// Crashes the server.
    pub(crate) fn crash(&self) {
        self.crashed.send_replace(true);
    }

    /// Crashes the server. Nothing is answered any more.
    pub(crate) async fn fall_over<T>(&self) -> T {
        self.crash();
        pending().await
    }

    /// Counts one more call of a tool, and gives how many there are.
    pub(crate) fn count_call(&self) -> u64 {
        self.calls.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// The number of calls of tools that were counted.
    pub(crate) fn calls(&self) -> u64 {
        self.calls.load(Ordering::Relaxed)
    }

    /// Keeps an answer of the conversations with one directory.
    pub(crate) fn keep(&self, store: &SharedStore, call: &str, answer: &CallToolResult) {
        let kept = KeptAnswer { store: Arc::clone(store), call: call.to_owned(), answer: answer.clone() };
        let mut answers = self.answers.lock();
        answers.retain(|one| one.call != kept.call || !Arc::ptr_eq(&one.store, store));
        answers.push(kept);
    }

    /// An answer that was kept.
    pub(crate) fn kept_answer(&self, store: &SharedStore, call: &str) -> Option<CallToolResult> {
        let answers = self.answers.lock();
        let mut own = answers.iter().filter(|kept| Arc::ptr_eq(&kept.store, store));
        own.find(|kept| kept.call == call).map(|kept| kept.answer.clone())
    }

    /// Sends a message to every client that listens.
    pub(crate) fn tell_listeners(&self, message: &Value) {
        self.listeners.lock().iter().for_each(|listener| listener(message.clone()));
    }

    /// Remembers the users of earlier runs.
    pub(crate) fn remember(&self, users: Vec<Value>) {
        let _ = self.earlier.set(users);
    }

    /// The users of earlier runs.
    pub(crate) fn earlier(&self) -> &[Value] {
        self.earlier.get().map_or(&[], Vec::as_slice)
    }

    /// The ids of requests that are not answered.
    pub(crate) fn open(&self) -> MutexGuard<'_, Vec<Value>> {
        self.open.lock()
    }

    /// Holds on to some memory for ever.
    pub(crate) fn leak(&self, bytes: usize) {
        self.leaked_bytes.lock().push(vec![1; bytes]);
    }
}
