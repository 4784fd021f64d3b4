//! Takes in what the server sends, in order, for as long as it sends.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::timeout;

use super::failure::End;
use super::state::State;
use crate::transport::Incoming;

/// How long after the end of its output a process may take to say how it ended.
const AFTER_OUTPUT: Duration = Duration::from_millis(300);

/// Runs until the server is gone.
pub(super) async fn run(
    mut incoming: mpsc::Receiver<Incoming>,
    outgoing: mpsc::UnboundedSender<Vec<u8>>,
    state: Arc<Mutex<State>>,
) {
    let mut output = Output::Open;
    loop {
        let item = match output {
            Output::Open => incoming.recv().await,
            Output::Closed => timeout(AFTER_OUTPUT, incoming.recv()).await.ok().flatten(),
        };
        let mut state = lock(&state);
        match item {
            // Whoever asked the server to end tore the line, not the server.
            Some(Incoming::TornLine(line)) if state.asked_to_end => state.record_unjudged(&line),
            Some(Incoming::Line(line) | Incoming::TornLine(line)) => {
                for reply in state.receive(&line) {
                    // A server that is gone needs no answer.
                    let _ = outgoing.send(reply.into_bytes());
                }
            }
            Some(Incoming::Stderr(line)) => state.record_stderr(&line),
            Some(Incoming::Closed) => output = Output::Closed,
            Some(Incoming::EndlessLine) => state.end(End::EndlessLine),
            Some(Incoming::Exited(exit)) => return state.end(End::Exited(exit)),
            None => return state.end(End::Closed),
        }
        if state.flood().is_some() {
            return state.end(End::Flooded);
        }
    }
}

#[derive(Clone, Copy)]
enum Output {
    Open,
    Closed,
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}
