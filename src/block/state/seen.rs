//! The events of a round: canaries that were written, and where they showed.

use std::collections::BTreeSet;

use crate::check::CheckEnd;
use crate::check::visit::ShownText;
use crate::event::{Exchange, Finding};

/// A canary where it must not be seen.
pub(crate) struct Leak {
    /// The call that wrote it, as an index.
    pub(crate) written: usize,
    pub(crate) canary: String,
    pub(crate) shown: ShownText,
    /// The place that showed it, in words.
    pub(crate) place: String,
}

/// A call that was made with a canary.
pub(crate) struct SentCanary {
    /// The index of the tool.
    pub(crate) tool: usize,
    pub(crate) canary: String,
    pub(crate) shown: ShownText,
}

/// The events of a round.
#[derive(Default)]
pub(crate) struct Seen {
    pub(crate) written: Vec<SentCanary>,
    /// Canaries that their own session or run showed afterwards: they can be seen by looking.
    pub(crate) read_back: BTreeSet<String>,
    /// Answers of reading requests in which their own session or run showed a canary.
    pub(crate) reads: Vec<ShownText>,
    /// The places where nothing was served, in words.
    pub(crate) unserved: Vec<String>,
    pub(crate) leaks: Vec<Leak>,
    /// A request that was served in the session of another user.
    pub(crate) foreign: Option<ForeignRequest>,
    /// An id that the server gave to two sessions that are open at the same time.
    pub(crate) shared_id: Option<String>,
    pub(crate) protocol_revision: String,
    pub(crate) is_http: bool,
    /// Its revision has no sessions over HTTP.
    pub(crate) is_stateless: bool,
    /// The reason for which the server keeps no sessions apart.
    pub(crate) without_sessions: Option<String>,
    /// Tools that did not answer in time.
    pub(crate) silent: Vec<String>,
    /// The reason why a request got no answer, the first time.
    pub(crate) failure: Option<String>,
    /// The end of a round that ran out of time.
    pub(crate) spent: Option<CheckEnd>,
    pub(crate) frames: Vec<u32>,
    pub(crate) exit: Option<Finding>,
    /// The finding about a request after which a server answers nothing.
    pub(crate) hang: Option<Finding>,
}

/// A request with the credentials of one user and the session id of another one.
pub(crate) struct ForeignRequest {
    pub(crate) exchange: Exchange,
    /// The user who sent it.
    pub(crate) sender: String,
    /// The user whose session it named.
    pub(crate) owner: String,
}
