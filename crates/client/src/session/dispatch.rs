//! Dispatches the server's messages in order until it ends.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::{Notify, mpsc};
use tokio::time::timeout;

use super::state::{EndReason, OutgoingLine, SessionState};
use crate::transport::{Incoming, MessageRole, Outgoing, Owner};

/// The time between the end of a process's output and the news of its exit.
const EXIT_GRACE: Duration = Duration::from_millis(300);

/// The incoming messages of a server, and whether more can come.
#[derive(Debug)]
pub(crate) struct Intake {
    incoming: mpsc::Receiver<Incoming>,
    output: OutputState,
}

impl Intake {
    pub(crate) fn new(incoming: mpsc::Receiver<Incoming>) -> Self {
        Self { incoming, output: OutputState::Open }
    }

    /// Waits for the next item; `None` where none can come.
    pub(crate) async fn next(&mut self) -> Option<Incoming> {
        match self.output {
            OutputState::Open => self.incoming.recv().await,
            OutputState::Closed => timeout(EXIT_GRACE, self.incoming.recv()).await.ok().flatten(),
        }
    }

    /// The number of items that have arrived and were not taken.
    pub(crate) fn unread(&self) -> usize {
        self.incoming.len()
    }

    /// Returns an event that has arrived already.
    pub(crate) fn ready(&mut self) -> Option<Incoming> {
        self.incoming.try_recv().ok()
    }

    /// Takes in anything but a line of the protocol stream.
    pub(crate) fn take(&mut self, item: Option<Incoming>, state: &mut SessionState) -> Flow {
        match item {
            Some(Incoming::Line(line) | Incoming::TornLine(line)) => state.record_unjudged(&line),
            Some(Incoming::Message { .. }) => {}
            Some(Incoming::Undelivered { frame, failure, shown }) => state.fail_undelivered(frame, *failure, shown),
            Some(Incoming::Refused { frame, http, body }) => state.refused_token(frame, &http, &body),
            Some(Incoming::Speaks(transport)) => state.transport = transport,
            Some(Incoming::Lost(failure)) => state.end_with(EndReason::Lost(failure)),
            Some(Incoming::Stderr(line)) => state.record_stderr(&line),
            Some(Incoming::Closed) => self.output = OutputState::Closed,
            Some(Incoming::EndlessLine) => state.end_with(EndReason::EndlessLine),
            Some(Incoming::Exited(exit)) => {
                state.end_with(EndReason::Exited(exit));
                return Flow::Over;
            }
            None => {
                state.end_with(EndReason::Closed);
                return Flow::Over;
            }
        }
        Flow::On
    }
}

/// Says that more can follow, or that all is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flow {
    On,
    Over,
}

/// Runs until the server is gone, or somebody else wants to listen, who gets what there is to listen to.
pub(crate) async fn dispatch_all(
    mut intake: Intake,
    outgoing: mpsc::UnboundedSender<Outgoing>,
    state: Arc<Mutex<SessionState>>,
    wanted: Arc<Notify>,
) -> Option<Intake> {
    loop {
        let item = tokio::select! {
            biased;
            () = wanted.notified() => return Some(intake),
            item = intake.next() => item,
        };
        let mut state = state.lock();
        match item {
            // Whoever asked the server to end tore the line, not the server.
            Some(Incoming::TornLine(line)) if state.is_end_requested => state.record_unjudged(&line),
            Some(Incoming::Line(line) | Incoming::TornLine(line)) => {
                let replies = state.receive(&line);
                answer(&state, replies, &outgoing);
            }
            Some(Incoming::Message { bytes, http, delivery: origin }) => {
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
            state.end_with(EndReason::Flooded);
            return None;
        }
    }
}

pub(crate) fn answer(state: &SessionState, replies: Vec<(u32, String)>, outgoing: &mpsc::UnboundedSender<Outgoing>) {
    for (frame, line) in replies {
        let role = MessageRole::Response;
        let line = OutgoingLine { owner: &Owner::Session, role, frame, line, method: "", params: None };
        // A server that is gone needs no answer.
        let _ = outgoing.send(state.outgoing_message(line));
    }
}

#[derive(Debug, Clone, Copy)]
enum OutputState {
    Open,
    Closed,
}
