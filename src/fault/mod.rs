//! Faults as data: what they match, and what they do to what a server sends and when.
//!
//! A [`MessageExchange`] is a message of the client with all replies to it; a [`Fault`] matches some of them and turns their replies into those of a server that is wrong in one way. Mutants, injection and relays use the same.
//! Pure: nothing here reads a clock or talks to anybody. Start reading in [`Fault`].

mod condition;
mod decode;
mod description;
mod draw;
mod effect;
mod exchange;
mod grammar;
mod message_path;
mod parsed_message;
mod path_condition;
mod path_reader;
mod place;
mod schema_check;
#[cfg(test)]
mod tests;
mod words;

pub use self::condition::{Match, MatchedSubjects};
pub use self::decode::{decode, decode_match};
pub use self::draw::{FaultDrawKey, draw};
pub use self::exchange::{ClientMessage, ExchangeHistory, MessageExchange, ReplyContent, ServerEnd, ServerReply};
pub use self::grammar::{FAULT, HEADERS, MATCH, NUMBERS, TEXTS, VALUES, WANTED, WHOLE};
pub use self::message_path::MessagePath;
pub use self::path_condition::{PathCondition, PathConditions, WantedValue, fits};
pub use self::path_reader::{PathReader, listed, lower_case};
pub use self::place::FaultPlace;

use self::effect::{EffectContext, FaultEffect};

/// A fault: its condition and its effects.
#[derive(Debug, Clone, PartialEq)]
pub struct Fault {
    /// The exchanges that it changes.
    on: Match,
    /// Whether the server has done its work by then.
    timing: FaultTiming,
    /// The effects on the replies, in order.
    does: Vec<FaultEffect>,
}

/// When a fault strikes, seen from the work of the server.
///
/// A recording is of a server that did its work, so there the three are the same; a live server is not asked where a
/// fault strikes instead of its work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FaultTiming {
    /// Before the server hears of the request.
    Before,
    /// Instead: the server never hears of it.
    Instead,
    /// After the server did its work.
    After,
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
        apply(&self.does, at, history)
    }

    /// The same with the fault at one place of the answer.
    pub fn apply_at(
        &self,
        place: &FaultPlace,
        at: usize,
        history: &ExchangeHistory<'_>,
    ) -> Result<AppliedFault, NotApplied> {
        apply(place.effects(self), at, history)
    }

    /// The condition on exchanges.
    pub fn on(&self) -> &Match {
        &self.on
    }
    /// When it strikes.
    pub fn timing(&self) -> FaultTiming {
        self.timing
    }

    /// Makes the draws depend on a seed and on a server; without it the seed is 0 and the server has no name.
    #[must_use]
    pub fn with_draws(mut self, seed: u64, server: &str) -> Self {
        if let Some(chance) = &mut self.on.chance {
            (chance.seed, chance.server) = (seed, server.to_owned());
        }
        self
    }
}

fn apply(effects: &[FaultEffect], at: usize, history: &ExchangeHistory<'_>) -> Result<AppliedFault, NotApplied> {
    let Some(exchange) = history.exchanges.get(at) else { return Err(NotApplied::NoChange) };
    let mut work = EffectContext::new(at, history);
    for effect in effects {
        effect.act(&mut work).map_err(NotApplied::NoMaterial)?;
    }
    if work.replies == exchange.replies {
        return Err(NotApplied::NoChange);
    }
    Ok(AppliedFault { replies: work.replies })
}
