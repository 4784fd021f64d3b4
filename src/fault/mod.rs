//! Faults as data: one language for "wrong in one way", whatever carries the messages.
//!
//! A [`MessageExchange`] is a message of the client with all replies to it; a [`Fault`] matches some of them and turns their
//! replies into those of a server that is wrong in one way. Mutants change recorded exchanges; a [`FaultPlayer`] changes the
//! messages of a live server, one by one. Pure: nothing here reads a clock or talks to anybody. Start reading in [`Fault`].

mod changed_message;
mod condition;
mod decode;
mod description;
mod draw;
mod effect;
mod exchange;
mod fullest;
mod grammar;
mod live_request;
mod paging;
mod parsed_message;
mod path_condition;
mod path_reader;
mod pending;
mod place;
mod player;
mod player_memory;
mod preset;
mod request_fault;
mod schema_check;
mod strike;
#[cfg(test)]
mod tests;
mod words;
mod written;

pub use self::changed_message::{AnswerLoss, ChangedMessage, HeardMessage, MessageCopy};
pub use self::condition::{Match, MatchedSubjects};
pub use self::decode::{decode, decode_all, decode_match, load};
pub use self::draw::{FaultDrawKey, burst_chance, draw, greatest_burst_share};
pub use self::effect::set_headers;
pub use self::exchange::{ClientMessage, ExchangeHistory, MessageExchange, ReplyContent, ServerEnd, ServerReply};
pub use self::grammar::{FAULT, MATCH, WHOLE};
pub use self::live_request::LiveRequest;
pub use self::parsed_message::{MessageKind, RequestHead};
pub use self::pending::{MatchedRequest, PendingRequest, PendingRequests};
pub use self::place::FaultPlace;
pub use self::player::{FaultPlayer, LiveExchange};
pub use self::player_memory::{PassedCall, Strike};
pub use self::preset::{NAMED, UNNAMED, decode_named, types};
pub use self::strike::{AppliedFault, NotApplied};
pub use self::words::Arrival;

pub(crate) use self::description::value_differences;
pub(crate) use self::effect::page_items;
pub(crate) use self::fullest::fullest_content;
pub(crate) use self::paging::{limit as requested_limit, page as page_of};
pub(crate) use self::schema_check::{is_deleting, is_deleting_name, is_valid_call};

use self::effect::FaultEffect;
use self::request_fault::{ConnectionFault, RequestFault};
use self::written::Written;
use crate::source::manual as sections;

/// The reference of the language.
pub fn manual() -> String {
    sections(&WHOLE)
}

/// A fault: its condition and its effects.
#[derive(Debug, Clone, PartialEq)]
pub struct Fault {
    /// Its name.
    name: String,
    /// The exchanges that it changes.
    on: Match,
    /// The message that the server receives instead; a recorded server received what was sent.
    hears: RequestFault,
    /// The fault of the process or the connection; only a test of a suite can make it happen.
    connection: ConnectionFault,
    /// The effects on the replies, in order.
    answers: Vec<FaultEffect>,
    /// Messages before the answer, and after it.
    before: Vec<Written>,
    after: Vec<Written>,
    /// A template may name earlier requests and answers.
    recalls: bool,
    /// The seed of the values that it draws.
    seed: u64,
}

impl Fault {
    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Standard error is the only thing that it changes.
    pub(crate) fn is_only_on_stderr(&self) -> bool {
        let is_stderr = |effect: &FaultEffect| matches!(effect, FaultEffect::Stderr(_));
        !self.answers.is_empty()
            && self.answers.iter().all(is_stderr)
            && self.before.is_empty()
            && self.after.is_empty()
    }

    /// Every message is one that a correct server may send, as far as the protocol goes.
    pub fn keeps_protocol(&self) -> bool {
        let is_whole = !matches!(self.hears.arrival, Some(Arrival::Truncate | Arrival::Torn));
        is_whole
            && self.before.is_empty()
            && self.after.is_empty()
            && self.answers.iter().all(FaultEffect::keeps_protocol)
    }

    /// The server receives the message twice.
    pub fn is_heard_twice(&self) -> bool {
        self.hears.arrival == Some(Arrival::Twice)
    }

    /// It needs the process of a server that this program starts.
    pub fn needs_process(&self) -> bool {
        self.connection.kill.is_some() || self.connection.pause.is_some()
    }

    /// The part that only a test of a suite can make happen, as it is written; other carriers have no say in how bytes
    /// arrive, or in the process of the server.
    fn suite_only(&self) -> Option<&'static str> {
        if self.needs_process() {
            return Some("process");
        }
        if self.connection.unread.is_some() {
            return Some("unread");
        }
        match self.hears.arrival {
            Some(Arrival::Torn) => Some("hears: torn"),
            Some(Arrival::Pieces) => Some("hears: pieces"),
            Some(Arrival::Cancelled) => Some("hears: cancelled"),
            Some(Arrival::Nothing | Arrival::Twice | Arrival::Truncate) | None => None,
        }
    }

    /// It may strike a request, as far as its method and its tool tell.
    pub fn may_strike(&self, method: Option<&str>, tool: Option<&str>) -> bool {
        self.on.may_match(method, tool)
    }

    /// It strikes every request that it is about, whatever was asked before and whatever is answered.
    pub fn strikes_always(&self) -> bool {
        self.on.is_certain()
    }

    /// What the client gets is not what the server said, rather than the same at another time or not at all.
    pub fn makes_answers(&self) -> bool {
        let makes = |effect: &FaultEffect| !effect.is_delay() && !matches!(effect, FaultEffect::Plain(_));
        self.answers.iter().any(makes) || !self.before.is_empty() || !self.after.is_empty()
    }

    /// The condition on exchanges.
    pub fn on(&self) -> &Match {
        &self.on
    }

    /// Makes the draws depend on a seed and on a server; without it the seed is 0 and the server has no name.
    #[must_use]
    pub fn with_draws(mut self, seed: u64, server: &str) -> Self {
        if let Some(chance) = &mut self.on.chance {
            (chance.seed, chance.server) = (seed, server.to_owned());
        }
        self.seed = seed;
        for effect in &mut self.answers {
            if let FaultEffect::Jitter(jitter) = effect {
                jitter.seed = seed;
            }
        }
        self
    }
}
