//! Faults of a message on its way to the server, of the server's process, and of the client that reads its answers.

use std::time::Duration;

use serde_json::Value;

use super::words::{Arrival, KillMoment};
use super::written::Written;
use crate::path::DottedPath;
use crate::source::template::Names;
use crate::transport::Bandwidth;

/// Changes to the message that the server receives.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct RequestFault {
    /// The way in which it arrives; once and whole without it.
    pub(crate) arrival: Option<Arrival>,
    pub(crate) set: Vec<(DottedPath, Written)>,
    pub(crate) add: Vec<(DottedPath, Written)>,
    pub(crate) remove: Vec<DottedPath>,
    /// By name in small letters; nothing takes a header away.
    pub(crate) headers: Vec<(String, Option<Written>)>,
    pub(crate) bandwidth: Option<Bandwidth>,
    /// The number of times that it arrives, each further time under an id of its own.
    pub(crate) times: Option<u32>,
}

impl RequestFault {
    pub(crate) fn is_about_messages(&self) -> bool {
        !(self.set.is_empty() && self.add.is_empty() && self.remove.is_empty())
    }

    /// Changes a message.
    pub(crate) fn change(&self, message: &mut Value, names: &Names) {
        for (place, written) in &self.set {
            if let Some(value) = written.value(names) {
                place.set_at(message, &value);
            }
        }
        for (place, written) in &self.add {
            if let Some(value) = written.value(names) {
                place.push(message, &value);
            }
        }
        for place in &self.remove {
            place.remove(message);
        }
    }
}

impl Arrival {
    /// The change, in a few words.
    pub fn change(self) -> &'static str {
        match self {
            Self::Nothing => "the server does not hear of it",
            Self::Twice => "the server hears of it twice",
            Self::Truncate => "the server hears half of it",
            Self::Torn => "the server hears half of it, and then the client is gone",
            Self::Pieces => "the server hears it in pieces",
            Self::Cancelled => "the server hears at once that it is cancelled",
        }
    }
}

/// A fault of the server's process or of the connection, while a message is on its way.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct ConnectionFault {
    /// When the process is killed.
    pub(crate) kill: Option<KillMoment>,
    /// The time for which the process stands still from the message on.
    pub(crate) pause: Option<Duration>,
    /// The time for which the client reads nothing after the message.
    pub(crate) unread: Option<Duration>,
}
