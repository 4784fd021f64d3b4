//! Ways for messages to reach a server and to come back.
//!
//! A [`Link`] is one connection: messages go in, [`Incoming`] comes out, in order, as bytes and without judgement.
//! [`stdio`] starts a process, [`memory`] joins two halves of a stream, [`http`] posts, [`replay`] plays a recording,
//! [`relay`] stands between; none keeps a conversation.
//! Start reading in [`Link`].

mod disruption;
pub mod environment;
pub mod http;
pub(crate) mod large;
mod lines;
pub mod memory;
pub mod orphans;
mod owner;
mod pieces;
mod process;
pub mod process_tree;
mod processes;
pub mod program;
pub mod relay;
pub mod replay;
mod schedule;
mod shutdown;
pub mod stdio;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc;

pub use self::disruption::Disruption;
pub use self::http::{ConnectionBreak, HttpFailure, HttpRefusal, NoToken, excerpt};
pub use self::owner::Owner;
pub use self::pieces::{Bandwidth, Transfer, time_of_pauses};
pub use self::processes::{ProcessUsage, ServerProcesses};
pub use self::schedule::Scheduled;
use self::shutdown::StopRequest;
pub use self::shutdown::{FirstSignal, Shutdown, ShutdownOrder, ShutdownStep, Stopper};
use crate::source::duration_text;
use crate::wire::{Era, HttpHead};

/// One connection to a server.
#[derive(Debug)]
pub struct Link {
    /// Messages to the server; closing it closes the server's input.
    pub outgoing: mpsc::UnboundedSender<Outgoing>,
    /// Output of the server.
    pub incoming: mpsc::Receiver<Incoming>,
    /// The way to end it.
    pub stop: Stopper,
    /// The transport.
    pub transport: TransportKind,
    /// The server's endpoint, over HTTP.
    pub endpoint: Option<http::Endpoint>,
    /// The processes of the server, where this program started it.
    pub processes: Option<ServerProcesses>,
}

/// The transports to a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TransportKind {
    /// A stream inside this process.
    #[default]
    Memory,
    /// Standard input and output of a process.
    Stdio,
    /// Streamable HTTP.
    Http,
    /// HTTP with server-sent events, as of revision 2024-11-05.
    Sse,
}

impl TransportKind {
    /// The word in recordings and reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Stdio => "stdio",
            Self::Http => "http",
            Self::Sse => "sse",
        }
    }

    /// The transport of that name.
    pub fn parse(word: &str) -> Option<Self> {
        [Self::Memory, Self::Stdio, Self::Http, Self::Sse].into_iter().find(|kind| kind.as_str() == word)
    }

    /// Messages travel over HTTP.
    pub fn is_over_http(self) -> bool {
        matches!(self, Self::Http | Self::Sse)
    }
}

/// Input of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outgoing {
    /// A message.
    Message(OutgoingMessage),
    /// Bytes as they are.
    Raw {
        /// The bytes, in separate writes.
        pieces: Vec<Vec<u8>>,
        /// To whom they belong.
        owner: Owner,
    },
    /// Nothing more: ends the server's input, where it has one of its own.
    End,
    /// Something that is no message.
    Disruption(Disruption),
    /// The request of that frame was given up; its answer is not awaited.
    Abandon {
        /// The frame.
        frame: u32,
    },
}

/// A message on its way to a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutgoingMessage {
    /// The message, without a line break.
    pub bytes: Vec<u8>,
    /// To whom it belongs; answers to the server are the session's.
    pub owner: Owner,
    /// Its frame.
    pub frame: u32,
    /// Headers that the era demands where there are headers.
    pub headers: Vec<(String, String)>,
    /// Its role in the conversation.
    pub role: MessageRole,
    /// The era in which it speaks.
    pub era: Era,
    /// The form in which its bytes leave.
    pub form: MessageForm,
}

/// The form in which the bytes of a message leave.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MessageForm {
    /// All at once.
    #[default]
    Whole,
    /// In three pieces, with pauses between them.
    Pieces,
    /// One part after the other, the last one after this time.
    Slow(Duration),
    /// As the beginning of a message whose rest never comes: then the connection ends.
    Torn,
    /// All at once, and the response is given up soon, over HTTP.
    GivenUp,
}

/// The role of a message in a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MessageRole {
    /// `initialize`: its answer opens a session.
    Handshake,
    /// The end of the handshake.
    Initialized,
    /// Another request.
    Request,
    /// Another notification.
    Notification,
    /// An answer to the server.
    Response,
}

