//! What the demo server asks at the places where it could go wrong, and what a fault keeps in mind between them.

use std::collections::BTreeMap;
use std::future::pending;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rmcp::model::{
    CallToolResult, ClientRequest, ErrorData, JsonObject, ListResourcesResult, ListToolsResult,
    ProgressNotificationParam, ProtocolVersion, ReadResourceResult, ServerConfig, ServerResult,
};
use serde_json::Value;
use tokio::sync::watch;

use super::Entry;
use super::hooks::{Answer, Call, Check, Hooks, Request, SOUND};
use crate::demo::flaw::{Flaw, Playing};
use crate::demo::schema::Schema;
use crate::demo::settings::Settings;
use crate::demo::store::SharedStore;

/// What a server does wrong: nothing, or one thing.
///
/// One belongs to a whole server, so all its conversations share it. Whoever carries bytes asks [`Fault::heard`] and
/// [`Fault::said`], and ends when [`Fault::fallen`] does. A [`Flaw`] stands around all of it.
pub struct Fault {
    hooks: &'static Hooks,
    memory: Memory,
    playing: Option<Arc<Playing>>,
}

/// What a line that came in, or the body of a POST, does to the server.
pub enum Heard {
    /// What it should.
    Sound,
    /// This line answers an earlier one; then the server does what it should.
    Answered(Vec<u8>),
    /// The server falls over.
    Fatal,
}

/// What faults need from outside.
#[derive(Debug, Clone)]
pub struct Surroundings {
    /// The folder in which the server keeps files.
    pub folder: PathBuf,
    /// Something that no answer should contain.
    pub secret: String,
}

/// What a fault keeps in mind.
pub(super) struct Memory {
    pub(super) surroundings: Surroundings,
    /// The directory of all conversations, where they share one.
    pub(super) store: SharedStore,
    /// Held by the request that is worked on, where there is one at a time.
    pub(super) turn: tokio::sync::Mutex<()>,
    counts: Mutex<BTreeMap<&'static str, u64>>,
    answers: Mutex<BTreeMap<String, CallToolResult>>,
    open: Mutex<Vec<Value>>,
    ballast: Mutex<Vec<Vec<u8>>>,
    fallen: watch::Sender<bool>,
}

impl Fault {
    /// A server that does everything right.
    pub fn none() -> Self {
        Self::with(&SOUND, Surroundings { folder: PathBuf::from("."), secret: String::new() })
    }

    /// A server that does one thing wrong.
    pub fn of(entry: &'static Entry, surroundings: Surroundings) -> Self {
        Self::with(&entry.hooks, surroundings)
    }

    fn with(hooks: &'static Hooks, surroundings: Surroundings) -> Self {
        Self { hooks, memory: Memory::new(surroundings), playing: None }
    }

    /// A server that does everything right inside, with a flaw at its edge.
    pub fn flawed(flaw: Flaw) -> Self {
        Self { playing: Some(Arc::new(Playing::new(flaw))), ..Self::none() }
    }

    /// The flaw at the edge of the server.
    pub(in crate::demo) fn playing(&self) -> Option<&Arc<Playing>> {
        self.playing.as_ref()
    }

    /// Makes the server fall over.
    pub(in crate::demo) fn fall(&self) {
        self.memory.fall();
    }

    /// What a line that came in, or the body of a POST, does.
    pub fn heard(&self, line: &[u8]) -> Heard {
        let heard = (self.hooks.heard)(&self.memory, line);
        if matches!(heard, Heard::Fatal) {
            self.memory.fall();
        }
        heard
    }

    /// What becomes of a message that goes out, with a newline at its end where it is a line.
    pub fn said(&self, line: Vec<u8>) -> Vec<u8> {
        match self.hooks.said {
            Some(change) => change(&self.memory, line),
            None => line,
        }
    }

    /// Waits until the server falls over.
    pub async fn fallen(&self) {
        // The sender lives as long as this does.
        let _ = self.memory.fallen.subscribe().wait_for(|fallen| *fallen).await;
    }

    /// How many bytes the server holds on to for nothing.
    pub fn ballast(&self) -> usize {
        locked(&self.memory.ballast).iter().map(Vec::len).sum()
    }

    pub(in crate::demo) fn waives(&self, check: Check) -> bool {
        (self.hooks.waives)(check)
    }

    pub(in crate::demo) fn heeds_cancellations(&self) -> bool {
        self.hooks.stops_when_cancelled
    }

    pub(in crate::demo) fn ends_with_input(&self) -> bool {
        self.hooks.ends_with_input
    }

    pub(in crate::demo) fn has_fallen(&self) -> bool {
        *self.memory.fallen.borrow()
    }

    /// The directory of a conversation.
    pub(in crate::demo) fn store(&self) -> SharedStore {
        if self.hooks.keeps_apart { Arc::default() } else { self.memory.store.clone() }
    }

