//! Replays a recorded server in virtual time, with the changes of at most one mutant.
//!
//! A [`ReplayServer`] holds what every session of a replayed run shares; what happened on it is in its [`ReplayLog`].

mod session;

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;

use self::session::ReplaySession;
use super::recording::{ExchangeKey, MessageNumber, RunRecording, SessionNumbers, TargetRecording};
use crate::fault::ServerReply;
use crate::redact::Redactor;
use crate::transport::{Link, Owner, replay};

/// The replies that a mutant changed: by target, by index of the exchange.
pub(crate) type MutatedReplies = BTreeMap<String, BTreeMap<usize, Vec<ServerReply>>>;

/// A recording whose exchanges can be found by what was asked.
#[derive(Debug)]
pub(crate) struct IndexedRecording {
    pub(crate) recording: RunRecording,
    redactor: Redactor,
    targets: BTreeMap<String, ExchangeIndex>,
}

/// The indexes of exchanges.
#[derive(Debug, Default)]
struct ExchangeIndex {
    /// By what was asked: session, occurrence and index of each exchange.
    found: BTreeMap<ExchangeKey, Vec<(u32, u32, usize)>>,
    /// The server gave session ids.
    has_sessions: bool,
}

impl IndexedRecording {
    pub(crate) fn new(recording: RunRecording, redactor: Redactor) -> Self {
        let targets = recording.targets.iter().map(|(name, target)| (name.clone(), index(target))).collect();
        Self { recording, redactor, targets }
    }
}

fn index(target: &TargetRecording) -> ExchangeIndex {
    let mut index = ExchangeIndex::default();
    for (at, exchange) in target.exchanges.iter().enumerate() {
        let key = ExchangeKey::of(&exchange.owner, &exchange.sent);
        index.found.entry(key).or_default().push((exchange.session, exchange.occurrence, at));
        let mut heads = exchange.replies.iter().filter_map(|reply| reply.http.as_ref());
        index.has_sessions |= heads.any(|head| head.header("mcp-session-id").is_some());
    }
    index
}

impl ExchangeIndex {
    /// The exchange in which the same was asked; handshakes and discovery are those of any session.
    fn find(&self, key: &ExchangeKey, number: MessageNumber) -> Option<usize> {
        let MessageNumber { session, occurrence } = number;
        let known = self.found.get(key)?;
        let exact = known.iter().find(|(s, o, _)| (*s, *o) == (session, occurrence));
        let of_any =
            || known.iter().find(|(_, o, _)| *o == occurrence).or(known.last()).filter(|_| key.owner == Owner::Session);
        exact.or_else(of_any).map(|(_, _, at)| *at)
    }
}

/// The server that the sessions of one replayed run share.
#[derive(Debug)]
pub(crate) struct ReplayServer {
    indexed: Arc<IndexedRecording>,
    changes: MutatedReplies,
    log: Mutex<ReplayLog>,
}

/// The log of a replayed run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ReplayLog {
    /// The requests that the recording does not answer.
    pub(crate) left: Vec<ReplayMoment>,
    /// The requests that got a changed answer.
    pub(crate) struck: Vec<ReplayMoment>,
    pub(crate) sessions: SessionNumbers,
}

impl ReplayLog {
    /// The number of sessions with all targets.
    pub(crate) fn session_count(&self) -> u32 {
        let shared = self.sessions.iter().filter(|((_, owner), _)| *owner == Owner::Session);
        shared.map(|(_, count)| count).sum()
    }
}

/// A moment of a conversation.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ReplayMoment {
    /// Who sent the message of the client.
    pub(crate) owner: Owner,
    /// The frame of the message of the client; zero for a raw message.
    pub(crate) frame: u32,
    /// The session within the case.
    pub(crate) session: u32,
}

impl ReplayServer {
    pub(crate) fn new(indexed: Arc<IndexedRecording>, changes: MutatedReplies) -> Arc<Self> {
        Arc::new(Self { indexed, changes, log: Mutex::default() })
    }

    /// Connects to a fresh session of a target.
    pub(crate) fn connect(self: &Arc<Self>, target: &str) -> Link {
        let transport = self.indexed.recording.targets.get(target).map(|target| target.transport).unwrap_or_default();
        replay::connect(transport, ReplaySession::new(Arc::clone(self), target, transport))
    }

    /// The log so far.
    pub(crate) fn log(&self) -> ReplayLog {
        self.log.lock().clone()
    }
}
