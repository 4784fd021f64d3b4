//! Takes in what the server sends, in order, for as long as it sends.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, mpsc};
use tokio::time::timeout;

use super::failure::End;
use super::handshake::NOBODY;
use super::state::State;
use crate::transport::{Incoming, Kind, Outgoing};

/// How long after the end of its output a process may take to say how it ended.
const AFTER_OUTPUT: Duration = Duration::from_millis(300);

/// What comes from a server, and whether more can come.
#[derive(Debug)]
pub(super) struct Intake {
    incoming: mpsc::Receiver<Incoming>,
    output: Output,
}

impl Intake {
    pub(super) fn new(incoming: mpsc::Receiver<Incoming>) -> Self {
        Self { incoming, output: Output::Open }
    }

    /// What comes next; `None` where nothing does.
    pub(super) async fn next(&mut self) -> Option<Incoming> {
        match self.output {
            Output::Open => self.incoming.recv().await,
            Output::Closed => timeout(AFTER_OUTPUT, self.incoming.recv()).await.ok().flatten(),
        }
    }

    /// What has come already.
    pub(super) fn ready(&mut self) -> Option<Incoming> {
        self.incoming.try_recv().ok()
    }

    /// Takes in anything but a line of the protocol stream.
    pub(super) fn take(&mut self, item: Option<Incoming>, state: &mut State) -> Flow {
        match item {
            Some(Incoming::Line(line) | Incoming::TornLine(line)) => state.record_unjudged(&line),
            Some(Incoming::Message { .. }) => {}
            Some(Incoming::Undelivered { frame, failure, shown }) => state.undelivered(frame, *failure, shown),
            Some(Incoming::Refused { frame, http, body }) => state.refused_token(frame, &http, &body),
            Some(Incoming::Speaks(transport)) => state.transport = transport,
            Some(Incoming::Lost(failure)) => state.end(End::Lost(failure)),
            Some(Incoming::Stderr(line)) => state.record_stderr(&line),
            Some(Incoming::Closed) => self.output = Output::Closed,
            Some(Incoming::EndlessLine) => state.end(End::EndlessLine),
            Some(Incoming::Exited(exit)) => {
                state.end(End::Exited(exit));
                return Flow::Over;
            }
            None => {
                state.end(End::Closed);
                return Flow::Over;
            }
        }
        Flow::On
    }
}

/// Whether anything can follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Flow {
    On,
    Over,
}

/// Runs until the server is gone, or somebody else wants to listen, who gets what there is to listen to.
pub(super) async fn run(
    mut intake: Intake,
    outgoing: mpsc::UnboundedSender<Outgoing>,
    (state, wanted): (Arc<Mutex<State>>, Arc<Notify>),
) -> Option<Intake> {
    loop {
        let item = tokio::select! {
            biased;
            () = wanted.notified() => return Some(intake),
            item = intake.next() => item,
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
            item => {
                if intake.take(item, &mut state) == Flow::Over {
                    return None;
                }
            }
        }
        if state.flood().is_some() {
            state.end(End::Flooded);
            return None;
        }
    }
}

pub(super) fn answer(state: &State, replies: Vec<(u32, String)>, outgoing: &mpsc::UnboundedSender<Outgoing>) {
    for reply in replies {
        // A server that is gone needs no answer.
        let _ = outgoing.send(state.outgoing(NOBODY, Kind::Response, reply, ("", None)));
    }
}

#[derive(Debug, Clone, Copy)]
enum Output {
    Open,
    Closed,
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}
