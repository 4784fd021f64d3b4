//! Takes in what the server sends, in order, for as long as it sends.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::timeout;

use super::failure::End;
use super::handshake::NOBODY;
use super::state::State;
use crate::transport::{Incoming, Kind, Outgoing};

/// How long after the end of its output a process may take to say how it ended.
const AFTER_OUTPUT: Duration = Duration::from_millis(300);

/// Runs until the server is gone.
pub(super) async fn run(
    mut incoming: mpsc::Receiver<Incoming>,
    outgoing: mpsc::UnboundedSender<Outgoing>,
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
                let replies = state.receive(&line);
                answer(&state, replies, &outgoing);
            }
            Some(Incoming::Message { bytes, http, origin }) => {
                let replies = state.receive_http(&bytes, &http, origin);
                answer(&state, replies, &outgoing);
            }
            Some(Incoming::Undelivered { frame, failure, shown }) => state.undelivered(frame, *failure, shown),
            Some(Incoming::Refused { frame, http, body }) => state.refused_token(frame, &http, &body),
            Some(Incoming::Speaks(transport)) => state.transport = transport,
            Some(Incoming::Lost(failure)) => state.end(End::Lost(failure)),
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

fn answer(state: &State, replies: Vec<(u32, String)>, outgoing: &mpsc::UnboundedSender<Outgoing>) {
    for reply in replies {
        // A server that is gone needs no answer.
        let _ = outgoing.send(state.outgoing(NOBODY, Kind::Response, reply, ("", None)));
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
