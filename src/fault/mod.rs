//! Faults as data: what they match, and what they do to what a server sends and when.
//!
//! An [`Exchange`] is a message of the client with everything that came because of it; a [`Fault`] strikes some of them
//! and turns their replies into those of a server that is wrong in one way. Mutants, injection and relays use the same.
//! Pure: nothing here reads a clock or talks to anybody. Start reading in [`Fault`].

mod ask;
mod change;
mod condition;
mod decode;
mod draw;
mod effect;
mod exchange;
mod grammar;
mod judge;
mod place;
#[cfg(test)]
mod tests;
mod words;

pub use self::condition::Match;
pub use self::decode::{decode, decode_match};
pub use self::draw::{DrawKey, draw};
pub use self::exchange::{Asked, Ended, Exchange, Known, Reply, What};
pub use self::grammar::{FAULT, MATCH, WHOLE};
pub use self::place::Place;

use self::effect::{Effect, Work};

/// What goes wrong, where, and when.
#[derive(Debug, Clone, PartialEq)]
pub struct Fault {
    /// What it strikes.
    on: Match,
    /// Whether the server has done its work by then.
    moment: Moment,
    /// What it does to the replies, in order.
    does: Vec<Effect>,
}

/// When a fault strikes, seen from the work of the server.
///
/// A recording is of a server that did its work, so there the three are the same; a live server is not asked where a
/// fault strikes instead of its work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// Before the server hears of the request.
    Before,
    /// Instead: the server never hears of it.
    Instead,
    /// After the server did its work.
    After,
}

/// What comes from the server that is wrong.
#[derive(Debug, Clone, PartialEq)]
pub struct Struck {
    /// Everything that comes now, in order.
    pub replies: Vec<Reply>,
    /// What is different on the wire or in time, one line each.
    pub change: Vec<String>,
}

/// Why a fault that matches changed nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Missed {
    /// What comes is what came, byte by byte and at the same time.
    Nothing,
    /// There is nothing to make it from; the reason is half a sentence.
    NoMaterial(String),
}

impl Fault {
    /// Whether the exchange at that index is one of those that the fault is about.
    pub fn strikes(&self, at: usize, known: &Known<'_>) -> bool {
        self.on.holds(at, known)
    }

    /// What comes instead of the replies of the exchange at that index, whether the fault is about it or not.
    pub fn apply(&self, at: usize, known: &Known<'_>) -> Result<Struck, Missed> {
        let Some(exchange) = known.exchanges.get(at) else { return Err(Missed::Nothing) };
        let mut work = Work::new(at, known);
        for effect in &self.does {
            effect.act(&mut work).map_err(Missed::NoMaterial)?;
        }
        if work.replies == exchange.replies {
            return Err(Missed::Nothing);
        }
        let change = change::lines(&exchange.replies, &work.replies);
        Ok(Struck { replies: work.replies, change })
    }

    /// When it strikes.
    pub fn moment(&self) -> Moment {
        self.moment
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
