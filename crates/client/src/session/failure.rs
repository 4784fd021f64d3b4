//! Why a conversation could not begin, or a request got no answer: the class, the sentence, the evidence.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use super::state::{EndReason, RequestOutcome, SessionState};
use crate::source::{duration_text, shorten, visible_line};
use crate::transport::{ConnectError, HttpFailure, Link, Owner, ServerExit};
use crate::wire::{ProtocolViolation, ReadLimit, Revision, surroundings_lack};

/// The number of lines of standard error that are shown.
pub(crate) const STDERR_LINES: usize = 12;

/// Makes a connection to a fresh server.
pub type Connector<'a> =
    dyn Fn() -> Pin<Box<dyn Future<Output = Result<Link, ConnectError>> + Send + 'a>> + Send + Sync + 'a;

/// The end of a conversation by the server itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionEnd {
    /// The exit of its process; `None` where it only fell silent, or cannot be seen.
    pub exit: Option<ServerExit>,
    /// Counted from the beginning of the conversation.
    pub at: Duration,
}

/// The reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FailureReason {
    /// No answer within the time that was allowed.
    Timeout(Duration),
    /// The process ended.
    Exited(ServerExit),
    /// The output broke the protocol; holds a sentence.
    Protocol(String),
    /// It came, and is not read.
    NotRead(ReadLimit),
    /// A raw message was refused as a whole, with this answer that has no id.
    RefusedWhole(Arc<Value>),
    /// The exchange over HTTP went wrong.
    Http(HttpFailure),
}

/// A request that got no usable answer.
#[derive(Debug, Clone)]
pub struct CallFailure {
    /// The reason.
    pub reason: FailureReason,
    /// The method.
    pub method: String,
    /// The frame of the request.
    pub frame: Option<u32>,
    /// The broken rule of the message that came instead of an answer.
    pub violation: Option<Box<ProtocolViolation>>,
    /// The last lines of standard error.
    pub stderr: Vec<String>,
    /// Stray output that came instead of an answer.
    pub stray: Vec<String>,
    /// The server was still there.
    pub alive: bool,
    /// It is a process of this program's own, or inside it.
    pub is_local: bool,
    /// What its surroundings lack, by what it wrote to standard error while a request waited in vain.
    pub lack: Option<String>,
}

impl CallFailure {
    /// Returns true if no answer came in time.
    pub fn is_timeout(&self) -> bool {
        matches!(self.reason, FailureReason::Timeout(_))
    }
}

impl fmt::Display for CallFailure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let method = &self.method;
        match &self.reason {
            FailureReason::Timeout(after) => {
                write!(formatter, "`{method}` got no answer within {}", duration_text(*after))
            }
            FailureReason::Exited(_) => write!(formatter, "the server ended {}", moment(method)),
            FailureReason::Protocol(reason) => formatter.write_str(reason),
            FailureReason::NotRead(beyond) => write!(formatter, "the answer to `{method}` {beyond}"),
            FailureReason::RefusedWhole(answer) => {
                let error = &answer["error"];
                let words = shorten(error["message"].as_str().unwrap_or_default(), 200);
                write!(
                    formatter,
                    "the server refused the whole message with error {} \"{}\", without an id",
                    error["code"],
                    visible_line(&words)
                )
            }
            FailureReason::Http(failure) => formatter.write_str(&failure.message(method)),
        }
    }
}

/// When something happened, seen from the message of that name.
fn moment(method: &str) -> String {
    match method {
        "notifications/cancelled" => "after a request was cancelled".to_owned(),
        _ => format!("before it answered `{method}`"),
    }
}

/// A conversation that did not begin.
#[derive(Debug, Clone)]
pub enum OpenFailure {
    /// No connection.
    Connect(ConnectError),
    /// No handshake within the time for a start.
    Handshake(CallFailure),
    /// The server answered the handshake, and the answer is wrong.
    Refused {
        /// The refusal, as a sentence.
        message: String,
        /// The last lines of standard error.
        stderr: Vec<String>,
    },
    /// The server does not speak the revision that was asked for.
    NotSpoken {
        /// The requested revision.
        asked: Revision,
        /// The revisions that the server offers instead.
        speaks: String,
    },
}

