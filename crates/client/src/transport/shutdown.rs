//! The end of a connection, and of the server's process where there is one: what it is asked with, and what it took.

use std::time::Duration;

use tokio::sync::oneshot;

use super::process_tree::HAS_SIGTERM;

/// The way in which a process is asked to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ShutdownOrder {
    /// The first signal.
    pub first: FirstSignal,
    /// The time for the process to exit after that, and then for its children.
    pub grace: Duration,
}

/// The first signal to a process that it is to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FirstSignal {
    /// The end of its input (2025-11-25, lifecycle, shutdown; 2026-07-28, transports, stdio).
    EndOfInput,
    /// SIGTERM, while its input is open.
    Sigterm,
}

impl FirstSignal {
    /// The system can give it.
    pub const fn exists(self) -> bool {
        match self {
            Self::EndOfInput => true,
            Self::Sigterm => HAS_SIGTERM,
        }
    }
}

/// The end of a process of ours.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shutdown {
    /// The step that ended it.
    pub by: ShutdownStep,
    /// From the first signal to its exit.
    pub took: Duration,
    /// The names of the processes of its group that still ran after its exit and the time for them; on Linux only.
    pub left: Vec<String>,
}

/// A step that ends a process, the gentlest first. Windows knows no SIGTERM.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ShutdownStep {
    /// The end of its input.
    EndOfInput,
    /// SIGTERM.
    Sigterm,
    /// SIGKILL, or what is like it elsewhere.
    Sigkill,
}

impl ShutdownStep {
    /// What ended the process, as the subject of a sentence.
    pub const fn subject(self) -> &'static str {
        match self {
            Self::EndOfInput => "the end of its input",
            Self::Sigterm => "SIGTERM",
            Self::Sigkill if HAS_SIGTERM => "SIGKILL",
            Self::Sigkill => "a kill",
        }
    }
}

/// The wish that a server ends.
#[derive(Debug)]
pub(crate) struct StopRequest {
    /// The way to end the process; the usual one without it.
    pub order: Option<ShutdownOrder>,
    /// Used or dropped when nothing of the server is left.
    pub done: oneshot::Sender<Shutdown>,
}

/// Ends a connection; dropping it ends the connection by force.
#[derive(Debug)]
pub struct Stopper(Option<oneshot::Sender<StopRequest>>);

impl Stopper {
    pub(crate) fn new() -> (Self, oneshot::Receiver<StopRequest>) {
        let (sender, receiver) = oneshot::channel();
        (Self(Some(sender)), receiver)
    }

    /// Asks the server to end, makes it end if it does not, and returns when nothing of it is left; `None` where no process
    /// of ours ended.
    pub async fn stop(self) -> Option<Shutdown> {
        self.request(None).await
    }

    /// The same in that way; `None` where no process of ours ended.
    pub async fn shut_down(self, order: ShutdownOrder) -> Option<Shutdown> {
        self.request(Some(order)).await
    }

    /// Passes on what was asked of another one; an error is that nobody can ask it any more, which kills.
    pub(crate) fn forward(mut self, request: Result<StopRequest, oneshot::error::RecvError>) {
        if let (Ok(request), Some(asked)) = (request, self.0.take()) {
            // A server that is gone already has nothing to end.
            let _ = asked.send(request);
        }
    }

    async fn request(mut self, order: Option<ShutdownOrder>) -> Option<Shutdown> {
        let asked = self.0.take()?;
        let (done, gone) = oneshot::channel();
        // An error means that the server was gone already, or is no process.
        asked.send(StopRequest { order, done }).ok()?;
        gone.await.ok()
    }
}
