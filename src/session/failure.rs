//! Why a conversation could not begin, or a request got no answer: the class, the sentence, the evidence.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use super::state::State;
use crate::event::{FailureClass, Finding};
use crate::source::{duration_text, visible_line};
use crate::transport::{ConnectError, Exit, HttpFailure, Link};
use crate::wire::{Beyond, Revision};

/// How many lines of standard error are shown.
pub(super) const STDERR_LINES: usize = 12;

/// The code of a finding that says nothing of the server: nobody gave a token for it.
pub const NO_TOKEN: &str = "no-token";

/// The evidence of a server's end that names whoever spoke last.
pub const LAST_CASE: &str = "last case";

/// The evidence that names the cases whose requests were under way when a server ended.
pub const CASES: &str = "cases";

/// Makes a connection to a fresh server.
pub type Connector<'a> =
    dyn Fn() -> Pin<Box<dyn Future<Output = Result<Link, ConnectError>> + Send + 'a>> + Send + Sync + 'a;

/// Why a server cannot answer any more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum End {
    /// The process ended.
    Exited(Exit),
    /// It closed its output and runs on.
    Closed,
    /// It wrote a line that has no end.
    EndlessLine,
    /// It wrote more than anybody can look at.
    Flooded,
    /// The conversation over HTTP is over.
    Lost(HttpFailure),
}

/// How and when a server ended a conversation by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ending {
    /// How its process ended; `None` where it only fell silent, or cannot be seen.
    pub exit: Option<Exit>,
    /// Counted from the beginning of the conversation.
    pub at: Duration,
}

/// What went wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Failure {
    /// No answer within the time that was allowed.
    Timeout(Duration),
    /// The process ended.
    Exited(Exit),
    /// What came is not the protocol; the sentence says what.
    Protocol(String),
    /// It came, and is not read.
    NotRead(Beyond),
    /// A raw message was refused as a whole, with this answer that has no id.
    RefusedWhole(Arc<Value>),
    /// The exchange over HTTP went wrong.
    Http(HttpFailure),
}

/// A request that got no usable answer.
#[derive(Debug, Clone)]
pub struct CallFailure {
    /// What went wrong.
    pub failure: Failure,
    /// The method.
    pub method: String,
    /// The frame of the request.
    pub frame: Option<u32>,
    /// The last lines of standard error.
    pub stderr: Vec<String>,
    /// What came instead of an answer.
    pub stray: Vec<String>,
    /// Whether the server was still there.
    pub alive: bool,
    /// Whether it is a process of this program's own, or inside it.
    pub is_local: bool,
}

impl CallFailure {
    /// The failure as a finding.
    pub fn finding(&self) -> Finding {
        let method = &self.method;
        let finding = match &self.failure {
            Failure::Timeout(after) => {
                let message = format!("`{method}` got no answer within {}", duration_text(*after));
                let alive = match (self.alive, self.is_local) {
                    (false, _) => "gone",
                    (true, true) => "still running",
                    // Nobody can see from here whether a process runs behind an address.
                    (true, false) => "",
                };
                Finding::failure(FailureClass::Timeout, message).with_evidence("server", alive)
            }
            Failure::Exited(exit) => {
                let message = format!("the server ended {}", moment(method));
                Finding::failure(FailureClass::ProcessExited, message).with_evidence("exit", exit.to_string())
            }
            Failure::Protocol(reason) => Finding::failure(FailureClass::ProtocolError, reason.clone()),
            Failure::NotRead(beyond) => Finding::new(beyond.code(), format!("the answer to `{method}` {beyond}")),
            Failure::RefusedWhole(answer) => {
                let error = &answer["error"];
                let words: String = error["message"].as_str().unwrap_or_default().chars().take(200).collect();
                let message = format!(
                    "the whole message was refused with the error {} \"{}\", which has no id",
                    error["code"],
                    visible_line(&words)
                );
                Finding::failure(FailureClass::ProtocolError, message)
            }
            Failure::Http(failure) => http_finding(failure, method),
        };
        let finding = Finding { frame: self.frame, ..finding };
        with_output(finding, &self.stderr, &self.stray)
    }
}

/// An exchange over HTTP that went wrong, as a finding about the request of that name.
pub fn http_finding(failure: &HttpFailure, method: &str) -> Finding {
    let class = match failure {
        HttpFailure::ConnectionRefused { .. } | HttpFailure::Dns { .. } | HttpFailure::Unreachable { .. } => {
            FailureClass::ConnectionRefused
        }
        HttpFailure::Reset(_) => FailureClass::ConnectionLost,
        HttpFailure::Tls(_) => FailureClass::TlsError,
        HttpFailure::Status(_) | HttpFailure::SessionLost(_) | HttpFailure::Redirect(_) => FailureClass::HttpStatus,
        HttpFailure::AuthRequired(_) | HttpFailure::TokenRefused(_) | HttpFailure::NoToken(_) => {
            FailureClass::AuthRequired
        }
        HttpFailure::ContentType { .. }
        | HttpFailure::NotJson { .. }
        | HttpFailure::NotAMessage { .. }
        | HttpFailure::Encoded(_)
        | HttpFailure::TooLarge(_)
        | HttpFailure::StreamEnded { .. }
        | HttpFailure::NotHttp(_)
        | HttpFailure::Endpoint(_) => FailureClass::ProtocolError,
    };
    let mut finding = Finding::failure(class, failure.message(method));
    if let HttpFailure::NoToken(_) = failure {
        NO_TOKEN.clone_into(&mut finding.code);
    }
    let finding =
        failure.evidence().into_iter().fold(finding, |finding, (name, text)| finding.with_evidence(name, text));
    Finding { help: failure.help().map(str::to_owned), ..finding }
}