/// The stream of HTTP that carried a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HttpDelivery {
    /// It is the whole body of the response to the POST of that frame.
    Body(u32),
    /// It is an event in the response to the POST of that frame.
    Event(u32),
    /// It came on a stream that answers nothing.
    Stream,
}

/// Output of a server.
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
    /// A message over HTTP.
    Message {
        /// The message.
        bytes: Vec<u8>,
        /// The head of the response that carried it.
        http: Arc<HttpHead>,
        /// The stream that carried it.
        delivery: HttpDelivery,
    },
    /// A message went, or did not even go, and nothing can answer it any more.
    Undelivered {
        /// Its frame.
        frame: u32,
        /// Why.
        failure: Box<HttpFailure>,
        /// The response that shows it.
        shown: Option<(Arc<HttpHead>, Vec<u8>)>,
    },
    /// A message was refused for want of a token, and goes again with another one.
    Refused {
        /// Its frame; `None` for what is no message.
        frame: Option<u32>,
        /// The head of the refusal.
        http: Arc<HttpHead>,
        /// Its body.
        body: Vec<u8>,
    },
    /// The server knows another transport only.
    Speaks(TransportKind),
    /// The connection as a whole is of no use any more.
    Lost(HttpFailure),
    /// The server ended; nothing follows.
    Exited(ServerExit),
}

/// The exit of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServerExit {
    /// With a status.
    Status(i32),
    /// By a signal.
    Signal(i32),
    /// In a way that the system does not tell.
    Unknown,
    /// A server that was not started here: nothing listens at its address any more.
    NotListening,
    /// A server in this process returned.
    Returned,
    /// A server in this process panicked.
    Panicked,
}

impl std::fmt::Display for ServerExit {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            // Windows has no signals: what ends a program by force shows as such a number, which is written so there.
            Self::Status(status) if *status < 0 => match fault_name(*status) {
                Some(name) => write!(formatter, "exit status {status:#010X} ({name})"),
                None => write!(formatter, "exit status {status:#010X}"),
            },
            Self::Status(status) => write!(formatter, "exit status {status}"),
            Self::Signal(signal) => match signal_name(*signal) {
                Some(name) => write!(formatter, "signal {signal} ({name})"),
                None => write!(formatter, "signal {signal}"),
            },
            Self::Unknown => formatter.write_str("an unknown status"),
            Self::NotListening => formatter.write_str("nothing listens at its address any more"),
            Self::Returned => formatter.write_str("the end of its task"),
            Self::Panicked => formatter.write_str("a panic"),
        }
    }
}

/// What Windows means by a status (`ntstatus.h`).
fn fault_name(status: i32) -> Option<&'static str> {
    Some(match status.cast_unsigned() {
        0xC000_0005 => "access violation",
        0xC000_001D => "illegal instruction",
        0xC000_0094 => "division by zero",
        0xC000_00FD => "stack overflow",
        0xC000_0135 => "a library was not found",
        0xC000_013A => "Ctrl-C",
        0xC000_0374 => "heap corruption",
        0xC000_0409 => "stack buffer overrun or abort",
        _ => return None,
    })
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
    #[error("the program `{program}` was not found")]
    NotFound {
        /// The program as it was asked for.
        program: String,
        /// The path at which it was looked for; `None` where the folders of `PATH` were searched.
        path: Option<PathBuf>,
    },
    /// The address or what is sent with every request cannot be used.
    #[error("{reason}")]
    BadAddress {
        /// Why, as a sentence.
        reason: String,
    },
    /// The trusted authorities are empty.
    #[error("the trusted certificates contain no PEM certificate")]
    NoCertificate,
    /// Something listens at the address of a server that is yet to be started.
    #[error("`{address}` is already in use, so the server's `command` was not started")]
    PortTaken {
        /// Host and port.
        address: String,
    },
    /// The server was started, and nothing listens where it should.
    #[error("the server did not listen at `{address}` within {}", duration_text(*.within))]
    NotListening {
        /// Host and port.
        address: String,
        /// The time that it had.
        within: Duration,
        /// The last lines of its log.
        log: Vec<String>,
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

#[cfg(test)]
mod tests {
    use super::ServerExit;

    #[test]
    fn an_exit_is_told_as_the_system_means_it() {
        for (exit, expected) in [
            (ServerExit::Status(3), "exit status 3"),
            (ServerExit::Status(-1_073_741_819), "exit status 0xC0000005 (access violation)"),
            (ServerExit::Status(-1), "exit status 0xFFFFFFFF"),
            (ServerExit::Signal(9), "signal 9 (SIGKILL)"),
        ] {
            assert_eq!(exit.to_string(), expected);
        }
    }
}
