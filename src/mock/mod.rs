//! A server that answers as a recorded one did.
//!
//! A [`MockServer`] holds the recording of one server by connections (`connection`); a [`Conversation`] is one session
//! with a client, and finds for each message the recorded exchange that fits best. [`serve_lines`] and [`http`] carry
//! conversations. Nothing here waits: replies come at once, in the recorded order.

mod connection;
mod conversation;
pub mod http;
mod known;
mod lines;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;

pub use self::conversation::{Conversation, MockReply, ReplyStream};
pub use self::lines::{LinesEnd, serve_lines};

use self::connection::{MockKey, RecordedConnection, connections};
use crate::fault::MessageExchange;
use crate::prove::RunRecording;
use crate::redact::MASK;

/// A recorded server that can be asked again.
#[derive(Debug)]
pub struct MockServer {
    /// All exchanges, in the order in which they were begun.
    exchanges: Vec<MessageExchange>,
    connections: Vec<RecordedConnection>,
    /// The requests whose secrets were taken out, so that others may be meant.
    masked: Vec<MockKey>,
    /// The number of conversations that were answered from each connection so far.
    plays: Mutex<Vec<u32>>,
}

/// Why a recording has no single server to imitate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoSuchServer {
    /// The servers that were recorded, as they can be named.
    pub names: Vec<String>,
}

impl MockServer {
    /// The recorded server of that name, or the only one.
    ///
    /// # Errors
    ///
    /// Fails where there are several, and where there is none of that name.
    pub fn new(recording: RunRecording, name: Option<&str>) -> Result<Arc<Self>, NoSuchServer> {
        let names = recording.server_names();
        let mut servers: BTreeMap<String, Vec<MessageExchange>> = BTreeMap::new();
        for (target, recorded) in recording.targets {
            let name = names.get(&target).cloned().unwrap_or_default();
            servers.entry(name).or_default().extend(recorded.exchanges);
        }
        let name = match servers.keys().next() {
            Some(only) if name.is_none() && servers.len() == 1 => only.clone(),
            Some(_) | None => name.unwrap_or_default().to_owned(),
        };
        let meant = servers.remove(&name).map(|exchanges| Arc::new(Self::of(exchanges)));
        meant.ok_or_else(|| NoSuchServer { names: servers.into_keys().collect() })
    }

    fn of(exchanges: Vec<MessageExchange>) -> Self {
        let connections = connections(&exchanges);
        let keys = connections.iter().flat_map(RecordedConnection::keys);
        let mut masked: Vec<MockKey> =
            keys.filter(|key| key.text().is_some_and(|text| text.contains(MASK))).cloned().collect();
        masked.sort();
        masked.dedup();
        let plays = Mutex::new(vec![0; connections.len()]);
        Self { exchanges, connections, masked, plays }
    }
}