/// When something happened, seen from the message of that name.
fn moment(method: &str) -> String {
    match method {
        "notifications/cancelled" => "after a request was cancelled".to_owned(),
        _ => format!("before it answered `{method}`"),
    }
}

fn with_output(finding: Finding, stderr: &[String], stray: &[String]) -> Finding {
    finding.with_evidence("stray output", stray.join("\n")).with_evidence("stderr", stderr.join("\n"))
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
        /// What the server answered.
        message: String,
        /// The last lines of standard error.
        stderr: Vec<String>,
    },
    /// The server does not speak the revision that was asked for.
    NotSpoken {
        /// What was asked for.
        asked: Revision,
        /// What it speaks instead, in its own words.
        speaks: String,
    },
}

impl OpenFailure {
    /// The failure as a finding.
    pub fn finding(&self) -> Finding {
        match self {
            Self::Connect(error @ ConnectError::NotFound { help, .. }) => Finding {
                help: Some(help.clone()),
                ..Finding::failure(FailureClass::CommandNotFound, error.to_string())
            },
            Self::Connect(error @ ConnectError::NotStarted { .. }) => {
                Finding::failure(FailureClass::CommandNotFound, error.to_string())
            }
            Self::Connect(error @ ConnectError::BadAddress { .. }) => Finding::new("bad-address", error.to_string()),
            Self::Connect(error @ ConnectError::PortTaken { .. }) => Finding {
                help: Some(
                    "end what listens there, or let mcprove choose: `url: \"http://127.0.0.1:{{ port }}/mcp\"`"
                        .to_owned(),
                ),
                ..Finding::new("port-taken", error.to_string())
            },
            Self::Connect(error @ ConnectError::NotListening { log, .. }) => {
                with_output(Finding::failure(FailureClass::Timeout, error.to_string()), log, &[])
            }
            Self::Handshake(failure) => {
                let finding = failure.finding();
                let message = match &failure.failure {
                    Failure::Exited(exit) => format!("the server ended while it was starting, with {exit}"),
                    Failure::Timeout(after) => {
                        format!("the server did not get ready within {} (`start_timeout`)", duration_text(*after))
                    }
                    Failure::Protocol(reason) => format!("the handshake failed: {reason}"),
                    Failure::NotRead(_) | Failure::RefusedWhole(_) | Failure::Http(_) => finding.message.clone(),
                };
                Finding { message, ..finding }
            }
            Self::Refused { message, stderr } => {
                with_output(Finding::failure(FailureClass::ProtocolError, message.clone()), stderr, &[])
            }
            Self::NotSpoken { asked, speaks } => {
                Finding::failure(FailureClass::ProtocolError, format!("the server speaks {speaks}, not {asked}"))
            }
        }
    }
}

impl State {
    /// How the server ended the conversation, as far as it did.
    pub(super) fn ending(&self) -> Option<Ending> {
        let exit = match self.ended.as_ref()? {
            End::Exited(exit) => Some(*exit),
            End::Closed | End::EndlessLine | End::Flooded | End::Lost(_) => None,
        };
        Some(Ending { exit, at: self.ended_at })
    }

    /// The end of the server's process as a finding, unless a request has told of it.
    pub(super) fn untold_end(&self) -> Option<Finding> {
        let exit = self.ending()?.exit.filter(|_| !self.is_end_told)?;
        let (message, whose, cases) = if self.company.is_empty() {
            let message = "the server ended by itself after its last answer; nobody asked it to";
            (message, LAST_CASE, self.last_owner().unwrap_or_default())
        } else {
            let message = "the server ended while requests of several cases were under way";
            (message, CASES, self.company.iter().cloned().collect::<Vec<_>>().join("\n"))
        };
        let found = Finding::failure(FailureClass::ProcessExited, message.to_owned())
            .with_evidence("exit", exit.to_string())
            .with_evidence(whose, cases);
        Some(with_output(found, &self.transcript.stderr_tail(STDERR_LINES), &[]))
    }

    pub(super) fn failure(&self, failure: Failure, frame: Option<u32>) -> CallFailure {
        CallFailure {
            failure,
            method: String::new(),
            frame,
            stderr: self.transcript.stderr_tail(STDERR_LINES),
            stray: self.stray_output(),
            alive: self.ended.is_none(),
            is_local: !self.is_http(),
        }
    }

    pub(super) fn timed_out(&self, method: &str, frame: u32, after: Duration) -> CallFailure {
        CallFailure { method: method.to_owned(), ..self.failure(Failure::Timeout(after), Some(frame)) }
    }

    pub(super) fn ended_failure(&mut self, method: &str, frame: u32) -> CallFailure {
        self.is_end_told = true;
        let failure = match &self.ended {
            Some(End::Exited(exit)) => Failure::Exited(*exit),
            Some(End::Lost(failure)) => Failure::Http(failure.clone()),
            Some(End::EndlessLine) => Failure::Protocol("the server wrote a line of more than 64 MiB".to_owned()),
            Some(End::Flooded) => Failure::Protocol(self.flood().unwrap_or_default()),
            Some(End::Closed) | None => {
                Failure::Protocol(format!("the server closed its output {}, and runs on", moment(method)))
            }
        };
        CallFailure { method: method.to_owned(), ..self.failure(failure, Some(frame)) }
    }
}
