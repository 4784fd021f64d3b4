//! Ways for lines to reach a server and to come back.
//!
//! A [`Link`] is one connection: lines go in, [`Incoming`] comes out, in order, as bytes and without judgement.
//! [`stdio`] starts a process, [`memory`] joins two halves of a stream; neither knows JSON.
//! Start reading in [`Link`].

mod lines;
pub mod memory;
mod process;
pub mod stdio;

use tokio::sync::{mpsc, oneshot};

/// One connection to a server.
#[derive(Debug)]
pub struct Link {
    /// Lines to the server, without their line break; closing it closes the server's input.
    pub outgoing: mpsc::UnboundedSender<Vec<u8>>,
    /// What comes back.
    pub incoming: mpsc::Receiver<Incoming>,
    /// The way to end it.
    pub stop: Stopper,
    /// `stdio` or `memory`.
    pub transport: &'static str,
}

/// What comes from a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Incoming {
    /// A line of the protocol stream without its line break.
    Line(Vec<u8>),
    /// The end of the protocol stream in the middle of a line.
    TornLine(Vec<u8>),
    /// A line longer than any message may be; reading stopped there.
    EndlessLine,
    /// A line of standard error.
    Stderr(Vec<u8>),
    /// The protocol stream ended.
    Closed,
    /// The server ended; nothing follows.
    Exited(Exit),
}

/// How a server ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// With a status.
    Status(i32),
    /// By a signal.
    Signal(i32),
    /// In a way that the system does not tell.
    Unknown,
    /// A server in this process returned.
    Returned,
    /// A server in this process panicked.
    Panicked,
}

impl std::fmt::Display for Exit {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Status(status) => write!(formatter, "exit status {status}"),
            Self::Signal(signal) => match signal_name(*signal) {
                Some(name) => write!(formatter, "signal {signal} ({name})"),
                None => write!(formatter, "signal {signal}"),
            },
            Self::Unknown => formatter.write_str("an unknown status"),
            Self::Returned => formatter.write_str("the end of its task"),
            Self::Panicked => formatter.write_str("a panic"),
        }
    }
}

fn signal_name(signal: i32) -> Option<&'static str> {
    Some(match signal {
        1 => "SIGHUP",
        2 => "SIGINT",
        3 => "SIGQUIT",
        4 => "SIGILL",
        6 => "SIGABRT",
        8 => "SIGFPE",
        9 => "SIGKILL",
        11 => "SIGSEGV",
        13 => "SIGPIPE",
        15 => "SIGTERM",
        _ => return None,
    })
}

/// Why a connection could not be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConnectError {
    /// There is no such program.
    #[error("there is no program `{program}`")]
    NotFound {
        /// The program as it was looked for.
        program: String,
        /// What to do.
        help: String,
    },
    /// The program is there and cannot be started.
    #[error("`{program}` cannot be started: {reason}")]
    NotStarted {
        /// The program.
        program: String,
        /// The system's reason.
        reason: String,
    },
}

/// Ends a connection; dropping it ends the connection by force.
#[derive(Debug)]
pub struct Stopper(Option<oneshot::Sender<oneshot::Sender<()>>>);

impl Stopper {
    fn new() -> (Self, oneshot::Receiver<oneshot::Sender<()>>) {
        let (sender, receiver) = oneshot::channel();
        (Self(Some(sender)), receiver)
    }

    /// Asks the server to end, makes it end if it does not, and returns when nothing of it is left.
    pub async fn stop(mut self) {
        let Some(ask) = self.0.take() else { return };
        let (done, gone) = oneshot::channel();
        if ask.send(done).is_ok() {
            // An error means that the server was gone already.
            let _ = gone.await;
        }
    }
}
