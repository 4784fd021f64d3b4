//! A session as a timeline shows it: what travelled when, without the messages themselves.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::transport::TransportKind;

/// What travelled in a session that is over; only where somebody writes it down.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SessionTraced {
    /// The suite's file.
    pub file: String,
    /// The server's name in the suite.
    pub server: String,
    /// The revision that was spoken.
    pub revision: String,
    /// The transport of messages.
    pub transport: TransportKind,
    /// The case for which the session was opened; nothing for one that cases share.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub case: Option<String>,
    /// From the beginning of the run to that of the session, in microseconds.
    pub began_us: u64,
    /// In microseconds.
    pub lasted_us: u64,
    /// The end that the server itself made of the conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<ServerEnded>,
    /// What travelled, in the order in which it began.
    pub spans: Vec<Span>,
    /// The number of further messages that are not listed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub left_out: usize,
}

/// The server ended a conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ServerEnded {
    /// Since the session began, in microseconds.
    pub at_us: u64,
    /// The exit of its process; nothing where it only fell silent, or cannot be seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit: Option<String>,
}

/// Something that travelled: a request from its sending to its answer, or a single message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Span {
    /// Its kind.
    pub kind: SpanKind,
    /// The method, with the tool, resource or prompt.
    pub title: String,
    /// The case that it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub case: Option<String>,
    /// The number of its frame in the session.
    pub frame: u32,
    /// Since the session began, in microseconds.
    pub at_us: u64,
    /// From request to answer, in microseconds; nothing where none came, and for single messages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub took_us: Option<u64>,
}

/// The kind of something that travelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SpanKind {
    /// A request of the client, with its answer.
    Request,
    /// A notification of the client.
    Notification,
    /// A request of the server, with the client's answer.
    ServerRequest,
    /// A notification of the server.
    ServerNotification,
    /// A line that is no message, or answers nothing.
    Stray,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands out references")]
fn is_zero(count: &usize) -> bool {
    *count == 0
}
