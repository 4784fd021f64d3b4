//! Faults at the edge of the demo server: every message passes through a [`FaultPlayer`], in both directions.
//!
//! `lines` stands around the server on streams, `http` around it over HTTP. Where there is no fault, none of this is on the
//! way.

mod events;
pub(super) mod http;
pub(super) mod lines;

use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::mpsc;

use crate::fault::{Fault, FaultPlayer};

/// The faults at the edge of one server.
pub(super) struct Edge {
    player: FaultPlayer,
    listening: Mutex<Vec<Listener>>,
}

/// A stream that a client opened with GET: the session, and where its messages go.
type Listener = (String, mpsc::UnboundedSender<Vec<u8>>);

impl Edge {
    pub(super) fn new(faults: Vec<Fault>) -> Self {
        Self { player: FaultPlayer::new(faults), listening: Mutex::default() }
    }

    /// Subscribes to the messages for another stream of the session.
    fn listen(&self, scope: &str) -> mpsc::UnboundedReceiver<Vec<u8>> {
        let (sender, receiver) = mpsc::unbounded_channel();
        let mut listening = self.listening();
        listening.retain(|(_, sender)| !sender.is_closed());
        listening.push((scope.to_owned(), sender));
        receiver
    }

    /// Sends messages on all streams of the session that are open.
    fn broadcast(&self, scope: &str, messages: &[Vec<u8>]) {
        for (_, sender) in self.listening().iter().filter(|(known, _)| known == scope) {
            for message in messages {
                // A client that went away in the meantime hears nothing.
                let _ = sender.send(message.clone());
            }
        }
    }

    fn listening(&self) -> MutexGuard<'_, Vec<Listener>> {
        self.listening.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