impl fmt::Display for OpenFailure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Connect(error) => write!(formatter, "{error}"),
            Self::Handshake(failure) => match &failure.reason {
                FailureReason::Exited(exit) => write!(formatter, "the server ended while it was starting, with {exit}"),
                FailureReason::Timeout(after) => {
                    write!(formatter, "the server did not get ready within {}", duration_text(*after))
                }
                FailureReason::Protocol(reason) => write!(formatter, "the handshake failed: {reason}"),
                FailureReason::NotRead(_) | FailureReason::RefusedWhole(_) | FailureReason::Http(_) => {
                    write!(formatter, "{failure}")
                }
            },
            Self::Refused { message, .. } => formatter.write_str(message),
            Self::NotSpoken { asked, speaks } => write!(formatter, "the server speaks {speaks}, not {asked}"),
        }
    }
}

/// The end of a server's process that no failed request reported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnreportedExit {
    /// The exit of the process.
    pub exit: ServerExit,
    /// The owners of the requests that were pending; empty where none was.
    pub pending: Vec<Owner>,
    /// The case of the last message, where no request was pending.
    pub last_case: Option<String>,
    /// The last lines of standard error.
    pub stderr: Vec<String>,
}

impl fmt::Display for UnreportedExit {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(if self.pending.is_empty() {
            "the server ended by itself after its last answer"
        } else {
            "the server ended while requests of several cases were pending"
        })
    }
}

impl SessionState {
    /// The end of the conversation by the server, where there was one.
    pub(crate) fn ending(&self) -> Option<SessionEnd> {
        let exit = match self.ended.as_ref()? {
            EndReason::Exited(exit) => Some(*exit),
            EndReason::Closed | EndReason::EndlessLine | EndReason::Flooded | EndReason::Lost(_) => None,
        };
        Some(SessionEnd { exit, at: self.ended_at })
    }

    /// The end of the server's process, unless a failed request reported it.
    pub(crate) fn unreported_exit(&self) -> Option<UnreportedExit> {
        let exit = self.ending()?.exit.filter(|_| !self.is_exit_reported)?;
        let pending: Vec<Owner> = self.pending_at_exit.iter().cloned().collect();
        let last_case = if pending.is_empty() { self.last_case() } else { None };
        Some(UnreportedExit { exit, pending, last_case, stderr: self.transcript.stderr_tail(STDERR_LINES) })
    }

    pub(crate) fn failure(&self, reason: FailureReason, method: &str, frame: Option<u32>) -> CallFailure {
        CallFailure {
            reason,
            method: method.to_owned(),
            frame,
            violation: None,
            stderr: self.transcript.stderr_tail(STDERR_LINES),
            stray: self.stray_output(),
            alive: self.ended.is_none(),
            is_local: !self.is_http(),
            lack: None,
        }
    }

    pub(crate) fn timed_out(&self, method: &str, frame: u32, after: Duration) -> CallFailure {
        let lack = self.transcript.stderr_after(frame).find_map(|line| surroundings_lack(&line));
        CallFailure { lack, ..self.failure(FailureReason::Timeout(after), method, Some(frame)) }
    }

    /// The failure of a request for which no usable answer arrived.
    pub(crate) fn failure_of(&self, arrived: RequestOutcome, method: &str, frame: u32) -> CallFailure {
        let violation = match &arrived {
            RequestOutcome::Garbled(Some(violation)) => Some(Box::new(violation.clone())),
            RequestOutcome::Garbled(None)
            | RequestOutcome::Answer { .. }
            | RequestOutcome::Beyond(_)
            | RequestOutcome::Failed(_) => None,
        };
        let reason = match arrived {
            RequestOutcome::Failed(failure) => FailureReason::Http(failure),
            RequestOutcome::Beyond(beyond) => FailureReason::NotRead(beyond),
            RequestOutcome::Garbled(violation) => {
                FailureReason::Protocol(violation.map(|violation| violation.message).unwrap_or_default())
            }
            RequestOutcome::Answer { .. } => FailureReason::Protocol(String::new()),
        };
        CallFailure { violation, ..self.failure(reason, method, Some(frame)) }
    }

    pub(crate) fn ended_failure(&mut self, method: &str, frame: u32) -> CallFailure {
        self.is_exit_reported = true;
        let reason = match &self.ended {
            Some(EndReason::Exited(exit)) => FailureReason::Exited(*exit),
            Some(EndReason::Lost(failure)) => FailureReason::Http(failure.clone()),
            Some(EndReason::EndlessLine) => FailureReason::NotRead(ReadLimit::Length),
            Some(EndReason::Flooded) => FailureReason::Protocol(self.flood().unwrap_or_default()),
            Some(EndReason::Closed) | None => FailureReason::Protocol(format!(
                "the server closed its output {}, but is still running",
                moment(method)
            )),
        };
        self.failure(reason, method, Some(frame))
    }
}
