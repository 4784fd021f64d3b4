//! Faults as data: one language for "wrong in one way", whatever carries the messages.
//!
//! A [`MessageExchange`] is a message of the client with all replies to it; a [`Fault`] matches some of them and turns their
//! replies into those of a server that is wrong in one way. Mutants change recorded exchanges; a [`FaultPlayer`] changes the
//! messages of a live server, one by one. Pure: nothing here reads a clock or talks to anybody. Start reading in [`Fault`].

mod condition;
mod decode;
mod description;
mod draw;
mod effect;
mod exchange;
mod grammar;
mod hearing;
mod parsed_message;
mod path_condition;
mod path_reader;
mod place;
mod player;
mod preset;
mod schema_check;
#[cfg(test)]
mod tests;
mod words;
mod written;

pub use self::condition::{Match, MatchedSubjects};
pub use self::decode::{decode, decode_all, decode_match, load};
pub use self::draw::{FaultDrawKey, burst_chance, draw, greatest_burst_share};
pub use self::exchange::{ClientMessage, ExchangeHistory, MessageExchange, ReplyContent, ServerEnd, ServerReply};
pub use self::grammar::{FAULT, MATCH, WHOLE};
pub use self::parsed_message::{MessageKind, RequestHead};
pub use self::place::FaultPlace;
pub use self::player::{
    AnswerLoss, ChangedMessage, FaultPlayer, HeardMessage, LiveExchange, LiveRequest, PassedCall, Strike,
};
pub use self::preset::{NAMED, UNNAMED, decode_named, types};
pub use self::words::Arrival;

use self::effect::{EffectContext, FaultEffect};
use self::hearing::{ConnectionFault, Hearing};
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
    hears: Hearing,
    /// The fault of the process or the connection; only a test of a suite can make it happen.
    connection: ConnectionFault,
    /// The effects on the replies, in order.
    answers: Vec<FaultEffect>,
    /// Messages before the answer, and after it.
    before: Vec<Written>,
    after: Vec<Written>,
    /// Whether a template may name earlier requests and answers.
    recalls: bool,
}

/// The changed replies.
#[derive(Debug, Clone, PartialEq)]
pub struct AppliedFault {
    /// Everything that comes now, in order.
    pub replies: Vec<ServerReply>,
}

impl AppliedFault {
    /// The changes of messages and times, one line each, against what was recorded.
    pub fn changes(&self, exchange: &MessageExchange) -> Vec<String> {
        description::describe(&exchange.replies, &self.replies)
    }
}

/// Why a fault that matches changed nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotApplied {
    /// The replies are the recorded ones, byte by byte and at the same time.
    NoChange,
    /// There is nothing to make it from; the reason is half a sentence.
    NoMaterial(String),
}

impl Fault {
    /// Whether the exchange at that index is one of those that the fault is about.
    pub fn strikes(&self, at: usize, history: &ExchangeHistory<'_>) -> bool {
        self.on.holds(at, history)
    }

    /// The replies of the exchange at that index under the fault, whether it strikes there or not.
    pub fn apply(&self, at: usize, history: &ExchangeHistory<'_>) -> Result<AppliedFault, NotApplied> {
        self.applied(&self.answers, at, history)
    }

    /// The same with the fault at one place of the answer.
    pub fn apply_at(
        &self,
        place: &FaultPlace,
        at: usize,
        history: &ExchangeHistory<'_>,
    ) -> Result<AppliedFault, NotApplied> {
        self.applied(place.effects(self), at, history)
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether every message is one that a correct server may send, as far as the protocol goes.
    pub fn keeps_protocol(&self) -> bool {
        let is_whole = !matches!(self.hears.arrival, Some(Arrival::Truncate | Arrival::Torn));
        is_whole
            && self.before.is_empty()
            && self.after.is_empty()
            && self.answers.iter().all(FaultEffect::keeps_protocol)
    }

    /// Whether the server hears the message twice.
    pub fn is_heard_twice(&self) -> bool {
        self.hears.arrival == Some(Arrival::Twice)
    }

    /// Whether it needs the process of a server that this program starts.
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
        self
    }

    fn applied(
        &self,
        effects: &[FaultEffect],
        at: usize,
        history: &ExchangeHistory<'_>,
    ) -> Result<AppliedFault, NotApplied> {
        let Some(exchange) = history.exchanges.get(at) else { return Err(NotApplied::NoChange) };
        let replies = if self.on.sends.is_empty() {
            self.changed(effects, EffectContext::new(at, history))?
        } else {
            self.applied_to_sent(effects, at, history)?
        };
        if replies == exchange.replies {
            return Err(NotApplied::NoChange);
        }
        Ok(AppliedFault { replies })
    }

    /// The replies, with each message changed that the server sends by itself and that is meant.
    fn applied_to_sent(
        &self,
        effects: &[FaultEffect],
        at: usize,
        history: &ExchangeHistory<'_>,
    ) -> Result<Vec<ServerReply>, NotApplied> {
        let mut replies = Vec::new();
        for reply in &history.exchanges[at].replies {
            if !self.on.means(reply) {
                replies.push(reply.clone());
                continue;
            }
            let whole = EffectContext::new(at, history);
            let names = whole.names().clone();
            let sent = EffectContext::on_its_way(at, history, whole.parsed, vec![reply.clone()], names);
            replies.extend(self.changed(effects, sent)?);
        }
        Ok(replies)
    }

    fn changed(&self, effects: &[FaultEffect], mut work: EffectContext<'_>) -> Result<Vec<ServerReply>, NotApplied> {
        for effect in effects {
            effect.act(&mut work).map_err(NotApplied::NoMaterial)?;
        }
        work.surround(&self.before, &self.after);
        Ok(work.replies)
    }
}
