//! Messages as faults change them on their way.

use std::time::Duration;

use serde_json::Value;

use super::exchange::{ReplyContent, ServerEnd, ServerReply};
use super::words::Arrival;

/// A message of the client as the server receives it.
#[derive(Debug, Default)]
pub struct HeardMessage {
    /// The message, or what arrives of it; `None` if the server does not hear of it.
    pub bytes: Option<Vec<u8>>,
    /// The way in which it arrives; once and whole without it.
    pub arrival: Option<Arrival>,
    /// The messages that the server receives beside it, at once: it hears of the same more than once.
    pub copies: Vec<MessageCopy>,
    /// The server is killed as soon as it has the message, or before.
    pub is_killed: bool,
    /// The time for which the server stands still from then on.
    pub pause: Option<Duration>,
    /// The time for which the client reads nothing from then on.
    pub unread: Option<Duration>,
    /// The time that its bytes take to arrive.
    pub transfer: Option<Duration>,
    /// The headers that it has instead; nothing takes one away.
    pub headers: Vec<(String, Option<String>)>,
    /// The names of the faults that changed it.
    pub faults: Vec<String>,
}

/// A further time that a message reaches the server.
#[derive(Debug, Clone, PartialEq)]
pub struct MessageCopy {
    /// The message.
    pub bytes: Vec<u8>,
    /// Its id, whose answer is dropped; `None` for a message without an answer.
    pub id: Option<Value>,
}

impl HeardMessage {
    /// The number of times that the server hears of the message: not at all if no whole message arrives.
    pub fn count(&self) -> u32 {
        let is_heard = self.bytes.is_some() && !matches!(self.arrival, Some(Arrival::Truncate | Arrival::Torn));
        u32::from(is_heard) + u32::try_from(self.copies.len()).unwrap_or(u32::MAX - 1)
    }
}

/// The messages that are sent in the place of one message, or of none.
#[derive(Debug, Default)]
pub struct ChangedMessage {
    /// Messages that come first.
    pub before: Vec<Vec<u8>>,
    /// The message itself, or what stands for it.
    pub own: Vec<ServerReply>,
    /// Messages that come last.
    pub after: Vec<Vec<u8>>,
    /// A fault changed it.
    pub is_changed: bool,
    /// The names of the faults that changed it.
    pub faults: Vec<String>,
    /// The names of the faults that match and found nothing to change.
    pub idle: Vec<String>,
    /// Why it does not come, if it does not.
    pub loss: Option<AnswerLoss>,
    /// It also comes on the streams that clients of the session opened with GET.
    pub on_listening: bool,
    /// The last part of its delay, in which its bytes come one after the other.
    pub transfer: Duration,
}

/// Why an answer does not come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnswerLoss {
    /// The client waits for it, forever.
    Never,
    /// The server is killed in its place.
    Killed,
}

impl ChangedMessage {
    /// The message as it came.
    pub fn pass(reply: Option<ServerReply>) -> Self {
        Self { own: reply.into_iter().collect(), ..Self::default() }
    }

    /// Nothing, for ever.
    pub fn never() -> Self {
        Self { loss: Some(AnswerLoss::Never), is_changed: true, ..Self::default() }
    }

    /// The time until it is there.
    pub fn delay(&self) -> Duration {
        self.own.iter().map(|reply| reply.after).max().unwrap_or_default()
    }

    /// The time until its first byte comes.
    pub fn delay_before_transfer(&self) -> Duration {
        self.delay().saturating_sub(self.transfer)
    }

    /// Its connection breaks off in the middle of it, and no other.
    pub fn breaks_off(&self) -> bool {
        self.end().is_none() && self.own.iter().any(|reply| matches!(reply.content, ReplyContent::Torn(_)))
    }

    /// The end of the server.
    pub fn end(&self) -> Option<ServerEnd> {
        self.own.iter().find_map(|reply| if let ReplyContent::Ended(end) = reply.content { Some(end) } else { None })
    }

    /// All messages in order, as bytes.
    pub fn messages(self) -> impl Iterator<Item = Vec<u8>> {
        let own = self.own.into_iter().filter_map(|reply| reply.content.bytes());
        self.before.into_iter().chain(own.collect::<Vec<_>>()).chain(self.after)
    }
}