    pub(in crate::demo) fn settings(&self, mut settings: Settings) -> Settings {
        (self.hooks.settings)(&mut settings);
        settings
    }

    pub(in crate::demo) fn admits(&self, request: &ClientRequest) -> bool {
        (self.hooks.admits)(request)
    }

    pub(in crate::demo) fn agrees(&self, revision: &ProtocolVersion) -> bool {
        (self.hooks.agrees)(revision)
    }

    pub(in crate::demo) fn turns_to(&self, cursor: &str) -> bool {
        (self.hooks.turns_to)(cursor)
    }

    pub(in crate::demo) async fn request(&self, request: Request<'_>) -> Result<ServerResult, ErrorData> {
        match self.hooks.request {
            Some(wrap) => wrap(request).await,
            None => request.proceed().await,
        }
    }

    pub(in crate::demo) async fn call(&self, call: Call<'_>) -> Answer {
        match self.hooks.call {
            Some(wrap) => wrap(call).await,
            None => call.proceed().await,
        }
    }

    pub(in crate::demo) async fn read(&self, uri: &str) -> Option<ReadResourceResult> {
        match self.hooks.read {
            Some(read) => read(&self.memory, uri).await,
            None => None,
        }
    }

    pub(in crate::demo) fn info(&self, info: &mut ServerConfig) {
        (self.hooks.info)(info);
    }

    pub(in crate::demo) fn tools(&self, list: &mut ListToolsResult) {
        (self.hooks.tools)(&self.memory, list);
    }

    pub(in crate::demo) fn resources(&self, list: &mut ListResourcesResult) {
        (self.hooks.resources)(list);
    }

    pub(in crate::demo) fn prompt(&self, arguments: &mut JsonObject) {
        (self.hooks.prompt)(arguments);
    }

    /// What is wrong with arguments.
    pub(in crate::demo) fn complaints(&self, declared: &Schema, arguments: &Value) -> Vec<String> {
        let Some(rules) = self.hooks.rules else {
            return declared.complaints(arguments);
        };
        let mut enforced = Value::Object(declared.declared().as_ref().clone());
        rules(&mut enforced);
        // What is still refused is explained as ever.
        if Schema::new(enforced).complaints(arguments).is_empty() { Vec::new() } else { declared.complaints(arguments) }
    }

    pub(in crate::demo) fn arguments(&self, tool: &str, arguments: &mut Value) {
        (self.hooks.arguments)(&self.memory, tool, arguments);
    }

    pub(in crate::demo) fn value(&self, tool: &str, value: &mut Value) {
        (self.hooks.value)(tool, value);
    }

    pub(in crate::demo) fn result(&self, tool: &str, result: &mut CallToolResult) {
        (self.hooks.result)(&self.memory, tool, result);
    }

    pub(in crate::demo) fn progress(&self, progress: &mut ProgressNotificationParam) {
        (self.hooks.progress)(progress);
    }

    /// Waits until a cancellation is heeded.
    pub(in crate::demo) async fn cancelled(&self, cancelled: impl Future<Output = ()> + Send) {
        if self.hooks.stops_when_cancelled { cancelled.await } else { pending().await }
    }

    pub(super) fn memory(&self) -> &Memory {
        &self.memory
    }
}

impl Memory {
    fn new(surroundings: Surroundings) -> Self {
        Self {
            surroundings,
            store: Arc::default(),
            turn: tokio::sync::Mutex::default(),
            counts: Mutex::default(),
            answers: Mutex::default(),
            open: Mutex::default(),
            ballast: Mutex::default(),
            fallen: watch::Sender::new(false),
        }
    }

    /// Makes the server fall over. Nothing is answered any more.
    pub(super) async fn fall_over<T>(&self) -> T {
        self.fall();
        pending().await
    }

    fn fall(&self) {
        self.fallen.send_replace(true);
    }

    /// Counts one more, and gives how many there are.
    pub(super) fn count(&self, what: &'static str) -> u64 {
        let mut counts = locked(&self.counts);
        let count = counts.entry(what).or_default();
        *count += 1;
        *count
    }

    /// How many were counted.
    pub(super) fn counted(&self, what: &'static str) -> u64 {
        locked(&self.counts).get(what).copied().unwrap_or_default()
    }

    /// Keeps an answer.
    pub(super) fn keep(&self, key: &str, answer: &CallToolResult) {
        locked(&self.answers).insert(key.to_owned(), answer.clone());
    }

    /// An answer that was kept.
    pub(super) fn kept(&self, key: &str) -> Option<CallToolResult> {
        locked(&self.answers).get(key).cloned()
    }

    /// The ids of requests that are not answered.
    pub(super) fn open(&self) -> MutexGuard<'_, Vec<Value>> {
        locked(&self.open)
    }

    /// Holds on to some memory for ever.
    pub(super) fn hoard(&self, bytes: usize) {
        locked(&self.ballast).push(vec![1; bytes]);
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
