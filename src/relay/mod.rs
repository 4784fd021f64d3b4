//! Faults around any server: every message passes through a [`FaultPlayer`], in both directions.
//!
//! `streams` stands around a server on streams, `http` around one over HTTP, and `upstream` is the way to one that runs
//! somewhere else, whose answers may come on a stream that is resumed (`interrupted`) and whose clients' connections can be
//! reset (`connection`). Without faults and without a watcher, bytes are copied and nothing is read. `traffic` is what a relay
//! knows of the messages that pass, and tells its [`RelayWatcher`]; `metrics` counts that for Prometheus. Knows neither
//! where notes are written nor what they are for.

mod body;
mod connection;
mod events;
pub mod http;
mod interrupted;
mod metrics;
mod relayed_server;
pub mod streams;
mod traffic;
mod upstream;

use std::collections::{BTreeMap, BTreeSet};
use std::future::pending;
use std::hash::RandomState;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use tokio::sync::{mpsc, watch};

pub use self::metrics::RelayMetrics;
pub use self::relayed_server::{EXIT_TIMEOUT, RelayedServer};
pub use self::traffic::{MessageChange, MessageDirection, RelayWatcher, RelayedCall};
pub use self::upstream::{Upstream, UpstreamAddress};

use self::interrupted::InterruptedRequests;
use self::traffic::{CallIntent, OutputSchemas};
use crate::fault::{Fault, FaultPlayer, ServerEnd};
use crate::wire::exact_memory_estimate;

/// The faults around one server, and what is known of its traffic.
pub struct Relay {
    player: FaultPlayer,
    has_faults: bool,
    watcher: Option<Arc<dyn RelayWatcher>>,
    is_strict: bool,
    listening: Mutex<Vec<ListeningStream>>,
    /// The numbers of sessions, by a hash of their ids: these are secrets, and of any length.
    sessions: Mutex<BTreeMap<u64, u64>>,
    schemas: Mutex<OutputSchemas>,
    /// The number of calls that belong to no session and to no task.
    loose_calls: AtomicU64,
    /// By a hash of task, tool and arguments with the salt, which no other relay has.
    intents: Mutex<BTreeMap<u64, CallIntent>>,
    salt: RandomState,
    /// The notes that the watcher has.
    notes: Mutex<BTreeSet<String>>,
    /// The number of messages for clients that wait for their time.
    late: AtomicU64,
    interrupted: InterruptedRequests,
    stop: watch::Sender<Option<RelayStop>>,
}

/// The reason why a relay ends before its server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RelayStop {
    /// A fault ended the server.
    Ended(ServerEnd),
    /// The relay is strict, and this is what it does not accept, as a sentence.
    Refused(String),
}

/// The memory that a message takes in which faults and figures look, in bytes: what is larger passes as it is, in pieces
/// where it has no end in sight.
pub(crate) const MOST_READ: usize = 32 << 20;

/// Said once where a message is too large.
const TOO_LARGE: &str =
    "a message that would take more than 32 MiB of memory passes as it is: faults and figures do not look into it";

/// The most messages that wait for a client on a stream that it does not read.
const MOST_PUSHED: usize = 64;

/// The most notes that are told.
const MOST_NOTES: usize = 1000;

/// Said once where a list of messages passes.
const BATCH: &str = "lists of messages (batches) pass as they are: faults and figures do not look into them";

/// A stream that a client opened with GET: the session, and where its messages go.
type ListeningStream = (String, mpsc::Sender<Vec<u8>>);

impl Relay {
    /// A relay without a watcher.
    pub fn new(faults: Vec<Fault>) -> Self {
        Self {
            has_faults: !faults.is_empty(),
            player: FaultPlayer::new(faults),
            watcher: None,
            is_strict: false,
            listening: Mutex::default(),
            sessions: Mutex::default(),
            schemas: Mutex::default(),
            loose_calls: AtomicU64::new(0),
            intents: Mutex::default(),
            salt: RandomState::new(),
            notes: Mutex::default(),
            late: AtomicU64::new(0),
            interrupted: InterruptedRequests::default(),
            stop: watch::Sender::new(None),
        }
    }

    /// The same with a watcher of every call and every change. A strict relay ends where a fault finds nothing
    /// to change; else the message passes unchanged.
    #[must_use]
    pub fn with_watcher(self, watcher: Arc<dyn RelayWatcher>, is_strict: bool) -> Self {
        Self { watcher: Some(watcher), is_strict, ..self }
    }

    /// The names of the faults that changed nothing.
    pub fn idle_faults(&self) -> Vec<&str> {
        self.player.idle()
    }

    /// Gives up the calls whose answer could still come on a stream that a client resumes.
    pub fn give_up_interrupted(&self) {
        self.interrupted.give_up();
    }

    /// Messages for clients wait for their time.
    pub fn has_late_messages(&self) -> bool {
        self.late.load(Ordering::Relaxed) > 0
    }

    /// Faults and figures look into a message: it is not too large.
    fn looks_into(&self, message: &[u8]) -> bool {
        let is_small = exact_memory_estimate(message) <= MOST_READ;
        if !is_small {
            self.note_once(TOO_LARGE);
        }
        is_small
    }

    /// No message has to be read.
    fn is_transparent(&self) -> bool {
        !self.has_faults && self.watcher.is_none()
    }

    /// Ends the relay; the first reason stays.
    pub fn stop(&self, reason: RelayStop) {
        self.stop.send_if_modified(|stop| stop.is_none().then(|| *stop = Some(reason)).is_some());
    }

    /// The reason why the relay ends, if there is one.
    pub fn stop_reason(&self) -> Option<RelayStop> {
        self.stop.borrow().clone()
    }

    /// Waits for the reason why the relay ends.
    pub async fn wait_for_stop(&self) -> RelayStop {
        let mut receiver = self.stop.subscribe();
        let stop = receiver.wait_for(Option::is_some).await.ok().and_then(|stop| stop.clone());
        match stop {
            Some(reason) => reason,
            None => pending().await,
        }
    }

    /// Subscribes to the messages for another stream of the session.
    fn listen(&self, scope: &str) -> mpsc::Receiver<Vec<u8>> {
        let (sender, receiver) = mpsc::channel(MOST_PUSHED);
        let mut listening = self.listening.lock();
        listening.retain(|(_, sender)| !sender.is_closed());
        listening.push((scope.to_owned(), sender));
        receiver
    }

    /// Sends messages on all streams of the session that are open.
    fn broadcast(&self, scope: &str, messages: &[Vec<u8>]) {
        for (_, sender) in self.listening.lock().iter().filter(|(known, _)| known == scope) {
            for message in messages {
                // A client that went away in the meantime, or does not read, hears nothing.
                let _ = sender.try_send(message.clone());
            }
        }
    }
}
